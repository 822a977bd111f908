"""Fewer vertices on a closed surface: contraction of many independent edges at a time, topology unchanged.

Triangles are wanted that are alike in size, as samples of fields need them, not few on flat panels; so the cost of an
edge is its squared length plus FEATURE times the squared distance of its new vertex to the planes it stands for, and
quadrics serve to place that vertex.  An edge ab goes only where lk(a) ∩ lk(b) = lk(ab), which keeps the homeomorphism
type, and where no triangle turns over or becomes thin.
Source: Garland and Heckbert, Surface simplification using quadric error metrics, 1997; Dey, Edelsbrunner, Guha and
Nekhayev, Topology preserving edge contraction, 1999.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError, Notice, TopologyError, require_whole
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.manifold import n_defects
from hsd.mesh.mesh import Mesh, winding_of
from hsd.mesh.primitives.local_ops import Edges, edge_lengths, face_normals

FEATURE = 30.0
"""Weight of the squared distance to the planes against the squared length."""
PULL = 1e-3
"""Weight that pulls a new vertex to the middle of its edge where the planes leave it free."""
FEWEST = 4
PASSES = 4
"""Choices of independent edges in a round; after each the edges that would spoil a triangle are left out."""


def decimate(mesh: Mesh, n_vertices: int) -> Mesh:
    """A closed oriented surface with about n_vertices vertices (at most, unless no edge may go), same topology.

    Fields of the source are dropped; a notice says how many vertices went, or why fewer did than wished.
    Raises InputError (degree, not_whole, bad_option), TopologyError (not_closed, non_manifold, non_orientable).
    """
    require_whole("number of vertices", n_vertices)
    if n_vertices < FEWEST:
        raise InputError(f"A closed surface has at least {FEWEST} vertices; got {n_vertices}.", "bad_option")
    require_closed_surface(mesh, "Decimation")
    n = mesh.complex.n_vertices
    if n == n_vertices:
        return mesh
    if n < n_vertices:
        told = f"{mesh.name} has {n} vertices, fewer than the {n_vertices} wished; it is used as it is."
        return mesh.with_notices(Notice("coarse", told))
    points, faces = contract(mesh.points, mesh.oriented_cells(), n_vertices)
    told = f"{mesh.name} was decimated from {n} to {len(points)} vertices"
    if len(points) > 1.02 * n_vertices:
        told += f"; no other edge could go on the way to {n_vertices} without a change of topology or thin triangles"
    complex_ = SimplicialComplex.from_simplices(len(points), {2: faces})
    out = Mesh(complex_, points, winding=winding_of(complex_, faces), name=mesh.name, notices=mesh.notices)
    return replace(out, notices=(*mesh.notices, Notice("decimated", told + ".")))


def require_closed_surface(mesh: Mesh, what: str) -> None:
    """Raise unless the mesh is a closed, oriented 2-manifold of triangles with positions in space.

    InputError (degree); TopologyError (not_closed, non_manifold, non_orientable), with the repair that helps.
    """
    cx = mesh.complex
    if mesh.dim != 2 or mesh.points is None or mesh.points.shape[1] != 3:
        raise InputError(
            f"{what} needs a surface of triangles in space; {mesh.name} has dimension {mesh.dim}.", "degree"
        )
    if not cx.is_pure:
        raise TopologyError(f"{what} needs triangles only, but {mesh.name} has loose edges or points.", "non_manifold")
    _, edges, vertices = n_defects(cx)
    if edges or vertices:
        raise TopologyError(
            f"{what} needs a manifold, but {mesh.name} has {edges} non-manifold edge(s) and {vertices} non-manifold "
            "vertex(es): repair it (steps 'split' for pinched vertices, 'largest' for one piece) or remesh it.",
            "non_manifold",
        )
    if cx.has_boundary:
        raise TopologyError(
            f"{what} needs a closed surface, but {mesh.name} has {cx.n_boundary_pieces} boundary loop(s) with "
            f"{int(cx.on_boundary(1).sum())} edges: repair it (step 'fill_holes').",
            "not_closed",
        )
    mesh.require_orientation(what)


def contract(points: np.ndarray, faces: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and wound triangles after contractions, cheapest first, until n_vertices are left or none may go."""
    points, quadrics = points.copy(), plane_quadrics(points, faces)
    fold, stuck = 0.5, 0
    while len(points) > n_vertices and fold > -1:
        points, faces, quadrics, count = contract_round(points, faces, quadrics, len(points) - n_vertices, fold, stuck)
        stuck = 0 if count else stuck + 1
        if stuck > 5:
            fold, stuck = fold - 0.6, 0
    return points, faces


