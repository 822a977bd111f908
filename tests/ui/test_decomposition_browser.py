"""The page on Hodge decompositions in a real browser: placing, dragging, weights, dials, picked values."""

from __future__ import annotations

import json
import os
import re
import signal

import numpy as np
import pytest

import hsd
from hsd.hodge.compose import Composer
from hsd.hodge.presets import preset
from hsd.viz.build import form_columns

PAGE = "hodge_decomposition?"
SHARE = re.compile(r"exact\s([\d.e-]+)\s%, coexact\s([\d.e-]+)\s%, harmonic\s([\d.e-]+)\s%")


def shares(app) -> list[float]:
    """Exact, coexact and harmonic share in per cent, as the page says them."""
    found = SHARE.search(app.page.get_by_text("Pythagoras: |").first.inner_text())
    return [float(x) for x in found.groups()]


def place(app, x: float, y: float) -> None:
    app.page.mouse.click(*app.at(x, y))
    app.settle()


def slide(app, value: float, control: int) -> None:
    app.page.locator(".hsd-viewer input[type=range]").nth(control).evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }", value
    )


@pytest.mark.parametrize("mesh", [pytest.param("sphere", marks=pytest.mark.full), "torus"])
def test_a_placed_vortex_entered_as_node_vectors_is_coexact(app, mesh):
    app.open(f"{PAGE}mesh={mesh}&n=3000&preset=empty&tool=vortex&entry=vectors&width=0.2")
    place(app, 0.12, 0.28)
    app.page.get_by_text("Composed of 1 point").first.wait_for()
    app.settle()  # the numbers follow the picture
    exact, coexact, harmonic = shares(app)
    assert coexact > 99.0 and exact < 1.0 and harmonic < 1.0
    assert "field=" in app.page.url
    before = shares(app), app.cameras()
    app.page.reload()
    app.ready()
    assert shares(app) == before[0]


@pytest.mark.full
def test_points_are_dragged_and_deleted(app):
    app.open(f"{PAGE}mesh=sphere&n=1500&preset=empty&tool=source")
    place(app, 0.17, 0.22)
    first = app.page.url
    app.drag(app.at(0.17, 0.22), app.at(0.22, 0.26))
    app.page.wait_for_function("(old) => location.href !== old", arg=first)
    assert app.page.get_by_text("Composed of 1 point").first.is_visible()  # moved, not added
    assert shares(app)[0] > 99.9
    app.page.mouse.click(*app.at(0.22, 0.26))  # selects
    app.page.wait_for_timeout(100)
    app.page.keyboard.press("Delete")
    app.page.get_by_text("Composed of 0 points").first.wait_for()


def test_weights_blend_without_a_message_and_a_pick_reads_float64(app):
    app.open(f"{PAGE}mesh=torus&n=1500")
    frames, sent = app.frames(), app.sent
    for weight in (0.0, 0.5, -1.0, 0.25):
        slide(app, weight, 0)
        app.page.wait_for_timeout(60)
    app.settle()
    assert app.sent == sent and app.frames() > frames
    app.page.mouse.click(*app.at(0.12, 0.27))
    app.page.wait_for_function("() => Object.values(__hsd.views)[0].scene.readout")
    app.settle()
    mesh = hsd.gallery("torus", 1500)
    solver = hsd.HodgeSolver(mesh)
    parts = hsd.Decomposer(mesh, 1, solver=solver)(Composer(solver).form(preset("mixture", mesh, 1, 2)))
    columns = form_columns(mesh, 1, np.column_stack([parts.exact, parts.coexact, parts.harmonic])).values
    face, bary, texts = app.js("[v.scene.readout.label, v.scene.readout.drawn_bary, v.scene.readout.texts]")
    corners = mesh.oriented_cells()[int(face)]
    lengths = np.linalg.norm(columns[corners] @ np.array([0.25, 1.0, 1.0]), axis=1)
    assert abs(float(texts[0].split()[0]) - np.asarray(bary) @ lengths) < 1e-9 * lengths.max()
    app.page.wait_for_function("() => location.href.includes('wd=0.25')")


