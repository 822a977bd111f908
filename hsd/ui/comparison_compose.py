"""Samples that the visitor composes: sources placed on the canvas, circulations and velocities on dials.

A composed sample is the record of a task (see ``hsd.data.tasks``), kept in the store under its content, so that links
carry it.  The functions on records are plain; those at the end are called by widgets and by the viewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from hsd.data.tasks import task as make_task
from hsd.data.tasks.base import Record, Task
from hsd.errors import HsdError, InputError
from hsd.ui import store
from hsd.ui.bound import bound_slider, fill, is_old
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import Place
from hsd.viz.scene import Tool

MOST = 60
"""Sources at most."""
STRENGTH = 3.0
DIALS = {
    "circulations": ("Circulation Γ{}", 0.6, "through the gap of strut {}"),
    "velocity": ("Velocity a{}", 0.0, "along harmonic field {}"),
    "offset": ("Constant in u(0)", 1.0, "added everywhere"),
    "monopole": ("Charge at the cavity", 2.0, "a shell of one sign around it"),
}
"""Entries of records that have dials: label, reach (0: that of the task), help."""
WORDS = {"magnetostatics": "blob of charge", "toroidal_transport": "blob", "torus_helmholtz": "blob of forcing"}
ERROR, SOURCE = "comparison/compose", "comparison:source"


def word(name: str) -> str:
    """What a source of the task is called."""
    return WORDS.get(name, "vortex")


def widths_of(task: Task) -> tuple[float, float]:
    """Least and largest width of a source."""
    config = task.config
    for name in ("widths", "blob_width"):
        if hasattr(config, name):
            low, high = getattr(config, name)
            return float(low), float(2 * high)
    if hasattr(config, "sharp"):
        return float(config.sharp[0]), float(config.broad[1])
    return float(config.width), float(3 * config.width)


def blank(task: Task) -> Record:
    """A record without sources; what is sampled beside them is zero, but for a transport's velocity."""
    record = {name: np.zeros_like(np.asarray(value, float)) for name, value in task.sample(0, 0).items()}
    drawn = task.sample(0, 0)
    for name in ("centres", "widths", "strengths"):
        record[name] = record[name][:0]
    for name in ("velocity", "shell_width", "wave_vectors"):
        if name in record:
            record[name] = np.asarray(drawn[name], float)
    return record


def with_source(record: Record, place, strength: float, width: float) -> Record:
    """One more source.  Raises InputError (too_many)."""
    if len(record["strengths"]) >= MOST:
        raise InputError(f"A sample has at most {MOST} sources; delete one first.", "too_many")
    return record | {
        "centres": np.vstack([record["centres"], np.asarray(place, float)]),
        "widths": np.append(record["widths"], width),
        "strengths": np.append(record["strengths"], strength),
    }


def without_source(record: Record, i: int) -> Record:
    return record | {name: np.delete(record[name], i, axis=0) for name in ("centres", "widths", "strengths")}


def changed_source(record: Record, i: int, **entries) -> Record:
    """Source i with other entries: centres, widths or strengths."""
    out = dict(record)
    for name, value in entries.items():
        out[name] = np.array(record[name], float)
        out[name][i] = value
    return out


def encode(task: str, record: Mapping[str, np.ndarray]) -> dict:
    """Plain values for the store."""
    return {"task": task, "record": {name: np.asarray(value, float).tolist() for name, value in record.items()}}


def decode(task: Task, given: object) -> Record:
    """A record from the store, checked against the task.  Raises InputError (bad_sample, non_finite_field)."""
    drawn = task.sample(0, 0)
    entries = given.get("record") if isinstance(given, dict) else None
    if not isinstance(entries, dict) or given.get("task") != task.name or set(entries) != set(drawn):
        raise InputError(f"The composed sample is none of {task.title}; compose it again.", "bad_sample")
    try:
        record = {name: np.array(value, dtype=float) for name, value in entries.items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"The composed sample cannot be read ({error}); compose it again.", "bad_sample") from error
    n = record["strengths"].size
    shapes = {"centres": (n, 3), "widths": (n,), "strengths": (n,)}
    for name, value in drawn.items():
        value = record[name].reshape(shapes.get(name, np.shape(value))) if record[name].size == 0 else record[name]
        record[name] = value
        if value.shape != shapes.get(name, np.shape(drawn[name])):
            raise InputError(f"{name} of the composed sample has shape {value.shape}; compose it again.", "bad_sample")
        if not np.isfinite(value).all():
            raise InputError(
                f"{name} of the composed sample is not finite everywhere; compose it again.", "non_finite_field"
            )
    if n > MOST or (record["widths"] <= 0).any():
        raise InputError(f"A composed sample has at most {MOST} sources of positive width.", "bad_sample")
    return record


def record_in_force(state: AppState, task: Task) -> Record:
    """The composed record, else the one that the task draws.  Raises StoreError (expired), InputError."""
    choice = state.comparison
    if choice.composed:
        try:
            return decode(task, store.get_json(choice.composed))
        except store.StoreError as error:
            raise store.StoreError("This link's composed sample is no longer kept here; compose it again.") from error
    return task.sample(state.seed, choice.sample)


# ---- called by widgets -------------------------------------------------------------------------------------------


def keep(record: Record, **more) -> None:
    """Make a record the sample in force."""
    name = get_state().comparison.task
    key = store.put_json(encode(name, record), "sample.json")
    update(**{"comparison.composed": key}, **{f"comparison.{k}": v for k, v in more.items()})


