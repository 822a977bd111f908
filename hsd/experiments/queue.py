"""A resumable queue of runs: each entry trains in its folder and leaves a result file; what is there is not redone."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from hsd import __version__
from hsd.errors import HsdError, SolverError
from hsd.experiments.suites import Entry
from hsd.hodge.cache import write_atomically
from hsd.linalg import Progress, silent
from hsd.processes import last_line
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.run import CHECKPOINT, make_folder

RESULT = "result.json"
SCHEMA = "hsd-result-1"


def run_queue(
    entries: Sequence[Entry],
    out: Path,
    device: str = "auto",
    progress: Progress = silent,
    report: Callable[[str], None] = lambda line: None,
    should_stop: Callable[[], bool] = lambda: False,
    workers: int = 1,
) -> list[dict[str, Any]]:
    """Run all entries that have no result yet; an entry that fails leaves its sentence as result and the queue goes on.

    Killed or stopped, the same call goes on where it was.  Only the validation part is scored here.
    Returns the results so far, in order.
    """
    results = []
    for entry in entries:
        folder = out / entry.name
        known = read_result(folder)
        if known is None:
            if should_stop():
                break
            known = run_entry(entry, folder, device, progress, should_stop, workers)
            if known is None:
                break
            report(line_of(known))
        results.append(known)
    return results


def run_entry(
    entry: Entry, folder: Path, device: str, progress: Progress, should_stop: Callable[[], bool], workers: int = 1
) -> dict[str, Any] | None:
    """Train one entry and write its result; None where it was stopped."""
    begun = time.time()
    memory = None
    try:
        make_folder(folder, entry.spec(device))
        code, memory, said = train_process(folder, progress, should_stop, workers)
        if should_stop() and not (folder / CHECKPOINT).is_file():
            return None
        if code != 0 or not (folder / CHECKPOINT).is_file():
            said = said.partition("]: ")[2] or said or "The training process ended early."
            raise SolverError(said, "training_failed")
        dataset, predictor = dataset_and_predictor(folder / CHECKPOINT, None, device)
        found = evaluate(predictor, dataset, "validation")
        outcome = {"validation": found.scores.mean, "latency_ms": found.latency_ms}
        outcome |= {k: predictor.manifest[k] for k in ("parameters", "training", "data", "versions")}
    except HsdError as error:
        outcome = {"error": {"kind": error.kind, "message": error.message}}
    result = {
        "schema": SCHEMA,
        "entry": entry.name,
        "label": entry.label,
        "task": entry.task,
        "model": entry.model,
        "config": entry.config,
        "minutes": entry.minutes,
        "epochs": entry.epochs,
        "n_samples": entry.n_samples,
        "n_train": entry.n_train,
        "seed": entry.seed,
        "wall_seconds": round(time.time() - begun, 1),
        "peak_memory_mb": memory,
        "versions": {"hsd": __version__, "torch": torch.__version__, "python": platform.python_version()},
        **outcome,
    }
    write_atomically(folder / RESULT, json.dumps(result, indent=1).encode())
    return result


def train_process(
    folder: Path, progress: Progress, should_stop: Callable[[], bool], workers: int
) -> tuple[int, int, str]:
    """Train a run folder in a process of its own: exit code, peak memory in MB, last line that it said."""
    command = [sys.executable, "-m", "hsd", "resume", str(folder), "--progress", "--workers", str(workers)]
    with (folder / "log.txt").open("wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        asked = False
        while True:
            pid, code, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                child.returncode = os.waitstatus_to_exitcode(code)
                break
            if should_stop() and not asked:
                child.terminate()
                asked = True
            progress(f"{folder.name}: {last_line(folder / 'log.txt')}", None)
            time.sleep(0.5)
    return child.returncode, round(usage.ru_maxrss / 1024), last_line(folder / "log.txt")


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result of an entry, or None."""
    try:
        found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("schema") == SCHEMA else None


def line_of(result: dict[str, Any]) -> str:
    """One line on a result, for the terminal."""
    if "error" in result:
        return f"{result['entry']}: {result['error']['message']}"
    return (
        f"{result['entry']}: validation relative L2 {result['validation']['relative_l2']:.4f}, "
        f"{result['parameters']:,} parameters, {result['training']['epochs']} epochs, {result['wall_seconds']:.0f} s"
    )
