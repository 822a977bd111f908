"""GNOT: a transformer that attends to each input function apart, with experts gated by the place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from hsd.data.batch import Batch, node_inputs
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.attention import GatedExperts, NormalisedAttention
from hsd.nn.input_functions import (
    beside,
    function_widths,
    input_functions,
    n_place_features,
    place_features,
    vertex_shares,
)
from hsd.nn.mlp import mlp
from hsd.nn.node_features import n_places


@dataclass(frozen=True)
class GNOTConfig(ModelConfig):
    """No table entry; three experts as in Hao et al., sizes chosen for 200k–310k parameters.

    width, heads, layers : channels, heads of the attention, blocks of cross- and self-attention
    experts, ratio       : networks of a mixture and their hidden width over ``width``
    octaves              : frequencies of sines and cosines of the places
    """

    lr: float = 3e-3
    weight_decay: float = 1e-4
    width: int = 48
    heads: int = 4
    layers: int = 3
    experts: int = 3
    ratio: int = 2
    octaves: int = 3


class GNOTBlock(nn.Module):
    """Cross-attention to the input functions, experts, self-attention, experts; each residual on normalised values."""

    def __init__(self, config: GNOTConfig, places: int, functions: int):
        super().__init__()
        c = config
        self.norms = nn.ModuleList(nn.LayerNorm(c.width) for _ in range(4))
        self.function_norms = nn.ModuleList(nn.LayerNorm(c.width) for _ in range(functions))
        self.cross = NormalisedAttention(c.width, c.heads, functions)
        self.own = NormalisedAttention(c.width, c.heads)
        self.gate = mlp([places, c.width, c.experts])
        self.experts = nn.ModuleList(GatedExperts(c.width, c.ratio * c.width, c.experts) for _ in range(2))

    def forward(
        self, h: torch.Tensor, functions: Sequence[torch.Tensor], places: torch.Tensor, shares: torch.Tensor
    ) -> torch.Tensor:
        gates = self.gate(places).softmax(dim=-1)  # (n, experts)
        seen = [norm(f) for norm, f in zip(self.function_norms, functions, strict=True)]
        h = h + self.cross(self.norms[0](h), seen, shares)
        h = h + self.experts[0](self.norms[1](h), gates)
        x = self.norms[2](h)
        h = h + self.own(x, [x], shares)
        return h + self.experts[1](self.norms[3](h), gates)


class GNOT(Operator):
    """Queries (one a vertex) attend to the encoded input functions and to each other, ``layers`` times; then a decoder.

    Attention is normalised and linear in the number of vertices; the source and each family of named fields have an
    encoder, keys and values of their own; experts are mixed by a gate that reads the place.
    Parameters: 237k–255k.
    """

    name = "gnot"
    title = "GNOT"
    citation = "Hao et al. 2023, GNOT: a general neural operator transformer for operator learning"
    differences = (
        "Sums over vertices are weighted by area (volume), so that they are integrals on any mesh; queries also read "
        "the inputs at their own vertex, since inputs and output share the mesh; places have sines and cosines "
        "beside them; one gate serves both mixtures of a block."
    )
    reads = "node values and positions, each input function apart"
    mesh_free = True
    micro_batch = 16
    Config = GNOTConfig

    def __init__(self, domain: Domain, config: GNOTConfig | None = None):
        super().__init__(domain, config)
        c, s, widths = self.config, self.signature, function_widths(domain)
        dim = n_place_features(domain, c.octaves)
        self.query = mlp([s.node_inputs + dim, c.width, c.width])
        self.encoders = nn.ModuleList(mlp([w + dim, c.width, c.width]) for w in widths)
        self.blocks = nn.ModuleList(GNOTBlock(c, n_places(domain), len(widths)) for _ in range(c.layers))
        self.decode = nn.Sequential(nn.LayerNorm(c.width), mlp([c.width, c.width, s.node_outputs]))

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        places, shares = domain.tensor("moment_points"), vertex_shares(domain)
        features = place_features(domain, self.config.octaves)
        functions = [e(f) for e, f in zip(self.encoders, input_functions(batch, domain, features), strict=True)]
        h = self.query(beside(node_inputs(batch, domain), features))
        for block in self.blocks:
            h = block(h, functions, places, shares)
        return Prediction(self.decode(h))