def edited(function) -> None:
    """Change the record in force by a function; an error becomes a sentence in the next run."""
    state = get_state()
    try:
        keep(*_pair(function(record_in_force(state, make_task(state.comparison.task)))))
    except HsdError as error:
        st.session_state[ERROR] = error.message


def _pair(result):
    return result if isinstance(result, tuple) else (result,)


def placed(event: Place) -> None:
    """A source was added, moved or deleted on the canvas."""
    choice = get_state().comparison
    if event.op == "add":

        def change(record):
            return with_source(record, event.position, choice.strength, choice.width)

        select = -1
    elif event.op == "move":
        select = int(event.id)

        def change(record):
            return changed_source(record, select, centres=event.position)
    else:
        select = -1

        def change(record):
            return without_source(record, int(event.id))

    edited(change)
    update(**{"comparison.selected": select})
    selected()


def adjusted(name: str) -> None:
    """The slider of "strength" or "width" was moved: the chosen source follows."""
    choice = get_state().comparison
    if choice.selected >= 0:
        edited(lambda r: changed_source(r, choice.selected, **{f"{name}s": getattr(choice, name)}))


def selected() -> None:
    """The sliders show the source that was chosen."""
    state = get_state()
    record, i = record_in_force(state, make_task(state.comparison.task)), state.comparison.selected
    if 0 <= i < len(record["strengths"]):
        strength = float(np.clip(record["strengths"][i], -STRENGTH, STRENGTH))
        update(**{"comparison.strength": strength, "comparison.width": float(record["widths"][i])})


def dialled(name: str, index: int, key: str) -> None:
    """A dial was turned."""
    if is_old(key):
        return

    def change(record):
        values = np.array(record[name], float)
        if values.ndim:
            values[index] = st.session_state[key]
            if name == "velocity":
                values = within(values, make_task(get_state().comparison.task).coefficient_range)
        else:
            values = np.array(float(st.session_state[key]))
        return record | {name: values}

    edited(change)


def within(values: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Velocity coefficients with |a / reach| ≤ 1, scaled down where they are longer."""
    length = float(np.linalg.norm(values / reach))
    return values / length * (1 - 1e-9) if length > 1 else values


def started(empty: bool) -> None:
    """Begin to compose, from the drawn sample or from one source alone."""
    state = get_state()
    task = make_task(state.comparison.task)
    if empty:
        first = task.sample(state.seed, state.comparison.sample)["centres"][0]
        keep(with_source(blank(task), first, 1.5, widths_of(task)[0] * 1.5), edit=True, selected=0)
        selected()
    else:
        keep(record_in_force(state, task), edit=True, selected=-1)


def ended() -> None:
    """Back to the sample that the task draws."""
    update(**{"comparison.composed": "", "comparison.selected": -1, "comparison.edit": False})


def tool(state: AppState) -> Tool:
    """What a click on the canvas does."""
    composing = state.comparison.composed and state.comparison.edit
    return Tool("place", word(state.comparison.task)) if composing else Tool()


def panel(state: AppState, task: Task, record: Record) -> None:
    """Widgets of a composed sample, in the sidebar."""
    if message := st.session_state.pop(ERROR, None):
        st.error(message)
    what, n = word(task.name), len(record["strengths"])
    left, right = st.columns(2)
    left.button("Start anew", key="comparison:blank", on_click=started, args=(True,), width="stretch")
    right.button("End", key="comparison:drawn", on_click=ended, width="stretch")
    s = "" if n == 1 else "s"
    st.caption(
        f"{n} source{s}. A click on the canvas adds a {what}, on whichever panel; drag one to move it, Delete "
        "removes it."
    )
    _source_widgets(state, task, record)
    for name in (name for name in DIALS if name in record):
        _dials(task, record, name)


def _source_widgets(state: AppState, task: Task, record: Record) -> None:
    n = len(record["strengths"])
    if state.comparison.selected >= n:
        update(**{"comparison.selected": -1})
    options = [-1, *range(n)]
    names = {-1: "the next one"} | {i: f"{i + 1}: {s:+.2f}" for i, s in enumerate(record["strengths"])}
    selected = get_state().comparison.selected
    fill(SOURCE, selected)
    st.selectbox(
        f"Strength and width of {word(task.name)}", options, options.index(selected), names.get,
        key=SOURCE, on_change=_chosen,
    )  # fmt: skip
    bound_slider("Strength", "comparison.strength", -STRENGTH, STRENGTH, 0.05, on_change=partial(adjusted, "strength"))
    low, high = widths_of(task)
    bound_slider("Width σ", "comparison.width", low, high, 0.005, on_change=partial(adjusted, "width"))
    if get_state().comparison.selected >= 0:
        i = get_state().comparison.selected
        st.button("Delete it", key="comparison:delete", on_click=_deleted, args=(i,))


def _chosen() -> None:
    if not is_old(SOURCE):
        update(**{"comparison.selected": int(st.session_state[SOURCE])})
        selected()


def _deleted(i: int) -> None:
    edited(lambda record: without_source(record, i))
    update(**{"comparison.selected": -1})


def _dials(task: Task, record: Record, name: str) -> None:
    label, reach, about = DIALS[name]
    values = np.atleast_1d(record[name])
    for i, value in enumerate(values):
        most = reach or float(np.atleast_1d(task.coefficient_range)[i])
        most = max(most, abs(float(value)))
        key = f"comparison:dial:{name}:{i}"
        fill(key, float(value))
        st.slider(
            label.format("₁₂₃₄"[i]), -most, most, float(value), step=most / 60, key=key, help=about.format(i + 1),
            on_change=dialled, args=(name, i, key),
        )  # fmt: skip
