"""Vertex-centred finite volumes on closed surfaces: u_t + div(v u) + ν Δu = 0 with a steady velocity.

Control volumes are the median duals, whose areas are the lumped ⋆_0.  The flux of a 1-form v across the dual of edge e
is (⋆_1 v)_e with the Galerkin ⋆_1: exactly that of the Whitney field where v is closed (constant on each triangle), and
a mean of it otherwise.  d_0ᵀ ⋆_1 v = 0 then says that as much leaves every volume as enters it: mass and constants are
kept to rounding.  Diffusion takes the stiffness matrix of Δ_0, an
M-matrix where all cotan weights are ≥ 0.

In space: upwind values with limited slopes (:mod:`hsd.data.reconstruction`), second order and positive.  In time:
advection by SSP-RK2, diffusion by the trapezoidal rule (implicit), alternating as half, whole, half (Strang).  Each
piece keeps minimum and maximum under the step that :meth:`Transport.rate` allows.

Source: Barth, Jespersen, AIAA 89-0366; Gottlieb, Shu, Tadmor, SIAM Review 43, 2001; Strang, SINUM 5, 1968.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from hsd.data.blocks import in_blocks
from hsd.data.ground import Ground
from hsd.data.reconstruction import limited, upstream_increments
from hsd.errors import InputError, MetricError
from hsd.linalg import Factor
from hsd.mesh.cotan import cotan_weights

CLOSED = 1e-9
"""Fluxes count as closed when the most that any volume gains is below this fraction of what passes through it."""
N_DIRECTIONS = 32


class Transport:
    """Transport by the velocities Σ_j a_j v_j on one mesh, the coefficients a its samples' own.

    ground     : the mesh, with the Galerkin star
    velocities : v (n_edges, m), 1-forms with d_0ᵀ ⋆_1 v = 0
    nu         : diffusivity ν ≥ 0, length² / time
    Raises InputError (shape, bad_option, not_divergence_free, not_closed); MetricError (negative_cotan) where ν > 0.
    """

    def __init__(self, ground: Ground, velocities: np.ndarray, nu: float = 0.0):
        mesh, dec = ground.mesh, ground.dec
        if dec.kind != "galerkin":
            raise InputError(f"Finite volumes need the star 'galerkin'; got {dec.kind!r}.", "bad_option")
        velocities = np.asarray(velocities, dtype=float)
        if velocities.ndim != 2 or len(velocities) != mesh.complex.n(1):
            raise InputError(
                f"Velocities are 1-forms in columns, ({mesh.complex.n(1)}, m); got {velocities.shape}.", "shape"
            )
        if not nu >= 0:
            raise InputError(f"The diffusivity must not be negative; got {nu}.", "bad_option")
        self.upstream = upstream_increments(mesh)  # (2 n_edges, n_vertices), refuses all but closed surfaces
        self.nu = float(nu)
        self.area = ground.vertex_measure
        self.fluxes = dec.star(1) @ velocities  # (n_edges, m), from the first to the second vertex
        self.tail, self.head = mesh.complex.simplices(1).T
        self.gain = dec.boundary(1)  # (n_vertices, n_edges): what enters minus what leaves
        through = abs(self.gain) @ np.abs(self.fluxes)
        leak = np.abs(self.gain @ self.fluxes).max(axis=0, initial=0) / through.max(axis=0, initial=1e-300)
        if (leak > CLOSED).any():
            raise InputError(
                f"Velocity {int(leak.argmax())} is not divergence-free: a control volume gains {leak.max():.1e} of the "
                "flux through it; project it first (divergence_free).",
                "not_divergence_free",
            )
        self._factors: dict[float, Factor] = {}
        self._stiffness = dec.upper_stiffness(0)
        weights = cotan_weights(mesh)
        bad = np.flatnonzero(weights < -1e-12 * np.abs(weights).max())
        if nu > 0 and len(bad):
            raise MetricError(
                f"{len(bad)} of {len(weights)} cotan weights are negative, the first is {weights[bad[0]]:.3g}; "
                "diffusion would make new extrema: use a mesh without obtuse pairs of angles.",
                "negative_cotan",
                bad[:100],
            )

    # ---- how long a step may be --------------------------------------------------------------------------------

    @cached_property
    def _reach(self) -> np.ndarray:
        """Σα of the upstream increment of each directed edge, (2, n_edges): how far outflow may overdraw."""
        return np.asarray(self.upstream.max(axis=1).todense()).reshape(2, -1)

    def advective_rate(self, coefficients: np.ndarray) -> float:
        """(Σ inflow + Σ α outflow) / area, the largest over volumes and samples (B, m): Δt · rate ≤ 1 is positive."""
        f = np.asarray(coefficients, dtype=float) @ self.fluxes.T  # (B, n_edges)
        out, back = np.maximum(f, 0), np.maximum(-f, 0)
        size = (self.area.size, len(self.tail))
        at = np.arange(len(self.tail))
        first = sp.csr_matrix((np.ones(len(at)), (self.tail, at)), shape=size)
        last = sp.csr_matrix((np.ones(len(at)), (self.head, at)), shape=size)
        total = first @ (out * self._reach[0] + back).T + last @ (back * self._reach[1] + out).T
        return float((total / self.area[:, None]).max(initial=0.0))

    def rate(self, radius: float | np.ndarray) -> float:
        """Steps a unit of time that keep minimum and maximum for *all* coefficients with |a / radius| ≤ 1.

        The advective rate is convex in a, so corners of a polytope round the disc (two velocities) or of the interval
        (one) bound it; for the trapezoidal rule Δt ν K_ii / 2 ⋆_ii ≤ 1 is needed.  No sample's own data enters, so
        its result is the same in any company.
        """
        m = self.fluxes.shape[1]
        if m == 1:
            corners = np.array([[1.0], [-1.0]])
        elif m == 2:
            angle = 2 * np.pi * np.arange(N_DIRECTIONS) / N_DIRECTIONS
            corners = np.stack([np.cos(angle), np.sin(angle)], axis=1) / np.cos(np.pi / N_DIRECTIONS)
        else:  # the cross-polytope times √m
            corners = np.sqrt(m) * np.concatenate([np.eye(m), -np.eye(m)])
        return max(self.advective_rate(corners * radius), self._diffusive_rate)

    @cached_property
    def _diffusive_rate(self) -> float:
        return float(0.5 * self.nu * (self._stiffness.diagonal() / self.area).max(initial=0.0))

    # ---- one step ----------------------------------------------------------------------------------------------

    def tendency(self, u: np.ndarray, flux: np.ndarray, work: np.ndarray | None = None) -> np.ndarray:
        """−⋆_0⁻¹ Σ flux × upwind value, (n_vertices, W), of fields u (n_vertices, W) under fluxes (n_edges, W).

        work : (4, n_edges, W), overwritten; made anew when None.
        """
        n = len(self.tail)
        if work is None:
            work = np.empty((4, n, u.shape[1]))
        value, step, a, scratch = work
        slopes = self.upstream @ u  # (2 n_edges, W): along the edge from its tail, against it from its head
        forward = flux > 0
        np.take(u, self.tail, axis=0, out=value, mode="clip")
        np.take(u, self.head, axis=0, out=step, mode="clip")
        np.negative(slopes[n:], out=a)
        np.copyto(a, slopes[:n], where=forward)
        np.copyto(scratch, step)
        step -= value
        np.copyto(value, scratch, where=~forward)  # the upwind vertex
        half = limited(a, step, a, scratch)
        half *= 0.5
        np.negative(half, out=half, where=~forward)
        value += half
        value *= flux
        out = self.gain @ value
        out /= self.area[:, None]
        return out

    def _advect(self, u: np.ndarray, flux: np.ndarray, dt: float, work: np.ndarray | None = None) -> np.ndarray:
        """SSP-RK2: the mean of u and two Euler steps."""
        v = self.tendency(u, flux, work)
        v *= dt
        v += u
        w = self.tendency(v, flux, work)
        w *= dt
        v += w
        v += u
        v *= 0.5
        return v

    def _diffuse(self, u: np.ndarray, dt: float) -> np.ndarray:
        """Trapezoidal rule: 2w − u with (⋆_0 + ½ Δt ν K) w = ⋆_0 u, factored once a step length."""
        if self.nu == 0:
            return u
        if dt not in self._factors:
            self._factors[dt] = Factor(sp.diags(self.area) + 0.5 * dt * self.nu * self._stiffness, "nested_dissection")
        w = self._factors[dt].solve(self.area[:, None] * u)
        return np.ascontiguousarray(2.0 * w - u)

    def trajectory(
        self, u: np.ndarray, coefficients: np.ndarray, times: np.ndarray, radius: float | np.ndarray
    ) -> np.ndarray:
        """u at all times, (B, n_times, n_vertices), from initial fields u (B, n_vertices).

        coefficients : (B, m) with |a / radius| ≤ 1, which fixes the step for all of them
        times        : ascending, the first is that of the initial state
        Raises InputError (shape, bad_option).
        """
        u, coefficients = np.asarray(u, dtype=float), np.asarray(coefficients, dtype=float)
        times = np.asarray(times, dtype=float)
        if u.ndim != 2 or u.shape[1] != self.area.size or coefficients.shape != (len(u), self.fluxes.shape[1]):
            raise InputError(
                f"Fields (B, {self.area.size}) and coefficients (B, {self.fluxes.shape[1]}) are expected; got "
                f"{u.shape} and {coefficients.shape}.",
                "shape",
            )
        if times.ndim != 1 or (np.diff(times) <= 0).any():
            raise InputError("The times of snapshots must ascend.", "bad_option")
        if len(u) and np.linalg.norm(coefficients / radius, axis=1).max() > 1 + 1e-12:
            raise InputError("Some coefficients of the velocity lie outside the stated radius.", "bad_option")
        rate = self.rate(radius)
        return in_blocks(lambda start, a: self._snapshots(start, a, times, rate), u, coefficients)

    def _snapshots(self, u: np.ndarray, coefficients: np.ndarray, times: np.ndarray, rate: float) -> np.ndarray:
        flux = np.zeros((len(self.tail), u.shape[1]))
        for column, a in zip(self.fluxes.T, coefficients):
            flux += column[:, None] * a
        work = np.empty((4, *flux.shape))
        out = [u]
        for length in np.round(np.diff(times), 12):  # equal intervals share their factorisations
            n = max(1, int(np.ceil(length * rate)))
            dt = length / n
            u = self._diffuse(u, 0.5 * dt)
            for step in range(n):
                u = self._advect(u, flux, dt, work)
                u = self._diffuse(u, dt if step < n - 1 else 0.5 * dt)
            out.append(u)
        return np.stack(out)


def divergence_free(ground: Ground, omega: np.ndarray, rounds: int = 2) -> np.ndarray:
    """ω minus its exact part, (n_edges, …): d_0ᵀ ⋆_1 of the result is zero to rounding; dω stays as it is."""
    solver: Callable = ground.solver.exact_potential
    for _ in range(rounds):
        omega = omega - ground.dec.d(0) @ solver(1, omega)
    return omega
