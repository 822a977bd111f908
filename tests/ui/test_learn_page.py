"""The page Learn: every lesson opens, answers are checked against hsd, links carry the lesson and never an answer."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from hsd.ui.learn_frame import link_of
from hsd.ui.lessons import LESSONS
from hsd.ui.state import AppState, changed, from_url

ROOT = Path(__file__).resolve().parents[2]


def opened(**parameters) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "learn.py"), default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = str(value)
    return app.run()


def text(app: AppTest) -> str:
    return "\n".join(e.value for kind in (app.markdown, app.caption, app.success, app.info) for e in kind)


def click(app: AppTest, label: str) -> AppTest:
    return next(b for b in app.button if b.label.partition(" :")[0] == label).click().run()


def question_of(lesson: int, **state):
    full = changed(AppState(), {f"learn.{name}": value for name, value in state.items()})
    return LESSONS[lesson - 1].show(full.learn, "auto").question


@pytest.mark.parametrize("number", range(1, 9))
def test_a_lesson_opens_with_its_text_formula_question_and_lines(number):
    app = opened(lesson=number)
    assert not app.exception and not app.error
    lesson, said = LESSONS[number - 1], text(app)
    assert f"{number}. {lesson.title}" in said and lesson.text in said
    assert question_of(number).text in said and "Δ = dδ + δd is positive" in said
    assert all(line in app.latex[0].value for line in lesson.formulas)
    assert "import hsd" in app.code[0].value
    assert question_of(number).why not in said  # not before it was answered


def test_stepping_goes_through_all_lessons_and_stops_at_the_ends():
    app = opened()
    assert next(b for b in app.button if b.label.startswith("Back")).disabled
    click(app, "Next")
    assert app.query_params["lesson"] in ("2", ["2"]) and "2. d and δ" in text(app)
    click(app, "Back")
    assert "1. What is a form" in text(app)
    app = opened(lesson=8)
    assert next(b for b in app.button if b.label.startswith("Next")).disabled


def test_in_presenter_mode_the_question_is_a_step_of_its_own_and_the_way_back_is_the_same():
    app, seen = opened(present="1"), []
    while True:
        said, number = text(app), app.session_state["_app_state"].learn.lesson
        lesson, question = LESSONS[number - 1], question_of(number)
        assert f"{number}. {lesson.title}" in said and (lesson.text in said) != (question.text in said)
        seen.append((number, question.text in said))
        on = next(b for b in app.button if b.label.startswith("Next"))
        if on.disabled:
            break
        on.click().run()
    assert seen == [(n, asked) for n in range(1, 9) for asked in (False, True)]
    back = []
    while not next(b for b in app.button if b.label.startswith("Back")).disabled:
        click(app, "Back")
        state = app.session_state["_app_state"].learn
        back.append((state.lesson, state.asked))
    assert back == seen[-2::-1]
    assert "question" not in link_of(AppState(), None)


def test_a_number_is_checked_against_the_library_and_explained():
    app, question = opened(lesson=1), question_of(1)
    app.number_input[0].set_value(int(question.answer) + 1)
    click(app, "Check")
    assert len(app.warning) == 1 and question.why not in text(app)
    app.number_input[0].set_value(int(question.answer))
    click(app, "Check")
    assert len(app.warning) == 0 and question.why in app.success[0].value
    click(app, "Next")
    click(app, "Back")  # what was answered stays in the session
    assert question.why in app.success[0].value
    assert not app.number_input  # the answer stands where the field was
    click(app, "Ask again")
    assert app.number_input and not app.success
    assert not any("480" in str(value) for value in app.query_params.values())


def test_a_choice_is_checked_and_an_answer_can_be_asked_for():
    app, question = opened(lesson=6), question_of(6)
    choose = next(r for r in app.radio if r.label == "Answer")
    choose.set_value(0)
    click(app, "Check")
    assert len(app.warning) == 1
    click(app, "Show the answer")
    assert question.words in app.info[-1].value and question.why in app.info[-1].value
    assert not app.warning and not any(r.label == "Answer" for r in app.radio)


def test_the_answer_belongs_to_the_question_that_the_switches_ask():
    app = opened(lesson=2, ell=2)
    app.number_input[0].set_value(6.0)
    click(app, "Check")
    assert "ℓ(ℓ + 1) = 6" in app.success[0].value
    other = opened(lesson=2, ell=3)
    assert question_of(2, ell=3).text in text(other) and not other.success


def test_a_link_holds_the_lesson_its_switches_and_sliders_and_opens_the_same():
    state = changed(
        AppState(), {"learn.lesson": 5, "learn.holes": 2, "learn.field": 1, "learn.ell": 3, "theme": "dark", "k": 0}
    )
    view = LESSONS[4].show(state.learn, "auto")
    link = link_of(state, view)
    assert parse_qs(link) == {"lesson": ["5"], "holes": ["2"], "gamma": ["1"]}
    again, notes = from_url(dict(parse_qsl(link)))
    assert notes == () and again.learn.holes == 2 and again.learn.field == 1 and again.theme == "auto"
    app = opened(**dict(parse_qsl(link_of(state, view, present="1"))))
    assert not app.exception and "torus with 2 holes" in " ".join(e.value for e in (*app.markdown, *app.caption))
    assert app.session_state["_app_state"].present


def test_an_impossible_lesson_in_a_link_is_one_sentence():
    app = opened(lesson=9)
    assert not app.exception and "lesson='9'" in app.warning[0].value
    assert "1. What is a form" in text(app)
