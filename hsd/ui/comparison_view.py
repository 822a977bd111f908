"""What Model Comparison draws and says: boards of layers from the models' answers, all cached, and its sentences."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import streamlit as st

from hsd import __version__
from hsd.errors import HsdError
from hsd.ui import comparison_models, task_view
from hsd.ui.comparison_answers import Ready, model_key, outcome_of
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome, Rollout
from hsd.ui.page import Domain, condition_sentence, device_words
from hsd.ui.state import AppState
from hsd.viz.comparison_scene import (
    Board,
    Layer,
    Quantity,
    Shot,
    error_layer,
    input_layer,
    layer,
    node_values_of,
    relative_error,
)
from hsd.viz.comparison_scene import quantity_of as _quantity_of
from hsd.viz.task_scene import Drawn, Place, drawn, title_of

REMESH = (1500, 3000, 7000)
MISSING_OWN = (
    "Train a model on this file on the page Training and send it here, or bring a checkpoint at the left; the truth is "
    "shown meanwhile."
)
PARTS = {"train": "training", "validation": "validation", "test": "test"}


class Bar:
    """Stage-wise progress that appears only when something takes time."""

    def __init__(self):
        self.place = st.empty()
        self.begun = time.perf_counter()

    def __call__(self, share: float, words: str) -> None:
        self.place.progress(min(share, 1.0), f"{words} ({time.perf_counter() - self.begun:.0f} s)")

    def done(self) -> None:
        self.place.empty()


# ---- boards ------------------------------------------------------------------------------------------------------


def quantity_of(state: AppState, ready: Ready) -> Quantity:
    """What is coloured."""
    choice = state.comparison
    return _quantity_of(ready.sample.target, ready.mesh.dim, choice.quantity, choice.axis)


def place_of(state: AppState, ready: Ready) -> Place:
    return task_view.place_of(ready.mesh, "slice" if state.comparison.space == "slice" else "ball")


def board_of(state: AppState, ready: Ready, answers: Mapping[Model, Outcome]) -> Board:
    """Everything that the canvas draws of one sample."""
    quantity, place = quantity_of(state, ready), place_of(state, ready)
    truth = truth_of(ready)[None]
    shots = []
    for model, answer in answers.items():
        value, error = _shot(
            *model_key(ready, model), place.surface.name, quantity, place, ready, answer.nodes[None], truth
        )
        shots.append(Shot(model.key, model.title, drawn_error_words(ready, model, quantity, answer), value, error))
    return _board(ready, quantity, place, _true_layer(ready.key, place.surface.name, quantity, place, ready), shots)


def time_board_of(state: AppState, ready: Ready, truth: Rollout, rolled: Mapping[Model, Rollout], steps: int) -> Board:
    """The same over repeated steps: one column a time 0, T, 2T, …"""
    quantity, place = quantity_of(state, ready), place_of(state, ready)
    at = truth.states[:: ready.task.config.n_snapshots][..., None]  # (steps + 1, n_vertices, 1)
    shots = []
    for model, roll in rolled.items():
        key = (*model_key(ready, model), f"{place.surface.name} × {steps}")
        value, error = _shot(*key, quantity, place, ready, roll.states[..., None], at)
        shots.append(Shot(model.key, model.title, "error", value, error))
    return _board(ready, quantity, place, _time_layer(ready.key, steps, quantity, place, ready, at), shots, True)


def _board(
    ready: Ready, quantity: Quantity, place: Place, truth: Layer, shots: list[Shot], same: bool = False
) -> Board:
    source = _source(ready.key, place.surface.name, place, ready)
    target = ready.sample.target
    last = target.title.split()[-1]
    letter = last if "(" in last else quantity.letter
    letter = letter.replace("(T)", "(t)") if same else letter
    given = source.shown.title.split()[-1]
    symbol = given if "(" in given[1:] and not same else source.symbol
    return Board(place, quantity, input_layer(source), title_of(source), symbol, same, truth, letter, tuple(shots))


@st.cache_resource(max_entries=32, show_spinner=False)
def _source(key: tuple, place: str, _place: Place, _ready: Ready) -> Drawn:
    sample = _ready.sample
    carrier = sample.carrier
    first = None if carrier is None else carrier.named(carrier.name, carrier.title, carrier.values[:1])
    return drawn(_place, sample, sample.inputs[0], (), first)


def truth_of(ready: Ready) -> np.ndarray:
    """Node values of the truth, (n_vertices, C)."""
    return _truth(ready.key, ready)


@st.cache_resource(max_entries=48, show_spinner=False)
def _truth(key: tuple, _ready: Ready) -> np.ndarray:
    return node_values_of(_ready.sample)


@st.cache_resource(max_entries=64, show_spinner=False)
def _true_layer(key: tuple, place: str, quantity: Quantity, _place: Place, _ready: Ready) -> Layer:
    return layer(_place, _ready.ground, _ready.sample.target, quantity, truth_of(_ready)[None])


@st.cache_resource(max_entries=16, show_spinner=False)
def _time_layer(key: tuple, steps: int, quantity: Quantity, _place: Place, _ready: Ready, _at: np.ndarray) -> Layer:
    return layer(_place, _ready.ground, _ready.sample.target, quantity, _at)


@st.cache_resource(max_entries=256, show_spinner=False)
def _shot(
    path: str,
    stamp: tuple,
    key: tuple,
    device: str,
    place: str,
    quantity: Quantity,
    _place: Place,
    _ready: Ready,
    _nodes: np.ndarray,
    _truth: np.ndarray,
) -> tuple[Layer, Layer]:
    target = _ready.sample.target
    return (
        layer(_place, _ready.ground, target, quantity, _nodes),
        error_layer(_place, _ready.ground, target, quantity, _nodes, _truth),
    )


def pair_of(state: AppState, board: Board) -> tuple[Shot, Shot]:
    """The two models that are blinked and wiped; the first two unless the state says which."""
    by_key = {shot.key: shot for shot in board.shots}
    a = by_key.get(state.comparison.a, board.shots[0])
    others = [shot for shot in board.shots if shot is not a] or [a]
    return a, by_key.get(state.comparison.b, others[0])


# ---- words -------------------------------------------------------------------------------------------------------


def error_words(relative: float, of: str = "") -> str:
    """ "error 2.9 %", "error of ω 2.9 %"."""
    return f"error{of} {100 * relative:.3g}\u202f%"


def longest(ready: Ready) -> float:
    """Where colours of the truth's lengths end, whatever else is coloured."""
    place = task_view.place_of(ready.mesh, "ball")
    return _true_layer(ready.key, place.surface.name, Quantity("magnitude"), place, ready).end


