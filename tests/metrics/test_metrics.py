"""Each metric against a small independent version, and what errors of one kind do."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.spectrum import HodgeBasis
from hsd.metrics import COCHAIN_METRICS, METRICS, Pair, Yardstick, metrics_of, score
from hsd.metrics.levels import FRACTIONS
from tests.metrics import oracles
from tests.metrics.cases import CASES, EVERY, cases, each, forms, ground_of, name_of, samples, yardstick_of

# ---- a perfect prediction --------------------------------------------------------------------------------------------


@cases
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_perfect_prediction_scores_exactly_one_or_zero(case, dtype):
    yardstick = yardstick_of(*case).to(dtype=dtype)
    _, truth = samples(yardstick, b=7)
    _, form = forms(yardstick, b=7)
    scores = score(yardstick, truth.clone(), truth, prediction_form=form.clone(), truth_form=form)
    assert set(scores.samples) == set(metrics_of(yardstick, cochains=True))
    for name, values in scores.samples.items():
        assert (values == EVERY[name].best).all(), name


def test_every_metric_is_defined_somewhere_and_worse_than_perfect_for_noise():
    seen = set()
    for case in CASES:
        yardstick = yardstick_of(*case)
        p, g = samples(yardstick)
        q, f = forms(yardstick)
        scores = score(yardstick, p, g, prediction_form=q, truth_form=f)
        for name, values in scores.samples.items():
            best = EVERY[name].best
            assert ((values < 1) if best else (values > 0)).all(), (case, name)
            assert torch.isfinite(values).all() and (values >= 0).all()
        seen |= set(scores.samples)
    assert seen == set(EVERY)
    assert all(metric.formula and metric.title and metric.best in (0.0, 1.0) for metric in EVERY.values())


# ---- against independent versions ------------------------------------------------------------------------------------


@cases
def test_field_and_gradient_metrics_equal_loops_over_simplices(case):
    yardstick = yardstick_of(*case)
    oracle = oracles.Oracle(ground_of(case[0]).mesh)
    p, g = samples(yardstick, b=2)
    scores = score(yardstick, p, g, unit=1.7)
    expected = {
        "mse": partial(oracle.mse, unit=1.7),
        "relative_l2": oracle.relative_l2,
        "gradient_fidelity": oracle.gradient_fidelity,
        "energy_fidelity": oracle.energy_fidelity,
    }
    if not yardstick.is_vector:
        expected["mass_drift"] = lambda u, v: abs(oracle.mass @ (u - v)[:, 0]) / (oracle.mass @ np.abs(v[:, 0]))
    for name, by_hand in expected.items():
        assert each(scores, name) == pytest.approx([by_hand(u, v) for u, v in zip(p.numpy(), g.numpy())], rel=1e-10), (
            name
        )


def test_dirichlet_energies_equal_integrals_of_gradients():
    for case in CASES:
        yardstick, oracle = yardstick_of(*case), oracles.Oracle(ground_of(case[0]).mesh)
        p, g = samples(yardstick, b=1)
        expected = [oracle.energy(u[0].numpy(), v[0].numpy()) for u, v in ((p, p), (g, g), (p, g))]
        assert [float(x) for x in Pair.of_nodes(yardstick, p, g).dirichlet] == pytest.approx(expected, rel=1e-10)


def test_level_sets_equal_counting_and_weighing_by_hand():
    for case in CASES:
        yardstick = yardstick_of(*case)
        oracle = oracles.Oracle(ground_of(case[0]).mesh)
        pair = Pair.of_nodes(yardstick, *samples(yardstick, b=2))
        fields = [(u.numpy(), v.numpy()) for u, v in zip(*pair.level_fields)]
        scores = score(yardstick, pair.nodes_p, pair.nodes_g)
        assert each(scores, "s_beta0") == pytest.approx([oracle.s_beta0(u, v, FRACTIONS) for u, v in fields], rel=1e-12)
        assert each(scores, "iou") == pytest.approx([oracle.iou(u, v, FRACTIONS) for u, v in fields], rel=1e-12)


def test_level_fields_are_the_scalar_the_vorticity_on_surfaces_and_the_length_in_tetrahedra():
    for case in (("torus", 0, "scalar"), ("torus", 2, "density")):
        pair = Pair.of_nodes(yardstick_of(*case), *samples(yardstick_of(*case)))
        assert torch.equal(pair.level_fields[1], pair.nodes_g[..., 0])
    tets = yardstick_of("ball_with_cavity", 2, "flux")
    pair = Pair.of_nodes(tets, *samples(tets))
    assert torch.allclose(pair.level_fields[0], (pair.nodes_p**2).sum(dim=2).sqrt(), rtol=1e-14)


@pytest.mark.parametrize("reading", ["flux", "circulation"])
def test_enstrophy_and_vorticity_on_a_surface_equal_dense_operators(reading):
    """Flux forms: δf with dense ⋆_1; circulation forms: du over the area, averaged around each vertex by area."""
    yardstick, oracle = yardstick_of("torus", 1, reading), oracles.Oracle(ground_of("torus").mesh)
    p, g = samples(yardstick, b=2)
    vorticities = []
    for u in (p, g):
        for vectors in u.numpy():
            if reading == "flux":
                weak = oracle.d(0).T @ oracle.star1() @ oracle.flat_flux(vectors)
                vorticities.append(weak / oracle.mass)
                continue
            density = oracle.d(1) @ oracle.flat_circulation(vectors) * oracle.mesh.orientation / oracle.volume
            total = np.zeros_like(oracle.mass)
            for t, value, area in zip(oracle.simplices[2], density, oracle.volume):
                total[t] += value * area / 3
            vorticities.append(total / oracle.mass)
    pair = Pair.of_nodes(yardstick, p, g)
    assert np.allclose(np.concatenate(pair.vorticities), vorticities, rtol=1e-9, atol=1e-9)
    assert np.allclose(np.concatenate(pair.level_fields), np.abs(vorticities), rtol=1e-9, atol=1e-9)
    enstrophy = [float(oracle.mass @ w**2) for w in vorticities]
    expected = [oracles.fidelity(enstrophy[i], enstrophy[i + 2]) for i in range(2)]
    assert each(score(yardstick, p, g), "enstrophy_fidelity") == pytest.approx(expected, rel=1e-9)


def dense(ground: Ground, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """d_{k−1}, d_k, ⋆_k and the stiffness ⋆Δ as dense matrices (zero columns, rows beyond the ends)."""
    dec, oracle = ground.dec, oracles.Oracle(ground.mesh)
    n_k = ground.mesh.complex.n(k)
    down = oracle.d(k - 1) if k else np.zeros((n_k, 1))
    up = oracle.d(k) if k < dec.dim else np.zeros((1, n_k))
    star = oracle.star1() if (k, dec.dim) == (1, 2) else dec.star(k).toarray()
    stiffness = np.zeros((n_k, n_k))
    if k < dec.dim:
        stiffness += up.T @ dec.star(k + 1).toarray() @ up
    if k:
        weak = star @ down
        stiffness += weak @ np.linalg.solve(dec.star(k - 1).toarray(), weak.T)
    return down, up, star, stiffness


SMALL = (("torus", 0, "scalar"), ("torus", 1, "flux"), ("torus", 1, "circulation"), ("torus", 2, "density"),
         ("ball_with_cavity", 1, "circulation"), ("ball_with_cavity", 2, "flux"))  # fmt: skip


@pytest.mark.parametrize("case", SMALL, ids=name_of)
def test_spectral_fidelity_and_hodge_parts_equal_dense_linear_algebra(case):
    """The yardstick holds all modes up to one eigenvalue, so a dense eigen-solver of Δ_k finds the same."""
    name, degree, reading = case
    ground = ground_of(name, 60)
    down, up, star, stiffness = dense(ground, degree)
    basis = HodgeBasis(ground.mesh, degree, 30 if degree else 0, 30, solver=ground.solver)
    cut = min(basis.following.get(part, np.inf) for part in ("exact", "coexact") if len(basis.index(part)))
    parts = [int((basis.eigenvalues[basis.index(part)] < cut).sum()) for part in ("exact", "coexact")]
    yardstick = Yardstick.of(ground, degree, reading, HodgeBasis(ground.mesh, degree, *parts, solver=ground.solver))
    p, g = samples(yardstick, b=2)
    pair = Pair.of_nodes(yardstick, p, g)
    scores = score(yardstick, p, g)
    rows = list(zip(pair.form_error.numpy(), pair.forms_g.numpy()))
    n, b = len(yardstick.eigenvalues), yardstick.betti
    assert n == sum(parts) >= 20
    expected = [oracles.spectral_fidelity(e, f, stiffness, star, n, b) for e, f in rows]
    assert each(scores, "spectral_fidelity") == pytest.approx(expected, rel=1e-7)
    norms = [oracles.part_norms(e, down, up, star) for e, _ in rows]
    whole = [float(np.sqrt(f @ star @ f)) for _, f in rows]
    for part in yardstick.parts.names:
        assert each(scores, f"{part}_error") == pytest.approx([x[part] / w for x, w in zip(norms, whole)], rel=1e-8)


def test_forms_of_node_vectors_equal_loops_over_edges_and_faces():
    for case, flat in (
        (("torus", 1, "flux"), "flat_flux"),
        (("torus", 1, "circulation"), "flat_circulation"),
        (("ball_with_cavity", 2, "flux"), "flat_flux"),
    ):
        yardstick, oracle = yardstick_of(*case), oracles.Oracle(ground_of(case[0]).mesh)
        pair = Pair.of_nodes(yardstick, *samples(yardstick, b=2))
        for vectors, form in zip(pair.nodes_g.numpy(), pair.forms_g.numpy()):
            assert np.allclose(form, getattr(oracle, flat)(vectors), rtol=1e-12, atol=1e-13)


def test_source_residual_equals_fluxes_out_of_each_tetrahedron():
    yardstick, oracle = yardstick_of("ball_with_cavity", 2, "flux"), oracles.Oracle(ground_of("ball_with_cavity").mesh)
    p, g = samples(yardstick, b=2)
    d = oracle.d(2)
    expected = []
    for u, v in zip(p.numpy(), g.numpy()):
        source_p, source = d @ oracle.flat_flux(u), d @ oracle.flat_flux(v)
        expected.append(np.sqrt(((source_p - source) ** 2 / oracle.volume).sum() / (source**2 / oracle.volume).sum()))
    assert each(score(yardstick, p, g), "divergence_residual") == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("case", [c for c in CASES if c[2] in ("flux", "circulation")], ids=name_of)
def test_drifts_equal_sums_over_cycles_and_projections(case):
    yardstick, ground = yardstick_of(*case), ground_of(case[0])
    q, f = forms(yardstick, b=2)
    scores = score(yardstick, prediction_form=q, truth_form=f)
    if yardstick.betti == 0:
        assert "cochain_flux_drift" not in scores.samples and "harmonic_drift" not in scores.samples
        return
    cycles = np.asarray(ground.solver.homology.cycles(case[1]))
    decomposer = Decomposer(ground.mesh, case[1], solver=ground.solver)
    flux, harmonic = [], []
    for a, b in zip(q.numpy(), f.numpy()):
        flux.append(sum(abs(z @ a - z @ b) for z in cycles.T) / sum(np.abs(z) @ np.abs(b) for z in cycles.T))
        h_p, h_g = (decomposer(x).harmonic_coefficients for x in (a, b))
        harmonic.append(np.linalg.norm(h_p - h_g) / np.linalg.norm(h_g))
    assert each(scores, "cochain_flux_drift") == pytest.approx(flux, rel=1e-9)
    assert each(scores, "cochain_harmonic_drift") == pytest.approx(harmonic, rel=1e-9)


@cases
def test_squared_errors_of_the_hodge_parts_sum_to_the_squared_relative_error(case):
    yardstick = yardstick_of(*case)
    q, f = forms(yardstick)
    pair = Pair.of_forms(yardstick, q, f)
    total = sum(pair.error_energies.values()) / (f * torch.sparse.mm(yardstick.star, f.T).T).sum(dim=1)
    assert torch.allclose(total, COCHAIN_METRICS["cochain_relative_l2"].function(pair) ** 2, rtol=1e-9)


# ---- what an error of one kind does ----------------------------------------------------------------------------------


@cases
def test_an_error_inside_one_part_is_seen_in_that_part_alone(case):
    name, degree, _ = case
    yardstick, ground = yardstick_of(*case), ground_of(name)
    _, f = forms(yardstick)
    noise = np.random.default_rng(5).standard_normal((yardstick.n_simplices, len(f)))
    parts = dict(
        zip(("exact", "coexact", "harmonic"), Decomposer(ground.mesh, degree, solver=ground.solver).parts(noise))
    )
    for part in yardstick.parts.names:
        q = f + torch.from_numpy(parts[part].T)
        pair = Pair.of_forms(yardstick, q, f)
        energies = {other: energy.sqrt() for other, energy in pair.error_energies.items()}
        size = energies[part]
        assert all((energy <= 1e-9 * size).all() for other, energy in energies.items() if other != part)
        scores = score(yardstick, prediction_form=q, truth_form=f)
        if yardstick.is_vector and yardstick.betti and part != "harmonic":
            assert (scores.samples.get("cochain_harmonic_drift", torch.zeros(1)) <= 1e-8).all()
        if yardstick.is_vector and yardstick.betti and part == "exact":
            assert (scores.samples["cochain_flux_drift"] <= 1e-12).all()  # closed loops see no exact form
        if case == ("ball_with_cavity", 2, "flux"):
            residual = scores.samples["cochain_divergence_residual"]
            assert (residual > 0.1).all() if part == "coexact" else (residual <= 1e-9).all()


def test_mass_drift_ignores_errors_without_mass():
    yardstick = yardstick_of("torus", 0, "scalar")
    p, g = samples(yardstick)
    mass = yardstick.vertex_measure
    error = (p - g)[..., 0]
    free = error - (error @ mass / mass.sum())[:, None]
    assert (score(yardstick, g[..., 0] + free, g).samples["mass_drift"] <= 1e-14).all()
    drift = score(yardstick, g + 0.25, g).samples["mass_drift"]
    assert torch.allclose(drift, 0.25 * mass.sum() / (g[..., 0].abs() @ mass), rtol=1e-12)


@cases
def test_errors_grow_with_the_error_in_the_stated_way(case):
    """Twice the error: errors and drifts double, the MSE is four times as large, the spectral fidelity is squared."""
    yardstick = yardstick_of(*case)
    p, g = samples(yardstick)
    one, two = score(yardstick, p, g).samples, score(yardstick, g + 2 * (p - g), g).samples
    for name in one:
        if name == "mse":
            assert torch.allclose(two[name], 4 * one[name], rtol=1e-12)
        elif METRICS[name].best == 0:
            assert torch.allclose(two[name], 2 * one[name], rtol=1e-7), name
    assert torch.allclose(two["spectral_fidelity"], one["spectral_fidelity"] ** 2, rtol=1e-10)
    assert (two["gradient_fidelity"] < one["gradient_fidelity"]).all()
    assert (two["iou"] < one["iou"]).all()


def test_closed_forms_of_scaled_and_opposite_predictions():
    """p = s g: energies differ by s²; p = −g: gradients are opposite; both for every reading."""
    for case in CASES:
        yardstick = yardstick_of(*case)
        _, g = samples(yardstick)
        half, opposite = score(yardstick, g / 2, g).samples, score(yardstick, -g, g).samples
        fidelity = 1 / (1 + np.log(4))
        for name in {"energy_fidelity", "enstrophy_fidelity"} & set(half):
            assert torch.allclose(half[name], torch.full_like(half[name], fidelity), rtol=1e-12)
            assert torch.allclose(opposite[name], torch.ones_like(half[name]), rtol=1e-14)
        assert torch.allclose(half["gradient_fidelity"], torch.ones_like(half["mse"]), rtol=1e-12)
        assert (opposite["gradient_fidelity"] <= 1e-12).all()
        assert torch.allclose(half["relative_l2"], torch.full_like(half["mse"], 0.5), rtol=1e-14)
        assert torch.allclose(half["spectral_fidelity"], torch.full_like(half["mse"], np.exp(-1.0)), rtol=1e-12)


def test_the_harmonic_drift_of_a_truth_whose_harmonic_part_is_rounding_is_that_of_a_truth_without_one():
    case = ("torus", 1, "circulation")
    yardstick, ground = yardstick_of(*case), ground_of(case[0])
    u = np.random.default_rng(3).standard_normal((2, ground.mesh.complex.n(0)))
    f = torch.from_numpy(np.float32(u @ ground.dec.d(0).T).astype(float))  # exact, but for single precision
    h = torch.from_numpy(ground.solver.harmonic(1).orthonormal[:, :1].T)
    drift = score(yardstick, prediction_form=torch.stack([f[0], f[1] + h[0]]), truth_form=f)
    assert each(drift, "cochain_harmonic_drift") == [0.0, float("inf")]
