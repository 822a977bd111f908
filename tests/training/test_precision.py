"""bfloat16 is for the networks: sparse maps and projections keep the domain's precision, and so do the laws."""

from __future__ import annotations

import math

import pytest
import torch

from hsd.data.dataset import Dataset
from hsd.models.registry import MODELS
from hsd.training.config import TrainingConfig
from hsd.training.run import make_trainer


def trainer_of(file, model: str, **config):
    own = {"n_modes": 16} if model == "hsd" else {}
    return make_trainer(Dataset(file), TrainingConfig(model, {**own, **config}, batch_size=4, precision="bfloat16"))


def test_sparse_maps_and_projections_are_the_same_under_autocast(aero_file):
    domain = trainer_of(aero_file, "hsd").data.domain
    forms = torch.randn(3, len(domain.arrays["target/modes"]), generator=torch.Generator().manual_seed(0))
    basis, star = domain.target, domain.sparse("target_star")
    maps = (star, basis.coefficients, lambda x: basis.synthesise(basis.coefficients(x)), basis.complement)
    for apply in maps:
        x = forms.clone().requires_grad_()
        plain = apply(x)
        (gradient,) = torch.autograd.grad(plain.square().sum(), x)
        with torch.autocast("cpu", torch.bfloat16):
            same, coarse = apply(x), apply(x.bfloat16())
        (same_gradient,) = torch.autograd.grad(same.square().sum(), x)
        assert torch.equal(plain, same) and torch.equal(gradient, same_gradient) and coarse.dtype == plain.dtype


@pytest.mark.parametrize("model", MODELS)
def test_a_bfloat16_step_of_every_model_is_finite(car_file, model):
    trainer = trainer_of(car_file, model)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    losses = [trainer.train_step(0, torch.arange(4)) for _ in range(2)]
    assert all(math.isfinite(loss) for loss in losses)
    after = list(trainer.model.parameters())
    assert all(torch.isfinite(p).all() for p in after)
    assert any(not torch.equal(a, b) for a, b in zip(before, after))
