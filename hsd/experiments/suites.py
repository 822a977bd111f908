"""Named lists of runs: which model on which task, with which data and which budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hsd.data.tasks import TASKS
from hsd.errors import check_choice
from hsd.models.presets import PRESETS, TINIER_ALREADY
from hsd.models.registry import BASELINES
from hsd.training.config import TrainingConfig

if TYPE_CHECKING:
    from hsd.experiments.records import Records
    from hsd.training.run import RunSpec

CORE_TASKS = ("toroidal_transport", "external_aerodynamics", "magnetostatics", "vorticity_dynamics")
SAMPLES = 1000
FAST = ("hsd", "fno3d", "geo_fno", "deeponet", "gno")
"""The five that made most epochs in their budget of the main table, most tasks together."""
MINUTES, LONG_MINUTES, SMALL_MINUTES = 6.0, 30.0, 2.0
"""Budget of a row of the main tables; of the best baselines beside it, so that none is starved; of a row with a seventh
of the training samples, which is still more than twice the epochs."""
EPOCHS = {"toroidal_transport": 50}
FULL_EPOCHS, FULL_SAMPLES, FULL_BATCH = 100, 3000, 64
"""The paper's protocol: epochs (50 for transport), samples, batch."""
MORE_SEEDS = (1, 2)


@dataclass(frozen=True)
class Entry:
    """One row of a table.

    label     : what the row is called;  task: its column group;  model: a name in the registry
    config    : entries of the model's config;  minutes or epochs: the budget
    n_samples : of the dataset (of which n_train are trained on, 0: all of the training part)
    """

    label: str
    task: str
    model: str
    config: dict[str, Any] = field(default_factory=dict)
    minutes: float = 0.0
    epochs: int = 100
    n_samples: int = SAMPLES
    n_nodes: int | None = None
    n_train: int = 0
    batch_size: int = 32
    micro_batch: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        words = [self.task, self.label.replace(" ", "-").replace("/", "-"), f"s{self.seed}"]
        words.append(f"{self.minutes:g}min" if self.minutes else f"{self.epochs}ep")
        if self.n_train:
            words.append(f"n{self.n_train}")
        if self.n_samples != SAMPLES:
            words.append(f"{self.n_samples}samples")
        if self.n_nodes:
            words.append(f"{self.n_nodes}nodes")
        return "_".join(words)

    def spec(self, device: str = "auto") -> RunSpec:
        from hsd.training.run import RunSpec  # loads torch, which lists of runs do without

        training = TrainingConfig(
            self.model,
            dict(self.config),
            epochs=self.epochs,
            minutes=self.minutes,
            batch_size=self.batch_size,
            micro_batch=self.micro_batch,
            n_train=self.n_train,
            seed=self.seed,
        )
        return RunSpec(training, self.task, n_samples=self.n_samples, n_nodes=self.n_nodes, device=device)


def _models(task: str) -> list[Entry]:
    rows = [Entry("hsd", task, "hsd", {}, MINUTES)]
    if task not in TINIER_ALREADY:
        rows.append(Entry("hsd tiny", task, "hsd", PRESETS["tiny"], MINUTES))
    rows.append(Entry("hsd paper", task, "hsd", PRESETS["paper"], MINUTES))
    return rows + [Entry(name, task, name, {}, MINUTES) for name in BASELINES]


def full_protocol(entry: Entry) -> Entry:
    """The same row under the paper's protocol."""
    epochs = EPOCHS.get(entry.task, FULL_EPOCHS)
    return replace(entry, minutes=0.0, epochs=epochs, n_samples=FULL_SAMPLES, batch_size=FULL_BATCH)


def _of_seeds(task: str) -> list[Entry]:
    """HSD and all baselines with the further seeds."""
    return [Entry(m, task, m, {}, MINUTES, seed=seed) for m in ("hsd", *BASELINES) for seed in MORE_SEEDS]


TRANSPORT_ROWS: dict[str, dict[str, Any]] = {  # "full": global path, penalty, 512 modes, 12 tied layers
    "full": {},
    "without global path": {"global_path": False},
    "without stability penalty": {"penalty": 0.0},
    "product layers": {"products": 4},
    "resolvent fiber": {"fiber": "resolvent"},
    "grid fiber": {"fiber": "grid"},
    "grid fiber, without projection": {"fiber": "grid", "project": False},
    "grid fiber, commutator": {"fiber": "grid", "commutator": True},
    "paper": PRESETS["paper"],
    "64 modes": {"n_modes": 64},
    "128 modes": {"n_modes": 128},
    "256 modes": {"n_modes": 256},
    "256 modes, resolvent fiber": {"n_modes": 256, "fiber": "resolvent"},
    "256 modes, grid fiber": {"n_modes": 256, "fiber": "grid"},
    "4 layers": {"layers": 4},
    "8 layers": {"layers": 8},
    "untied": {"tied": False},
}
"""Rows of the ablation on transport: entries of the config beside the task's own.

What the default lacks (fibers, commutator, product layers) is added, not left out; a row "A, B" differs from row "A" by
B alone (:func:`compared_with`), all others from "full".
"""
OTHER_ROWS: dict[str, dict[str, Any]] = {
    "full": {},
    "without fiber": {"fiber": "none"},
    "without global path": {"global_path": False},
    "with one product layer": {"products": 1},
    "paper": PRESETS["paper"],
}

