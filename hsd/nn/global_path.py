"""The global path: networks that see a field through invariants only, so that they fit every mesh and every basis."""

from __future__ import annotations

from math import prod

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.nn.mlp import mlp


class GlobalPath(nn.Module):
    """Moments ⟨χ_j, x_c⟩_⋆ of the channels, energies and given coefficients → amounts of χ_j and of harmonic fields.

    χ ∈ {1, x_a, x_a x_b} to ``order``, centred and scaled; inputs are divided by their deviation over the training set
    (:meth:`fit`); g = W p + G(p, p ⊗ p where ``products``), G with its last layer zero.
    forward: channels (B, C, N_s) → amounts of χ (B, n_moments) and of harmonic fields (B, n_harmonic)
    """

    def __init__(self, domain: Domain, channels: int, hidden: int, n_harmonic: int, order: int, products: bool):
        super().__init__()
        self.n_all = domain.arrays["chi"].shape[1]
        self.n_moments = self.n_all if order == 2 else 1 + domain.mesh.points.shape[1]
        n_fields = sum(prod(domain.arrays[f"field/{name}"].shape[1:]) for name in domain.field_names)
        n_in = channels * (self.n_moments + 1) + n_fields
        n_out = self.n_moments + n_harmonic
        rows, columns = torch.triu_indices(n_in, n_in) if products else torch.empty(2, 0, dtype=torch.long)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)
        self.network = mlp([n_in + len(rows), hidden, hidden, n_out], last_zero=True)
        self.linear = nn.Linear(n_in, n_out, bias=False)
        nn.init.zeros_(self.linear.weight)
        self.register_buffer("mean", torch.zeros(n_in))
        self.register_buffer("deviation", torch.ones(n_in))

    def invariants(self, x: torch.Tensor, batch: Batch, domain: Domain) -> torch.Tensor:
        star_x = domain.sparse("source_star")(x.transpose(1, 2))  # (B, N_s, C)
        size = domain.scales.measure
        chi = domain.tensor("chi")[:, : self.n_moments]
        moments = torch.einsum("bnc,nj->bcj", star_x, chi) / size  # (B, C, J)
        energy = torch.log((star_x.transpose(1, 2) * x).sum(dim=2).clamp(min=1e-12) / size)  # (B, C)
        return torch.cat([moments.flatten(1), energy, *(batch.coefficients[n] for n in domain.field_names)], dim=1)

    @torch.no_grad()
    def fit(self, x: torch.Tensor, batch: Batch, domain: Domain) -> None:
        """Set mean and standard deviation of the inputs from training samples; constant inputs are not scaled."""
        p = self.invariants(x, batch, domain)
        self.mean.copy_(p.mean(dim=0))
        spread = p.std(dim=0, correction=0)
        least = 1e-6 * (1 + p.abs().amax(dim=0))
        self.deviation.copy_(torch.where(spread > least, spread, torch.ones_like(spread)))

    def forward(self, x: torch.Tensor, batch: Batch, domain: Domain) -> tuple[torch.Tensor, torch.Tensor]:
        p = (self.invariants(x, batch, domain) - self.mean) / self.deviation
        g = self.linear(p) + self.network(torch.cat([p, p[:, self.rows] * p[:, self.columns]], dim=1))
        amounts, harmonic = g[:, : self.n_moments], g[:, self.n_moments :]
        return nn.functional.pad(amounts, (0, self.n_all - self.n_moments)), harmonic
