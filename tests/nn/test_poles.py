"""Poles of spectral filters: found where a symbol has them, the same on every resolution of a shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hsd.models.registry import make_model
from hsd.nn.filters import Filter, filter_features
from hsd.nn.poles import FINE, REACH, Poles
from tests.models.domains import batch_of, domain_of

NAME = "torus_helmholtz"
KAPPA2 = 19.24


def spectrum(seed: int = 0) -> torch.Tensor:
    """Eigenvalues as on a surface, with copies."""
    rng = torch.Generator().manual_seed(seed)
    steps = torch.rand(60, generator=rng, dtype=torch.float64) * 2
    return torch.cumsum(steps, 0).repeat_interleave(2)


def smooth(lam: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.ones_like(lam), lam / (1 + lam)])


def places(poles: Poles) -> torch.Tensor:
    return (poles.middle + REACH * poles.width * torch.tanh(poles.place)).detach().double()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("gap", [8, 30, 70])
def test_the_pole_of_a_symbol_is_found_in_its_gap(seed, gap):
    lam = spectrum(seed)
    distinct = torch.unique(lam)
    low, high = distinct[gap // 2 : gap // 2 + 2]
    pole = low + 0.37 * (high - low)
    weight = 1 / (1 + lam)
    poles = Poles(1).double()
    poles.fit(lam, 3.0 / (lam - pole) + 0.2 - 0.1 * lam / (1 + lam), weight, smooth(lam))
    assert abs(float(places(poles)[0] - pole)) <= float(high - low) * REACH / (FINE - 1)


def test_two_poles_are_found_one_after_the_other():
    lam = spectrum()
    distinct = torch.unique(lam)
    wanted = torch.stack([(distinct[5] + distinct[6]) / 2, (distinct[40] + distinct[41]) / 2])
    gain = 1 / (lam - wanted[0]) + 2 / (lam - wanted[1])
    poles = Poles(2).double()
    poles.fit(lam, gain, torch.ones_like(lam), smooth(lam))
    assert torch.allclose(places(poles).sort().values, wanted, rtol=1e-2)


def test_a_learned_pole_stays_in_its_gap():
    lam = spectrum()
    poles = Poles(1).double()
    poles.fit(lam, 1 / (lam - lam[40] - 0.1), torch.ones_like(lam), smooth(lam))
    low, high = poles.middle - poles.width, poles.middle + poles.width
    for far in (-1e3, 1e3):
        with torch.no_grad():
            poles.place.fill_(far)
        assert bool((low < places(poles)).all() and (places(poles) < high).all())
        assert torch.isfinite(poles(lam)).all()


def test_before_the_fit_filters_with_poles_are_smooth_and_start_as_those_without():
    domain = domain_of(NAME)
    torch.manual_seed(0)
    plain = Filter(2, 3, 1)
    torch.manual_seed(0)
    more = Filter(2, 3, 1, more=2)
    rows = filter_features(domain.source, domain.scale2, ("coexact",), poles=Poles(2))
    assert torch.allclose(more(rows), plain(filter_features(domain.source, domain.scale2, ("coexact",))), atol=1e-6)
    found = rows[-2:].detach()
    assert float(found.min()) > 0 and float(found.max()) <= 1


def test_hsd_finds_the_resonance_of_the_helmholtz_task():
    domain, batch = domain_of(NAME), batch_of(NAME)
    model = make_model("hsd", domain, NAME)
    model.prepare(batch, domain)
    found = float(places(model.network.poles)[0]) / domain.scale2
    lam = torch.unique(domain.source.eigenvalues.double())
    below, above = lam[lam < KAPPA2].max(), lam[lam > KAPPA2].min()
    assert abs(found - KAPPA2) < 0.05 * float(above - below)


def test_without_targets_nothing_is_fitted():
    domain, batch = domain_of(NAME), batch_of(NAME)
    model = make_model("hsd", domain, NAME)
    model.prepare(replace(batch, target=None), domain)
    assert torch.equal(model.network.poles.middle, torch.tensor([-1.0]))
