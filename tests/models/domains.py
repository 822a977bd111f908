"""Small domains of the six tasks with a few samples each, made once a test session."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import torch

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task

NODES = {"external_aerodynamics": 700}
"""A car with a wing needs some vertices; all others have about 300."""


@cache
def domain_of(name: str, n_modes: int = 24, nodes: int | None = None, dtype=torch.float32) -> Domain:
    this = task(name)
    return Domain.build(this, this.mesh(nodes or NODES.get(name, 300)), n_modes, 8).to(dtype=dtype)


@cache
def batch_of(name: str, size: int = 4, n_modes: int = 24, dtype=torch.float32, nodes: int | None = None) -> Batch:
    """Real samples of the task, every form scaled to root mean square 1 in its ⋆-norm."""
    this = task(name)
    domain = domain_of(name, n_modes, nodes, dtype)
    ground = Ground(domain.mesh)
    made = this.realise(this.samples(0, 0, size), ground)

    def scale(forms: np.ndarray, degree: int) -> float:
        star = ground.dec.star(degree)
        return float(np.sqrt(np.mean(np.einsum("bn,nb->b", forms, star @ forms.T)) / ground.measure))

    source = made.inputs[this.inputs[0].name]
    s_scale, t_scale = scale(source, this.inputs[0].degree), scale(made.target, this.target.degree)
    if this.time_dependent:
        t_scale = s_scale
    fields = this.named_fields(ground)
    coefficients = {
        k: made.coefficients[k] / (t_scale if fields[k].reference else np.sqrt(np.mean(made.coefficients[k] ** 2)))
        for k in domain.field_names
    }
    batch = Batch.of_arrays(domain, source / s_scale, made.target / t_scale, coefficients)
    return replace(batch, fiber=torch.as_tensor(domain.fiber_features(source / s_scale, lifts=2)).to(dtype))


ALL = tuple(TASKS)
