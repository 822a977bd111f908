"""Discrete exterior calculus on one mesh: d, ⋆, δ and Δ under a star and a boundary condition.

Everything acts on *free* cochains: all k-simplices under ``absolute`` conditions (H^k(M)), those off the boundary under
``relative`` ones (H^k(M, ∂M)); :meth:`DEC.restrict` and :meth:`DEC.extend` go between these and full cochains.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from hsd.dec.boundary import boundary
from hsd.dec.stars import STARS, hodge_star
from hsd.errors import InputError, check_choice
from hsd.linalg import MassSolver
from hsd.mesh.mesh import Mesh

BOUNDARY_CONDITIONS = ("absolute", "relative")


class CochainOperator(LinearOperator):
    """A linear map between cochain spaces; works on (n,) and (n, m) arrays, ``to_dense()`` for small meshes.

    ``sparse`` is the matrix where it is one (all stars inside are diagonal), else None.
    """

    def __init__(self, shape, apply, sparse: sp.spmatrix | None = None):
        self._apply = apply
        self.sparse = sparse
        super().__init__(np.float64, shape)

    def _matvec(self, x):
        return self._apply(x.ravel())

    def _matmat(self, x):
        return self._apply(x)

    def to_dense(self) -> np.ndarray:
        """The matrix as a dense array; meant for some thousand rows at most."""
        return self._apply(np.eye(self.shape[1]))


class DEC:
    """Operators of discrete exterior calculus on a mesh.

    star            : "galerkin" (default), "diagonal" or "unit"
    bc              : "absolute" (nothing imposed, H^k(M)) or "relative" (zero on boundary simplices, H^k(M, ∂M))
    consistent_mass : P1 mass matrix instead of the lumped one for ⋆_0 (galerkin)
    All matrices are float64 on free simplices; Δ is positive.
    """

    def __init__(self, mesh: Mesh, star: str = "galerkin", bc: str = "absolute", consistent_mass: bool = False):
        self.mesh = mesh
        self.kind = check_choice("star", star, STARS)
        self.bc = check_choice("boundary condition", bc, BOUNDARY_CONDITIONS)
        self.consistent_mass = consistent_mass
        for name in ("free", "d", "boundary", "star", "star_solver", "weak_codifferential", "upper_stiffness"):
            setattr(self, name, cache(getattr(self, name)))

    @property
    def dim(self) -> int:
        return self.mesh.dim

    @property
    def ordering(self) -> str:
        """The fill-reducing ordering of :class:`hsd.linalg.Factor` that suits matrices of this mesh."""
        return "nested_dissection" if self.dim == 3 else "minimum_degree"

    def n(self, k: int) -> int:
        """Number of free k-simplices; 0 outside 0 … dim."""
        return len(self.free(k)) if 0 <= k <= self.dim else 0

    def free(self, k: int) -> np.ndarray:
        """Numbers of the free k-simplices, increasing."""
        if not 0 <= k <= self.dim:
            return np.zeros(0, np.int64)
        if self.bc == "absolute" or k == self.dim:
            return np.arange(self.mesh.complex.n(k))
        return np.flatnonzero(~self.mesh.complex.on_boundary(k))

    def restrict(self, k: int, omega: np.ndarray) -> np.ndarray:
        """Full cochain (N_k, …) → free entries (n_k, …).  Raises InputError (shape, not_numeric, non_finite_field)."""
        omega = np.asarray(omega)
        if omega.dtype.kind not in "fiub":
            raise InputError(f"A cochain holds real numbers; got {omega.dtype}.", "not_numeric")
        omega = omega.astype(np.float64)
        if omega.shape[:1] != (self.mesh.complex.n(k),):
            raise InputError(
                f"A {k}-cochain on {self.mesh.name} has {self.mesh.complex.n(k)} values, one a {k}-simplex in stored "
                f"order; got shape {omega.shape}.",
                "shape",
            )
        bad = np.flatnonzero(~np.isfinite(omega.reshape(len(omega), -1)).all(axis=1))
        if len(bad):
            raise InputError(
                f"The field is not finite on {len(bad)} of {len(omega)} simplices, the first is {bad[0]}; "
                "mend or drop these values.",
                "non_finite_field",
                bad[:100],
            )
        return omega[self.free(k)]

    def extend(self, k: int, omega: np.ndarray) -> np.ndarray:
        """Free cochain (n_k, …) → full cochain (N_k, …), zero on the boundary where the condition is relative."""
        if len(self.free(k)) == self.mesh.complex.n(k):
            return omega
        out = np.zeros((self.mesh.complex.n(k), *omega.shape[1:]), omega.dtype)
        out[self.free(k)] = omega
        return out

    # ---- first-order operators ---------------------------------------------------------------------------------

    def d(self, k: int) -> sp.csr_matrix:
        """d_k : Ω^k → Ω^{k+1}, (n_{k+1}, n_k) CSR with entries ±1; empty outside 0 … dim−1."""
        if not 0 <= k < self.dim:
            return sp.csr_matrix((self.n(k + 1), self.n(k)))
        b = boundary(self.mesh.complex, k + 1).astype(np.float64)
        return b[self.free(k)][:, self.free(k + 1)].T.tocsr()

    def boundary(self, k: int) -> sp.csr_matrix:
        """B_k = d_{k−1}ᵀ on free simplices, (n_{k−1}, n_k)."""
        return self.d(k - 1).T.tocsr()

    def star(self, k: int) -> sp.csr_matrix:
        """⋆_k on free k-simplices, (n_k, n_k) symmetric positive definite."""
        full = hodge_star(self.mesh, k, self.kind, self.consistent_mass)
        return full if self.n(k) == full.shape[0] else full[self.free(k)][:, self.free(k)].tocsr()

    def star_solver(self, k: int) -> MassSolver:
        """⋆_k⁻¹, factored once."""
        return MassSolver(self.star(k), self.ordering)

    def weak_codifferential(self, k: int) -> sp.csr_matrix:
        """B_k ⋆_k = ⋆_{k−1} δ_k, (n_{k−1}, n_k) CSR: the codifferential before ⋆_{k−1} is inverted."""
        return (self.boundary(k) @ self.star(k)).tocsr()

    def codifferential(self, k: int) -> CochainOperator:
        """δ_k = ⋆_{k−1}⁻¹ B_k ⋆_k : Ω^k → Ω^{k−1}, the ⋆-adjoint of d_{k−1}."""
        shape = (self.n(k - 1), self.n(k))
        if not 1 <= k <= self.dim:
            return CochainOperator(shape, lambda x: np.zeros((shape[0], *x.shape[1:])), sp.csr_matrix(shape))
        weak = self.weak_codifferential(k)
        solver = self.star_solver(k - 1)
        sparse = None if solver.diagonal is None else (sp.diags(1 / solver.diagonal) @ weak).tocsr()
        return CochainOperator(shape, lambda x: solver.solve(weak @ x), sparse)

    # ---- second-order operators --------------------------------------------------------------------------------

    def upper_stiffness(self, k: int) -> sp.csr_matrix:
        """d_kᵀ ⋆_{k+1} d_k, the energy ‖dω‖², (n_k, n_k) CSR."""
        if not 0 <= k < self.dim:
            return sp.csr_matrix((self.n(k), self.n(k)))
        d = self.d(k)
        return (d.T @ self.star(k + 1) @ d).tocsr()

    def lower_stiffness(self, k: int) -> CochainOperator:
        """⋆_k d_{k−1} ⋆_{k−1}⁻¹ d_{k−1}ᵀ ⋆_k, the energy ‖δω‖², (n_k, n_k)."""
        n = self.n(k)
        if not 1 <= k <= self.dim:
            return CochainOperator((n, n), np.zeros_like, sp.csr_matrix((n, n)))
        weak = self.weak_codifferential(k)
        solver = self.star_solver(k - 1)
        sparse = None if solver.diagonal is None else (weak.T @ sp.diags(1 / solver.diagonal) @ weak).tocsr()
        return CochainOperator((n, n), lambda x: weak.T @ solver.solve(weak @ x), sparse)

    def stiffness(self, k: int) -> CochainOperator:
        """K_k = ⋆_k Δ_k, symmetric positive semidefinite; the pencil (K_k, ⋆_k) has the spectrum of Δ_k."""
        upper, lower = self.upper_stiffness(k), self.lower_stiffness(k)
        sparse = None if lower.sparse is None else (upper + lower.sparse).tocsr()
        apply = (lambda x: sparse @ x) if sparse is not None else (lambda x: upper @ x + lower._apply(x))
        return CochainOperator(upper.shape, apply, sparse)

    def laplacian(self, k: int) -> CochainOperator:
        """Δ_k = d δ + δ d : Ω^k → Ω^k, ⋆-self-adjoint and positive."""
        if not 0 <= k <= self.dim:
            raise InputError(f"Degree {k} is outside 0 … {self.dim} of {self.mesh.name}.", "degree")
        stiffness, solver = self.stiffness(k), self.star_solver(k)
        sparse = None
        if stiffness.sparse is not None and solver.diagonal is not None:
            sparse = (sp.diags(1 / solver.diagonal) @ stiffness.sparse).tocsr()
        return CochainOperator(stiffness.shape, lambda x: solver.solve(stiffness._apply(x)), sparse)

    # ---- measures of "zero" ------------------------------------------------------------------------------------

    def inner(self, k: int, a: np.ndarray, b: np.ndarray) -> float:
        """⟨a, b⟩ = aᵀ ⋆_k b of free cochains (n_k,)."""
        return float(a @ (self.star(k) @ b))

    def norm(self, k: int, a: np.ndarray) -> float:
        """‖a‖_⋆ of a free cochain."""
        return float(np.sqrt(max(self.inner(k, a, a), 0.0)))

    def closedness(self, k: int, omega: np.ndarray) -> float:
        """Backward error of dω = 0: ‖d ω‖₁ / ‖|d| |ω|‖₁ of a free cochain; 0 where there is nothing to sum."""
        return _cancellation(self.d(k), omega)

    def coclosedness(self, k: int, omega: np.ndarray) -> float:
        """Backward error of δω = 0: ‖B_k ⋆ω‖₁ / ‖|B_k| |⋆ω|‖₁ of a free cochain."""
        return _cancellation(self.boundary(k), self.star(k) @ omega)


def _cancellation(matrix: sp.csr_matrix, x: np.ndarray) -> float:
    total = float(np.abs(abs(matrix) @ np.abs(x)).sum())
    return float(np.abs(matrix @ x).sum()) / total if total > 0 else 0.0
