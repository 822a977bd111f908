"""Which shipped checkpoint is most wanted next, and the loop that trains, scores and installs until a budget ends."""

from __future__ import annotations

import io
import os
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from hsd.errors import HsdError, InputError, check_choice
from hsd.experiments.queue import CORES, known_result, line_of, run_entry, run_folder
from hsd.experiments.records import Records
from hsd.experiments.shipped import (
    LABELS,
    budget_of,
    install,
    is_outdated,
    label_of,
    refusal,
    shipped_path,
    sound,
    too_large,
)
from hsd.experiments.suites import SUITES, Entry, full_protocol
from hsd.hodge.cache import write_atomically
from hsd.linalg import Progress, silent
from hsd.training.run import CHECKPOINT, chosen_device, dataset_of

TASK_ORDER = (
    "toroidal_transport", "external_aerodynamics", "magnetostatics", "vorticity_dynamics", "ellipsoid_aerodynamics",
    "torus_helmholtz",
)  # fmt: skip
LABEL_ORDER = (
    "hsd", "fno3d", "geo_fno", "deeponet", "ono", "gnot", "hamlet", "gno", "meshgraphnet", "hsd-paper", "hsd-tiny",
)  # fmt: skip
OVERHEAD = 60.0
"""Seconds of an entry beside its training, until some were measured: data, preparation, scores."""
SMALLEST_CUT = 0.5


def wanted(
    tasks: Iterable[str] | None = None,
    labels: Iterable[str] | None = None,
    minutes: float | None = None,
    protocol: str = "clock",
    n_samples: int | None = None,
    n_nodes: int | None = None,
    epochs: int | None = None,
) -> list[Entry]:
    """The entries of the suites ``main`` and ``others`` in the order of :data:`TASK_ORDER` and :data:`LABEL_ORDER`.

    protocol : "clock" (the suites' minutes) or "full" (3000 samples, the paper's epochs)
    minutes  : another budget in minutes (two cores, or the GPU);  the rest: other sizes, for trials
    Raises UnknownNameError, InputError (no_entry) where no suite has them.
    """
    tasks = [check_choice("task", name, TASK_ORDER) for name in (TASK_ORDER if tasks is None else tasks)]
    labels = [check_choice("label of a checkpoint", m, LABELS) for m in (LABEL_ORDER if labels is None else labels)]
    check_choice("protocol", protocol, ("clock", "full"))
    known = {(e.task, label_of(e)): e for e in (*SUITES["main"], *SUITES["others"])}
    out = []
    for task in sorted(tasks, key=TASK_ORDER.index):
        for label in sorted(labels, key=LABEL_ORDER.index):
            entry = known.get((task, label))
            if entry is None:
                continue
            if protocol == "full":
                entry = full_protocol(entry)
            changes = {"minutes": minutes, "n_samples": n_samples, "n_nodes": n_nodes}
            entry = replace(entry, **{key: value for key, value in changes.items() if value})
            out.append(replace(entry, minutes=0.0, epochs=epochs) if epochs else entry)
    if not out:
        raise InputError(
            f"On {', '.join(tasks)} HSD is as small as hsd-tiny already, so that no hsd-tiny is trained; name others.",
            "no_entry",
        )
    return out


@dataclass(frozen=True)
class Step:
    """state : "done", "trained" (only to be installed), "missing" (also where the shipped one is of an older version of
    the model), "part" (shipped from a smaller protocol), "failed";  part : share of the protocol that the shipped
    checkpoint had;  text: for the terminal."""

    entry: Entry
    state: str
    part: float
    text: str

    @property
    def is_open(self) -> bool:
        return self.state in ("trained", "missing", "part")


def plan(entries: Sequence[Entry], root: Path, records: Records, out: Path) -> list[Step]:
    """All entries with their states, the most wanted first: trained ones, missing ones in their order, then those
    whose shipped checkpoint had the smallest part of the protocol."""
    steps = [_step(entry, root, records, out) for entry in entries]
    order = {"trained": 0, "missing": 1, "part": 2, "failed": 3, "done": 4}
    return sorted(steps, key=lambda step: (order[step.state], step.part if step.state == "part" else 0.0))


def _step(entry: Entry, root: Path, records: Records, out: Path) -> Step:
    manifest, older = sound(entry.task, label_of(entry), root), ""
    if manifest is not None and is_outdated(manifest):
        manifest, older = None, "the shipped one is of an older version of the model"
    known = known_result(entry, out, records)
    if known is not None and "error" in known:
        return Step(entry, "failed", 0.0, f"failed (remove its folder to try again): {known['error']['message']}")
    record = records.read(entry)
    if record is not None and checkpoint_of(record, entry, out).is_file() and refusal(record, entry, root) is None:
        said = too_large(checkpoint_of(record, entry, out))
        return Step(entry, "failed" if said else "trained", 0.0, f"trained, {said or 'to be installed'}")
    if known is not None and manifest is not None:
        return Step(entry, "done", 1.0, line_of(known).partition(": ")[2])
    if manifest is None:
        begun = (run_folder(entry, out) / "state.safetensors").is_file()
        return Step(entry, "missing", 0.0, older or ("begun" if begun else "missing"))
    part = part_done(manifest["protocol"], entry)
    return Step(entry, "part", part, f"the shipped one had {100 * part:.0f} % of this protocol")


def checkpoint_of(record: dict, entry: Entry, out: Path) -> Path:
    """The checkpoint that a record is of."""
    return run_folder(entry, out, record["cut"]) / CHECKPOINT


