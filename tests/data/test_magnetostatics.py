"""Magnetostatics: Gauss' law, fluxes through closed surfaces, the harmonic coefficient, shares, mesh-free records."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.data.tasks.magnetostatics import INNER, OUTER, Magnetostatics
from hsd.dec.de_rham import de_rham
from hsd.dec.whitney import whitney_at
from hsd.errors import InputError, TopologyError, UnknownNameError
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.homology import Homology
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import mean_edge_length, measures
from hsd.mesh.primitives import gallery
from hsd.mesh.quality import mean_ratios

FROZEN = ("a", "b", "charge_scale", "saturation")
SIZES = [300, 1000, pytest.param(3000, marks=pytest.mark.full)]
TASK = Magnetostatics()


@cache
def ground_of(n: int) -> Ground:
    return Ground(TASK.mesh(n))


@cache
def made(n: int, n_samples: int = 6, seed: int = 3):
    records = TASK.samples(seed, 0, n_samples)
    return records, TASK.realise(records, ground_of(n))


def scaled(record, factor):
    """The record with all densities times a factor."""
    loads = ("wave_weights", "strengths", "monopole", "dipole", "quadrupole")
    return {key: value * factor if key in loads else value for key, value in record.items()}


# ---- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", SIZES)
def test_divergence_of_b_is_the_effective_charge_on_every_tet(n):
    _, real = made(n)
    ground = ground_of(n)
    volumes = measures(ground.mesh, 3)
    density = real.inputs["charge"] / volumes
    expected = TASK.config.a * TASK.config.saturation * np.tanh(density / TASK.config.saturation) * volumes
    divergence = (ground.dec.d(2) @ real.target.T).T
    assert np.abs(divergence - expected).max() < 1e-10 * np.abs(expected).mean()


@pytest.mark.parametrize("n", SIZES)
def test_fluxes_of_closed_surfaces_round_the_cavity_differ_by_the_charge_between(n):
    _, real = made(n)
    ground = ground_of(n)
    mesh, solver = ground.mesh, ground.flux_solver
    effective = TASK.effective(real.inputs["charge"], ground)
    x, r = mesh.points, np.linalg.norm(mesh.points, axis=1)
    uneven = r + 0.15 * x[:, 0] - 0.025 * r * x[:, 1] ** 2
    reach = uneven[mesh.complex.simplices(3)].max(axis=1)  # a tet is inside when all its vertices are
    touching = np.isin(mesh.complex.faces(3), solver.cavity).any(axis=1)
    levels = np.quantile(reach, np.linspace(0.3, 0.95, 11))
    bodies = [(reach <= level) | touching for level in levels]
    boundary = ground.dec.d(2).T
    surfaces = []
    for body in bodies:
        surface = boundary @ (solver.signs * body)
        assert np.array_equal(surface[solver.cavity], -solver.senses_out_of_cavity)  # the whole cavity lies inside
        surface[solver.cavity] = 0
        assert np.abs(ground.dec.d(1).T @ surface).max() == 0  # closed
        assert surface @ solver.harmonic == pytest.approx(1.0, abs=1e-11)  # once round the cavity
        surfaces.append(surface)
    total = TASK.config.a * np.abs(effective).sum(axis=1)
    for inside, outside, first, second in zip(bodies, bodies[1:], surfaces, surfaces[1:]):
        between = outside & ~inside
        assert between.any()
        charge = TASK.config.a * effective[:, between] @ solver.signs[between]
        assert (np.abs(real.target @ (second - first) - charge) < 1e-10 * total).all()


@pytest.mark.parametrize("n", SIZES)
def test_harmonic_coefficient_is_the_stated_function_of_the_total_charge(n):
    _, real = made(n)
    ground, config = ground_of(n), TASK.config
    star, named = ground.dec.star(2), TASK.named_fields(ground)["harmonic"]
    stated = real.coefficients["harmonic"][:, 0]
    measured = real.target @ (star @ named.values[:, 0])
    scale = np.sqrt((real.target * (star @ real.target.T).T).sum(axis=1))
    assert (np.abs(measured - stated) < 1e-10 * scale).all()
    norm = ground.dec.norm(2, ground.flux_solver.harmonic)
    total = TASK.effective(real.inputs["charge"], ground) @ ground.flux_solver.signs
    expected = config.b * config.charge_scale * np.tanh(total / config.charge_scale) * norm
    assert np.allclose(stated, expected, rtol=1e-12)
    # the norm of the Coulomb field of unit flux in the shell is (1/r₀ − 1/r₁)/4π squared
    assert norm**2 == pytest.approx((1 / INNER - 1 / OUTER) / (4 * np.pi), rel=0.25 if n < 500 else 0.1)


@pytest.mark.parametrize("n", [300, 1000])
def test_harmonic_field_is_orthonormal_outward_and_that_of_cohomology(n):
    ground = ground_of(n)
    named = TASK.named_fields(ground)["harmonic"]
    assert named.reference and named.degree == 2 and named.values.shape == (ground.mesh.complex.n(2), 1)
    assert named.values.T @ ground.dec.star(2) @ named.values == pytest.approx(1.0, abs=1e-13)
    other = ground.solver.harmonic(2).orthonormal
    assert abs(other.T @ ground.dec.star(2) @ named.values).item() == pytest.approx(1.0, abs=1e-12)
    vectors = ground.node_values(2, "flux", named.values[:, 0])
    assert ((vectors * ground.mesh.points).sum(axis=1) > 0).all()


def test_local_part_is_coexact_and_the_global_one_harmonic():
    _, real = made(300)
    ground = ground_of(300)
    decompose, dec = Decomposer(ground.mesh, 2, solver=ground.solver), ground.dec
    for target, local, far in zip(real.target, real.parts["local"], real.parts["global"]):
        parts, size = decompose(target), dec.norm(2, target)
        assert dec.norm(2, parts.exact) < 1e-10 * size
        assert dec.norm(2, parts.coexact - local) < 1e-10 * size
        assert dec.norm(2, parts.harmonic - far) < 1e-10 * size
    assert np.abs(real.parts["local"] + real.parts["global"] - real.target).max() == 0


def test_response_saturates_in_the_density():
    records, real = made(300)
    ground = ground_of(300)
    volumes = measures(ground.mesh, 3)
    strong = TASK.realise([scaled(r, 1e4) for r in records], ground)
    effective = TASK.effective(strong.inputs["charge"], ground) / volumes
    assert np.abs(effective).max() <= TASK.config.saturation * (1 + 1e-12)
    assert np.median(np.abs(effective)) > 0.99 * TASK.config.saturation
    weak = TASK.realise([scaled(r, 1e-5) for r in records], ground)
    assert np.allclose(TASK.effective(weak.inputs["charge"], ground), weak.inputs["charge"], rtol=1e-6)
    change = np.linalg.norm(real.target - 1e5 * weak.target) / np.linalg.norm(real.target)
    assert change > 0.2  # so no linear map gives the target


# ---- invariances ---------------------------------------------------------------------------------------------------


def test_opposite_charges_give_the_opposite_field():
    records, real = made(300)
    other = TASK.realise([scaled(r, -1) for r in records], ground_of(300))
    assert np.abs(other.target + real.target).max() < 1e-12 * np.abs(real.target).max()


def test_turned_records_on_the_turned_mesh_give_the_same_fluxes():
    records, real = made(300)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    mesh = ground_of(300).mesh
    turned = Mesh.from_cells(mesh.points @ turn.T, mesh.complex.simplices(3))
    vectors = ("wave_vectors", "centres", "dipole")
    moved = [
        {k: v @ turn.T if k in vectors else turn @ v @ turn.T if k == "quadrupole" else v for k, v in r.items()}
        for r in records
    ]
    other = TASK.realise(moved, Ground(turned))
    assert np.abs(other.inputs["charge"] - real.inputs["charge"]).max() < 1e-12
    assert np.abs(other.target - real.target).max() < 1e-11 * np.abs(real.target).max()


def test_batches_equal_single_samples_bit_for_bit():
    records = TASK.samples(5, 0, 35)  # three blocks of right-hand sides
    ground = ground_of(300)
    together = TASK.realise(records, ground)
    for i in (0, 1, 15, 16, 31, 34):
        alone = TASK.realise(records[i : i + 1], ground)
        for both, one in (
            (together.target[i], alone.target[0]),
            (together.inputs["charge"][i], alone.inputs["charge"][0]),
            (together.coefficients["harmonic"][i], alone.coefficients["harmonic"][0]),
        ):
            assert np.array_equal(both, one)


def test_the_same_record_on_other_meshes_tends_to_one_field():
    records = TASK.samples(2, 0, 5)
    rng = np.random.default_rng(1)
    places = rng.normal(size=(200, 3))
    places *= (rng.uniform(0.5, 1.85, 200) / np.linalg.norm(places, axis=1))[:, None]

    def at_places(n):
        ground = ground_of(n)
        corners = ground.mesh.points[ground.mesh.complex.simplices(3)]
        frames = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
        local = np.einsum("tij,ptj->pti", frames, places[:, None] - corners[None, :, 0])
        bary = np.concatenate([1 - local.sum(axis=2, keepdims=True), local], axis=2)
        cells = bary.min(axis=2).argmax(axis=1)
        bary = bary[np.arange(len(places)), cells]
        assert bary.min() > -1e-9
        real = TASK.realise(records, ground)
        fields = np.stack([whitney_at(ground.mesh, 2, b, cells, bary) for b in real.target])
        return fields, real.coefficients["harmonic"]

    finest, coefficient = at_places(2400)
    sizes, errors, drifts = [], [], []
    for n in (100, 300, 1000):
        fields, other = at_places(n)
        sizes.append(ground_of(n).mesh.complex.n(3) ** (-1 / 3))
        errors.append(np.linalg.norm(fields - finest) / np.linalg.norm(finest))
        drifts.append(np.abs(other - coefficient).max() / np.abs(coefficient).max())
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] > 0.9, errors  # Whitney fields: O(h) at points
    assert errors[2] < 0.25, errors
    assert drifts[2] < 0.05 and drifts[2] < drifts[0], drifts


# ---- records and charges -------------------------------------------------------------------------------------------


def test_density_is_the_sum_of_waves_blobs_and_patterns():
    records, points = TASK.samples(1, 0, 4), np.random.default_rng(0).normal(size=(7, 3))
    for record, values in zip(records, TASK.density(records, points)):
        for x, value in zip(points, values):
            r = np.linalg.norm(x)
            waves = zip(record["wave_weights"], record["wave_vectors"], record["wave_phases"])
            blobs = zip(record["strengths"], record["centres"], record["widths"])
            expected = sum(w * np.cos(k @ x + p) for w, k, p in waves)
            expected += sum(s * np.exp(-((x - c) @ (x - c)) / (2 * w * w)) for s, c, w in blobs)
            pattern = record["monopole"] + record["dipole"] @ x / r + x @ record["quadrupole"] @ x / r**2
            expected += pattern * np.exp(-((r - 0.4) ** 2) / (2 * record["shell_width"] ** 2))
            assert value == pytest.approx(expected, abs=1e-12)


def test_charges_of_quadratic_densities_are_exact():
    def quadratic(x):
        return 1.0 - x[:, 0] + 2 * x[:, 1] * x[:, 2] - 0.5 * x[:, 2] ** 2 + x[:, 0] ** 2

    class Quadratic(Magnetostatics):
        def density(self, records, points):
            return np.tile(quadratic(points), (len(records), 1))

    ground = ground_of(300)
    exact = de_rham(ground.mesh, 3, quadratic, order=2)
    assert np.abs(Quadratic().charges([{}], ground)[0] - exact).max() < 1e-13


def test_records_keep_to_the_ranges_of_the_design():
    edge = mean_edge_length(TASK.mesh(1500))
    records = TASK.samples(0, 0, 300)
    counts = set()
    for r in records:
        counts.add(len(r["widths"]))
        assert r["wave_vectors"].shape == (4, 3) and r["wave_weights"].min() > 0
        assert 1.0 <= r["wave_weights"].sum() <= 3.0
        assert ((r["widths"] >= 0.5) & (r["widths"] <= 1.2)).all() and r["widths"].min() > 1.2 * edge
        assert ((np.abs(r["strengths"]) >= 1) & (np.abs(r["strengths"]) <= 2)).all()
        assert r["shell_width"] > 1.2 * edge
        gaps = np.linalg.norm(r["centres"][:, None] - r["centres"][None], axis=2)[np.triu_indices(len(r["widths"]), 1)]
        assert gaps.min() > 2 * edge
        distance = np.linalg.norm(r["centres"], axis=1)
        assert distance.min() >= INNER and distance.max() <= OUTER
        assert np.trace(r["quadrupole"]) == pytest.approx(0, abs=1e-12)
        assert np.array_equal(r["quadrupole"], r["quadrupole"].T)
    assert counts == set(range(4, 11))
    signs = np.concatenate([np.sign(r["strengths"]) for r in records])
    assert abs(signs.mean()) < 4 / np.sqrt(len(signs))
    dipoles = np.array([r["dipole"] / np.linalg.norm(r["dipole"]) for r in records])
    assert np.linalg.norm(dipoles.mean(axis=0)) < 4 / np.sqrt(len(records))  # no preferred direction
    assert np.abs(dipoles.T @ dipoles / len(records) - np.eye(3) / 3).max() < 0.1


def test_a_sample_depends_on_its_seed_and_number_only():
    together = TASK.samples(7, 0, 5)
    alone = Magnetostatics().sample(7, 3)
    assert alone.keys() == together[3].keys()
    assert all(np.array_equal(alone[k], together[3][k]) for k in alone)
    assert not np.array_equal(TASK.sample(8, 3)["dipole"], alone["dipole"])


# ---- domain and amplitudes -----------------------------------------------------------------------------------------


def test_domain_is_a_ball_with_one_cavity_of_17_to_20_thousand_tets():
    mesh = TASK.mesh()
    radius = np.linalg.norm(mesh.points, axis=1)
    assert radius.max() == pytest.approx(2.0) and radius.min() == pytest.approx(0.4)
    assert np.linalg.norm(mesh.points.mean(axis=0)) < 1e-12
    assert abs(mesh.complex.n(0) - 3000) <= 300 and 17_000 <= mesh.complex.n(3) <= 20_000
    assert Homology(mesh.complex, "absolute").betti("Q") == (1, 0, 1, 0)
    assert mean_ratios(mesh, 3).min() > 0.6


@pytest.mark.full
def test_frozen_amplitudes_are_those_that_calibrate_gives():
    measured = TASK.calibrate(ground_of(3000))
    for name in FROZEN:
        assert getattr(TASK.config, name) == pytest.approx(measured[name], rel=2e-5), name


@pytest.mark.parametrize("n, n_samples", [(1000, 100), pytest.param(3000, 500, marks=pytest.mark.full)])
def test_shares_are_balanced_cross_terms_vanish_and_the_target_has_many_dimensions(n, n_samples):
    """Shares 30 to 70 %; parts ⋆-orthogonal sample by sample; 99 % of the variance needs at least 20 components."""
    ground = ground_of(n)
    real = TASK.realise(TASK.samples(11, 0, n_samples), ground)
    star = ground.dec.star(2)
    local, far = real.parts["local"], real.parts["global"]
    energies = [(part * (star @ part.T).T).sum(axis=1) for part in (local, far)]
    cross = (local * (star @ far.T).T).sum(axis=1)
    assert (np.abs(cross) < 1e-10 * sum(energies)).all()
    share = energies[0].mean() / (energies[0].mean() + energies[1].mean())
    assert 0.4 < share < 0.6
    assert sum(energies).mean() / ground.measure == pytest.approx(1.0, rel=0.25)
    centred = real.target - real.target.mean(axis=0)
    values = np.clip(np.linalg.eigvalsh(centred @ (star @ centred.T))[::-1], 0, None)
    assert np.searchsorted(np.cumsum(values) / values.sum(), 0.99) + 1 >= 20


def test_calibrate_gives_unit_mean_energy_in_the_stated_shares():
    ground = ground_of(300)
    mine = Magnetostatics(local_share=0.35)
    mine = Magnetostatics(local_share=0.35, **mine.calibrate(ground, n_samples=40, seed=9))
    real = mine.realise(mine.samples(9, 0, 40), ground)
    star = ground.dec.star(2)
    for name, share in (("local", 0.35), ("global", 0.65)):
        part = real.parts[name]
        assert (part * (star @ part.T).T).sum() / 40 == pytest.approx(share * ground.measure, rel=1e-9)
    density = real.inputs["charge"] / measures(ground.mesh, 3)
    mean_square = (density**2 * measures(ground.mesh, 3)).sum() / (40 * ground.measure)
    assert mine.config.saturation == pytest.approx(np.sqrt(mean_square))


# ---- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        {"a": 0.0},
        {"b": -1.0},
        {"charge_scale": np.nan},
        {"saturation": np.inf},
        {"blob_distance": 0.0},
        {"local_share": 1.0},
        {"blob_width": (0.0, 1.0)},
        {"wave_number": (3.0, 2.0)},
        {"dipole": (-1.0, 1.0)},
        {"n_blobs": (0, 3)},
        {"blob_strength": (1.0, np.inf)},
        {"n_blobs": (5, 40)},
    ],
)
def test_bad_entries_of_the_config_are_refused(entry):
    with pytest.raises(InputError) as caught:
        Magnetostatics(**entry)
    assert caught.value.kind == "bad_option" and next(iter(entry)) in caught.value.message


def test_unknown_entries_are_refused_by_name():
    with pytest.raises(UnknownNameError, match="blob_widths"):
        task("magnetostatics", blob_widths=(1, 2))


@pytest.mark.parametrize("star, bc", [("unit", "absolute"), ("galerkin", "relative")])
def test_other_stars_and_conditions_are_refused(star, bc):
    with pytest.raises(InputError) as caught:
        TASK.realise(TASK.samples(0, 0, 1), Ground(TASK.mesh(60), star, bc))
    assert caught.value.kind == "bad_ground"


def test_domains_without_cavity_are_refused():
    with pytest.raises(TopologyError) as caught:
        TASK.realise(TASK.samples(0, 0, 1), Ground(gallery("ball", 100)))
    assert caught.value.kind == "no_cavity"
