"""Training runs as the page sees them: found on disk, read once a change, named, compared; and what a visitor can ask.

Runs belong to the server, not to a visitor: whoever opens the page sees them, also after a restart.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks import task as make_task
from hsd.errors import HsdError, InputError
from hsd.ui import task_files
from hsd.ui.state import AppState, get_state, update
from hsd.ui.task_view import OWN, titles
from hsd.viz.palettes import MODELS as LOOKS
from hsd.viz.training_figures import Curve, Entry, flat, share_done

if TYPE_CHECKING:
    from hsd.training.jobs import RunStatus
    from hsd.training.run import RunSpec

ERROR = "training:error"
SEEN = "training:seen"
"""What :func:`states_of_all` said when the whole page was drawn."""
STATES = {
    "new": "not started",
    "waiting": "waiting",
    "running": "running",
    "paused": "paused",
    "stopped": "stopped",
    "done": "finished",
    "failed": "failed",
}


@st.cache_resource(show_spinner="Loading PyTorch")
def training():
    """The module that starts and watches runs; it loads PyTorch, which takes a second or two the first time."""
    from hsd.training import jobs

    return jobs


@dataclass(frozen=True)
class Run:
    """One run as it is now.  begun : seconds since 1970;  log, steps : entries of epochs and between them."""

    id: str
    folder: Path
    spec: RunSpec
    status: RunStatus
    begun: float
    log: tuple[Entry, ...]
    steps: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """Time, model and data, for lists and legends."""
        data = titles()[self.spec.task] if self.spec.task else Path(self.spec.data).name
        when = time.strftime("%d %b %H:%M:%S", time.localtime(self.begun))
        model = self.spec.training.model
        return f"{when} · {LOOKS[model].name if model in LOOKS else model} · {data}"

    @property
    def curve(self) -> Curve:
        return Curve(self.name, self.log, self.steps)

    @property
    def best(self) -> float | None:
        """Smallest validation error so far."""
        return self.log[-1]["best"] if self.log else None


def run_of(run_id: str) -> Run:
    """A run by its id.  Raises InputError (no_run, bad_run)."""
    from hsd.training.run import RUN, read_folder
    from hsd.training.step_log import STEPS

    folder = training().folder_of(run_id)
    try:
        begun = (folder / RUN).stat().st_mtime
    except OSError as error:
        raise InputError(f"There is no run {run_id} on this server any more; choose another one.", "no_run") from error
    return Run(
        run_id,
        folder,
        read_folder(folder),
        training().status(folder),
        begun,
        _entries(folder / "log.jsonl"),
        _entries(folder / STEPS),
    )


def _entries(path: Path) -> tuple[Entry, ...]:
    try:
        stat = path.stat()
    except OSError:
        return ()
    return _read(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=128)
def _read(path: str, stamp: int, size: int) -> tuple[Entry, ...]:
    return tuple(training().tail(Path(path).parent, name=Path(path).name))


def all_runs() -> list[Run]:
    """Every run that can be read, the newest first."""
    out = []
    for status in training().runs():
        try:
            out.append(run_of(status.folder.name))
        except HsdError:
            continue  # a folder that is being deleted, or of another program
    return out


def states_of_all() -> tuple[tuple[str, str], ...]:
    """Folder and state of every run."""
    return tuple((status.folder.name, status.state) for status in training().runs())


def rows_of(runs: list[Run]) -> dict[str, list]:
    """The table of runs."""
    return {
        "run": [r.name for r in runs],
        "state": [STATES[r.status.state] for r in runs],
        "best validation error": [r.best for r in runs],
        "epochs": [len(r.log) for r in runs],
        "training, s": [r.log[-1]["seconds"] if r.log else None for r in runs],
        "samples/s": [r.log[-1]["samples_per_s"] if r.log else None for r in runs],
        "id": [r.id for r in runs],
    }


def config_of(spec: RunSpec) -> dict[str, Any]:
    """All entries of a run by dotted name, the model's defaults filled in."""
    from dataclasses import asdict

    from hsd.models.registry import model_class

    out = spec.as_dict()
    train = dict(out.pop("training"))
    chosen = train.pop("model_config")
    own = asdict(model_class(spec.training.model).make_config(spec.task, **chosen))
    for name in ("lr", "weight_decay"):
        train[name] = own.pop(name) if train[name] is None else train[name]
        own.pop(name, None)
    kept = {k: v for k, v in out.items() if v is not None}
    return flat(kept) | flat({k: "default" if v is None else v for k, v in train.items()}) | flat(own, "model.")


def makes_steps(run: Run) -> bool:
    """Whether the process that runs has made a step; before, a resumed run prepares its data again."""
    try:
        begun = (run.folder / training().PROCESS).stat().st_mtime
    except OSError:
        return bool(run.steps or run.log)
    return bool(run.steps) and run.steps[-1]["time"] > begun


def run_words(run: Run) -> str:
    """What the run is doing, in a sentence."""
    status = run.status
    if status.state == "waiting":
        place = training().position(run.folder)
        at = f"number {place} in the queue" if place else "in the queue"
        return f"Waiting, {at}: one training runs on a device at a time."
    if status.wish:
        return (
            f"{'Pausing' if status.wish == 'paused' else 'Stopping'}: the step under way is finished and saved first."
        )
    if status.state == "running" and "best validation" in status.text:
        return "The checkpoint is written."  # the last words of its process, which ends
    if status.state == "running":
        return "Training." if makes_steps(run) else f"Preparing: {status.text}."
    if status.state == "done" and share_done(run.log, run.steps) < 1:
        best = min(run.log, key=lambda e: e["validation"])["epoch"] + 1
        return f"Finished before the end of its schedule, with the best weights, of epoch {best}."
    way = "“Use best weights” makes a checkpoint of it as it is." if run.log else ""
    return {
        "new": "Not started.",
        "paused": f"Paused; its whole state is saved. {way}".strip(),
        "stopped": f"Stopped; its whole state is saved. “Resume” goes on. {way}".strip(),
        "done": "Finished.",
    }.get(status.state, "")


