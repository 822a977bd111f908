"""Model Comparison in a browser that reaches this machine only: from opening to export, and two visitors at once."""

from __future__ import annotations

import csv
import io
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.training.evaluate import yardstick_of
from hsd.training.predictor import load
from hsd.ui import comparison_work as work
from hsd.viz.build import surface_of
from hsd.viz.task_sample import task_sample
from tests.ui.checkpoints import NODES
from tests.ui.conftest import MODEL_LABELS as LABELS
from tests.ui.conftest import MODEL_TASK as NAME
from tests.ui.conftest import local_page, new_context

PAGE = f"model_comparison?models={'~'.join(LABELS)}&case="


def truth_and_predictions(root, i: int):
    """Sample, surface's vertex map, and label → outcome, by hsd itself."""
    problem = task(NAME)
    ground = Ground(problem.mesh(NODES))
    sample = task_sample(problem, ground, 0, i)
    out = {}
    for label in LABELS:
        predictor = load(root / NAME / f"{label}.safetensors", ground.mesh)
        yardstick = yardstick_of(predictor.domain, NAME)
        out[label] = work.predict(predictor, predictor.domain, yardstick, sample, "CPU")
    return sample, surface_of(ground.mesh).vertex_of, out


def panel_values(view, i: int) -> np.ndarray:
    return np.array(view.js(f"Array.from(v.panels[{i}].values)"))


def test_from_opening_to_export_with_the_numbers_of_hsd(model_page, model_server):
    model_page.open(PAGE + "2")
    sample, vertex_of, found = truth_and_predictions(model_server[1], 2)
    truth = sample.target.values[0]
    canvas = model_page.page.locator(".hsd-viewer").inner_text()
    assert np.abs(panel_values(model_page, 0) - truth[vertex_of]).max() < 2e-3 * np.abs(truth).max()
    for i, outcome in enumerate(found.values()):
        values = outcome.nodes[:, 0]
        assert np.abs(panel_values(model_page, 1 + i) - values[vertex_of]).max() < 2e-3 * np.abs(values).max()
        error = np.abs(values - truth)[vertex_of]
        assert np.abs(panel_values(model_page, 5 + i) - error).max() < 2e-3 * error.max()
        assert f"error {100 * outcome.scores['relative_l2']:.3g}" in canvas
    # a click reads all panels at one point
    model_page.page.mouse.click(*model_page.at(0.1, 0.32))
    model_page.settle()
    model_page.page.get_by_role("tab", name="Point").click()
    model_page.page.get_by_text("float64, interpolated linearly").wait_for(timeout=15_000)
    # export
    model_page.page.get_by_role("tab", name="Export").click()
    button = model_page.page.get_by_role("button", name="CSV", exact=True)
    button.wait_for(timeout=15_000)
    with model_page.page.expect_download(timeout=15_000) as event:
        button.click()
    lines = event.value.path().read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    numbers = {row["model"]: float(row["Relative L²"]) for row in rows}
    assert list(numbers.values()) == pytest.approx([o.scores["relative_l2"] for o in found.values()], rel=1e-5)
    assert sum("weights" in line for line in head) == 3 and any("mesh_hash" in line for line in head)
    with model_page.page.expect_download(timeout=90_000) as event:
        model_page.page.get_by_role("button", name="Sheet (PNG)").click()
    picture = event.value.path().read_bytes()
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        assert image.text["task"] == NAME and len(image.text["weights HSD"]) == 64
        assert image.size[0] == 2400 and len(set(image.convert("L").resize((60, 30)).tobytes())) > 20


def cell_pixels(view, panel: int, edge: float) -> np.ndarray:
    """(h, w, 3) picture of a panel's cell below its title, with the edge there."""
    view.js(f"v.setControl('wipe', {edge})")
    view.settle()
    rows = view.js(
        f"(b => {{ const c = v.picture(1).getContext('2d');"
        f" const d = c.getImageData(Math.ceil(b.x), Math.ceil(b.y), Math.floor(b.width), Math.floor(b.height));"
        f" return [d.height, d.width, d.data.reduce((s, x) => s + String.fromCharCode(x), '')]; }})(v.boxes[{panel}])"
    )
    data = np.frombuffer(rows[2].encode("latin-1"), np.uint8)
    return data.reshape(rows[0], rows[1], 4)[..., :3].astype(int)


