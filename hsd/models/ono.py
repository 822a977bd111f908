"""ONO: kernel integrals in an orthonormal basis of functions that a second network estimates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from hsd.data.batch import Batch, node_inputs
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.attention import FeedForward, NormalisedAttention, OrthogonalAttention
from hsd.nn.input_functions import beside, n_place_features, place_features, vertex_shares
from hsd.nn.mlp import mlp


@dataclass(frozen=True)
class ONOConfig(ModelConfig):
    """No table entry; sizes chosen for 200k–310k parameters.

    width, heads, layers : channels of both flows, heads of the feature network's attention, blocks
    modes, momentum      : eigenfunctions of a kernel; share of the running covariance that a batch leaves in place
    ratio                : hidden over outer width of the feed-forward networks
    octaves              : frequencies of sines and cosines of the places
    """

    lr: float = 2e-3
    weight_decay: float = 1e-4
    width: int = 64
    heads: int = 4
    layers: int = 5
    modes: int = 32
    momentum: float = 0.9
    ratio: int = 2
    octaves: int = 3


class ONOBlock(nn.Module):
    """Features x ← a transformer layer; f ← f + orthogonal attention of f in the basis that x gives, feed-forward."""

    def __init__(self, config: ONOConfig):
        super().__init__()
        c = config
        self.norm_x, self.norm_f = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.attention = NormalisedAttention(c.width, c.heads)
        self.forward_x, self.forward_f = FeedForward(c.width, c.ratio), FeedForward(c.width, c.ratio)
        self.orthogonal = OrthogonalAttention(c.width, c.modes, c.momentum)

    def forward(self, x: torch.Tensor, f: torch.Tensor, shares: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.norm_x(x)
        x = self.forward_x(x + self.attention(y, [y], shares))
        return x, self.forward_f(f + self.orthogonal(x, self.norm_f(f), shares))


class ONO(Operator):
    """Two flows on the vertices: features that span the kernels' eigenfunctions, and the solution that they act on.

    Each block orthonormalises its features by the Cholesky factor of their covariance (of the batch in training, its
    running mean afterwards) and integrates against the kernel Σ σ_i ψ̂_i ψ̂_i.
    Parameters: 298k–300k.
    """

    name = "ono"
    title = "ONO"
    citation = "Xiao et al. 2024, Improved operator learning by orthogonal attention"
    differences = (
        "Scalar products are integrals over the mesh, weighted by area (volume); the feature network's attention is "
        "the normalised linear one (the paper leaves it open); feed-forward layers of the solution are residual; "
        "places have sines and cosines beside them; features are normalised before they span the basis."
    )
    reads = "node values and positions"
    mesh_free = True
    micro_batch = 16
    Config = ONOConfig

    def __init__(self, domain: Domain, config: ONOConfig | None = None):
        super().__init__(domain, config)
        c, s = self.config, self.signature
        n_in = s.node_inputs + n_place_features(domain, c.octaves)
        self.lift_x, self.lift_f = mlp([n_in, c.width, c.width]), mlp([n_in, c.width, c.width])
        self.blocks = nn.ModuleList(ONOBlock(c) for _ in range(c.layers))
        self.decode = nn.Sequential(nn.LayerNorm(c.width), mlp([c.width, c.width, s.node_outputs]))

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        shares = vertex_shares(domain)
        inputs = beside(node_inputs(batch, domain), place_features(domain, self.config.octaves))
        x, f = self.lift_x(inputs), self.lift_f(inputs)
        for block in self.blocks:
            x, f = block(x, f, shares)
        return Prediction(self.decode(f))
