"""Discrete Morse matchings: exact (co)homology from a tiny critical complex.

Cells are the free simplices of a boundary condition (all, or those off ∂M: the relative chain complex).  At each level
(k−1, k) a (k−1)-cell is paired with a k-cell so that the pairs are acyclic; the boundary matrix on pairs is triangular
with diagonal ±1, so chains and cochains are extended from critical cells by exact small-integer triangular solves.
On surfaces the pairs are a spanning tree and a dual cotree.

Source: Forman, Morse theory for cell complexes, 1998; Eppstein, Dynamic generators of topologically embedded graphs,
2003 (tree–cotree).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from hsd.linalg import Factor


@dataclass(frozen=True)
class Pairs:
    """Pairs (low[i], high[i]) of (k−1)- and k-cells of one level, in an order that makes the boundary triangular."""

    low: np.ndarray
    high: np.ndarray


class MorseMatching:
    """An acyclic matching of a chain complex.

    boundaries : [B_1, …, B_dim] CSR on free cells, entries ±1;  counts : numbers of free cells per degree.
    """

    def __init__(self, boundaries: list[sp.csr_matrix], counts: list[int]):
        self.boundaries = boundaries
        self.counts = counts
        self.dim = len(counts) - 1
        taken = [np.zeros(n, bool) for n in counts]
        levels: list[Pairs | None] = [None] * (self.dim + 1)
        order = [1] if self.dim else []
        order += [k for k in range(self.dim, 1, -1)]
        for k in order:
            b = boundaries[k - 1]
            if k == 1:
                pairs = _spanning_forest(b)
            elif k == self.dim and not (np.diff(b.indptr) > 2).any():
                pairs = _dual_cotree(b, ~taken[k - 1])
            else:
                pairs = _collapse(b, ~taken[k - 1], ~taken[k])
            taken[k - 1][pairs.low] = True
            taken[k][pairs.high] = True
            levels[k] = pairs
        self._levels = levels
        self.critical = [np.flatnonzero(~t) for t in taken]

    def pairs(self, k: int) -> Pairs:
        """Pairs of (k−1)-cells with k-cells; empty outside 1 … dim."""
        if 1 <= k <= self.dim:
            return self._levels[k]
        return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @cached_property
    def _triangles(self) -> dict[int, Factor]:
        return {}

    @cached_property
    def _inverses(self) -> dict[int, np.ndarray]:
        return {}

    def _triangle(self, k: int) -> Factor:
        """Factor of T_k = B_k[low, high], triangular in the stored order."""
        if k not in self._triangles:
            pairs = self.pairs(k)
            block = self.boundaries[k - 1][pairs.low][:, pairs.high]
            self._triangles[k] = Factor(block, "natural")
        return self._triangles[k]

    def _pseudo_inverse(self, k: int) -> np.ndarray:
        """Pseudo-inverse of the critical d_k, (critical k-cells, critical (k+1)-cells); zero on perfect matchings."""
        if k not in self._inverses:
            self._inverses[k] = np.linalg.pinv(self.critical_derivative(k).astype(float))
        return self._inverses[k]

    def primitive(self, k: int, f: np.ndarray) -> np.ndarray:
        """A k-cochain u with d u = f for an exact (k+1)-cochain f, (n_k, …); u is zero on k-cells paired downwards."""
        pairs, critical = self.pairs(k + 1), self.critical[k]
        u = np.zeros((self.counts[k], *f.shape[1:]))
        u[pairs.low] = self._triangle(k + 1).solve(f[pairs.high], transpose=True)
        if len(critical) and k < self.dim and len(self.critical[k + 1]):
            d = self.boundaries[k].T.tocsr()
            u[critical] = self._pseudo_inverse(k) @ (f - d @ u)[self.critical[k + 1]]
            u[pairs.low] += self._triangle(k + 1).solve((f - d @ u)[pairs.high], transpose=True)
        return u

    def chain_filling(self, k: int, z: np.ndarray) -> np.ndarray:
        """A (k+1)-chain y with ∂y = z for a k-boundary z, (n_{k+1}, …); y is zero on cells paired upwards."""
        pairs, critical = self.pairs(k + 1), self.critical[k + 1]
        y = np.zeros((self.counts[k + 1], *z.shape[1:]))
        y[pairs.high] = self._triangle(k + 1).solve(z[pairs.low])
        if len(critical) and len(self.critical[k]):
            b = self.boundaries[k]
            y[critical] = self._pseudo_inverse(k).T @ (z - b @ y)[self.critical[k]]
            y[pairs.high] += self._triangle(k + 1).solve((z - b @ y)[pairs.low])
        return y

    def flow_up(self, k: int, critical_values: np.ndarray) -> np.ndarray:
        """Extends values on critical k-cells to a k-cochain w, (n_k, m), with dw = 0 on all paired (k+1)-cells.

        w is zero on k-cells paired downwards.  Exact integers for integer values.
        """
        w = np.zeros((self.counts[k], critical_values.shape[1]))
        w[self.critical[k]] = critical_values
        pairs = self.pairs(k + 1)
        if len(pairs.low):
            rhs = -(self.boundaries[k].T @ w)[pairs.high]
            w[pairs.low] = np.rint(self._triangle(k + 1).solve(rhs, transpose=True))
        return w

    def flow_down(self, k: int, critical_values: np.ndarray) -> np.ndarray:
        """Extends values on critical k-cells to a k-chain z, (n_k, m), with ∂z = 0 on all paired (k−1)-cells.

        z is zero on k-cells paired upwards.
        """
        z = np.zeros((self.counts[k], critical_values.shape[1]))
        z[self.critical[k]] = critical_values
        pairs = self.pairs(k)
        if len(pairs.low):
            rhs = -(self.boundaries[k - 1] @ z)[pairs.low]
            z[pairs.high] = np.rint(self._triangle(k).solve(rhs))
        return z

    def critical_derivative(self, k: int) -> np.ndarray:
        """d_k of the critical complex: int64 (critical (k+1)-cells, critical k-cells)."""
        rows = len(self.critical[k + 1]) if k < self.dim else 0
        cols = len(self.critical[k])
        if rows == 0 or cols == 0:
            return np.zeros((rows, cols), np.int64)
        w = self.flow_up(k, np.eye(cols))
        return np.rint((self.boundaries[k].T @ w)[self.critical[k + 1]]).astype(np.int64)


def _forest(n_nodes: int, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Breadth-first forest of a graph with edges (a[i], b[i]); node n_nodes is the ground, visited first.

    Returns nodes in visiting order (without roots), the edge to their parent, and all roots.
    """
    edge = np.arange(len(a))
    # one super-root n+1 joined to the ground and, by virtual edges, to one node of each component without ground
    graph = sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(n_nodes + 1, n_nodes + 1))
    label = sp.csgraph.connected_components(graph, directed=False)[1]
    first = np.full(label.max(initial=-1) + 1, -1)
    first[label[::-1]] = np.arange(n_nodes, -1, -1)
    roots = first[first != -1]
    roots = np.where(label[roots] == label[n_nodes], n_nodes, roots)
    top = n_nodes + 1
    rows = np.concatenate([a, np.full(len(roots), top)])
    cols = np.concatenate([b, roots])
    data = np.concatenate([edge, np.full(len(roots), len(a))]) + 1.0
    lo, hi = np.minimum(rows, cols), np.maximum(rows, cols)
    keep = np.unique(lo * (top + 1) + hi, return_index=True)[1]
    full = sp.coo_matrix((data[keep], (lo[keep], hi[keep])), shape=(top + 1, top + 1)).tocsr()
    full = full + full.T
    order, parent = breadth_first_order(full, top, directed=False, return_predecessors=True)
    nodes = order[1:]
    via = np.asarray(full[nodes, parent[nodes]]).ravel().astype(np.int64) - 1
    real = via < len(a)
    return nodes[real], via[real], roots[roots != n_nodes]


