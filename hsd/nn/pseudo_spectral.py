"""Layers on coefficients of scalar modes: products of fields at the vertices, and transport along given fields."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.nn.filters import Filter, apply_filter
from hsd.nn.mlp import mlp


class ProductLayer(nn.Module):
    """z ↦ Φᵀ⋆ f_θ(u, ⟨∇u_p, ∇u_q⟩, n·(∇u_p × ∇u_q)) + Σ_a (D_aΦ)ᵀ ⋆ v_a, u = Φ κz at the vertices.

    κ mixes channels by filters (1/λ makes a stream function of a vorticity), f_θ is a small pointwise network, and
    v = Σ_p g_p(…) ∇u_p enters through the weak divergence, which leaves the mean as it is.  The brackets
    n·(∇u_p × ∇u_q) exist on oriented surfaces.  Starts as the zero map where ``zero``;  more: as of the filters.
    (B, C, K) → (B, C, K);  Source: pseudo-spectral methods, Orszag 1969.
    """

    def __init__(
        self, channels: int, products: int, hidden: int, n_parts: int, surface: bool, zero: bool = True, more: int = 0
    ):
        super().__init__()
        self.mix = Filter(products, channels, n_parts, noise=0.3, more=more)
        p, q = torch.triu_indices(products, products)
        self.register_buffer("pairs", torch.stack([p, q]), persistent=False)
        p, q = torch.triu_indices(products, products, offset=1)
        self.register_buffer("brackets", torch.stack([p, q]), persistent=False)
        self.surface = surface
        n_features = products + self.pairs.shape[1] + (self.brackets.shape[1] if surface else 0)
        self.bracket_weight = nn.Parameter(torch.zeros(channels, self.brackets.shape[1])) if surface else None
        self.network = mlp([n_features, hidden, channels + products], last_zero=zero)
        self.out = Filter(channels, channels + 1, n_parts, mean=0.0, noise=0.1, more=more)
        with torch.no_grad():
            self.out.weight[:, :, :, 0] += torch.eye(channels, channels + 1)[:, :, None]
        self.channels, self.products = channels, products

    def forward(self, z: torch.Tensor, features: torch.Tensor, domain: Domain) -> torch.Tensor:
        modes, star_modes = domain.source.modes, domain.source.star_modes
        gradients = domain.gradient_modes  # (3, N, K)
        zp = apply_filter(self.mix(features), z)  # (B, P, K)
        u = zp @ modes.T  # (B, P, N)
        du = torch.stack([zp @ g.T for g in gradients], dim=-1)  # (B, P, N, 3)
        p, q = self.pairs
        inputs = [u, (du[:, p] * du[:, q]).sum(dim=-1)]
        if self.surface:
            p, q = self.brackets
            normals = domain.tensor("normals")
            bracket = (torch.cross(du[:, p], du[:, q], dim=-1) * normals).sum(dim=-1)  # (B, P(P−1)/2, N)
            inputs.append(bracket)
        x = torch.cat(inputs, dim=1).transpose(1, 2)  # (B, N, F)
        y = self.network(squash(x)).transpose(1, 2)  # (B, C + P, N)
        source, gates = y[:, : self.channels], y[:, self.channels :]
        if self.surface:
            source = source + torch.einsum("cf,bfn->bcn", self.bracket_weight, bracket)
        weights = domain.tensor("vertex_measure")
        flow = (gates[..., None] * du).sum(dim=1)  # (B, N, 3)
        divergence = sum((flow[..., a] * weights) @ g for a, g in enumerate(gradients))  # (B, K)
        out = torch.cat([source @ star_modes, divergence[:, None]], dim=1)  # (B, C + 1, K)
        return apply_filter(self.out(features), out)


def squash(x: torch.Tensor) -> torch.Tensor:
    """x / (1 + |x|/4): nearly the identity for values of size 1, bounded for the rare large ones."""
    return x / (1 + x.abs() / 4)


def advection(batch: Batch, domain: Domain) -> torch.Tensor | None:
    """Σ_i a_i A_i over all named vector fields of the domain, (B, K, K): coefficients of v·∇ for each sample's v."""
    total = None
    for name in domain.field_names:
        if domain.has(f"contraction/{name}"):
            a = torch.einsum("bm,mjk->bjk", batch.coefficients[name], domain.tensor(f"contraction/{name}"))
            total = a if total is None else total + a
    return total
