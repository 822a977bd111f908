"""Graphs as meshes: the 1-complex as given, or its clique complex up to triangles."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError, Notice
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.mesh import Mesh

MAX_TRIANGLES = 20_000_000
"""Clique complexes with more triangles are refused."""


def mesh_from_edges(
    edges: np.ndarray,
    points: np.ndarray | None = None,
    n_vertices: int | None = None,
    name: str = "graph",
    fill_triangles: bool = False,
) -> Mesh:
    """A graph as a 1-dimensional mesh, without a metric unless it has coordinates.

    edges : (m, 2) labels of end points; integers, or with neither points nor n_vertices any integers or text.  Both
    directions and repetitions of an edge are one edge, loops are dropped.  Integer labels 0 … n−1 (n = n_vertices, or
    the number of points, or one more than the largest label when all occur) are the vertex numbers; other integers are
    numbered in increasing order, text in order of first mention; both are kept in ``point_fields["label"]``.
    points : (n, D ≥ 2) or None.  fill_triangles : add every triangle whose three edges are there (the clique complex
    up to degree 2).
    Notices: ``duplicate_edges``, ``self_loops``, ``relabelled_vertices``, ``clique_complex``.
    Raises InputError (shape, empty, not_integers, index_out_of_range, too_many_triangles).
    """
    edges = _edge_array(edges)
    if points is not None:
        points = np.asarray(points, np.float64)
        if n_vertices is not None and n_vertices != len(points):
            raise InputError(f"n_vertices is {n_vertices}, but there are {len(points)} points.", "shape")
        n_vertices = len(points)
    if len(edges) == 0 and not n_vertices:
        raise InputError("The graph has no edges and no vertices; give edges, n_vertices or points.", "empty")
    edges, n, labels, notices = _number_vertices(edges, n_vertices)
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        message = f"{len(loops)} edge(s) lead from a vertex to itself and were dropped; the vertices stay."
        notices.append(Notice("self_loops", message, tuple(loops[:100].tolist())))
    given = np.flatnonzero(edges[:, 0] != edges[:, 1])
    cx = SimplicialComplex.from_simplices(n, {1: edges[given]})
    edge_of_row = np.full(len(edges), -1, np.int64)
    edge_of_row[given] = cx.find(edges[given])[0] if len(given) else 0
    if len(given) > cx.n(1):
        first = np.unique(edge_of_row[given], return_index=True)[1]
        copies = np.setdiff1d(given, given[first])
        message = f"{len(copies)} row(s) repeat an edge, in the same or the other direction, and were merged."
        notices.append(Notice("duplicate_edges", message, tuple(copies[:100].tolist())))
    if fill_triangles:
        triangles = clique_triangles(n, cx.simplices(1))
        if len(triangles):
            cx = SimplicialComplex.from_simplices(n, {1: cx.simplices(1), 2: triangles})  # edge numbers stay
        message = (
            f"Every triangle whose three edges are in the graph was filled: {len(triangles)} triangle(s); "
            "homology is that of the clique complex up to degree 2, not of the graph."
        )
        notices.append(Notice("clique_complex", message))
    return Mesh(
        cx,
        points,
        name=name,
        point_fields={} if labels is None else {"label": labels},
        face_of_file_cell=edge_of_row,
        notices=tuple(notices),
    )


def clique_triangles(n_vertices: int, edges: np.ndarray) -> np.ndarray:
    """All triangles of a simple graph, (m, 3) increasing rows in lexicographic order.

    edges : (m, 2) distinct, each increasing.  Edges point from the end of smaller degree to that of larger degree,
    so that no vertex has more than √(2m) followers; pairs of followers of one vertex that are an edge give a triangle.
    Raises InputError (too_many_triangles).  Source: Chiba, Nishizeki 1985 (edge orientation by degree).
    """
    if len(edges) < 3:
        return np.zeros((0, 3), np.int64)
    degree = np.bincount(edges.ravel(), minlength=n_vertices)
    rank = np.empty(n_vertices, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(n_vertices)
    directed = np.sort(rank[edges], axis=1)
    ones = np.ones(len(edges), np.int32)
    a = sp.csr_matrix((ones, (directed[:, 0], directed[:, 1])), shape=(n_vertices, n_vertices))
    a.sort_indices()
    followers = np.diff(a.indptr)
    keys = directed[:, 0] * n_vertices + directed[:, 1]
    keys.sort()
    block = max(1, 4_000_000 // max(int(followers.max()), 1))
    source = np.repeat(np.arange(n_vertices), followers)
    found, total = [], 0
    for start in range(0, len(source), block):  # edge u → v, and every follower w of v: is u → w an edge?
        u, v = source[start : start + block], a.indices[start : start + block].astype(np.int64)
        many = followers[v]
        own = np.repeat(np.arange(len(u)), many)
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        w = a.indices[a.indptr[v[own]] + within].astype(np.int64)
        key = u[own] * n_vertices + w
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        closed = keys[at] == key
        found.append(np.column_stack([u[own[closed]], v[own[closed]], w[closed]]))
        total += len(found[-1])
        if total > MAX_TRIANGLES:
            raise InputError(
                f"The clique complex has more than {MAX_TRIANGLES} triangles; leave fill_triangles off.",
                "too_many_triangles",
            )
    vertex_of_rank = np.argsort(rank)
    triangles = np.sort(vertex_of_rank[np.concatenate(found)], axis=1)
    return triangles[np.lexsort(triangles.T[::-1])]


def _edge_array(edges) -> np.ndarray:
    edges = np.asarray(edges)
    if edges.size == 0:
        return np.zeros((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise InputError(f"Edges must have shape (m, 2); got {edges.shape}.", "shape")
    if edges.dtype.kind == "f":
        bad = np.flatnonzero(~(np.isfinite(edges) & (edges == np.round(edges))).all(axis=1))
        if len(bad):
            raise InputError(
                f"Edge {bad[0]} has an end that is not a whole number: {edges[bad[0]].tolist()}.",
                "not_integers",
                bad[:100],
            )
        return edges.astype(np.int64)
    if edges.dtype.kind in "iu":
        return edges.astype(np.int64)
    if edges.dtype.kind in "US":
        return edges
    raise InputError(f"Edge ends must be integers or text labels; got {edges.dtype}.", "not_integers")


def _number_vertices(edges: np.ndarray, n: int | None) -> tuple[np.ndarray, int, np.ndarray | None, list[Notice]]:
    """Edges by vertex number, the number of vertices, labels (None where they are the numbers) and notices."""
    if n is not None:
        if edges.dtype.kind in "US":
            raise InputError(
                "Edges with text labels cannot be matched with points or n_vertices; use integers.", "not_integers"
            )
        bad = np.flatnonzero(((edges < 0) | (edges >= n)).any(axis=1))
        if len(bad):
            raise InputError(
                f"Edge {bad[0]} is {edges[bad[0]].tolist()}, but there are only {n} vertices (0 to {n - 1}).",
                "index_out_of_range",
                bad[:100],
            )
        return edges, n, None, []
    labels, number = number_labels(edges)
    if edges.dtype.kind in "iu" and labels[0] == 0 and labels[-1] == len(labels) - 1:
        return edges, len(labels), None, []
    order = "of first mention" if edges.dtype.kind in "US" else "of increasing label"
    message = (
        f"Vertex labels are not 0 to {len(labels) - 1} (from {labels[0]} to {labels[-1]}); "
        f"vertices were numbered in order {order}, and point_fields['label'] keeps the labels."
    )
    return number, len(labels), labels, [Notice("relabelled_vertices", message)]


def number_labels(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct labels and their numbers in place of them: integers in increasing order, text in order of mention."""
    labels, first, number = np.unique(ends, return_index=True, return_inverse=True)
    number = number.reshape(ends.shape).astype(np.int64)
    if ends.dtype.kind not in "US":
        return labels, number
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return labels[order], rank[number]
