"""From meshes, fields and bases to the records of :mod:`hsd.viz.scene`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from hsd.dec.whitney import cells_to_vertices, evaluation_matrix, reads_as_vector, sharp_matrix
from hsd.errors import InputError
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.viz.arrays import (
    area_samples,
    cluster,
    loops_of_chain,
    sample_seed,
    split_creases,
    spread_samples,
    tet_boundary,
    unit_ball,
)
from hsd.viz.scene import Columns, Glyphs, Segments, Surface, Tube

MAX_TRIANGLES = 100_000
"""Above this the display is decimated and says so; computing never is."""
PROXY_VERTICES = 2_000
PROXY_FROM = 4_000
"""Meshes with more vertices than this get a coarse version that is shown while something is dragged."""
N_GLYPHS = 900


def surface_of(mesh: Mesh, points: np.ndarray | None = None, max_triangles: int = MAX_TRIANGLES) -> Surface:
    """What is drawn of a mesh: its triangles, the boundary of its tets, its loose edges and vertices.

    points : (n_vertices, 3) other positions, e.g. an embedding of a mesh that has lengths alone
    Raises MetricError (no_positions) where there are none.
    """
    cx = mesh.complex
    p = mesh.points3 if points is None else np.asarray(points, np.float64)
    if p.shape != (cx.n_vertices, 3):
        raise InputError(f"Positions for drawing must have shape ({cx.n_vertices}, 3); got {p.shape}.", "shape")
    none = np.zeros((0, 3), np.int64)
    if cx.dim == 3:
        triangles, rows = tet_boundary(mesh)
        loose = np.flatnonzero(cx.is_maximal(2))
        triangles, rows = np.concatenate([triangles, cx.simplices(2)[loose]]), np.concatenate([rows, loose])
    elif cx.dim == 2:
        triangles, rows = mesh.oriented_cells(), np.arange(cx.n(2))
    else:
        triangles, rows = none, np.zeros(0, np.int64)
    n_faces = len(triangles)
    corners, kept = triangles, None
    if n_faces > max_triangles:
        drawn, kept = cluster(p, triangles, max_triangles // 2)
        corners, triangles, rows = triangles[kept], drawn, rows[kept]
    split, vertex_of, normals = split_creases(p, triangles)
    edges = cx.simplices(1)[cx.is_maximal(1)] if cx.dim >= 1 else np.zeros((0, 2), np.int64)
    dots = np.flatnonzero(cx.is_maximal(0))
    tets = cx.simplices(3) if cx.dim == 3 and kept is None else np.zeros((0, 4), np.int64)
    extra = np.unique(np.concatenate([edges.ravel(), dots, tets.ravel()]))
    extra = np.setdiff1d(extra, vertex_of)
    vertex_of = np.concatenate([vertex_of, extra])
    normals = np.concatenate([normals, np.tile([0.0, 0.0, 1.0], (len(extra), 1))])
    drawn_of = np.zeros(cx.n_vertices, np.int64)
    drawn_of[vertex_of] = np.arange(len(vertex_of))
    drawn_points = p[vertex_of]
    centre, scale = unit_ball(drawn_points)
    return Surface(
        points=drawn_points,
        normals=normals,
        triangles=split,
        edges=drawn_of[edges],
        dots=drawn_of[dots],
        tets=drawn_of[tets],
        vertex_of=vertex_of,
        face_of=rows,
        corners=corners,
        proxy=_proxy(drawn_points, split),
        n_faces=n_faces,
        mesh_points=p,
        mesh_triangles=cx.simplices(2),
        centre=centre,
        scale=scale,
        closed=cx.is_pure and (cx.dim == 3 or (cx.dim == 2 and not cx.has_boundary and cx.orientation is not None)),
        name=mesh.name,
    )


def _proxy(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    used = len(np.unique(triangles))
    if used <= PROXY_FROM:
        return np.zeros((0, 3), np.int64)
    return cluster(points, triangles, PROXY_VERTICES)[0]


def glyphs_of(mesh: Mesh, surface: Surface, n: int = N_GLYPHS) -> Glyphs:
    """About n points spread evenly by area over a surface, or by volume inside tets; equal for equal meshes.

    cell counts top simplices, bary its vertices in stored order.
    """
    if mesh.dim < 2:
        raise InputError(f"Arrows are drawn on surfaces and in tets; {mesh.name} has dimension {mesh.dim}.", "degree")
    seed = sample_seed(mesh.content_hash, "glyphs")
    weights = measures(mesh, mesh.dim)
    candidates, bary = area_samples(weights, 6 * n, mesh.dim + 1, seed)
    corners = mesh.complex.simplices(mesh.dim)[candidates]
    points = np.einsum("gc,gcd->gd", bary, surface.mesh_points[corners])
    keep = spread_samples(points, n, seed)
    candidates, bary, points, corners = candidates[keep], bary[keep], points[keep], corners[keep]
    normals = np.zeros((len(points), 3))
    if mesh.dim == 2:
        p = surface.mesh_points[mesh.oriented_cells()[candidates]]
        normals = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    return Glyphs(points, normals, candidates, bary, volume=mesh.dim == 3)


def vectors3(vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, D, …) with D = 2 or 3 as (n, 3, …)."""
    if vectors.shape[1] == 2:
        return np.concatenate([vectors, np.zeros((len(vectors), 1, *vectors.shape[2:]))], axis=1)
    if vectors.shape[1] != 3:
        raise InputError(f"Vectors in {vectors.shape[1]} coordinates cannot be drawn; 2 or 3 can.", "shape")
    return vectors


