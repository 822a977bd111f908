"""The state of a run as one safetensors file: weights, best weights, optimiser, progress; written atomically."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from hsd.errors import InputError
from hsd.hodge.cache import write_atomically

if TYPE_CHECKING:
    from hsd.training.trainer import Trainer


STATE, LOG = "state.safetensors", "log.jsonl"
"""In a run folder: the whole state, and the log with a line an epoch."""


def write_state(path: Path, trainer: Trainer) -> None:
    """One file with everything that a resumed run needs to go on as if nothing had happened."""
    tensors = {f"model/{k}": v for k, v in trainer.model.state_dict().items()}
    tensors |= {f"best/{k}": v for k, v in (trainer.best_weights or {}).items()}
    names = [name for name, _ in trainer.model.named_parameters()]
    for i, entries in trainer.optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser/{names[i]}/{k}": torch.as_tensor(v) for k, v in entries.items()}
    about = {"progress": asdict(trainer.progress), "config": trainer.config.as_dict()}
    plain = {k: v.detach().cpu().contiguous().clone() for k, v in tensors.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, save(plain, {"about": json.dumps(about)}))


def read_file(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """What is said of a state (progress, config) and its tensors, on the CPU.  Raises InputError (bad_state)."""
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            return about, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"The state {path.name} of this run cannot be read ({error}); start again in a new folder.", "bad_state"
        ) from error


def best_weights(path: Path) -> tuple[int, dict[str, torch.Tensor]]:
    """Epoch (from 0) and weights with the smallest validation error; −1 and the present ones before an epoch ended.

    Raises InputError (bad_state).
    """
    about, tensors = read_file(path)
    best = _group(tensors, "best/")
    return about["progress"]["best_epoch"], best or _group(tensors, "model/")


def _group(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def read_state(path: Path, trainer: Trainer) -> dict[str, Any]:
    """Put a state into a trainer; returns the config that it was written with.

    Raises InputError (bad_state; other_data, where the weights do not fit the model that the data ask for).
    """
    about, tensors = read_file(path)
    if about["config"] != trainer.config.as_dict():
        return about["config"]
    own = {k: v.shape for k, v in trainer.model.state_dict().items()}
    if own != {k: v.shape for k, v in _group(tensors, "model/").items()}:
        raise InputError(
            "The weights of this run do not fit its data any more: the dataset file has another mesh or other fields "
            "than when the run began; put the old file back, or start a new run.",
            "other_data",
        )
    trainer.model.load_state_dict(_group(tensors, "model/"))
    best = _group(tensors, "best/")
    trainer.best_weights = {k: v.to(trainer.device) for k, v in best.items()} or None
    names = [name for name, _ in trainer.model.named_parameters()]
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in _group(tensors, "optimiser/").items():
        name, entry = key.rsplit("/", 1)
        state.setdefault(names.index(name), {})[entry] = value
    trainer.optimiser.load_state_dict({**trainer.optimiser.state_dict(), "state": state})
    for key, value in about["progress"].items():
        setattr(trainer.progress, key, value)
    return about["config"]
