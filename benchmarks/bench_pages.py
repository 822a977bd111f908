"""How long the model pages take on a running server, in a headless browser; prints a table and one JSON line.

    python benchmarks/bench_pages.py [--checkpoints FOLDER] [--task toroidal_transport] [--repeats 5]

First: nine models' first prediction on a warm server (torch imported by another task's page, modes in the disk cache,
checkpoints on disk), from the page's address to the drawn canvas.  Sample: the button Next, until the canvas of the
next sample is drawn; after a look of LOOK seconds, in which the server prepares it, and at once.  Shown: another view
of the same sample.  Seen: the new picture is there (under software rendering a coarse one); drawn: the fine one is.
Wall seconds, CPU seconds of the server (all its threads) beside them, because a busy machine shows in the first and
not in the second.  Run nothing beside it.
Without --checkpoints those that came with the program are compared.
"""

from __future__ import annotations

import argparse
import json
import os
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
sys.path.insert(0, str(ROOT))

from benchmarks.bench_viewer import ARGS  # noqa: E402
from hsd.models.registry import MODELS  # noqa: E402

DRAWN = ".hsd-viewer[data-state=rest]"
LOOK = 3
CLOCK = """
  window.__frames = [];
  let clicked = 0, frames = 0;
  document.addEventListener('click', () => { clicked = performance.now(); window.__frames = []; }, true);
  const tick = () => {
    const n = window.__hsd?.frames ?? 0;
    if (clicked && n !== frames) window.__frames.push(performance.now() - clicked);
    frames = n;
    requestAnimationFrame(tick);
  };
  tick();
"""
"""Times of the frames since the last click, in ms; none where a page was opened by its address."""
IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


def serve(checkpoints: str | None, cache: Path) -> tuple[subprocess.Popen, str]:
    """The app on a free port, with its own store."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port),
               "--server.headless", "true", "--browser.gatherUsageStats", "false"]  # fmt: skip
    environment = {**os.environ, "HSD_CACHE": str(cache), "HSD_STORE": tempfile.mkdtemp()}
    if checkpoints:
        environment["HSD_CHECKPOINTS"] = checkpoints
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, **quiet)
    address = f"http://localhost:{port}"
    for _ in range(240):
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return process, address
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    process.kill()
    raise SystemExit("The server did not start.")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Times one action."""

    def __init__(self, page, pid: int):
        self.page, self.pid = page, pid

    def timed(self, act, words: str) -> tuple[float, float, float]:
        """(seen, drawn, CPU): until the first frame, until the last one.  words: text of the canvas that shows that the
        new picture is there."""
        wall, cpu = time.perf_counter(), cpu_seconds(self.pid)
        act()
        self.page.locator(".hsd-viewer", has_text=words).first.wait_for(timeout=120_000)
        self.page.locator(DRAWN).first.wait_for(timeout=120_000)
        opened = time.perf_counter() - wall
        self.page.locator(IDLE).wait_for(timeout=120_000)
        cpu = cpu_seconds(self.pid) - cpu
        times = self.page.evaluate("window.__frames")
        return (times[0] / 1000, times[-1] / 1000, cpu) if times else (opened, opened, cpu)


def measure(page, pid: int, address: str, task: str, repeats: int) -> dict[str, tuple[float, ...]]:
    """Name of the step → median seconds: seen, drawn, CPU."""
    watch, other = Watch(page, pid), "torus_helmholtz" if task != "torus_helmholtz" else "toroidal_transport"
    models = "~".join(MODELS)
    page.goto(f"{address}/model_comparison?problem={other}&models=none")
    page.locator(DRAWN).first.wait_for(timeout=180_000)
    page.locator(IDLE).wait_for(timeout=120_000)
    out = {}
    link = f"{address}/model_comparison?problem={task}&models={models}&case="
    out["nine models, first prediction"] = watch.timed(lambda: page.goto(link + "0"), "Sample 0 of seed")
    n = page.locator(".hsd-viewer .title").count()
    case = 0
    for name, pause in {"next sample, after a look": 1000 * LOOK, "next sample, at once": 0}.items():
        steps = []
        for _ in range(repeats):
            case += 1
            page.wait_for_timeout(pause)
            button = page.get_by_role("button", name="Next")
            steps.append(watch.timed(button.click, f"Sample {case} of seed"))
        out[name] = _median(steps)
    page.wait_for_timeout(1000 * LOOK)
    views = {"A | B": "A / B", "Maps": page.locator(".hsd-viewer .title").nth(n // 2 - 1).inner_text()}
    shown = {label: [] for label in views}
    for _ in range(max(repeats // 2, 1) + 1):
        for label, words in views.items():
            button = page.get_by_role("radio", name=label, exact=True)
            shown[label].append(watch.timed(button.click, words))
            page.wait_for_timeout(300)
    out["another view, first time"] = shown["A | B"][0]
    for label, runs in shown.items():
        out[f"to {label}, again"] = _median(runs[1:])
    out["panels"] = (float(n),)
    return out


def _median(runs: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.median(column) for column in zip(*runs))


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoints")
    parser.add_argument("--task", default="toroidal_transport")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="a cache folder that has the modes already (default: a new one)")
    options = parser.parse_args()
    cache = options.cache or Path(tempfile.mkdtemp())
    results = {}
    for run in ("cold", "warm"):  # the first server fills the disk cache, the second is measured
        if run == "cold" and options.cache:
            continue
        process, address = serve(options.checkpoints, cache)
        try:
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS)
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.add_init_script(CLOCK)
                results = measure(page, process.pid, address, options.task, 1 if run == "cold" else options.repeats)
                browser.close()
        finally:
            process.terminate()
            process.wait(20)
    load = os.getloadavg()[0]
    panels = int(results.pop("panels")[0])
    sys.stdout.write(f"{options.task}, {panels} panels, load average {load:.1f}\n\n")
    sys.stdout.write("| step | seen, s | drawn, s | CPU of the server, s |\n|---|---|---|---|\n")
    for name, row in results.items():
        sys.stdout.write(f"| {name} | {' | '.join(f'{x:.2f}' for x in row)} |\n")
    sys.stdout.write(json.dumps({"task": options.task, "load": load, **results}) + "\n")


if __name__ == "__main__":
    main()
