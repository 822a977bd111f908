"""Positions for drawing meshes that have none of their own."""

from __future__ import annotations

import numpy as np

from hsd.mesh.mesh import Mesh

RADII = (1.0, 0.45)
"""Of the round torus that a flat one is drawn on."""


def drawing_points(mesh: Mesh) -> np.ndarray | None:
    """Positions (n_vertices, 3) to draw a mesh at, or None where it has its own or none can be made.

    A flat torus is drawn on a round one (its lengths cannot be right there); a graph without coordinates by its lowest
    combinatorial modes.
    """
    if mesh.points is not None:
        return None
    if mesh.name.startswith("flat_torus"):
        return _round_torus(mesh)
    return _spectral_layout(mesh)


def _round_torus(mesh: Mesh) -> np.ndarray:
    """Vertices i·m + j of a grid with m in a row (shifted by half a step in every other one), on a round torus."""
    n, edges = mesh.complex.n_vertices, mesh.complex.simplices(1)
    m = int(np.sort(edges[edges[:, 0] == 0, 1])[1]) + 1  # neighbours of vertex 0 are 1, m − 1, m, …
    i, j = np.divmod(np.arange(n), m)
    shift = 0.0 if mesh.name.endswith("right") else 0.5 * (j % 2)
    u, v = 2 * np.pi * (i + shift) / np.ceil(n / m), 2 * np.pi * j / m
    ring = RADII[0] + RADII[1] * np.cos(v)
    return np.column_stack([ring * np.cos(u), ring * np.sin(u), RADII[1] * np.sin(v)])


def _spectral_layout(mesh: Mesh) -> np.ndarray:
    """Coordinates from three low eigenvectors of the graph Laplacian (Hall 1970), components side by side."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import eigsh

    cx = mesh.complex
    n = cx.n_vertices
    out = np.zeros((n, 3))
    edges = cx.simplices(1) if cx.dim >= 1 else np.zeros((0, 2), np.int64)
    weight = np.ones(len(edges))
    adjacency = sp.coo_matrix((weight, edges.T), shape=(n, n)).tocsr() if len(edges) else sp.csr_matrix((n, n))
    adjacency = adjacency + adjacency.T
    at = 0.0
    for piece in range(cx.n_components):
        rows = np.flatnonzero(cx.component_of_vertex == piece)
        part = adjacency[rows][:, rows]
        laplacian = sp.diags(np.asarray(part.sum(axis=1)).ravel()) - part
        if len(rows) <= 400:
            vectors = np.linalg.eigh(laplacian.toarray())[1][:, 1:4]
        else:
            start = np.cos(np.arange(len(rows)))
            vectors = eigsh(laplacian.tocsc(), 4, sigma=-1e-3, v0=start)[1][:, 1:4]
        span = np.abs(vectors).max(axis=0, initial=0.0)
        place = vectors / np.where(span > 0, span, 1.0)
        out[rows, : place.shape[1]] = place
        out[rows, 0] += at
        at += 2.5
    return out
