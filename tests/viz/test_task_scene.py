"""Samples as pictures: parts add up, pictures show the node values, cuts interpolate, histories keep what is kept."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground
from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.mesh.primitives import gallery
from hsd.viz import build, task_figures, task_words
from hsd.viz.style import LIGHT, PROJECTOR
from hsd.viz.task_sample import (
    Sample,
    Shown,
    energies,
    field_rows,
    file_sample,
    history,
    hodge_parts,
    mass_size,
    node_values,
    task_sample,
)
from hsd.viz.task_scene import STEP, Place, arrow_columns, picture_of, scene_of, slice_place, steady_columns
from tests.data.datasets import write

MOVING = [name for name in TASKS if task(name).time_dependent]
STEADY = [name for name in TASKS if name not in MOVING]


@cache
def ground_of(name: str) -> Ground:
    return Ground(task(name).mesh(300))


@cache
def sample_of(name: str, seed: int = 3, i: int = 1) -> Sample:
    return task_sample(task(name), ground_of(name), seed, i)


@cache
def place_of(name: str) -> Place:
    mesh = ground_of(name).mesh
    surface = build.surface_of(mesh)
    return Place(mesh, surface, build.glyphs_of(mesh, surface, 80))


def shown_of(sample: Sample) -> Shown:
    return sample.target if sample.states is None else sample.states


@pytest.mark.parametrize("name", STEADY)
def test_parts_of_the_making_add_up_to_the_target(name):
    sample = sample_of(name)
    total = sum(part.values for part in sample.making)
    assert np.abs(total - sample.target.values).max() < 1e-12 * np.abs(sample.target.values).max()


@pytest.mark.parametrize("name", TASKS)
def test_hodge_parts_add_up_are_orthogonal_and_none_is_zero(name):
    sample = sample_of(name)
    whole = shown_of(sample)
    parts = hodge_parts(sample, whole)
    assert np.abs(sum(p.values for p in parts) - whole.values).max() < 1e-9 * np.abs(whole.values).max()
    star = sample.ground.dec.star(whole.degree)
    size = energies(sample, whole)
    for i, p in enumerate(parts):
        assert energies(sample, p).max() > 0
        for q in parts[:i]:
            assert np.abs(np.einsum("tn,nt->t", p.values, star @ q.values.T)).max() < 1e-9 * size.max()


def test_hodge_parts_equal_those_of_the_decomposer_where_nothing_is_known_beforehand():
    from hsd.hodge.decomposition import Decomposer

    ground = Ground(gallery("torus", 200))
    omega = np.random.default_rng(0).normal(size=ground.mesh.complex.n(1))
    shown = Shown("v", "v", 1, "circulation", omega[None])
    sample = Sample(ground, (), shown)
    expected = Decomposer(ground.mesh, 1)(omega)
    parts = {p.name: p.values[0] for p in hodge_parts(sample, shown)}
    assert set(parts) == {"exact", "coexact", "harmonic"}
    for name, values in parts.items():
        assert np.abs(values - getattr(expected, name)).max() < 1e-8 * np.abs(omega).max()


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("split", ["making", "hodge"])
def test_the_scene_shows_the_node_values_of_input_target_and_parts(name, split):
    sample = sample_of(name)
    parts = sample.making if split == "making" else hodge_parts(sample, shown_of(sample))
    scene = scene_of(picture_of(place_of(name), sample, parts), step=4)
    controls = {c.id: c.value for c in scene.controls}
    shown = [*sample.inputs, *([sample.states] if sample.states else []), sample.target, *parts]
    assert len(scene.panels) == len(shown)
    for panel, one in zip(scene.panels, shown):
        mix = panel.colour.mix
        drawn = mix.columns.values @ mix.weights_at(controls)
        at = 4 if len(one.values) > 1 else 0
        nodes = node_values(sample, replace(one, values=one.values[at : at + 1]))[0]
        assert np.abs(drawn.reshape(len(nodes), -1) - nodes.reshape(len(nodes), -1)).max() < 1e-12
        assert panel.alt and panel.colour.kind == ("unsigned" if one.is_vector else "signed")
        assert (panel.arrows is not None) == (one.is_vector or (sample.carrier is not None and one not in parts))
    limits = {p.colour.limits for p in scene.panels if p.colour.scale == "target"}
    assert len(limits) == 1  # one scale for the target, its states and parts


@pytest.mark.parametrize("name", MOVING)
def test_the_player_steps_through_all_snapshots_and_starts_in_the_middle(name):
    sample = sample_of(name)
    scene = scene_of(picture_of(place_of(name), sample))
    (player,) = [c for c in scene.controls if c.id == STEP]
    assert player.maximum == len(sample.times) - 1 and player.value == len(sample.times) // 2
    assert player.play and player.keys and player.report and len(player.labels) == len(sample.times)
    mix = scene.panels[1].colour.mix
    for t in range(len(sample.times)):
        assert np.array_equal(mix.columns.values @ mix.weights_at({STEP: t}), sample.states.values[t])
    top = max(abs(x) for x in scene.panels[1].colour.limits)
    assert top == np.abs(sample.states.values).max()  # fixed while it plays


@pytest.mark.parametrize("name", MOVING)
def test_history_is_that_of_the_cochains_and_mass_stays(name):
    sample = sample_of(name)
    curves, area = history(sample), sample.ground.vertex_measure
    u = sample.states.values
    mass = next(v for k, v in curves.items() if k.startswith("∫"))
    assert np.abs(mass - [float(np.dot(area, x)) for x in u]).max() < 1e-12
    assert np.ptp(mass) < 1e-10 * mass_size(sample)
    square = next(v for k, v in curves.items() if k.startswith(("½∫", "enstrophy")))
    assert np.allclose(square, 0.5 * (area * u**2).sum(axis=1), rtol=1e-12)
    assert (np.diff(square) <= 0).all() and "never growing" in task_figures.change_words(curves, {})
    if name == "vorticity_dynamics":
        stiffness = sample.ground.dec.upper_stiffness(0)
        psi = task(name).flow(sample.ground).stream_function(np.ascontiguousarray(u.T))
        assert np.allclose(curves["energy ½∫|u|²"], 0.5 * np.einsum("nt,nt->t", psi, stiffness @ psi), rtol=1e-10)


@pytest.mark.parametrize("ink", [LIGHT, PROJECTOR])
def test_history_figure_marks_the_step_and_does_not_blow_up_rounding(ink):
    times = np.linspace(0, 2, 6)
    curves = {"∫u": np.full(6, 3.0) + 1e-15 * np.arange(6), "½∫u²": 1.0 - 0.1 * times, "min u": -times, "max u": times}
    figure = task_figures.history_figure(times, curves, 4, ink)
    marks = [t for t in figure.data if t.mode == "markers"]
    assert [(t.x[0], t.y[0]) for t in marks] == [(times[4], y[4]) for y in curves.values()]
    low, high = figure.layout.yaxis.range
    assert low < 2.8 and high > 3.2


# ---- cuts of tets ------------------------------------------------------------------------------------------------


def test_a_cut_interpolates_linear_fields_exactly_and_its_arrows_lie_in_the_plane():
    mesh = ground_of("magnetostatics").mesh
    place = slice_place(mesh, 60)
    points = place.surface.mesh_points
    assert np.abs(points[:, 2]).max() < 1e-12 and len(points) > 50
    nodes = np.stack([mesh.points @ [1.0, -2.0, 0.5], mesh.points[:, 0]])[..., None]  # two times
    columns = steady_columns(place, nodes)
    assert np.abs(columns.values[:, 0] - points @ [1.0, -2.0, 0.5]).max() < 1e-12
    assert np.abs(columns.values[:, 1] - points[:, 0]).max() < 1e-12
    field = np.stack([mesh.points[:, 1], -mesh.points[:, 0], np.ones(len(mesh.points))], axis=1)[None]
    arrows = arrow_columns(place, Shown("B", "B", 2, "flux", np.zeros((1, mesh.complex.n(2)))), field)
    at = place.glyphs.points
    expected = np.stack([at[:, 1], -at[:, 0], 0 * at[:, 0]], axis=1)
    assert np.abs(arrows.values[..., 0] - expected).max() < 1e-12
    area = build.measures(place.drawn, 2).sum()
    assert abs(area - np.pi * (2.0**2 - 0.4**2)) < 0.1 * area


def test_a_scene_of_a_cut_and_of_the_cut_ball():
    sample = sample_of("magnetostatics")
    flat = scene_of(picture_of(slice_place(sample.ground.mesh), sample, sample.making))
    assert all(p.clip is None for p in flat.panels) and flat.panels[1].arrows is not None
    ball = scene_of(picture_of(place_of("magnetostatics"), sample, sample.making), clip=0.3)
    assert all(p.clip.position == "clip" for p in ball.panels)
    assert [c.value for c in ball.controls if c.id == "clip"] == [0.3]


# ---- words and files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_the_record_in_words_has_its_numbers(name):
    sample = sample_of(name)
    text = " ".join(task_words.record_words(name, sample))
    strengths = sample.record["strengths"]
    assert text.startswith(f"{len(strengths)} ")
    if (strengths < 0).any():
        assert f"{(strengths > 0).sum()} positive, {(strengths < 0).sum()} negative" in text
    for key in ("circulations", "velocity"):
        if key in sample.record:
            assert task_words.vector(sample.record[key]) in text
    if name == "torus_helmholtz":
        low, high = task(name).config.n_pairs
        assert low <= int(text.split(" close opposite")[0].split()[-1]) <= high
    assert name in task_words.SOURCES


@pytest.mark.parametrize("name", TASKS)
def test_the_data_table_has_a_row_for_each_field(name):
    sample = sample_of(name)
    fields = (*sample.inputs, sample.target, *sample.making)
    rows = field_rows(sample, fields)
    assert {len(v) for v in rows.values()} == {len(fields)}
    assert rows["of the target's"][len(sample.inputs)] == 1.0


@pytest.mark.parametrize("kind", ["one", "several", "vectors", "steps"])
def test_samples_of_files_have_the_fields_of_the_file(kind, tmp_path):
    data = Dataset(write(tmp_path / "d.npz", kind))
    i = data.n_samples - 1
    mesh = data.meshes[data.mesh_of_sample[i]]
    sample = file_sample(data, Ground(mesh), i)
    length = mesh.complex.n(sample.target.degree)
    assert np.array_equal(sample.target.values[0], np.asarray(data.target[i], float)[:length])
    surface = build.surface_of(mesh)
    place = Place(mesh, surface, build.glyphs_of(mesh, surface, 40))
    parts = hodge_parts(sample, sample.target)
    assert sum(float(energies(sample, p)[0]) for p in parts) == pytest.approx(float(energies(sample, sample.target)[0]))
    scene = scene_of(picture_of(place, sample, parts))
    assert len(scene.panels) == len(data.inputs) + 1 + len(parts) + (kind == "steps")
    with pytest.raises(InputError, match=f"samples 0 to {i}") as error:
        file_sample(data, Ground(mesh), i + 1)
    assert error.value.kind == "no_sample"
