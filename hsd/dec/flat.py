"""From vectors at vertices or cells to cochains, and between vertex and cell values: linear maps as sparse matrices.

Vectors are (m, D) and enter a matrix as ``vectors.ravel()`` (point, component).  Vertex vectors stand for the field
that is linear in each simplex, cell vectors for the field that is constant in each top simplex; where top simplices
disagree on a shared face the mean weighted by measure is taken.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError, MetricError, check_choice
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures

VERTEX_OR_CELL = ("vertices", "cells")


def positions(mesh: Mesh) -> np.ndarray:
    """(n_vertices, D), or MetricError (no_positions)."""
    if mesh.points is None:
        raise MetricError(
            f"{mesh.name} has no positions, so its forms have no vectors at points; give coordinates.", "no_positions"
        )
    return mesh.points


def top_signs(mesh: Mesh, what: str) -> np.ndarray:
    """±1 per top simplex: stored vertex order against the orientation in force, (N_n,).

    The orientation of space where n = D (so that div, curl and flux of vector fields have their usual signs), else
    that of the mesh.  Raises TopologyError (non_orientable) naming ``what``.
    """
    n = mesh.dim
    p = positions(mesh)
    if n == p.shape[1]:
        corners = p[mesh.complex.simplices(n)]
        return np.where(np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0, -1.0, 1.0)
    return mesh.require_orientation(what).astype(np.float64)


def simplex_vectors(mesh: Mesh, k: int) -> np.ndarray:
    """Edge vector (k = 1, unit) or area vector (k = 2 with D = 3, unit²) of each stored k-simplex, (N_k, D)."""
    p = positions(mesh)[mesh.complex.simplices(k)]
    if k == 1:
        return p[:, 1] - p[:, 0]
    return 0.5 * np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])


def _share_of_tops(mesh: Mesh, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs (k-simplex, top simplex) with the top's share of the measure around the k-simplex; shares sum to 1."""
    n = mesh.dim
    face = mesh.complex.subsimplices(n, k)
    top = np.repeat(np.arange(len(face)), face.shape[1])
    face = face.ravel()
    size = measures(mesh, n)[top]
    total = np.bincount(face, weights=size, minlength=mesh.complex.n(k))
    if (total[face] == 0).any():
        first = int(face[np.flatnonzero(total[face] == 0)[0]])
        raise MetricError(
            f"All top simplices around {k}-simplex {first} have zero measure; repair the mesh.", "zero_measure"
        )
    return face, top, size / total[face]


def conormals(mesh: Mesh) -> np.ndarray:
    """e × N of each edge of a surface, (n_edges, D), unit: |e| times the direction to its right (against N).

    N is the oriented normal; of the triangles at an edge the mean weighted by area is taken.
    """
    edge, triangle, share = _share_of_tops(mesh, 1)
    return _add_up(edge, _turned_edges(mesh, edge, triangle) * share[:, None], mesh.complex.n(1))


def _turned_edges(mesh: Mesh, edge: np.ndarray, triangle: np.ndarray) -> np.ndarray:
    p = positions(mesh)[mesh.complex.simplices(2)[triangle]]
    a, b, e = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0], simplex_vectors(mesh, 1)[edge]
    scale = top_signs(mesh, "A flux through edges")[triangle] / (2.0 * measures(mesh, 2)[triangle])
    return (((e * b).sum(axis=1) * scale)[:, None]) * a - (((e * a).sum(axis=1) * scale)[:, None]) * b


