"""Pictures of every page, light and projector: ``python docs/make_screenshots.py [NAME …]`` (needs chromium).

Without names all are drawn, else those that begin with one of them.  The server listens on this machine only and every
outside host is blocked.  Files: docs/screens/NAME-SIZE-THEME.png.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs" / "screens"
PORT = 8899
PAGES = {
    "mesh": "?shape=torus",
    "harmonic_modes": "harmonic_modes",
    "harmonic_modes_tets": "harmonic_modes?mesh=ball_with_cavity&k=2&loops=0",
    "hodge_decomposition": "hodge_decomposition",
    "spectral_energy": "spectral_energy",
}
NEW = {
    "model_comparison": "model_comparison?problem=external_aerodynamics",
    "model_comparison_pair": "model_comparison?problem=toroidal_transport&compare=pair",
    "model_comparison_steps": "model_comparison?problem=toroidal_transport&compare=time&steps=3&step2=3",
    "level_sets": "level_sets?problem=toroidal_transport",
    "spectral_energy_models": "spectral_energy?of=models&problem=external_aerodynamics",
    "training": "training",
    "benchmarks": "benchmarks",
    "learn": "learn?lesson=5",
    "learn_presented": "learn?lesson=4&present=1",
    "learn_question": "learn?lesson=4&present=1&question=1",
}
"""One size each."""
SIZES = ((1280, 720), (1920, 1080))
TASKS = {
    "external_aerodynamics": "split=making",
    "magnetostatics": "sample=2",
    "toroidal_transport": "sample=0&step=5",
    "ellipsoid_aerodynamics": "split=making",
    "torus_helmholtz": "split=hodge&sample=1",
    "vorticity_dynamics": "sample=3&step=10",
}
PROJECTED = ("magnetostatics", "vorticity_dynamics")
VIEW, TABLE = ".hsd-viewer[data-state=rest]", "[data-testid=stDataFrame]"
ARGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def pictures():
    """(name, path, size, theme) of all pictures."""
    for name, path in PAGES.items():
        for size in SIZES:
            for theme in ("light", "projector"):
                yield name, path, size, theme
    for name, path in NEW.items():
        for theme in ("light", "projector"):
            yield name, path, SIZES[0], theme
    for name, options in TASKS.items():
        for theme in ("light", "projector") if name in PROJECTED else ("light",):
            yield f"tasks-{name}", f"tasks?task={name}&{options}", SIZES[0], theme


def main(names: list[str]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(PORT)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{PORT}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=2).close()
                break
            except OSError:
                time.sleep(0.25)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS)
            for name, path, size, theme in pictures():
                if not names or name.startswith(tuple(names)):
                    shoot(browser, f"{address}/{path}", theme, size, name)
            browser.close()
    finally:
        server.terminate()
        server.wait(20)


def shoot(browser, url: str, theme: str, size: tuple[int, int], name: str) -> None:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.route("**/*", lambda route: route.continue_() if "localhost" in route.request.url else route.abort())
    start = time.perf_counter()
    page.goto(url + ("&" if "?" in url else "?") + f"theme={theme}")
    there = page.locator(TABLE if name == "benchmarks" else VIEW).first
    there.wait_for(timeout=60000)
    first = time.perf_counter() - start
    page.wait_for_timeout(2500)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=60000)
    there.wait_for(timeout=60000)
    page.wait_for_timeout(1000)
    page.screenshot(path=OUT / f"{name}-{size[0]}x{size[1]}-{theme}.png")
    sys.stdout.write(f"{name} {size[0]}x{size[1]} {theme}: at rest after {first:.1f} s\n")
    page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
