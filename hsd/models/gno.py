"""GNO: kernel integrals over a radius graph."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.message_passing import Graph, mean_edge, radius_graph, vertex_weights
from hsd.nn.mlp import mlp
from hsd.nn.node_features import n_places, node_features

LEAST = 1.25
"""Smallest radius in mean edges."""


@dataclass(frozen=True)
class GNOConfig(ModelConfig):
    """Defaults of the paper's table (P-G.5), magnetostatics and aerodynamics.

    hidden, projection, depth : width of the node channels, of the decoder, number of kernel integrals
    radius     : of the neighbourhoods, in units of the domain (radius of the ball or sphere of equal size); on meshes
                 whose mean edge is longer than 4/5 of it: 5/4 of the mean edge, so that vertices have neighbours
    neighbours : most vertices of a neighbourhood that are integrated over
    kernel     : hidden width of the edge network;  the table has none: chosen for 200k–310k parameters
    lr : 3e-3 where the table has 1e-3: training samples are fitted in a half to two thirds of the steps
    """

    lr: float = 3e-3
    weight_decay: float = 1e-4
    hidden: int = 84
    projection: int = 96
    depth: int = 5
    radius: float = 0.2
    neighbours: int = 32
    kernel: int = 224


class GNO(Operator):
    """v ← v + σ(W v + V Σ_j μ_j κ(x_i, x_j) ⊙ v_j + b), x_j in the ball around x_i, μ_j shares of area or volume.

    κ is channel by channel.  Its values depend on places only, so that one network gives those of all layers once a
    step for the whole batch: (E, 2D + 1) → (depth · hidden, E).
    Parameters: 233k–244k; widths, depth and radius are the table's, the edge network's hidden width fills the budget.
    """

    name = "gno"
    title = "GNO"
    citation = "Li et al. 2020, Neural operator: graph kernel network for partial differential equations"
    differences = (
        "The kernel is diagonal in the channels with a mixing matrix after it, depends on places but not on the input, "
        "and differs between layers; sums are weighted by vertex areas (volumes); layers are residual."
    )
    reads = "node values and positions, neighbours within a radius"
    mesh_free = True
    Config = GNOConfig
    _kept: ClassVar[tuple[list, weakref.ref, torch.Tensor] | None] = None
    task_config: ClassVar = {
        "toroidal_transport": {
            "hidden": 120,
            "projection": 68,
            "depth": 3,
            "radius": 0.15,
            "weight_decay": 1e-5,
        },
    }

    def __init__(self, domain: Domain, config: GNOConfig | None = None):
        super().__init__(domain, config)
        c, s, dim = self.config, self.signature, n_places(domain)
        self.lift = mlp([s.node_inputs + dim, c.hidden, c.hidden])
        self.edges = mlp([2 * dim + 1, c.kernel, c.kernel])
        self.channels = nn.Linear(c.kernel, c.depth * c.hidden)
        self.own = nn.ModuleList(nn.Linear(c.hidden, c.hidden) for _ in range(c.depth))
        self.mixed = nn.ModuleList(nn.Linear(c.hidden, c.hidden, bias=False) for _ in range(c.depth))
        self.project = mlp([c.hidden, c.projection, s.node_outputs])

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        c = self.config
        graph = radius_graph(domain, self.radius(domain), c.neighbours)
        kernels = self.kernels_once(graph, domain)  # (depth, hidden, E)
        v = self.lift(node_features(batch, domain).transpose(0, 1)).permute(2, 0, 1)  # (hidden, n, B)
        for kernel, own, mixed in zip(kernels, self.own, self.mixed, strict=True):
            integral = graph.integrate(kernel, v)
            out = own.weight @ v.flatten(1) + mixed.weight @ integral.to(v.dtype).flatten(1) + own.bias[:, None]
            v = v + nn.functional.gelu(out).reshape(v.shape)
        return Prediction(self.project(v.permute(2, 1, 0)))

    def radius(self, domain: Domain) -> float:
        """That of the config, at least ``LEAST`` mean edges."""
        return domain.cached(
            ("gno radius", self.config.radius), lambda: max(self.config.radius, LEAST * mean_edge(domain))
        )

    def kernels_once(self, graph: Graph, domain: Domain) -> torch.Tensor:
        """:meth:`kernels`; while nothing is trained, those of the last model and graph are kept: no sample enters."""
        device = domain.device.type
        if self.training or torch.is_grad_enabled() or torch.is_autocast_enabled(device):
            return self.kernels(graph, domain)
        mark = [(p.data_ptr(), p._version) for p in (*self.edges.parameters(), *self.channels.parameters())]
        kept = GNO._kept
        if kept is None or kept[0] != mark or kept[1]() is not graph:
            kept = GNO._kept = (mark, weakref.ref(graph), self.kernels(graph, domain))
        return kept[2]

    def kernels(self, graph: Graph, domain: Domain) -> torch.Tensor:
        """μ_j κ(x_i, x_j) of all layers, (depth, hidden, E)."""
        c = self.config
        features, weights = domain.cached(("gno", c.radius, c.neighbours), lambda: self.edge_features(graph, domain))
        hidden = nn.functional.gelu(self.edges(features))
        values = torch.addmm(self.channels.bias[:, None], self.channels.weight, hidden.T)  # channels first
        return (values * weights).reshape(c.depth, c.hidden, graph.n_edges)

    def edge_features(self, graph: Graph, domain: Domain) -> tuple[torch.Tensor, torch.Tensor]:
        """x_i, (x_j − x_i)/r and its length, (E, 2D + 1), and μ_j, (E,)."""
        x = domain.tensor("moment_points")
        offset = (x[graph.senders] - x[graph.receivers]) / self.config.radius
        features = torch.cat([x[graph.receivers], offset, offset.norm(dim=1, keepdim=True)], dim=1)
        return features, vertex_weights(domain, graph)
