"""Harmonic Modes and Spectral Energy in a browser: scrubbing without the server, plot clicks, truncation, reloads."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import hsd
from hsd.dec.preset_fields import preset_field
from hsd.hodge.spectral_energy import by_eigenvalue, spectral_energy
from hsd.viz.build import surface_of

MODES = "harmonic_modes?mesh=torus&n=400&k=1&modes=12"
ENERGY = "spectral_energy?mesh=torus&n=400&k=0&modes=12&source=waves&seed=2&cut=4"


def slider(app, label: str):
    return app.page.locator(f".hsd-viewer input[aria-label='{label}']")


def output(app, label: str) -> str:
    """The text beside a slider of the viewer."""
    return app.page.evaluate(
        "label => { const rows = [...Object.values(__hsd.views)[0].controlsElement.querySelectorAll('.row')];"
        " return rows.find(r => r.querySelector('label').textContent === label).querySelector('output').textContent; }",
        label,
    )


def query(app) -> dict[str, list[str]]:
    return parse_qs(urlsplit(app.page.url).query)


def basis_of(k: int):
    return hsd.lowest_modes(hsd.gallery("torus", 400), k, 12, use_cache=False)


def test_scrubbing_modes_asks_nothing_and_release_writes_the_url(app):
    app.open(MODES)
    basis = basis_of(1)
    order = by_eigenvalue(basis)
    box = slider(app, "Mode").bounding_box()

    def at(f: float) -> tuple[float, float]:
        return box["x"] + f * box["width"], box["y"] + box["height"] / 2

    sent, frames = app.sent, app.frames()
    app.page.mouse.move(*at(0.05))
    app.page.mouse.down()
    for f in np.linspace(0.05, 0.8, 12):
        app.page.mouse.move(*at(f))
        app.page.wait_for_timeout(30)
    assert app.sent == sent and app.frames() > frames + 4
    app.page.mouse.up()
    app.settle()
    assert app.sent > sent
    number = int(query(app)["mode"][0])
    assert number > 5
    assert output(app, "Mode") == f"{number}: λ = {basis.eigenvalues[order[number]]:.5g}, {basis.part[order[number]]}"
    app.page.reload()
    app.ready()
    assert output(app, "Mode").startswith(f"{number}: ")


@pytest.mark.full
def test_arrow_keys_step_the_mode_and_a_click_in_the_plot_goes_there(app):
    app.open(MODES)
    app.page.locator(".stage").click(position={"x": 5, "y": 5})
    app.page.locator(".stage").press("ArrowRight")
    app.page.wait_for_timeout(500)
    app.settle()
    assert query(app)["mode"] == ["1"] and output(app, "Mode").startswith("1: ")
    basis = basis_of(1)
    wanted = int(np.flatnonzero(basis.part[by_eigenvalue(basis)] == "exact")[0])
    camera = app.cameras()
    mark = app.page.locator(".js-plotly-plot .scatterlayer .trace").nth(1).locator("path.point").first
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    app.page.mouse.move(box["x"] + box["width"] / 2 - 3, box["y"] + box["height"] / 2)
    app.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    app.page.wait_for_timeout(200)
    app.page.mouse.down()
    app.page.mouse.up()
    app.page.wait_for_timeout(600)
    app.settle()
    assert query(app)["mode"] == [str(wanted)]
    assert output(app, "Mode").startswith(f"{wanted}: ")
    assert app.cameras() == camera


@pytest.mark.full
def test_a_block_is_turned_in_the_page(app):
    app.open(MODES + "&turn=1&mode=2")
    sent = app.sent
    slider(app, "Rotation θ").evaluate(
        "e => { for (const v of [3, 9, 18]) { e.value = v; e.dispatchEvent(new Event('input')); } }"
    )
    app.page.wait_for_timeout(300)
    assert app.sent == sent and output(app, "Rotation θ") == "18: θ = 90°"
    assert app.page.get_by_text("Every rotation of them is an equally good mode").count() == 1


def test_truncation_is_scrubbed_in_the_page_with_the_errors_of_the_library(app):
    app.open(ENERGY)
    energy = spectral_energy(basis_of(0), preset_field(hsd.gallery("torus", 400), 0, "waves", 2))
    drawn, sent = surface_of(hsd.gallery("torus", 400)).vertex_of, app.sent
    for m in (1, 7, 12):
        slider(app, "Modes kept").evaluate("(e, m) => { e.value = m; e.dispatchEvent(new Event('input')); }", m)
        expected = energy.reconstruct(m)[drawn]

        def is_drawn(expected=expected) -> bool:
            values = np.array(app.js("Array.from(v.panels[1].values)"))
            return np.abs(values - expected).max() < 2e-3 * max(np.abs(expected).max(), 1e-9)

        assert app.until(is_drawn)
        assert output(app, "Modes kept") == f"{m}: λ ≤ {energy.eigenvalues[m - 1]:.4g}, error {energy.errors[m]:.3g}"
    assert app.sent == sent
    slider(app, "Modes kept").evaluate("e => e.dispatchEvent(new Event('change'))")
    app.page.wait_for_timeout(300)
    app.settle()
    assert query(app)["cut"] == ["12"]
    app.page.get_by_text(f"With 12 of 12 modes the relative error is {energy.errors[12]:.6g}").wait_for(timeout=10_000)
