"""Flow on a car and on an ellipsoid: exact laws, shares, evenness, and one record on many meshes."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.card import principal_components
from hsd.data.gaussians import gaussian_fields
from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.data.tasks._stream import first_moments
from hsd.data.tasks.base import stacked
from hsd.errors import InputError, UnknownNameError
from hsd.mesh.metric import mean_edge_length
from tests.data.shares import part_shares
from tests.data.stream_checks import (
    EXACT,
    areas,
    at_vertices_of,
    curl_error,
    divergence_error,
    pair_distances,
    slow_gaussians,
    solved_with_zero_mean,
)

NAMES = ("external_aerodynamics", "ellipsoid_aerodynamics")


@pytest.fixture(scope="module")
def grounds() -> dict[str, Ground]:
    return {name: Ground(task(name).mesh(1500)) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_flow_is_incompressible_and_has_the_stated_vorticity(grounds, name):
    t, ground = task(name), grounds[name]
    r = t.realise(t.samples(0, 0, 40), ground)
    w = t.source(r.inputs["vorticity"], ground)
    assert curl_error(ground, r.target) < 1e-14
    assert divergence_error(ground, r.target, w) < EXACT
    codifferential = ground.dec.codifferential(1)
    assert np.abs(codifferential @ r.target.T - w.T).max() < 1e-9 * np.abs(w).max()
    assert np.abs(w @ ground.vertex_measure).max() < 1e-12 * np.abs(w).max() * ground.measure


def test_harmonic_coefficients_are_the_sampled_circulations(grounds):
    t, ground = task("external_aerodynamics"), grounds["external_aerodynamics"]
    records = t.samples(0, 0, 40)
    r = t.realise(records, ground)
    fields = t.named_fields(ground)["harmonic"]
    assert fields.reference
    c = r.target @ (ground.dec.star(1) @ fields.values)
    stated = stacked(records, "circulations")
    assert np.array_equal(r.coefficients["harmonic"], stated)
    assert np.abs(c - stated).max() < EXACT * np.abs(stated).max()


def test_ellipsoid_has_no_harmonic_part(grounds):
    t, ground = task("ellipsoid_aerodynamics"), grounds["ellipsoid_aerodynamics"]
    assert t.named_fields(ground) == {}
    r = t.realise(t.samples(0, 0, 2), ground)
    assert r.coefficients == {}
    assert set(r.parts) == {"local", "global"}


@pytest.mark.parametrize("name", NAMES)
def test_parts_sum_to_the_target(grounds, name):
    t, ground = task(name), grounds[name]
    r = t.realise(t.samples(1, 0, 10), ground)
    assert np.abs(sum(r.parts.values()) - r.target).max() < 1e-13 * np.abs(r.target).max()


@pytest.mark.parametrize("name", NAMES)
def test_far_field_is_even_in_the_vorticity_and_the_near_one_odd(grounds, name):
    """f(ζ) + f(−ζ) = 2 (far + γ): no linear map of ζ has an even part, so none gets the far field."""
    t, ground = task(name), grounds[name]
    records = t.samples(2, 0, 20)
    turned = [{**r, "strengths": -r["strengths"]} for r in records]
    one, two = t.realise(records, ground), t.realise(turned, ground)
    size = np.abs(one.target).max()
    assert np.abs(one.parts["global"] - two.parts["global"]).max() < 1e-12 * size
    assert np.abs(one.parts["local"] + two.parts["local"]).max() < 1e-12 * size
    assert np.abs(one.parts["global"]).max() > 0.05 * size


@pytest.mark.parametrize("name", NAMES)
def test_no_linear_map_gives_the_far_field(grounds, name):
    """Over pairs ±ζ every linear map misses at least the whole even part: the best one errs by its share."""
    t, ground = task(name), grounds[name]
    records = t.samples(3, 0, 60)
    both = records + [{**r, "strengths": -r["strengths"]} for r in records]
    r = t.realise(both, ground)
    centred = r.parts["global"] - r.parts["global"].mean(axis=0)
    zeta = r.inputs["vorticity"]
    fit, *_ = np.linalg.lstsq(zeta, centred, rcond=1e-8)
    left = np.linalg.norm(centred - zeta @ fit) / np.linalg.norm(centred)
    assert left > 1 - 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_far_field_saturates(grounds, name):
    """Doubling ζ doubles the near field, but the far coefficients stay below 1."""
    t, ground = task(name), grounds[name]
    records = t.samples(4, 0, 20)
    strong = [{**r, "strengths": 10 * r["strengths"]} for r in records]
    c = t.far_coefficients(gaussian_fields(ground.mesh.points, strong), ground)
    assert np.abs(c).max() <= 1.0
    one, ten = t.realise(records, ground), t.realise(strong, ground)
    assert np.allclose(ten.parts["local"], 10 * one.parts["local"], rtol=0, atol=1e-11 * np.abs(ten.target).max())
    energy = [np.sum(r.parts["global"] ** 2) for r in (one, ten)]
    assert energy[1] < 30 * energy[0]  # ten times the field would be 100, of products 10⁴


@pytest.mark.parametrize("name", NAMES)
def test_shares_and_effective_dimension(grounds, name):
    t, ground = task(name), grounds[name]
    r = t.realise(t.samples(0, 0, 400), ground)
    star = ground.dec.star(1)
    shares = part_shares(r.parts, star)
    assert 0.3 < shares["local"] < 0.7
    assert 0.3 < shares["global"] < 0.7
    assert shares["cross"] < 0.15
    energy = np.mean([f @ (star @ f) for f in r.target])
    apart = sum(np.mean([f @ (star @ f) for f in part]) for part in r.parts.values())
    assert shares["cross"] == pytest.approx(abs(energy / apart - 1), abs=1e-12)
    assert principal_components(r.target, star)["effective_dimension"] >= 20


@pytest.mark.parametrize("name", NAMES)
def test_all_at_once_is_one_by_one(grounds, name):
    t, ground = task(name), grounds[name]
    records = t.samples(5, 0, 12)
    many = t.realise(records, ground)
    for i, record in enumerate(records):
        one = t.realise([record], ground)
        for a, b in ((one.target[0], many.target[i]), (one.inputs["vorticity"][0], many.inputs["vorticity"][i])):
            assert np.abs(a - b).max() < 1e-12 * np.abs(b).max()
    assert t.realise([], ground).target.shape == (0, ground.dec.n(1))


@pytest.mark.parametrize("name", NAMES)
def test_a_second_slow_route_gives_the_same_field(name):
    """Loops over vertices and faces, cotan weights from angles, a Lagrange multiplier for the mean."""
    t = task(name)
    mesh = t.mesh(1000 if name.startswith("ext") else 300)
    ground = Ground(mesh)
    record = t.sample(6, 0)
    zeta = slow_gaussians(mesh, record)
    m = areas(mesh)
    x = mesh.points - m @ mesh.points / m.sum()
    x = x / np.sqrt(m.sum() / (4 * np.pi))
    q = np.array([sum(m * zeta * x[:, i]) for i in range(3)]) / np.array(t.config.moment_scale)
    c = [np.tanh(2 * q[1] * q[2]), np.tanh(2 * q[2] * q[0]), np.tanh(2 * q[0] * q[1])]
    psi = solved_with_zero_mean(mesh, zeta - m @ zeta / m.sum() + t.config.amplitude * (x @ c))
    edges = mesh.complex.simplices(1)
    expected = psi[edges[:, 1]] - psi[edges[:, 0]]
    for fields in t.named_fields(ground).values():
        expected = expected + fields.values @ record["circulations"]
    r = t.realise([record], ground)
    assert np.abs(r.inputs["vorticity"][0] - zeta).max() < 1e-11 * np.abs(zeta).max()
    assert np.abs(r.target[0] - expected).max() < 1e-9 * np.abs(expected).max()


def test_records_depend_on_task_seed_and_number_only():
    for name in NAMES:
        one, two = task(name), task(name, n_nodes=500)
        for key, value in one.sample(3, 7).items():
            assert np.array_equal(value, two.samples(3, 5, 9)[2][key])
        assert not np.array_equal(one.sample(3, 7)["widths"][:5], one.sample(4, 7)["widths"][:5])
    car, ellipsoid = (task(name).sample(0, 0)["strengths"] for name in NAMES)
    assert not np.array_equal(car[:5], ellipsoid[:5])


@pytest.mark.parametrize("name", NAMES)
def test_sources_are_resolved_by_the_coarsest_mesh(grounds, name):
    """No source narrower than 1.2, no pair nearer than 2 mean edge lengths of 1500 nodes; counts and strengths."""
    t, edge = task(name), mean_edge_length(grounds[name].mesh)
    records = t.samples(0, 0, 300)
    for record in records:
        assert 10 <= len(record["widths"]) <= 30
        assert record["widths"].min() >= 1.2 * edge
        assert record["widths"].max() <= 0.12
        assert np.abs(record["strengths"]).min() >= 0.5
        assert np.abs(record["strengths"]).max() <= 2.0
    if name == "ellipsoid_aerodynamics":
        for record in records:
            n = len(record["widths"])
            n_pairs = round(0.35 * n)
            assert abs(2 * n_pairs - 0.7 * n) <= 1 + 1e-9
            distance = pair_distances(record, n_pairs)
            assert 2.0 * edge <= distance.min()
            assert distance.max() <= 5.001 * edge


@pytest.mark.parametrize("name", NAMES)
def test_moments_are_nearly_those_of_a_finer_mesh(grounds, name):
    t = task(name)
    fine = Ground(t.mesh(3000))
    records = t.samples(0, 0, 100)
    coarse, finer = (
        first_moments(g, gaussian_fields(g.mesh.points, records)) / t.config.moment_scale for g in (grounds[name], fine)
    )
    assert np.abs(coarse - finer).mean() < 0.02
    assert np.abs(coarse - finer).max() < 0.15


def stream_functions(t, ground: Ground, records) -> dict[str, np.ndarray]:
    """ψ of each part, zero mean, (N_0, B)."""
    out = {}
    for name, part in t.realise(records, ground).parts.items():
        psi = ground.solver.project_gradient(part.T)
        out[name] = psi - ground.vertex_measure @ psi / ground.measure
    return out


def field_errors(t, sizes, reference: Ground, records, parts=("local", "global")) -> tuple[list[int], np.ndarray]:
    """Vertices of the meshes; relative errors of the parts' stream functions against a fine mesh, (sizes, parts)."""
    exact = stream_functions(t, reference, records)
    counts, errors = [], []
    for n in sizes:
        ground = Ground(t.mesh(n))
        psi = stream_functions(t, ground, records)
        counts.append(ground.mesh.complex.n_vertices)
        seen = {p: at_vertices_of(reference.mesh, ground.mesh, psi[p]) for p in parts}
        errors.append([np.linalg.norm(seen[p] - exact[p]) / np.linalg.norm(exact[p]) for p in parts])
    return counts, np.array(errors)


