"""The discrete Hodge decomposition ω = dα + δβ + γ, each part from a solve of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.errors import InputError
from hsd.hodge.solver import HodgeSolver, require_degree
from hsd.linalg import one_blas_thread
from hsd.mesh.mesh import LARGEST, SMALLEST, Mesh

PARTS = ("exact", "coexact", "harmonic")


@dataclass(frozen=True, eq=False)
class Decomposition:
    """ω = dα + δβ + γ on all k-simplices, (N_k,) each (or (N_k, m) for a batch).

    exact dα, coexact δβ, harmonic γ : full cochains
    alpha (N_{k−1},), beta (N_{k+1},): potentials with δα = 0 and dβ = 0
    residual                         : ‖ω − dα − δβ − γ‖_⋆ / ‖ω‖_⋆; the parts are solved separately, so this is a test
    energies                         : part → ‖part‖²_⋆, "total" → ‖ω‖²_⋆
    inner                            : (3, 3) ⟨part, part⟩_⋆ / ‖ω‖²_⋆ in the order exact, coexact, harmonic
    zeros                            : "d exact", "delta coexact", "d harmonic", "delta harmonic" → backward error
    harmonic_coefficients            : of γ in the ⋆-orthonormal harmonic basis, (b_k,)
    periods                          : circulation of γ around the generator cycles, (b_k,)
    """

    k: int
    bc: str
    star: str
    exact: np.ndarray
    coexact: np.ndarray
    harmonic: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    residual: float
    energies: dict[str, float]
    inner: np.ndarray
    zeros: dict[str, float]
    harmonic_coefficients: np.ndarray
    periods: np.ndarray


class Decomposer:
    """Decomposes k-cochains of one mesh; factorisations are made once, on first use.

    star, bc as in :class:`hsd.dec.operators.DEC`.  ``solver`` may be shared by several degrees.
    """

    def __init__(
        self,
        mesh: Mesh,
        k: int,
        bc: str = "absolute",
        star: str = "galerkin",
        solver: HodgeSolver | None = None,
    ):
        require_degree(mesh, k)
        self.k = k
        self.solver = solver or HodgeSolver(mesh, star, bc)

    def parts(self, omega: np.ndarray, potentials: bool = True) -> tuple[np.ndarray, ...]:
        """dα, δβ, γ, α, β of free cochains (n_k,) or (n_k, m); α and β are None without ``potentials``."""
        k, solver, dec = self.k, self.solver, self.solver.dec
        alpha = solver.exact_potential(k, omega)
        exact = dec.d(k - 1) @ alpha if k else np.zeros_like(omega)
        if k < dec.dim:
            coexact = solver.coexact_primitive(k, dec.d(k) @ omega)
        else:
            coexact = np.zeros_like(omega)
        gamma = solver.project_harmonic(k, omega)
        beta = solver.coexact_potential(k, coexact) if potentials else None
        return exact, coexact, gamma, alpha if potentials else None, beta

    def __call__(self, omega: np.ndarray) -> Decomposition:
        """Decompose a full cochain (N_k,).  Raises InputError (shape, not_numeric, non_finite_field, scale)."""
        omega = self.solver.dec.restrict(self.k, omega)
        size = float(np.abs(omega).max(initial=0.0))
        if omega.ndim != 1:
            raise InputError(
                f"One field at a time has shape ({self.solver.mesh.complex.n(self.k)},), got {omega.ndim} dimensions; "
                "use `parts` for batches.",
                "shape",
            )
        if size and not SMALLEST <= size <= LARGEST:
            raise InputError(
                f"The largest value of the field is {size:.3g}; energies need values between {SMALLEST:g} and "
                f"{LARGEST:g}: change the unit.",
                "scale",
            )
        with one_blas_thread():
            return self._result(omega)

    def _result(self, omega: np.ndarray) -> Decomposition:
        k, solver, dec = self.k, self.solver, self.solver.dec
        exact, coexact, gamma, alpha, beta = self.parts(omega)
        star = dec.star(k)
        stacked = np.stack([exact, coexact, gamma], axis=1)
        products = stacked.T @ (star @ stacked)
        total = dec.inner(k, omega, omega)
        rest = omega - exact - coexact - gamma
        basis = solver.harmonic(k)
        return Decomposition(
            k=k,
            bc=dec.bc,
            star=dec.kind,
            exact=dec.extend(k, exact),
            coexact=dec.extend(k, coexact),
            harmonic=dec.extend(k, gamma),
            alpha=dec.extend(k - 1, alpha) if k else alpha,
            beta=dec.extend(k + 1, beta) if k < dec.dim else beta,
            residual=float(np.sqrt(dec.inner(k, rest, rest) / total)) if total > 0 else 0.0,
            energies=dict(zip((*PARTS, "total"), (*np.diag(products).tolist(), total))),
            inner=products / total if total > 0 else products,
            zeros={
                "d exact": dec.closedness(k, exact),
                "delta coexact": dec.coclosedness(k, coexact),
                "d harmonic": dec.closedness(k, gamma),
                "delta harmonic": dec.coclosedness(k, gamma),
            },
            harmonic_coefficients=basis.orthonormal.T @ (star @ omega),
            periods=basis.cycles.T @ gamma,
        )


def decompose(mesh: Mesh, omega: np.ndarray, k: int, bc: str = "absolute", star: str = "galerkin") -> Decomposition:
    """Hodge decomposition of one k-cochain (N_k,); use :class:`Decomposer` for many fields on one mesh."""
    return Decomposer(mesh, k, bc, star)(omega)


def circulations(solver: HodgeSolver, k: int, omega: np.ndarray) -> np.ndarray:
    """∮_{zᵢ} ω over the generator k-cycles (relative cycles under relative conditions), full cochain (N_k,) → (b_k,).

    For a form that is not closed the value depends on the loop within its class.
    """
    return solver.homology.cycles(k).T @ np.asarray(omega, np.float64)


def fluxes(solver: HodgeSolver, k: int, omega: np.ndarray) -> np.ndarray:
    """wᵢᵀ ⋆ω with the cocycles wᵢ dual to the generators, (N_k,) → (b_k,).

    wᵢᵀ⋆ω is the flux of ω through the dual (n−k)-cycle that crosses generator i once; it is the same for every cocycle
    of the class exactly when δω = 0.
    """
    dec = solver.dec
    w = solver.homology.cocycles(k)[dec.free(k)]
    return w.T @ (dec.star(k) @ dec.restrict(k, omega))
