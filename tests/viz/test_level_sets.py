"""Level sets on plane cuts of tetrahedra, scenes and curves."""

from __future__ import annotations

import numpy as np

from hsd.metrics.levels import merge_tree
from hsd.viz.level_sets import LEVEL, Leveled, columns_for, layer_of, levels_scene, on_place
from hsd.viz.level_sets_figures import LevelCurve, levels_figure
from hsd.viz.palettes import MODELS
from hsd.viz.style import LIGHT
from hsd.viz.task_scene import slice_place
from tests.meshes import mesh_of


def test_components_on_a_cut_are_those_of_the_volume():
    mesh = mesh_of("ball_with_cavity", 400)
    values = np.random.default_rng(2).standard_normal(mesh.complex.n_vertices)
    tree, place = merge_tree(values, mesh.complex.simplices(1)), slice_place(mesh)
    cut_values, cut_tree = on_place(place, values, tree)
    weights = place.weights.toarray()
    for level in np.quantile(values, (0.3, 0.6, 0.9)):
        inside, labels = tree.labels(values, level), cut_tree.labels(cut_values, level)
        for row in np.flatnonzero(cut_values >= level):
            ends = inside[(weights[row] > 0) & (values >= level)]
            assert set(ends.tolist()) == {labels[row]}  # those of its ends that are in lie in its component
        for triangle in place.drawn.complex.simplices(2):
            assert len(set(labels[triangle][labels[triangle] >= 0].tolist())) <= 1


def test_the_scene_says_beta0_of_every_step_beside_every_title():
    mesh = mesh_of("ball_with_cavity", 200)
    place, rng = slice_place(mesh), np.random.default_rng(0)
    layers = []
    for title in ("Truth", "HSD"):
        values, counts = rng.standard_normal(mesh.complex.n_vertices), rng.integers(1, 9, 11)
        field = Leveled(title, values, merge_tree(values, mesh.complex.simplices(1)), counts)
        layers.append(layer_of(place, field, 0.0, layers[0] if layers else None))
    scene = levels_scene(place, layers, (-1.0, 1.0), "u", 5)
    for panel, one in zip(scene.panels, layers, strict=True):
        assert panel.superlevel.texts == tuple(f"β0 = {c}" for c in one.field.counts)
        assert (panel.superlevel.control, panel.superlevel.low, panel.superlevel.high) == (LEVEL, -1.0, 1.0)
        assert panel.superlevel.n_steps == scene.controls[0].maximum == 10
    assert scene.controls[0].labels[5] == "u ≥ 0"
    assert [columns_for(n) for n in (1, 5, 6, 9, 11)] == [1, 5, 3, 5, 4]


def test_curves_keep_counts_in_their_order_and_mark_the_step():
    percent, truth = np.arange(0.0, 101), np.full(101, 3)
    curves = [LevelCurve("truth", MODELS["truth"], truth, None)]
    curves.append(LevelCurve("HSD", MODELS["hsd"], np.arange(101), np.linspace(1, 0, 101)))
    figure = levels_figure(percent, curves, 50, LIGHT)
    by_name = {trace.name: trace for trace in figure.data}
    assert (np.diff(by_name["HSD"].y) > 0).all() and list(by_name["HSD"].customdata) == list(range(101))
    assert list(by_name["IoU HSD"].y) == np.linspace(1, 0, 101).tolist()
    assert list(by_name["now"].x) == [50.0, 50.0] and "β0 = 50" in by_name["now"].text[1]
