"""Filters with hat functions and the quadratic flow: the properties that their formulas promise."""

import numpy as np
import pytest
import torch

from hsd.data.domain import Domain
from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.data.vorticity import VorticityFlow
from hsd.nn.bracket_flow import SPREAD_GAIN, BracketFlow, tangent_gradients
from hsd.nn.filters import N_BANDS, Filter, filter_features

BAND_ROWS = 1 + N_BANDS


class Fixed(torch.nn.Module):
    """A filter with given multipliers."""

    def __init__(self, values: torch.Tensor):
        super().__init__()
        self.values = values

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.values[None, None]


@pytest.fixture(scope="module")
def domain() -> Domain:
    this = task("vorticity_dynamics")
    return Domain.build(this, this.mesh(640), 64, 4).to(dtype=torch.float64)


def flow_with(domain: Domain, carrier: torch.Tensor, spread: torch.Tensor, steps: int) -> BracketFlow:
    flow = BracketFlow(steps).double()
    flow.carrier, flow.spread = Fixed(carrier), Fixed(spread / SPREAD_GAIN)
    return flow


def features_of(domain: Domain) -> torch.Tensor:
    return filter_features(domain.source, domain.scale2, ("coexact",))


def inverse_laplacian(domain: Domain) -> torch.Tensor:
    lam = domain.source.eigenvalues * domain.scale2
    return torch.where(domain.source.harmonic, torch.zeros_like(lam), 1 / lam)


