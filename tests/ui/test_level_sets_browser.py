"""Level Sets and spectra of models in a browser: the threshold moves in the page, β0 and pictures are those of hsd."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.tasks import task
from hsd.hodge.spectral_energy import by_eigenvalue
from hsd.metrics.levels import merge_tree
from hsd.metrics.yardstick import default_basis
from hsd.training.predictor import load
from hsd.viz.build import surface_of
from tests.ui.checkpoints import NODES
from tests.ui.conftest import MODEL_LABELS as LABELS
from tests.ui.conftest import MODEL_TASK as NAME
from tests.ui.test_spectral_browser import output, slider

CASE = 2


def fields(root) -> tuple[Ground, list[np.ndarray]]:
    """Truth and predictions (n_vertices,) by hsd itself."""
    problem = task(NAME)
    ground = Ground(problem.mesh(NODES))
    made = problem.realise([problem.sample(0, CASE)], ground)
    out = [made.target[0]]
    for label in LABELS:
        predictor = load(root / NAME / f"{label}.safetensors", ground.mesh)
        fields = predictor(predictor.domain, made.inputs[problem.inputs[0].name], made.coefficients)
        out.append(fields.nodes[0, :, 0])
    return ground, out


def opened(page, path: str):
    """The page once its first picture is drawn: a fresh server loads torch before it."""
    page.page.goto(f"{page.address}/{path}")
    page.page.locator(".hsd-viewer[data-state=rest]").first.wait_for(timeout=240_000)
    return page.settle()


def scrub(page, label: str, value: int, release: bool = False) -> None:
    """Move a slider of the viewer; the page answers before it is released."""
    script = "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', { bubbles: true })); }"
    slider(page, label).evaluate(script, value)
    if release:
        slider(page, label).evaluate("e => e.dispatchEvent(new Event('change', { bubbles: true }))")
    page.page.wait_for_timeout(350)


def titles(page) -> list[str]:
    return page.page.locator(".hsd-viewer .title").all_inner_texts()


def drawn_colours(page, panel: int) -> set[tuple[int, ...]]:
    """Colours of the components that a panel draws now."""
    part = f"v.panels[{panel}].drawing.parts.get('super')"
    rgb = page.js(f"{part} ? Array.from({part}.data.getPointData().getScalars().getData()) : []")
    return {tuple(row) for row in np.array(rgb, int).reshape(-1, 3).tolist()}


def test_the_threshold_moves_in_the_page_with_beta0_and_components_of_hsd(model_page, model_server):
    opened(model_page, f"level_sets?models={'~'.join(LABELS)}&case={CASE}")
    ground, values = fields(model_server[1])
    edges, (low, high) = ground.mesh.complex.simplices(1), (values[0].min(), values[0].max())
    trees = [merge_tree(u, edges) for u in values]
    sent, seen = model_page.sent, set()
    for step in (20, 40, 53):
        scrub(model_page, "Threshold, %", step)
        level = low + step / 100 * (high - low)
        shown = titles(model_page)
        for panel, (u, tree) in enumerate(zip(values, trees)):
            labels = tree.labels(u, level)
            n = len(set(labels[labels >= 0].tolist()))
            assert shown[panel].endswith(f"· β0 = {n}"), (shown, step)
            assert len(drawn_colours(model_page, panel)) <= n and bool(drawn_colours(model_page, panel)) <= bool(n)
        seen.add(output(model_page, "Threshold, %"))
    assert seen == {f"{s}: u ≥ {low + s / 100 * (high - low):.4g}" for s in (20, 40, 53)}
    assert model_page.sent == sent  # nothing was asked of the server while the threshold moved
    scrub(model_page, "Threshold, %", 53, release=True)
    model_page.page.get_by_text("At 53 %: t =").wait_for(timeout=15_000)
    assert parse_qs(urlsplit(model_page.page.url).query)["level"] == ["53"]
    # the search over the test set, kept on disk, and the jump
    model_page.page.get_by_role("button", name="Find a disagreement").click()
    model_page.page.get_by_text("test samples of Transport on a torus").wait_for(timeout=60_000)
    model_page.settle()
    words = model_page.page.locator("[data-testid=stMain]").inner_text()
    assert "of 4 samples" in words or "these 4 samples" in words


@pytest.mark.full
def test_titles_of_small_panels_are_set_smaller_and_not_cut_in_the_projector_theme(model_page):
    model_page.page.set_viewport_size({"width": 1100, "height": 720})
    smallest = 99.0
    for path in ("level_sets", "model_comparison"):
        opened(model_page, f"{path}?models={'~'.join(LABELS)}&case={CASE}&theme=projector")
        found = model_page.page.locator(".hsd-viewer .title").evaluate_all(
            "all => all.map((e) => [e.scrollWidth - e.clientWidth, parseFloat(getComputedStyle(e).fontSize)])"
        )
        assert len(found) > len(LABELS) and max(over for over, _ in found) <= 1, (path, found)
        smallest = min(smallest, *(size for _, size in found))
    assert 12 <= smallest < 18, smallest


@pytest.mark.full
def test_spectra_are_cut_in_the_page_to_the_truncated_fields_of_hsd(model_page, model_server):
    opened(model_page, f"spectral_energy?of=models&models={'~'.join(LABELS)}&case={CASE}&kept=20")
    ground, values = fields(model_server[1])
    basis = default_basis(ground, 0, 128)
    order, vertex_of = by_eigenvalue(basis)[:20], surface_of(ground.mesh).vertex_of
    for panel, u in enumerate(values):
        c = basis.star_modes[:, order].T @ u
        expected = (basis.modes[:, order] @ c)[vertex_of]
        shown = np.array(model_page.js(f"Array.from(v.panels[{panel}].values)"))
        assert np.abs(shown - expected).max() < 3e-3 * np.abs(values[0]).max()
    assert output(model_page, "Modes kept").startswith("20: λ ≤ ")
    sent, before = model_page.sent, model_page.js("Array.from(v.panels[0].values)")
    scrub(model_page, "Modes kept", 21)
    assert (
        output(model_page, "Modes kept").startswith("21: ")
        and model_page.js("Array.from(v.panels[0].values)") != before
    )
    assert model_page.sent == sent  # nothing was asked of the server while the number of modes moved
    model_page.settle()
    button = model_page.page.get_by_role("button", name="Compute the spectra")
    if button.count():  # what Level Sets has computed is on disk for this page too
        button.click()
    model_page.page.get_by_text("Median over the samples").wait_for(timeout=60_000)
