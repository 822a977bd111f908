"""What is recorded: runs by task and protocol, what is missing and by which command it is made, the file of transfer.

Reads JSON only and loads no torch.  A label is that of a shipped checkpoint (``hsd-paper``), a record's own label has
blanks ("hsd paper").
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hsd.experiments.cost_table import machine_words, rows_in
from hsd.experiments.records import RESULTS, SCHEMA, read_json, version_in
from hsd.experiments.suites import LONG_MINUTES, MINUTES, SUITES, Entry
from hsd.experiments.tables import row_of
from hsd.viz.palettes import MODELS as LOOKS

LABELS = tuple(name for name in LOOKS if name not in ("truth", "ridge"))
"""Rows of the tables of results, in order."""
TABLES = ("main", "others")
LONG = "long"
"""The suite of the best baselines with a larger budget, which stand in the table of the smaller one."""
ABLATIONS = ("ablation_transport", "ablation_others")
TRANSFER = "transfer.json"
COSTS = "cost.json"
MADE_AGAIN = "--results out/again --out out/again"
PER_RUN = 9
"""Minutes on two cores that one run of six minutes takes with its data and scores, generously."""


@dataclass(frozen=True)
class Protocol:
    """What all runs of one table were given: a budget in minutes or in epochs, and data.

    minutes : on two cores or a GPU (0: epochs count);  n_train: samples trained on at most (0: the training part)
    """

    minutes: float
    epochs: int
    n_samples: int
    n_nodes: int | None
    n_train: int

    @property
    def key(self) -> str:
        """Its name in a link."""
        words = [f"{self.minutes:g}min" if self.minutes else f"{self.epochs}ep", f"{self.n_samples}samples"]
        words += [f"{self.n_nodes}nodes"] * bool(self.n_nodes) + [f"n{self.n_train}"] * bool(self.n_train)
        return "_".join(words)

    @property
    def words(self) -> str:
        budget = f"{self.minutes:g} min" if self.minutes else f"{self.epochs} epochs"
        more = [f"{self.n_nodes} nodes"] * bool(self.n_nodes) + [f"{self.n_train} trained on"] * bool(self.n_train)
        return ", ".join([budget, f"{self.n_samples} samples", *more])


@dataclass(frozen=True, eq=False)
class Run:
    """A record with what it is called here.

    suite : its list of runs, "" where no list has it by now;  newest: version of its model that is known of
    """

    record: Mapping[str, Any]
    label: str
    protocol: Protocol
    suite: str
    newest: int = 1

    @property
    def row(self) -> dict[str, Any]:
        """What tables show of it."""
        return row_of(self.record) | {"newest_version": self.newest}

    @property
    def is_current(self) -> bool:
        """Whether it is of the newest version of its model."""
        return version_in(self.record) >= self.newest

    @property
    def title(self) -> str:
        name = LOOKS[self.label].name if self.label in LABELS else str(self.record["label"])
        name += f" ({self.protocol.minutes:g} min)" if self.suite == LONG else ""
        return f"{name}, seed {self.record['seed']}" if self.record["seed"] else name

    @property
    def state(self) -> str:
        """ "whole", or what a budget left of it; of which version, where the model has a newer one."""
        cut, asked = self.record["cut"], self.record["minutes"] or self.record["epochs"]
        words = (
            "whole" if cut is None else f"cut: {cut:.3g} of {asked:.3g} {'min' if self.record['minutes'] else 'epochs'}"
        )
        return words if self.is_current else f"{words}, model version {version_in(self.record)} of {self.newest}"


@dataclass(frozen=True, eq=False)
class Found:
    """Everything in a folder of results.  broken : a sentence for each file that is no record."""

    folder: Path
    runs: tuple[Run, ...]
    broken: tuple[str, ...]

    def of(self, task: str) -> list[Run]:
        return [run for run in self.runs if run.record["task"] == task]

    def by_entry(self, entry: str) -> Run | None:
        return next((run for run in self.runs if run.record["entry"] == entry), None)


def results_folder() -> Path:
    """``$HSD_RESULTS``, else that of the program."""
    return Path(os.environ.get("HSD_RESULTS") or RESULTS)


def found_in(folder: Path) -> Found:
    """All records of a folder; files are read again when they change."""
    runs, broken = [], []
    for path in sorted((folder / "runs").glob("*.json")):
        try:
            stat = path.stat()
        except OSError:  # replaced or removed meanwhile
            continue
        read = _run(str(path), stat.st_mtime_ns, stat.st_size)
        if read is None:
            broken.append(f"{path.name} is no record of this version ({SCHEMA}); it is left out.")
        else:
            runs.append(read)
    newest = newest_versions(folder, runs)
    runs = [replace(run, newest=newest[run.record["model"]]) for run in runs]
    return Found(folder, tuple(runs), tuple(broken))


def newest_versions(folder: Path, runs: Sequence[Run]) -> dict[str, int]:
    """Model → its newest version by these runs and the tables of a folder (made with all models at hand, as here they
    are not)."""
    said = [(run.record["model"], version_in(run.record)) for run in runs]
    for path in folder.glob("*.json"):
        rows = (read_json(path) or {}).get("rows", ())
        said += [(row["model"], row["newest_version"]) for row in rows if "newest_version" in row]
    out: dict[str, int] = {}
    for model, version in said:
        out[model] = max(version, out.get(model, 1))
    return out


@lru_cache(maxsize=2048)
def _run(path: str, stamp: int, size: int) -> Run | None:
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        sound = record["schema"] == SCHEMA and record["validation"] and record["training"] and record["data"]
        return run_of(record) if sound else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def run_of(record: Mapping[str, Any]) -> Run:
    """Raises KeyError where the record lacks what every record has."""
    protocol = Protocol(*(record[key] for key in ("minutes", "epochs", "n_samples", "n_nodes", "n_train")))
    if protocol.minutes:
        protocol = Protocol(protocol.minutes, 0, protocol.n_samples, protocol.n_nodes, protocol.n_train)
    known = _entries().get(record["entry"])
    same = known is not None and all(record[key] == value for key, value in _plain(known[1]).items())
    for key in ("sha256", "parameters", "latency_ms", "versions"):
        record[key]
    return Run(record, record["label"].replace(" ", "-"), protocol, known[0] if same else "")


@lru_cache(maxsize=1)
def _entries() -> dict[str, tuple[str, Entry]]:
    """Name of an entry → its suite and itself; of one that is in several the first."""
    out: dict[str, tuple[str, Entry]] = {}
    for suite, entries in SUITES.items():
        for entry in entries:
            out.setdefault(entry.name, (suite, entry))
    return out


def _plain(entry: Entry) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(entry)))


# ---- tables ------------------------------------------------------------------------------------------------------


def table_runs(found: Found, task: str) -> list[Run]:
    """The runs that belong into tables of results: models under their own names, not variants of an ablation."""
    return [run for run in found.of(task) if run.label in LABELS and run.suite not in ABLATIONS]


def protocols(runs: Sequence[Run]) -> list[Protocol]:
    """Those of some runs, the one with most models first."""
    count: dict[Protocol, set[str]] = {}
    for run in runs:
        count.setdefault(run.protocol, set()).add(run.label)
    return sorted(count, key=lambda p: (-len(count[p]), -p.n_samples, -p.minutes, p.key))


def runs_under(runs: Sequence[Run], protocol: Protocol | None) -> list[Run]:
    """Those of a protocol, in order; with those of the main tables the best baselines' longer runs on the same data."""
    longer = replace(protocol, minutes=LONG_MINUTES) if protocol and protocol.minutes == MINUTES else None
    return ordered([r for r in runs if r.protocol == protocol or (r.protocol == longer and r.suite == LONG)])


