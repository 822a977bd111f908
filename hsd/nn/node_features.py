"""What models on vertices read: node values of the input and where the vertices are."""

from __future__ import annotations

import torch

from hsd.data.batch import Batch, node_inputs
from hsd.data.domain import Domain


def node_features(batch: Batch, domain: Domain) -> torch.Tensor:
    """Node inputs beside the centred, scaled positions, (B, n_vertices, C_in + D)."""
    x = node_inputs(batch, domain)
    places = domain.tensor("moment_points")
    return torch.cat([x, places.to(x.dtype).expand(len(x), -1, -1)], dim=-1)


def n_places(domain: Domain) -> int:
    """D, the number of coordinates."""
    return domain.arrays["moment_points"].shape[1]
