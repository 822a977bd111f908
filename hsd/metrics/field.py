"""Errors of fields: mean squared error, relative L² and its split by Hodge parts."""

from __future__ import annotations

import torch
from torch import Tensor

from hsd.metrics.pair import Pair
from hsd.metrics.yardstick import Yardstick, apply


def ratio(above: Tensor, below: Tensor) -> Tensor:
    """above / below for numbers ≥ 0, with 0/0 = 0 and x/0 = ∞."""
    zero = below == 0
    out = above / torch.where(zero, torch.ones_like(below), below)
    return torch.where(zero, torch.where(above == 0, above, torch.full_like(above, torch.inf)), out)


def safe_root(square: Tensor) -> Tensor:
    """√x of rounded squares: 0 for x ≤ 0, with derivative 0 there; a value that is not a number stays so."""
    nothing = square <= 0
    root = torch.where(nothing, torch.ones_like(square), square).sqrt()
    return torch.where(nothing, torch.zeros_like(square), root)


def node_norm(yardstick: Yardstick, nodes: Tensor) -> Tensor:
    """(Σ_v m_v |u_v|²)^½ with the lumped ⋆_0, (B, N_0, C) → (B,)."""
    return safe_root(torch.einsum("v,bvc,bvc->b", yardstick.vertex_measure, nodes, nodes))


def form_norm(yardstick: Yardstick, forms: Tensor) -> Tensor:
    """‖ω‖_⋆k, (B, N_k) → (B,)."""
    return safe_root((forms * apply(yardstick.star, forms)).sum(dim=1))


def mse(pair: Pair) -> Tensor:
    """N⁻¹ Σ_v |u_p − u_g|² of node values divided by the unit of normalisation, unweighted, (B,)."""
    return ((pair.node_error / pair.unit) ** 2).sum(dim=2).mean(dim=1)


def relative_l2(pair: Pair) -> Tensor:
    """‖u_p − u_g‖ / ‖u_g‖ of node values in the lumped ⋆_0, (B,)."""
    return ratio(node_norm(pair.yardstick, pair.node_error), node_norm(pair.yardstick, pair.nodes_g))


def form_relative_l2(pair: Pair) -> Tensor:
    """‖ω_p − ω_g‖ / ‖ω_g‖ in ⋆_k, (B,)."""
    return ratio(form_norm(pair.yardstick, pair.form_error), form_norm(pair.yardstick, pair.forms_g))


def part_error(pair: Pair, part: str) -> Tensor:
    """‖π_q(ω_p − ω_g)‖ / ‖ω_g‖ in ⋆_k for the Hodge part q = ``part``, (B,).

    The squares over all parts sum to the square of :func:`form_relative_l2`.
    """
    return ratio(pair.error_energies[part].sqrt(), form_norm(pair.yardstick, pair.forms_g))