# ---- what visitors ask -------------------------------------------------------------------------------------------


def attempt(action: Callable[[], object]) -> None:
    """Do something from a button; an error becomes the sentence that :func:`show_error` shows."""
    try:
        action()
    except HsdError as error:
        st.session_state[ERROR] = error.message
    except OSError as error:
        st.session_state[ERROR] = (
            f"The server's disk refused that: {error.strerror or error}; free space and try again."
        )


def show_error() -> None:
    """The sentence on the last thing that could not be done; once."""
    if message := st.session_state.pop(ERROR, None):
        st.error(message)


def threads() -> int:
    """CPU threads of a run: one core is left to the app."""
    return max(1, (os.cpu_count() or 2) - 1)


def new_id(state: AppState) -> str:
    """Name of a new run's folder."""
    data = state.training.task if state.training.task in titles() else "own"
    return f"{data}-{state.training.model}-{time.strftime('%m%d-%H%M%S')}-{secrets.token_hex(2)}"


def asked(spec: RunSpec) -> dict[str, Any]:
    """What tells runs with different results apart."""
    return {k: v for k, v in spec.as_dict().items() if k != "version"}


def start(make_spec: Callable[[AppState], RunSpec]) -> None:
    """Start what the form asks for and show it."""

    def begin() -> None:
        state = get_state()
        spec, run_id = make_spec(state), new_id(state)
        same = next((r for r in all_runs() if r.status.is_alive and asked(r.spec) == asked(spec)), None)
        if same is None:
            training().start(training().runs_folder() / run_id, spec, threads())
        else:  # a second click, or another visitor: it would come to the same weights
            st.toast(f"{same.name} trains or waits already, with the same settings and seed; it is shown.")
        update(**{"training.run": same.id if same else run_id})

    attempt(begin)


def ask(action: str, run_id: str) -> None:
    """ "pause", "stop", "end" (at once), "resume", "step" or "finish" a run."""
    jobs = training()

    def act() -> None:
        folder = jobs.folder_of(run_id)
        if action in ("pause", "stop"):
            jobs.ask_to_end(folder, {"pause": "paused", "stop": "stopped"}[action])
        elif action == "end":
            jobs.stop(folder, seconds=0.0)
        else:
            {"resume": jobs.resume, "step": jobs.step, "finish": jobs.finish}[action](folder, threads())

    attempt(act)


def delete(run_id: str) -> None:
    """Delete a run; it leaves the overlay and the comparison too."""

    def act() -> None:
        training().remove(training().folder_of(run_id))
        state = get_state()
        update(
            **{
                "training.run": "" if state.training.run == run_id else state.training.run,
                "training.overlay": tuple(r for r in state.training.overlay if r != run_id),
                "own_runs": tuple(r for r in state.own_runs if r != run_id),
            }
        )

    attempt(act)


def send(run: Run) -> None:
    """Offer a finished run on Model Comparison, which then opens on its task."""

    def act() -> None:
        training().checkpoint_of(run.id)
        state = get_state()
        sent = state.own_runs
        changes: dict[str, Any] = {"own_runs": sent if run.id in sent else (*sent, run.id), "comparison.composed": ""}
        if run.spec.task is None:
            file = task_files.reference_of(run.spec.data)
            changes |= {"comparison.task": OWN, "tasks.file": file}
            changes["comparison.sample"] = unseen_row(file, state.comparison.sample)
        else:
            changes["comparison.task"] = run.spec.task
            changes["comparison.sample"] = unseen_sample(run.spec, state.seed, state.comparison.sample)
        update(**changes)

    attempt(act)


def unseen_row(reference: str, sample: int) -> int:
    """The sample of a dataset file itself where it belongs to the test part, else the first one that does, if any.

    Raises as :func:`hsd.ui.task_files.path_of` and the file itself.
    """
    split = task_files.dataset_of(task_files.path_of(reference)).split
    test = np.flatnonzero(np.asarray(split) == PARTS["test"])
    return sample if sample in test or not len(test) else int(test[0])


def unseen_sample(spec: RunSpec, seed: int, sample: int) -> int:
    """The sample itself where the run was not trained on it or chosen by it; else the first one of the test part, if
    possible of that of the shipped models too."""
    from hsd.experiments.suites import SAMPLES

    n = spec.n_samples or make_task(spec.task).config.n_samples
    if seed != spec.data_seed or sample >= n or split_codes(n, seed)[sample] == PARTS["test"]:
        return sample
    own, shipped = (split_codes(m, seed) == PARTS["test"] for m in (n, SAMPLES))
    shipped = np.concatenate([shipped, np.ones(max(n - len(shipped), 0), bool)])[:n]
    both = np.flatnonzero(own & shipped)
    return int((both if len(both) else np.flatnonzero(own))[0])


def newest(runs: list[Run]) -> str:
    """Id of the run to show first: one that runs, else the newest; "" where there is none."""
    alive = [r.id for r in runs if r.status.is_alive]
    return (alive or [r.id for r in runs] or [""])[0]


def options_of(runs: list[Run]) -> Mapping[str, str]:
    """Id → what it is called in lists: never the same twice, and never another text later."""
    counts: Counter[str] = Counter()
    out = {}
    for run in reversed(runs):  # the oldest first
        counts[run.name] += 1
        out[run.id] = run.name if counts[run.name] == 1 else f"{run.name} ({counts[run.name]})"
    return dict(reversed(out.items()))
