"""Boundary matrices and the exterior derivative: pure combinatorics, entries −1, 0, +1."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hsd.mesh.complex import SimplicialComplex


def boundary(complex_: SimplicialComplex, k: int) -> sp.csr_matrix:
    """B_k: k-chains → (k−1)-chains, ∂[v0…vk] = Σ (−1)^i [v0…v̂i…vk].

    Returns int8 CSR (N_{k−1}, N_k); an empty matrix of the right shape for k outside 1 … dim.
    """
    shape = (complex_.n(k - 1), complex_.n(k))
    if not 1 <= k <= complex_.dim:
        return sp.csr_matrix(shape, dtype=np.int8)
    faces = complex_.faces(k)
    sign = np.broadcast_to(((-1) ** np.arange(k + 1)).astype(np.int8), faces.shape)
    column = np.repeat(np.arange(shape[1]), k + 1)
    return sp.csr_matrix((sign.ravel(), (faces.ravel(), column)), shape=shape)


def derivative(complex_: SimplicialComplex, k: int) -> sp.csr_matrix:
    """d_k = B_{k+1}ᵀ: k-cochains Ω^k → Ω^{k+1}, (N_{k+1}, N_k) int8 CSR.  d_{k+1} d_k has no non-zero entry."""
    return boundary(complex_, k + 1).T.tocsr()
