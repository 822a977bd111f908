"""DeepONet: a branch that reads the input at fixed sensors, a trunk that reads places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn

from hsd.data.batch import Batch, node_inputs
from hsd.data.domain import Domain
from hsd.models.base import ModelConfig, Operator, Prediction
from hsd.nn.mlp import mlp
from hsd.nn.node_features import n_places
from hsd.nn.sensors import farthest_points, nearest_vertices


@dataclass(frozen=True)
class DeepONetConfig(ModelConfig):
    """Defaults of the paper's table (P-G.5), magnetostatics and aerodynamics.

    branch, trunk : hidden widths;  basis : functions p for each output channel
    readings      : numbers that the branch reads (sensors × input channels);  the table has none: chosen for 200k–310k
                    parameters
    lr : 1e-2 (transport 1e-3, as in the table), chosen in the same way as FNO-3D's
    """

    lr: float = 1e-2
    weight_decay: float = 1e-4
    branch: tuple[int, ...] = (64, 64, 64)
    trunk: tuple[int, ...] = (64, 64, 64)
    basis: int = 74
    readings: int = 2816


class DeepONet(Operator):
    """u_c(x) = Σ_k b_ck(input at the sensors) t_ck(x) + a_c, (B, S · C_in) × (n, D) → (B, n, C).

    Sensors are a farthest-point subset of the vertices of the mesh that it is trained on (S = readings / C_in; places
    repeat where the mesh has fewer vertices).  Their positions are kept with the weights; on another mesh each sensor
    reads the nearest vertex.
    Parameters: 205k–230k; the table's widths, with a number of sensors that fills the budget.
    """

    name = "deeponet"
    title = "DeepONet"
    citation = "Lu et al. 2021, Learning nonlinear operators via DeepONet"
    differences = (
        "Several output channels have a basis each; GELU; on another mesh the fixed sensors read the nearest vertex."
    )
    reads = "node values at fixed sensors (on another mesh: at the nearest vertices), positions"
    mesh_free = True
    Config = DeepONetConfig
    task_config: ClassVar = {
        "toroidal_transport": {
            "lr": 1e-3,
            "branch": (96, 96, 64),
            "trunk": (68, 68, 64),
            "basis": 64,
            "readings": 2048,
            "weight_decay": 1e-5,
        },
    }

    def __init__(self, domain: Domain, config: DeepONetConfig | None = None):
        super().__init__(domain, config)
        c, s = self.config, self.signature
        n_sensors = max(1, c.readings // s.node_inputs)
        sensors = farthest_points(domain.arrays["moment_points"], n_sensors)
        self.register_buffer("sensors", torch.as_tensor(sensors, dtype=torch.float32))
        out = c.basis * s.node_outputs
        self.branch = mlp([n_sensors * s.node_inputs, *c.branch, out])
        self.trunk = mlp([n_places(domain), *c.trunk, out])
        self.bias = nn.Parameter(torch.zeros(s.node_outputs))

    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        seen = node_inputs(batch, domain)[:, nearest_vertices(self.sensors, domain)]  # (B, S, C_in)
        shape = (-1, self.signature.node_outputs, self.config.basis)
        amounts = self.branch(seen.flatten(1)).reshape(shape)
        functions = self.trunk(domain.tensor("moment_points")).reshape(shape)
        return Prediction(torch.einsum("bck,nck->bnc", amounts, functions) + self.bias)
