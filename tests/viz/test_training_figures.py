"""Curves of runs and the picture of a sample being learned: numbers as logged, averages and times as defined."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.viz import build
from hsd.viz.style import DARK, LIGHT
from hsd.viz.task_sample import node_values, task_sample
from hsd.viz.task_scene import Place, slice_place
from hsd.viz.training_figures import Curve, curve_figure, differing, flat, seconds_left, share_done, smoothed
from hsd.viz.training_scene import learning_scene, node_errors, relative_error, round_up


def log(n: int = 5, each: int = 4) -> list[dict]:
    rng = np.random.default_rng(0)
    return [
        {"epoch": i, "step": each * (i + 1), "total_steps": each * n, "train_loss": 1 / (i + 1) + 0.1 * rng.random(),
         "validation": 1.2 / (i + 1) + 0.1 * rng.random(), "best": 0.1, "lr": 1e-2 / (i + 1)}
        for i in range(n)
    ]  # fmt: skip


def steps(n: int = 20, pace: float = 0.5, start: float = 100.0) -> list[dict]:
    return [
        {"step": i + 1, "epoch": i // 4, "steps": 1, "train_loss": 1.0, "lr": 1e-2, "total_steps": 40,
         "time": start + pace * i}
        for i in range(n)
    ]  # fmt: skip


def traces(figure) -> dict:
    return {trace.name: trace for trace in figure.data}


def test_raw_curves_are_the_log_and_bold_ones_its_average():
    entries = log()
    drawn = traces(curve_figure([Curve("a", entries, steps())], 0.7, LIGHT))
    for kind, key, words in (
        ("train", "train_loss", "training loss"),
        ("validation", "validation", "validation error"),
    ):
        values = [e[key] for e in entries]
        assert list(drawn[f"a: {kind}, raw"].y) == values and list(drawn[f"a: {kind}, raw"].x) == [1, 2, 3, 4, 5]
        assert np.allclose(drawn[words].y, smoothed(values, 0.7)) and list(drawn[words].customdata) == values
        assert drawn[words].line.width > 2 * drawn[f"a: {kind}, raw"].line.width
    assert list(drawn["a: learning rate"].y) == [e["lr"] for e in entries]
    assert drawn["a: best"].y[0] == min(e["validation"] for e in entries)
    assert np.allclose(drawn["loss of steps"].x, np.arange(1, 21) / 4)  # 4 steps an epoch


def test_averages_have_no_start_bias_and_weight_zero_changes_nothing():
    x = np.array([3.0, 1.0, 2.0])
    assert np.array_equal(smoothed(x, 0.0), x)
    assert np.allclose(smoothed(np.full(9, 2.5), 0.9), 2.5)
    assert np.allclose(smoothed(x, 0.5), [3, (1.5 + 1) / 1.5, (0.75 + 0.5 + 2) / 1.75])


@pytest.mark.parametrize("log_x, log_y", [(False, False), (True, False), (False, True), (True, True)])
def test_axes_hold_every_point_and_runs_have_their_own_colours(log_x, log_y):
    every = [Curve("a", log(), steps()), Curve("b", log(9)), Curve("new", [], [])]
    figure = curve_figure(every, 0.5, DARK, log_x, log_y)
    assert figure.layout.xaxis.type == ("log" if log_x else "linear")
    assert (figure.layout.yaxis.type == "log") == log_y
    top = 10 ** figure.layout.xaxis.range[1] if log_x else figure.layout.xaxis.range[1]
    assert top >= 9
    colours = {t.line.color for t in figure.data if t.name.endswith("raw") and len(t.x)}
    assert len(colours) == 2


def test_time_left_follows_the_pace_and_pauses_do_not_count():
    assert seconds_left(steps(2)) is None
    assert np.isclose(seconds_left(steps()), 0.5 * 20)
    paused = steps(10) + [{**s, "step": s["step"] + 10} for s in steps(10, start=9000.0)]
    assert np.isclose(seconds_left(paused), 0.5 * 20)
    assert share_done([], steps()) == 0.5 and share_done(log(), []) == 1.0 and share_done([], []) == 0.0
    assert share_done([], [{**steps()[0], "total_steps": None}]) == 0.0


def test_only_entries_that_differ_are_listed():
    a, b = flat({"x": 1, "model": {"layers": 2, "tied": True}}), flat({"x": 1, "model": {"layers": 3}})
    assert differing({"one": a, "two": b}) == {
        "entry": ["model.layers", "model.tied"], "one": ["2", "True"], "two": ["3", "–"]
    }  # fmt: skip
    assert differing({"one": a, "two": dict(a)})["entry"] == []


# ---- the sample ---------------------------------------------------------------------------------------------------


@cache
def sample_of(name: str):
    problem = task(name)
    return task_sample(problem, Ground(problem.mesh(300)), 0, 0)


def place_of(sample) -> Place:
    mesh = sample.ground.mesh
    if mesh.dim == 3:
        return slice_place(mesh)
    surface = build.surface_of(mesh)
    return Place(mesh, surface, build.glyphs_of(mesh, surface, 100))


@pytest.mark.parametrize("name", ["ellipsoid_aerodynamics", "toroidal_transport", "magnetostatics"])
def test_truth_and_prediction_share_a_scale_and_the_error_is_their_distance(name):
    sample = sample_of(name)
    truth = node_values(sample, sample.target)[-1]
    guess = truth + 0.1 * np.abs(truth).max() * np.random.default_rng(0).standard_normal(truth.shape)
    scene = learning_scene(place_of(sample), sample, guess)
    given, right, predicted, error = scene.panels
    assert right.colour.scale == predicted.colour.scale != given.colour.scale
    assert right.colour.limits == predicted.colour.limits
    errors = node_errors(sample, guess)
    assert np.allclose(errors**2, ((guess - truth) ** 2).sum(axis=1))
    assert error.colour.kind == "error" and error.colour.limits == (0.0, round_up(errors.max()))
    drawn = error.colour.mix.columns.values[:, 0]
    assert drawn.max() <= errors.max() + 1e-12


def test_a_perfect_prediction_has_no_error():
    sample = sample_of("ellipsoid_aerodynamics")
    truth = node_values(sample, sample.target)[-1]
    assert relative_error(sample, truth) == 0.0 and np.isclose(relative_error(sample, 1.1 * truth), 0.1)
    assert np.isclose(relative_error(sample, 0 * truth), 1.0)
    scene = learning_scene(place_of(sample), sample, truth)
    assert scene.panels[3].colour.limits == (0.0, 1.0)


def test_scales_end_at_round_numbers():
    assert [round_up(v) for v in (0.3, 0.2, 7.1, 1e-3, 0.0, float("nan"))] == [0.5, 0.2, 10.0, 1e-3, 1.0, 1.0]
