"""A resumable queue of runs: each entry trains in its folder and leaves a record; what is recorded is not redone."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from hsd import __version__
from hsd.errors import HsdError, SolverError
from hsd.experiments.records import SCHEMA, Records, is_of, read_json, rounded, text_of, thin_curve
from hsd.experiments.suites import Entry
from hsd.hodge.cache import lock_of, write_atomically
from hsd.linalg import Progress, silent
from hsd.models.registry import model_class
from hsd.processes import INTERRUPT_CODE, STOP_CODE, birth, is_alive, last_line
from hsd.training import jobs
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.run import CHECKPOINT, RUN, RunSpec, chosen_device, make_folder, with_version

RESULT = "result.json"
CORES = 2
"""Cores that an entry's minutes are counted on: on a CPU a minute of budget is two core-minutes, whatever the number of
threads; on a GPU it is wall clock."""
Stop = Callable[[], bool]
Report = Callable[[str], None]


def run_queue(
    entries: Sequence[Entry],
    out: Path,
    device: str = "auto",
    progress: Progress = silent,
    report: Report = lambda line: None,
    should_stop: Stop = lambda: False,
    workers: int = 1,
    threads: int | None = None,
    records: Records | None = None,
) -> list[dict[str, Any]]:
    """Run all entries that have no whole record yet; one that fails leaves its sentence in its folder, and the queue
    goes on.

    out     : folder of the runs (weights, logs, failures);  records: where finished ones are recorded (None: in out)
    Killed or stopped, the same call goes on where it was.  Several queues may share ``out``: an entry that another one
    is running is left to it, and ``report`` says so.  Only the validation part is scored here.
    Returns the results so far, in order.
    """
    records = records or Records(out)
    results = []
    for entry in entries:
        known = known_result(entry, out, records)
        if known is None:
            if should_stop():
                break
            left: list[str] = []
            known = run_entry(
                entry, out, records, device, progress, should_stop, workers, threads, say=report, leave=left.append
            )
            if left:
                report(left[0])
                continue
            if known is None:
                break
            report(line_of(known))
        results.append(known)
    return results


def known_result(entry: Entry, out: Path, records: Records) -> dict[str, Any] | None:
    """The whole record of an entry, or what its run folder says of it (a failure, or one that is not recorded yet)."""
    record = records.read_whole(entry)
    if record is not None:
        return record
    found = read_result(entry, out)
    if found is not None and "error" not in found:
        records.write(entry, found)
    return found


def read_result(entry: Entry, out: Path) -> dict[str, Any] | None:
    """What the run folder of an entry says of it, a failure too; None where it says nothing of this run."""
    found = read_json(out / entry.name / RESULT)
    return found if found is not None and is_of(found, entry) else None


def run_entry(
    entry: Entry,
    out: Path,
    records: Records,
    device: str,
    progress: Progress,
    should_stop: Stop,
    workers: int = 1,
    threads: int | None = None,
    cut: float | None = None,
    say: Report = lambda line: None,
    leave: Report = lambda line: None,
) -> dict[str, Any] | None:
    """Train one entry, score it on validation and record it; None where it was stopped before its end.

    cut   : a smaller budget than the entry's own, in its unit (minutes or epochs); the record says so, and the entry
            still counts as unfinished
    say   : told of a saved run that is set aside, or that goes on with other threads than these
    leave : told why the entry is left as it is (another queue is running it); the result then is None
    """
    folder = run_folder(entry, out, cut)
    lock = lock_of(out / ".locks" / f"{entry.name}.lock")
    if lock is None:
        leave(f"{entry.name}: another queue is running it in {out}; left to that one.")
        return None
    try:
        if _runs_elsewhere(folder):
            leave(f"{entry.name}: another process is training it in {folder}; left to that one.")
            return None
        if cut is None and (folder / CHECKPOINT).is_file():
            done = known_result(entry, out, records)
            if done is not None and "error" not in done:  # by another queue, just now
                return done
        return _run_held(entry, folder, records, device, progress, should_stop, workers, threads, cut, say, leave)
    finally:
        lock.release()


def _run_held(
    entry: Entry,
    folder: Path,
    records: Records,
    device: str,
    progress: Progress,
    should_stop: Stop,
    workers: int,
    threads: int | None,
    cut: float | None,
    say: Report,
    leave: Report,
) -> dict[str, Any] | None:
    """:func:`run_entry`, the entry held."""
    begun = time.time()
    memory = None
    try:
        threads, on_cpu = threads or torch.get_num_threads(), chosen_device(device) == "cpu"
        begun_with = None if cut is not None else _threads_of(folder, entry)
        if begun_with and on_cpu and begun_with != threads:
            say(f"{entry.name}: goes on with {begun_with} threads, as its saved run began.")
            threads = begun_with
        if begun_with and not on_cpu and begun_with != CORES:
            leave(
                f"{entry.name}: its saved run began on a CPU, and its minutes are of {begun_with} threads; go on with "
                f"it there (--device cpu), or remove {folder}."
            )
            return None
        spec = _with_budget(entry, cut, CORES / threads if on_cpu else 1.0).spec(device)
        _set_aside_other(folder, spec, entry, say)
        make_folder(folder, spec)
        code, memory, said = train_process(folder, progress, should_stop, workers, threads)
        ended_in_order = code in (0, STOP_CODE, INTERRUPT_CODE) or should_stop()
        if ended_in_order and not (folder / CHECKPOINT).is_file():  # stopped, by us or by a signal; its state is kept
            return None
        if code != 0 or not (folder / CHECKPOINT).is_file():
            said = said.partition("]: ")[2] or said or "The training process ended early."
            raise SolverError(said, "training_failed")
        progress(f"{folder.name}: validation metrics", None)
        outcome = _outcome(folder, device)
    except HsdError as error:
        outcome = {"error": {"kind": error.kind, "message": error.message}}
    result = {
        "schema": SCHEMA,
        "entry": entry.name,
        **asdict(entry),
        "cut": cut,
        "wall_seconds": round(time.time() - begun, 1),
        "peak_memory_mb": memory,
        "model_version": model_class(entry.model).version,
        "versions": {"hsd": __version__, "torch": torch.__version__, "python": platform.python_version()},
        **outcome,
    }
    write_atomically(folder / RESULT, text_of(result).encode())
    if "error" not in result:
        records.write(entry, result)
    return result


def run_folder(entry: Entry, out: Path, cut: float | None = None) -> Path:
    """The folder of an entry's run, another one where its budget is cut."""
    return out / (entry.name if cut is None else f"{entry.name}_cut")


