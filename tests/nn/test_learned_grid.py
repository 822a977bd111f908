"""Transfer at learned places: linear functions are exact, splat is the adjoint of sampling, gradients are right."""

from __future__ import annotations

import pytest
import torch

from hsd.nn.learned_grid import FLOOR, Deformation, Trilinear, places_on_grid
from hsd.nn.mlp import grid_points
from tests.data.test_domain import CASES, made


def places(n: int, size: int, low: float, high: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return low + (high - low) * torch.rand(n, 3, dtype=torch.float64, generator=generator)


def test_sampling_reproduces_linear_functions_with_axes_in_order():
    at = places(50, 6, 0.0, 5.0)
    got = Trilinear(at, 6).sample(grid_points(6, at.device, at.dtype))
    assert torch.allclose(got, 2 * at / 5 - 1, atol=1e-14)


def test_sampling_is_periodic():
    at = places(50, 6, -9.0, 9.0)
    u = torch.randn(216, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    shift = torch.tensor([6.0, -12.0, 18.0], dtype=torch.float64)
    assert torch.allclose(Trilinear(at, 6).sample(u), Trilinear(at + shift, 6).sample(u), atol=1e-12)


def test_splat_is_the_adjoint_of_sampling_by_measure():
    at, generator = places(40, 5, -4.0, 9.0), torch.Generator().manual_seed(2)
    measure = torch.rand(40, dtype=torch.float64, generator=generator)
    u, v = (torch.randn(n, 3, dtype=torch.float64, generator=generator) for n in (125, 40))
    transfer = Trilinear(at, 5)
    lifted, density = transfer.splat(v, measure)
    assert torch.allclose(density.sum(), measure.sum())
    left = (transfer.sample(u) * v * measure[:, None]).sum()
    right = (u * lifted * (density + FLOOR * density.mean())[:, None]).sum()
    assert torch.allclose(left, right, rtol=1e-12)


def test_gradients_reach_values_and_places():
    at = (torch.floor(places(4, 4, -2.0, 6.0)) + 0.2 + 0.6 * places(4, 4, 0.0, 1.0, seed=3)).requires_grad_()
    u = torch.randn(64, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(4)).requires_grad_()
    v = torch.randn(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(5)).requires_grad_()
    measure = torch.ones(4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a, x: Trilinear(a, 4).sample(x), (at, u))
    assert torch.autograd.gradcheck(lambda a, x: Trilinear(a, 4).splat(x, measure)[0], (at, v), rtol=1e-3)


@pytest.mark.parametrize("case", CASES)
def test_undeformed_places_are_those_of_the_fixed_grid(case):
    domain, _ = made(case)
    size = domain.spec.grid_size
    at = places_on_grid(domain, size)
    assert at is places_on_grid(domain, size) and float(at.min()) >= 1 - 1e-5 and float(at.max()) <= size - 2 + 1e-5
    u = torch.randn(size**3, 1, generator=torch.Generator().manual_seed(6))
    assert torch.allclose(Trilinear(at, size).sample(u), domain.sparse("grid/node_sampling")(u[None])[0], atol=1e-5)
    torch.manual_seed(0)
    deformation = Deformation(size, 8)
    assert torch.equal(deformation(at), at)
    for p in deformation.parameters():
        p.data += 10 * torch.randn_like(p)
    moved = (deformation(at).detach() - at).abs()
    assert 0.1 < float(moved.max()) <= size / 4 + 1e-5
