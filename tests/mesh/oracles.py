"""Independent routes to topology and shape: gudhi's persistence, links, angles."""

from __future__ import annotations

import gudhi
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.mesh import metric
from hsd.mesh.mesh import Mesh


def _tree_betti(simplices: list[np.ndarray], prime: int, dim: int) -> tuple[int, ...]:
    tree = gudhi.SimplexTree()
    for rows in simplices:
        if len(rows):
            tree.insert_batch(np.ascontiguousarray(rows.T.astype(np.int32)), np.zeros(len(rows)))
    tree.compute_persistence(homology_coeff_field=prime, persistence_dim_max=True, min_persistence=-1)
    found = tree.betti_numbers()
    return tuple((found + [0] * (dim + 1))[: dim + 1])


def betti(mesh: Mesh, prime: int) -> tuple[int, ...]:
    """Betti numbers over GF(prime) by gudhi."""
    cx = mesh.complex
    return _tree_betti([cx.simplices(k) for k in range(cx.dim + 1)], prime, cx.dim)


def relative_betti(mesh: Mesh, prime: int) -> tuple[int, ...]:
    """H(M, ∂M) as the reduced homology of M with a cone over ∂M."""
    cx = mesh.complex
    if not cx.has_boundary:
        return betti(mesh, prime)
    apex = cx.n_vertices
    cone = [
        np.column_stack([cx.simplices(k)[cx.on_boundary(k)], np.full(int(cx.on_boundary(k).sum()), apex)])
        for k in range(cx.dim)
    ]
    parts = [cx.simplices(k) for k in range(cx.dim + 1)] + [np.array([[apex]]), *cone]
    found = _tree_betti(parts, prime, cx.dim)
    return (found[0] - 1, *found[1:])


def vertex_stars_are_connected(mesh: Mesh) -> bool:
    """The top simplices at each vertex hang together through facets that contain the vertex."""
    cx = mesh.complex
    top, faces, n = cx.simplices(cx.dim), cx.faces(cx.dim), cx.dim + 1
    corner = np.arange(top.size).reshape(top.shape)
    rows = []
    for i in range(n):  # facet omitting vertex i: its vertices are the other columns
        for j in range(n):
            if i != j:
                rows.append(np.stack([faces[:, i], top[:, j], corner[:, j]], axis=1))
    rows = np.concatenate(rows)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    same = (rows[1:, :2] == rows[:-1, :2]).all(axis=1)
    a, b = rows[:-1][same, 2], rows[1:][same, 2]
    graph = sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(top.size, top.size))
    return connected_components(graph, directed=False)[0] == cx.n_vertices


def link_euler_characteristics(mesh: Mesh) -> np.ndarray:
    """χ of each vertex's link: Σ (−1)^(k−1) over the k-simplices at the vertex, k ≥ 1."""
    cx = mesh.complex
    return sum(
        (-1) ** (k - 1) * np.bincount(cx.simplices(k).ravel(), minlength=cx.n_vertices) for k in range(1, cx.dim + 1)
    )


def angles(mesh: Mesh) -> np.ndarray:
    """Angles of triangles, dihedral angles of tets, in degrees, (pairs, n_top), from the law of cosines."""
    g = metric.gradient_products(mesh, mesh.dim)
    pairs = [(i, j) for i in range(mesh.dim + 1) for j in range(i)]
    cosine = [-g[:, i, j] / np.sqrt(g[:, i, i] * g[:, j, j]) for i, j in pairs]
    return np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))


def cotan_weights(mesh: Mesh) -> np.ndarray:
    """(cot α + cot β)/2 of each edge, from edge lengths by Heron's route (not from gradients)."""
    f, l2 = mesh.complex.faces(2), mesh.squared_lengths[mesh.complex.faces(2)]
    area = metric.measures(mesh, 2)
    weight = np.zeros(mesh.complex.n(1))
    for k in range(3):  # faces(2)[:, k] is the edge opposite vertex k
        np.add.at(weight, f[:, k], (l2.sum(axis=1) - 2.0 * l2[:, k]) / (8.0 * area))
    return weight
