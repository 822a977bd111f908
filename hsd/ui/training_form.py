"""The form of a new run: data, model, training, device; what it asks for as a RunSpec, checked before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from hsd.data import trainable
from hsd.data.splits import split_sizes
from hsd.errors import InputError
from hsd.ui import task_files
from hsd.ui.bound import bound_number, bound_segments, bound_selectbox, fill, is_old
from hsd.ui.markdown import literal
from hsd.ui.state import AppState, TrainingState, get_state, update
from hsd.ui.state_parts import QUICK_TRAINING
from hsd.ui.task_view import OWN, titles
from hsd.ui.training_entries import Entry, entries_of, with_setting, without_model
from hsd.viz.palettes import MODELS as LOOKS

if TYPE_CHECKING:
    from hsd.models.base import ModelConfig
    from hsd.training.config import TrainingConfig
    from hsd.training.run import RunSpec

DEVICES = {"auto": "GPU if any", "cpu": "CPU", "cuda": "GPU"}
FIRST = ("epochs", "minutes", "batch_size", "lr")
"""Entries of the training that are always in view."""
OF_RUN = ("lr", "weight_decay")
"""Entries of a model's config that the training's own ones replace, so that the form has them once."""
LABELS = {"lr": "learning rate", "n_train": "training samples used", "n_modes": "modes"}


def configs(state: AppState) -> tuple[TrainingConfig, ModelConfig]:
    """The training config and the model's config that the form asks for.

    Raises InputError, UnknownNameError where the settings of a link cannot be.
    """
    from hsd.models.registry import model_class
    from hsd.training.config import TrainingConfig

    choice = state.training
    cls = model_class(choice.model)
    training = TrainingConfig(choice.model, seed=0).with_entries(choice.settings)
    return training, cls.make_config(task_name(choice), **training.model_config)


def defaults(state: AppState) -> tuple[TrainingConfig, ModelConfig]:
    """The same without settings: what the chosen model has on the chosen task."""
    return configs(replace(state, training=replace(state.training, settings=())))


def task_name(choice: TrainingState) -> str | None:
    """The task whose defaults count; None for own data."""
    return None if choice.task == OWN else choice.task


def spec_of(state: AppState) -> RunSpec:
    """What the form asks for.

    Raises InputError (no_gpu, no_data, refused_file, bad_config, and those of the configs and the dataset).
    """
    from hsd.training.run import RunSpec, chosen_device

    choice, (training, model) = state.training, configs(state)
    for config, leave_out in ((training, ()), (model, OF_RUN)):
        for entry in entries_of(config, leave_out):
            entry.check(getattr(config, entry.name))
    if choice.device == "cuda" and chosen_device("auto") == "cpu":
        raise InputError("This server has no GPU; choose CPU, or “GPU if any”, under Device.", "no_gpu")
    if choice.task != OWN:
        return RunSpec(
            training, task=choice.task, n_samples=choice.samples, n_nodes=choice.nodes, data_seed=state.seed,
            device=choice.device,
        )  # fmt: skip
    if state.tasks.file and (refused := task_files.refused()):
        raise InputError(
            f"{refused} was not taken, so that nothing was started; mend it and give it again, or take it out of the "
            f"field to train on {task_files.path_of(state.tasks.file).name}.",
            "refused_file",
        )
    if not state.tasks.file:
        raise InputError("There is no sound dataset file to train on yet; give one at the left under Data.", "no_data")
    path = task_files.path_of(state.tasks.file)
    check_trainable(path)
    return RunSpec(training, data=str(path.resolve()), device=choice.device)


def check_trainable(path: Path) -> None:
    """Refuse a file that ``data check`` refuses or that holds no training data for operators.

    Raises InputError (of the check, and of :func:`hsd.data.trainable.check_trainable`).
    """
    for notice in task_files.findings_of(path):
        raise InputError(notice.message, notice.kind)
    trainable.check_trainable(task_files.dataset_of(path))


def split_words(n: int) -> str:
    """How many samples train, choose and are kept back."""
    sizes = split_sizes(n)
    return f"{sizes['train']} train, {sizes['validation']} choose the best epoch, {sizes['test']} are for tests only."


# ---- widgets -----------------------------------------------------------------------------------------------------


def form(start: Callable[[], None]) -> None:
    """All widgets of a new run, its button first; ``start`` is called when it is pressed."""
    st.button("Start training", key="training:start", type="primary", width="stretch", on_click=start)
    left, right = st.columns(2)
    left.button("Quick", key="training:quick", on_click=quick, width="stretch", help="A run of less than a minute.")
    right.button(
        "Full size", key="training:full", on_click=full, width="stretch",
        help="The task's own numbers of samples and nodes, and the model's own settings: minutes to hours.",
    )  # fmt: skip
    name = bound_selectbox("Data", "training.task", titles(), titles().get)
    if name == OWN:
        task_files.file_box()
    else:
        left, right = st.columns(2)
        bound_number("Samples", "training.samples", 10, 100_000, 100, where=left)
        bound_number("Nodes", "training.nodes", 100, 20_000, 100, where=right, help="Vertices aimed at.")
        bound_number("Seed of the data", "seed", 0, 2**31 - 1, 1)
        st.caption(split_words(get_state().training.samples))
    models = [name for name in LOOKS if name in known_models()]
    bound_selectbox("Model", "training.model", models, lambda m: LOOKS[m].name, on_change=forget_model)
    bound_segments("Device", "training.device", DEVICES, DEVICES.get)
    state = get_state()
    (training, model), (training0, model0) = configs(state), defaults(state)
    own = {"lr": model0.lr, "weight_decay": model0.weight_decay}
    entries = entries_of(training0)
    for entry in entries:
        if entry.name in FIRST:
            entry_widget(entry, "", getattr(training, entry.name), own.get(entry.name))
    if training.minutes:
        st.caption(
            f"{training.minutes:g} minutes of computing take the place of the number of epochs; on a machine with "
            "other work they last longer by the clock."
        )
    with st.expander("More of the training"):
        for entry in entries:
            if entry.name not in FIRST:
                entry_widget(entry, "", getattr(training, entry.name), own.get(entry.name))
        loss_widgets(training.loss or {})
    with st.expander(f"Settings of {LOOKS[state.training.model].name}"):
        for entry in entries_of(model0, OF_RUN):
            entry_widget(entry, "model.", getattr(model, entry.name))


def known_models() -> tuple[str, ...]:
    """Names in the registry."""
    from hsd.models.registry import MODELS

    return tuple(MODELS)


def entry_widget(entry: Entry, prefix: str, value: Any, own: float | None = None) -> None:
    """One entry; ``own``: what an empty field stands for.  Raises InputError (bad_config) outside its bounds."""
    entry.check(value)
    choice = get_state().training
    name, label = prefix + entry.name, LABELS.get(entry.name, entry.name.replace("_", " "))
    key = f"training:{choice.task}:{choice.model}:{name}"
    shown = ", ".join(map(str, value)) if entry.kind == "sizes" else value
    fill(key, shown)
    bind = {"key": key, "on_change": partial(entry_changed, key, name, entry), "help": literal(entry.help) or None}
    if entry.kind == "switch":
        st.toggle(label, shown, **bind)
    elif entry.kind == "choice":
        st.selectbox(label, entry.choices, entry.choices.index(shown), **bind)
    elif entry.kind == "sizes":
        st.text_input(label, shown, **bind)
    elif entry.kind == "whole":
        st.number_input(label, int(entry.low), int(entry.high), shown, 1, **bind)
    else:
        hint = None if own is None else f"the model's: {own:g}"
        limits = float(entry.low), float(entry.high)
        st.number_input(label, *limits, shown, step=None, format="%g", placeholder=hint, **bind)


def entry_changed(key: str, name: str, entry: Entry) -> None:
    if is_old(key):
        return
    value = st.session_state[key]
    if entry.kind == "sizes":
        parts = [p.strip() for p in value.split(",") if p.strip()]
        if not parts or not all(p.isdigit() and int(p) for p in parts):
            return  # the field shows the last good sizes again
        value = [int(p) for p in parts]
    settings = with_setting(get_state().training.settings, name, value, entry.default)
    update(**{"training.settings": settings})


def loss_widgets(weights: dict[str, float]) -> None:
    """Weights of the loss terms; none: the relative error of the form."""
    from hsd.metrics.losses import LOSSES

    st.caption(
        literal("Weights of the loss; all zero: ‖ω_p − ω_g‖_⋆ / ‖ω_g‖_⋆, or of node values for models without forms.")
    )
    for name, loss in LOSSES.items():
        entry = Entry(name, "number", 0.0, loss.formula, high=1000)
        entry_widget(entry, "loss.", float(weights.get(name, 0.0)))


def forget_model() -> None:
    """Another model has other entries."""
    update(**{"training.settings": without_model(get_state().training.settings)})


def quick() -> None:
    """The run that the page offers first."""
    first = TrainingState()
    update(
        **{
            "training.task": first.task,
            "training.samples": first.samples,
            "training.nodes": first.nodes,
            "training.model": first.model,
            "training.settings": QUICK_TRAINING,
        }
    )


def full() -> None:
    """The chosen task's own sizes with the model's own settings."""
    from hsd.data.tasks import task

    changes: dict[str, Any] = {"training.settings": ()}
    choice = get_state().training
    if choice.task != OWN:
        config = task(choice.task).config
        changes |= {"training.samples": config.n_samples, "training.nodes": config.n_nodes}
    update(**changes)


def take_over(spec: RunSpec, **changes: Any) -> None:
    """Put the configuration of a run into the form, with other entries of the training config."""
    new: dict[str, Any] = {
        "training.model": spec.training.model,
        "training.settings": settings_of(replace(spec.training, **changes)),
        "training.device": spec.device,
        "training.task": spec.task or OWN,
    }
    if spec.task is not None:
        new["seed"] = spec.data_seed
        new |= {"training.samples": spec.n_samples} if spec.n_samples else {}
        new |= {"training.nodes": spec.n_nodes} if spec.n_nodes else {}
    else:
        new["tasks.file"] = task_files.reference_of(spec.data)
    update(**new)


def settings_of(training: TrainingConfig) -> tuple[str, ...]:
    """A training config as settings: the entries that differ from the defaults."""
    settings: tuple[str, ...] = ()
    for entry in entries_of(type(training)(training.model)):
        settings = with_setting(settings, entry.name, getattr(training, entry.name), entry.default)
    for name, value in training.model_config.items():
        settings = with_setting(settings, f"model.{name}", value, None)
    for name, value in (training.loss or {}).items():
        settings = with_setting(settings, f"loss.{name}", value, 0.0)
    return settings
