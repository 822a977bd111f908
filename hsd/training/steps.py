"""Batches in a stated order, losses and errors: the parts of a training step that keep no state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from hsd.data.domain import Domain
from hsd.data.ground import Ground
from hsd.metrics.field import ratio
from hsd.metrics.losses import total_loss
from hsd.metrics.pair import Pair
from hsd.metrics.yardstick import Yardstick
from hsd.models.base import Operator, Prediction
from hsd.training.data import Samples


def batches(groups: Sequence[Samples], size: int, seed: int, epoch: int) -> Iterator[tuple[int, torch.Tensor]]:
    """(number of the group, rows) of all batches of an epoch, in an order that depends on seed and epoch only.

    Batches lie within one mesh; the last one of a mesh may be smaller.
    """
    rng = np.random.default_rng([seed, epoch])
    out = []
    for g, samples in enumerate(groups):
        order = rng.permutation(len(samples))
        out += [(g, torch.as_tensor(order[i : i + size])) for i in range(0, len(order), size)]
    for i in rng.permutation(len(out)):
        yield out[i]


def form_error(prediction: torch.Tensor, truth: torch.Tensor, domain: Domain) -> torch.Tensor:
    """‖ω_p − ω_g‖_⋆ / ‖ω_g‖_⋆ of each sample, (B,)."""
    star = domain.sparse("target_star")
    error = prediction - truth
    return ratio((error * star(error)).sum(dim=1).clamp(min=1e-30).sqrt(), (truth * star(truth)).sum(dim=1).sqrt())


def node_error(prediction: torch.Tensor, truth: torch.Tensor, domain: Domain) -> torch.Tensor:
    """‖u_p − u_g‖ / ‖u_g‖ of each sample, node values weighted by the lumped ⋆_0, (B,)."""
    weights = domain.tensor("vertex_measure")[:, None]
    error = ((prediction - truth).square() * weights).sum(dim=(1, 2)).clamp(min=1e-30).sqrt()
    return ratio(error, (truth.square() * weights).sum(dim=(1, 2)).sqrt())


class Objective:
    """The training loss: by default the relative error of the form (of node values where a model makes no forms).

    weights : by the names of hsd.metrics.losses, or None for the default
    """

    def __init__(self, weights: dict[str, float] | None):
        self.weights = weights
        self._yardsticks: dict[str, Yardstick] = {}

    def __call__(self, prediction: Prediction, samples: Samples, rows: torch.Tensor) -> torch.Tensor:
        domain = samples.domain
        if self.weights is None:
            if prediction.forms is not None:
                return form_error(prediction.forms, samples.batch.target[rows], domain).mean()
            return node_error(prediction.nodes, samples.target_nodes[rows], domain).mean()
        yardstick = self._yardstick(domain)
        if prediction.forms is not None:
            pair = Pair.of_forms(yardstick, prediction.forms, samples.batch.target[rows])
        else:
            pair = Pair.of_nodes(yardstick, prediction.nodes, samples.target_nodes[rows])
        return total_loss(pair, self.weights)

    def _yardstick(self, domain: Domain) -> Yardstick:
        key = domain.mesh.content_hash
        if key not in self._yardsticks:
            ground = Ground(domain.mesh, domain.spec.star, domain.spec.bc)
            self._yardsticks[key] = Yardstick.of(ground, *domain.spec.target).to(domain.device, domain.dtype)
        return self._yardsticks[key]


@torch.no_grad()
def validation_error(
    model: Operator, groups: Sequence[Samples], size: int, mean: float = 0.0, scale: float = 1.0
) -> float:
    """Mean relative L² of node values in physical units u = mean + scale · û, over all samples."""
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for samples in groups:
        for i in range(0, len(samples), size):
            rows = slice(i, i + size)
            nodes = model(samples.batch[rows], samples.domain).nodes
            truth = samples.target_nodes[rows]
            shift = mean / scale
            total += float(node_error(nodes + shift, truth + shift, samples.domain).double().sum())
            count += len(truth)
    model.train(was_training)
    return total / max(count, 1)
