"""MeshGraphNet: messages along the edges of the mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.message_passing import Graph, mesh_graph
from hsd.nn.mlp import mlp
from hsd.nn.node_features import n_places, node_features


@dataclass(frozen=True)
class MeshGraphNetConfig(ModelConfig):
    """Defaults of the paper's table (P-G.5), magnetostatics and aerodynamics.

    hidden : width of node and edge channels;  layers : steps of message passing
    """

    weight_decay: float = 1e-4
    hidden: int = 58
    layers: int = 10


class MessageLayer(nn.Module):
    """m = f(e, v_sender, v_receiver), e ← e + m, v ← v + g(v, Σ_in m); (n, B, C), (E, B, C) → the same.

    f and g have two linear layers and a normalisation.  The first one of f acts on the nodes before they are gathered,
    which is the same map as on the concatenation.
    """

    def __init__(self, width: int):
        super().__init__()
        self.edge = nn.Linear(width, width)
        self.ends = nn.Linear(width, 2 * width, bias=False)
        self.edge_rest = nn.Sequential(nn.GELU(), nn.Linear(width, width), nn.LayerNorm(width))
        self.node = mlp([2 * width, width, width], norm=True)

    def forward(self, v: torch.Tensor, e: torch.Tensor, graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
        sent, received = self.ends(v).chunk(2, dim=-1)
        message = self.edge_rest(self.edge(e) + graph.from_senders(sent) + graph.from_receivers(received))
        v = v + self.node(torch.cat([v, graph.sum_into(message).to(v.dtype)], dim=-1))
        return v, e + message


class MeshGraphNet(Operator):
    """Encode nodes and directed edges, ``layers`` residual steps of message passing, decode nodes; in batches.

    Edge features are offset and length over the mean length of edges.
    Parameters: 250k–305k with the table's widths and depths; hidden 72 at 8 layers has 312k and is 71 here.
    """

    name = "meshgraphnet"
    title = "MeshGraphNet"
    citation = "Pfaff et al. 2021, Learning mesh-based simulation with graph networks"
    differences = (
        "Positions are node features beside the offsets on edges, since the tasks are not translation invariant; GELU "
        "instead of ReLU; no world edges; one prediction instead of a rollout, without training noise."
    )
    reads = "node values and positions, edges of the mesh"
    mesh_free = True
    micro_batch = 8
    Config = MeshGraphNetConfig
    task_config: ClassVar = {"toroidal_transport": {"hidden": 71, "layers": 8, "weight_decay": 1e-5}}

    def __init__(self, domain: Domain, config: MeshGraphNetConfig | None = None):
        super().__init__(domain, config)
        c, s, dim = self.config, self.signature, n_places(domain)
        self.encode_nodes = mlp([s.node_inputs + dim, c.hidden, c.hidden], norm=True)
        self.encode_edges = mlp([dim + 1, c.hidden, c.hidden], norm=True)
        self.layers = nn.ModuleList(MessageLayer(c.hidden) for _ in range(c.layers))
        self.decode = mlp([c.hidden, c.hidden, s.node_outputs])

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        graph = mesh_graph(domain)
        v = self.encode_nodes(node_features(batch, domain).transpose(0, 1))  # (n, B, hidden)
        e = self.encode_edges(edge_features(graph, domain))  # (E, hidden)
        e = e[:, None].expand(-1, len(batch), -1)
        for layer in self.layers:
            v, e = layer(v, e, graph)
        return Prediction(self.decode(v).transpose(0, 1))


def edge_features(graph: Graph, domain: Domain) -> torch.Tensor:
    """Offset to the sender and its length over the mean length, (E, D + 1)."""

    def make() -> torch.Tensor:
        x = domain.tensor("moment_points")
        offset = x[graph.senders] - x[graph.receivers]
        length = offset.norm(dim=1, keepdim=True)
        return torch.cat([offset, length], dim=1) / length.mean()

    return domain.cached("meshgraphnet", make)