def part_done(protocol: dict, entry: Entry) -> float:
    """Share of an entry's protocol that a shipped checkpoint had, at most 1: budgets compared where they are of one
    kind, else epochs; times the share of the samples."""
    data = min(1.0, protocol["n_samples"] / entry.n_samples)
    if bool(protocol["minutes"]) == bool(entry.minutes):
        return min(1.0, budget_of(protocol) / (entry.minutes or entry.epochs)) * data
    return min(1.0, protocol["epochs_done"] / max(entry.epochs, 1)) * data


@dataclass
class Session:
    """One call of :func:`pretrain`: what it is told, and what it has learnt about time.

    budget : seconds;  jobs: runs at once (more than one only pays on a GPU)
    done   : entries that came to their end in it, failed ones too
    """

    root: Path
    records: Records
    out: Path
    budget: float
    device: str = "auto"
    jobs: int = 1
    threads: int | None = None
    workers: int = 1
    progress: Progress = silent
    report: Callable[[str], None] = lambda line: None
    should_stop: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    overheads: list[float] = field(default_factory=list)
    paces: dict[str, float] = field(default_factory=dict)
    done: int = 0

    def __post_init__(self):
        self.deadline = self.clock() + self.budget
        self.lock, self.data_lock = threading.Lock(), threading.Lock()
        self.taken: set[str] = set()
        threads = self.threads or torch.get_num_threads()
        self.stretch = CORES / threads if chosen_device(self.device) == "cpu" else 1.0

    @property
    def left(self) -> float:
        return self.deadline - self.clock()

    def ended(self) -> bool:
        return self.should_stop() or self.left <= 0

    def overhead(self) -> float:
        return sorted(self.overheads)[len(self.overheads) // 2] if self.overheads else min(OVERHEAD, self.budget / 10)

    def seconds_of(self, entry: Entry) -> float | None:
        """Expected seconds of training; None where nothing is known."""
        if entry.minutes:
            return 60 * entry.minutes * self.stretch
        pace = self.paces.get(entry.model)
        return None if pace is None else pace * entry.epochs * (entry.n_train or entry.n_samples)

    def learn(self, entry: Entry, record: dict) -> None:
        training = record["training"]
        asked = 60 * (record["cut"] or entry.minutes) * self.stretch if entry.minutes else training["training_seconds"]
        self.overheads.append(max(0.0, record["wall_seconds"] - asked))
        done = training["epochs"] * (entry.n_train or entry.n_samples)
        self.paces[entry.model] = training["training_seconds"] / max(done, 1)

    def cut_for(self, entry: Entry) -> tuple[bool, float | None]:
        """(whether it is worth starting, the smaller budget that it gets or None)."""
        need, left = self.seconds_of(entry), self.left - self.overhead()
        if need is None:
            return left > 0, None
        if left >= need:
            return True, None
        share = left / need
        if share < SMALLEST_CUT:
            return False, None
        budget = share * (entry.minutes or entry.epochs)
        return True, round(budget, 3) if entry.minutes else float(int(budget))


def pretrain(entries: Sequence[Entry], session: Session) -> list[Step]:
    """Train and install what is most wanted until everything is done, the budget ends or ``should_stop`` says so.

    An entry that would not fit is cut to what is left if that is at least half of it; else the session ends.  A run
    that is stopped keeps its state and goes on in the next session on the same ``out``.  Returns the plan afterwards.
    """
    with ThreadPoolExecutor(session.jobs) as pool:
        futures = [pool.submit(_work, entries, session) for _ in range(session.jobs)]
        for future in futures:
            future.result()
    return plan(entries, session.root, session.records, session.out)


def _work(entries: Sequence[Entry], session: Session) -> None:
    while not session.ended():
        with session.lock:
            steps = plan(entries, session.root, session.records, session.out)
            step = next((s for s in steps if s.is_open and s.entry.name not in session.taken), None)
            if step is None:
                return
            fits, cut = (True, None) if step.state == "trained" else session.cut_for(step.entry)
            if not fits:
                return
            session.taken.add(step.entry.name)
        _do(step, cut, session)


def _do(step: Step, cut: float | None, session: Session) -> None:
    entry = step.entry
    if step.state != "trained":
        try:
            with session.data_lock:  # made once, not by several runs at a time
                dataset_of(entry.spec(session.device), session.progress, session.workers)
        except HsdError as error:
            session.report(f"{entry.name}: {error.message}")
            return
        if session.ended():
            return
        record = run_entry(
            entry, session.out, session.records, session.device, session.progress, session.ended, session.workers,
            session.threads, cut, session.report, session.report,
        )  # fmt: skip
        if record is None:
            return
        session.done += 1
        session.report(line_of(record))
        if "error" in record:
            return
        session.learn(entry, record)
    else:
        record = session.records.read(entry)
        session.done += 1
    try:
        with session.lock:
            reason = install(checkpoint_of(record, entry, session.out), record, entry, session.root)
    except HsdError as error:
        reason = error.message
    where = shipped_path(entry.task, label_of(entry), session.root)
    session.report(
        f"  {where.name} for {entry.task}: " + ("installed" if reason is None else f"not replaced, {reason}")
    )


def pack(path: Path, root: Path, records: Records) -> int:
    """Checkpoints and results as one .tar.gz (``checkpoints/…``, ``results/…``, to be unpacked in ``assets``).

    Returns its size in bytes.
    """
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for folder, name in ((root, "checkpoints"), (records.folder / "runs", "results/runs")):
            for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
                if file.is_file() and file.suffix != ".tmp":
                    archive.add(file, os.path.join(name, file.relative_to(folder).as_posix()))
    write_atomically(path, buffer.getvalue())
    return len(buffer.getvalue())
