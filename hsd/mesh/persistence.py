"""Persistent homology over GF(2) of a filtered triangulation of a convex hull (1-D, 2-D or 3-D).

Three routes, one a degree, that together give every bar:

* degree 0: union–find over the edges in increasing order (elder rule);
* degree D−1: union–find on the dual graph (top simplices and one outside node) in decreasing order, by duality;
* degree 1 in 3-D: column reduction of ∂_2 with clearing: columns already known to be positive from degree 2 and rows
  already known to be negative from degree 0 are left out.

Nothing but degree 0 has an infinite bar, since the whole complex is a ball.
Source: Edelsbrunner, Harer 2010, chapters V.4, VII; Chen, Kerber 2011 (clearing); Edelsbrunner, Letscher,
Zomorodian 2002 (pairing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.mesh.complex import SimplicialComplex


@dataclass(frozen=True)
class Bars:
    """Bars of all degrees: degree (m,) int, birth and death (m,) in the filtration's unit; death may be ∞.

    Sorted by degree, then by decreasing death − birth; bars of length zero are left out.
    """

    degree: np.ndarray
    birth: np.ndarray
    death: np.ndarray

    def __len__(self) -> int:
        return len(self.degree)

    def of_degree(self, k: int) -> np.ndarray:
        """(m_k, 2) births and deaths of degree k."""
        mine = self.degree == k
        return np.column_stack([self.birth[mine], self.death[mine]])

    def lasting(self, ratio: float) -> Bars:
        """Only the bars with death > ratio · birth."""
        keep = self.death > ratio * self.birth
        return Bars(self.degree[keep], self.birth[keep], self.death[keep])

    def betti_at(self, value: float, n_degrees: int) -> tuple[int, ...]:
        """Number of bars with birth ≤ value < death, for degrees 0 … n_degrees−1."""
        alive = (self.birth <= value) & (value < self.death)
        return tuple(np.bincount(self.degree[alive], minlength=n_degrees)[:n_degrees].tolist())


def filtration_order(values: np.ndarray) -> np.ndarray:
    """Position of each simplex of one degree in the total order (value, number), (N_k,)."""
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(values, kind="stable")] = np.arange(len(values))
    return rank


def elder_rule(n_nodes: int, age: np.ndarray, links: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Union–find over links in the order given; of two groups the one whose oldest node has the larger age dies.

    age : (n_nodes,) distinct integers, small = old;  links : (m, 2) node pairs.
    Returns merging (r,), numbers of the links that join two groups, and dead (r,), oldest nodes of the groups that end.
    """
    parent = list(range(n_nodes))  # the root of a group is its oldest node
    ages = age.tolist()
    merging, dead = [], []
    for number, (a, b) in enumerate(links.tolist()):
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a == b:
            continue
        if ages[a] > ages[b]:
            a, b = b, a
        parent[b] = a
        merging.append(number)
        dead.append(b)
        if len(merging) == n_nodes - 1:
            break
    return np.array(merging, np.int64), np.array(dead, np.int64)


def reduce_columns(rows: np.ndarray, row_is_used: np.ndarray) -> np.ndarray:
    """Standard reduction over GF(2) of columns with few entries, in the order given.

    rows : (m, w) row positions of each column;  row_is_used : (n_rows,) False for rows that can be no pivot.
    Returns (m,) the pivot (largest remaining row) of each reduced column, −1 where it becomes zero.
    """
    owner: dict[int, set[int]] = {}
    pivots = np.full(len(rows), -1, np.int64)
    used = row_is_used.tolist()
    for number, entries in enumerate(rows.tolist()):
        column = {r for r in entries if used[r]}
        while column:
            pivot = max(column)
            other = owner.get(pivot)
            if other is None:
                owner[pivot] = column
                pivots[number] = pivot
                break
            column ^= other
    return pivots


def ball_barcode(cx: SimplicialComplex, values: list[np.ndarray]) -> Bars:
    """All bars of a filtered triangulated D-ball, D = cx.dim ≤ 3.

    values : per degree (N_k,) filtration values, no simplex before its faces; vertices may have any value.
    Each (D−1)-simplex must lie in one or two top simplices (checked by who builds the triangulation).
    """
    dim = cx.dim
    degree, birth, death = [np.zeros(1, np.int64)], [values[0].min(keepdims=True)], [np.array([np.inf])]

    def add(k: int, born: np.ndarray, died: np.ndarray):
        lasting = died > born
        degree.append(np.full(int(lasting.sum()), k, np.int64))
        birth.append(born[lasting])
        death.append(died[lasting])

    if dim >= 1:
        order = np.argsort(values[1], kind="stable")
        merging, dead = elder_rule(cx.n_vertices, filtration_order(values[0]), cx.simplices(1)[order])
        add(0, values[0][dead], values[1][order[merging]])
        negative_edge = np.zeros(cx.n(1), bool)
        negative_edge[order[merging]] = True
    if dim >= 2:
        n_top = cx.n(dim)
        facets = cx.faces(dim)  # (n_top, dim+1)
        first, second = np.full(cx.n(dim - 1), n_top), np.full(cx.n(dim - 1), n_top)
        tops = np.repeat(np.arange(n_top), dim + 1)
        first[facets.ravel()] = tops  # last one written wins …
        second[facets.ravel()[::-1]] = tops[::-1]  # … here the first one
        second[first == second] = n_top  # facets of the hull lead outside
        order = np.argsort(values[dim - 1], kind="stable")[::-1]
        age = np.append(n_top - filtration_order(values[dim]), 0)  # the outside is the oldest, then late simplices
        merging, dead = elder_rule(n_top + 1, age, np.column_stack([first, second])[order])
        add(dim - 1, values[dim - 1][order[merging]], values[dim][dead])
        positive_facet = np.zeros(cx.n(dim - 1), bool)
        positive_facet[order[merging]] = True
    if dim == 3:
        rank = filtration_order(values[1])
        edge_at = np.argsort(rank)
        columns = np.argsort(values[2], kind="stable")
        columns = columns[~positive_facet[columns]]
        pivots = reduce_columns(rank[cx.faces(2)[columns]], ~negative_edge[edge_at])
        found = pivots >= 0
        add(1, values[1][edge_at[pivots[found]]], values[2][columns[found]])
    k, b, d = np.concatenate(degree), np.concatenate(birth), np.concatenate(death)
    sort = np.lexsort((b, -(d - b), k))
    return Bars(k[sort], b[sort], d[sort])
