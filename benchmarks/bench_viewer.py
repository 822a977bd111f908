"""Bytes and times of the viewer, ours against stpyvista, in a headless browser; prints a table and one JSON line.

    python benchmarks/bench_viewer.py [--sizes 3000 50000] [--scrub 3000 20000] [--seconds 2] [--steps 5]

Field step: an arrow key on a Streamlit slider (which waits before it tells the server) changes the field on the
server; bytes received on the websocket and the time from key press to the drawn frame.  Own key step: the same with a
reported control of the viewer, which tells the server at once.  Rerun: a checkbox that changes nothing in view.
Scrub: modes changed in the page as fast as frames come, main-thread ms a frame (median) and frames a second.
Run nothing beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing", "--no-first-run", "--disable-background-networking",
]  # fmt: skip

# resolves to ms from the key press until the frame of the wanted state is drawn
OURS_DRAWN = """(wanted) => new Promise((resolve) => {
  addEventListener('keydown', () => {
    const start = performance.now();
    const look = () => globalThis.__hsd?.rev === wanted
      ? requestAnimationFrame(() => resolve(performance.now() - start)) : setTimeout(look, 2);
    look();
  }, {capture: true, once: true});
})"""
STPV_DRAWN = """() => new Promise((resolve) => {
  const find = (root) => { for (const e of root.querySelectorAll('*')) {
    if (e.id === 'stpyvistaframe') return e;
    const inner = e.shadowRoot && find(e.shadowRoot); if (inner) return inner; } };
  const old = find(document)?.contentDocument;
  addEventListener('keydown', () => {
    const start = performance.now();
    const look = () => { const d = find(document)?.contentDocument;
      d && d !== old && d.querySelector('canvas') ? requestAnimationFrame(() => resolve(performance.now() - start))
        : setTimeout(look, 5); };
    look();
  }, {capture: true, once: true});
})"""
SCRUB = """async (seconds) => {
  const v = Object.values(__hsd.views)[0], js = [], start = performance.now();
  let i = 0;
  while (performance.now() - start < seconds * 1000) {
    const before = __hsd.frames;
    v.setControl('mode', ++i % 64);
    while (__hsd.frames === before) await new Promise(requestAnimationFrame);
    js.push(__hsd.js_ms);
  }
  const fps = js.length / ((performance.now() - start) / 1000);
  return {js: js.slice(3).sort((a, b) => a - b)[Math.floor((js.length - 3) / 2)], fps, proxy: Boolean(v.proxied)};
}"""


def serve() -> tuple[subprocess.Popen, str]:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "benchmarks/viewer_app.py", "--server.port", str(port),
               "--server.headless", "true", "--browser.gatherUsageStats", "false"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HSD_CACHE": tempfile.mkdtemp()}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://localhost:{port}"
    while True:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return process, address
        except (urllib.error.URLError, OSError):
            if process.poll() is not None:
                raise SystemExit("the app did not start") from None
            time.sleep(0.25)


class Page:
    def __init__(self, browser, address: str):
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, service_workers="block")
        self.page = self.context.new_page()
        self.address, self.bytes, self.sent = address, 0, 0
        self.page.on("websocket", self._socket)

    def _socket(self, web_socket) -> None:
        web_socket.on("framereceived", lambda data: setattr(self, "bytes", self.bytes + len(data)))
        web_socket.on("framesent", lambda _: setattr(self, "sent", self.sent + 1))

    def idle(self) -> None:
        self.page.wait_for_timeout(300)
        self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60_000)
        self.page.wait_for_timeout(300)


def picture(browser, address: str, query: str, drawn: str) -> tuple[Page, float]:
    """A page of the app and the seconds until its first picture."""
    page = Page(browser, address)
    start = time.perf_counter()
    page.page.goto(f"{address}/?{query}")
    if drawn == "ours":
        page.page.locator(".hsd-viewer[data-state=rest]").wait_for(timeout=120_000)
    else:
        page.page.frame_locator("#stpyvistaframe").locator("canvas").first.wait_for(timeout=120_000)
    seconds = time.perf_counter() - start
    page.idle()
    return page, seconds


def field_steps(page: Page, ours: bool, steps: int, first: int = 0, own: bool = False) -> dict:
    times, sizes = [], []
    slider = page.page.locator(".stage") if own else page.page.get_by_role("slider", name="Step")
    for i in range(first + 1, first + steps + 1):
        slider.focus()
        before = page.bytes
        waiting = f"({OURS_DRAWN})('step {i}')" if ours else f"({STPV_DRAWN})()"
        page.page.evaluate(f"() => {{ globalThis.__drawn = {waiting}; return 0; }}")
        slider.press("ArrowRight")
        times.append(page.page.evaluate("() => globalThis.__drawn"))
        page.idle()
        sizes.append(page.bytes - before)
    before = page.bytes
    page.page.get_by_text("Other", exact=True).click()
    page.idle()
    return {
        "step_ms": round(statistics.median(times)),
        "step_bytes": round(statistics.median(sizes)),
        "rerun_bytes": page.bytes - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[3000, 50_000])
    parser.add_argument("--scrub", type=int, nargs="*", default=[3000, 20_000])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "/usr/bin/chromium")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    process, address = serve()
    rows: list[dict] = []
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=options.chromium, args=ARGS)
            for n in options.sizes:
                for what in ("ours", "stpyvista"):
                    query, ours = f"what={what}&n={n}", what == "ours"
                    page, cold = picture(browser, address, query, what)
                    page.context.close()
                    page, warm = picture(browser, address, query, what)  # the server is warm now
                    row = {"what": what, "n": n, "first_s": round(warm, 2), "cold_s": round(cold, 2)}
                    row |= field_steps(page, ours, options.steps)
                    if ours:
                        own = field_steps(page, True, options.steps, options.steps, own=True)
                        row["own_key_step_ms"] = own["step_ms"]
                    page.context.close()
                    rows.append(row)
                    print("  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
            for n in options.scrub:
                for views in (1, 4):
                    page, _ = picture(browser, address, f"what=scrub&n={n}&views={views}", "ours")
                    sent = page.sent
                    found = page.page.evaluate(SCRUB, options.seconds)
                    row = {"what": "scrub", "n": n, "views": views, "js_ms": round(found["js"], 1)}
                    row |= {"fps": round(found["fps"], 1), "proxy": found["proxy"], "frames_sent": page.sent - sent}
                    page.context.close()
                    rows.append(row)
                    print("  ".join(f"{k} {v}" for k, v in row.items()), flush=True)
            browser.close()
    finally:
        process.terminate()
        process.wait(20)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
