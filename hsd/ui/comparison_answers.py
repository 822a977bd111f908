"""The sample in force and the models' answers to it: predictions, costs and repeated steps, in bounded caches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from hsd.data.file_task import FileTask
from hsd.data.ground import Ground
from hsd.data.tasks import task as make_task
from hsd.data.tasks.base import Record, Task
from hsd.errors import HsdError
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, comparison_compose, comparison_models, task_view
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import STEPPED, Cost, Outcome, Rollout, cost, predict, rollout, true_rollout
from hsd.ui.state import AppState
from hsd.viz.task_sample import Sample, record_sample

Progress = Callable[[float, str], None]
Do = Callable[[Hashable, Callable[[Progress], Any]], Any]
"""Calls its second argument, a job, with a progress; the first determines the result (hsd.ui.at_work)."""
REMEMBERED = 2000
"""Keys of what was computed, so that progress shows only for what is new."""


@dataclass(frozen=True, eq=False)
class Ready:
    """The sample in force on its mesh, the models chosen, and where they run.

    key : determines the sample;  nodes : vertices aimed at, 0: the task's default
    refused : title of a model → the sentence that says why it takes no part (filled while predicting)
    """

    key: tuple
    task: Task
    ground: Ground
    sample: Sample
    nodes: int
    models: tuple[Model, ...]
    device: str
    note: str
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def mesh(self) -> Mesh:
        return self.ground.mesh

    @property
    def file(self) -> FileTask | None:
        """The dataset file that the sample is from, None for samples that a task draws."""
        return self.task if isinstance(self.task, FileTask) else None

    @property
    def is_stepped(self) -> bool:
        return self.task.name in STEPPED


def _silent(share: float, words: str) -> None:
    """The progress that nobody hears."""


def ready_key(state: AppState) -> tuple:
    """Determines what :func:`ready_of` finds, as long as no file changes."""
    choice = state.comparison
    file = state.tasks.file if choice.task == task_view.OWN else ""
    sample = choice.composed or (state.seed, choice.sample)
    return choice.task, file, choice.nodes, sample, choice.models, state.own_runs, choice.device


def ready_of(state: AppState, progress: Progress = _silent) -> Ready:
    """The sample and the models of the state.  Raises HsdError where the sample cannot be had."""
    choice = state.comparison
    device, note = comparison_models.device_of(choice.device)
    if choice.task == task_view.OWN:
        progress(0.0, "reading the sample")
        loaded = task_view.file_sample_of(state.tasks.file, choice.sample)
        models, refused = comparison_models.chosen_models(loaded.task.family, choice.models, state.own_runs)
        ground = loaded.sample.ground
        return Ready(loaded.key, loaded.task, ground, loaded.sample, 0, tuple(models), device, note, dict(refused))
    models, refused = comparison_models.chosen_models(choice.task, choice.models, state.own_runs)
    nodes = choice.nodes or comparison_models.own_nodes(models)
    nodes = 0 if nodes == make_task(choice.task).config.n_nodes else nodes
    progress(0.0, "making the domain of the task")
    task_view.ground_of(choice.task, nodes)
    progress(0.0, "computing the truth of the sample")
    if choice.composed:
        task, ground = task_view.ground_of(choice.task, nodes)
        key = (choice.task, nodes, choice.composed)
        sample = _composed(*key, task, ground, comparison_compose.record_in_force(state, task))
    else:
        loaded = task_view.drawn_sample(choice.task, nodes, state.seed, choice.sample)
        key, task, ground, sample = loaded.key, loaded.task, loaded.sample.ground, loaded.sample
    return Ready(key, task, ground, sample, nodes, tuple(models), device, note, dict(refused))


@st.cache_resource(max_entries=32, show_spinner="Computing the truth")
def _composed(name: str, nodes: int, key: str, _task: Task, _ground: Ground, _record: Record) -> Sample:
    with cached.HEAVY:
        return record_sample(_task, _ground, _record)


# ---- answers -----------------------------------------------------------------------------------------------------

_seen: OrderedDict[tuple, None] = OrderedDict()


def outcomes(ready: Ready, progress: Progress = _silent, do: Do | None = None) -> dict[Model, Outcome]:
    """The answer of every model that has one; the sentences of the others go to ``ready.refused``.

    progress : called before each model that is not known yet, with the share done
    do : how a model is made ready and asked, by default here and now
    """
    out: dict[Model, Outcome] = {}
    for i, model in enumerate(ready.models):
        key = (model.path, ready.key, ready.device)
        say = partial(_said, progress, i, ready) if do or key not in _seen else _silent
        run = do or (lambda _, job: job(say))  # noqa: B023  called within this turn
        try:
            say(0.0, "")
            if key not in _seen:
                run(("ready", *_mesh_key(ready, model)), partial(_prepared, ready, model))
            out[model] = run(("answer", *model_key(ready, model)), partial(_asked, ready, model))
        except HsdError as error:
            ready.refused[model.title] = error.message
            continue
        _seen[key] = None
        while len(_seen) > REMEMBERED:
            _seen.popitem(last=False)
    return out


def _said(progress: Progress, i: int, ready: Ready, share: float, words: str) -> None:
    """The stage of the i-th model, named beside it."""
    n = len(ready.models)
    head = f"{ready.models[i].title}, model {i + 1} of {n}"
    progress((i + share) / n, f"{head}: {words}" if words else head)


def _mesh_key(ready: Ready, model: Model) -> tuple:
    """Determines a model that is ready on a mesh, whatever the sample."""
    path, stamp, _, device = model_key(ready, model)
    return path, stamp, ready.task.name, ready.mesh.content_hash, device


def _prepared(ready: Ready, model: Model, progress: Progress) -> None:
    """All that a model needs before its first answer on a mesh."""

    def stage(words: str, share: float | None) -> None:
        progress(0.0, words if share is None else f"{words} {100 * share:.0f} %")

    comparison_models.prepare(model, ready.task, ready.ground, ready.device, stage)


def _asked(ready: Ready, model: Model, progress: Progress) -> Outcome:
    progress(0.0, "prediction")
    return outcome_of(ready, model)


def outcome_of(ready: Ready, model: Model) -> Outcome:
    """A model's answer to the sample.  Raises HsdError."""
    return _outcome(*model_key(ready, model), ready, model)