def test_one_record_gives_close_fields_on_all_meshes_of_the_ellipsoid():
    """The error of ψ falls as h² (slope −1 in the number of vertices); the far field's also holds noise of moments."""
    t = task("ellipsoid_aerodynamics")
    counts, errors = field_errors(t, (700, 1000, 1500, 3000), Ground(t.mesh(12000)), t.samples(0, 0, 20))
    near, far = (np.polyfit(np.log(counts), np.log(e), 1)[0] for e in errors.T)
    assert near < -0.85
    assert far < -0.5
    assert errors[-1].max() < 0.005


@pytest.mark.full
def test_one_record_gives_close_fields_on_all_meshes_of_the_car():
    t = task("external_aerodynamics")
    records = t.samples(0, 0, 20)
    _, errors = field_errors(t, (1500, 3000), Ground(t.mesh(7000)), records)
    assert errors[1].max() < 0.03
    assert (errors[1] < 0.7 * errors[0]).all()


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_frozen_numbers_are_those_of_the_calibration(name):
    """Bit for bit up to three digits' rounding, and another seed gives them within the sampling error."""
    t = task(name)
    for key, value in type(t).calibrate().items():
        assert np.allclose(getattr(t.config, key), value, rtol=5e-3), key
    for key, value in type(t).calibrate(seed=1, n_samples=1000).items():
        assert np.allclose(getattr(t.config, key), value, rtol=0.1), key


