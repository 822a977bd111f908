"""Exact homology and cohomology over Q and GF(2), absolute and relative, with generators to draw.

Betti numbers are ranks of the tiny Morse complex, never counts of small eigenvalues.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np
import scipy.sparse as sp

from hsd.dec.boundary import boundary
from hsd.dec.operators import BOUNDARY_CONDITIONS
from hsd.errors import check_choice
from hsd.hodge.exact import FIELDS, quotient, rank
from hsd.hodge.morse import MorseMatching
from hsd.mesh.complex import SimplicialComplex


class Homology:
    """(Co)homology of a complex M (absolute) or of the pair (M, ∂M) (relative).

    Chains and cochains returned here are full length (N_k, …), zero on boundary simplices where relative.
    """

    def __init__(self, complex_: SimplicialComplex, bc: str = "absolute"):
        self.complex = complex_
        self.bc = check_choice("boundary condition", bc, BOUNDARY_CONDITIONS)
        for name in ("cycles", "cocycles"):
            setattr(self, name, cache(getattr(self, name)))

    @cached_property
    def free(self) -> list[np.ndarray]:
        """Numbers of the free simplices per degree."""
        cx = self.complex
        if self.bc == "absolute":
            return [np.arange(n) for n in cx.counts]
        return [np.flatnonzero(~cx.on_boundary(k)) for k in range(cx.dim + 1)]

    @cached_property
    def morse(self) -> MorseMatching:
        """The matching on free simplices."""
        free = self.free
        boundaries: list[sp.csr_matrix] = []
        for k in range(1, self.complex.dim + 1):
            b = boundary(self.complex, k)
            if self.bc == "relative":
                b = b[free[k - 1]][:, free[k]].tocsr()
            boundaries.append(b)
        return MorseMatching(boundaries, [len(f) for f in free])

    @cached_property
    def _derivatives(self) -> list[np.ndarray]:
        return [self.morse.critical_derivative(k) for k in range(self.complex.dim + 1)]

    def betti(self, field: str = "Q") -> tuple[int, ...]:
        """(b_0, …, b_dim): dimensions of H_k over Q or GF(2)."""
        check_choice("field", field, FIELDS)
        ranks = [rank(d, field) for d in self._derivatives]
        counts = [len(c) for c in self.morse.critical]
        return tuple(n - ranks[k] - (ranks[k - 1] if k else 0) for k, n in enumerate(counts))

    def cycles(self, k: int, field: str = "Q") -> np.ndarray:
        """Representatives of a basis of H_k, integer coefficients (0/1 over GF(2)), (N_k, b_k); ∂z = 0 exactly."""
        derivatives = self._derivatives
        below = derivatives[k - 1].T if k else np.zeros((0, len(self.morse.critical[0])), np.int64)
        chains = self.morse.flow_down(k, quotient(below, derivatives[k].T, field))
        if field == "GF2":
            chains = np.mod(chains, 2)
        return self._full(k, chains)

    def cocycles(self, k: int) -> np.ndarray:
        """Cocycle representatives of H^k over Q dual to :meth:`cycles`: zᵢᵀ wⱼ = δᵢⱼ, (N_k, b_k); dw = 0."""
        derivatives = self._derivatives
        into = derivatives[k - 1] if k else np.zeros((len(self.morse.critical[0]), 0), np.int64)
        raw = self._full(k, self.morse.flow_up(k, quotient(derivatives[k], into, "Q")))
        pairing = self.cycles(k).T @ raw
        if np.array_equal(pairing, np.eye(len(pairing))):
            return raw
        inverse = np.linalg.inv(pairing)
        rounded = np.rint(inverse)
        return raw @ (rounded if np.array_equal(pairing @ rounded, np.eye(len(pairing))) else inverse)

    def _full(self, k: int, values: np.ndarray) -> np.ndarray:
        out = np.zeros((self.complex.n(k), values.shape[1]))
        out[self.free[k]] = values
        return out


def betti_numbers(complex_: SimplicialComplex, field: str = "Q", bc: str = "absolute") -> tuple[int, ...]:
    """(b_0, …, b_dim) of a complex, exact.  field: "Q" or "GF2"; bc: "absolute" H_k(M) or "relative" H_k(M, ∂M)."""
    return Homology(complex_, bc).betti(field)
