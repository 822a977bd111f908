"""Two-dimensional viscous flow on closed surfaces: ω_t + div(ω u) + ν Δω = 0, the velocity made by the vorticity.

Stream function Δ_0ψ = ω, velocity u = ∇ψ × N, its flux 1-form f = dψ.  The flux of the piecewise linear ψ across the
median dual of the edge i → j is F_ij = (ψ_left − ψ_right)/3, the two vertices opposite to the edge: differences of ψ
along the rim of a control volume, which add up to zero exactly.  With the mean of ω on the edge

    ⋆_0 ω̇_i = − Σ_j F_ij (ω_i + ω_j)/2 − ν (Kω)_i,    K = d_0ᵀ ⋆_1 d_0.

The first sum is −∫ φ_i J(ψ, ω) of linear finite elements: antisymmetric in ψ and ω, and orthogonal to both, since
∫ψ J(ψ, ω) = ∫ J(ψ²/2, ω) = 0 on a closed surface.  So this system conserves ∫ω, the energy E = ½ ψᵀKψ = ½ ∫|u|² and
the enstrophy Z = ½ ωᵀ⋆_0ω exactly without viscosity, and with it dE/dt = −2νZ ≤ 0 and dZ/dt = −ν ωᵀKω ≤ 0.

Time: classical Runge–Kutta of order four.  Its amplification of skew modes is below 1 (|R(iy)|² = 1 − y⁶/72 + y⁸/576),
and what it errs in E and Z is of fifth order a step.  Where that exceeds what viscosity takes away (ν = 0), the state
is scaled down by just as much: neither E nor Z grows from snapshot to snapshot, on any mesh, for any ν ≥ 0.

Source: Fix, Finite element models for ocean circulation problems, SIAM J. Appl. Math. 29, 1975 (conservation of both);
Arakawa, J. Comput. Phys. 1, 1966; Hairer, Lubich, Wanner, Geometric Numerical Integration, 2006, section IV.4
(projection on invariants).
"""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from hsd.data.blocks import in_blocks
from hsd.data.ground import Ground
from hsd.errors import InputError
from hsd.linalg import Factor
from hsd.mesh.cotan import cotan_weights

REACH = 2.4
"""Δt × rate, at most; RK4 is stable in the left half of the disc of radius 2.6."""


