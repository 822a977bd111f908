"""Learn: eight short lessons on forms, each with a live view, a question and a link to hand out."""

from functools import partial

import streamlit as st

from hsd.ui import learn_frame as frame
from hsd.ui.browser import slides
from hsd.ui.lessons import LESSONS
from hsd.ui.page import page
from hsd.ui.state import get_state
from hsd.ui.viewer import show

memory = {}
HEIGHT = {False: 340, True: 330}
STAY = """
[data-testid="stColumn"]:has(.st-key-learn-view) { position: sticky; top: .5rem; align-self: flex-start; }
.st-key-learn-steps { width: auto; margin-left: auto; }
"""
"""The picture stays in view while text and question scroll."""
STAGE = """
.st-key-head { position: absolute; right: 0; top: 1.7rem; width: 6rem !important; z-index: 5; }
.st-key-head > *:not(:last-child) { display: none !important; }
.st-key-learn-bar { margin-top: -2.6rem; padding-right: 6rem; }
"""
"""Presenter mode: the lesson has the room of the page's title."""


def domain(state):
    """The view of the lesson is computed before the header, which speaks of its mesh."""
    memory["view"] = LESSONS[state.learn.lesson - 1].show(state.learn, state.theme)
    return frame.domain_of(state, memory["view"])


def words(state, lesson, number: int) -> None:
    """The text and then the question; in presenter mode one of them."""
    st.markdown(f"#### {frame.titles()[number]}")
    if not (state.present and state.learn.asked):
        st.markdown(lesson.text)
        st.latex(r"\begin{gathered}" + r"\\".join(lesson.formulas) + r"\end{gathered}")
    if state.learn.asked or not state.present:
        frame.ask(memory["view"].question, number)
        if frame.further(number):
            st.markdown(frame.further(number))


def below(state, view) -> None:
    code, link = st.tabs(["Code", "Link to hand out"], key="learn/tabs", on_change="rerun")
    if code.open:
        code.code(view.code, language="python")
    if link.open:
        for name, address in frame.links(state, view).items():
            link.caption(f"{name}: lesson, switches and sliders; never an answer.")
            link.code(address, language=None)


def main() -> None:
    frame.lesson_list()
    state, view = get_state(), memory["view"]
    number = state.learn.lesson
    lesson = LESSONS[number - 1]
    frame.bar(lesson)
    left, right = st.columns([3, 2], gap="medium")
    slides(f"{number} {state.learn.asked}", {"PageUp": -1, "PageDown": 1}, frame.stepped)
    st.html(f"<style>{STAY}{STAGE if state.present else ''}</style>")
    with left, st.container(key="learn-view"):
        scene = frame.without_keys(view.scene)
        show(scene, f"learn/{number}", height=HEIGHT[state.present], on_controls=partial(frame.moved, view))
        st.markdown(view.numbers)
        st.caption(frame.conditions(view))
        if not state.present:
            below(state, view)
    with right:
        words(state, lesson, number)


with page("Learn", "", domain):
    main()
