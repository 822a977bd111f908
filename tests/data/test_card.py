"""Task cards: components, dimensions, floors and predictors against cases whose answer is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd import cli
from hsd.data.card import hodge_energies, lowest_columns, principal_components, task_card
from hsd.data.ridge import Features, fit_ridge
from hsd.data.splits import split_codes
from hsd.dec.operators import DEC
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import BLOCK_GAP, HodgeBasis
from hsd.mesh.primitives import gallery

SPACES = [("torus", 150, k) for k in range(3)] + [("ball_with_cavity", 150, k) for k in range(4)] + [("disk", 80, 1)]


@pytest.mark.parametrize(("name", "n", "k"), SPACES)
def test_energies_equal_those_of_the_decomposition(name, n, k):
    solver = HodgeSolver(gallery(name, n))
    forms = np.random.default_rng(0).normal(size=(3, solver.dec.n(k)))
    energies = hodge_energies(solver, k, forms)
    decompose = Decomposer(solver.mesh, k, solver=solver)
    for i, form in enumerate(forms):
        expected = decompose(form).energies
        for part, values in energies.items():
            assert abs(values[i] - expected[part]) < 1e-9 * expected["total"]


@pytest.mark.parametrize(("name", "n", "k"), SPACES)
def test_pure_parts_carry_all_energy_also_where_nothing_is_solved(name, n, k):
    solver = HodgeSolver(gallery(name, n))
    parts = Decomposer(solver.mesh, k, solver=solver)(np.random.default_rng(1).normal(size=solver.dec.n(k)))
    for part in ("exact", "coexact", "harmonic"):
        form = getattr(parts, part)
        total = solver.dec.inner(k, form, form)
        if total > 1e-20 * parts.energies["total"]:
            energies = hodge_energies(solver, k, form[None])
            assert abs(energies[part][0] / total - 1) < 1e-9


@pytest.mark.parametrize("dimension", [1, 3, 10])
@pytest.mark.parametrize("k", [0, 1])
def test_effective_dimension_counts_star_orthonormal_directions_of_equal_variance(dimension, k):
    """d directions of equal variance need all d for 99 % as long as d ≤ 100; the offset does not count."""
    solver = HodgeSolver(gallery("torus", 150))
    basis = HodgeBasis(solver.mesh, k, 8 if k else 0, 16, solver=solver)
    n = 40
    random = np.random.default_rng(0).normal(size=(n, dimension))
    random -= random.mean(axis=0)
    scores = np.linalg.qr(random)[0]
    forms = 5.0 + scores @ basis.modes[:, :dimension].T
    found = principal_components(forms, solver.dec.star(k))
    assert found["effective_dimension"] == dimension
    assert abs(found["participation"] - dimension) < 1e-6


def test_effective_dimension_keeps_99_percent():
    variances = np.array([0.6, 0.3, 0.08, 0.011, 0.009])
    scores = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 6)) - 0)[0]
    scores = np.linalg.qr(np.concatenate([np.ones((50, 1)), scores], axis=1))[0][:, 1:6]  # orthogonal to constants
    star = DEC(gallery("torus", 60)).star(0)
    directions = np.eye(5, star.shape[0]) / np.sqrt(star.diagonal())
    values = (scores * np.sqrt(variances)) @ directions
    assert principal_components(values, star)["effective_dimension"] == 4  # 0.98 with three, 0.991 with four


def test_no_variance_has_dimension_0():
    star = DEC(gallery("torus", 60)).star(0)
    assert principal_components(np.zeros((10, star.shape[0])), star)["effective_dimension"] == 0


@pytest.mark.parametrize("asked", [0, 1, 5, 16, 17, 20])
def test_columns_end_at_a_gap_and_hold_all_harmonic_modes(asked):
    basis = HodgeBasis(gallery("torus", 300), 1, 20, 20)
    columns = lowest_columns(basis, asked)
    assert (basis.part[columns] == "harmonic").sum() == 2
    for part in ("exact", "coexact"):
        own, all_ = columns[basis.part[columns] == part], basis.index(part)
        assert len(own) <= asked // 2 and np.array_equal(own, all_[: len(own)])
        if 0 < len(own) < len(all_):
            low, high = basis.eigenvalues[all_[len(own) - 1 : len(own) + 1]]
            assert high - low > BLOCK_GAP * high


# ---- ridge -------------------------------------------------------------------------------------------------------


def linear_case(n: int, p: int, q: int, noise: float):
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(n, p)), rng.normal(size=(p, q))
    y = x @ w + 2.0 + noise * rng.normal(size=(n, q))
    codes = split_codes(n)
    return x, y, codes == 0, codes == 1, codes == 2


def test_ridge_recovers_a_linear_map():
    x, y, train, validation, test = linear_case(200, 10, 4, 0.0)
    features = Features.of(10, {"x": x}, {}, train)
    ridge = fit_ridge([features], y, (y**2).sum(axis=1), train, validation)
    assert np.abs(ridge.predict(test) - y[test]).max() < 1e-6


def test_ridge_is_the_solution_of_its_normal_equations():
    x, y, train, validation, _ = linear_case(60, 30, 3, 1.0)
    features = Features.of(30, {"x": x[:, :20]}, {"c": x[:, 20:]}, train)
    ridge = fit_ridge([features], y, (y**2).sum(axis=1), train, validation)
    a = features.values[train]
    expected = np.linalg.solve(a.T @ a + ridge.penalty * np.eye(30), a.T @ (y[train] - y[train].mean(axis=0)))
    assert np.allclose(ridge.weights, expected, atol=1e-9)
    assert not ridge.on_edge


def test_ridge_never_reads_the_test_samples():
    x, y, train, validation, test = linear_case(100, 30, 3, 0.5)
    fits = []
    for value in (0.0, 1e6):
        x[test] = y[test] = value
        features = Features.of(30, {"x": x}, {}, train)
        fits.append(fit_ridge([features], y, (y**2).sum(axis=1), train, validation))
    assert np.array_equal(fits[0].weights, fits[1].weights) and fits[0].penalty == fits[1].penalty


def test_validation_prefers_the_features_that_carry_the_map():
    x, y, train, validation, _ = linear_case(300, 12, 3, 0.01)
    few, all_ = Features.of(6, {"x": x[:, :6]}, {}, train), Features.of(12, {"x": x}, {}, train)
    assert fit_ridge([few, all_], y, (y**2).sum(axis=1), train, validation).features is all_
    useless = Features.of(6, {"x": np.random.default_rng(0).normal(size=x.shape)}, {}, train)
    assert fit_ridge([few, useless], y, (y**2).sum(axis=1), train, validation).features is few


# ---- the card ----------------------------------------------------------------------------------------------------


def test_card_of_a_task_whose_answers_are_known(toy):
    """The toy's output is half its input, a combination of the three coordinates and a constant."""
    card = task_card("toy", 200, 300)
    assert card["target"]["effective_dimension"] == 3 and card["inputs"][0]["effective_dimension"] == 3
    assert card["inputs"][1]["effective_dimension"] == 2
    assert card["coefficients"] == {"wind": 2} and card["mesh"]["betti"] == [1, 2, 1]
    assert abs(sum(card["shares"].values()) - 1) < 1e-12 and card["shares"]["exact"] == 0
    assert abs(card["predictors"]["zero"] - 1) < 1e-12
    assert abs(card["predictors"]["identity"] - 1) < 1e-6  # |u − u/2| / |u/2|
    floors = [f["node_error"] for f in card["floor"]]
    assert floors == sorted(floors, reverse=True) and floors[0] < 0.05
    assert card["predictors"]["ridge"] < 1.5 * floors[0] + 1e-3
    assert card["split"] == {"train": 136, "validation": 24, "test": 40}
    assert json.loads(json.dumps(card, allow_nan=False))["task"] == "toy"


def test_floor_of_as_many_modes_as_vertices_is_zero(toy):
    card = task_card("toy", 20, 60)
    assert card["floor"][-1]["star_error"] < 1e-3 and card["floor"][-1]["node_error"] < 1e-6


def test_the_mean_of_a_centred_task_is_as_good_as_zero_and_a_fixed_part_is_caught(toy):
    far = task_card("toy", 200, 60, config={"widths": [100.0, 100.0]})
    assert far["predictors"]["mean"] < 0.02 < far["predictors"]["zero"]


def test_the_command_prints_the_card_as_text_and_as_json(toy, capsys):
    words = ["data", "card", "toy", "--samples", "20", "--nodes", "60"]
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    assert cli.main([*words, "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    for contained in ("Toy (toy)", "Betti numbers [1, 2, 1]", "identity", "ridge", "harmonic", "64"):
        assert contained in text
    for name, error in card["predictors"].items():
        assert any(line.split() == [name, f"{error:.4f}"] for line in text.splitlines())
