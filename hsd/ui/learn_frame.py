"""Around a lesson: stepping, switches, the question with its check, links to hand out.

Keys: PageUp and PageDown (what a presenter's clicker sends) step through the lessons, A shows the answer.  They do
nothing while a slider or a field for text has the focus; the viewer has no keys of its own here, so turning the shape
does not take them away.  In presenter mode a lesson has two steps, its text and then its question, so that each is in
view whole on a small projector.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from hsd import __version__
from hsd.mesh.mesh import Mesh
from hsd.ui.bound import bound_radio, bound_segments
from hsd.ui.lessons import LESSONS, Lesson, Question, View
from hsd.ui.page import Domain, condition_sentence, device_words
from hsd.ui.state import AppState, get_state, leaves, read, to_text, update
from hsd.viz.scene import Scene

ANSWERS = "learn/answers"
"""Of the session: question → what was answered (None: nothing yet), and whether the answer was asked for."""
CHECKPOINTS = Path(__file__).resolve().parents[2] / "assets" / "checkpoints"
"""Where hsd.experiments.shipped keeps its files; read here without loading torch."""
KEYS = (
    "Keys: **PageUp** and **PageDown** (a presenter's clicker) step through the lessons, in presenter mode from the "
    "text to the question and on; **A** shows the answer."
)


def titles() -> dict[int, str]:
    """Number → numbered title of the lessons."""
    return {i: f"{i}. {lesson.title}" for i, lesson in enumerate(LESSONS, 1)}


def place(state: AppState, by: int = 0) -> tuple[int, bool] | None:
    """The lesson ``by`` steps (−1, 0, 1) from here, and whether its question is shown; None beyond the ends."""
    number, asked = state.learn.lesson, state.learn.asked
    if by and not state.present:
        number += by
    elif by:
        number, asked = number + by * (asked == (by > 0)), not asked
    return (number, asked) if 1 <= number <= len(LESSONS) else None


def stepped(by: int) -> None:
    """Go so many steps on or back, at most to the end."""
    for _ in range(min(abs(by), 2 * len(LESSONS))):
        if (there := place(get_state(), 1 if by > 0 else -1)) is not None:
            update(**{"learn.lesson": there[0], "learn.asked": there[1]})


def lesson_list() -> None:
    """The sidebar: all lessons, and the keys."""
    with st.sidebar:
        bound_radio("Lesson", "learn.lesson", list(titles()), titles().get)
        st.caption(KEYS)


def bar(lesson: Lesson) -> None:
    """One row: the switches of the lesson at the left, stepping at the right."""
    state = get_state()
    with st.container(key="learn-bar", horizontal=True, vertical_alignment="bottom"):
        for switch in lesson.switches:
            bound_segments(switch.label, f"learn.{switch.field}", list(switch.options), switch.options.get)
        with st.container(key="learn-steps", horizontal=True, horizontal_alignment="right"):
            for name, by, key in (("Back", -1, "PageUp"), ("Next", 1, "PageDown")):
                end = place(state, by) is None
                label = f"{name} :gray[{key}]"
                st.button(label, key=f"learn:{name}", on_click=stepped, args=(by,), disabled=end)


# ---- the question ------------------------------------------------------------------------------------------------


def answers() -> dict:
    """What this session has answered and seen; never in the URL, so that a link gives nothing away."""
    return st.session_state.setdefault(ANSWERS, {})


def given(question: Question) -> tuple[float | None, bool]:
    """The answer to a question so far, and whether the right one was asked for."""
    return answers().get(question.text, (None, False))


def _checked(question: Question, key: str) -> None:
    value = st.session_state[key]
    if value is not None:
        answers()[question.text] = (float(value), given(question)[1])


def _shown(question: Question) -> None:
    answers()[question.text] = (given(question)[0], True)


def _again(question: Question) -> None:
    answers().pop(question.text, None)


def ask(question: Question, number: int) -> None:
    """The question, and under it a field for the answer; the right one takes the field's place, so that it is in view
    wherever the question was."""
    st.markdown(f"**Question.** {question.text}")
    value, shown = given(question)
    right = value is not None and question.accepts(value)
    if right or shown:
        words = f"{question.words}. {question.why}"
        if right:
            st.success(f"Right: {words}")
        else:
            st.info(f"Answer: {words}")
        st.button("Ask again", key=f"learn:again:{number}", on_click=partial(_again, question))
        return
    if value is not None:
        st.warning("Not yet. Think again, or show the answer.")
    field(question, number, value)
    st.button("Show the answer", key=f"learn:show:{number}", shortcut="a", on_click=partial(_shown, question))


def field(question: Question, number: int, value: float | None) -> None:
    """Where the answer goes, with a button that checks it."""
    key = f"learn:answer:{number}:{question.text}"
    with st.form(f"learn:form:{number}", border=False):
        if question.choices:
            at = None if value is None else int(value)
            options = range(len(question.choices))
            st.radio("Answer", options, at, lambda i: question.choices[i], key=key, label_visibility="collapsed")
        else:
            label = f"Your answer{f' ({question.unit})' if question.unit else ''}"
            start = value if question.tolerance or value is None else int(value)
            step = None if question.tolerance else 1
            st.number_input(label, value=start, step=step, key=key, placeholder=label, label_visibility="collapsed")
        with st.container(horizontal=True):
            st.form_submit_button("Check", type="primary", on_click=partial(_checked, question, key))


# ---- links, words ------------------------------------------------------------------------------------------------


def link_of(state: AppState, view: View | None, **more: str) -> str:
    """What follows the question mark in a link to a lesson with its switches and sliders: nothing else of the state."""
    lesson = LESSONS[state.learn.lesson - 1]
    fields = {"lesson", *(s.field for s in lesson.switches), *(view.controls.values() if view else ())}
    parts = {}
    for leaf in leaves().values():
        head, _, name = leaf.path.partition(".")
        value = read(state, leaf.path)
        if head == "learn" and name in fields and (value != leaf.default or name == "lesson"):
            parts[leaf.url] = to_text(value)
    return urlencode({**parts, **more})


def links(state: AppState, view: View) -> Mapping[str, str]:
    """Whose link it is → the link."""
    here = (st.context.url or "learn").partition("?")[0]
    return {
        "For the class": f"{here}?{link_of(state, view)}",
        "For the projector (big type, no sidebar)": f"{here}?{link_of(state, view, theme='projector', present='1')}",
    }


def domain_of(state: AppState, view: View) -> Domain:
    """Header and provenance of the page."""
    mesh: Mesh = view.mesh
    sizes = [f"{n:,}".replace(",", "\u202f") for n in (mesh.complex.n_vertices, mesh.complex.n(mesh.dim))]
    record = (
        f"Mesh {mesh.name}, content {mesh.content_hash[:12]} · degree {view.k}, {view.bc}, star {view.star} · "
        f"{device_words()} · hsd {__version__}"
    )
    return Domain(mesh, (f"{mesh.name}: {sizes[0]} vertices", f"{sizes[1]} triangles"), record)


def conditions(view: View) -> str:
    """Boundary condition, star and sign convention in words."""
    return condition_sentence(view.mesh, view.k, view.bc, view.star)


def moved(view: View, values: Mapping[str, float]) -> None:
    """Sliders of the viewer were released."""
    for control, name in view.controls.items():
        if control in values:
            update(**{f"learn.{name}": round(values[control])})


def further(number: int) -> str:
    """One sentence on where to go on from a lesson, or ""."""
    if number < len(LESSONS):
        return ""
    folder = Path(os.environ.get("HSD_CHECKPOINTS") or CHECKPOINTS)
    if not any(folder.glob("*/*.safetensors")):
        return "Train operators on the page [Training](training); Model Comparison splits their errors by Hodge part."
    return "[Model Comparison](model_comparison) splits the error of each trained operator into its Hodge parts."


def without_keys(scene: Scene) -> Scene:
    """The scene with sliders that leave PageUp and PageDown to the page, also when the picture has the focus."""
    return replace(scene, controls=tuple(replace(c, keys=False) for c in scene.controls))
