"""Losses of training: differentiable, without unit, means over the batch.

They take the same :class:`hsd.metrics.pair.Pair` as the metrics, so that a model of node values and a model of
cochains train against the same formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.errors import InputError, check_choice
from hsd.metrics import field
from hsd.metrics.pair import Pair
from hsd.metrics.yardstick import apply


def relative_l2(pair: Pair) -> Tensor:
    """mean_b ‖u_p − u_g‖ / ‖u_g‖ of node values in the lumped ⋆_0."""
    return field.relative_l2(pair).mean()


def flux(pair: Pair) -> Tensor:
    """mean_b ‖ω_p − ω_g‖ / ‖ω_g‖ of forms in ⋆_k."""
    return field.form_relative_l2(pair).mean()


def divergence(pair: Pair) -> Tensor:
    """mean_b L ‖d(ω_p − ω_g)‖_⋆n / ‖ω_g‖_⋆k of flux forms, L² = measure^(2/n)/4π.  Raises InputError (reading)."""
    yardstick = pair.yardstick
    if yardstick.d is None:
        raise InputError(
            f"The divergence loss is defined for fluxes; this target reads as {yardstick.reading!r}.", "reading"
        )
    size = torch.linalg.vector_norm(yardstick.star_up.sqrt() * apply(yardstick.d, pair.form_error), dim=1)
    return field.ratio(yardstick.length * size, field.form_norm(yardstick, pair.forms_g)).mean()


def spectral_l1(pair: Pair) -> Tensor:
    """mean_b Σ|ĉ_p − ĉ_g| / Σ|ĉ_g| over the non-harmonic modes."""
    return field.ratio(pair.coefficient_error.abs().sum(dim=1), pair.coefficients.abs().sum(dim=1)).mean()


def spectral_sparsity(pair: Pair) -> Tensor:
    """mean_b n^−½ Σ|ĉ_p| / ‖ω_g‖_⋆ over the n non-harmonic modes: the L1 term on the prediction's own spectrum."""
    modes = pair.yardstick.modes
    total = (pair.forms_p @ modes).abs().sum(dim=1) / max(modes.shape[1], 1) ** 0.5
    return field.ratio(total, field.form_norm(pair.yardstick, pair.forms_g)).mean()


def boundary_ring(pair: Pair) -> Tensor:
    """mean_b of the relative L² over the boundary's vertices and their neighbours.  Raises InputError (no_boundary)."""
    yardstick = pair.yardstick
    if not bool(yardstick.ring.any()):
        raise InputError("The boundary-ring loss needs a mesh with boundary; this one is closed.", "no_boundary")
    error, truth = (field.node_norm(yardstick, x * yardstick.ring[:, None]) for x in (pair.node_error, pair.nodes_g))
    return field.ratio(error, truth).mean()


@dataclass(frozen=True)
class Loss:
    """function : Pair → ();  formula: what it is, without unit."""

    function: Callable[[Pair], Tensor]
    formula: str


LOSSES: dict[str, Loss] = {
    "relative_l2": Loss(relative_l2, "‖u_p − u_g‖ / ‖u_g‖, node values in the lumped ⋆₀"),
    "flux": Loss(flux, "‖ω_p − ω_g‖_⋆ / ‖ω_g‖_⋆"),
    "divergence": Loss(divergence, "L ‖d(ω_p − ω_g)‖_⋆ / ‖ω_g‖_⋆, L² = measure^(2/n)/4π"),
    "spectral_l1": Loss(spectral_l1, "Σ|ĉ_p − ĉ_g| / Σ|ĉ_g|, non-harmonic modes"),
    "spectral_sparsity": Loss(spectral_sparsity, "n^−½ Σ|ĉ_p| / ‖ω_g‖_⋆, n non-harmonic modes"),
    "boundary_ring": Loss(boundary_ring, "‖u_p − u_g‖ / ‖u_g‖ over the boundary's vertices and their neighbours"),
}


def total_loss(pair: Pair, weights: Mapping[str, float]) -> Tensor:
    """Σ weight · loss of the named losses, ().  Raises UnknownNameError; InputError (no_loss, reading, no_boundary)."""
    used = {name: weight for name, weight in weights.items() if weight}
    if not used:
        raise InputError("A training loss needs at least one term with a weight that is not zero.", "no_loss")
    terms = [weight * LOSSES[check_choice("loss", name, LOSSES)].function(pair) for name, weight in used.items()]
    return torch.stack(terms).sum()
