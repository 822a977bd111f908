"""What a run of the generator makes, written beside its chunks so that workers and resumed runs make the same."""

from __future__ import annotations

import dataclasses
import json
import platform
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from hsd import __version__
from hsd.data.schema import FieldsSpec, Schema
from hsd.data.tasks import TASKS
from hsd.data.tasks import task as make_task
from hsd.data.tasks.base import Task
from hsd.errors import InputError, UnknownNameError, check_choice, require_whole

CHUNK = 100
"""Samples realised together.  It is fixed, never taken from the number of workers: sums in another order round
differently."""
MOST_SAMPLES = 10_000_000
"""Samples of one dataset: more are a slip of the finger, and their bookkeeping alone would take minutes."""


@dataclass(frozen=True)
class Plan:
    """Task, config and numbers of one dataset; equal plans and versions give equal files."""

    task: str
    config: Mapping[str, Any]
    """Entries that differ from the default config."""
    n_samples: int
    n_nodes: int
    seed: int
    chunk: int = CHUNK

    @classmethod
    def of(
        cls,
        name: str,
        n_samples: int | None = None,
        n_nodes: int | None = None,
        seed: int = 0,
        config: Mapping[str, Any] | None = None,
        chunk: int = CHUNK,
    ) -> Plan:
        """Sizes default to those of the task's config.

        Raises UnknownNameError (task, entry of the config), InputError (not_whole, bad_number, bad_config, and those
        of the task).
        """
        check_choice("task", name, TASKS)
        defaults = make_task(name).config
        changes = {key: _converted(name, defaults, key, value) for key, value in (config or {}).items()}
        n_samples = changes.pop("n_samples", defaults.n_samples) if n_samples is None else n_samples
        n_nodes = changes.pop("n_nodes", defaults.n_nodes) if n_nodes is None else n_nodes
        changes.pop("n_samples", None), changes.pop("n_nodes", None)
        for what, value, least in (("samples", n_samples, 1), ("nodes", n_nodes, 4), ("samples of a chunk", chunk, 1)):
            require_whole(f"number of {what}", value)
            if value < least:
                raise InputError(f"The number of {what} must be at least {least}; got {value}.", "bad_number")
        if n_samples > MOST_SAMPLES:
            raise InputError(f"The number of samples may be {MOST_SAMPLES} at most; got {n_samples}.", "bad_number")
        require_whole("seed", seed)
        if seed < 0:
            raise InputError(f"The seed must not be negative; got {seed}.", "bad_seed")
        plan = cls(name, changes, int(n_samples), int(n_nodes), int(seed), int(chunk))
        plan.make_task()
        return plan

    def make_task(self) -> Task:
        return make_task(self.task, **{**self.config, "n_nodes": self.n_nodes, "n_samples": self.n_samples})

    # ---- chunks ------------------------------------------------------------------------------------------------

    @property
    def n_chunks(self) -> int:
        return -(-self.n_samples // self.chunk)

    def range_of(self, chunk: int) -> tuple[int, int]:
        """First sample of a chunk, and the one after its last."""
        return chunk * self.chunk, min((chunk + 1) * self.chunk, self.n_samples)

    # ---- files -------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """With the versions: a run is not continued by another version."""
        return json.dumps({**asdict(self), "versions": versions()}, ensure_ascii=False, allow_nan=False, indent=1)

    @classmethod
    def from_file(cls, path: Path) -> Plan:
        given = json.loads(path.read_text(encoding="utf-8"))
        given.pop("versions")
        defaults = make_task(given["task"]).config
        given["config"] = {k: _converted(given["task"], defaults, k, v) for k, v in given["config"].items()}
        return cls(**given)

    @property
    def command(self) -> str:
        """The command that makes this dataset."""
        words = ["python", "-m", "hsd", "data", "generate", self.task]
        words += ["--samples", str(self.n_samples), "--nodes", str(self.n_nodes), "--seed", str(self.seed)]
        for key, value in self.config.items():
            words += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
        return " ".join(shlex.quote(w) for w in words)

    def schema(self, task: Task, mesh_hash: str, named: Mapping[str, FieldsSpec]) -> Schema:
        """The schema of the file, provenance included; nothing in it depends on workers, time or place."""
        target = task.target
        same = [s.name for s in task.inputs if (s.degree, s.reading) == (target.degree, target.reading)]
        provenance = {
            "task": self.task,
            "title": task.title,
            "equation": task.equation,
            "config": task.config_dict,
            "seed": self.seed,
            "n_samples": self.n_samples,
            "n_nodes": self.n_nodes,
            "chunk": self.chunk,
            "split": {"seed": self.seed, "test": 0.2, "validation": 0.15},
            "versions": versions(),
            "command": self.command,
        }
        state = same[0] if task.time_dependent and same else None
        hashes = (mesh_hash,)
        return Schema(
            task.inputs, target, named, self.task, state, "galerkin", "absolute", self.n_samples, hashes, provenance
        )


def versions() -> dict[str, str]:
    """Versions that data depend on."""
    return {
        "hsd": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": platform.machine(),
    }


def parse_setting(text: str) -> tuple[str, Any]:
    """``key=value`` → key and value, read as JSON where it is JSON and as text where it is not.

    Raises InputError (bad_setting).
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"A setting is written key=value; got {text!r}.", "bad_setting")
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value


def _converted(task: str, defaults: Any, key: str, value: Any) -> Any:
    """A value from outside as the type that the config has there (numbers, texts, tuples)."""
    known = [f.name for f in fields(defaults)]
    if key not in known:
        raise UnknownNameError(f"entry of the config of {task}", key, known)
    default = getattr(defaults, key)
    if dataclasses.is_dataclass(default) or default is None:
        return value
    wanted = {
        bool: ("true or false", bool),
        int: ("a whole number", int),
        float: ("a number", (int, float)),
        str: ("a text", str),
        tuple: ("a list", (list, tuple)),
        dict: ("an object", Mapping),
    }
    for kind, (words, accepted) in wanted.items():
        if isinstance(default, kind):
            wrong = not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool)
            if wrong or (kind is float and not np.isfinite(value)):
                raise InputError(f"The entry {key!r} of the config must be {words}; got {value!r}.", "bad_config")
            return _tuples(value) if kind is tuple else float(value) if kind is float else value
    return value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, (list, tuple)) else value