def test_calibration_balances_the_parts_at_any_setting(grounds):
    t = type(task(NAMES[1])).calibrated(n_nodes=500, n_samples=100, n_sources=(12, 14), sided=0.0)
    assert t.config.n_sources == (12, 14)
    r = t.realise(t.samples(0, 0, 100), Ground(t.mesh(500)))
    shares = part_shares(r.parts, Ground(t.mesh(500)).dec.star(1))
    assert shares["local"] == pytest.approx(0.5, abs=0.01)


def test_domains_are_scaled_and_have_the_stated_topology(grounds):
    for name, b1 in zip(NAMES, (2, 0)):
        ground = grounds[name]
        centre = ground.vertex_measure @ ground.mesh.points / ground.measure
        assert np.linalg.norm(ground.mesh.points - centre, axis=1).max() == pytest.approx(1.0, abs=0.01)
        assert ground.solver.betti == (1, b1, 1)


@pytest.mark.parametrize(
    "options",
    [
        {"widths": (0.2, 0.1)},
        {"n_sources": (0, 3)},
        {"strengths": (-1.0, 2.0)},
        {"sided": 1.5},
        {"moment_scale": (1.0, 0.0, 1.0)},
        {"moment_scale": (1.0, 1.0)},
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_config_is_refused(name, options):
    with pytest.raises(InputError) as error:
        task(name, **options)
    assert error.value.kind == "bad_option"


def test_unknown_style_and_entry_are_refused():
    with pytest.raises(UnknownNameError):
        task("external_aerodynamics", colour="red")
    with pytest.raises(UnknownNameError):
        task("external_aerodynamics", style="coupe").sample(0, 0)
