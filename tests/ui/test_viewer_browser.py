"""The viewer in a real browser with every outside host blocked (the fixture asserts that none was even asked for)."""

from __future__ import annotations

import ast
import base64
import io

import numpy as np
import pytest

import hsd
from hsd.ui.viewer.readout import value_at
from hsd.viz import build
from hsd.viz.scene import Colour
from tests.ui.conftest import CHROMIUM


def _pixels(png: bytes) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def _colours(pixels: np.ndarray) -> int:
    flat = (pixels.reshape(-1, 3) >> 4) @ [256, 16, 1]
    return int((np.bincount(flat) > pixels.shape[0] * pixels.shape[1] / 2000).sum())


def _differs(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.abs(a - b).max(axis=-1) > 12).mean())


def _shot(viewer) -> np.ndarray:
    return _pixels(viewer.page.locator(".stage").screenshot())


def _slide(viewer, value: float, control: int = 0) -> None:
    """Move a slider of the page as a user does (input events, then release)."""
    slider = viewer.page.locator(".hsd-viewer input[type=range]").nth(control)
    slider.evaluate(
        "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }", value
    )


def test_picture_is_not_empty_and_has_the_colours_of_its_map(viewer):
    viewer.open()
    pixels = _shot(viewer)
    assert _colours(pixels) > 20
    red, blue = (pixels[..., 0] - pixels[..., 2]), (pixels[..., 2] - pixels[..., 0])
    assert (red > 60).mean() > 0.02 and (blue > 60).mean() > 0.02  # both signs of the diverging map
    assert viewer.page.locator(".hsd-viewer [role=img]").get_attribute("aria-label").startswith("Mode of")
    assert viewer.page.locator(".bar .tick").count() >= 3


def test_camera_is_kept_over_every_control(viewer):
    viewer.open()
    viewer.drag(viewer.at(0.4, 0.5), viewer.at(0.55, 0.35))
    before = viewer.cameras()
    page = viewer.page
    steps = [
        lambda: _slide(viewer, 6),
        lambda: page.get_by_text("Edges", exact=True).click(),
        lambda: page.get_by_text("Isolines", exact=True).click(),
        lambda: page.get_by_text("dark", exact=True).click(),
        lambda: page.get_by_text("projector", exact=True).click(),
        lambda: page.get_by_role("slider", name="Server mode").press("ArrowRight"),
        lambda: page.get_by_text("Two views", exact=True).click(),
        lambda: page.get_by_label("Notes").fill("hello"),
        lambda: page.get_by_label("Notes").press("Enter"),
        lambda: page.set_viewport_size({"width": 1000, "height": 800}),
    ]
    for step in steps:
        step()
        viewer.settle()
        assert viewer.cameras() == before
    assert viewer.js("v.memory.pristine") is False


@pytest.mark.full
def test_camera_and_mode_come_back_after_a_page_change(viewer):
    viewer.open()
    viewer.drag(viewer.at(0.4, 0.5), viewer.at(0.5, 0.3))
    _slide(viewer, 7)
    viewer.settle()
    before, contexts = viewer.cameras(), viewer.frames()
    viewer.page.get_by_role("link", name="Field").click()
    viewer.page.get_by_text("step 0").wait_for()
    viewer.settle()
    assert viewer.page.evaluate("Object.keys(__hsd.views)") == ["field"]  # the other view was destroyed
    viewer.page.get_by_role("link", name="Modes").click()
    viewer.page.get_by_label("Notes").wait_for()
    viewer.settle()
    assert viewer.cameras() == before and viewer.frames() > contexts
    assert viewer.js("v.memory.controls.mode") == 7


def test_scrubbing_changes_the_picture_and_sends_nothing(viewer):
    viewer.open()
    first, sent, frames = _shot(viewer), viewer.sent, viewer.frames()
    for mode in (1, 4, 9, 2, 11):
        _slide(viewer, mode)
        viewer.page.wait_for_timeout(60)
    viewer.settle()
    assert viewer.sent == sent
    assert viewer.frames() >= frames + 5
    assert _differs(first, _shot(viewer)) > 0.05
    _slide(viewer, 3)
    viewer.settle()
    assert _differs(first, _shot(viewer)) < 0.01  # the same mode gives the same picture
    assert viewer.page.locator(".controls output").inner_text().startswith("3: λ = ")


