"""The state of the app: one frozen record over all pages, equal after page changes and reloads, carried by the URL.

    state = get_state()                       # AppState
    update(k=2, **{"modes.mode": 5})          # by dotted path; the URL follows
    k = bound_selectbox("Degree", "k", [0, 1, 2])   # a widget bound to a field, returns its value

A page reads ``get_state()``, never a widget's own key.  The part of one page is a frozen dataclass of
:mod:`hsd.ui.state_parts` and one field of AppState.  Fields are bool, int, float, str or tuples of str; each has a
default, a short name in the URL, and ``choices`` or a range where these are known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from math import inf, isfinite
from time import monotonic

import streamlit as st

from hsd.errors import UnknownNameError
from hsd.ui.state_parts import (
    BenchmarksState,
    ComparisonState,
    DecompositionState,
    LearnState,
    LevelsState,
    MeshState,
    ModesState,
    SpectrumState,
    TasksState,
    TrainingState,
    item,
)

_STATE, _URL, _NOTES = "_app_state", "_app_state/url", "_app_state/notes"
SETTLED = 1.0
"""Seconds from the end of a whole run after which the browser knows the URL that the run sent; an older one coming back
then means its Back key."""


@dataclass(frozen=True)
class AppState:
    """Everything that a link to a picture carries.

    k : degree of the forms;  bc : boundary condition;  star : Hodge star;  n_modes : modes asked for, of all parts
    field : key in the store of the composed or uploaded field ("" : the page's preset);  seed : of everything random
    theme : "auto" follows the browser;  present : big type, no sidebar
    own_runs : ids of the visitor's own training runs that Model Comparison offers; the checkpoint of a run is the file
               that hsd.training.jobs.checkpoint_of names
    """

    mesh: MeshState = dataclasses.field(default_factory=MeshState)
    k: int = item(1, "k", low=0, high=3)
    bc: str = item("absolute", "bc", ("absolute", "relative"))
    star: str = item("galerkin", "star", ("galerkin", "diagonal", "unit"))
    n_modes: int = item(32, "modes", low=1, high=2000)
    field: str = item("", "field")
    seed: int = item(0, "seed", low=0, high=2**31 - 1)
    theme: str = item("auto", "theme", ("auto", "light", "dark", "projector"))
    present: bool = item(False, "present")
    own_runs: tuple[str, ...] = item((), "runs")
    modes: ModesState = dataclasses.field(default_factory=ModesState)
    decomposition: DecompositionState = dataclasses.field(default_factory=DecompositionState)
    spectrum: SpectrumState = dataclasses.field(default_factory=SpectrumState)
    tasks: TasksState = dataclasses.field(default_factory=TasksState)
    training: TrainingState = dataclasses.field(default_factory=TrainingState)
    comparison: ComparisonState = dataclasses.field(default_factory=ComparisonState)
    levels: LevelsState = dataclasses.field(default_factory=LevelsState)
    benchmarks: BenchmarksState = dataclasses.field(default_factory=BenchmarksState)
    learn: LearnState = dataclasses.field(default_factory=LearnState)


# ---- paths -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leaf:
    """One field of the state, wherever it is nested."""

    path: str
    url: str
    default: object
    choices: tuple
    low: float | None
    high: float | None


@cache
def leaves() -> dict[str, Leaf]:
    """All fields by dotted path."""

    def walk(record, prefix: str):
        for f in fields(record):
            path, value = prefix + f.name, getattr(record, f.name)
            if is_dataclass(value):
                yield from walk(value, path + ".")
            else:
                m = f.metadata
                yield Leaf(path, m["url"] or path, value, m["choices"], m["low"], m["high"])

    return {leaf.path: leaf for leaf in walk(AppState(), "")}


def read(state: AppState, path: str):
    """The value at a dotted path."""
    value = state
    for name in path.split("."):
        value = getattr(value, name)
    return value


def changed(state: AppState, changes: Mapping[str, object]) -> AppState:
    """The state with other values at dotted paths (or a whole part, ``mesh=``).  Raises UnknownNameError."""
    records = {f.name for f in fields(state)}
    for path, value in changes.items():
        if path not in leaves() and path not in records:
            raise UnknownNameError("field of the state", path, leaves())
        head, _, rest = path.partition(".")
        state = replace(state, **{head: replace(getattr(state, head), **{rest: value}) if rest else value})
    return state


# ---- URL ---------------------------------------------------------------------------------------------------------


def to_text(value) -> str:
    """A value as it stands in the URL."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return "~".join(map(to_text, value))
    return repr(value) if isinstance(value, float) else str(value)


def from_text(leaf: Leaf, text: str):
    """The value that a text of the URL stands for, or None when it is none."""
    default = leaf.default
    if isinstance(default, bool):
        return {"1": True, "0": False, "true": True, "false": False}.get(text.lower())
    if isinstance(default, tuple):
        return tuple(part for part in text.split("~") if part)
    if isinstance(default, int | float):
        try:
            value = type(default)(text)
        except ValueError:
            return None
        inside = isfinite(value) and (leaf.low is None or leaf.low <= value <= leaf.high)
        return value if inside else None
    return text if not leaf.choices or text in leaf.choices else None


def to_url(state: AppState) -> dict[str, str]:
    """Parameters of the URL: what differs from the defaults, and always the mesh."""
    out = {}
    for leaf in leaves().values():
        value = read(state, leaf.path)
        if value != leaf.default or leaf.path == "mesh.name":
            out[leaf.url] = to_text(value)
    return out


def from_url(parameters: Mapping[str, str]) -> tuple[AppState, tuple[str, ...]]:
    """The state of a URL, and a sentence for each parameter that had to be ignored; unknown ones are not ours."""
    state, notes = AppState(), []
    for leaf in leaves().values():
        if leaf.url in parameters:
            value = from_text(leaf, parameters[leaf.url])
            if value is None:
                notes.append(
                    f"The link says {leaf.url}={parameters[leaf.url]!r}, which is no possible value; the default is "
                    "used instead."
                )
            else:
                state = changed(state, {leaf.path: value})
    return state, tuple(notes)


def query() -> str:
    """The part of a link after the question mark for the present state."""
    from urllib.parse import urlencode

    return urlencode(to_url(get_state()))


# ---- of the session ----------------------------------------------------------------------------------------------


def get_state() -> AppState:
    """The state of this session; the first call reads it from the URL."""
    if _STATE not in st.session_state:
        state, notes = from_url(st.query_params.to_dict())
        st.session_state[_STATE], st.session_state[_NOTES] = state, notes
    return st.session_state[_STATE]


def update(**changes) -> AppState:
    """Change fields by name or dotted path (``**{"modes.mode": 3}``); widgets and URL follow with the next run."""
    state = changed(get_state(), changes)
    if state != st.session_state[_STATE]:
        st.session_state[_STATE] = state
        st.session_state["_app_state/touched"] = True
    return state


def take_notes() -> tuple[str, ...]:
    """Sentences on what a link held that could not be used; given once."""
    return st.session_state.pop(_NOTES, ())


def sync() -> AppState:
    """Bring URL and state together; once at the start of every run (``hsd.ui.page.page`` does it).

    The URL is read when a session starts, and when the browser goes back to an older one; else the state is written.
    """
    get_state()
    shown = {k: v for k, v in st.query_params.to_dict().items() if k in {leaf.url for leaf in leaves().values()}}
    last, when = st.session_state.get(_URL, (None, 0.0))
    touched = st.session_state.pop("_app_state/touched", False)
    settled = monotonic() - when > SETTLED
    if last is not None and shown and shown != last and "mesh" in shown and not touched and settled:
        state, notes = from_url(shown)
        st.session_state[_STATE], st.session_state[_NOTES] = state, notes
    write_url()
    return st.session_state[_STATE]


def write_url() -> None:
    """Write the present state into the URL; foreign parameters stay."""
    wanted = to_url(get_state())
    ours = {leaf.url for leaf in leaves().values()}
    now = st.query_params.to_dict()
    if {k: v for k, v in now.items() if k in ours} != wanted:
        st.query_params.from_dict({**{k: v for k, v in now.items() if k not in ours}, **wanted})
        st.session_state[_URL] = (wanted, inf)
    else:
        st.session_state[_URL] = (wanted, st.session_state.get(_URL, (None, 0.0))[1])


def settle() -> None:
    """The run has come to its end, so that what it sent is on its way; one that another run cuts off never says so."""
    wanted, when = st.session_state.get(_URL, (None, 0.0))
    if when == inf:
        st.session_state[_URL] = (wanted, monotonic())