def ordered(runs: Sequence[Run]) -> list[Run]:
    """By label in the order of the palettes, then by budget and seed."""
    return sorted(runs, key=lambda run: (LABELS.index(run.label), run.record["minutes"], run.record["seed"]))


def ablation_runs(found: Found, task: str) -> list[Run]:
    """Variants of HSD on a task, in the order of their suite."""
    order = {entry.name: i for i, entry in enumerate(e for suite in ABLATIONS for e in SUITES[suite])}
    runs = [run for run in found.of(task) if run.suite in ABLATIONS]
    return sorted(runs, key=lambda run: order[run.record["entry"]])


def ablation_entries(task: str) -> tuple[str, list[Entry]]:
    """The suite of a task's ablations and its rows."""
    suite = next(name for name in ABLATIONS if any(entry.task == task for entry in SUITES[name]))
    return suite, [entry for entry in SUITES[suite] if entry.task == task]


def suite_of(task: str) -> str:
    """The suite with a task's table of results."""
    return next(name for name in TABLES if any(entry.task == task for entry in SUITES[name]))


def missing(found: Found, task: str) -> list[str]:
    """Labels of a task's suite that have no record of the newest version of their model."""
    there = {run.record["entry"] for run in found.of(task) if run.suite in TABLES and run.is_current}
    return [e.label.replace(" ", "-") for e in SUITES[suite_of(task)] if e.task == task and e.name not in there]


