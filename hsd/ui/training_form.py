"""The form of a new run: data, model, training, device; what it asks for as a RunSpec, checked before it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from hsd.data import trainable
from hsd.data.splits import split_sizes
from hsd.errors import HsdError, InputError
from hsd.ui import task_files
from hsd.ui.bound import bound_segments, bound_selectbox, fill, is_old, widget_key
from hsd.ui.markdown import literal
from hsd.ui.state import AppState, TrainingState, get_state, update
from hsd.ui.state_parts import QUICK_TRAINING
from hsd.ui.task_view import OWN, titles
from hsd.ui.training_entries import Entry, entries_of, values_of, with_setting, without_model
from hsd.ui.training_fields import Limits, checked_field, complaints, forget_wrong, number_at, read_fields
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
MORE = "More of the training"
OF_DATA = {widget_key(path) for path in ("training.samples", "training.nodes", "seed")}
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


def refusal(state: AppState) -> HsdError | None:
    """Why there is no such config: entries that do not go together, or a link with what cannot be."""
    try:
        configs(state)
    except HsdError as error:
        return error
    return None


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
    """All widgets of a new run, its button first; ``start`` is called when it is pressed.

    Raises HsdError, in the end where a field can show the entry that is wrong, where the settings cannot be.
    """
    start_button("training:start", start, width="stretch")
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
        number_at("Samples", "training.samples", 100.0)
        number_at("Nodes", "training.nodes", 100.0, help="Vertices aimed at.")
        number_at("Seed of the data", "seed", 1.0)
        st.caption(split_words(get_state().training.samples))
    models = [name for name in LOOKS if name in known_models()]
    bound_selectbox("Model", "training.model", models, lambda m: LOOKS[m].name, on_change=forget_model)
    bound_segments("Device", "training.device", DEVICES, DEVICES.get)
    state = get_state()
    (training0, model0), wrong = defaults(state), refusal(state)
    own = {"lr": model0.lr, "weight_decay": model0.weight_decay}
    entries, entered = entries_of(training0), values_of(state.training.settings)

    def field(entry: Entry, prefix: str = "", box: str = "") -> None:
        value = entered.get(prefix + entry.name, entry.default)
        try:
            entry.check(value)
        except InputError as error:
            raise (wrong or error) from error
        entry_widget(entry, prefix, value, box, None if prefix else own.get(entry.name))

    for entry in entries:
        if entry.name in FIRST:
            field(entry)
    if minutes := entered.get("minutes"):
        st.caption(
            f"{minutes:g} minutes of computing take the place of the number of epochs; on a machine with "
            "other work they last longer by the clock."
        )
    with opened(MORE, "more") as box:
        if box.open:
            for entry in entries:
                if entry.name not in FIRST:
                    field(entry, box=MORE)
            loss_widgets(field)
    with opened(title := f"Settings of {LOOKS[state.training.model].name}", "settings") as box:
        if box.open:
            for entry in entries_of(model0, OF_RUN):
                field(entry, "model.", title)
    if wrong is not None:  # last, so that the entry that is wrong can be mended in its field
        raise wrong


def opened(title: str, name: str):
    """A box of fields that are made when it is opened: the browser looks at each field of the page again, hidden or
    not, with every answer of the server, and so with every second of a run that is watched."""
    return st.expander(title, key=f"training:{name}", on_change="rerun")


def start_button(key: str, start: Callable[[], None], **more: Any) -> None:
    """A button that starts what stands in the form, and nothing while a field holds what cannot be."""
    wrong = cannot_start()
    said = "Mend what is said in red first; Quick fills the whole form." if wrong else None
    st.button(
        "Start training", key=key, type="primary", disabled=wrong, help=said, on_click=start_as_shown, args=(start,),
        **more,
    )  # fmt: skip


def start_as_shown(start: Callable[[], None]) -> None:
    """The click may come together with what was typed just before it."""
    read_fields()
    if not cannot_start():
        start()


def cannot_start() -> bool:
    """Whether a field holds what cannot be, or the entries do not go together."""
    return bool(wrong_fields()) or refusal(get_state()) is not None


def wrong_fields() -> list[str]:
    """Sentences on the form's fields that hold what cannot be."""
    choice = get_state().training
    entries, own = entry_key(choice, ""), choice.task == OWN
    return complaints(lambda key: key.startswith(entries) or (key in OF_DATA and not own))


def entry_key(choice: TrainingState, name: str) -> str:
    """Key of the widget of an entry."""
    return f"training:{choice.task}:{choice.model}:{name}"


def known_models() -> tuple[str, ...]:
    """Names in the registry."""
    from hsd.models.registry import MODELS

    return tuple(MODELS)


def entry_widget(entry: Entry, prefix: str, value: Any, box: str = "", own: float | None = None) -> None:
    """One entry, in the box of that name; ``own``: what an empty field stands for."""
    name, label = prefix + entry.name, LABELS.get(entry.name, entry.name.replace("_", " "))
    key, said = entry_key(get_state().training, name), literal(entry.help) or None
    if entry.kind in ("switch", "choice"):
        fill(key, value)
        bind = {"key": key, "on_change": entry_changed, "args": (key, name, entry.default), "help": said}
        if entry.kind == "switch":
            st.toggle(label, value, **bind)
        else:
            st.selectbox(label, entry.choices, entry.choices.index(value), **bind)
        return
    where = f"{box}, {label}" if box else label
    hint = "" if own is None else f"the model's: {own:g}"
    sizes = entry.kind == "sizes"
    checked_field(
        label, key, ", ".join(map(str, value)) if sizes else value,
        Limits(where, entry.low, entry.high, entry.kind, entry.above),
        lambda new: set_entry(name, new, entry.default), 1.0 if entry.kind == "whole" else None,
        help=said, placeholder=hint or None,
    )  # fmt: skip


def entry_changed(key: str, name: str, default: Any) -> None:
    if not is_old(key):
        set_entry(name, st.session_state[key], default)


def set_entry(name: str, value: Any, default: Any) -> None:
    """Another value of an entry, among the settings."""
    update(**{"training.settings": with_setting(get_state().training.settings, name, value, default)})


def loss_widgets(field: Callable[[Entry, str, str], None]) -> None:
    """Weights of the loss terms; none: the relative error of the form."""
    from hsd.metrics.losses import LOSSES

    st.caption(
        literal("Weights of the loss; all zero: ‖ω_p − ω_g‖_⋆ / ‖ω_g‖_⋆, or of node values for models without forms.")
    )
    for name, loss in LOSSES.items():
        field(Entry(name, "number", 0.0, loss.formula, high=1000), "loss.", MORE)


def forget_model() -> None:
    """Another model has other entries."""
    update(**{"training.settings": without_model(get_state().training.settings)})


def quick() -> None:
    """The run that the page offers first."""
    forget_wrong()
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

    forget_wrong()
    changes: dict[str, Any] = {"training.settings": ()}
    choice = get_state().training
    if choice.task != OWN:
        config = task(choice.task).config
        changes |= {"training.samples": config.n_samples, "training.nodes": config.n_nodes}
    update(**changes)


def take_over(spec: RunSpec, **changes: Any) -> None:
    """Put the configuration of a run into the form, with other entries of the training config."""
    forget_wrong()
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