def test_blink_and_wipe_ask_nothing_of_the_server_and_the_edge_stands_while_the_camera_turns(model_page, model_server):
    model_page.open(PAGE + "2&compare=pair")
    _, vertex_of, found = truth_and_predictions(model_server[1], 2)
    a, b = (found[label].nodes[:, 0][vertex_of] for label in LABELS[:2])
    sent = model_page.sent
    for at, expected in ((0, a), (1, b)):
        model_page.js(f"v.setControl('blink', {at})")

        def is_drawn(expected=expected) -> bool:
            return np.abs(panel_values(model_page, 1) - expected).max() < 2e-3 * np.abs(expected).max()

        assert model_page.until(is_drawn)
    for i, expected in ((2, a), (3, b)):
        assert np.abs(panel_values(model_page, i) - expected).max() < 2e-3 * np.abs(expected).max()
    line = model_page.page.locator(".hsd-viewer .edge").first
    for turned in (False, True):
        if turned:
            model_page.drag(model_page.at(0.1, 0.3), model_page.at(0.2, 0.45))
        only_a, only_b, wiped = (cell_pixels(model_page, 2, edge) for edge in (1, 0, 0.4))
        edge = round(0.4 * wiped.shape[1])
        assert np.abs(only_a[:, edge:] - only_b[:, edge:]).mean() > 2  # the models differ there
        assert np.abs(wiped[:, : edge - 4] - only_a[:, : edge - 4]).mean() < 0.5
        assert np.abs(wiped[:, edge + 4 :] - only_b[:, edge + 4 :]).mean() < 0.5
    box = line.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    model_page.drag(middle, (middle[0] + 40, middle[1]))
    width = model_page.js("v.boxes[2].width")
    assert model_page.js("v.memory.controls.wipe") == pytest.approx(0.4 + 40 / width, abs=0.02)
    assert model_page.sent == sent


def test_maps_and_pair_are_drawn_by_one_viewer_that_keeps_its_camera_and_shapes(model_page):
    model_page.open(PAGE + "2")
    model_page.drag(model_page.at(0.1, 0.3), model_page.at(0.2, 0.45))
    model_page.settle()
    cameras, before = model_page.cameras(), [panel_values(model_page, i) for i in range(8)]
    model_page.js("v.canvasElement.firstChild.mark = 7")
    for name, words, n in (("A | B", "A / B", 8), ("Maps", "Input", 8)):
        model_page.page.get_by_role("radio", name=name, exact=True).click()
        model_page.page.locator(".hsd-viewer .title", has_text=words).first.wait_for(timeout=20_000)
        model_page.settle()
        assert model_page.js("v.canvasElement.firstChild.mark") == 7 and model_page.cameras() == cameras
        assert model_page.js("v.panels.length") == n
        drawn = model_page.js("v.stage.drawings.map((d) => Boolean(d.renderer.getDraw()))")
        assert sum(drawn) == n == sum(drawn[:n])
    assert all(np.array_equal(panel_values(model_page, i), b) for i, b in enumerate(before))


@pytest.mark.full
def test_quick_presses_of_k_each_take_the_next_sample_and_none_counts_in_a_field(model_page):
    model_page.open(PAGE + "3")
    for _ in range(6):
        model_page.page.keyboard.press("k")
        model_page.page.wait_for_timeout(60)
    model_page.page.wait_for_function("new URLSearchParams(location.search).get('case') === '9'", timeout=30_000)
    model_page.settle()
    model_page.page.get_by_label("Sample", exact=True).press("k")
    model_page.page.keyboard.press("Escape")
    model_page.page.locator("h2, h1").first.click()
    model_page.page.keyboard.press("j")
    model_page.page.wait_for_function("new URLSearchParams(location.search).get('case') === '8'", timeout=30_000)


@pytest.mark.full
def test_a_source_placed_on_the_canvas_moves_truth_and_link(model_page):
    model_page.open(PAGE + "3")
    before = panel_values(model_page, 0)
    model_page.page.get_by_role("button", name="Compose from this sample").click()
    model_page.page.get_by_text("A click on the canvas adds").wait_for(timeout=20_000)
    model_page.settle()
    model_page.page.mouse.click(*model_page.at(0.1, 0.32))
    for _ in range(100):  # the click travels to the server before anything changes
        model_page.settle()
        if not np.allclose(panel_values(model_page, 0), before):
            break
        model_page.page.wait_for_timeout(200)
    assert not np.allclose(panel_values(model_page, 0), before)
    assert len(parse_qs(urlsplit(model_page.page.url).query)["composed"][0]) == 32


def test_two_visitors_at_once_each_see_their_own_sample(model_server, browser):
    contexts = [new_context(browser) for _ in range(2)]
    views = [local_page(context, model_server[0]) for context in contexts]
    pages = [next(view) for view in views]
    for i, one in enumerate(pages):
        one.page.goto(f"{one.address}/{PAGE}{7 + i}")
    for i, one in enumerate(pages):
        one.ready()
        _, _, found = truth_and_predictions(model_server[1], 7 + i)
        assert f"error {100 * found['fno3d'].scores['relative_l2']:.3g}" in one.page.locator(".hsd-viewer").inner_text()
    for view, context in zip(views, contexts):
        assert next(view, None) is None
        context.close()
