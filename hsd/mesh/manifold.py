"""Where a complex fails to be a manifold: facets, edges and vertices judged by their links.

A facet is bad with more than two top simplices.  An edge of a tet mesh or a vertex is bad when its link is not a
connected manifold of the right kind: for a surface vertex one path or one cycle (an edge test alone misses two cones
that meet in a tip); for a tet edge likewise; for a tet vertex a sphere (χ = 2) or a disk (χ = 1).
Simplices of lower dimension that hang on (a wire at a surface) are not counted.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.mesh.complex import SimplicialComplex


def nonmanifold_edges(cx: SimplicialComplex) -> np.ndarray:
    """Edges of a surface with three or more faces, or of a tet mesh whose link is no path and no cycle."""
    if cx.dim < 2:
        return np.zeros(0, np.int64)
    if cx.dim == 2:
        return cx.nonmanifold_facets
    bad = _split_links(cx, 1)
    bad[cx.faces(2)[cx.nonmanifold_facets].ravel()] = True
    return np.flatnonzero(bad)


def nonmanifold_vertices(cx: SimplicialComplex) -> np.ndarray:
    """Vertices whose link is no connected manifold of the right kind."""
    if cx.dim < 2:
        return np.zeros(0, np.int64)
    bad = _split_links(cx, 0)
    bad[cx.simplices(1)[nonmanifold_edges(cx)].ravel()] = True
    if cx.dim == 3:
        bad[cx.simplices(2)[cx.nonmanifold_facets].ravel()] = True
        chi = np.zeros(cx.n_vertices, np.int64)
        touched = np.zeros(cx.n_vertices, bool)
        touched[cx.simplices(3).ravel()] = True
        for sign, k in ((1, 1), (-1, 2), (1, 3)):
            rows = cx.simplices(k)[_in_top(cx, k)]
            chi += sign * np.bincount(rows.ravel(), minlength=cx.n_vertices)
        bad |= touched & (chi != np.where(cx.on_boundary(0), 1, 2))
    return np.flatnonzero(bad)


def n_defects(cx: SimplicialComplex) -> tuple[int, int, int]:
    """Numbers of non-manifold facets, edges and vertices."""
    return (
        len(cx.nonmanifold_facets) if cx.dim >= 2 else 0,
        len(nonmanifold_edges(cx)),
        len(nonmanifold_vertices(cx)),
    )


def _in_top(cx: SimplicialComplex, k: int) -> np.ndarray:
    """True for k-simplices that lie in a top simplex."""
    inside = np.ones(cx.n(cx.dim), bool)
    for j in range(cx.dim, k, -1):
        below = np.zeros(cx.n(j - 1), bool)
        below[cx.faces(j)[inside].ravel()] = True
        inside = below
    return inside


def _split_links(cx: SimplicialComplex, k: int) -> np.ndarray:
    """True for k-simplices whose top simplices fall into several pieces when joined across facets only, (N_k,)."""
    _, owner = _fans(cx, k)
    return np.bincount(owner, minlength=cx.n(k)) > 1


def _fans(cx: SimplicialComplex, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Incidences (top simplex, its k-face) joined where two top simplices share a facet that holds the k-face."""
    n = cx.dim
    places = list(combinations(range(n + 1), k + 1))  # k-faces of a top simplex by place, lexicographic
    face_of = _faces_by_place(cx, k, places)  # (N_n, len(places))
    facets = cx.faces(n)
    order = np.argsort(facets.ravel(), kind="stable")
    f = facets.ravel()[order]
    pair = np.flatnonzero(f[1:] == f[:-1])
    t1, o1 = np.divmod(order[pair], n + 1)
    t2, o2 = np.divmod(order[pair + 1], n + 1)
    rows, cols = [], []
    for small in combinations(range(n), k + 1):  # k-faces of the shared facet
        # place in the facet → place in the simplex that omits vertex o
        p1 = np.stack([np.where(np.array(s) >= o1, s + 1, s) for s in small], axis=1)
        p2 = np.stack([np.where(np.array(s) >= o2, s + 1, s) for s in small], axis=1)
        rows.append(t1 * len(places) + _place_number(p1, places, n))
        cols.append(t2 * len(places) + _place_number(p2, places, n))
    size = cx.n(n) * len(places)
    rows, cols = np.concatenate(rows), np.concatenate(cols)
    graph = sp.coo_matrix((np.ones(len(rows), np.int8), (rows, cols)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    owner = np.zeros(count, np.int64)
    owner[label] = face_of.ravel()
    return label, owner


def _place_number(p: np.ndarray, places: list[tuple[int, ...]], n: int) -> np.ndarray:
    table = np.zeros((n + 1,) * p.shape[1], np.int64)
    for number, place in enumerate(places):
        table[place] = number
    return table[tuple(p.T)]


def _faces_by_place(cx: SimplicialComplex, k: int, places: list[tuple[int, ...]]) -> np.ndarray:
    top = cx.simplices(cx.dim)
    if k == 0:
        return top
    out = np.empty((len(top), len(places)), np.int64)
    for j, keep in enumerate(places):
        index, degree = np.arange(len(top)), cx.dim
        for m in reversed([m for m in range(cx.dim + 1) if m not in keep]):
            index, degree = cx.faces(degree)[index, m], degree - 1
        out[:, j] = index
    return out
