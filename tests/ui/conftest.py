"""A server of the viewer's test app and a browser page that can reach this machine only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
CHROMIUM_ARGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--disable-gpu-compositing", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]  # fmt: skip
"""Outside hosts have no address.  A route that aborts them would do too, but it turns the browser's cache off."""
MODEL_TASK, MODEL_LABELS = "toroidal_transport", ("hsd", "fno3d", "deeponet")
LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1", ""}


def serve(script: str, folder: Path):
    """Run a Streamlit script on a free port; yields its address once it answers."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    log = folder / "log.txt"
    command = [
        sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port),
        "--server.headless", "true", "--server.enableStaticServing", "true", "--browser.gatherUsageStats", "false",
    ]  # fmt: skip
    environment = {**os.environ, "HSD_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
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


@pytest.fixture(scope="session")
def viewer_server(tmp_path_factory):
    """Address of the running test app."""
    yield from serve("tests/ui/viewer_app.py", tmp_path_factory.mktemp("viewer"))


@pytest.fixture(scope="session")
def app_server(tmp_path_factory):
    """Address of the running app itself."""
    yield from serve("app.py", tmp_path_factory.mktemp("app"))


@pytest.fixture(scope="session")
def browser():
    if not Path(CHROMIUM).exists():
        if os.environ.get("HSD_REQUIRE_BROWSER") == "1":
            pytest.fail("HSD_REQUIRE_BROWSER=1, but there is no chromium")
        pytest.skip("no chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        yield made
        made.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A browser test that fails shows what stood on its page."""
    report = yield
    if report.when == "call" and report.failed:
        for view in {id(v): v for v in getattr(item, "funcargs", {}).values() if isinstance(v, Viewer)}.values():
            with contextlib.suppress(Exception):  # the page may be gone, and the failure is what counts
                report.sections.append((f"Page {view.page.url}", view.page.locator("body").inner_text(timeout=5000)))
    return report


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Folder of this module's checkpoints."""
    return tmp_path_factory.mktemp("ckpt")


@pytest.fixture
def model_pages(root, tmp_path_factory, monkeypatch):
    """Pages of models read the checkpoints of ``root`` and keep what they keep in temporary folders."""
    base = tmp_path_factory.getbasetemp()
    monkeypatch.setenv("HSD_STORE", str(base / "store"))
    monkeypatch.setenv("HSD_CACHE", str(base / "cache"))
    monkeypatch.setenv("HSD_CHECKPOINTS", str(root))
    monkeypatch.setattr("hsd.ui.ahead.Ahead.wish", lambda *_: None)  # whose work tests that count would count


@pytest.fixture(scope="session")
def model_server(tmp_path_factory):
    """Address of the app with checkpoints of fresh weights for MODEL_TASK, and their folder."""
    from tests.ui.checkpoints import make_checkpoints

    folder = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HSD_CHECKPOINTS", str(make_checkpoints(folder / "ckpt", MODEL_TASK, MODEL_LABELS)))
        for address in serve("app.py", folder):
            yield address, folder / "ckpt"


@pytest.fixture
def model_page(model_server, context):
    """A browser page on that server."""
    yield from local_page(context, model_server[0])


class Viewer:
    """One browser page on the test app, with what the tests ask of it."""

    def __init__(self, context, address: str):
        self.outside: list[str] = []
        self.errors: list[str] = []
        self.sent = self.received = 0
        self.unanswered = False  # something was sent and nothing has come since
        self.address = address
        self.page = context.new_page()
        self.page.on("request", lambda request: self._seen(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("websocket", self._socket)

    def _seen(self, url: str) -> None:
        if urlsplit(url).scheme in ("http", "https", "ws", "wss") and urlsplit(url).hostname not in LOCAL:
            self.outside.append(url)

    def _socket(self, web_socket) -> None:
        self._seen(web_socket.url)
        web_socket.on("framesent", lambda _: self._went())
        web_socket.on("framereceived", lambda data: self._came(len(data)))

    def _went(self) -> None:
        self.sent += 1
        self.unanswered = True

    def _came(self, size: int) -> None:
        self.received += size
        self.unanswered = False

    def open(self, path: str = "") -> Viewer:
        self.page.goto(f"{self.address}/{path}")
        return self.ready()

    def ready(self) -> Viewer:
        self.page.locator(".hsd-viewer[data-state=rest]").first.wait_for(timeout=60_000)
        return self.settle()

    def settle(self) -> Viewer:
        """Wait until no script runs and the picture is at rest."""
        self.page.wait_for_timeout(250)
        for _ in range(60):  # a busy server's answer is waited for: until it comes, no script is running yet
            if not self.unanswered:
                break
            self.page.wait_for_timeout(50)
        self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=30_000)
        self.page.locator(".hsd-viewer[data-state=rest]").first.wait_for(timeout=20_000)
        self.page.wait_for_timeout(120)
        return self

    def js(self, body: str, *arguments):
        """Run JavaScript with ``v`` the only view on the page."""
        return self.page.evaluate(
            f"(args) => {{ const v = Object.values(__hsd.views)[0]; return ({body}); }}", list(arguments)
        )

    def until(self, holds: Callable[[], bool], seconds: float = 10.0) -> bool:
        """Whether something comes to hold: a busy machine draws later."""
        for _ in range(int(20 * seconds)):
            if holds():
                return True
            self.page.wait_for_timeout(50)
        return False

    def cameras(self) -> list:
        return json.loads(self.js("JSON.stringify(v.memory.cameras)"))

    def stage(self) -> dict:
        return self.page.locator(".stage").bounding_box()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Page pixels of a place given as fractions of the stage."""
        box = self.stage()
        return box["x"] + x * box["width"], box["y"] + y * box["height"]

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=steps)
        self.page.mouse.up()
        self.settle()

    def frames(self) -> int:
        return self.page.evaluate("__hsd.frames")


def new_context(browser):
    return browser.new_context(viewport={"width": 1280, "height": 900}, service_workers="block")


@pytest.fixture(scope="session")
def context(browser):
    """One visitor's browser, whose cache holds the app's scripts from one test to the next; :func:`local_page` leaves
    nothing else in it."""
    made = new_context(browser)
    yield made
    made.close()


def local_page(context, address: str):
    """A page that cannot reach other machines; to ask for one ends the test.  All pages of the context are closed
    afterwards, and what they stored is deleted."""
    view = Viewer(context, address)
    yield view
    with contextlib.suppress(Exception):  # the page may be gone
        view.page.evaluate("localStorage.clear()")
    for page in list(context.pages):
        page.close()
    context.clear_cookies()
    assert view.outside == [], "an outside host was asked for"
    assert view.errors == []


@pytest.fixture
def viewer(viewer_server, context):
    yield from local_page(context, viewer_server)


@pytest.fixture
def app(app_server, context):
    """A browser page for the app itself."""
    yield from local_page(context, app_server)
