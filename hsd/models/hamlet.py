"""HAMLET: encoders of the inputs, attention to neighbours on a graph, cross-attention from the places asked for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.attention import FeedForward, GalerkinAttention, GraphAttention
from hsd.nn.input_functions import (
    function_widths,
    input_functions,
    n_place_features,
    place_features,
    vertex_shares,
)
from hsd.nn.message_passing import Graph, radius_graph
from hsd.nn.mlp import mlp
from hsd.nn.node_features import n_places


@dataclass(frozen=True)
class HAMLETConfig(ModelConfig):
    """No table entry; sizes chosen for 200k–310k parameters.

    width, heads, layers : channels, heads of all attention, layers of the graph transformer
    radius, neighbours   : of the graph, in units of the domain (radius of the ball or sphere of equal size), and the
                           most vertices of a neighbourhood that are attended to
    octaves, ratio       : frequencies of sines and cosines of the places; hidden over outer width of feed-forwards
    """

    lr: float = 3e-3
    weight_decay: float = 1e-4
    width: int = 64
    heads: int = 4
    layers: int = 4
    radius: float = 0.25
    neighbours: int = 12
    octaves: int = 3
    ratio: int = 4


class GraphTransformerLayer(nn.Module):
    """v ← v + attention to neighbours, then feed-forward, (n, B, C) → (n, B, C)."""

    def __init__(self, config: HAMLETConfig, edge_features: int):
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.attention = GraphAttention(config.width, config.heads, edge_features)
        self.forward_v = FeedForward(config.width, config.ratio)

    def forward(self, v: torch.Tensor, edges: torch.Tensor, graph: Graph) -> torch.Tensor:
        return self.forward_v(v + self.attention(self.norm(v), edges, graph))


class HAMLET(Operator):
    """Encode each input function, merge, ``layers`` of graph-local attention, cross-attention from places, decode.

    The graph joins vertices within a radius, so that neighbourhoods have one size on every mesh.
    Parameters: 272k–282k.
    """

    name = "hamlet"
    title = "HAMLET"
    citation = "Bryutkin et al. 2024, HAMLET: graph transformer neural operator for partial differential equations"
    differences = (
        "Neighbourhoods hold a bounded number of sampled vertices; queries also carry the encoded vertex, since inputs "
        "and output share the mesh; the places' frequencies are octaves instead of random ones; integrals are weighted "
        "by area (volume); one prediction instead of a propagation in latent time."
    )
    reads = "node values and positions, each input function apart, neighbours within a radius"
    mesh_free = True
    micro_batch = 8
    Config = HAMLETConfig

    def __init__(self, domain: Domain, config: HAMLETConfig | None = None):
        super().__init__(domain, config)
        c, s, widths = self.config, self.signature, function_widths(domain)
        dim = n_place_features(domain, c.octaves)
        self.encoders = nn.ModuleList(mlp([w + dim, c.width, c.width]) for w in widths)
        self.merge = nn.Linear(len(widths) * c.width, c.width)
        self.layers = nn.ModuleList(GraphTransformerLayer(c, n_places(domain) + 1) for _ in range(c.layers))
        self.places = mlp([dim, c.width, c.width])
        self.norm_query, self.norm_node = nn.LayerNorm(c.width), nn.LayerNorm(c.width)
        self.cross = GalerkinAttention(c.width, c.heads)
        self.forward_query = FeedForward(c.width, c.ratio)
        self.decode = nn.Sequential(nn.LayerNorm(c.width), mlp([c.width, c.width, s.node_outputs]))

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        c = self.config
        graph = radius_graph(domain, c.radius, c.neighbours)
        edges = domain.cached(("hamlet", c.radius, c.neighbours), lambda: self.edge_features(graph, domain))
        places = place_features(domain, c.octaves)
        codes = [e(f) for e, f in zip(self.encoders, input_functions(batch, domain, places), strict=True)]
        v = self.merge(torch.cat(codes, dim=-1)).transpose(0, 1)  # (n, B, C)
        for layer in self.layers:
            v = layer(v, edges, graph)
        v = v.transpose(0, 1)
        query = v + self.places(places)
        query = query + self.cross(self.norm_query(query), self.norm_node(v), vertex_shares(domain))
        return Prediction(self.decode(self.forward_query(query)))

    def edge_features(self, graph: Graph, domain: Domain) -> torch.Tensor:
        """(x_j − x_i)/r and its length, (E, D + 1)."""
        x = domain.tensor("moment_points")
        offset = (x[graph.senders] - x[graph.receivers]) / self.config.radius
        return torch.cat([offset, offset.norm(dim=1, keepdim=True)], dim=1)