def model_key(ready: Ready, model: Model) -> tuple:
    """Determines an answer: checkpoint and its stamp, sample, device."""
    return str(model.path), comparison_models.stamp(model.path), ready.key, ready.device


@st.cache_resource(max_entries=128, show_spinner=False)
def _outcome(path: str, stamp: tuple, key: tuple, device: str, _ready: Ready, _model: Model) -> Outcome:
    predictor, domain, yardstick = _tools(_ready, _model)
    with comparison_models.TURN:
        return predict(predictor, domain, yardstick, _ready.sample, comparison_models.device_name(device))


def _tools(ready: Ready, model: Model):
    predictor = comparison_models.predictor_of(model, ready.task, ready.ground, ready.device)
    return predictor, predictor.domain, comparison_models.yardstick_of(ready.task, ready.ground)


def cost_of(ready: Ready, model: Model) -> Cost:
    """Latency and memory of a model on this mesh, measured once.  Raises HsdError."""
    path, stamp, _, device = model_key(ready, model)
    return _cost(path, stamp, ready.mesh.content_hash, device, ready, model)


@st.cache_resource(max_entries=64, show_spinner=False)
def _cost(path: str, stamp: tuple, mesh: str, device: str, _ready: Ready, _model: Model) -> Cost:
    predictor, domain, _ = _tools(_ready, _model)
    with comparison_models.TURN:
        return cost(predictor, domain, _ready.sample, comparison_models.device_name(device))


def forget_costs() -> None:
    """Measure all costs anew when they are asked for."""
    _cost.clear()
    for key in [key for key in _seen if key[0] == "cost"]:
        del _seen[key]


def costs_of(ready: Ready, models: Iterable[Model], progress: Progress) -> dict[Model, Cost]:
    """All of them, as far as they can be measured."""
    out, models = {}, list(models)
    for i, model in enumerate(models):
        key = ("cost", model.path, ready.mesh.content_hash, ready.device)
        if key not in _seen:
            progress(i / len(models), f"Measuring {model.title}")
        try:
            out[model] = cost_of(ready, model)
        except HsdError as error:
            ready.refused[f"{model.title} (time and memory)"] = error.message
            continue
        _seen[key] = None
    return out


def rollout_of(ready: Ready, model: Model, steps: int) -> Rollout:
    """A model applied to its own output.  Raises HsdError."""
    return _rollout(*model_key(ready, model), steps, ready, model)


@st.cache_resource(max_entries=48, show_spinner=False)
def _rollout(path: str, stamp: tuple, key: tuple, device: str, steps: int, _ready: Ready, _model: Model) -> Rollout:
    predictor, domain, _ = _tools(_ready, _model)
    with comparison_models.TURN:
        return rollout(predictor, domain, _ready.task, _ready.ground, _ready.sample, steps)


def true_rollout_of(ready: Ready, steps: int) -> Rollout:
    """The truth over the same time."""
    return _true_rollout(ready.key, steps, ready)


@st.cache_resource(max_entries=24, show_spinner="Computing the truth over the whole time")
def _true_rollout(key: tuple, steps: int, _ready: Ready) -> Rollout:
    with cached.HEAVY:
        return true_rollout(_ready.task, _ready.ground, _ready.sample, steps)


def rollouts_of(ready: Ready, models, steps: int, progress: Progress) -> dict[Model, Rollout]:
    """All of them, as far as the models run."""
    out, models = {}, list(models)
    for i, model in enumerate(models):
        key = ("rollout", model.path, ready.key, ready.device, steps)
        if key not in _seen:
            progress(i / len(models), f"{model.title}: {steps} steps")
        try:
            out[model] = rollout_of(ready, model, steps)
        except HsdError as error:
            ready.refused[model.title] = error.message
            continue
        _seen[key] = None
    return out
