"""Trilinear transfer between vertices and a periodic grid at places that may be learned: gradients reach the places."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.domain import Domain
from hsd.data.grid import Box
from hsd.nn.mlp import mlp

FLOOR = 1e-3
"""Share of the mean measure of a grid point that is added to the measure it received, so that empty ones read zero."""


def places_on_grid(domain: Domain, size: int) -> torch.Tensor:
    """Vertices in cells of a grid of ``size`` points an axis around the mesh, (n, 3) in [1, size − 2]."""

    def make() -> torch.Tensor:
        box = Box.around(domain.mesh, size)
        return torch.as_tensor((domain.mesh.points - box.low) / box.step).to(domain.device, domain.dtype)

    return domain.cached(("places_on_grid", size), make)


class Trilinear:
    """Sampling at places (n, 3), in cells, and its adjoint, on a periodic grid (size³, …), rows as in ``Box``.

    Values keep the vertex (grid point) first: (n, B, C) and (size³, B, C).
    """

    def __init__(self, at: torch.Tensor, size: int):
        self.size = size
        corner = at.detach().floor()
        t = at - corner  # (n, 3)
        axis = torch.stack([torch.arange(8) // 4, torch.arange(8) // 2 % 2, torch.arange(8) % 2], dim=1).to(at.device)
        factors = torch.where(axis[None] == 1, t[:, None], 1 - t[:, None])  # (n, 8, 3)
        self.weights = factors.prod(dim=2)
        i, j, k = ((corner.long()[:, None] + axis[None]) % size).unbind(dim=2)
        self.rows = (i * size + j) * size + k  # (n, 8)

    def sample(self, u: torch.Tensor) -> torch.Tensor:
        """(size³, …) → (n, …): Σ over the 8 corners of weight · value."""
        return sum(spread(self.weights[:, c], u) * u.index_select(0, self.rows[:, c]) for c in range(8))

    def splat(self, v: torch.Tensor, measure: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Means of v (n, …) by measure (n,) and weights around each grid point, and the measure there, (size³,).

        ι v = Sᵀ(μ v) / (Sᵀμ + floor), S the sampling: adjoint to S up to the floor.
        """
        shares = self.weights * measure[:, None]  # (n, 8)
        v = v.to(shares.dtype)
        grid = v.new_zeros(self.size**3, *v.shape[1:])
        density = v.new_zeros(self.size**3)
        for c in range(8):
            grid = grid.index_add(0, self.rows[:, c], spread(shares[:, c], v) * v)
            density = density.index_add(0, self.rows[:, c], shares[:, c].to(v.dtype))
        return grid / spread(density + FLOOR * density.mean(), grid), density


def spread(weights: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Weights (n,) with as many axes as (m, …)."""
    return weights.reshape(-1, *(1 for _ in like.shape[1:]))


class Deformation(nn.Module):
    """x ↦ x + s/4 · tanh f(x), places in cells of a grid of s points an axis; f starts at zero, so at the identity.

    f reads x scaled to [−1, 1] with sines and cosines of ``octaves`` frequencies.
    """

    def __init__(self, size: int, hidden: int, octaves: int = 2):
        super().__init__()
        self.size, self.octaves = size, octaves
        self.network = mlp([3 + 6 * octaves, hidden, hidden, 3], last_zero=True)

    def forward(self, at: torch.Tensor) -> torch.Tensor:
        x = 2 * at / (self.size - 1) - 1
        waves = [f(torch.pi * 2**j * x) for j in range(self.octaves) for f in (torch.sin, torch.cos)]
        return at + self.size / 4 * torch.tanh(self.network(torch.cat([x, *waves], dim=1))).to(at.dtype)
