"""Forced Helmholtz flow on the torus: exact laws, the gap round κ², shares, and one record on many meshes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, spsolve

from hsd.data.card import principal_components
from hsd.data.gaussians import gaussian_fields
from hsd.data.ground import Ground
from hsd.data.harmonic_frames import torus_frame
from hsd.data.tasks import task
from hsd.data.tasks._stream import first_moments
from hsd.errors import InputError, SolverError
from hsd.linalg import Factor
from hsd.mesh.metric import mean_edge_length
from tests.data.shares import part_shares
from tests.data.stream_checks import (
    EXACT,
    areas,
    at_vertices_of,
    cotan_stiffness,
    curl_error,
    divergence_error,
    pair_distances,
    slow_gaussians,
)

NAME = "torus_helmholtz"
SIZES = (1500, 1800, 3000, 7000)


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground(task(NAME).mesh())


def test_field_is_incompressible_and_solves_the_equation(ground):
    """δf = Δ₀ψ = g + κ²ψ, with ψ found again from f up to its mean, which the equation fixes: −κ² mean ψ = mean g."""
    t = task(NAME)
    r = t.realise(t.samples(0, 0, 40), ground)
    g, mass = r.inputs["forcing"], ground.vertex_measure
    psi = ground.solver.project_gradient(r.target.T).T
    psi += (-(g @ mass) / t.config.kappa2 - psi @ mass)[:, None] / ground.measure
    assert curl_error(ground, r.target) < 1e-14
    assert divergence_error(ground, r.target, g + t.config.kappa2 * psi) < EXACT
    matrix = ground.dec.upper_stiffness(0) - t.config.kappa2 * ground.dec.star(0)
    residual = np.abs(matrix @ psi.T - (g * mass).T).sum(axis=0) / np.abs(g * mass).sum(axis=1)
    assert residual.max() < 1e-8


def test_harmonic_coefficients_are_the_stated_ones(ground):
    """⟨f, γ_i⟩ = s tanh(2 m_i/σ_i), computed here from the records by hand."""
    t = task(NAME)
    r = t.realise(t.samples(0, 0, 40), ground)
    x = ground.mesh.points - ground.vertex_measure @ ground.mesh.points / ground.measure
    x = x / np.sqrt(ground.measure / (4 * np.pi))
    m = (r.inputs["forcing"] * ground.vertex_measure) @ x[:, [0, 2]]
    stated = t.config.amplitude * np.tanh(2 * m / np.array(t.config.moment_scale))
    found = r.target @ (ground.dec.star(1) @ torus_frame(ground))
    assert np.abs(found - stated).max() < EXACT * np.abs(stated).max()
    assert np.abs(stated).max() <= t.config.amplitude


def test_circulations_are_learnt_unless_they_are_asked_for(ground):
    t = task(NAME)
    assert t.named_fields(ground) == {}
    assert t.realise(t.samples(0, 0, 2), ground).coefficients == {}
    t = task(NAME, known_circulations=True)
    fields = t.named_fields(ground)["harmonic"]
    r = t.realise(t.samples(0, 0, 5), ground)
    assert fields.reference
    assert np.allclose(r.coefficients["harmonic"], r.target @ (ground.dec.star(1) @ fields.values), atol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_kappa_lies_in_the_middle_of_a_gap_on_every_mesh(n):
    """23 eigenvalues lie below κ² (Sylvester) and none within 2.0 of it; its gap is 4 wide and more."""
    t = task(NAME)
    ground = Ground(t.mesh(n))
    stiffness, mass = ground.dec.upper_stiffness(0), ground.dec.star(0)
    below = [Factor(stiffness - (t.config.kappa2 + d) * mass).n_negative() for d in (-2.0, 0.0, 2.0)]
    assert below == [23, 23, 23]
    near = np.sort(eigsh(stiffness, 12, sp.csc_matrix(mass), sigma=t.config.kappa2)[0])
    low, high = near[near < t.config.kappa2].max(), near[near > t.config.kappa2].min()
    assert high - low > 4.1
    assert 0.4 < (t.config.kappa2 - low) / (high - low) < 0.6


def test_shares_and_effective_dimension(ground):
    t = task(NAME)
    r = t.realise(t.samples(0, 0, 400), ground)
    shares = part_shares(r.parts, ground.dec.star(1))
    assert 0.3 < shares["local"] < 0.7
    assert 0.3 < shares["global"] < 0.7
    assert shares["cross_of_sample"] < 1e-10  # dψ ⟂ γ, sample by sample
    assert principal_components(r.target, ground.dec.star(1))["effective_dimension"] >= 40


def test_circulations_are_odd_and_saturate(ground):
    t = task(NAME)
    g = gaussian_fields(ground.mesh.points, t.samples(1, 0, 50))
    c = t.circulations(g, ground)
    assert np.allclose(t.circulations(-g, ground), -c, atol=1e-13)
    assert np.abs(t.circulations(2 * g, ground) - 2 * c).max() > 0.5 * t.config.amplitude


def test_all_at_once_is_one_by_one(ground):
    t = task(NAME)
    records = t.samples(5, 0, 12)
    many = t.realise(records, ground)
    for i, record in enumerate(records):
        one = t.realise([record], ground)
        assert np.abs(one.target[0] - many.target[i]).max() < 1e-11 * np.abs(many.target[i]).max()
        assert np.array_equal(t.sample(5, i)["centres"], record["centres"])
    assert t.realise([], ground).target.shape == (0, ground.dec.n(1))


def test_a_second_slow_route_gives_the_same_stream_function():
    t = task(NAME)
    mesh = t.mesh(400)
    record = t.sample(6, 0)
    g, m = slow_gaussians(mesh, record), areas(mesh)
    psi = spsolve((cotan_stiffness(mesh) - t.config.kappa2 * sp.diags(m)).tocsc(), m * g)
    edges = mesh.complex.simplices(1)
    expected = psi[edges[:, 1]] - psi[edges[:, 0]]
    found = t.realise([record], Ground(mesh)).parts["local"][0]
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_sources_are_resolved_by_the_coarsest_mesh():
    t = task(NAME)
    edge = mean_edge_length(t.mesh(1500))
    for record in t.samples(0, 0, 300):
        widths = record["widths"]
        assert widths.min() >= 1.2 * edge
        assert widths.max() <= 0.5
        assert 10 <= len(widths) <= 22
        broad = int((widths > 0.2).sum())
        twins = len(widths) - len(np.unique(widths))
        assert 3 <= broad <= 6
        assert 1 <= twins <= 3
        assert 5 <= len(widths) - broad - 2 * twins <= 10
        distance = pair_distances(record, twins)
        assert 2.0 * edge <= distance.min()
        assert distance.max() <= 4.001 * edge


def test_one_record_gives_close_fields_on_all_meshes():
    """Moments and stream functions converge as h²; between resonances λ h² counts against the gap, not against λ."""
    t = task(NAME)
    records = t.samples(0, 0, 10)
    fine = Ground(t.mesh(16000))
    exact_g = gaussian_fields(fine.mesh.points, records)
    exact, exact_m = t.stream_function(exact_g, fine).T, first_moments(fine, exact_g)
    counts, errors, moments = [], [], []
    for n in (1500, 3000, 5000):
        ground = Ground(t.mesh(n))
        g = gaussian_fields(ground.mesh.points, records)
        seen = at_vertices_of(fine.mesh, ground.mesh, t.stream_function(g, ground).T)
        counts.append(ground.mesh.complex.n_vertices)
        errors.append(np.linalg.norm(seen - exact) / np.linalg.norm(exact))
        moments.append(np.abs(first_moments(ground, g) - exact_m)[:, [0, 2]].max(axis=0) / t.config.moment_scale)
    assert errors[-1] < 0.03
    assert np.polyfit(np.log(counts), np.log(errors), 1)[0] < -0.85
    assert np.max(moments[0]) < 0.03
    assert np.polyfit(np.log(counts), np.log(np.max(moments, axis=1)), 1)[0] < -0.85


@pytest.mark.full
def test_frozen_numbers_are_those_of_the_calibration():
    t = task(NAME)
    for key, value in type(t).calibrate().items():
        assert np.allclose(getattr(t.config, key), value, rtol=5e-3), key
    for key, value in type(t).calibrate(seed=1, n_samples=1000).items():
        assert np.allclose(getattr(t.config, key), value, rtol=0.1), key


@pytest.mark.parametrize(
    "options",
    [
        {"kappa2": 0.0},
        {"broad": (0.5, 0.2)},
        {"sharp": (0.0, 0.2)},
        {"n_pairs": (-1, 2)},
        {"moment_scale": (1.0,)},
        {"moment_scale": (1.0, -1.0)},
    ],
)
def test_bad_config_is_refused(options):
    with pytest.raises(InputError) as error:
        task(NAME, **options)
    assert error.value.kind == "bad_option"


def test_resonance_is_refused_by_name():
    """κ² on an eigenvalue of the mesh: the system is singular, and the error says which number is to blame."""
    ground = Ground(task(NAME).mesh(300))
    stiffness, mass = ground.dec.upper_stiffness(0), ground.dec.star(0)
    value = float(np.sort(eigsh(stiffness, 6, sp.csc_matrix(mass), sigma=-0.1)[0])[3])
    for _ in range(5):  # polish to the last digit
        x = Factor(stiffness - (value + 1e-9) * mass).solve(
            mass @ np.random.default_rng(0).standard_normal(mass.shape[0])
        )
        value = float(x @ (stiffness @ x) / (x @ (mass @ x)))
    t = task(NAME, kappa2=value)
    with pytest.raises(SolverError) as error:
        t.realise(t.samples(0, 0, 2), ground)
    assert error.value.kind in ("resonance", "singular_matrix")
