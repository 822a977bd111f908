"""The state of the app: one frozen record over all pages, equal after page changes and reloads, carried by the URL.

    state = get_state()                       # AppState
    update(k=2, **{"modes.mode": 5})          # by dotted path; the URL follows
    k = bound_selectbox("Degree", "k", [0, 1, 2])   # a widget bound to a field, returns its value

A page reads ``get_state()``, never a widget's own key.  The part of one page is a frozen dataclass below and one field
of AppState.  Fields are bool, int, float, str or tuples of str; each has a default, a short name in the URL, and
``choices`` or a range where these are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from math import isfinite
from time import monotonic

import streamlit as st

from hsd.data.tasks import TASKS
from hsd.errors import UnknownNameError

_STATE, _URL, _NOTES = "_app_state", "_app_state/url", "_app_state/notes"
QUICK_TRAINING = ("epochs=60", "model.n_modes=64", "model.channels=4", "model.hidden=16")
"""Settings with which the default run of the page Training ends within a minute on two cores."""
SETTLED = 1.0
"""Seconds after which the browser knows the URL that it was sent; an older one coming back then means its Back key."""


def item(default, url: str = "", choices: tuple = (), low: float | None = None, high: float | None = None):
    """A field of the state: default, name in the URL (none: its path), and what values it may have."""
    return field(default=default, metadata={"url": url, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True)
class MeshState:
    """Which mesh: a gallery shape of about n vertices, or an uploaded file by its key in the store.

    repair : steps of hsd.mesh.repair in order;  scale : positions are multiplied by it;  unit : its name, for captions
    fill_triangles, radius : how a graph or a point cloud becomes a complex (radius 0: automatic)
    defect, edges, clip : what the Mesh page marks ("" : all), whether it draws edges, where it cuts tets
    """

    name: str = item("torus", "mesh")
    n: int = item(2000, "n", low=1, high=200_000)
    upload: str = item("", "file")
    repair: tuple[str, ...] = item((), "repair")
    max_hole: int = item(12, "hole", low=3, high=500)
    scale: float = item(1.0, "scale", low=1e-12, high=1e12)
    unit: str = item("", "unit")
    fill_triangles: bool = item(False, "fill")
    radius: float = item(0.0, "radius", low=0.0, high=1e300)
    defect: str = item("", "defect")
    edges: bool = item(False, "wire0")
    clip: float = item(0.55, "clip0", low=0.0, high=1.0)


@dataclass(frozen=True)
class ModesState:
    """Harmonic Modes: the mode shown (column by eigenvalue), what is drawn over it, where tets are cut.

    turn, partner, rotation : rotation of the mode within its block towards another mode of it, degrees
    """

    mode: int = item(0, "mode", low=0, high=100_000)
    turn: bool = item(False, "turn")
    partner: int = item(-1, "partner", low=-1, high=100_000)
    rotation: float = item(0.0, "rot", low=-360.0, high=360.0)
    arrows: bool = item(True, "arrows")
    generators: bool = item(True, "loops")
    edges: bool = item(False, "wire")
    clip: float = item(0.55, "clip", low=0.0, high=1.0)


@dataclass(frozen=True)
class DecompositionState:
    """Hodge Decomposition; the field itself is ``AppState.field`` (a key of the store), or without one a preset.

    weight_… : where the sliders in the page start;  time : of the heat flow, in units of L²
    show : view;  tool : what a click does;  selected : id of the point that strength and width belong to
    entry : how the field enters ("form": its cochain, "vectors": node vectors through ♭);  loop : generator drawn
    """

    preset: str = item("mixture", "preset")
    weight_exact: float = item(1.0, "wd", low=-2.0, high=2.0)
    weight_coexact: float = item(1.0, "wdelta", low=-2.0, high=2.0)
    weight_harmonic: float = item(1.0, "wgamma", low=-2.0, high=2.0)
    time: float = item(0.0, "t", low=0.0, high=1e6)
    show: str = item("parts", "show", ("parts", "potentials", "heat", "zeros", "checks"))
    tool: str = item("look", "tool", ("look", "source", "sink", "vortex"))
    strength: float = item(1.0, "strength", low=-3.0, high=3.0)
    width: float = item(0.2, "width", low=0.02, high=1.0)
    depth: float = item(0.0, "depth", low=0.0, high=2.0)
    selected: str = item("", "point")
    entry: str = item("form", "entry", ("form", "vectors"))
    arrows: bool = item(True, "arrows3")
    loop: int = item(-1, "loop", low=-1, high=100_000)
    broken: str = item("", "broken", ("", "wrong star", "flipped sign"))
    clip: float = item(0.55, "clip3", low=0.0, high=1.0)


@dataclass(frozen=True)
class SpectrumState:
    """Spectral Energy: the field looked at, number of modes kept (0: half of them), what is drawn and how.

    source : "composed" (``AppState.field``), "file:" and a field of the mesh file, or a preset of hsd.dec.preset_fields
    """

    source: str = item("waves", "source")
    axis: str = item("x", "axis", ("x", "y", "z"))
    cut: int = item(0, "cut", low=0, high=100_000)
    log: bool = item(True, "log")
    sums: bool = item(False, "sums")
    arrows: bool = item(True, "arrows2")
    clip: float = item(0.55, "clip2", low=0.0, high=1.0)


@dataclass(frozen=True)
class TasksState:
    """Tasks: which sample of which task, or of the dataset file ``file`` (key in the store or a path; name "own").

    nodes : vertices aimed at (0: the task's);  split : what the target is split into;  space : how tets are drawn
    step : of the trajectory (-1: the middle);  card : samples of a card computed here (0: the shipped card)
    The seed is ``AppState.seed``.
    """

    name: str = item("external_aerodynamics", "task", (*TASKS, "own"))
    sample: int = item(0, "sample", low=0, high=999_999)
    nodes: int = item(0, "nodes", low=0, high=20_000)
    split: str = item("making", "split", ("making", "states", "hodge"))
    space: str = item("slice", "space", ("slice", "ball"))
    step: int = item(-1, "step", low=-1, high=100_000)
    arrows: bool = item(True, "arrows4")
    clip: float = item(0.5, "clip4", low=0.0, high=1.0)
    file: str = item("", "data")
    card: int = item(0, "card", low=0, high=10_000)


@dataclass(frozen=True)
class TrainingState:
    """Training: what a new run is made from, and how runs are looked at.

    task : name, or "own" for the dataset file ``tasks.file``;  samples, nodes : of its data (seed: ``AppState.seed``)
    model, settings : entries "key=value" that replace those of the training config ("model.key=value": of the model's)
    device : see hsd.training.run.DEVICES;  run : id of the run shown ("" : the newest);  overlay : ids drawn with it
    smooth : weight of the past in the smoothed curves;  log_x, log_y : axes;  sample : of the validation part
    """

    task: str = item("ellipsoid_aerodynamics", "train", (*TASKS, "own"))
    samples: int = item(600, "train_n", low=10, high=100_000)
    nodes: int = item(1000, "train_nodes", low=100, high=20_000)
    model: str = item("hsd", "train_model")
    settings: tuple[str, ...] = item(QUICK_TRAINING, "train_set")
    device: str = item("auto", "train_device", ("auto", "cpu", "cuda"))
    run: str = item("", "run")
    overlay: tuple[str, ...] = item((), "with")
    smooth: float = item(0.6, "smooth", low=0.0, high=0.98)
    log_x: bool = item(False, "logx")
    log_y: bool = item(True, "logy")
    sample: int = item(0, "val", low=0, high=999_999)


@dataclass(frozen=True)
class ComparisonState:
    """Model Comparison: which sample of which task, which models, and how they are drawn (seed: ``AppState.seed``).

    models : labels of shipped checkpoints, beside ``AppState.own_runs``;  device : see hsd.training.run.DEVICES
    composed : key in the store of a sample that the visitor composed ("" : sample ``sample`` as the task draws it)
    nodes : vertices aimed at (0: the models' own mesh);  show, quantity, axis : what the panels hold
    a, b : labels that are blinked and wiped ("" : the first two);  space : how tets are drawn
    turn, tilt, clip : plane of the free slice, degrees and 0…1;  steps : how often a model is applied to its own output
    edit : the canvas composes;  selected, strength, width : the point that the sliders move
    """

    task: str = item("toroidal_transport", "problem", tuple(TASKS))
    models: tuple[str, ...] = item(("hsd", "fno3d", "geo_fno", "deeponet"), "models")
    device: str = item("auto", "device", ("auto", "cpu", "cuda"))
    sample: int = item(0, "case", low=0, high=999_999)
    composed: str = item("", "composed")
    nodes: int = item(0, "remesh", low=0, high=20_000)
    show: str = item("maps", "compare", ("maps", "pair", "time", "lines"))
    quantity: str = item("vectors", "quantity", ("vectors", "magnitude", "component", "vorticity"))
    axis: str = item("x", "component", ("x", "y", "z"))
    a: str = item("", "a")
    b: str = item("", "b")
    space: str = item("slice", "cut3", ("slice", "free"))
    turn: float = item(0.0, "turn2", low=-180.0, high=180.0)
    tilt: float = item(90.0, "tilt", low=-90.0, high=90.0)
    clip: float = item(0.5, "clip5", low=0.0, high=1.0)
    step: int = item(0, "step2", low=0, high=100)
    steps: int = item(4, "steps", low=1, high=20)
    edit: bool = item(False, "edit")
    selected: int = item(-1, "blob", low=-1, high=1000)
    strength: float = item(1.0, "strength2", low=-3.0, high=3.0)
    width: float = item(0.15, "width2", low=0.05, high=1.2)


@dataclass(frozen=True)
class AppState:
    """Everything that a link to a picture carries.

    k : degree of the forms;  bc : boundary condition;  star : Hodge star;  n_modes : modes asked for, of all parts
    field : key in the store of the composed or uploaded field ("" : the page's preset);  seed : of everything random
    theme : "auto" follows the browser;  present : big type, no sidebar
    own_runs : ids of the visitor's own training runs that Model Comparison offers; the checkpoint of a run is the file
               that hsd.training.jobs.checkpoint_of names
    """

    mesh: MeshState = MeshState()
    k: int = item(1, "k", low=0, high=3)
    bc: str = item("absolute", "bc", ("absolute", "relative"))
    star: str = item("galerkin", "star", ("galerkin", "diagonal", "unit"))
    n_modes: int = item(32, "modes", low=1, high=2000)
    field: str = item("", "field")
    seed: int = item(0, "seed", low=0, high=2**31 - 1)
    theme: str = item("auto", "theme", ("auto", "light", "dark", "projector"))
    present: bool = item(False, "present")
    own_runs: tuple[str, ...] = item((), "runs")
    modes: ModesState = ModesState()
    decomposition: DecompositionState = DecompositionState()
    spectrum: SpectrumState = SpectrumState()
    tasks: TasksState = TasksState()
    training: TrainingState = TrainingState()
    comparison: ComparisonState = ComparisonState()


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
                    f"The link says {leaf.url}={parameters[leaf.url]!r}, which is no possible value; "
                    f"{to_text(leaf.default) or 'none'} is used instead."
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
        st.session_state[_URL] = (wanted, monotonic())
    else:
        st.session_state[_URL] = (wanted, st.session_state.get(_URL, (None, 0.0))[1])
