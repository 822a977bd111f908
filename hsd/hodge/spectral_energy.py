"""A field in the modes of a Hodge basis: energies per mode, truncation errors, the projection floor, Weyl's law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, gamma, pi

import numpy as np

from hsd.errors import InputError, check_choice
from hsd.hodge.spectrum import PARTS_IN_ORDER, HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures


def by_eigenvalue(basis: HodgeBasis) -> np.ndarray:
    """Column numbers of a basis by eigenvalue, (n,); harmonic modes first, equal eigenvalues in column order."""
    return np.argsort(basis.eigenvalues, kind="stable")


@dataclass(frozen=True, eq=False)
class SpectralEnergy:
    """Coefficients of one field, modes in order of eigenvalue (harmonic ones first).

    columns      : (n,) column of the basis of each mode;  eigenvalues, part: of these columns
    coefficients : (n,) cᵢ = φᵢᵀ ⋆ ω
    total        : ‖ω‖²_⋆ (on free simplices)
    rest         : ‖ω − Σ cᵢ φᵢ‖²_⋆, computed from the difference itself: what no truncation of this basis reaches
    blocks       : list of arrays of mode numbers with (nearly) equal eigenvalue of one part; their summed energy does
                   not depend on which modes of an eigenspace were taken
    """

    basis: HodgeBasis
    columns: np.ndarray
    coefficients: np.ndarray
    total: float
    rest: float

    @property
    def eigenvalues(self) -> np.ndarray:
        return self.basis.eigenvalues[self.columns]

    @property
    def part(self) -> np.ndarray:
        return self.basis.part[self.columns]

    @property
    def energies(self) -> np.ndarray:
        """|cᵢ|², (n,)."""
        return self.coefficients**2

    @cached_property
    def blocks(self) -> list[np.ndarray]:
        number = np.empty(len(self.columns), np.int64)
        number[self.columns] = np.arange(len(self.columns))
        return sorted((np.sort(number[b]) for b in self.basis.multiplicity_blocks), key=lambda b: int(b[0]))

    @property
    def parseval(self) -> float:
        """|‖ω‖² − Σ|cᵢ|² − ‖rest‖²| / ‖ω‖²: zero to rounding when the modes are ⋆-orthonormal."""
        return abs(self.total - float(self.energies.sum()) - self.rest) / self.total if self.total > 0 else 0.0

    @property
    def errors(self) -> np.ndarray:
        """Relative error ‖ω − Σ_{i<m} cᵢ φᵢ‖_⋆ / ‖ω‖_⋆ for m = 0 … n, (n+1,)."""
        if not self.total > 0:
            return np.zeros(len(self.columns) + 1)
        left = np.append(np.cumsum(self.energies[::-1])[::-1], 0.0) + self.rest
        return np.sqrt(left / (left[0] if left[0] > 0 else 1.0))

    @property
    def floor(self) -> float:
        """Relative error with all modes of the basis."""
        return float(np.sqrt(self.rest / self.total)) if self.total > 0 else 0.0

    def part_energies(self) -> dict[str, float]:
        """Energy of the field in the modes of each part, and in none ("rest")."""
        out = {p: float(self.energies[self.part == p].sum()) for p in PARTS_IN_ORDER}
        return {**out, "rest": self.rest}

    def reconstruct(self, m: int) -> np.ndarray:
        """Σ_{i<m} cᵢ φᵢ, (N_k,)."""
        m = max(0, min(int(m), len(self.columns)))
        return self.basis.modes[:, self.columns[:m]] @ self.coefficients[:m]


def spectral_energy(basis: HodgeBasis, omega: np.ndarray) -> SpectralEnergy:
    """Energy of a field in each mode: cᵢ = φᵢᵀ ⋆ ω and Parseval's ‖ω‖² = Σ|cᵢ|² + ‖rest‖².

    omega : (N_k,) full cochain; under relative conditions its values on the boundary count as zero
    Raises InputError (shape, non_finite_field).
    """
    omega = np.asarray(omega, np.float64)
    dec, k = basis.solver.dec, basis.k
    if omega.ndim != 1:
        raise InputError(f"One field (N_k,) is expected; got shape {omega.shape}.", "shape")
    free = dec.restrict(k, omega)
    columns = by_eigenvalue(basis)
    phi = basis.modes[dec.free(k)][:, columns]
    c = phi.T @ (dec.star(k) @ free)
    rest = free - phi @ c
    return SpectralEnergy(basis, columns, c, dec.inner(k, free, free), max(dec.inner(k, rest, rest), 0.0))


# ---- Weyl's law ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeylLaw:
    """N(λ) ≈ constant · λ^exponent for the modes of one part of Δ_k; ``text`` states it in words."""

    constant: float
    exponent: float
    text: str

    def __call__(self, eigenvalues: np.ndarray) -> np.ndarray:
        return self.constant * np.maximum(np.asarray(eigenvalues, float), 0.0) ** self.exponent


def weyl_law(mesh: Mesh, k: int, part: str) -> WeylLaw | None:
    """Weyl's law of the exact or coexact k-modes: N(λ) ≈ m · ω_n |M| / (2π)^n · λ^{n/2}.

    n = mesh.dim, |M| length, area or volume, ω_n the volume of the unit ball; m = C(n−1, k) copies for coexact and
    C(n−1, k−1) for exact modes.  Leading order, the same for both boundary conditions.  None where there is no such
    part, and for harmonic modes, of which there are b_k.  Speaks of the continuum: not for the unit star.
    Source: Weyl 1911; for forms Gilkey 1995, section 1.7 (heat trace) with the Hodge isomorphism.
    """
    check_choice("part", part, PARTS_IN_ORDER)
    n = mesh.dim
    j = {"coexact": k, "exact": k - 1}.get(part, -1)
    if not (0 <= j < n and 0 <= k <= n):
        return None
    copies = comb(n - 1, j)
    size = float(measures(mesh, n).sum())
    ball = pi ** (n / 2) / gamma(n / 2 + 1)
    what, formula = {
        1: ("length", "length/π · √λ"),
        2: ("area", "area/(4π) · λ"),
        3: ("volume", "volume/(6π²) · λ^(3/2)"),
    }[n]
    times = f"{copies} · " if copies > 1 else ""
    return WeylLaw(
        copies * ball * size / (2 * pi) ** n, n / 2, f"N(λ) ≈ {times}{formula} for {part} modes ({what} {size:.6g})"
    )
