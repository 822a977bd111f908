"""What a training run is told: frozen, readable from text, the same for every model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from hsd.errors import InputError, UnknownNameError, is_real, is_whole

DEFAULT_MODES = 128


WHOLE = {"epochs": 1, "batch_size": 1, "micro_batch": 0, "patience": 0, "n_train": 0, "seed": 0}
"""Entries that are whole numbers, and their least values."""


@dataclass(frozen=True)
class TrainingConfig:
    """One run.

    model, model_config : name in the registry and entries of its config
    epochs              : passes over the training set;  minutes: instead, a time budget, the schedule laid over the
                          steps that fit (measured on the first ones, and again on the way): wall clock on a GPU, on a
                          CPU the time that the process computes divided by its threads, so that other work on the
                          machine costs a run nothing; with several processes it is the first one's
    batch_size          : effective batch;  micro_batch: samples at once (gradients are accumulated), 0: what the
                          model asks for, else all of them
    lr, weight_decay    : None: the model's own
    schedule            : "cosine" (a warm-up over 5 % of the steps, then cosine to zero) or "constant"
    clip                : largest norm of the gradient
    patience            : epochs without a better validation error before it stops, 0: never
    n_train             : training samples used (by turns from the meshes, scaled by their own statistics), 0: all
    seed                : of the first weights and the order of the batches;  compile: torch.compile, slow to begin
    loss                : weights by the names of hsd.metrics.losses; None: relative ⋆-norm of the form (of the node
                          values for models that make none)
    precision           : "float32", "bfloat16" (autocast, where the device has it) or "float64"
    """

    model: str
    model_config: dict[str, Any] = field(default_factory=dict)
    epochs: int = 100
    minutes: float = 0.0
    batch_size: int = 32
    micro_batch: int = 0
    lr: float | None = None
    weight_decay: float | None = None
    schedule: str = "cosine"
    clip: float = 1.0
    patience: int = 0
    n_train: int = 0
    seed: int = 0
    loss: dict[str, float] | None = None
    precision: str = "float32"
    compile: bool = False

    def __post_init__(self):
        for name, low in WHOLE.items():
            value = getattr(self, name)
            if not is_whole(value) or not low <= value < 2**63:
                raise InputError(f"{name} must be a whole number of at least {low}; got {value!r}.", "bad_config")
        for name, low in (("minutes", 0.0), ("clip", None), ("lr", None), ("weight_decay", 0.0)):
            value = getattr(self, name)
            if value is None and name in ("lr", "weight_decay"):
                continue
            if not is_real(value) or (value <= 0.0 if low is None else value < low):
                bound = "above 0" if low is None else "of at least 0"
                raise InputError(f"{name} must be a number {bound}; got {value!r}.", "bad_config")
        if self.loss is not None and not isinstance(self.loss, dict):
            raise InputError(f"Losses are set one by one, as loss.flux=0.1; got loss={self.loss!r}.", "bad_config")
        for name, weight in (self.loss or {}).items():
            if not is_real(weight) or weight < 0.0:
                raise InputError(
                    f"The weight of loss {name} must be a number of at least 0; got {weight!r}.", "bad_config"
                )
        if not isinstance(self.compile, bool):
            raise InputError(f"compile is true or false; got {self.compile!r}.", "bad_config")
        for name, known in (("schedule", ("cosine", "constant")), ("precision", ("float32", "bfloat16", "float64"))):
            if getattr(self, name) not in known:
                raise UnknownNameError(name, getattr(self, name), known)

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> TrainingConfig:
        """Raises UnknownNameError for an entry that there is not, InputError for a bad value."""
        known = [f.name for f in fields(cls)]
        for key in entries:
            if key not in known:
                raise UnknownNameError("entry of the training config", key, known)
        return cls(**entries)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def with_entries(self, pairs: Iterable[str]) -> TrainingConfig:
        """A copy with ``key=value`` texts applied; ``model.key=value`` goes to the model's config, ``loss.name=weight``
        to the loss.

        Values are read as numbers, true/false/none, or text.  Raises InputError (bad_config), UnknownNameError.
        """
        own: dict[str, Any] = {}
        model, loss = dict(self.model_config), dict(self.loss or {})
        for pair in pairs:
            key, sep, text = pair.partition("=")
            if not sep or not key:
                raise InputError(f"Settings are written key=value; got {pair!r}.", "bad_config")
            if key.startswith("model."):
                model[key.removeprefix("model.")] = read_value(text)
            elif key.startswith("loss."):
                weight = read_value(text)
                if isinstance(weight, bool) or not isinstance(weight, int | float):
                    raise InputError(f"The weight of a loss is a number; got {pair!r}.", "bad_config")
                loss[key.removeprefix("loss.")] = float(weight)
            else:
                own[key] = read_value(text)
        known = [f.name for f in fields(self) if f.name not in ("model", "model_config")]
        for key in own:
            if key not in known:
                raise UnknownNameError("entry of the training config", key, [*known, "model.ENTRY", "loss.NAME"])
        return replace(self, **{"loss": loss or None, **own}, model_config=model)


def read_value(text: str) -> Any:
    """A number, true, false, null, a list of whole numbers as [64, 64], or the text itself."""
    if text.startswith("[") and text.endswith("]"):
        numbers = text[1:-1].replace(" ", "").split(",")
        return [int(n) for n in numbers] if all(n.isdigit() for n in numbers) else text
    words = {"true": True, "false": False, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        is_count = kind is float and "e" in text.lower() and number.is_integer()  # epochs=1e5 is a whole number
        return int(number) if is_count else number
    return text
