"""Projections onto exact and coexact cochains and harmonic bases: factor once, then milliseconds a field.

Two factorisations serve everything: the scalar Laplacian d₀ᵀ⋆₁d₀ (pinned once per closed component) and, in three
dimensions, d₁ᵀ⋆₂d₁ + s⋆₁.  Coexact primitives come from a tree solve of the Morse matching, made coexact afterwards.
All methods work on *free* cochains (n_k,) or batches (n_k, m).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from hsd.dec.operators import DEC
from hsd.errors import InputError, SolverError, require_whole
from hsd.hodge.homology import Homology
from hsd.linalg import Factor, canonical_signs, orthonormalise
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import length_scale

SHIFT = 0.01
"""s = SHIFT / L² in d₁ᵀ⋆₂d₁ + s⋆₁: iterations contract by about SHIFT, digits lost stay below five."""
MAX_ROUNDS = 200


def require_degree(mesh: Mesh, k: int) -> None:
    """Raise InputError (degree) unless k is a whole number and the mesh has k-forms."""
    require_whole("degree", k)
    if not 0 <= k <= mesh.dim:
        raise InputError(f"{mesh.name} has forms of degree 0 to {mesh.dim}; got degree {k}.", "degree")


@dataclass(frozen=True, eq=False)
class HarmonicBasis:
    """Two bases of the harmonic k-forms, both on free simplices.

    dual        : (n_k, b_k), periods ∮_{zᵢ} γⱼ = δᵢⱼ over the generator cycles
    orthonormal : (n_k, b_k), Γᵀ ⋆ Γ = I
    cycles      : (n_k, b_k), the generator cycles zᵢ (integer coefficients)
    """

    dual: np.ndarray
    orthonormal: np.ndarray
    cycles: np.ndarray

    @property
    def periods(self) -> np.ndarray:
        """Period matrix of the orthonormal basis: entry (i, j) is ∮_{zᵢ} of form j, (b_k, b_k)."""
        return self.cycles.T @ self.orthonormal


class HodgeSolver:
    """Exact and coexact projections and harmonic bases of one mesh under one star and boundary condition."""

    def __init__(self, mesh: Mesh, star: str = "galerkin", bc: str = "absolute", consistent_mass: bool = False):
        self.dec = DEC(mesh, star, bc, consistent_mass)
        self.homology = Homology(mesh.complex, bc)
        self.harmonic = cache(self._harmonic)
        self.known_modes: dict[int, object] = {}  # degree → CoexactModes, kept by hsd.hodge.eigen

    @property
    def mesh(self) -> Mesh:
        return self.dec.mesh

    @cached_property
    def scale2(self) -> float:
        """A squared length whose inverse has the size of the lowest eigenvalues, for shifts.

        The larger of L² and (extent/π)²: long thin shapes get small shifts.  Edges count as 1 for the unit star.
        """
        if self.dec.kind == "unit":
            return self.mesh.complex.n_vertices ** (2 / max(self.mesh.dim, 1)) / (4 * np.pi)
        extent2 = 0.0 if self.mesh.points is None else float((np.ptp(self.mesh.points, axis=0) ** 2).sum())
        return max(length_scale(self.mesh) ** 2, extent2 / np.pi**2)

    @cached_property
    def betti(self) -> tuple[int, ...]:
        return self.homology.betti("Q")

    def rank_d(self, k: int) -> int:
        """Exact rank of d_k on free cochains, from counts and Betti numbers."""
        rank = 0
        for j in range(k + 1):
            rank = self.dec.n(j) - self.betti[j] - rank
        return rank

    # ---- factorisations ----------------------------------------------------------------------------------------

    @cached_property
    def _scalar_kernel(self) -> np.ndarray:
        """Indicators of the components on which constants are free cochains, (n_0, b_0)."""
        return self.homology.cocycles(0)[self.dec.free(0)]

    @cached_property
    def _scalar_factor(self) -> tuple[np.ndarray, Factor]:
        kernel = self._scalar_kernel
        keep = np.ones(self.dec.n(0), bool)
        if kernel.size:
            keep[np.argmax(kernel != 0, axis=0)] = False
        stiffness = self.dec.upper_stiffness(0)
        return keep, Factor(stiffness[keep][:, keep], self.dec.ordering)

    def _solve_pinned(self, rhs: np.ndarray) -> np.ndarray:
        """x with d₀ᵀ⋆₁d₀ x = rhs, zero at one vertex of each closed component."""
        keep, factor = self._scalar_factor
        x = np.zeros(rhs.shape)
        x[keep] = factor.solve(rhs[keep])
        return x

    def solve_scalar(self, rhs: np.ndarray) -> np.ndarray:
        """x with d₀ᵀ⋆₁d₀ x = rhs for rhs that sums to zero on closed components; zero ⋆₀-mean there.  (n_0, …)"""
        x = self._solve_pinned(rhs)
        return x - self.project_harmonic(0, x)

    def project_gradient(self, u: np.ndarray) -> np.ndarray:
        """φ (up to constants) with dφ the ⋆-orthogonal projection of a 1-form on gradients, one solve.  (n_0, …)"""
        return self._solve_pinned(self.dec.weak_codifferential(1) @ u)

    @cached_property
    def curl_factor(self) -> tuple[float, Factor]:
        """s and the factorisation of d₁ᵀ⋆₂d₁ + s⋆₁ (three-dimensional meshes)."""
        s = SHIFT / self.scale2
        return s, Factor(self.dec.upper_stiffness(1) + s * self.dec.star(1), self.dec.ordering)

    # ---- potentials --------------------------------------------------------------------------------------------

    def exact_potential(self, k: int, omega: np.ndarray) -> np.ndarray:
        """α ∈ Ω^{k−1}, (n_{k−1}, …), with dα the ⋆-orthogonal projection of ω on exact forms, δα = 0, α ⟂ harmonic."""
        dec = self.dec
        if k == 0:
            return np.zeros((0, *omega.shape[1:]))
        if k == 1:
            d, weak = dec.d(0), dec.weak_codifferential(1)
            alpha = self._solve_pinned(weak @ omega)
            return alpha + self.solve_scalar(weak @ (omega - d @ alpha))
        if k == dec.dim:
            return self.coexact_primitive(k - 1, omega - self.project_harmonic(k, omega))
        alpha = self._curl_iteration(omega)
        alpha = alpha - dec.d(0) @ self.exact_potential(1, alpha)
        return alpha - self.project_harmonic(1, alpha)

    def _curl_iteration(self, omega: np.ndarray) -> np.ndarray:
        """α with d₁ᵀ⋆₂(ω − d₁α) = 0 by α ← α + (d₁ᵀ⋆₂d₁ + s⋆₁)⁻¹ d₁ᵀ⋆₂(ω − d₁α)."""
        dec = self.dec
        d, weak = dec.d(1), dec.weak_codifferential(2)
        _, factor = self.curl_factor
        size = np.abs(abs(dec.boundary(2)) @ np.abs(dec.star(2) @ omega)).sum()
        alpha = np.zeros((dec.n(1), *omega.shape[1:]))
        best = np.inf
        for _ in range(MAX_ROUNDS):
            rest = weak @ (omega - d @ alpha)
            error = np.abs(rest).sum() / size if size > 0 else 0.0
            if error <= 1e-15 or (error > 0.5 * best and best < 1e-11):
                return alpha
            best = min(best, error)
            alpha = alpha + factor.solve(rest)
        raise SolverError(
            f"The exact part of a 2-form did not converge in {MAX_ROUNDS} rounds (backward error {error:.1e}); "
            "the mesh has extremely thin cells or a very long thin shape.",
            "no_convergence",
        )

    def coexact_primitive(self, k: int, f: np.ndarray) -> np.ndarray:
        """The coexact u ∈ Ω^k with d u = f for an exact f ∈ Ω^{k+1}, (n_k, …)."""
        dec = self.dec
        if k == 0:
            return self.solve_scalar(dec.weak_codifferential(1) @ f)
        u = self.homology.morse.primitive(k, f)
        for _ in range(2):
            if k == 1:
                u = u - dec.d(0) @ self.project_gradient(u)
            else:
                u = u - dec.d(k - 1) @ self._curl_iteration(u)
            u = u - self.project_harmonic(k, u)
        return u

    def coexact_potential(self, k: int, u: np.ndarray) -> np.ndarray:
        """β ∈ Ω^{k+1} with δβ = u for a coexact u ∈ Ω^k, dβ = 0 and β ⟂ harmonic.  (n_{k+1}, …)"""
        dec = self.dec
        if k == dec.dim:
            return np.zeros((0, *u.shape[1:]))
        if k == 0:
            return dec.d(0) @ self.solve_scalar(dec.star(0) @ u)
        if k == dec.dim - 1:
            y = self.homology.morse.chain_filling(k, dec.star(k) @ u)
            beta = dec.star_solver(k + 1).solve(y)
            return beta - self.project_harmonic(k + 1, beta)
        d, (_, factor) = dec.d(k), self.curl_factor
        mass, stiffness = dec.star(k), dec.upper_stiffness(k)
        v = np.zeros_like(u)
        first, best = np.abs(mass @ u).sum(), np.inf
        for _ in range(MAX_ROUNDS):
            rest = mass @ u - stiffness @ v
            error = np.abs(rest).sum() / first if first > 0 else 0.0
            if error <= 1e-15 or error > 0.5 * best:
                break
            best = error
            v = v + factor.solve(rest)
        return d @ v

    # ---- harmonic forms ----------------------------------------------------------------------------------------

    def project_harmonic(self, k: int, omega: np.ndarray) -> np.ndarray:
        """γ, the ⋆-orthogonal projection on harmonic forms, (n_k, …)."""
        basis = self.harmonic(k).orthonormal
        if basis.shape[1] == 0:
            return np.zeros_like(omega)
        return basis @ (basis.T @ (self.dec.star(k) @ omega))

    def _harmonic(self, k: int) -> HarmonicBasis:
        """The b_k harmonic k-forms: cocycle representatives minus their exact part; dγ = 0 to rounding."""
        dec, free = self.dec, self.dec.free(k)
        cycles = self.homology.cycles(k)[free]
        if k == dec.dim:  # δγ = 0 says that ⋆γ is a cycle
            raw = dec.star_solver(k).solve(cycles)
            dual = raw @ np.linalg.inv(cycles.T @ raw) if raw.shape[1] else raw
        else:
            dual = self.homology.cocycles(k)[free]
            if k and dual.shape[1]:
                for _ in range(2):
                    dual = dual - dec.d(k - 1) @ self.exact_potential(k, dual)
        return HarmonicBasis(dual, canonical_signs(orthonormalise(dual, dec.star(k))), cycles)
