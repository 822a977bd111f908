"""Scenes of Model Comparison: quantities, error maps, bands of panels, the wipe, curves."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.viz import build
from hsd.viz import comparison_scene as draw
from hsd.viz.comparison_figures import Curve, parts_figure, rollout_figure
from hsd.viz.headless import render
from hsd.viz.palettes import MODELS
from hsd.viz.still import scalars
from hsd.viz.style import LIGHT
from hsd.viz.task_sample import task_sample
from hsd.viz.task_scene import Place, slice_place


def made(name: str):
    problem = task(name)
    ground = Ground(problem.mesh(300))
    sample = task_sample(problem, ground, 0, 0)
    if ground.mesh.dim == 3:
        return sample, slice_place(ground.mesh)
    surface = build.surface_of(ground.mesh)
    return sample, Place(ground.mesh, surface, build.glyphs_of(ground.mesh, surface, 60))


@pytest.fixture(scope="module")
def vectors():
    return made("ellipsoid_aerodynamics")


def board(sample, place, n: int, quantity: draw.Quantity) -> draw.Board:
    ground, target, truth = sample.ground, sample.target, draw.node_values_of(sample)[None]
    shots = []
    for i in range(n):
        nodes = truth * (1 + 0.1 * (i + 1))
        value = draw.layer(place, ground, target, quantity, nodes)
        error = draw.error_layer(place, ground, target, quantity, nodes, truth)
        shots.append(draw.Shot(f"m{i}", f"model {i}", f"error {i}", value, error))
    one = draw.layer(place, ground, target, quantity, truth)
    return draw.Board(place, quantity, one, "Input", "ζ", False, one, "u", tuple(shots))


@pytest.mark.parametrize("name", draw.QUANTITIES)
def test_an_error_map_is_the_length_of_the_difference_of_the_quantity(vectors, name):
    sample, place = vectors
    truth = draw.node_values_of(sample)
    nodes = truth + np.random.default_rng(0).normal(size=truth.shape)
    quantity = draw.Quantity(name, "y")
    error = draw.error_layer(place, sample.ground, sample.target, quantity, nodes[None], truth[None])
    if name in ("vectors", "magnitude"):
        expected = np.linalg.norm(nodes - truth, axis=1)
    elif name == "component":
        expected = np.abs(nodes[:, 1] - truth[:, 1])
    else:
        dec, ground = sample.ground.dec, sample.ground
        flat = ground.flat_matrix(1, "flux")
        expected = np.abs(dec.weak_codifferential(1) @ (flat @ (nodes - truth).ravel()) / ground.vertex_measure)
    assert np.allclose(error.columns.values[:, 0], expected, rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.parametrize("name", draw.QUANTITIES)
def test_the_relative_error_of_a_quantity_is_that_of_what_is_drawn(vectors, name):
    sample, _ = vectors
    truth, ground = draw.node_values_of(sample), sample.ground
    nodes = truth + np.random.default_rng(0).normal(size=truth.shape)
    quantity = draw.Quantity(name, "y")
    wrong, right = (quantity.values(ground, sample.target, n) for n in (nodes, truth))
    norm = [np.sqrt(np.sum(ground.vertex_measure[:, None] * v**2)) for v in (wrong - right, right)]
    found = draw.relative_error(ground, sample.target, quantity, nodes, truth)
    assert found == pytest.approx(norm[0] / norm[1]) and (name == "vectors" or found > 0)


def test_vorticity_of_node_values_comes_nearer_to_that_of_the_form_on_finer_meshes():
    problem, errors = task("ellipsoid_aerodynamics"), []
    for nodes in (300, 1200):
        ground = Ground(problem.mesh(nodes))
        sample = task_sample(problem, ground, 0, 0)
        shown = draw.Quantity("vorticity").values(ground, sample.target, draw.node_values_of(sample))[:, 0]
        own = ground.dec.weak_codifferential(1) @ sample.target.values[0] / ground.vertex_measure
        errors.append(np.linalg.norm(shown - own) / np.linalg.norm(own))
    assert errors[1] < 0.7 * errors[0] < 0.5


@pytest.mark.parametrize("n", range(10))
def test_every_number_of_models_has_its_prediction_above_its_error(vectors, n):
    sample, place = vectors
    scene = draw.maps_scene(board(sample, place, n, draw.Quantity("vectors")), draw.Drawing())
    across = scene.columns_of_panels
    assert len(scene.panels) == 2 * n + 2
    cells = [scene.cell_of(i) for i in range(len(scene.panels))]
    assert len(set(cells)) == len(cells)
    if n:
        for i in range(n + 1):
            assert cells[i + n + 1] - cells[i] == across  # the cell straight below
        assert across <= draw.BAND


def test_one_scale_for_all_values_and_one_for_all_errors(vectors):
    sample, place = vectors
    scene = draw.maps_scene(board(sample, place, 3, draw.Quantity("vectors")), draw.Drawing())
    limits = {}
    for panel in scene.panels:
        limits.setdefault(panel.colour.scale, set()).add(panel.colour.limits)
    assert set(limits) == {"target", "error", "input"} and all(len(found) == 1 for found in limits.values())
    kinds = {p.colour.kind for p in scene.panels if p.colour.scale == "error"}
    assert kinds == {"error"}


def test_the_error_scale_does_not_go_beyond_the_size_of_the_truth(vectors):
    sample, place = vectors
    one = board(sample, place, 1, draw.Quantity("magnitude"))
    shot = one.shots[0]
    wild = replace(one, shots=(shot, replace(shot, error=replace(shot.error, end=1e9, top=1e9))))
    assert wild.error_end == one.truth.top and wild.error_top == 1e9


@pytest.mark.parametrize("name", ["ellipsoid_aerodynamics", "magnetostatics"])
def test_blink_shows_a_then_b_and_the_wipe_has_a_left_and_b_right_of_one_edge(name):
    sample, place = made(name)
    one = board(sample, place, 2, draw.Quantity("magnitude"))
    a, b = (np.linalg.norm(s.value.columns.values[..., 0], axis=1) for s in one.shots)
    scene = draw.pair_scene(one, *one.shots, draw.Drawing())
    assert {c.id for c in scene.controls} == {"blink", "wipe"}
    for i, expected in enumerate((a, b)):
        assert np.allclose(scalars(scene.panels[1].colour, {"blink": i, "wipe": 0}), expected)
    for left, right in ((2, 3), (6, 7)):
        halves = [scene.panels[i] for i in (left, right)]
        assert [p.half.right for p in halves] == [False, True] and len({p.half.control for p in halves}) == 1
        assert scene.cell_of(left) == scene.cell_of(right)
        assert len({p.colour.limits for p in halves}) == 1 and {p.colour.scale for p in halves} < {"target", "error"}
        for panel, shot in zip(halves, one.shots):
            layer = shot.value if left == 2 else shot.error
            assert panel.colour.mix.columns is layer.columns and panel.title.endswith((shot.title, shot.error_words))


def test_a_sheet_of_the_wipe_is_a_left_of_its_edge_and_b_right_of_it():
    sample, place = made("ellipsoid_aerodynamics")
    one = board(sample, place, 2, draw.Quantity("component"))
    shot = one.shots[0]
    flipped = replace(shot.value, columns=replace(shot.value.columns, values=-shot.value.columns.values))
    scene = draw.pair_scene(one, shot, replace(one.shots[1], value=flipped), draw.Drawing())
    whole = [replace(scene, panels=(replace(scene.panels[i], half=None, title=""),), cells=(0,), columns_of_panels=1)
             for i in (2, 3)]  # fmt: skip
    both = replace(
        scene, panels=tuple(replace(p, title="") for p in scene.panels[2:4]), cells=(0, 0), columns_of_panels=1
    )
    size, at = (300, 200), {"blink": 0, "wipe": 0.4}
    a, b, wiped = (np.asarray(Image.open(io.BytesIO(render(s, size, at)))).astype(int) for s in (*whole, both))
    edge = round(0.4 * (size[0] - 7.5 * 12))
    assert (wiped[:, : edge - 3] == a[:, : edge - 3]).all() and (wiped[:, edge + 3 :] == b[:, edge + 3 :]).all()
    assert (a != b).any()


def test_the_plane_of_a_free_slice_turns_with_its_angles():
    assert np.allclose(draw.plane_normal(0, 90), (0, 0, 1), atol=1e-12)
    assert np.allclose(draw.plane_normal(90, 0), (0, 1, 0), atol=1e-12)
    assert np.isclose(np.linalg.norm(draw.plane_normal(33, -21)), 1)


def test_sources_are_markers_red_where_positive(vectors):
    sample, place = vectors
    found = draw.markers_of(sample.record, place, 1)
    assert [m.id for m in found] == [str(i) for i in range(len(sample.record["strengths"]))]
    red = [m.colour == "#b2182b" for m in found]
    assert red == [bool(s >= 0) for s in sample.record["strengths"]]
    assert found[1].label and not found[0].label


def test_curves_of_models_have_their_colours_and_what_runs_away_leaves_the_strip():
    times = np.arange(4.0)
    truth = Curve("truth", MODELS["truth"], times, {"mass ∫u": np.full(4, 2.0)})
    wild = Curve("HSD", MODELS["hsd"], times, {"mass ∫u": np.array([2.0, 2.5, 100.0, np.nan])})
    figure = rollout_figure(truth, [wild], 2, {}, LIGHT)
    assert figure.data[1].line.color == MODELS["hsd"].colour
    low, high = figure.layout.yaxis.range
    assert low < 2.0 and 2.5 < high < 10
    assert figure.layout.shapes[0].x0 == 2.0


def test_a_drift_from_a_mass_of_zero_is_seen_and_rounding_is_not():
    times, name = np.arange(4.0), "mass ∫ω"
    truth = Curve("truth", MODELS["truth"], times, {name: np.zeros(4)})
    exact = Curve("HSD", MODELS["hsd"], times, {name: 1e-8 * np.array([0.0, 1.0, -1.0, 2.0])})
    drifting = Curve("GNO", MODELS["gno"], times, {name: np.array([0.0, 0.1, 0.2, 0.3])})
    for curves, seen in ([exact], 0.0), ([exact, drifting], 0.3):
        low, high = rollout_figure(truth, curves, 0, {name: 5.0}, LIGHT).layout.yaxis.range
        assert low < -0.1 and seen < high < 1.0


def test_bars_of_hodge_parts_hold_the_numbers():
    rows = {"HSD": {"exact": 0.1, "harmonic": 0.0}, "GNO": {"exact": 0.5, "harmonic": 0.2}}
    figure = parts_figure(rows, LIGHT)
    values = {trace.name: list(trace.customdata) for trace in figure.data}
    assert values == {"exact dα": [0.1, 0.5], "harmonic γ": [0.0, 0.2]}
