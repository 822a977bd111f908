"""Superlevel sets {v : u(v) ≥ t} on the vertex-induced subcomplex: components at every threshold from one merge tree.

A simplex is in when all its vertices are, so components are those of the graph of edges between vertices in the set;
ties count as in, isolated vertices count, everything is compared in float64.

Every vertex is joined to its steepest neighbour in the total order (value, number), which leaves one basin a local
maximum; basins meet at the edges between them at the smaller end value, and by the elder rule of two components the
one with the lower maximum ends there.  β0(t) is the number of bars with death < t ≤ birth, exactly the count of
components at every t.
Source: Edelsbrunner, Harer 2010, chapter VII; Carr, Snoeyink, Axen 2003 (merge trees).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.errors import InputError
from hsd.mesh.persistence import elder_rule

FRACTIONS = tuple(i / 10 for i in range(1, 10))
"""10 % … 90 % of the range of the truth."""
ENTRIES = 4_000_000
"""Neighbour entries held at once."""


@dataclass(frozen=True)
class LevelRule:
    """Which thresholds are compared, and whether short-lived components count.

    fractions       : thresholds as fractions of the truth's range, min + fraction · (max − min)
    min_persistence : bars shorter than this fraction of the truth's range are left out; 0 (default) keeps all
    Raises InputError (levels).
    """

    fractions: tuple[float, ...] = FRACTIONS
    min_persistence: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "fractions", tuple(float(q) for q in self.fractions))
        if not self.fractions or not np.isfinite(self.fractions).all():
            raise InputError(f"Levels are one or more finite fractions; got {self.fractions}.", "levels")
        if not 0 <= self.min_persistence < np.inf:
            raise InputError(
                f"The smallest persistence is a fraction of the range, 0 or more; got {self.min_persistence}.", "levels"
            )


@dataclass(frozen=True, eq=False)
class SuperlevelBars:
    """Components of the superlevel sets of B fields: bar j belongs to field[j], is born at its maximum, dies below it.

    field : (m,) int;  birth, death : (m,) float64, death ≤ birth; −∞ for the last component of each piece of the mesh
    """

    n_fields: int
    field: np.ndarray
    birth: np.ndarray
    death: np.ndarray

    def betti0(self, levels: np.ndarray, min_persistence: np.ndarray | float = 0.0) -> np.ndarray:
        """β0 at levels (B, T) → (B, T) int; bars with birth − death < min_persistence, (B,) or (), are left out."""
        least = np.broadcast_to(np.asarray(min_persistence, np.float64), (self.n_fields,))
        keep = self.birth - self.death >= least[self.field]
        field, birth, death = self.field[keep], self.birth[keep], self.death[keep]
        columns = []
        for t in np.asarray(levels, np.float64).T:  # (B,)
            alive = (death < t[field]) & (t[field] <= birth)
            columns.append(np.bincount(field[alive], minlength=self.n_fields))
        return np.stack(columns, axis=1)


def superlevel_bars(values: np.ndarray, edges: np.ndarray) -> SuperlevelBars:
    """Bars of B fields on one graph: values (B, N) finite, edges (E, 2) → :class:`SuperlevelBars`.

    Raises InputError (shape, non_finite_field).
    """
    values, edges = np.asarray(values, np.float64), np.asarray(edges, np.int64).reshape(-1, 2)
    _check_fields(values, edges)
    graph = _closed_neighbours(values.shape[1], edges)
    step = max(1, ENTRIES // len(graph[0]))
    found = [_bars(values[i : i + step], edges, graph)[:3] for i in range(0, len(values), step)]
    offsets = np.arange(0, len(values), step)
    return SuperlevelBars(
        len(values),
        np.concatenate([f + o for (f, _, _), o in zip(found, offsets)] or [np.zeros(0, np.int64)]),
        np.concatenate([b for _, b, _ in found] or [np.zeros(0)]),
        np.concatenate([d for _, _, d in found] or [np.zeros(0)]),
    )


def _check_fields(values: np.ndarray, edges: np.ndarray) -> None:
    if values.ndim != 2 or values.shape[1] == 0 or (len(edges) and edges.max() >= values.shape[1]):
        raise InputError(
            f"Fields have shape (fields, vertices) and edges join these vertices; got {values.shape}.", "shape"
        )
    if not np.isfinite(values).all():
        raise InputError("Level sets need fields that are finite at every vertex.", "non_finite_field")


def _closed_neighbours(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each vertex and its neighbours, one list after the other, and where each list starts."""
    own = np.arange(n)
    source = np.concatenate([own, edges[:, 0], edges[:, 1]])
    target = np.concatenate([own, edges[:, 1], edges[:, 0]])
    order = np.argsort(source, kind="stable")
    return target[order], np.searchsorted(source[order], own)


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Components of all superlevel sets of one field: peak j is born at its maximum and joins an elder one below death.

    basin  : (N,) peak that the steepest ascent from each vertex ends at;  peak: (m,) its vertex
    birth, death : (m,) float64, −∞ for the last peak of each piece of the mesh
    parent : (m,) the elder peak of the component that it joins at ``death``; itself where death is −∞
    """

    basin: np.ndarray
    peak: np.ndarray
    birth: np.ndarray
    death: np.ndarray
    parent: np.ndarray

    def roots(self, level: float) -> np.ndarray:
        """(m,) for each peak the eldest one of its component in {u ≥ level}, −1 where it is not in the set."""
        root = np.where(self.death >= level, self.parent, np.arange(len(self.birth)))
        while True:
            further = root[root]
            if np.array_equal(further, root):
                return np.where(self.birth >= level, root, -1)
            root = further

    def labels(self, values: np.ndarray, level: float) -> np.ndarray:
        """(N,) number of the component (its eldest peak) of each vertex in {u ≥ level}, −1 outside."""
        return np.where(values >= level, self.roots(level)[self.basin], -1)


def merge_tree(values: np.ndarray, edges: np.ndarray) -> MergeTree:
    """Merge tree of one field (N,) on a graph (E, 2).  Raises InputError (shape, non_finite_field)."""
    values, edges = np.asarray(values, np.float64)[None], np.asarray(edges, np.int64).reshape(-1, 2)
    _check_fields(values, edges)
    _, birth, death, links, merging, dead, basin, peak = _bars(
        values, edges, _closed_neighbours(values.shape[1], edges)
    )
    parent = np.arange(len(birth))
    for (a, b), j in zip(links[merging].tolist(), dead.tolist()):
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        parent[j] = b if a == j else a
    return MergeTree(basin[0], peak, birth, death, parent)


def _bars(values: np.ndarray, edges: np.ndarray, graph: tuple[np.ndarray, np.ndarray]):
    """Of some fields (b, N): fields, births and deaths of their bars; the links (pairs of bars) from the highest pass
    down, numbers of those that merge two components and the bars that end there; (b, N) bars of all vertices; the
    bars' vertices."""
    b, n = values.shape
    target, start = graph
    order = np.argsort(values, axis=1, kind="stable").astype(np.int32)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n, dtype=np.int32)[None], axis=1)
    summit = np.take_along_axis(order, np.maximum.reduceat(rank[:, target], start, axis=1), axis=1)  # (b, N)
    while True:  # pointer doubling along steepest ascents
        further = np.take_along_axis(summit, summit, axis=1)
        if np.array_equal(further, summit):
            break
        summit = further
    peak_field, peak_vertex = np.nonzero(summit == np.arange(n))
    number = np.zeros((b, n), np.int64)
    number[peak_field, peak_vertex] = np.arange(len(peak_field))
    birth = values[peak_field, peak_vertex]
    death = np.full(len(birth), -np.inf)
    links, merging, dead = np.zeros((0, 2), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    first, second = summit[:, edges[:, 0]], summit[:, edges[:, 1]]  # (b, E)
    field, edge = np.nonzero(first != second)
    if len(edge):
        ends = number[field, first[field, edge]], number[field, second[field, edge]]
        pass_rank = np.minimum(rank[field, edges[edge, 0]], rank[field, edges[edge, 1]])
        links, height = _best_passes(*ends, pass_rank, len(birth))
        pass_order = np.argsort(height, kind="stable")[::-1]
        links, height = links[pass_order], height[pass_order]
        age = np.empty(len(birth), np.int64)
        age[np.argsort(rank[peak_field, peak_vertex], kind="stable")[::-1]] = np.arange(len(birth))
        merging, dead = elder_rule(len(birth), age, links)
        death[dead] = values[peak_field[dead], order[peak_field[dead], height[merging]]]
    basin = np.take_along_axis(number, summit.astype(np.int64), axis=1)
    return peak_field, birth, death, links, merging, dead, basin, peak_vertex


def _best_passes(
    first: np.ndarray, second: np.ndarray, height: np.ndarray, n_peaks: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of all edges between two basins the highest: pairs of peaks (m, 2) and their heights (m,)."""
    key = np.minimum(first, second) * n_peaks + np.maximum(first, second)
    order = np.lexsort((height, key))
    key, height = key[order], height[order]
    last = np.append(np.flatnonzero(np.diff(key)), len(key) - 1)
    return np.column_stack(np.divmod(key[last], n_peaks)), height[last]
