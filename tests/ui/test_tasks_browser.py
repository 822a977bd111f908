"""The Tasks page in a browser: the player runs without the server, broken files are sentences, exports download."""

from __future__ import annotations

import io
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.viz.build import surface_of
from tests.data import broken
from tests.data.datasets import write

PLAYER = "tasks?task=toroidal_transport&nodes=400&seed=2&sample=1&step=0"


def query(app) -> dict[str, list[str]]:
    return parse_qs(urlsplit(app.page.url).query)


def test_the_player_scrubs_and_plays_without_the_server_and_release_moves_the_marks(app):
    app.open(PLAYER)
    problem = task("toroidal_transport")
    ground = Ground(problem.mesh(400))
    states = problem.realise([problem.sample(2, 1)], ground).trajectory[0]
    vertex_of = surface_of(ground.mesh).vertex_of
    slider = app.page.locator(".hsd-viewer input[aria-label='Time']")
    sent, frames = app.sent, app.frames()
    for t in (3, 7, 10):
        slider.evaluate("(e, t) => { e.value = t; e.dispatchEvent(new Event('input')); }", t)

        def is_drawn(state=states[t]) -> bool:
            values = np.array(app.js("Array.from(v.panels[1].values)"))
            return np.abs(values - state[vertex_of]).max() < 2e-3 * np.abs(states).max()

        assert app.until(is_drawn)
        first = np.array(app.js("Array.from(v.panels[0].values)"))
        assert np.abs(first - states[0][vertex_of]).max() < 2e-3 * np.abs(states).max()
    assert app.sent == sent and app.frames() > frames
    slider.evaluate("e => { e.value = 0; e.dispatchEvent(new Event('input')); }")
    play = app.page.get_by_label("Play Time")
    play.click()
    app.page.wait_for_timeout(1500)
    assert app.sent == sent and float(slider.input_value()) >= 2  # it ran, and asked nothing
    play.click()  # pause: the place is reported
    app.settle()
    step = int(float(slider.input_value()))
    assert query(app)["step"] == [str(step)]
    app.page.get_by_text(f"Marks: t = {problem.times[step]:.3g}").wait_for(timeout=10_000)


@pytest.mark.full
def test_a_sample_is_handed_to_model_comparison(app):
    app.open("tasks?task=torus_helmholtz&nodes=1500&seed=2&sample=1")
    app.page.get_by_role("button", name="Compare models on it").click()
    app.page.get_by_role("heading", name="Model Comparison").wait_for(timeout=30_000)
    app.page.get_by_text("Sample 1 of seed 2").first.wait_for(timeout=60_000)
    app.ready()
    link = query(app)
    assert link["problem"] == ["torus_helmholtz"] and link["case"] == ["1"] and link["remesh"] == ["1500"]


@pytest.mark.full
def test_arrow_keys_step_the_player(app):
    app.open(PLAYER)
    app.page.locator(".stage").click(position={"x": 5, "y": 5})
    app.page.locator(".stage").press("ArrowRight")
    app.page.wait_for_timeout(500)
    app.settle()
    assert query(app)["step"] == ["1"]


def test_a_broken_upload_is_a_sentence_and_a_good_one_is_shown(app, tmp_path):
    app.page.goto(f"{app.address}/tasks?task=own")
    field = app.page.locator("[data-testid=stFileUploader] input[type=file]")
    field.wait_for(state="attached", timeout=60_000)
    bad = write(tmp_path / "bad.npz", "one")
    broken.pickled(bad)
    field.set_input_files(str(bad))
    app.page.get_by_text("Mend the file and give it again").wait_for(timeout=20_000)
    assert app.page.locator("[data-testid=stException]").count() == 0
    field.set_input_files(str(write(tmp_path / "fine.npz", "steps")))
    app.page.get_by_text("found no defects in fine.npz").wait_for(timeout=20_000)
    app.ready()
    assert len(query(app)["data"][0]) == 32
    field.set_input_files(str(bad))
    app.page.get_by_text("The file before it is kept").wait_for(timeout=20_000)
    app.page.reload()
    app.ready()  # found again through the link
    assert "Sample 0 of fine.npz" in app.page.locator(".hsd-viewer").inner_text()


@pytest.mark.full
def test_the_sample_is_downloaded_with_its_provenance(app):
    app.open("tasks?task=ellipsoid_aerodynamics&nodes=400&seed=5&sample=2")
    app.page.get_by_role("tab", name="Export").click()
    button = app.page.get_by_role("button", name="NPZ")
    button.wait_for(timeout=15_000)
    with app.page.expect_download(timeout=15_000) as event:
        button.click()
    assert event.value.suggested_filename.startswith("ellipsoid_aerodynamics_seed5_sample2_")
    with np.load(io.BytesIO(event.value.path().read_bytes()), allow_pickle=False) as archive:
        assert str(archive["provenance_sample"]) == "2" and "part_local" in archive.files