def _ends(b: sp.csr_matrix, usable: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of b with one or two entries as graph edges (row, end, end); a missing end is the ground node b.shape[1]."""
    degree = np.diff(b.indptr)
    rows = np.flatnonzero(usable & (degree >= 1) & (degree <= 2))
    first = b.indices[b.indptr[rows]].astype(np.int64)
    second = np.where(degree[rows] == 2, b.indices[np.minimum(b.indptr[rows] + 1, b.nnz - 1)], b.shape[1])
    return rows, first, second.astype(np.int64)


def _spanning_forest(b1: sp.csr_matrix) -> Pairs:
    """Vertices paired with the edge to their parent; edges with one free end lead to the ground (∂M)."""
    rows, first, second = _ends(b1.T.tocsr(), np.ones(b1.shape[1], bool))
    nodes, via, _ = _forest(b1.shape[0], first, second)
    return Pairs(nodes, rows[via])


def _dual_cotree(b: sp.csr_matrix, usable: np.ndarray) -> Pairs:
    """Usable facets paired with the top cell that they lead to, breadth-first from outside."""
    rows, first, second = _ends(b, usable)
    nodes, via, _ = _forest(b.shape[1], first, second)
    return Pairs(rows[via], nodes)


def _collapse(b: sp.csr_matrix, low_free: np.ndarray, high_free: np.ndarray) -> Pairs:
    """Greedy collapse: pair a low cell that has one remaining coface with it; when stuck, a high cell is critical."""
    high = np.flatnonzero(high_free)
    number = np.full(b.shape[1], -1)
    number[high] = np.arange(len(high))
    sub = b[:, high].tocsr()
    cofaces = [sub.indices[a:z].tolist() for a, z in zip(sub.indptr[:-1], sub.indptr[1:])]
    by_high = sub.tocsc()
    faces = [by_high.indices[a:z].tolist() for a, z in zip(by_high.indptr[:-1], by_high.indptr[1:])]
    remaining = np.diff(sub.indptr).tolist()
    free = low_free.tolist()
    alive = [True] * len(high)
    stack = [i for i in range(b.shape[0]) if free[i] and remaining[i] == 1]
    lows: list[int] = []
    highs: list[int] = []
    left = len(high)
    scan = 0

    def remove(cell: int) -> None:
        alive[cell] = False
        for face in faces[cell]:
            remaining[face] -= 1
            if remaining[face] == 1 and free[face]:
                stack.append(face)

    while left:
        if stack:
            low = stack.pop()
            if not free[low] or remaining[low] != 1:
                continue
            cell = next(c for c in cofaces[low] if alive[c])
            free[low] = False
            lows.append(low)
            highs.append(cell)
        else:
            while not alive[scan]:
                scan += 1
            cell = scan
        remove(cell)
        left -= 1
    return Pairs(np.array(lows, np.int64), high[np.array(highs, np.int64)] if highs else np.zeros(0, np.int64))
