"""Pointwise networks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn


def mlp(widths: Sequence[int], last_zero: bool = False, norm: bool = False) -> nn.Sequential:
    """Linear layers of the given widths with GELU between, (…, widths[0]) → (…, widths[-1]).

    last_zero : start with the zero map (for corrections);  norm : layer normalisation of the output
    """
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(pairwise(widths)):
        layers.append(nn.Linear(a, b))
        if i < len(widths) - 2:
            layers.append(nn.GELU())
    if last_zero:
        nn.init.zeros_(layers[-1].weight)
        nn.init.zeros_(layers[-1].bias)
    if norm:
        layers.append(nn.LayerNorm(widths[-1]))
    return nn.Sequential(*layers)


def real_parameters(module: nn.Module) -> int:
    """Number of trained real numbers; a complex one counts twice.  Fixed buffers do not count."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in module.parameters() if p.requires_grad)


def grid_points(size: int, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """(size³, 3) points of the unit cube's regular grid in [−1, 1], row (i · size + j) · size + l."""
    axis = torch.linspace(-1, 1, size, device=device, dtype=dtype)
    return torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"), dim=-1).reshape(-1, 3)
