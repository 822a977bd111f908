"""Fourier layers on a periodic cubic grid, real weights in pairs."""

from __future__ import annotations

from math import sqrt

import torch
from torch import nn


class SpectralConv3d(nn.Module):
    """u ↦ F⁻¹ R F u on a size³ grid with learned R on the lowest modes: (B, C_in, s, s, s) → (B, C_out, s, s, s).

    modes : wave numbers |k_x|, |k_y| < modes (both signs) and 0 ≤ k_z < modes are kept, so 4 blocks of modes³
    Weights are real pairs (4, C_in, C_out, modes, modes, modes, 2): 8 · modes³ · C_in · C_out real numbers.
    Source: Li et al. 2021, Fourier neural operator, section 4.
    """

    def __init__(self, n_in: int, n_out: int, modes: int):
        super().__init__()
        self.modes = modes
        scale = 1.0 / sqrt(n_in * n_out)
        self.weight = nn.Parameter(scale * torch.randn(4, n_in, n_out, modes, modes, modes, 2) / sqrt(2))

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        m = self.modes
        with torch.autocast(u.device.type, enabled=False):
            spectrum = torch.fft.rfftn(u.float() if u.dtype != torch.float64 else u, dim=(-3, -2, -1))
            weight = torch.view_as_complex(self.weight.to(spectrum.real.dtype).contiguous())
            out = spectrum.new_zeros(u.shape[0], weight.shape[2], *spectrum.shape[2:])
            low, high = slice(None, m), slice(-m, None)
            for w, (x, y) in zip(weight, ((low, low), (high, low), (low, high), (high, high))):
                # (B, C_in, m, m, m) × (C_in, C_out, m, m, m) → (B, C_out, m, m, m)
                out[:, :, x, y, low] = torch.einsum("bixyz,ioxyz->boxyz", spectrum[:, :, x, y, low], w)
            return torch.fft.irfftn(out, s=u.shape[-3:], dim=(-3, -2, -1))


class FourierLayer(nn.Module):
    """u ↦ σ(W u + F⁻¹ R F u), W pointwise; without σ where ``last``."""

    def __init__(self, width: int, modes: int, last: bool = False):
        super().__init__()
        self.spectral = SpectralConv3d(width, width, modes)
        self.pointwise = nn.Conv3d(width, width, 1)
        self.last = last

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        u = self.spectral(u) + self.pointwise(u)
        return u if self.last else nn.functional.gelu(u)


class GridNetwork(nn.Module):
    """A Fourier neural operator on the grid: lift, ``depth`` Fourier layers, projection.

    (B, size³, C_in) → (B, size³, C_out); rows of grid points as in ``hsd.data.grid.Box``.
    last_zero : start with the zero map
    """

    def __init__(self, n_in: int, n_out: int, width: int, depth: int, modes: int, size: int, last_zero: bool = False):
        super().__init__()
        self.size = size
        self.lift = nn.Linear(n_in, width)
        self.layers = nn.ModuleList(FourierLayer(width, modes, last=i == depth - 1) for i in range(depth))
        self.project = nn.Linear(width, n_out)
        if last_zero:
            nn.init.zeros_(self.project.weight)
            nn.init.zeros_(self.project.bias)

    def forward(self, u: torch.Tensor) -> torch.Tensor:
        s = self.size
        x = self.lift(u).transpose(1, 2).reshape(len(u), -1, s, s, s)  # (B, width, s, s, s)
        for layer in self.layers:
            x = layer(x)
        return self.project(x.flatten(2).transpose(1, 2))