def some_fields(domain: Domain, n: int = 3) -> torch.Tensor:
    z = torch.randn(n, domain.source.n_modes, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return z / (1 + domain.source.eigenvalues * domain.scale2 / 8)


def test_bands_sum_to_one_and_meet_only_their_neighbours(domain):
    rows = features_of(domain)[1:BAND_ROWS]
    assert torch.allclose(rows.sum(dim=0), torch.ones(domain.source.n_modes, dtype=rows.dtype))
    assert int((rows > 0).sum(dim=0).max()) <= 2


@pytest.mark.parametrize("hats", [3, 96])
def test_hat_functions_sum_to_one_and_are_local(domain, hats):
    rows = filter_features(domain.source, domain.scale2, ("coexact",), hats)[BAND_ROWS:]
    assert rows.shape == (hats, domain.source.n_modes)
    assert torch.allclose(rows.sum(dim=0), torch.ones(domain.source.n_modes, dtype=rows.dtype))
    assert int((rows > 0).sum(dim=0).max()) <= 2


def test_filters_without_hats_are_filters_with_hats_of_weight_zero(domain):
    torch.manual_seed(0)
    plain = Filter(2, 3, 1).double()
    torch.manual_seed(0)
    hatted = Filter(2, 3, 1, more=20).double()
    wide = filter_features(domain.source, domain.scale2, ("coexact",), 20)
    assert torch.allclose(plain(features_of(domain)), hatted(wide), atol=1e-14)


def test_a_hatted_filter_reaches_a_resonance_that_bands_miss(domain):
    lam = domain.source.eigenvalues * domain.scale2
    pole = float((lam[20] + lam[30]) / 2) + 0.3
    wanted = 1 / (lam - pole)
    errors = []
    for hats in (0, int(lam.max()) + 2):
        rows = filter_features(domain.source, domain.scale2, ("coexact",), hats)
        fit = torch.linalg.lstsq(rows.T, wanted[:, None], driver="gelsd").solution
        errors.append(float((rows.T @ fit - wanted[:, None]).norm() / wanted.norm()))
    assert errors[1] < 0.5 * errors[0]


def test_a_new_flow_is_nearly_the_identity_and_one_without_weights_is_the_identity(domain):
    z = some_fields(domain)
    flow = BracketFlow(4).double()
    assert float((flow(z, features_of(domain), domain) - z).detach().norm() / z.norm()) < 0.5
    with torch.no_grad():
        flow.carrier.weight.zero_()
        flow.spread.weight.zero_()
    assert torch.equal(flow(z, features_of(domain), domain), z)


def test_tangent_gradients_are_those_of_the_modes_and_their_frame_is_oriented(domain):
    first, second = tangent_gradients(domain).reshape(2, domain.n_vertices, -1)
    normals = domain.tensor("normals")
    inside = domain.gradient_modes - torch.einsum("na,nb,bnk->ank", normals, normals, domain.gradient_modes)
    assert torch.allclose(first.square() + second.square(), inside.square().sum(dim=0), atol=1e-9)
    a, b = domain.gradient_modes[:, :, 1], domain.gradient_modes[:, :, 2]
    bracket = (torch.linalg.cross(a.T, b.T) * normals).sum(dim=1)
    assert torch.allclose(first[:, 1] * second[:, 2] - second[:, 1] * first[:, 2], bracket, atol=1e-9)


def test_the_flow_keeps_the_mean_and_its_quadratic_invariant_to_the_order_of_the_steps(domain):
    z, carrier = some_fields(domain), 0.5 * inverse_laplacian(domain)
    nothing = torch.zeros_like(carrier)
    errors = []
    for steps in (4, 8, 16):
        out = flow_with(domain, carrier, nothing, steps)(z, features_of(domain), domain)
        assert float((out - z).norm() / z.norm()) > 0.1
        harmonic = domain.source.harmonic
        assert torch.allclose(out[:, harmonic], z[:, harmonic], atol=1e-12)
        errors.append(float(((out.square() @ carrier) / (z.square() @ carrier) - 1).abs().max()))
    slopes = np.diff(np.log(errors)) / np.log(2)
    assert errors[-1] < 1e-4 and slopes.max() < -3.5


def test_the_flow_does_not_blow_up_whatever_its_weights(domain):
    torch.manual_seed(3)
    flow = BracketFlow(6).double()
    with torch.no_grad():
        for p in flow.parameters():
            p.copy_(30 * torch.randn_like(p))
    out = flow(20 * some_fields(domain), features_of(domain), domain)
    assert torch.isfinite(out).all()


def test_flipping_signs_of_modes_flips_the_coefficients_of_the_result(domain):
    """The layer sees modes through their eigenspaces only."""
    z, carrier = some_fields(domain), inverse_laplacian(domain)
    flow = flow_with(domain, carrier, torch.zeros_like(carrier), 6)
    out = flow(z, features_of(domain), domain)
    signs = torch.where(torch.arange(domain.source.n_modes) % 3 == 0, -1.0, 1.0).double()
    arrays = dict(domain.arrays)
    arrays["source/modes"] = arrays["source/modes"] * signs.numpy()
    arrays["source/star_modes"] = arrays["source/star_modes"] * signs.numpy()
    flipped = Domain(domain.mesh, domain.spec, arrays, dtype=torch.float64)
    again = flow(z * signs, features_of(flipped), flipped) * signs
    assert float((again - out).norm() / out.norm()) < 1e-5


@pytest.mark.full
def test_with_the_coefficients_of_the_vorticity_equation_the_flow_is_its_solution():
    """A second route: finite elements on the vertices against the flow in 256 modes."""
    this = task("vorticity_dynamics")
    mesh = this.mesh(2562)
    domain = Domain.build(this, mesh, 256, 4).to(dtype=torch.float64)
    ground = Ground(mesh)
    made = this.realise(this.samples(0, 0, 3), ground)
    initial = torch.as_tensor(made.inputs["initial"]).double()
    lam, duration, nu = domain.source.eigenvalues, this.config.duration, this.config.nu
    carrier = duration / domain.scale2 * torch.where(domain.source.harmonic, torch.zeros_like(lam), 1 / lam)
    flow = flow_with(domain, carrier, -nu * duration * lam, 48)
    out = flow(initial @ domain.source.star_modes, features_of(domain), domain) @ domain.source.modes.T
    truth = VorticityFlow(ground, nu).trajectory(initial.numpy(), np.array([0.0, duration]))[:, -1]
    error = np.linalg.norm(out.numpy() - truth, axis=1) / np.linalg.norm(truth, axis=1)
    assert error.max() < 0.08
