"""The Training page in a browser: configured, started, paused, found again; stepped; resumed, finished, handed on."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from hsd.training import jobs
from hsd.training.config import TrainingConfig
from hsd.training.run import RunSpec
from tests.ui.conftest import serve
from tests.ui.run_folders import paused_run

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}
SETTINGS = "~".join(["epochs=1", "batch_size=1", *(f"model.{k}={v}" for k, v in SMALL.items())])
N = 200
OPEN = f"training?train_nodes=300&train_n={N}&train_device=cpu&train_set={SETTINGS}"
STEPS, FEW_STEPS = 272, 82
"""Of two epochs of N and of 60 samples."""
REACHED = 5
"""Steps of the runs that are paused before the page opens."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("training-app")


@pytest.fixture(scope="module")
def app_server(place):
    """A server of this module's own, whose folder of runs is known here."""
    yield from serve("app.py", place)


@pytest.fixture(scope="module")
def paused(place):
    """Makes run folders of this server, each of one run that was paused after REACHED steps."""
    runs = place / "cache" / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_CACHE", str(place / "cache"))
        first = paused_run(runs / "first", spec_of(60), REACHED)
    return lambda name: Path(shutil.copytree(first, runs / name))


def spec_of(n: int) -> RunSpec:
    training = TrainingConfig("hsd", SMALL, epochs=2, batch_size=1)
    return RunSpec(training, "ellipsoid_aerodynamics", n_samples=n, n_nodes=300, device="cpu")


def query(app) -> dict[str, list[str]]:
    return parse_qs(urlsplit(app.page.url).query)


def curves(app) -> dict[str, list[float]]:
    """Traces of the plot by name, as the browser has them."""
    return app.page.evaluate(
        """() => {
            const plots = [...document.querySelectorAll(".js-plotly-plot")];
            const plot = plots.find(p => p.data.some(t => /raw$/.test(t.name)));
            const plain = y => y && y.bdata !== undefined ? null : Array.from(y || []);
            return plot ? Object.fromEntries(plot.data.map(t => [t.name.split(': ').pop(), plain(t.y)])) : {};
        }"""
    )


def test_a_run_is_configured_and_started_and_the_link_names_it(app, place):
    page = app.page
    page.set_default_timeout(120_000)
    page.goto(f"{app.address}/{OPEN}")
    page.get_by_label("epochs", exact=True).fill("2")
    page.get_by_label("epochs", exact=True).press("Enter")
    page.wait_for_url("**epochs%3D2**")
    assert "epochs=2" in query(app)["train_set"][0]
    page.get_by_test_id("stSidebar").get_by_role("button", name="Start training").click()
    page.get_by_role("button", name="Pause").wait_for()
    folder = place / "cache" / "runs" / query(app)["run"][0]
    spec = json.loads((folder / "run.json").read_text())
    assert spec["n_samples"] == N and spec["training"]["epochs"] == 2 and spec["training"]["model_config"] == SMALL
    jobs.stop(folder, seconds=0.0)
    page.get_by_text("Stopped; its whole state is saved.").wait_for()


@pytest.mark.full
def test_a_running_run_is_watched_paused_and_found_again_by_its_link(app, place, monkeypatch):
    page, folder = app.page, place / "cache" / "runs" / "watched"
    page.set_default_timeout(120_000)
    monkeypatch.setenv("HSD_CACHE", str(place / "cache"))
    jobs.start(folder, spec_of(N), threads=1)
    while not jobs.tail(folder, name="steps.jsonl"):
        assert jobs.status(folder).is_alive
        page.wait_for_timeout(30)
    process = jobs._read(folder / jobs.PROCESS)["pid"]
    os.kill(process, signal.SIGSTOP)  # so that however slow the page is, it is the first steps that it shows
    page.goto(f"{app.address}/training?run={folder.name}")
    page.locator(".js-plotly-plot").first.wait_for()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Pausing: the step under way").wait_for()
    os.kill(process, signal.SIGCONT)
    page.get_by_text("Paused; its whole state is saved.").wait_for()
    reached = jobs.tail(folder, name="steps.jsonl")[-1]["step"]
    assert jobs.status(folder).state == "paused" and 0 < reached < STEPS
    page.reload()  # the tab is closed and opened again by its link
    page.get_by_text("Paused; its whole state is saved.").wait_for()
    page.get_by_text(f"{reached} / {STEPS}").wait_for()
    page.get_by_role("button", name="Resume").wait_for()


@pytest.mark.full
def test_a_paused_run_takes_one_step_at_a_time(app, paused):
    page, folder = app.page, paused("stepped")
    page.set_default_timeout(120_000)
    page.goto(f"{app.address}/training?run={folder.name}")
    page.get_by_role("button", name="Step once").click()
    page.get_by_text(f"{REACHED + 1} / {FEW_STEPS}").wait_for()
    page.get_by_text("Paused; its whole state is saved.").wait_for()
    assert [e["step"] for e in jobs.tail(folder, name="steps.jsonl")][-1] == REACHED + 1


def test_a_paused_run_goes_on_to_its_end_is_drawn_as_logged_and_sent(app, paused):
    page, folder = app.page, paused("resumed")
    page.set_default_timeout(120_000)
    page.goto(f"{app.address}/training?run={folder.name}")
    page.get_by_role("button", name="Resume").wait_for()
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.get_by_text("Finished.").wait_for()
    page.locator(".hsd-viewer[data-state=rest]").first.wait_for()
    log = jobs.tail(folder)
    assert len(log) == 2 and log[-1]["step"] == FEW_STEPS
    drawn = curves(app)
    assert np.allclose(drawn["validation, raw"], [e["validation"] for e in log], rtol=0, atol=0)
    assert np.allclose(drawn["train, raw"], [e["train_loss"] for e in log], rtol=0, atol=0)
    assert page.get_by_text(f"{log[-1]['best']:.4g}", exact=True).count() >= 1
    assert "Validation sample 0 (sample 4" in page.locator(".hsd-viewer").inner_text()
    assert app.js("v.panels.length") == 4
    page.get_by_role("button", name="Send to Model Comparison").click()
    page.get_by_role("button", name="Open Model Comparison").wait_for()
    page.wait_for_url("**runs=**")
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    assert query(app)["runs"] == [folder.name]
    received = app.received
    page.wait_for_timeout(2500)  # a page that asks does so every second
    assert app.received == received, "nothing runs, and still the page asks"