def drawn_error_words(ready: Ready, model: Model, quantity: Quantity, answer: Outcome) -> str:
    """The same of what is drawn: the relative L² of the whole value, or of its component or vorticity by name."""
    if quantity.name not in ("component", "vorticity"):
        return error_words(answer.scores["relative_l2"])
    found = _quantity_error(*model_key(ready, model), quantity, ready, answer.nodes, truth_of(ready))
    return error_words(found, f" of {quantity.symbol}")


@st.cache_resource(max_entries=256, show_spinner=False)
def _quantity_error(
    path: str, stamp: tuple, key: tuple, device: str, quantity: Quantity, _ready: Ready, _nodes, _truth
) -> float:
    return relative_error(_ready.ground, _ready.sample.target, quantity, _nodes, _truth)


def sample_words(state: AppState, ready: Ready) -> str:
    """Which sample this is, and to which part of the models' data it belongs."""
    if state.comparison.composed:
        n = len(ready.sample.record["strengths"])
        s = "" if n == 1 else "s"
        return f"Composed sample of {n} source{s}; its truth was computed by the task's own solver."
    if ready.file is not None:
        number = ready.key[-1]
        part = ready.file.part_of(number)
        return f"Sample {number} of {ready.task.title}{f', of the {PARTS[part]} part of its split' if part else ''}."
    text = f"Sample {state.comparison.sample} of seed {state.seed}"
    parts: dict[str, list[str]] = {}
    for model in (m for m in ready.models if m.title not in ready.refused):
        try:
            part = comparison_models.part_of_sample(model, state.seed, state.comparison.sample)
        except HsdError:
            continue
        parts.setdefault(part, []).append(model.title)
    said = {
        "train": "trained on it",
        "validation": "chosen with it (validation)",
        "test": "did not see it (test)",
        "unseen": "did not see it (not of their data)",
    }
    if len(parts) == 1:
        return f"{text}: the models {said[next(iter(parts))]}."
    return text + "".join(f"; {', '.join(names)}: {said[part]}" for part, names in parts.items()) + "."