def _add_up(index: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    return np.column_stack([np.bincount(index, weights=column, minlength=n) for column in rows.T])


def _dot_matrix(row: np.ndarray, col: np.ndarray, vectors: np.ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    """Entries vectors[i] (D numbers) in row row[i], columns of point col[i]."""
    width = vectors.shape[1]
    rows = np.repeat(row, width)
    cols = (col[:, None] * width + np.arange(width)).ravel()
    return sp.csr_matrix((vectors.ravel(), (rows, cols)), shape=(shape[0], shape[1] * width))


def _integral_matrix(mesh: Mesh, k: int, normals: np.ndarray, at: str) -> sp.csr_matrix:
    """Mean of the field over each k-simplex, dotted with that simplex's vector (N_k, D)."""
    n_k = mesh.complex.n(k)
    if at == "vertices":
        s = mesh.complex.simplices(k)
        row = np.repeat(np.arange(n_k), k + 1)
        return _dot_matrix(row, s.ravel(), normals[row] / (k + 1), (n_k, mesh.complex.n_vertices))
    face, top, share = _share_of_tops(mesh, k)
    return _dot_matrix(face, top, normals[face] * share[:, None], (n_k, mesh.complex.n(mesh.dim)))


def flat_matrix(mesh: Mesh, at: str = "vertices") -> sp.csr_matrix:
    """♭: vectors → Ω¹ by integration along edges, (n_edges, m·D), entries in unit of length.

    at="vertices": ½(u_i + u_j)·e, the exact integral of the linear field; error O(h²) relative to |e| |u|.
    at="cells": mean of the top simplices around the edge, weighted by measure; O(h), measured slopes 1.7 to 2 on closed
    surfaces and 1.2 to 1.5 with boundary.  Edges in no top simplex get 0.
    Raises UnknownNameError; MetricError (no_positions).
    """
    check_choice("place", at, VERTEX_OR_CELL)
    if mesh.dim < 1:
        raise InputError(f"{mesh.name} has no edges, so it has no 1-forms.", "degree")
    return _integral_matrix(mesh, 1, simplex_vectors(mesh, 1), at)


def flat_flux_matrix(mesh: Mesh, at: str = "vertices") -> sp.csr_matrix:
    """Vectors → flux forms: Ω² of faces in tetrahedra, (n_faces, m·D); Ω¹ of edges on surfaces, (n_edges, m·D).

    In tetrahedra (D = 3) a flux is positive in the right-hand sense of the face's stored vertex order.  On surfaces
    ω(e) = ∫ u·(t × N): positive from left to right of the edge's stored direction seen against the normal N, so
    that ω = dψ means u = ∇ψ × N.
    Raises UnknownNameError; InputError (degree); MetricError (no_positions); TopologyError (non_orientable).
    """
    check_choice("place", at, VERTEX_OR_CELL)
    dim = positions(mesh).shape[1]
    if mesh.dim == 3 and dim == 3:
        return _integral_matrix(mesh, 2, simplex_vectors(mesh, 2), at)
    if mesh.dim != 2:
        raise InputError(
            f"Fluxes are defined on surfaces and on tetrahedra in three coordinates; {mesh.name} has dimension "
            f"{mesh.dim} in {dim} coordinates.",
            "degree",
        )
    if at == "vertices":
        return _integral_matrix(mesh, 1, conormals(mesh), at)
    edge, triangle, share = _share_of_tops(mesh, 1)
    vectors = _turned_edges(mesh, edge, triangle) * share[:, None]
    return _dot_matrix(edge, triangle, vectors, (mesh.complex.n(1), mesh.complex.n(2)))


def check_vectors(mesh: Mesh, vectors: np.ndarray, at: str) -> np.ndarray:
    """Vectors as float64 (n_vertices | n_top, D), or InputError (shape)."""
    check_choice("place", at, VERTEX_OR_CELL)
    expected = (mesh.complex.n(0 if at == "vertices" else mesh.dim), positions(mesh).shape[1])
    vectors = np.asarray(vectors, np.float64)
    if vectors.shape != expected:
        raise InputError(f"Vectors at {at} of {mesh.name} have shape {expected}; got {vectors.shape}.", "shape")
    return vectors


def flat(mesh: Mesh, vectors: np.ndarray, at: str = "vertices") -> np.ndarray:
    """1-form (n_edges,) of vectors (n_vertices | n_top, D), unit of vectors · length; see :func:`flat_matrix`."""
    vectors = check_vectors(mesh, vectors, at)
    return flat_matrix(mesh, at) @ vectors.ravel()


def flat_vertex_vectors(mesh: Mesh, vectors: np.ndarray) -> np.ndarray:
    """``flat(mesh, vectors, at="vertices")``."""
    return flat(mesh, vectors, "vertices")


def flat_cell_vectors(mesh: Mesh, vectors: np.ndarray) -> np.ndarray:
    """``flat(mesh, vectors, at="cells")``."""
    return flat(mesh, vectors, "cells")


def flat_flux(mesh: Mesh, vectors: np.ndarray, at: str = "vertices") -> np.ndarray:
    """Flux form of vectors: (n_faces,) in tetrahedra, (n_edges,) on surfaces; see :func:`flat_flux_matrix`."""
    vectors = check_vectors(mesh, vectors, at)
    return flat_flux_matrix(mesh, at) @ vectors.ravel()


def vertices_to_cells(mesh: Mesh) -> sp.csr_matrix:
    """Vertex scalars → their mean in each top simplex, (n_top, n_vertices); exact at barycentres if linear."""
    s = mesh.complex.simplices(mesh.dim)
    rows = np.repeat(np.arange(len(s)), s.shape[1])
    return sp.csr_matrix(
        (np.full(s.size, 1.0 / s.shape[1]), (rows, s.ravel())), shape=(len(s), mesh.complex.n_vertices)
    )


def cells_to_vertices(mesh: Mesh) -> sp.csr_matrix:
    """Top-simplex scalars → mean weighted by measure around each vertex, (n_vertices, n_top); 0 where there is none."""
    vertex, top, share = _share_of_tops(mesh, 0)
    return sp.csr_matrix((share, (vertex, top)), shape=(mesh.complex.n_vertices, mesh.complex.n(mesh.dim)))