@pytest.mark.full
def test_a_dial_of_the_double_torus_is_read_back(app):
    app.open(f"{PAGE}mesh=double_torus&n=600&preset=dipole")
    app.page.get_by_text("Harmonic directions").click()
    dial = app.page.get_by_role("slider", name="Circulation 3")
    dial.focus()
    for _ in range(5):
        dial.press("ArrowRight")
        app.settle()
    app.page.get_by_text("∮ γ = (0, 0, 0.25, 0)").wait_for()
    assert re.search(r"field=[0-9a-f]{32}", app.page.url)
    box = app.page.get_by_test_id("stDataFrame").first.bounding_box()
    app.page.mouse.click(box["x"] + 16, box["y"] + 38 + 36 + 18)  # the second row's tick
    app.page.wait_for_function("() => location.href.includes('loop=1')")
    app.settle()
    assert app.js("v.scene.panels.every((p) => p.tubes.length > 0)")
    app.page.get_by_role("button", name="Hide the loop").click()
    app.settle()
    assert app.js("v.scene.panels.every((p) => !p.tubes || p.tubes.length === 0)")


@pytest.mark.parametrize(
    "mesh,absolute,relative",
    [
        ("annulus", "1, 1, 0", "0, 1, 1"),
        pytest.param("disk", "1, 0, 0", "0, 0, 1", marks=pytest.mark.full),
    ],
)
def test_the_switch_shows_both_betti_numbers(app, mesh, absolute, relative):
    app.open(f"{PAGE}mesh={mesh}&n=500")
    for words in (f"absolute b(M) = ({absolute})", f"relative b(M, ∂M) = ({relative})"):
        assert app.page.get_by_text(words).first.is_visible()
    app.page.get_by_text("relative", exact=True).first.click()
    app.settle()
    strong = app.page.locator("strong", has_text="relative b(M, ∂M)")
    strong.wait_for()
    assert f"({relative})" in strong.inner_text()


@pytest.mark.full
def test_in_tets_arrows_stand_on_the_cut_and_titles_stand_clear_of_the_shape(app):
    app.open(f"{PAGE}mesh=ball_with_cavity&n=800&k=1&preset=random")
    assert app.js("v.panels[0].drawing.parts.get('arrows').glyphs.onCut") is True
    assert app.js("v.panels[0].drawing.parts.get('arrows').glyphs.owner.length") > 60
    tall = "v.overlay.cells.map((c, i) => v.boxes[i].y - c.data.box.y - c.cell.querySelector('.title').offsetHeight)"
    assert min(app.js(tall)) > 0
    shown = app.js("v.panels[0].markers().length")
    assert 0 < shown <= app.js("v.panels[0].spec.markers.length")
    slide(app, 0.0, 3)  # all cut away
    app.settle()
    assert app.js("v.panels[0].markers().length") == 0


@pytest.mark.full
def test_a_large_field_is_asked_for_found_after_a_reload_and_its_death_is_told(app, tmp_path_factory):
    """The worker is killed as a machine out of memory would: the page says so, and it may be started again."""
    app.page.goto(f"{app.address}/{PAGE}mesh=ball&n=9000&k=1")
    app.page.get_by_text("takes about").wait_for(timeout=30_000)
    app.page.get_by_role("button", name="Compute", exact=True).click()
    app.page.get_by_role("button", name="Cancel", exact=True).wait_for()
    app.page.reload()
    app.page.get_by_role("button", name="Cancel", exact=True).wait_for(timeout=20_000)
    records = [json.loads(p.read_text()) for p in tmp_path_factory.getbasetemp().glob("app*/cache/jobs/*/job.json")]
    os.kill(max(records, key=lambda r: r["start"])["pid"], signal.SIGKILL)
    app.page.get_by_text("The computation was interrupted before it was done").wait_for()
    app.page.get_by_role("button", name="Compute", exact=True).wait_for()
    assert not app.page.get_by_text("Pythagoras").count()


@pytest.mark.full
def test_zeros_of_the_klein_bottle_sum_to_its_euler_characteristic(app):
    app.open(f"{PAGE}mesh=klein&n=600&show=zeros")
    assert app.js("v.scene.panels.map((p) => p.title).every((t) => t.includes('Σ index = 0'))")
    labels = app.js("v.scene.panels.flatMap((p) => p.dots.map((d) => d.label))")
    assert set(labels) <= {"source", "sink", "vortex", "saddle"} and "saddle" in labels