class VorticityFlow:
    """The flow on one mesh, factored once.  Fields are columns (n_vertices, W) with zero mean.

    nu : viscosity ν ≥ 0, length² / time
    Raises InputError (not_closed, bad_option); TopologyError (non_orientable).
    """

    def __init__(self, ground: Ground, nu: float):
        mesh, dec = ground.mesh, ground.dec
        if mesh.dim != 2 or mesh.complex.has_boundary or mesh.complex.n_components != 1:
            raise InputError(
                f"The flow needs a connected closed surface; {mesh.name} has dimension {mesh.dim}, "
                f"{mesh.complex.n_boundary_pieces} boundary pieces and {mesh.complex.n_components} components.",
                "not_closed",
            )
        if not nu >= 0:
            raise InputError(f"The viscosity must not be negative; got {nu}.", "bad_option")
        if dec.kind != "galerkin":
            raise InputError(f"The flow needs the star 'galerkin'; got {dec.kind!r}.", "bad_option")
        self.nu = float(nu)
        self.area = ground.vertex_measure
        self.tail, self.head = mesh.complex.simplices(1).T
        self._nu_weight = self.nu * cotan_weights(mesh)[:, None]
        self.gain = dec.boundary(1)  # (n_vertices, n_edges): what enters minus what leaves
        self._touch = abs(self.gain)
        self.stiffness = dec.upper_stiffness(0)
        faces, cells = mesh.complex.faces(2), mesh.complex.simplices(2)  # edge i of a face is opposite to vertex i
        signs = mesh.require_orientation("The flow across dual edges")[:, None] * np.array([1, -1, 1])
        self.left, self.right = np.zeros_like(self.tail), np.zeros_like(self.tail)
        self.left[faces[signs > 0]], self.right[faces[signs < 0]] = cells[signs > 0], cells[signs < 0]

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.stiffness[1:, 1:], "minimum_degree")

    def stream_function(self, omega: np.ndarray) -> np.ndarray:
        """ψ with Kψ = ⋆_0 ω, zero at the first vertex, (n_vertices, W)."""
        psi = np.zeros_like(omega)
        psi[1:] = self._factor.solve(self.area[1:, None] * omega[1:])
        return psi

    def dual_fluxes(self, psi: np.ndarray, out: np.ndarray | None = None, work: np.ndarray | None = None) -> np.ndarray:
        """F of ψ (n_vertices, W), (n_edges, W), from the first to the second vertex of each edge."""
        out = np.take(psi, self.left, axis=0, out=out, mode="clip")
        out -= np.take(psi, self.right, axis=0, out=work, mode="clip")
        out /= 3.0
        return out

    def tendency(self, omega: np.ndarray, psi: np.ndarray, work: np.ndarray | None = None) -> np.ndarray:
        """ω̇, (n_vertices, W).  work : (3, n_edges, W), overwritten; made anew when None."""
        if work is None:
            work = np.empty((3, len(self.tail), omega.shape[1]))
        first, last, flux = work
        self.dual_fluxes(psi, flux, first)
        np.take(omega, self.tail, axis=0, out=first, mode="clip")
        np.take(omega, self.head, axis=0, out=last, mode="clip")
        flux *= 0.5
        if self.nu:
            difference = last - first
            difference *= self._nu_weight
            first += last
            flux *= first
            flux -= difference
        else:
            first += last
            flux *= first
        out = self.gain @ flux
        out /= self.area[:, None]
        return out

    def rate(self, psi: np.ndarray) -> np.ndarray:
        """A bound of the spectral radius of the tendency for frozen velocity, (W,), 1 / time.

        Eigenvalues lie in the box of the two parts' spectra (Bendixson): |Im| ≤ outflow over area, the row sums of the
        skew part; 0 ≥ Re ≥ −ν × the largest row sum of ⋆_0⁻¹K.  Returned is the box's diagonal.
        """
        out = self._touch @ np.abs(self.dual_fluxes(psi))
        return np.hypot((0.5 * out / self.area[:, None]).max(axis=0), self._diffusive_rate)

    @cached_property
    def _diffusive_rate(self) -> float:
        return float(self.nu * (abs(self.stiffness).sum(axis=1).A1 / self.area).max())

    def energy(self, omega: np.ndarray, psi: np.ndarray) -> np.ndarray:
        """½ ∫ |u|² = ½ ψᵀ ⋆_0 ω, (W,)."""
        return 0.5 * (psi * (self.area[:, None] * omega)).sum(axis=0)

    def enstrophy(self, omega: np.ndarray) -> np.ndarray:
        """½ ∫ ω², (W,)."""
        return 0.5 * (self.area[:, None] * omega**2).sum(axis=0)

    def step(self, omega: np.ndarray, psi: np.ndarray, dt: float, work: np.ndarray | None = None) -> np.ndarray:
        """One step of RK4 from ω with its ψ; ``work`` as for :meth:`tendency`."""
        k = self.tendency(omega, psi, work)
        total = k.copy()
        for share, weight in ((0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            k *= share * dt
            k += omega
            k = self.tendency(k, self.stream_function(k), work)
            total += weight * k
        total *= dt / 6.0
        total += omega
        return total

    def trajectory(self, omega: np.ndarray, times: np.ndarray) -> np.ndarray:
        """ω at all times, (B, n_times, n_vertices), from initial vorticities (B, n_vertices) of zero mean.

        times : ascending, the first is that of the initial state
        The number of steps between two snapshots is one of 1, 2, 3, 4, 6, 8, 12, …, each sample's own choice by its
        own velocity, so that no sample's result depends on the others.
        Raises InputError (shape, non_finite_field, mean, bad_option).
        """
        omega, times = np.asarray(omega, dtype=float), np.asarray(times, dtype=float)
        self._check(omega, times)
        n = self.area.size
        state = in_blocks(lambda w: np.concatenate([w, self.stream_function(w)]), omega)  # (B, 2 n): ω and ψ
        out = [omega]
        for length in np.diff(times):
            rate = in_blocks(lambda s: self.rate(s[n:])[None], state)[:, 0]
            steps = _ladder(length * rate / REACH)
            after = np.empty_like(state)
            for m in np.unique(steps):
                group = np.flatnonzero(steps == m)
                after[group] = in_blocks(partial(self._interval, length=length, n_steps=int(m)), state[group])
            state = after
            out.append(state[:, :n])
        return np.stack(out, axis=1)

    def _interval(self, state: np.ndarray, length: float, n_steps: int) -> np.ndarray:
        """ω over ψ, (2 n_vertices, W), after a time ``length``; neither energy nor enstrophy grows."""
        omega, psi = np.split(state, 2)
        before = self.energy(omega, psi), self.enstrophy(omega)
        work = np.empty((3, len(self.tail), omega.shape[1]))
        for _ in range(n_steps):
            omega = self.step(omega, psi, length / n_steps, work)
            psi = self.stream_function(omega)
        scale = np.ones(omega.shape[1])
        for old, new in zip(before, (self.energy(omega, psi), self.enstrophy(omega))):
            grown = new > old
            scale[grown] = np.minimum(scale[grown], np.sqrt(old[grown] / new[grown]))
        return np.concatenate([omega * scale, psi * scale])

    def _check(self, omega: np.ndarray, times: np.ndarray) -> None:
        if omega.ndim != 2 or omega.shape[1] != self.area.size:
            raise InputError(f"Vorticities (B, {self.area.size}) are expected; got {omega.shape}.", "shape")
        if times.ndim != 1 or not len(times) or (np.diff(times) <= 0).any():
            raise InputError("The times of snapshots must ascend.", "bad_option")
        if not np.isfinite(omega).all():
            raise InputError("Some initial vorticity is not finite.", "non_finite_field")
        off = np.flatnonzero(np.abs(omega @ self.area) > 1e-9 * (np.abs(omega) @ self.area))
        if len(off):
            raise InputError(
                f"Vorticity on a closed surface has mean zero, but that of {len(off)} samples has not, the first is "
                f"{off[0]}; subtract it.",
                "mean",
                off[:100],
            )


def _ladder(least: np.ndarray) -> np.ndarray:
    """The smallest of 1, 2, 3, 4, 6, 8, 12, 16, … that is ≥ least, elementwise."""
    power = 2.0 ** np.ceil(np.log2(np.maximum(least, 1.0)))
    return np.where((0.75 * power >= least) & (power >= 4), 0.75 * power, power).astype(int)
