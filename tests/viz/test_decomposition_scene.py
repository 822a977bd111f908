"""Scenes and plots of decompositions: what the page blends is what the library computes."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.hodge.checks import zero_checks
from hsd.hodge.compose import Composer, length_of
from hsd.hodge.decomposition import PARTS, Decomposer
from hsd.hodge.heat import HeatFlow
from hsd.hodge.presets import preset
from hsd.hodge.singularities import singularities
from hsd.hodge.solver import HodgeSolver
from hsd.viz import build
from hsd.viz import decomposition_scene as scenes
from hsd.viz.decomposition_figures import energy_bar, heat_figure
from hsd.viz.palettes import PARTS as LOOKS
from hsd.viz.scene import Tool
from hsd.viz.style import DARK, LIGHT
from tests.meshes import mesh_of


def _all(name, k=1, n=200, bc="absolute"):
    mesh = mesh_of(name, n)
    solver = HodgeSolver(mesh, bc=bc)
    composition = preset("mixture", mesh, k, solver.betti[k])
    omega = Composer(solver).form(composition)
    surface = build.surface_of(mesh)
    return mesh, solver, composition, omega, Decomposer(mesh, k, solver=solver)(omega), surface


CASES = [("double_torus", 1), ("annulus", 1), ("torus", 0), ("sphere", 2), ("solid_torus", 2)]


@pytest.mark.parametrize("name,k", CASES)
def test_the_first_panel_is_the_weighted_sum_of_the_other_three(name, k):
    mesh, _, composition, _, parts, surface = _all(name, k)
    picture = scenes.parts_picture(mesh, parts, build.glyphs_of(mesh, surface, 50))
    weights = dict.fromkeys(PARTS, 1.0)
    scene = scenes.parts_scene(
        picture, surface, weights, energies=parts.energies, markers=scenes.markers_of(composition), tool=Tool("place")
    )
    values = {"w_d": 0.3, "w_δ": -1.2, "w_γ": 2.0}
    shown = [p.colour.mix.columns.values @ p.colour.mix.weights_at(values) for p in scene.panels]
    np.testing.assert_allclose(shown[0], sum(shown[1:]), atol=1e-12)
    for part, weight, panel in zip(PARTS, values.values(), shown[1:]):
        expected = build.form_columns(mesh, k, getattr(parts, part)[:, None]).values[..., 0]
        np.testing.assert_allclose(panel, weight * expected, atol=1e-9)
    assert {m.id for m in scene.panels[0].markers} == {p.id for p in composition.points}


def test_a_part_of_rounding_alone_is_drawn_as_zero():
    mesh, _, _, _, parts, surface = _all("sphere")
    picture = scenes.parts_picture(mesh, parts, None)
    scene = scenes.parts_scene(picture, surface, dict.fromkeys(PARTS, 1.0), energies=parts.energies)
    gamma = scene.panels[3].colour.mix
    assert (gamma.columns.values @ gamma.weights_at({"w_d": 1, "w_δ": 1, "w_γ": 1}) == 0).all()


@pytest.mark.parametrize("name,k,n_panels", [("torus", 1, 2), ("torus", 0, 1), ("torus", 2, 1), ("solid_torus", 1, 2)])
def test_potentials_are_drawn_where_there_are_any(name, k, n_panels):
    mesh, _, _, _, parts, surface = _all(name, k)
    scene, notes = scenes.potentials_scene(mesh, surface, parts, None)
    assert len(scene.panels) == n_panels and len(notes) == 2 - n_panels
    assert any(p.isolines is not None for p in scene.panels) == (k == 1)


def test_a_two_form_without_orientation_is_named_not_drawn():
    mesh, _, _, _, parts, surface = _all("moebius")
    scene, notes = scenes.potentials_scene(mesh, surface, parts, None)
    assert len(scene.panels) == 1 and "cannot be oriented" in notes[0]


def test_the_heat_slider_holds_the_flow_at_its_times():
    mesh, solver, _, _, parts, surface = _all("torus")
    times = scenes.heat_times(length_of(solver) ** 2, 7)
    flow = HeatFlow(solver, parts, *(t * length_of(solver) ** 2 for t in scenes.HEAT_RANGE))
    picture = scenes.heat_picture(mesh, flow, times, None, length_of(solver) ** 2)
    scene = scenes.heat_scene(picture, surface, 0)
    for step, t in enumerate(times):
        mix = scene.panels[0].colour.mix
        shown = mix.columns.values @ mix.weights_at({"t": step})
        np.testing.assert_allclose(shown, build.form_columns(mesh, 1, flow.field(t)[:, None]).values[..., 0], atol=1e-9)
    end = scene.panels[1].colour.mix
    expected = build.form_columns(mesh, 1, parts.harmonic[:, None]).values[..., 0]
    np.testing.assert_allclose(end.columns.values @ end.weights_at({"t": 0}), expected, atol=1e-12)
    assert times[0] == 0 and (np.diff(np.log(times[1:])) > 0).all()


def test_zeros_are_dots_in_their_triangles():
    mesh, _, _, omega, parts, surface = _all("double_torus")
    found = {"ω": singularities(mesh, omega)}
    scene = scenes.zeros_scene(scenes.parts_picture(mesh, parts, None), surface, found)
    dots = np.concatenate([d.points for d in scene.panels[0].dots])
    middle = mesh.points3[mesh.complex.simplices(2)[found["ω"].face]].mean(axis=1)
    assert len(dots) == len(middle) and {tuple(d) for d in dots} == {tuple(m) for m in middle}


@pytest.mark.parametrize("broken", ["", "wrong star", "flipped sign"])
def test_check_panels_say_what_holds_and_show_where_it_fails(broken):
    mesh, solver, _, omega, parts, surface = _all("double_torus")
    checks = zero_checks(solver, parts, omega, broken)
    scene = scenes.checks_scene(mesh, surface, checks, 1)
    for panel, check in zip(scene.panels, checks.checks):
        assert ("✓" in panel.title) == check.holds
        assert (panel.colour.mix.columns.values.max() > 1e-6) == (not check.holds)
    assert bool(scene.panels[0].segments) == (broken == "flipped sign")


def test_every_vertex_gets_the_largest_value_around_it():
    mesh = mesh_of("sphere", 60)
    values = np.arange(mesh.complex.n(2), dtype=float)
    out = scenes.vertex_maximum(mesh, 2, values)
    for v in range(0, mesh.complex.n_vertices, 7):
        assert out[v] == values[(mesh.complex.simplices(2) == v).any(axis=1)].max()


@pytest.mark.parametrize("ink", [LIGHT, DARK])
def test_the_energy_bar_has_fixed_colours_and_patterns_and_adds_up(ink):
    *_, parts, _ = _all("double_torus")
    figure = energy_bar(parts.energies, ink)
    assert sum(bar.x[0] for bar in figure.data) == pytest.approx(1.0, abs=1e-12)
    for bar, part in zip(figure.data, PARTS):
        assert bar.marker.color == LOOKS[part].colour and bar.marker.pattern.shape == LOOKS[part].pattern


def test_the_heat_plot_keeps_gamma_level_and_draws_rates():
    _, solver, _, _, parts, _ = _all("torus")
    flow = HeatFlow(solver, parts, 1e-4, 10.0)
    times = np.geomspace(1e-4, 10, 9)
    figure = heat_figure(times, flow.energies(times), 0.1, {"exact": flow.rates.exact}, LIGHT, 1.0)
    named = {trace.name: trace for trace in figure.data}
    assert len(set(named[LOOKS["harmonic"].name].y)) == 1
    assert sum(name.startswith("e^(−2λt)") for name in named) == 1


@pytest.mark.parametrize("name,bc,kind", [("double_torus", "absolute", "Tube"), ("annulus", "relative", "Segments")])
def test_a_chosen_loop_is_drawn(name, bc, kind):
    mesh, solver, *_, surface = _all(name, bc=bc)
    layers = scenes.loop_layers(mesh, surface, 1, solver.homology.cycles(1)[:, 0], bc == "absolute", 0)
    assert layers and all(type(layer).__name__ == kind for layer in layers)