# ---- transfer, costs ---------------------------------------------------------------------------------------------


def transfer_rows(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """Rows of ``python -m hsd transfer --json``, and a sentence where the file cannot be read; each with its label."""
    path = folder / TRANSFER
    if not path.is_file():
        return [], ""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [{**row, "label": label_of_checkpoint(row["checkpoint"], row["title"])} for row in rows], ""
    except (OSError, ValueError, KeyError, TypeError):
        return [], f"{path.name} is no file of the command transfer; make it again."


def measured_costs(folder: Path, task: str) -> tuple[list[dict[str, Any]], str, str]:
    """Rows of a task in the file of ``python -m hsd cost --json`` with their labels, the quickest first; the machine in
    words; a sentence where the file cannot be read."""
    path = folder / COSTS
    if not path.is_file():
        return [], "", ""
    try:
        rows, where = rows_in(path.read_text(encoding="utf-8"))
        mine = [{**row, "label": label_of_checkpoint(row["checkpoint"], "")} for row in rows if row["task"] == task]
        return sorted(mine, key=lambda row: row["forward_ms"]), machine_words(where), ""
    except (OSError, ValueError, KeyError, TypeError):
        return [], "", f"{path.name} is no file of the command cost; make it again."


def label_of_checkpoint(path: str, title: str) -> str:
    """The label of a shipped checkpoint by its file's name, else that of the model's title, else the file's name."""
    stem = Path(path).stem
    if stem in LABELS:
        return stem
    return next((name for name in LABELS if LOOKS[name].name == title), stem)


# ---- commands ----------------------------------------------------------------------------------------------------


def command_missing(task: str, labels: Sequence[str]) -> str:
    """Makes the missing rows of a task's table."""
    return (
        f"python -m hsd pretrain --tasks {task} --models {' '.join(labels)} "
        f"--budget-minutes {PER_RUN * len(labels)} --out out/pretrain"
    )


def command_long(task: str) -> str:
    """Runs the best baselines of a task's table with the larger budget."""
    return f"python -m hsd benchmark {LONG} --tasks {task} --queue"


def command_full(task: str) -> str:
    """Runs a task's table under the paper's protocol, on a GPU."""
    return (
        f"python -m hsd pretrain --tasks {task} --protocol full --jobs 6 --threads 2 --budget-minutes 60 --out out/full"
    )


def command_test(suite: str) -> str:
    """Reads the test part of all runs of a suite, once."""
    return (
        f"python -m hsd benchmark {suite} --table --readme"
        if suite in TABLES
        else (f"python -m hsd benchmark {suite} --table")
    )


def command_ablation(task: str) -> str:
    return f"python -m hsd benchmark {ablation_entries(task)[0]} --tasks {task} --queue"


def command_costs() -> str:
    return "python -m hsd cost assets/checkpoints/*/*.safetensors --json assets/results/cost.json --readme"


def command_transfer() -> str:
    return "python -m hsd transfer assets/checkpoints/*/*.safetensors --json assets/results/transfer.json"


def command_of(run: Run) -> str:
    """Makes a run again, elsewhere, for comparison."""
    record = run.record
    if run.suite:
        label = shlex.quote(record["label"])
        return f"python -m hsd benchmark {run.suite} --tasks {record['task']} --models {label} --queue {MADE_AGAIN}"
    words = ["python -m hsd train", record["task"], record["model"], f"--samples {record['n_samples']}"]
    words += [f"--nodes {record['n_nodes']}"] * bool(record["n_nodes"])
    settings = {key: record[key] for key in ("epochs", "minutes", "batch_size", "micro_batch", "n_train", "seed")}
    settings |= {f"model.{key}": value for key, value in record["config"].items()}
    words += [f"--set {key}={value}" for key, value in settings.items()]
    return " ".join([*words, "--out out/again"])