OWN_ROWS: dict[str, dict[str, dict[str, Any] | None]] = {  # beside or (None) instead of those
    "vorticity_dynamics": {
        "without fiber": None,
        "without global path": None,
        "without flow, one product layer": {"flow": 0, "products": 1},
        "without flow": {"flow": 0},
        "with one product layer": None,
        "16 steps of the flow": {"flow": 16},
        "128 modes": {"n_modes": 128},
    },
    "torus_helmholtz": {
        "without pole": {"poles": 0},
        "hat functions in place of the pole": {"poles": 0, "hats": 96},
    },
    "magnetostatics": {
        "with one product layer": None,  # its source is a density, which product layers do not read
        "without lift": {"lift": 0, "fiber_lifts": 0},
        "without lifts in the fiber": {"fiber_lifts": 0},
        "256 modes": {"n_modes": 256},
    },
}


def _other_rows(task: str) -> dict[str, dict[str, Any]]:
    return {label: row for label, row in {**OTHER_ROWS, **OWN_ROWS.get(task, {})}.items() if row is not None}


SMOKE: dict[str, Any] = {"epochs": 2, "n_samples": 40, "n_nodes": 300}

SUITES: dict[str, list[Entry]] = {
    "main": [e for task in CORE_TASKS for e in _models(task)],
    "others": [e for task in TASKS if task not in CORE_TASKS for e in _models(task)],
    "long": [Entry(m, task, m, {}, LONG_MINUTES) for task in CORE_TASKS for m in BASELINES],
    "seeds": _of_seeds("toroidal_transport"),
    "small": [Entry(m, task, m, {}, SMALL_MINUTES, n_train=100) for task in CORE_TASKS for m in FAST],
    "full": [full_protocol(e) for task in TASKS for e in (*_models(task), *_of_seeds(task))],
    "ablation_transport": [
        Entry(label, "toroidal_transport", "hsd", entries, 3.0) for label, entries in TRANSPORT_ROWS.items()
    ],
    "ablation_others": [
        Entry(label, task, "hsd", entries, 3.0)
        for task in TASKS
        if task != "toroidal_transport"
        for label, entries in _other_rows(task).items()
    ],
    "smoke": [
        Entry("hsd", "ellipsoid_aerodynamics", "hsd", {"n_modes": 16}, **SMOKE),
        Entry("hsd, no path", "ellipsoid_aerodynamics", "hsd", {"n_modes": 16, "global_path": False}, **SMOKE),
        Entry("fno3d", "ellipsoid_aerodynamics", "fno3d", {}, **SMOKE),
    ],
}  # fmt: skip
"""Name of a suite → all entries that it can have, in the order in which they are run; :func:`chosen` says which of
those of the best baselines are wanted."""
BEST = {"long": 2, "seeds": 1, "full": 2}
"""How many of the baselines, the best ones of a task, have rows of a larger budget or further seeds in a suite."""
SHOWN_WITH = {"main": ("long", "seeds")}
"""Suites whose recorded rows stand in the table of another one."""


def suite(name: str) -> list[Entry]:
    """Raises UnknownNameError, naming the known suites."""
    check_choice("suite", name, SUITES)
    return SUITES[name]


def chosen(name: str, records: Records) -> list[Entry]:
    """The entries of a suite that are to be run; of those that only the best baselines have, those of the baselines
    best by now.  Raises UnknownNameError."""
    entries = suite(name)
    if name not in BEST:
        return entries
    best = {task: best_baselines(task, records, BEST[name]) for task in dict.fromkeys(e.task for e in entries)}
    for_all = (0,) if name == "full" else ()
    return [e for e in entries if e.seed in for_all or e.model not in BASELINES or e.model in best[e.task]]


def best_baselines(task: str, records: Records, count: int) -> list[str]:
    """The baselines of a task with the least relative L² on validation among its recorded rows of the main tables."""
    rows = [e for e in (*SUITES["main"], *SUITES["others"]) if e.task == task and e.model in BASELINES]
    found = {e.model: record["validation"]["relative_l2"] for e in rows if (record := records.read_whole(e))}
    known = {model: error for model, error in found.items() if error is not None}
    return sorted(known, key=known.__getitem__)[:count]


def shown(name: str) -> list[Entry]:
    """All entries whose records stand in a suite's table.  Raises UnknownNameError."""
    return [e for one in (name, *SHOWN_WITH.get(name, ())) for e in suite(one)]


def compared_with(label: str, labels: Iterable[str]) -> str:
    """The row of an ablation that a row differs from by one thing: "A" for "A, B" where there is one, else "full"."""
    first = label.rpartition(", ")[0]
    return first if first in labels else "full"
