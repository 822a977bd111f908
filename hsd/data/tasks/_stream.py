"""What the tasks with a stream function share: moments, the solve for ψ, its differences.

The velocity of an incompressible flow on a surface is its flux 1-form f(e) = ∫_e u·ν.  With a stream function ψ on the
vertices f = dψ + γ: d f = 0 holds to rounding, and the vorticity is the 0-form δf = Δ₀ψ.
"""

from __future__ import annotations

import numpy as np

from hsd.data.ground import Ground


def first_moments(ground: Ground, zeta: np.ndarray) -> np.ndarray:
    """m = ∫ ζ x dA, (B, N) → (B, 3): x is ``Ground.moment_points``, so the mean of ζ does not count."""
    return (zeta * ground.vertex_measure) @ ground.moment_points


def coupled_moments(m: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """c_i = tanh(2 m_j m_k / (σ_j σ_k)) for (i, j, k) cyclic, (B, 3): even in m, so no linear map gives it."""
    q = m / scale
    return np.tanh(2.0 * q[:, [1, 2, 0]] * q[:, [2, 0, 1]])


def stream_function(ground: Ground, vorticity: np.ndarray) -> np.ndarray:
    """ψ with Δ₀ψ = vorticity (B, N) of zero mean; one factorisation for all, one step of iterative refinement."""
    rhs = (vorticity * ground.vertex_measure).T
    psi = ground.solver.solve_scalar(rhs)
    return (psi + ground.solver.solve_scalar(rhs - ground.dec.upper_stiffness(0) @ psi)).T


def gradients(ground: Ground, psi: np.ndarray) -> np.ndarray:
    """dψ, (B, N_0) → (B, N_1)."""
    return np.ascontiguousarray((ground.dec.d(0) @ psi.T).T)