def plane_quadrics(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Per vertex Σ area/3 · p pᵀ over the planes p = (normal, −normal·x) around it, and the area, (n, 11).

    The ten entries are the upper triangle of the symmetric 4 × 4 matrix, row by row.
    """
    normal = face_normals(points, faces)
    double = np.linalg.norm(normal, axis=1)
    unit = normal / np.maximum(double, 1e-300)[:, None]
    plane = np.column_stack([unit, -np.einsum("ij,ij->i", unit, points[faces[:, 0]])])
    upper = np.triu_indices(4)
    row = np.column_stack([plane[:, upper[0]] * plane[:, upper[1]], np.ones(len(faces))]) * (double / 6.0)[:, None]
    corner = np.repeat(np.arange(len(faces)), 3)
    around = sp.csr_matrix((np.ones(faces.size), (faces.ravel(), corner)), shape=(len(points), len(faces)))
    return around @ row


def placed(points: np.ndarray, quadrics: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each edge the place of its new vertex (m, 3) and its cost (m,)."""
    q = quadrics[ends].sum(axis=1)
    a = q[:, [0, 1, 2, 1, 4, 5, 2, 5, 7]].reshape(-1, 3, 3)
    linear, area = q[:, [3, 6, 8]], np.maximum(q[:, 10], 1e-300)
    middle = points[ends].mean(axis=1)
    # quadrics about the middle: the same digits wherever the surface lies
    slope = linear + np.einsum("mij,mj->mi", a, middle)
    pull = PULL * area
    step = -np.linalg.solve(a + pull[:, None, None] * np.eye(3), slope[:, :, None])[:, :, 0]
    length = edge_lengths(points, ends)
    size = np.linalg.norm(step, axis=1)
    step *= np.minimum(1.0, 0.5 * length / np.maximum(size, 1e-300))[:, None]
    here = np.einsum("mi,mij,mj->m", middle, a, middle) + 2 * np.einsum("mi,mi->m", linear, middle) + q[:, 9]
    error = here + 2 * np.einsum("mi,mi->m", slope, step) + np.einsum("mi,mij,mj->m", step, a, step)
    return middle + step, length**2 + FEATURE * np.maximum(error, 0.0) / area


def contract_round(
    points: np.ndarray, faces: np.ndarray, quadrics: np.ndarray, at_most: int, fold: float, shake: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """One round: independent edges among the cheapest third; returns points, faces, quadrics and the number that went.

    fold  : smallest cosine between a triangle's normals before and after
    shake : rounds since the last success; the share of edges tried grows with it
    """
    n = len(points)
    e = Edges.of(faces, np.zeros(len(faces), np.int64))
    target, cost = placed(points, quadrics, e.ends)
    pick = np.argsort(cost, kind="stable")[: max(64, len(cost) * min(6, 2 + shake) // 6)]
    pick = pick[_link_condition(e, pick, faces, n)]
    # neighbours that cost alike must not wait for each other in a chain, nor for ever for one that may not go
    mixed = cost[pick] * (1.0 + 0.4 * np.modf((pick + 1) * (0.6180339887 + 0.1 * shake))[0])
    pick = pick[np.argsort(mixed, kind="stable")]
    seen = np.zeros(len(e.ends), bool)
    for _ in range(PASSES):  # the shape is looked at for those few only that would go
        win = pick[_independent(e, pick, n)]
        fresh = win[~seen[win]]
        good = _keeps_shape(points, faces, e.ends[fresh], target[fresh], fold)
        seen[fresh[good]] = True
        if good.all():
            break
        fails = np.zeros(len(e.ends), bool)
        fails[fresh[~good]] = True
        pick = pick[~fails[pick]]
    win = win[seen[win]][:at_most]
    if not len(win):
        return points, faces, quadrics, 0
    a, b = e.ends[win].T
    points, quadrics = points.copy(), quadrics.copy()
    points[a] = target[win]
    quadrics[a] += quadrics[b]
    number = np.arange(n)
    number[b] = a
    faces = number[faces]
    faces = faces[(faces != faces[:, [1, 2, 0]]).all(axis=1)]
    keep = np.ones(n, bool)
    keep[b] = False
    return points[keep], (np.cumsum(keep) - 1)[faces], quadrics[keep], len(win)


def _independent(e: Edges, pick: np.ndarray, n: int) -> np.ndarray:
    """True for edges, best first, that come before all others within one edge of their ends: no two of them touch the
    same triangle."""
    ends = e.ends[pick]
    rank = np.arange(len(pick), 0, -1).astype(float)
    own = np.zeros(n)
    own[ends[::-1].ravel()] = np.repeat(rank[::-1], 2)  # the last one written is the best
    around = own.copy()
    np.maximum.at(around, e.ends.ravel(), own[e.ends[:, ::-1]].ravel())
    return (around[ends] == rank[:, None]).all(axis=1)


def _link_condition(e: Edges, pick: np.ndarray, faces: np.ndarray, n: int) -> np.ndarray:
    """True for edges whose ends have exactly the two opposite corners as common neighbours, of valence above 3."""
    both = np.concatenate([e.ends, e.ends[:, ::-1]])
    near = sp.csr_matrix((np.ones(len(both), np.int32), (both[:, 0], both[:, 1])), shape=(n, n))
    ends = e.ends[pick]
    common = np.asarray(near[ends[:, 0]].multiply(near[ends[:, 1]]).sum(axis=1)).ravel()
    valence = np.bincount(faces.ravel(), minlength=n)
    return (common == 2) & (valence[e.opposite[pick]] > 3).all(axis=1)


def _keeps_shape(
    points: np.ndarray, faces: np.ndarray, ends: np.ndarray, target: np.ndarray, fold: float
) -> np.ndarray:
    """True for edges whose contraction turns no triangle by more than ``fold`` allows and makes none thin."""
    incident = sp.csr_matrix(
        (np.ones(faces.size, np.int8), (faces.ravel(), np.repeat(np.arange(len(faces)), 3))),
        shape=(len(points), len(faces)),
    )
    ok = np.ones(len(ends), bool)
    for side in (0, 1):
        rows = incident[ends[:, side]].tocoo()
        which, face = rows.row, rows.col
        stays = (faces[face] != ends[which, 1 - side][:, None]).all(axis=1)
        which, face = which[stays], face[stays]
        corner = points[faces[face]]
        before, fit = _normal_and_fit(corner)
        corner[faces[face] == ends[which, side][:, None]] = target[which]
        after, now = _normal_and_fit(corner)
        cosine = np.einsum("ij,ij->i", before, after)
        size = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        bad = ((cosine < fold * size) & (fit > 0.1)) | (now < np.minimum(0.25, 0.9 * fit))
        ok[which[bad]] = False
    return ok


def _normal_and_fit(corner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals of triangles (m, 3, 3), and height over longest side (0.87 for equilateral ones)."""
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    side2 = ((corner - corner[:, [1, 2, 0]]) ** 2).sum(axis=2).max(axis=1)
    return normal, np.linalg.norm(normal, axis=1) / (side2 + 1e-300)
