"""What the tasks with a stream function share: sums of Gaussians, moments, parts of the field, calibration.

The velocity of an incompressible flow on a surface is its flux 1-form f(e) = ∫_e u·ν.  With a stream function ψ on the
vertices f = dψ + γ: d f = 0 holds to rounding, and the vorticity is the 0-form δf = Δ₀ψ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from hsd.data.ground import Ground
from hsd.data.tasks.base import Record, stacked

BLOCK = 4_000_000
"""Values of Gaussians held at a time (32 MB)."""


def gaussian_sums(points: np.ndarray, records: Sequence[Record]) -> np.ndarray:
    """Σ_k strength_k exp(−|x − centre_k|² / 2 width_k²) at points (N, 3), one row a record: (B, N).

    Records hold "centres" (S, 3), "widths" (S,), "strengths" (S,).  The exponent is linear in (|x|², x, 1), so a block
    of sources is one product of matrices, one exponential and one sum.
    """
    n = len(points)
    out = np.zeros((len(records), n))
    features = np.vstack([(points**2).sum(axis=1), points.T, np.ones(n)])  # (5, N)
    longest = max((len(r["widths"]) for r in records), default=0)
    step = max(1, BLOCK // max(1, longest * n))
    for low in range(0, len(records), step):
        part = records[low : low + step]
        centres, strengths = stacked(part, "centres"), stacked(part, "strengths")  # (b, S, 3), (b, S)
        widths = stacked(part, "widths")
        sharpness = np.divide(0.5, widths**2, out=np.zeros_like(widths), where=widths > 0)[..., None]
        row = np.concatenate([np.ones_like(sharpness), -2.0 * centres, (centres**2).sum(axis=2, keepdims=True)], axis=2)
        exponent = (-sharpness * row).reshape(-1, 5) @ features  # (b·S, N)
        values = np.exp(exponent, out=exponent).reshape(len(part), -1, n)
        out[low : low + step] = (strengths[:, None, :] @ values)[:, 0]
    return out


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


# ---- figures of a set of samples ----------------------------------------------------------------------------------


def energies(star: sp.spmatrix, a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """⟨a, b⟩_⋆ of rows (B, N), (B,)."""
    return np.einsum("bn,nb->b", a, star @ (a if b is None else b).T)


def part_shares(parts: Mapping[str, np.ndarray], star: sp.spmatrix) -> dict[str, float]:
    """Share of part p: mean of ‖f_p‖²_⋆ over the mean of Σ_q ‖f_q‖²_⋆.

    "cross"           : |mean of Σ_{p≠q} ⟨f_p, f_q⟩_⋆| over the same, what the shares miss of the mean of ‖f‖²_⋆
    "cross_of_sample" : the mean of |Σ_{p≠q} ⟨f_p, f_q⟩_⋆| over the same; signs of single samples do not cancel
    """
    own = {name: energies(star, f) for name, f in parts.items()}
    apart = sum(own.values())
    cross = energies(star, sum(parts.values())) - apart
    total = apart.mean()
    shares = {name: float(e.mean() / total) for name, e in own.items()}
    return shares | {
        "cross": float(abs(cross.mean()) / total),
        "cross_of_sample": float(np.abs(cross).mean() / total),
    }


def effective_dimension(fields: np.ndarray, star: sp.spmatrix, share: float = 0.99) -> int:
    """Number of principal components in the ⋆ inner product that hold ``share`` of the variance of rows (B, N)."""
    centred = fields - fields.mean(axis=0)
    spectrum = np.linalg.eigvalsh(centred @ (star @ centred.T))[::-1].clip(min=0)
    return int(np.searchsorted(np.cumsum(spectrum), share * spectrum.sum()) + 1)