def _with_budget(entry: Entry, cut: float | None, factor: float) -> Entry:
    if entry.minutes:
        return replace(entry, minutes=round((entry.minutes if cut is None else cut) * factor, 4))
    return entry if cut is None else replace(entry, epochs=max(1, int(cut)))


def _threads_of(folder: Path, entry: Entry) -> int | None:
    """CPU threads that the minutes of the entry's saved run were counted for (one begun on a GPU: CORES); None where
    there is no such run, or it is one of epochs or of other settings."""
    told = read_json(folder / RUN)
    minutes = (told or {}).get("training", {}).get("minutes")
    if not entry.minutes or not minutes:
        return None
    threads = max(1, round(CORES * entry.minutes / minutes))
    return threads if _same_run(told, _with_budget(entry, None, CORES / threads).spec()) else None


def _same_run(told: dict[str, Any], spec: RunSpec) -> bool:
    """Whether a run.json is of that run, on any device."""
    return {**with_version(told), "device": None} == {**json.loads(json.dumps(spec.as_dict())), "device": None}


def _set_aside_other(folder: Path, spec: RunSpec, entry: Entry, say: Report) -> None:
    """Give a run of the same name with other settings, or of a model that is built differently by now, another name; a
    run on another device goes on here."""
    told = read_json(folder / RUN)
    if told is None:
        return
    result = read_json(folder / RESULT)
    if not _same_run(told, spec) or (result is not None and not is_of(result, entry)):
        places = (folder.with_name(f"{folder.name}_other{n}") for n in count(1))
        aside = next(place for place in places if not place.exists())
        folder.rename(aside)
        say(f"{folder.name}: a run with other settings was there; it is {aside.name} now.")
    elif told["device"] != spec.device:
        write_atomically(folder / RUN, json.dumps(spec.as_dict(), indent=1).encode())


