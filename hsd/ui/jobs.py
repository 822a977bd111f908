"""Long work outside the page: one process a result, with a folder of its own, found again after a reload or restart.

The process runs a command of ``python -m hsd`` (:mod:`hsd.ui.job_worker`): ``modes`` leaves its result in the disk
cache of bases, ``decompose`` in a file of the job's folder; there the page then finds it.  A job's name depends on what
it computes, so that two visitors who ask for the same share one process.
Folder: ``jobs/NAME`` beside the cache: ``job.json`` (pid, start), ``log.txt`` (progress), ``end.json`` (exit code, or
that it was cancelled).  A job whose process is gone without an end was killed: it counts as failed, never as done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hsd.errors import HsdError
from hsd.hodge.cache import cache_folder, write_atomically
from hsd.mesh.io import save_mesh
from hsd.mesh.mesh import Mesh
from hsd.processes import birth, is_alive, last_line

ROOT = Path(__file__).resolve().parents[2]
MAX_RUNNING = 2
KEPT_SECONDS = 7 * 86400.0
_children: dict[str, subprocess.Popen] = {}
_lock = threading.Lock()


class JobError(HsdError):
    """A job cannot be started (kinds: too_many_jobs, cannot_start)."""

    default_kind = "cannot_start"


@dataclass(frozen=True)
class Job:
    """state: "none", "running", "done", "failed", "cancelled";  text: progress or the error's sentence."""

    name: str
    state: str
    text: str = ""
    seconds: float = 0.0


def job_name(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> str:
    """Name of the job that computes this basis."""
    return hashlib.sha256(repr((mesh.content_hash, k, bc, star, n_modes)).encode()).hexdigest()[:16]


def job_folder(name: str) -> Path:
    """Where a job keeps its files."""
    return cache_folder() / "jobs" / name


def start(mesh: Mesh, k: int, bc: str, star: str, n_modes: int, source: str = "") -> str:
    """Start the job that computes a basis unless it runs already; its name.

    source : what the command line calls the mesh (``gallery:torus:20000``); "": a copy of the mesh is written for it
    Raises JobError.
    """
    words = ["--degree", str(k), "--bc", bc, "--star", star, "--n", str(n_modes)]
    return start_command(job_name(mesh, k, bc, star, n_modes), "modes", words, mesh, source)


def start_command(
    name: str,
    command: str,
    words: Sequence[str],
    mesh: Mesh,
    source: str = "",
    files: Mapping[str, bytes] | None = None,
    result: str = "",
) -> str:
    """Start ``python -m hsd COMMAND MESH WORDS`` under a name unless it runs already; the name.

    files  : written into the job's folder first; a word that names one of them becomes its path
    result : name of the file in the folder that the command writes with ``--out``; "": none
    Raises JobError.
    """
    files = files or {}
    with _lock:
        if status(name).state == "running":
            return name
        if n_running() >= MAX_RUNNING:
            raise JobError(f"{MAX_RUNNING} computations run already; wait for one or cancel it.", "too_many_jobs")
        _tidy()
        folder = job_folder(name)
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            more = []
            if not source:
                save_mesh(mesh, folder / "mesh.npz", {}, {})
                source, more = str(folder / "mesh.npz"), ["--weld", "0", "--keep-loose"]
            for file, data in files.items():
                (folder / file).write_bytes(data)
            words = [str(folder / word) if word in files else word for word in words]
            words += ["--out", str(folder / result)] if result else []
            run = [sys.executable, "-m", "hsd.ui.job_worker", str(folder), "--", command, source, *words]
            with (folder / "log.txt").open("wb") as log:
                child = subprocess.Popen(
                    [*run, "--progress", *more],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
            record = {"pid": child.pid, "born": birth(child.pid), "start": time.time(), "result": result}
            write_atomically(folder / "job.json", json.dumps(record).encode())
        except OSError as error:
            raise JobError(f"The computation could not be started: {error.strerror or error}.") from error
        _children[name] = child
    return name


def n_running() -> int:
    """How many jobs run now, also those that a server which is gone has left."""
    root = cache_folder() / "jobs"
    return sum(status(folder.name).state == "running" for folder in root.iterdir()) if root.is_dir() else 0


def status(name: str) -> Job:
    """What a job does now; "done" only where its process said so and its result is still there."""
    folder = job_folder(name)
    record = _read(folder / "job.json")
    if record is None:
        return Job(name, "none")
    child = _children.get(name)
    code = child.poll() if child is not None else None
    end = _read(folder / "end.json")
    running = end is None and code is None and is_alive(record["pid"], record["born"])
    if not running and end is None:  # it may have ended between the two looks
        end, code = _read(folder / "end.json"), child.poll() if child is not None else None
    log = last_line(folder / "log.txt")
    passed = time.time() - record["start"]
    if running:
        return Job(name, "running", log, passed)
    if end is None:
        return Job(name, "failed", _killed(code), passed)
    if end.get("cancelled"):
        return Job(name, "cancelled", "cancelled", passed)
    if end.get("code") in (130, -signal.SIGINT):
        return Job(name, "failed", "The computation was interrupted; start it again.", passed)
    if end.get("code") != 0:
        return Job(name, "failed", _sentence(log), passed)
    kept = [cache_folder() / entry for entry in end.get("entries", ())]
    kept += [folder / record["result"]] if record.get("result") else []
    return Job(name, "done" if all(path.is_file() for path in kept) else "none", "", passed)


def _killed(code: int | None) -> str:
    """Sentence on a process that left no end."""
    why = "its process was ended from outside, or the machine ran out of memory or was restarted"
    if code is not None and code < 0:
        why = f"its process was ended by {_signal_name(-code)}, often because memory ran out"
    return f"The computation was interrupted before it was done: {why}. Start it again."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _read(path: Path) -> dict | None:
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def cancel(name: str) -> None:
    """Stop a job; nothing happens to one that does not run."""
    if status(name).state != "running":
        return
    folder = job_folder(name)
    record = json.loads((folder / "job.json").read_text())
    write_atomically(folder / "end.json", json.dumps({"cancelled": True}).encode())
    with contextlib.suppress(ProcessLookupError):
        os.kill(record["pid"], signal.SIGTERM)
    child = _children.pop(name, None)
    if child is not None:
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(5)


def _sentence(log: str) -> str:
    """The sentence of ``error [kind]: sentence``."""
    return log.partition("]: ")[2] or log or "The computation ended without a result."


def _tidy() -> None:
    """Remove folders of jobs that ended, or were killed, long ago."""
    root = cache_folder() / "jobs"
    for folder in root.iterdir() if root.is_dir() else ():
        end = folder / "end.json" if (folder / "end.json").exists() else folder / "job.json"
        if end.exists() and status(folder.name).state != "running" and time.time() - end.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
