"""Long spectral work outside the page: one process a basis, with a folder of its own, found again after a reload.

The process is ``python -m hsd modes`` and leaves its result in the disk cache of bases, where the page then finds it.
A job's name depends on what it computes, so that two visitors who ask for the same share one process.
Folder: ``jobs/NAME`` beside the cache: ``job.json`` (pid, start), ``log.txt`` (progress), ``end.txt`` (exit code).
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
from dataclasses import dataclass
from pathlib import Path

from hsd.errors import HsdError
from hsd.hodge.cache import cache_folder
from hsd.mesh.io import save_mesh
from hsd.mesh.mesh import Mesh

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
    """Start the job unless it runs already; its name.

    source : what the command line calls the mesh (``gallery:torus:20000``); "": a copy of the mesh is written for it
    Raises JobError.
    """
    name = job_name(mesh, k, bc, star, n_modes)
    with _lock:
        if status(name).state == "running":
            return name
        if sum(child.poll() is None for child in _children.values()) >= MAX_RUNNING:
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
            command = [sys.executable, "-m", "hsd", "modes", source, "--degree", str(k), "--bc", bc, "--star", star]
            command += ["--n", str(n_modes), "--progress", *more]
            with (folder / "log.txt").open("wb") as log:
                child = subprocess.Popen(
                    command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
                )
        except OSError as error:
            raise JobError(f"The computation could not be started: {error.strerror or error}.") from error
        _children[name] = child
        record = {"pid": child.pid, "born": _born(child.pid), "start": time.time()}
        (folder / "job.json").write_text(json.dumps(record))
    return name


def status(name: str) -> Job:
    """What a job does now."""
    folder = job_folder(name)
    try:
        record = json.loads((folder / "job.json").read_text())
    except (OSError, ValueError):
        return Job(name, "none")
    child = _children.get(name)
    code = child.poll() if child is not None else None
    if code is not None and not (folder / "end.txt").exists():
        (folder / "end.txt").write_text(str(code))
    log = _last_line(folder / "log.txt")
    passed = time.time() - record["start"]
    if (folder / "end.txt").exists():
        text = (folder / "end.txt").read_text()
        if text == "cancelled":
            return Job(name, "cancelled", "cancelled", passed)
        return Job(name, "done", "", passed) if text == "0" else Job(name, "failed", _sentence(log), passed)
    if _alive(record):
        return Job(name, "running", log, passed)
    # started by a server that is gone: its exit code is unknown, the cache tells
    return Job(name, "failed", _sentence(log), passed) if log.startswith("error") else Job(name, "done", "", passed)


def cancel(name: str) -> None:
    """Stop a job; nothing happens to one that does not run."""
    if status(name).state != "running":
        return
    folder = job_folder(name)
    record = json.loads((folder / "job.json").read_text())
    (folder / "end.txt").write_text("cancelled")
    with contextlib.suppress(ProcessLookupError):
        os.kill(record["pid"], signal.SIGTERM)
    child = _children.pop(name, None)
    if child is not None:
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(5)


def _born(pid: int) -> str:
    """Start time of a process as the system counts it, so that a reused pid is no job of ours; "" where unknown."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _alive(record: dict) -> bool:
    try:
        os.kill(record["pid"], 0)
    except (ProcessLookupError, PermissionError):
        return False
    return _born(record["pid"]) == record["born"]


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - 2000))
            text = stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _sentence(log: str) -> str:
    """The sentence of ``error [kind]: sentence``."""
    return log.partition("]: ")[2] or log or "The computation ended without a result."


def _tidy() -> None:
    """Remove folders of jobs that ended long ago."""
    root = cache_folder() / "jobs"
    for folder in root.iterdir() if root.is_dir() else ():
        end = folder / "end.txt"
        if end.exists() and time.time() - end.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
