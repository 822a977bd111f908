"""Heat flow ω(t) = e^{−tΔ}ω of a decomposed field: γ stays, dα and δβ decay each by its own eigenvalues.

Coexact u ∈ Ω^j obey ⋆u' = −d_jᵀ⋆d_j u, and e^{−tΔ}dα = d e^{−tΔ}α, so two sparse pencils serve every degree.  Each is
projected once on a rational Krylov space with poles spread over the times of interest; then every time costs
milliseconds, energies decay monotonically and never below zero, because the projection is Galerkin.
Source: Ruhe 1984 (rational Krylov); van den Eshof and Hochbruck 2006 (shift and invert for e^{−tA}).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from hsd.errors import InputError
from hsd.hodge.decomposition import Decomposition
from hsd.hodge.solver import HodgeSolver
from hsd.linalg import Factor, one_blas_thread

TOLERANCE = 1e-10
MAX_SIZE = 160
"""Vectors of a Krylov space at most."""


class KrylovExponential:
    """t ↦ e^{−tA}u with A = M⁻¹K for a symmetric semidefinite K and a mass matrix M, times in [t_low, t_high].

    K, M : (n, n) sparse;  u : (n,) free of the kernel of K
    values : (m,) Ritz values θ;  vectors : (n, m) with Vᵀ M V = I;  coefficients : (m,) of u
    error  : largest change of ‖e^{−tA}u‖ / ‖u‖ by the last round at the tested times
    """

    def __init__(
        self,
        stiffness: sp.spmatrix,
        mass: sp.spmatrix,
        u: np.ndarray,
        t_low: float,
        t_high: float,
        ordering: str = "minimum_degree",
        n_poles: int = 5,
    ):
        size = float(np.sqrt(max(u @ (mass @ u), 0.0)))
        self.error, self._high = 0.0, t_high
        if size == 0.0 or len(u) == 0:
            self.values, self.coefficients = np.zeros(0), np.zeros(0)
            self.vectors = np.zeros((len(u), 0))
            return
        poles = np.geomspace(t_low, t_high, n_poles)
        factors = [Factor(mass + tau * stiffness, ordering) for tau in poles]
        times = np.geomspace(t_low, t_high, 9)
        basis = np.empty((len(u), MAX_SIZE + 1))
        basis[:, 0] = u / size
        m, before, full = 1, None, False
        while not full:
            for factor in factors:
                w = factor.solve(mass @ basis[:, m - 1])
                start = np.sqrt(w @ (mass @ w))
                for _ in range(2):
                    w = w - basis[:, :m] @ (basis[:, :m].T @ (mass @ w))
                rest = np.sqrt(max(w @ (mass @ w), 0.0))
                if rest <= 1e-13 * start or m == min(len(u), MAX_SIZE):
                    full = True
                    break
                basis[:, m] = w / rest
                m += 1
            inner = basis[:, :m].T @ (stiffness @ basis[:, :m])
            theta, y = scipy.linalg.eigh((inner + inner.T) / 2)
            now = (y * (np.exp(-np.outer(times, theta.clip(0.0))) * y[0])[:, None, :]).sum(axis=2)  # (times, m)
            if before is not None:
                padded = np.zeros_like(now)
                padded[:, : before.shape[1]] = before
                self.error = float(np.linalg.norm(now - padded, axis=1).max())
                full = full or self.error <= TOLERANCE
            before = now
        self.values = theta.clip(0.0)
        self.vectors = basis[:, :m] @ y
        self.coefficients = size * y[0]

    def at(self, t: float | np.ndarray) -> np.ndarray:
        """e^{−tA}u, (n,) for one time, (n, T) for T times."""
        decay = np.exp(-np.multiply.outer(self.values, np.asarray(t, float)))  # (m, …)
        return self.vectors @ (decay.T * self.coefficients).T

    def energies(self, t: np.ndarray, power: int = 0) -> np.ndarray:
        """⟨e^{−tA}u, A^power e^{−tA}u⟩_M for T times, (T,)."""
        decay = np.exp(-2 * np.multiply.outer(np.asarray(t, float), self.values))
        return decay @ (self.values**power * self.coefficients**2)

    @cached_property
    def slowest(self) -> float:
        """The smallest Ritz value that u contains, an estimate from above of the last rate (inf: u is zero)."""
        share = self.values * self.coefficients**2
        seen = self.values[(share > 1e-16 * share.sum()) & (self.values * self._high > 1e-6)]
        return float(seen.min()) if len(seen) else np.inf


@dataclass(frozen=True)
class Rates:
    """Estimates from above of λ of the slowest modes that each part contains; energies decay like e^{−2λt} at last."""

    exact: float
    coexact: float


class HeatFlow:
    """e^{−tΔ} of one decomposed field; ``low`` and ``high`` bound the times, in unit²."""

    def __init__(self, solver: HodgeSolver, parts: Decomposition, low: float, high: float):
        if not 0 < low < high:
            raise InputError(f"Times need 0 < low < high; got {low} and {high}.", "range")
        self.solver, self.parts, self.k = solver, parts, parts.k
        self.low, self.high = low, high

    def _flow(self, degree: int, u: np.ndarray) -> KrylovExponential:
        dec = self.solver.dec
        more = ("nested_dissection", 3) if dec.dim == 3 else ("minimum_degree", 5)  # factors cost more in tets
        with one_blas_thread():
            return KrylovExponential(dec.upper_stiffness(degree), dec.star(degree), u, self.low, self.high, *more)

    @cached_property
    def exact_flow(self) -> KrylovExponential | None:
        """e^{−tΔ}α on free (k−1)-cochains; None for k = 0."""
        if self.k == 0:
            return None
        return self._flow(self.k - 1, self.solver.dec.restrict(self.k - 1, self.parts.alpha))

    @cached_property
    def coexact_flow(self) -> KrylovExponential | None:
        """e^{−tΔ}δβ on free k-cochains; None for k = n."""
        if self.k == self.solver.dec.dim:
            return None
        return self._flow(self.k, self.solver.dec.restrict(self.k, self.parts.coexact))

    def exact(self, t: float | np.ndarray) -> np.ndarray:
        """e^{−tΔ}dα, (N_k,) or (N_k, T)."""
        dec, k = self.solver.dec, self.k
        if self.exact_flow is None:
            return np.zeros((dec.mesh.complex.n(k), *np.shape(t)))
        return dec.extend(k, dec.d(k - 1) @ self.exact_flow.at(t))

    def coexact(self, t: float | np.ndarray) -> np.ndarray:
        """e^{−tΔ}δβ, (N_k,) or (N_k, T)."""
        if self.coexact_flow is None:
            return np.zeros((self.solver.mesh.complex.n(self.k), *np.shape(t)))
        return self.solver.dec.extend(self.k, self.coexact_flow.at(t))

    def field(self, t: float | np.ndarray) -> np.ndarray:
        """e^{−tΔ}ω = e^{−tΔ}dα + e^{−tΔ}δβ + γ, (N_k,) or (N_k, T)."""
        gamma = self.parts.harmonic
        return self.exact(t) + self.coexact(t) + (gamma if np.ndim(t) == 0 else gamma[:, None])

    def energies(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """‖·‖²_⋆ of the three parts and of the field at T times; "harmonic" is constant."""
        t = np.atleast_1d(np.asarray(t, float))
        none = np.zeros(len(t))
        out = {
            "exact": none if self.exact_flow is None else self.exact_flow.energies(t, power=1),
            "coexact": none if self.coexact_flow is None else self.coexact_flow.energies(t),
            "harmonic": np.full(len(t), self.parts.energies["harmonic"]),
        }
        out["total"] = out["exact"] + out["coexact"] + out["harmonic"]
        return out

    @cached_property
    def rates(self) -> Rates:
        flows = (self.exact_flow, self.coexact_flow)
        return Rates(*(np.inf if flow is None else flow.slowest for flow in flows))
