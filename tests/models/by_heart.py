"""A short training on one batch, with the trainer's loss and schedule, for tests."""

from __future__ import annotations

import math

import torch

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.models.base import Operator
from hsd.training.steps import form_error, node_error

STEPS = 300


def loss_of(model: Operator, batch: Batch, domain: Domain, truth: torch.Tensor) -> torch.Tensor:
    """The trainer's default: relative error of the form, or of the node values."""
    prediction = model(batch, domain)
    if prediction.forms is not None:
        return form_error(prediction.forms, batch.target, domain).mean()
    return node_error(prediction.nodes, truth, domain).mean()


def train(model: Operator, batch: Batch, domain: Domain, rate: float = 1.0) -> list[float]:
    """Losses on one batch, AdamW with warm-up and cosine, until a tenth of the first is reached; gradients finite.

    rate : learning rate over that of the model's config, which is one for long trainings
    """
    truth = domain.target_nodes(batch.target)
    config = model.config
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate * config.lr, weight_decay=config.weight_decay)

    def factor(step: int) -> float:
        return min(1.0, (step + 1) / 15) * 0.5 * (1 + math.cos(math.pi * max(0, step - 15) / (STEPS - 15)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, factor)
    losses: list[float] = []
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = loss_of(model, batch, domain, truth)
        extra = model.penalty(domain, torch.Generator().manual_seed(step))
        (loss if extra is None else loss + extra).backward()
        assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(float(loss.detach()))
        if losses[-1] < 0.1 * losses[0]:
            break
    return losses