def _outcome(folder: Path, device: str) -> dict[str, Any]:
    dataset, predictor = dataset_and_predictor(folder / CHECKPOINT, None, device)
    found = evaluate(predictor, dataset, "validation")
    manifest, log = predictor.manifest, jobs.tail(folder)
    training = {k: v for k, v in manifest["training"].items() if k not in ("config", "pid")}
    if log and "gpu_memory_mb" in log[-1]:
        training["gpu_memory_mb"] = log[-1]["gpu_memory_mb"]
    return {
        "validation": rounded(found.scores.mean),
        "latency_ms": rounded(found.latency_ms),
        "training": rounded(training),
        **{k: manifest[k] for k in ("parameters", "model_config", "data", "sha256")},
        "curve": rounded(thin_curve(log)),
    }


def train_process(
    folder: Path, progress: Progress, should_stop: Stop, workers: int, threads: int | None = None
) -> tuple[int, int, str]:
    """Train a run folder in a process of its own: exit code, peak memory in MB, last line that it said.

    A process that an earlier, killed queue left training in this folder is asked to save its state and end first.  The
    folder's ``process.json`` says which queue (pid, birth) it belongs to.
    """
    _end_orphan(folder)
    command = [sys.executable, "-m", "hsd", "resume", str(folder), "--progress", "--workers", str(workers)]
    if threads:
        command += ["--threads", str(threads)]
    with (folder / jobs.LOG).open("wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        own = {"pid": os.getpid(), "born": birth(os.getpid())}
        about = {"pid": child.pid, "born": birth(child.pid), "queue": own}
        write_atomically(folder / jobs.PROCESS, json.dumps(about).encode())
        asked = False
        while True:
            pid, code, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                child.returncode = os.waitstatus_to_exitcode(code)
                break
            if should_stop() and not asked:
                child.terminate()
                asked = True
            progress(f"{folder.name}: {last_line(folder / jobs.LOG)}", None)
            time.sleep(0.5)
    return child.returncode, round(usage.ru_maxrss / 1024), last_line(folder / jobs.LOG)


def _runs_elsewhere(folder: Path) -> bool:
    """Whether a process trains in a folder whose queue lives, or that no queue started (it is not ours to end)."""
    process = read_json(folder / jobs.PROCESS)
    if process is None or not is_alive(process["pid"], process["born"]):
        return False
    queue = process.get("queue")
    return queue is None or (queue["pid"] != os.getpid() and is_alive(queue["pid"], queue["born"]))


def _end_orphan(folder: Path, seconds: float = 60.0) -> None:
    process = read_json(folder / jobs.PROCESS)
    if process is None or not is_alive(process["pid"], process["born"]) or _runs_elsewhere(folder):
        return
    os.kill(process["pid"], signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while is_alive(process["pid"], process["born"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    if is_alive(process["pid"], process["born"]):
        os.kill(process["pid"], signal.SIGKILL)


def line_of(result: dict[str, Any]) -> str:
    """One line on a result, for the terminal."""
    if "error" in result:
        return f"{result['entry']}: {result['error']['message']}"
    short = (
        f" (cut short to {result['cut']:.3g} of {result['minutes'] or result['epochs']:.3g})" if result["cut"] else ""
    )
    return (
        f"{result['entry']}: validation relative L2 {result['validation']['relative_l2']:.4f}, "
        f"{result['parameters']:,} parameters, {result['training']['epochs']} epochs, {result['wall_seconds']:.0f} s"
        f"{short}"
    )
