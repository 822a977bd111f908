"""The app: pages run without an exception, and a real browser shows them with every outside host blocked."""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1", ""}


# ---- without a browser -------------------------------------------------------------------------------------------


def _run(path: str, **session):
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(ROOT / path), default_timeout=60)
    for key, value in session.items():
        app.session_state[key] = value
    return app.run()


@pytest.mark.parametrize("degree", [0, 1])
def test_mesh_page_shows_betti_numbers_and_report(degree):
    app = _run("pages/mesh.py", mesh_degree=degree, mesh_n_vertices=500)
    assert not app.exception
    assert "b0 = 1, b1 = 2, b2 = 1" in app.markdown[0].value
    facts = dict(zip(app.table[0].value["Fact"], app.table[0].value["Value"], strict=True))
    assert facts["genus"] == "1" and facts["Euler characteristic χ"] == "0"
    assert f"{degree}-forms" in app.caption[0].value


def test_mesh_page_follows_its_mode_slider():
    app = _run("pages/mesh.py", mesh_degree=1, mesh_n_vertices=500)
    assert "harmonic part" in app.caption[0].value
    app.slider(key="mesh_mode_1").set_value(5).run()
    assert not app.exception
    assert "Mode 5" in app.caption[0].value and "harmonic part" not in app.caption[0].value


def test_router_shows_the_mesh_page_first():
    app = _run("app.py")
    assert not app.exception
    assert app.title[0].value.startswith("Torus")


# ---- in a browser ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Address of a running app."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    environment = {**os.environ, "HSD_CACHE": str(log.parent / "cache")}
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment)
    address = f"http://localhost:{port}"
    try:
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                    break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None, log.read_text()
                time.sleep(0.25)
        yield address
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def page(server):
    """A browser page that can reach this machine only; ``page.outside`` lists every other address it asked for."""
    if not Path(CHROMIUM).exists():
        if os.environ.get("HSD_REQUIRE_BROWSER") == "1":
            pytest.fail("HSD_REQUIRE_BROWSER=1, but there is no chromium")
        pytest.skip("no chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    outside, errors = [], []

    def gate(route):
        if urlsplit(route.request.url).hostname in LOCAL:
            route.continue_()
        else:
            route.abort()

    def seen(url: str) -> None:
        if urlsplit(url).scheme in ("http", "https", "ws", "wss") and urlsplit(url).hostname not in LOCAL:
            outside.append(url)

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        context = browser.new_context(viewport={"width": 1400, "height": 900}, service_workers="block")
        context.route("**/*", gate)
        view = context.new_page()
        view.on("request", lambda request: seen(request.url))
        view.on("websocket", lambda socket_: seen(socket_.url))
        view.on("pageerror", lambda error: errors.append(str(error)))
        view.outside, view.errors, view.address = outside, errors, server
        yield view
        browser.close()


def _colours_in(png: bytes) -> int:
    """Number of clearly different colours (4 bits a channel) that each cover more than one pixel in a thousand."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")) >> 4
    flat = pixels.reshape(-1, 3).astype(int) @ [256, 16, 1]  # (n_pixels,)
    return int((np.bincount(flat) > len(flat) / 1000).sum())


def test_browser_shows_the_torus_and_asks_no_outside_host(page):
    page.goto(page.address)
    page.get_by_text("Betti numbers over Q: b0 = 1, b1 = 2, b2 = 1").wait_for(timeout=60_000)
    picture = page.locator(".js-plotly-plot canvas").first
    picture.wait_for(timeout=30_000)
    for _ in range(40):
        box = picture.bounding_box()
        drawn = _colours_in(page.screenshot(clip={**box, "width": 0.7 * box["width"]}))  # without the colour bar
        if drawn >= 8:
            break
        page.wait_for_timeout(250)
    if folder := os.environ.get("HSD_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / "mesh.png"))
    assert drawn >= 8, f"only {drawn} colours in the picture: nothing is drawn"
    assert page.outside == []
    assert page.errors == []


def test_the_gate_sees_an_outside_request(page):
    page.goto(page.address)
    page.evaluate("fetch('https://example.com/x').catch(() => 0)")
    page.wait_for_timeout(200)
    assert page.outside == ["https://example.com/x"]