@pytest.mark.full
def test_weights_blend_in_all_linked_views_without_websocket_traffic(viewer):
    viewer.open("blend?n=1500")
    sent, before = viewer.sent, _shot(viewer)
    height, width = before.shape[:2]
    _slide(viewer, 0, control=2)  # the harmonic weight
    viewer.settle()
    after = _shot(viewer)
    assert viewer.sent == sent
    left_top = (slice(0, height // 2), slice(0, int(width * 0.42)))
    right_bottom = (slice(height // 2, height), slice(int(width * 0.45), int(width * 0.85)))
    right_top = (slice(0, height // 2), slice(int(width * 0.45), int(width * 0.85)))
    assert _differs(before[left_top], after[left_top]) > 0.03
    assert _differs(before[right_bottom], after[right_bottom]) > 0.03
    assert _differs(before[right_top], after[right_top]) < 0.003  # the exact part has another weight
    assert viewer.js("v.panels[3].values.every(x => x === 0)")


def test_linked_views_share_one_camera_and_unlink(viewer):
    viewer.open("blend?n=1500")
    viewer.drag(viewer.at(0.2, 0.3), viewer.at(0.3, 0.35))
    assert len(viewer.cameras()) == 1
    viewer.page.locator(".stage").hover()
    viewer.page.get_by_role("button", name="Link the cameras").click()
    viewer.settle()
    before = viewer.cameras()
    assert len(before) == 4 and before[0] == before[3]
    viewer.drag(viewer.at(0.2, 0.3), viewer.at(0.1, 0.35))
    after = viewer.cameras()
    assert after[0] != before[0] and after[1:] == before[1:]
    assert viewer.page.locator(".stage canvas").count() == 2  # one for all views, one colour bar


@pytest.mark.full
def test_a_picked_value_is_approximate_first_and_then_the_float64_value(viewer):
    viewer.open("field")
    viewer.page.mouse.click(*viewer.at(0.45, 0.45))
    card = viewer.page.locator(".card b")
    card.wait_for()
    viewer.settle()
    viewer.page.wait_for_timeout(300)
    exact = card.inner_text()
    assert exact.endswith(" m") and not exact.startswith("≈")
    pick = viewer.js("({face: v.overlay.picked.face, bary: v.overlay.picked.bary, label: v.overlay.picked.label})")
    mesh = hsd.gallery("sphere", 3000)
    p = mesh.points3
    values = np.sin(3 * p[:, 0]) * np.cos(2 * p[:, 1])
    drawn = mesh.oriented_cells()[int(pick["label"])]
    assert float(exact.split()[0]) == pytest.approx(float(np.dot(pick["bary"], values[drawn])), rel=1e-8)
    quantised = viewer.js("v.panels[0].valueAt(v.overlay.picked.face, v.overlay.picked.bary, v.memory.controls)")
    assert quantised == pytest.approx(float(exact.split()[0]), abs=2 * np.abs(values).max() / 65534 + 1e-6)
    # the server changes the field: the read-out follows, in float64 again
    viewer.page.get_by_role("slider", name="Step").press("ArrowRight")
    viewer.settle()
    values = np.sin(3 * p[:, 0] + 0.3) * np.cos(2 * p[:, 1])
    assert float(card.inner_text().split()[0]) == pytest.approx(float(np.dot(pick["bary"], values[drawn])), rel=1e-8)


@pytest.mark.full
def test_scrubbing_after_a_pick_shows_an_approximate_value_again(viewer):
    viewer.open()
    viewer.page.mouse.click(*viewer.at(0.25, 0.55))
    card = viewer.page.locator(".card b")
    card.wait_for()
    viewer.settle()
    viewer.page.wait_for_timeout(300)
    assert not card.inner_text().startswith("≈")
    _slide(viewer, 8)
    viewer.settle()
    assert card.inner_text().startswith("≈")
    viewer.page.mouse.click(*viewer.at(0.02, 0.9))  # beside the surface: dismissed
    viewer.settle()
    assert viewer.page.locator(".card").count() == 0


def test_a_pick_names_the_triangle_that_numpy_finds(viewer):
    viewer.open()
    for x, y in ((0.25, 0.55), (0.5, 0.7), (0.7, 0.55)):
        viewer.page.mouse.click(*viewer.at(x, y))
        viewer.settle()
        text = viewer.page.locator("[data-testid=stCode]").inner_text()
        face, rest = text.split(" ", 1)
        bary, position = ast.literal_eval(rest.replace(") (", "), ("))
        ray = viewer.js(
            "(() => { const p = v.overlay.picked, i = p.panel, c = v.camera(i); return [c.position, p.pos]; })()"
        )
        mesh = hsd.gallery("torus", 3000)
        surface = build.surface_of(mesh)
        origin, target = (np.array(r) / surface.scale + surface.centre for r in ray)
        triangles = mesh.complex.simplices(2)
        a, b, c = (mesh.points3[triangles[:, i]] for i in range(3))
        direction = target - origin
        h = np.cross(direction, c - a)
        det = ((b - a) * h).sum(axis=1)
        s = origin - a
        u = (s * h).sum(axis=1) / det
        q = np.cross(s, b - a)
        w = (q @ direction) / det
        t = ((c - a) * q).sum(axis=1) / det
        inside = (u >= -1e-6) & (w >= -1e-6) & (u + w <= 1 + 1e-6) & (t > 0)
        first = np.flatnonzero(inside)[np.argmin(t[inside])]
        assert int(face) == first
        assert np.allclose(bary, (1 - u[first] - w[first], u[first], w[first]), atol=1e-4)
        assert np.allclose(np.dot(bary, mesh.points3[triangles[first]]), position, atol=1e-9)
        assert np.allclose(position, origin + t[first] * direction, atol=1e-4)


def test_value_at_equals_numpy_for_every_kind_of_source():
    from hsd.ui.viewer.events import Pick

    mesh = hsd.gallery("torus", 500)
    rng = np.random.default_rng(0)
    pick = Pick(0, 17, (0.2, 0.3, 0.5), 0, (0.0, 0.0, 0.0))
    triangle = mesh.complex.simplices(2)[17]
    n, m = mesh.complex.n(0), mesh.complex.n(2)
    scalar, face, vector = (rng.standard_normal(shape) for shape in (n, m, (n, 3)))
    assert value_at(Colour(scalar), pick, triangle) == pytest.approx(np.dot(pick.bary, scalar[triangle]), rel=1e-12)
    assert value_at(Colour(face, where="face"), pick, triangle) == pytest.approx(face[17], rel=1e-12)
    lengths = np.linalg.norm(vector[triangle], axis=1)
    assert value_at(Colour(vector, "unsigned"), pick, triangle) == pytest.approx(np.dot(pick.bary, lengths), rel=1e-12)


def _points(viewer) -> dict:
    return ast.literal_eval(viewer.page.locator("[data-testid=stCode]").inner_text())


def _wait_for_points(viewer, words: str) -> None:
    """The server's answer has come: its list of points holds these words."""
    viewer.page.locator("[data-testid=stCode]").filter(has_text=words).wait_for(timeout=20_000)
    viewer.settle()


def test_points_are_placed_dragged_and_deleted_at_the_right_face(viewer):
    viewer.open("place")
    mesh = hsd.gallery("sphere", 1500)
    surface = build.surface_of(mesh)
    camera = viewer.cameras()
    viewer.page.mouse.click(*viewer.at(0.5, 0.5))
    _wait_for_points(viewer, "'p1'")

    def check(name: str, x: float, y: float) -> None:
        kind, face, bary = _points(viewer)[name]
        assert kind == "vortex" and sum(bary) == pytest.approx(1.0, abs=1e-9) and min(bary) >= 0
        position = np.dot(bary, surface.mesh_points[mesh.complex.simplices(2)[face]])
        unit = list(map(float, (position - surface.centre) * surface.scale))
        px, py, depth = viewer.js(f"v.project(0, {unit})")
        box = viewer.stage()
        assert abs(px - x * box["width"]) < 2 and abs(py - y * box["height"]) < 2 and depth > 0

    check("p1", 0.5, 0.5)
    sent = viewer.sent
    viewer.page.mouse.move(*viewer.at(0.5, 0.5))
    viewer.page.mouse.down()
    viewer.page.mouse.move(*viewer.at(0.42, 0.6), steps=8)
    viewer.page.wait_for_timeout(200)
    assert viewer.sent == sent  # the drag is drawn in the page
    viewer.page.mouse.up()
    viewer.settle()
    check("p1", 0.42, 0.6)
    viewer.page.mouse.click(*viewer.at(0.55, 0.35))
    _wait_for_points(viewer, "'p2'")
    check("p2", 0.55, 0.35)
    assert viewer.cameras() == camera
    viewer.page.mouse.click(*viewer.at(0.42, 0.6))  # selects
    viewer.page.wait_for_timeout(100)
    viewer.page.keyboard.press("Delete")
    viewer.settle()
    assert list(_points(viewer)) == ["p2"]
    viewer.page.mouse.move(*viewer.at(0.55, 0.35))
    viewer.page.mouse.down()
    viewer.page.mouse.move(*viewer.at(0.5, 0.45), steps=8)
    viewer.page.mouse.up()
    viewer.settle()
    check("p2", 0.5, 0.45)
    viewer.page.keyboard.press("Delete")  # a point that was dragged is selected
    viewer.settle()
    assert list(_points(viewer)) == []


@pytest.mark.full
def test_typing_in_the_page_leaves_the_view_alone(viewer):
    viewer.open()
    before = _shot(viewer)
    box = viewer.page.get_by_label("Notes")
    box.click()
    frames = viewer.frames()
    viewer.page.keyboard.type("wsrp3+-")
    viewer.page.keyboard.press("ArrowLeft")
    viewer.page.wait_for_timeout(300)
    assert viewer.frames() == frames
    assert viewer.js("v.memory.controls.mode") == 3
    assert _differs(before, _shot(viewer)) < 0.002


@pytest.mark.full
def test_arrow_keys_step_the_mode_only_when_the_view_has_the_focus(viewer):
    viewer.open()
    viewer.page.keyboard.press("ArrowRight")
    viewer.page.wait_for_timeout(200)
    assert viewer.js("v.memory.controls.mode") == 3
    viewer.page.locator(".stage").focus()
    viewer.page.keyboard.press("ArrowRight")
    viewer.page.keyboard.press("ArrowRight")
    viewer.settle()
    assert viewer.js("v.memory.controls.mode") == 5


@pytest.mark.full
def test_wheel_scrolls_the_page_unless_the_view_has_the_focus_or_ctrl_is_held(viewer):
    viewer.open()
    before = viewer.cameras()
    viewer.page.mouse.move(*viewer.at(0.5, 0.5))
    viewer.page.mouse.wheel(0, 120)
    viewer.settle()
    assert viewer.cameras() == before
    viewer.page.locator(".stage").focus()
    viewer.page.mouse.wheel(0, 120)
    viewer.settle()
    assert viewer.cameras() != before


def test_a_field_step_is_small_and_a_rerun_that_changes_nothing_is_tiny(viewer):
    viewer.open("field")
    before = viewer.received
    viewer.page.get_by_role("slider", name="Step").press("ArrowRight")
    viewer.page.get_by_text("step 1").wait_for()
    viewer.settle()
    assert viewer.received - before <= 20_000
    viewer.open()
    before = viewer.received
    viewer.page.get_by_label("Notes").fill("x")
    viewer.page.get_by_label("Notes").press("Enter")
    viewer.settle()
    assert 0 < viewer.received - before <= 3_000


@pytest.mark.full
def test_a_reported_control_comes_back_once_when_released(viewer):
    viewer.open("report")
    sent = viewer.sent
    slider = viewer.page.locator(".hsd-viewer input[type=range]")
    slider.evaluate("e => { for (const x of [3, 5, 8]) { e.value = x; e.dispatchEvent(new Event('input')); } }")
    viewer.settle()
    assert viewer.sent == sent
    slider.evaluate("e => e.dispatchEvent(new Event('change'))")
    viewer.page.get_by_text("server knows 8").wait_for()
    viewer.settle()
    assert viewer.js("v.memory.controls.level") == 8
    viewer.page.get_by_role("button", name="Reset").click()  # the server moves the slider
    viewer.settle()
    assert viewer.js("v.memory.controls.level") == 1


@pytest.mark.full
def test_play_runs_through_the_modes(viewer):
    viewer.open("?n=1000")
    viewer.page.get_by_role("button", name="Play Mode").click()
    viewer.page.wait_for_timeout(1600)
    viewer.page.get_by_role("button", name="Play Mode").click()
    assert viewer.js("v.memory.controls.mode") >= 5


def test_exported_picture_has_title_colour_bar_and_caption(viewer):
    viewer.open()
    url = viewer.js("v.picture(1).toDataURL()")
    pixels = _pixels(base64.b64decode(url.split(",")[1]))
    height, width = pixels.shape[:2]
    stage = viewer.stage()
    assert width == round(stage["width"]) or abs(width - stage["width"]) <= 2
    assert height > stage["height"]  # the caption
    assert _colours(pixels[:, : int(width * 0.8)]) > 20
    column = pixels[:, width - 106 : width - 50]
    assert (column[..., 0] - column[..., 2]).max() > 80 and (column[..., 2] - column[..., 0]).max() > 80  # the bar
    assert (pixels[5:30, 8:120].sum(axis=-1) < 300).sum() > 40  # the title's ink
    foot = pixels[int(stage["height"]) + 4 :]
    assert (foot.sum(axis=-1) < 300).sum() > 100  # the caption's ink
    assert len(np.unique(column.reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("theme", [*(pytest.param(t, marks=pytest.mark.full) for t in ("light", "projector")), "dark"])
def test_theme_changes_background_ink_and_size(viewer, theme):
    viewer.open()
    viewer.page.get_by_text(theme, exact=True).click()
    viewer.settle()
    corner = _shot(viewer)[-12, 12]
    assert corner.max() < 60 if theme == "dark" else corner.min() > 240
    size = float(viewer.page.locator(".cell .title").evaluate("e => parseFloat(getComputedStyle(e).fontSize)"))
    assert size > 17 if theme == "projector" else size < 15


def test_a_cut_through_tets_is_filled_and_follows_its_slider(viewer):
    viewer.open("tets")
    sent, before = viewer.sent, _shot(viewer)
    caps = viewer.js("v.panels[0].drawing.parts.get('cap').data.getPoints().getNumberOfPoints()")
    assert caps > 100
    _slide(viewer, 0.3)
    viewer.settle()
    assert viewer.sent == sent
    assert _differs(before, _shot(viewer)) > 0.02
    _slide(viewer, 0.0)
    viewer.settle()
    assert viewer.js("v.panels[0].accept([0, 0.5, 0])") is False


@pytest.mark.full
def test_many_mounts_free_their_webgl_contexts(viewer):
    viewer.open("?n=500")
    lost = []
    viewer.page.on("console", lambda m: lost.append(m.text) if "Too many active WebGL contexts" in m.text else None)
    for _ in range(10):
        viewer.page.get_by_role("link", name="Field").click()
        viewer.page.get_by_text("step 0").wait_for()
        viewer.settle()
        viewer.page.get_by_role("link", name="Modes").click()
        viewer.page.get_by_label("Notes").wait_for()
        viewer.settle()
    assert lost == []


def test_a_lost_context_is_replaced_and_the_picture_comes_back(viewer):
    viewer.open("field")
    before = _shot(viewer)
    viewer.js("v.stage.context.getExtension('WEBGL_lose_context').loseContext()")
    viewer.page.wait_for_timeout(600)
    viewer.settle()
    assert _differs(before, _shot(viewer)) < 0.01


def test_without_webgl_there_is_a_sentence_and_a_still_picture(viewer_server, browser):
    flags = ["--no-sandbox", "--disable-webgl", "--disable-webgl2", "--disable-3d-apis", "--no-first-run"]
    other = browser.browser_type.launch(executable_path=CHROMIUM, args=flags)
    try:
        page = other.new_page()
        page.goto(f"{viewer_server}/field")
        page.get_by_text("This browser draws no WebGL").wait_for(timeout=30_000)
        picture = page.locator("[data-testid=stImage] img")
        picture.wait_for(timeout=60_000)
        page.wait_for_timeout(500)
        assert _colours(_pixels(picture.screenshot())) > 8
    finally:
        other.close()


@pytest.mark.full
def test_a_vtk_scene_is_drawn_offline(viewer):
    viewer.page.goto(f"{viewer.address}/vtk")
    viewer.page.get_by_text("shown: interactive").wait_for(timeout=60_000)
    canvas = viewer.page.frame_locator("iframe").locator("canvas")
    canvas.first.wait_for(timeout=30_000)
    for _ in range(40):
        pixels = _pixels(viewer.page.locator("iframe").screenshot())
        if _colours(pixels) > 8:
            break
        viewer.page.wait_for_timeout(250)
    assert _colours(pixels) > 8