def _vector_columns(
    matrix: sp.spmatrix, n: int, cochains: np.ndarray, where: str, labels: Sequence[str], groups: Sequence[str]
) -> Columns:
    """Vectors at n places from cochains (N_k, K); the matrix gives D rows a place."""
    flat = matrix @ np.asarray(cochains, np.float64)
    return Columns(vectors3(flat.reshape(n, -1, flat.shape[1])), where, tuple(labels), tuple(groups))


def glyph_columns(
    mesh: Mesh,
    glyphs: Glyphs,
    k: int,
    cochains: np.ndarray,
    labels: Sequence[str] = (),
    groups: Sequence[str] = (),
    rotate: bool = False,
) -> Columns:
    """Vectors of k-forms (N_k, K) at the glyph points (1-forms; 2-forms in tets), exact Whitney evaluation."""
    matrix = evaluation_matrix(mesh, k, glyphs.cell, glyphs.bary, rotate=rotate)
    return _vector_columns(matrix, len(glyphs.cell), cochains, "glyph", labels, groups)


def form_columns(
    mesh: Mesh,
    k: int,
    cochains: np.ndarray,
    labels: Sequence[str] = (),
    groups: Sequence[str] = (),
    rotate: bool = False,
) -> Columns:
    """k-forms (N_k, K) for colouring.

    0-forms: values at vertices.  Forms read as vectors: their sharp at vertices, coloured by length.  Densities: one
    value a triangle on surfaces; in tets the mean over the tets around each vertex.
    """
    cochains = np.asarray(cochains, np.float64)
    labels, groups, n = tuple(labels), tuple(groups), mesh.dim
    if k == 0:
        return Columns(cochains, "vertex", labels, groups)
    if reads_as_vector(mesh, k, rotate):
        matrix = sharp_matrix(mesh, k, at="vertices", rotate=rotate)
        return _vector_columns(matrix, mesh.complex.n_vertices, cochains, "vertex", labels, groups)
    centre = np.full((mesh.complex.n(n), n + 1), 1.0 / (n + 1))
    density = evaluation_matrix(mesh, k, np.arange(mesh.complex.n(n)), centre) @ cochains
    if n == 2:
        return Columns(density, "face", labels, groups)
    return Columns(cells_to_vertices(mesh) @ density, "vertex", labels, groups)


def mode_labels(basis: HodgeBasis) -> tuple[str, ...]:
    """ "λ = 1.234, exact" for each mode."""
    return tuple(f"λ = {v:.4g}, {p}" for v, p in zip(basis.eigenvalues, basis.part))


def mode_columns(basis: HodgeBasis) -> Columns:
    """All modes of a basis for colouring (:func:`form_columns`), labelled by eigenvalue and part, grouped by part."""
    return form_columns(basis.mesh, basis.k, basis.modes, mode_labels(basis), tuple(map(str, basis.part)))


def mode_arrows(basis: HodgeBasis, glyphs: Glyphs) -> Columns:
    """All modes of a basis of vectors at glyph points."""
    return glyph_columns(basis.mesh, glyphs, basis.k, basis.modes, mode_labels(basis), tuple(map(str, basis.part)))


def loop_tubes(
    surface: Surface, edges: np.ndarray, cycle: np.ndarray, colour: str = "#E69F00", label: str = ""
) -> tuple[Tube, ...]:
    """Tubes along a 1-cycle: edges (N_1, 2), integer coefficients (N_1,)."""
    return tuple(
        Tube(surface.mesh_points[loop], closed=True, colour=colour, label=label)
        for loop in loops_of_chain(edges, cycle)
    )


def edge_segments(mesh: Mesh, surface: Surface, numbers: Sequence[int], colour: str = "#D00000", **more) -> Segments:
    """Edges of the mesh (by number) as loose lines, e.g. defects."""
    return Segments(surface.mesh_points[mesh.complex.simplices(1)[np.asarray(numbers, int)]], colour, **more)


def boundary_segments(mesh: Mesh, surface: Surface, colour: str = "#444444", width: float = 2.0) -> Segments:
    """The boundary of a surface as lines (empty where there is none)."""
    if mesh.dim != 2 or not mesh.complex.has_boundary:
        return Segments(np.zeros((0, 2, 3)), colour, width)
    return edge_segments(mesh, surface, np.flatnonzero(mesh.complex.on_boundary(1)), colour, width=width)


def highlight(n: int, ids: Mapping[str, Sequence[int]]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Category numbers (n,) for named lists of elements (0: none of them; later lists win), and the names."""
    values = np.zeros(n)
    for i, numbers in enumerate(ids.values(), 1):
        values[np.asarray(list(numbers), int)] = i
    return values, ("none", *ids)
