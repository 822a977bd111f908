"""The input functions of a task one by one, features of places, and weights of integrals over the vertices."""

from __future__ import annotations

import torch

from hsd.data.batch import Batch, n_node_inputs, node_inputs
from hsd.data.domain import Domain


def function_widths(domain: Domain) -> tuple[int, ...]:
    """Channels of each input function: the source first, then the named fields in the order of ``field_names``."""
    fields = [int(domain.arrays[f"field_nodes/{name}"].shape[2]) for name in domain.field_names]
    return (n_node_inputs(domain) - sum(fields), *fields)


def input_functions(batch: Batch, domain: Domain, places: torch.Tensor) -> list[torch.Tensor]:
    """Values of each input function beside what is known of the places (n, P), (B, n_vertices, C_l + P) each."""
    parts = torch.split(node_inputs(batch, domain), function_widths(domain), dim=-1)
    return [beside(f, places) for f in parts]


def beside(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Node values (B, n, C) joined with one row a vertex for all samples, (n, P) → (B, n, C + P)."""
    return torch.cat([x, places.to(x.dtype).expand(len(x), -1, -1)], dim=-1)


def place_features(domain: Domain, octaves: int) -> torch.Tensor:
    """Positions with sin and cos of 2^j π/2 x for j < octaves, (n_vertices, D (1 + 2 octaves))."""

    def make() -> torch.Tensor:
        x = domain.tensor("moment_points")
        waves = [f(torch.pi / 2 * 2**j * x) for j in range(octaves) for f in (torch.sin, torch.cos)]
        return torch.cat([x, *waves], dim=-1)

    return domain.cached(("place_features", octaves), make)


def n_place_features(domain: Domain, octaves: int) -> int:
    """Columns of :func:`place_features`."""
    return domain.arrays["moment_points"].shape[1] * (1 + 2 * octaves)


def vertex_shares(domain: Domain) -> torch.Tensor:
    """(n_vertices,) shares of the vertices in the area or volume, so that Σ_i share_i f_i is the mean of f."""

    def make() -> torch.Tensor:
        measure = domain.tensor("vertex_measure")
        return measure / measure.sum()

    return domain.cached("vertex_shares", make)