def missing_words(state: AppState, ready: Ready) -> str:
    """What is said where no model takes part, "" where one does; the truth is shown meanwhile."""
    if ready.file is not None:
        return "" if ready.models else MISSING_OWN
    if not comparison_models.shipped_labels(ready.task.name) and not state.own_runs:
        return (
            f"No trained model of {ready.task.title} is here: train one on the page Training, or make the shipped ones "
            f"by `python -m hsd pretrain --tasks {ready.task.name} --out out/pretrain`."
        )
    return "" if ready.models else "Choose models at the left; the truth is shown meanwhile."


def domain_of(state: AppState, ready: Ready | None, title: str = "Model Comparison") -> Domain:
    """Header and provenance of a page of that title."""
    if ready is None:
        return Domain(None, ("", ""), f"{title} · {device_words()} · hsd {__version__}")
    mesh, kinds = ready.mesh, ("vertices", "edges", "triangles", "tetrahedra")
    sizes = [f"{n:,}".replace(",", "\u202f") for n in (mesh.complex.n_vertices, mesh.complex.n(mesh.dim))]
    badges = (f"{mesh.name}: {sizes[0]} vertices", f"{sizes[1]} {kinds[mesh.dim]}")
    return Domain(mesh, badges, " · ".join(f"{k} {v}" for k, v in provenance(state, ready).items()))


def provenance(state: AppState, ready: Ready) -> dict[str, str]:
    """What the picture and every exported file were made from."""
    choice, mesh = state.comparison, ready.mesh
    if ready.file is not None:
        out = {"task": "own data", "file": ready.task.title, "sample": str(ready.key[-1])}
    elif choice.composed:
        out = {"task": ready.task.name, "composed": choice.composed}
    else:
        out = {"task": ready.task.name, "seed": str(state.seed), "sample": str(choice.sample)}
    out |= {"mesh": mesh.name, "mesh_hash": mesh.content_hash, "star": ready.task.star, "boundary": ready.task.bc}
    return out | {"device": comparison_models.device_name(ready.device), "version": __version__}


def checkpoint_hashes(models) -> dict[str, str]:
    """Title → sha256 of the weights."""
    return {model.title: str(comparison_models.manifest_of(model)["sha256"]) for model in models}


def conditions(ready: Ready) -> str:
    """Boundary condition, star and sign convention in words."""
    words = condition_sentence(ready.mesh, ready.sample.target.degree, ready.task.bc, ready.task.star)
    return f"{words} All models are scored on node values of one sharp map."


def mesh_words(ready: Ready) -> str:
    """Which of the models were trained on another mesh than the one shown and what that may make wrong, "" where none
    was."""
    shown, others, notices = [m for m in ready.models if m.title not in ready.refused], {}, {}
    for model in shown:
        with suppress(HsdError):
            domain = comparison_models.manifest_of(model)["domain"]
            if domain["mesh_hash"] != ready.mesh.content_hash:
                others.setdefault((domain["mesh_hash"], domain["n_vertices"]), []).append(model.title)
                for notice in outcome_of(ready, model).notices:
                    notices.setdefault(notice, []).append(model.title)
    if not others:
        return ""
    every = len(shown) > 1 and [len(titles) for titles in others.values()] == [len(shown)]
    of = "; ".join(f"{'all' if every else ', '.join(titles)} on one of {n}" for (_, n), titles in others.items())
    text = f" Trained on another mesh than this one of {ready.mesh.complex.n_vertices} vertices: {of}."
    return text + "".join(f" {', '.join(titles)}: {notice}" for notice, titles in notices.items())


def caption(state: AppState, ready: Ready, board: Board) -> str:
    """The sentence under the picture."""
    text = "Truth and predictions share one scale, all error maps another (black none, white large)."
    if board.end < board.truth.top:
        text += f" Colours end at the truth's 98 % quantile; its largest size is {board.truth.top:.3g}."
    if board.shots and board.error_end < board.error_top:
        text += f" White: errors from {board.error_end:.3g} on; the largest is {board.error_top:.3g}."
    if board.place.cut is not None:
        text += " Plane cut z = 0: arrows are the in-plane part."
    text += mesh_words(ready)
    return f"{sample_words(state, ready)} {text}"
