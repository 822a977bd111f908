"""Losses: gradients, zero at the truth, agreement with the metrics, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.errors import InputError, UnknownNameError
from hsd.mesh.mesh import Mesh
from hsd.metrics import LOSSES, METRICS, Pair, Yardstick, total_loss
from tests.metrics.cases import forms, ground_of, samples, yardstick_of

SMALL = (("annulus", 1, "circulation"), ("disk_three_holes", 0, "scalar"), ("disk_three_holes", 1, "flux"),
         ("ball_with_cavity", 2, "flux"), ("ball_with_cavity", 3, "density"))  # fmt: skip


def defined(yardstick) -> list[str]:
    return [name for name in LOSSES if name != "divergence" or yardstick.d is not None]


@pytest.mark.parametrize("of_forms", [False, True])
@pytest.mark.parametrize("case", SMALL, ids=lambda c: "-".join(map(str, c)))
def test_gradients_equal_difference_quotients(case, of_forms):
    yardstick = yardstick_of(*case, n=30)
    p, g = (forms if of_forms else samples)(yardstick, b=2)
    make = Pair.of_forms if of_forms else Pair.of_nodes
    direction = torch.randn(p.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for name in defined(yardstick):
        # along one direction of all entries at once, so that large forms stay cheap
        step = torch.zeros((), dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda t, name=name: LOSSES[name].function(make(yardstick, p + t * direction, g)), (step,), atol=1e-6
        ), name


@pytest.mark.parametrize("case", SMALL[:3], ids=lambda c: "-".join(map(str, c)))
def test_full_gradcheck_in_every_entry(case):
    yardstick = yardstick_of(*case, n=20)
    p, g = samples(yardstick, b=2)
    for name in defined(yardstick):
        assert torch.autograd.gradcheck(
            lambda x, name=name: LOSSES[name].function(Pair.of_nodes(yardstick, x, g)), (p.clone().requires_grad_(),)
        ), name


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("case", SMALL, ids=lambda c: "-".join(map(str, c)))
def test_at_the_truth_losses_are_zero_with_a_finite_gradient(case, dtype):
    yardstick = yardstick_of(*case, n=60).to(dtype=dtype)
    _, g = samples(yardstick)
    for name in defined(yardstick):
        if name == "spectral_sparsity":
            continue
        p = g.to(dtype).clone().requires_grad_()
        loss = LOSSES[name].function(Pair.of_nodes(yardstick, p, g))
        loss.backward()
        assert loss.item() == 0.0 and torch.isfinite(p.grad).all(), name


def test_losses_that_are_metrics_are_their_means():
    yardstick = yardstick_of("disk_three_holes", 1, "flux", n=60)
    pair = Pair.of_nodes(yardstick, *samples(yardstick))
    assert LOSSES["relative_l2"].function(pair) == METRICS["relative_l2"].function(pair).mean()
    assert torch.allclose(
        LOSSES["flux"].function(pair), sum(pair.error_energies.values()).div((pair.forms_g * torch.sparse.mm(
            yardstick.star, pair.forms_g.T).T).sum(dim=1)).sqrt().mean(), rtol=1e-10
    )  # fmt: skip


def test_the_divergence_loss_sees_no_closed_error():
    for case in (("ball_with_cavity", 2, "flux"), ("disk_three_holes", 1, "flux")):
        yardstick, degree = yardstick_of(*case, n=60), case[1]
        d = ground_of(case[0], 60).dec.d(degree - 1)
        noise, f = forms(yardstick)
        closed = torch.from_numpy(np.random.default_rng(1).standard_normal((len(f), d.shape[1])) @ d.T)
        loss = LOSSES["divergence"].function
        assert loss(Pair.of_forms(yardstick, f + closed, f)) <= 1e-12
        assert loss(Pair.of_forms(yardstick, noise, f)) > 0.1


def test_the_ring_loss_sees_the_vertices_of_the_boundary_and_their_neighbours_alone():
    yardstick = yardstick_of("disk_three_holes", 0, "scalar", n=200)
    complex_ = ground_of("disk_three_holes", 200).mesh.complex
    ring = set(np.flatnonzero(complex_.on_boundary(0)).tolist())
    ring |= {w for a, b in complex_.simplices(1).tolist() for v, w in ((a, b), (b, a)) if v in ring}
    assert set(torch.nonzero(yardstick.ring).flatten().tolist()) == ring and len(ring) < yardstick.n_vertices
    p, g = samples(yardstick)
    loss = LOSSES["boundary_ring"].function
    assert loss(Pair.of_nodes(yardstick, torch.where(yardstick.ring[:, None], g, p), g)) == 0.0
    mass = yardstick.vertex_measure * yardstick.ring
    expected = (((p - g)[..., 0] ** 2 @ mass) / (g[..., 0] ** 2 @ mass)).sqrt().mean()
    assert torch.allclose(loss(Pair.of_nodes(yardstick, p, g)), expected, rtol=1e-12)


def test_losses_have_no_unit():
    """Both fields in another unit, or the mesh in another unit of length: the same loss."""
    for case in SMALL:
        yardstick, mesh = yardstick_of(*case, n=60), ground_of(case[0], 60).mesh
        moved = Mesh.from_cells(1000.0 * mesh.points, mesh.oriented_cells())
        larger = Yardstick.of(Ground(moved), case[1], case[2], n_modes=24)
        p, g = samples(yardstick)
        for name in defined(yardstick):
            loss = LOSSES[name].function
            one = loss(Pair.of_nodes(yardstick, p, g))
            assert torch.allclose(loss(Pair.of_nodes(yardstick, 1024 * p, 1024 * g)), one, rtol=1e-12), name
            if not name.startswith("spectral"):  # sums of |c| depend on the modes chosen inside blocks
                assert torch.allclose(loss(Pair.of_nodes(larger, p, g)), one, rtol=1e-9), name


def test_total_loss_is_the_weighted_sum_and_names_what_it_does_not_know():
    yardstick = yardstick_of("disk_three_holes", 1, "flux", n=60)
    pair = Pair.of_nodes(yardstick, *samples(yardstick))
    weights = {"flux": 1.0, "divergence": 0.1, "spectral_l1": 0.0}
    expected = LOSSES["flux"].function(pair) + 0.1 * LOSSES["divergence"].function(pair)
    assert torch.allclose(total_loss(pair, weights), expected, rtol=1e-14)
    with pytest.raises(UnknownNameError, match="boundary_ring"):
        total_loss(pair, {"l2": 1.0})
    with pytest.raises(InputError) as error:
        total_loss(pair, {"flux": 0.0})
    assert error.value.kind == "no_loss"


def test_losses_refuse_what_the_target_or_the_mesh_does_not_have():
    scalar = yardstick_of("torus", 0, "scalar", n=60)
    pair = Pair.of_nodes(scalar, *samples(scalar))
    for name, kind in (("divergence", "reading"), ("boundary_ring", "no_boundary")):
        with pytest.raises(InputError) as error:
            LOSSES[name].function(pair)
        assert error.value.kind == kind
