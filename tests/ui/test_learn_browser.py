"""Learn in a browser without outside hosts: formulas, keys, an answer, presenter mode on a small projector."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

import hsd
from hsd.ui.lessons import fields


def query(app) -> dict[str, list[str]]:
    return parse_qs(urlsplit(app.page.url).query)


def lesson_after(app, key: str) -> str:
    """The lesson in the URL after a key and one run."""
    before = query(app).get("lesson", ["1"])
    app.page.keyboard.press(key)
    app.page.wait_for_function(
        "before => (new URLSearchParams(location.search).get('lesson') || '1') !== before", arg=before[0]
    )
    app.settle()
    return query(app).get("lesson", ["1"])[0]


def test_a_lecture_with_keys_formulas_and_an_answer(app):
    app.page.set_viewport_size({"width": 1280, "height": 720})
    app.open("learn?lesson=1&form=1")
    assert app.page.locator(".katex").count() > 5 and app.page.locator(".katex-error").count() == 0
    app.page.evaluate("document.fonts.ready")
    loaded = app.page.evaluate("[...document.fonts].filter(f => f.status === 'loaded').map(f => f.family)")
    assert any("KaTeX_Math" in family for family in loaded)
    mesh = hsd.gallery("sphere", 162)
    field = app.page.get_by_placeholder("Your answer")
    field.fill(str(mesh.complex.n(1)))
    field.press("Enter")
    app.page.get_by_text(f"Right: {mesh.complex.n(1)}.").wait_for(timeout=20_000)
    app.page.locator("h4").click()
    assert lesson_after(app, "PageDown") == "2"
    app.page.locator(".stage").click(position={"x": 8, "y": 60})  # the picture has the focus now
    assert lesson_after(app, "PageDown") == "3"
    assert lesson_after(app, "PageUp") == "2"


@pytest.mark.full
def test_no_press_of_a_clicker_is_lost_however_quick(app):
    app.open("learn?lesson=8")
    app.page.locator("h4").click()
    for _ in range(5):
        app.page.keyboard.press("PageUp")
        app.page.wait_for_timeout(60)
    app.page.wait_for_function("new URLSearchParams(location.search).get('lesson') === '3'", timeout=20_000)
    app.settle()
    app.page.keyboard.press("PageDown")
    app.page.wait_for_function("new URLSearchParams(location.search).get('lesson') === '4'", timeout=20_000)
    app.settle()
    app.page.get_by_text("4. Hodge decomposition").first.wait_for(timeout=20_000)


def test_presenter_mode_shows_picture_and_slider_on_1280_by_720_and_keeps_the_field(app):
    app.page.set_viewport_size({"width": 1280, "height": 720})
    app.open("learn?lesson=5&holes=2&present=1&theme=projector")
    assert not app.page.locator("[data-testid=stSidebar]").is_visible()
    slider = app.page.locator(".hsd-viewer input[aria-label='Field']")
    stage, below = app.stage(), slider.bounding_box()
    assert stage["y"] >= 0 and stage["height"] > 280 and below["y"] + below["height"] <= 720
    betti = hsd.betti_numbers(fields.holed("torus", 2).complex)
    assert app.page.get_by_text(f"Harmonic 1-forms: {betti[1]}.").count() == 1
    assert int(slider.get_attribute("max")) == betti[1] - 1
    harmonic = hsd.HodgeSolver(fields.holed("torus", 2)).harmonic(1)
    assert np.allclose(harmonic.cycles.T @ harmonic.dual, np.eye(betti[1]), atol=1e-10)
    slider.evaluate("e => { e.value = 2; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); }")
    app.page.wait_for_function("new URLSearchParams(location.search).get('gamma') === '2'")
    app.settle()
    app.page.locator("h4").click()
    app.page.keyboard.press("PageDown")
    app.page.get_by_text("Question.").wait_for(timeout=20_000)
    app.page.keyboard.press("a")
    app.page.get_by_text(f"Answer: {betti[1]}. Each disc lowers χ by one").wait_for(timeout=20_000)
    assert "answer" not in app.page.url


@pytest.mark.full
def test_text_question_and_answer_of_every_lesson_are_in_view_on_1280_by_720_and_keys_do_not_scroll(app):
    app.page.set_viewport_size({"width": 1280, "height": 720})
    app.open("learn?lesson=6&present=1&theme=projector")
    words = "[data-testid=stMain] [data-testid=stColumn]:last-child"
    inside = f"[...document.querySelectorAll('{words} p, {words} .katex-display, {words} [data-testid=stAlert]')]"
    for step in range(6):  # the three longest lessons, text and question
        if step % 2:
            app.page.keyboard.press("a")
            app.page.locator("[data-testid=stAlert]").wait_for(timeout=20_000)
            app.settle()
        lowest = app.page.evaluate(f"Math.max(...{inside}.map(e => e.getBoundingClientRect().bottom))")
        scrolled = app.page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop")
        assert 300 < lowest <= 720 and scrolled == 0, (step, lowest, scrolled)
        if step < 5:
            before = app.page.url
            app.page.locator("h4").click()
            app.page.keyboard.press("PageDown")
            app.page.wait_for_function("before => location.href !== before", arg=before)
            app.settle()
