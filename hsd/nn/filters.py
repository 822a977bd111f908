"""Spectral filters: multipliers that are smooth functions of the eigenvalue, so that they fit every mesh."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.domain import Basis
from hsd.data.domain_arrays import PART_CODES
from hsd.nn.poles import Poles

N_BANDS = 9
"""Octaves of λ̂ = λ · scale2 that filters tell apart: bands have their peaks at λ̂ = 1, 2, 4, …, 256."""


def filter_features(
    basis: Basis, scale2: float, parts: tuple[str, ...], hats: int = 0, poles: Poles | None = None
) -> torch.Tensor:
    """(F · n_parts, n), F = 1 + N_BANDS + hats + poles: 1, bands, hat functions and poles of each mode's λ̂, in the rows
    of its part.

    bands : piecewise linear in log₂ λ̂ with peaks at 1, 2, 4, …; the first and the last stay 1 outside.  They overlap
            only with their neighbours, so that a weight has to do with its octave alone; resolvents 1/(1 + λ̂/s_j) span
            much the same filters, but are nearly dependent, and descent on their weights is slow.
    hats  : piecewise linear in λ̂ with peaks at 0, 1, 2, …; the last one stays 1 beyond its peak.  By Weyl's law λ̂_k is
            about k on surfaces, so that they fit any symbol on the mesh of training, and on that mesh alone
    Harmonic modes are in the rows of the first part.
    """
    lam = (basis.eigenvalues * scale2).clamp(min=0)
    values = [torch.ones_like(lam)[None], _peaked(torch.log2(lam.clamp(min=1.0)), N_BANDS)]
    if hats:
        values.append(_peaked(lam, hats))
    if poles is not None:
        values.append(poles(lam))
    values = torch.cat(values)
    rows = []
    for i, part in enumerate(parts):
        mask = basis.part == PART_CODES[part]
        rows.append(values * (mask | basis.harmonic if i == 0 else mask))
    return torch.cat(rows)


def _peaked(at: torch.Tensor, n: int) -> torch.Tensor:
    """Piecewise linear functions with peaks at 0 … n − 1, which sum to one: (m,) → (n, m)."""
    peaks = torch.arange(n, device=at.device, dtype=at.dtype)
    return (1 - (at.clamp(max=n - 1)[None] - peaks[:, None]).abs()).clamp(min=0)


def parts_of(degree: int, dim: int) -> tuple[str, ...]:
    """Parts beside the harmonic one that k-forms on a mesh of that dimension have."""
    return tuple(p for p, there in (("exact", degree > 0), ("coexact", degree < dim)) if there)


class Filter(nn.Module):
    """κ(λ̂) = w_0 + Σ_j w_j band_j(λ̂) + …, one for each entry of a (n_out, n_in) matrix and each Hodge part.

    mean, noise : w_0 starts at mean + noise · N(0, 1), the w_j at noise · N(0, 1)/N_BANDS
    more        : further features (hats and poles), whose weights start at zero
    features (F · n_parts, n) → multipliers (n_out, n_in, n)
    """

    def __init__(self, n_out: int, n_in: int, n_parts: int, mean: float = 0.0, noise: float = 0.1, more: int = 0):
        super().__init__()
        weight = noise / N_BANDS * torch.randn(n_out, n_in, n_parts, 1 + N_BANDS)
        weight[..., 0] = mean + noise * torch.randn(n_out, n_in, n_parts)
        self.weight = nn.Parameter(torch.cat([weight, torch.zeros(n_out, n_in, n_parts, more)], dim=-1))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.weight.flatten(2) @ features


def apply_filter(kappa: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    """Σ_i κ_oi(λ̂) z_i: (C_out, C_in, n), (B, C_in, n) → (B, C_out, n)."""
    return torch.einsum("oik,bik->bok", kappa, z)
