"""Abstract simplicial complexes: simplices, incidence, boundary subcomplex, orientation.  No geometry here.

Simplices of degree k are rows of k+1 increasing vertex numbers in lexicographic order.  The boundary of [v0 … vk] is
Σ_i (−1)^i [v0 … v̂i … vk]; nothing else carries a sign.  A separate ±1 per top simplex (:attr:`orientation`) exists
only where the complex is an orientable pseudomanifold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.errors import InputError, TopologyError

MAX_DIM = 3


def unique_rows(rows: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in lexicographic order, and for each input row the number of its distinct row."""
    n_rows, width = rows.shape
    if n_rows == 0:
        return rows.copy(), np.zeros(0, np.int64)
    if float(max(n_vertices, 1)) ** width < 2.0**62:
        key = rows[:, 0].copy()
        for j in range(1, width):
            key = key * n_vertices + rows[:, j]
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return rows[first], inverse
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    new = np.ones(n_rows, bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    inverse = np.empty(n_rows, np.int64)
    inverse[order] = np.cumsum(new) - 1
    return ordered[new], inverse


def _outside(row: np.ndarray, n_vertices: int) -> int:
    return int(row[(row < 0) | (row >= n_vertices)][0])


def permutation_sign(rows: np.ndarray) -> np.ndarray:
    """Sign of the permutation that sorts each row, (n_rows,) int8; rows have distinct entries."""
    sign = np.ones(len(rows), np.int8)
    for i in range(rows.shape[1]):
        for j in range(i + 1, rows.shape[1]):
            sign[rows[:, i] > rows[:, j]] *= -1
    return sign


class SimplicialComplex:
    """A finite simplicial complex of dimension 0 … 3, closed under taking faces.

    Build one with :meth:`from_simplices`.  Every vertex 0 … n_vertices−1 is a 0-simplex, also an isolated one.
    """

    def __init__(self, simplices: list[np.ndarray], faces: list[np.ndarray | None]):
        self._simplices = simplices
        self._faces = faces
        for array in [*simplices, *faces]:
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_simplices(cls, n_vertices: int, generators: Mapping[int, np.ndarray]) -> SimplicialComplex:
        """The smallest complex that contains the given simplices and all n_vertices vertices.

        generators : degree k → integer array (m_k, k+1), any vertex order; duplicates are merged.
        Raises InputError (index_out_of_range, repeated_index, dimension).
        """
        given = {}
        for k, rows in generators.items():
            rows = np.asarray(rows, dtype=np.int64).reshape(-1, k + 1)
            if k > MAX_DIM or k < 0:
                raise InputError(f"Simplices of degree {k} are not supported; degrees 0 to {MAX_DIM} are.", "dimension")
            if len(rows) == 0:
                continue
            bad = np.flatnonzero((rows < 0).any(axis=1) | (rows >= n_vertices).any(axis=1))
            if len(bad):
                raise InputError(
                    f"Simplex {bad[0]} of degree {k} names vertex {_outside(rows[bad[0]], n_vertices)}, "
                    f"but there are only {n_vertices} vertices (0 to {n_vertices - 1}).",
                    "index_out_of_range",
                    bad[:100],
                )
            rows = np.sort(rows, axis=1)
            bad = np.flatnonzero((rows[:, 1:] == rows[:, :-1]).any(axis=1)) if k else []
            if len(bad):
                raise InputError(
                    f"Simplex {bad[0]} of degree {k} names one vertex twice; drop such simplices first.",
                    "repeated_index",
                    bad[:100],
                )
            given[k] = rows
        dim = max([k for k, rows in given.items() if len(rows)], default=0)
        simplices: list[np.ndarray] = [np.arange(n_vertices, dtype=np.int64)[:, None]]
        faces: list[np.ndarray | None] = [None]
        below: list[tuple[np.ndarray, np.ndarray | None]] = []
        pending = np.zeros((0, dim + 1), np.int64)
        for k in range(dim, 0, -1):
            rows = np.concatenate([pending, given.get(k, np.zeros((0, k + 1), np.int64))])
            distinct, inverse = unique_rows(rows, n_vertices)
            if below:
                below[-1] = (below[-1][0], inverse[: len(pending)])
            below.append((distinct, None))
            pending = np.concatenate([np.delete(distinct, i, axis=1) for i in range(k + 1)])
        if below:
            below[-1] = (below[-1][0], pending[:, 0])
        for k in range(1, dim + 1):
            distinct, inverse = below[dim - k]
            simplices.append(distinct)
            faces.append(np.ascontiguousarray(inverse.reshape(k + 1, -1).T))  # (N_k, k+1): column i omits vertex i
        return cls(simplices, faces)

    # ---- simplices and incidence -------------------------------------------------------------------------------

    @property
    def dim(self) -> int:
        """Largest degree of a simplex."""
        return len(self._simplices) - 1

    @property
    def n_vertices(self) -> int:
        return len(self._simplices[0])

    @property
    def counts(self) -> tuple[int, ...]:
        """(N_0, …, N_dim)."""
        return tuple(len(s) for s in self._simplices)

    def n(self, k: int) -> int:
        """Number of k-simplices; 0 outside 0 … dim."""
        return len(self._simplices[k]) if 0 <= k <= self.dim else 0

    def simplices(self, k: int) -> np.ndarray:
        """(N_k, k+1) int64, rows increasing and in lexicographic order."""
        return self._simplices[k] if 0 <= k <= self.dim else np.zeros((0, max(k, 0) + 1), np.int64)

    def faces(self, k: int) -> np.ndarray:
        """(N_k, k+1): entry (j, i) is the number of the (k−1)-simplex that omits vertex i of k-simplex j; k ≥ 1."""
        return self._faces[k]

    @property
    def euler_characteristic(self) -> int:
        """χ = Σ (−1)^k N_k."""
        return int(sum((-1) ** k * n for k, n in enumerate(self.counts)))

    def subsimplices(self, m: int, k: int) -> np.ndarray:
        """Numbers of the k-faces of each m-simplex, (N_m, C(m+1, k+1)), columns as itertools.combinations."""
        columns = []
        for keep in combinations(range(m + 1), k + 1):
            index, degree = np.arange(self.n(m)), m
            for i in reversed([i for i in range(m + 1) if i not in keep]):
                index = self._simplices[1][index, 1 - i] if degree == 1 else self._faces[degree][index, i]
                degree -= 1
            columns.append(index)
        return np.stack(columns, axis=1)

    def n_cofaces(self, k: int) -> np.ndarray:
        """For each k-simplex the number of (k+1)-simplices that contain it, (N_k,)."""
        if k >= self.dim:
            return np.zeros(self.n(k), np.int64)
        return np.bincount(self._faces[k + 1].ravel(), minlength=self.n(k))

    def is_maximal(self, k: int) -> np.ndarray:
        """True for k-simplices that lie in no larger simplex, (N_k,)."""
        return self.n_cofaces(k) == 0

    @cached_property
    def is_pure(self) -> bool:
        """True when every maximal simplex has degree dim."""
        return all(not self.is_maximal(k).any() for k in range(self.dim))

    def find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers (−1: not there) of simplices given by vertices, and signs of their order against the stored one."""
        rows = np.asarray(rows, np.int64)
        k = rows.shape[1] - 1
        sign = permutation_sign(rows)
        rows = np.sort(rows, axis=1)
        own = self.simplices(k)
        _, inverse = unique_rows(np.concatenate([own, rows]), self.n_vertices)
        where = np.full(int(inverse.max(initial=-1)) + 1, -1)
        where[inverse[: len(own)]] = np.arange(len(own))
        return where[inverse[len(own) :]], sign

    @cached_property
    def component_of_vertex(self) -> np.ndarray:
        """Connected component of each vertex, (n_vertices,), numbered by smallest vertex."""
        n = self.n_vertices
        if self.dim == 0:
            return np.arange(n)
        e = self._simplices[1]
        graph = sp.coo_matrix((np.ones(len(e), np.int8), (e[:, 0], e[:, 1])), shape=(n, n))
        return connected_components(graph, directed=False)[1]

    @property
    def n_components(self) -> int:
        return int(self.component_of_vertex.max(initial=-1)) + 1

    # ---- boundary subcomplex -----------------------------------------------------------------------------------

    @cached_property
    def _boundary_masks(self) -> list[np.ndarray]:
        masks = [np.zeros(n, bool) for n in self.counts]
        if self.dim >= 1:
            masks[self.dim - 1] = self.n_cofaces(self.dim - 1) == 1
            for k in range(self.dim - 1, 0, -1):
                masks[k - 1][self._faces[k][masks[k]].ravel()] = True
        return masks

    def on_boundary(self, k: int) -> np.ndarray:
        """True for k-simplices of ∂M: (dim−1)-simplices in exactly one top simplex, and their faces, (N_k,)."""
        return self._boundary_masks[k]

    @property
    def has_boundary(self) -> bool:
        return self.dim >= 1 and bool(self.on_boundary(self.dim - 1).any())

    @cached_property
    def boundary_complex(self) -> SimplicialComplex:
        """∂M as a complex on the same vertex numbers (its 0-simplices are all vertices)."""
        k = self.dim - 1
        return SimplicialComplex.from_simplices(self.n_vertices, {k: self.simplices(k)[self.on_boundary(k)]})

    @cached_property
    def n_boundary_pieces(self) -> int:
        """Number of connected pieces of ∂M (boundary loops of a surface)."""
        if not self.has_boundary:
            return 0
        on = self.on_boundary(0)
        return len(np.unique(self.boundary_complex.component_of_vertex[on]))

    # ---- manifoldness and orientation --------------------------------------------------------------------------

    @cached_property
    def nonmanifold_facets(self) -> np.ndarray:
        """(dim−1)-simplices in more than two top simplices."""
        return np.flatnonzero(self.n_cofaces(self.dim - 1) > 2) if self.dim >= 1 else np.zeros(0, np.int64)

    @cached_property
    def orientation(self) -> np.ndarray | None:
        """±1 per top simplex, consistent across every facet shared by two, (N_dim,) int8.

        None where some facet has three or more top simplices or where no consistent choice exists.  The first top
        simplex of each facet-connected component has +1.
        """
        n_top = self.n(self.dim)
        if self.dim == 0:
            return np.ones(n_top, np.int8)
        if len(self.nonmanifold_facets):
            return None
        faces = self._faces[self.dim]
        sign = np.broadcast_to((-1) ** np.arange(self.dim + 1), faces.shape).ravel()
        top = np.repeat(np.arange(n_top), self.dim + 1)
        order = np.argsort(faces.ravel(), kind="stable")
        f = faces.ravel()[order]
        pair = np.flatnonzero(f[1:] == f[:-1])
        a, b = top[order[pair]], top[order[pair + 1]]
        same = sign[order[pair]] != sign[order[pair + 1]]  # equal orientation cancels on the shared facet
        shift = np.where(same, 0, n_top)
        rows = np.concatenate([a, a + n_top])
        cols = np.concatenate([b + shift, (b + n_top + shift) % (2 * n_top)])
        graph = sp.coo_matrix((np.ones(len(rows), np.int8), (rows, cols)), shape=(2 * n_top, 2 * n_top))
        label = connected_components(graph, directed=False)[1]
        if (label[:n_top] == label[n_top:]).any():
            return None
        # label sheets so that the first top simplex of each component is +1: the sheet with the smaller first member
        return np.where(label[:n_top] < label[n_top:], 1, -1).astype(np.int8)

    @cached_property
    def facet_component(self) -> np.ndarray:
        """Component of each top simplex when neighbours are those sharing a facet, (N_dim,)."""
        n_top = self.n(self.dim)
        if self.dim == 0:
            return np.arange(n_top)
        faces = self._faces[self.dim]
        top = np.repeat(np.arange(n_top), self.dim + 1)
        inc = sp.csr_matrix((np.ones(faces.size, np.int32), (top, faces.ravel())), shape=(n_top, self.n(self.dim - 1)))
        return connected_components(inc @ inc.T, directed=False)[1]

    def require_orientation(self, what: str) -> np.ndarray:
        """The orientation, or TopologyError naming ``what`` needs it."""
        if self.orientation is None:
            reason = (
                f"{len(self.nonmanifold_facets)} facet(s) have more than two neighbours"
                if len(self.nonmanifold_facets)
                else "it is non-orientable"
            )
            raise TopologyError(f"{what} needs an orientable mesh, but {reason}.", "non_orientable")
        return self.orientation

    @cached_property
    def content_hash(self) -> str:
        """sha256 (hex) of all simplices."""
        digest = hashlib.sha256(repr(self.counts).encode())
        for k in range(1, self.dim + 1):
            digest.update(np.ascontiguousarray(self._simplices[k]).astype("<i8").tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"SimplicialComplex(dim={self.dim}, counts={self.counts})"
