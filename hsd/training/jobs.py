"""Training runs in the background: each a process of its own with its run folder, found again by anybody.

The folder holds what :mod:`hsd.training.run` keeps, and ``process.json`` (pid, birth), ``wish.json`` ("paused",
"stopped", "on") and ``log.txt`` (what the process said); a run of the command line leaves word there too
(:mod:`hsd.training.word`).  A run asked to pause ends after the step under way, its whole state saved.  One run trains
on a device at a time; the others wait for its lock in the order in which they came.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hsd.errors import HsdError, InputError
from hsd.hodge.cache import cache_folder, write_atomically
from hsd.processes import birth, is_alive, last_line
from hsd.training.run import CHECKPOINT, PROCESS, RUN, RunSpec, make_folder, process_lives, read_folder

ROOT = Path(__file__).resolve().parents[2]
STOPPED = "Stopped;"
"""What the process says at the end of a run that is not finished."""
WISH, LOG, WAITING = "wish.json", "log.txt", "waiting"
ON = "on"
"""The wish that a run which takes a single step goes on after it."""
STATES = ("new", "waiting", "running", "paused", "stopped", "done", "failed")
CRASH = re.compile(r"(\w+\.)*\w+(Error|Exception)\b")
"""How the last line of a traceback begins."""
ENDED_OUTSIDE = "The training process was ended from outside, or memory ran out, or the machine restarted; resume it."
_children: dict[Path, subprocess.Popen] = {}


class JobError(HsdError):
    """A run cannot be started (kinds: cannot_start, running)."""

    default_kind = "cannot_start"


@dataclass(frozen=True)
class RunStatus:
    """state : one of STATES;  text: the last line of the process, or the sentence of its error.

    wish : "paused" or "stopped" while the process, asked for it, still finishes its step
    """

    folder: Path
    state: str
    text: str = ""
    wish: str = ""

    @property
    def is_alive(self) -> bool:
        return self.state in ("running", "waiting")


def runs_folder() -> Path:
    """Where runs started from the app keep their folders."""
    return cache_folder() / "runs"


def folder_of(run_id: str) -> Path:
    """The folder of a run by its id, the folder's name.  Raises InputError (no_run) where there is none."""
    folder = runs_folder() / run_id
    if run_id != Path(run_id).name or not (folder / RUN).is_file():
        raise InputError(f"There is no run {run_id} on this server any more; choose another one.", "no_run")
    return folder


def checkpoint_of(run_id: str) -> Path:
    """The checkpoint that a run left at its end.  Raises InputError (no_run, not_done)."""
    path = folder_of(run_id) / CHECKPOINT
    if not path.is_file():
        raise InputError(f"The run {run_id} has no checkpoint yet; let it finish on the page Training.", "not_done")
    return path


def start(folder: Path, spec: RunSpec, threads: int | None = None) -> RunStatus:
    """Make the run folder and start its process.  Raises JobError (running, cannot_start), InputError."""
    with _folder_lock(folder):
        try:
            make_folder(folder, spec)
        except OSError as error:
            raise JobError(
                f"The run's folder could not be written ({error.strerror or error}); free space and start again."
            ) from error
        return _launch(folder, threads)


def resume(folder: Path, threads: int | None = None, seconds: float = 60.0) -> RunStatus:
    """Start the process of an existing run again; a finished one stays as it is.

    One that takes a single step goes on after it.  One that was asked to end, or ends after its step, is waited for, at
    most so many seconds.  Raises JobError (cannot_start; running, where it has not ended by then), InputError.
    """
    read_folder(folder)
    deadline = time.monotonic() + seconds
    while True:
        with _folder_lock(folder):
            now, wish = status(folder), _read(folder / WISH) or {}
            if not now.is_alive:
                return now if now.state == "done" else _launch(folder, threads)
            steps = "steps" in wish and not wish.get("ends")
            if steps:
                _wish(folder, ON)
            if steps or wish.get("wish") not in ("paused", "stopped"):
                return now
        if time.monotonic() > deadline:
            raise JobError(f"{folder.name} still saves its state to end; resume it when it has ended.", "running")
        time.sleep(0.05)


def step(folder: Path, threads: int | None = None) -> RunStatus:
    """One optimiser step of a run, then it is paused again; a finished one stays as it is.

    Raises JobError (running, cannot_start), InputError.
    """
    return _launch_idle(folder, threads, steps=1)


def finish(folder: Path, threads: int | None = None) -> RunStatus:
    """Make the checkpoint of a run from its best weights so far; it then is done.

    Raises JobError (running, cannot_start), InputError.
    """
    return _launch_idle(folder, threads, more=("--finish",))


def _launch_idle(folder: Path, threads: int | None, **how: Any) -> RunStatus:
    read_folder(folder)
    with _folder_lock(folder):
        now = status(folder)
        if now.is_alive:
            raise JobError(f"{folder.name} is {now.state}; pause it first.", "running")
        return now if now.state == "done" else _launch(folder, threads, **how)


def goes_on(folder: Path) -> bool:
    """Asked by the process of a single step after it: whether it was asked to go on meanwhile.

    Where not, it now ends, and :func:`resume` waits for that.
    """
    with _folder_lock(folder):
        wish = _read(folder / WISH) or {}
        if wish.get("wish") == ON:
            (folder / WISH).unlink()
        elif "steps" in wish:
            _wish(folder, **{**wish, "ends": True})
        return wish.get("wish") == ON


def pause(folder: Path, seconds: float = 60.0) -> RunStatus:
    """Ask a run to save its state and end; :func:`resume` goes on with it."""
    return _end(folder, "paused", seconds)


def stop(folder: Path, seconds: float = 60.0) -> RunStatus:
    """As :func:`pause`, but the run counts as ended."""
    return _end(folder, "stopped", seconds)


def ask_to_end(folder: Path, wish: str) -> RunStatus:
    """Ask a run to save its state and end ("paused" or "stopped"), and do not wait for it."""
    folder = Path(folder)
    with _folder_lock(folder):
        now = status(folder)
        if now.is_alive:
            _wish(folder, wish)
            with contextlib.suppress(ProcessLookupError):  # it ended by itself just now
                os.kill(_read(folder / PROCESS)["pid"], signal.SIGTERM)
        elif wish == "stopped" and now.state == "paused":
            _wish(folder, wish)
        return status(folder)


def asked_ago(folder: Path) -> float:
    """Seconds since a run was last asked to pause or stop; 0 where it was not."""
    try:
        return max(0.0, time.time() - (folder / WISH).stat().st_mtime)
    except OSError:
        return 0.0


def status(folder: Path) -> RunStatus:
    """What a run does now: "done" only with a checkpoint, "failed" where the process is gone without one."""
    folder = Path(folder)
    process, wish = _read(folder / PROCESS), _read(folder / WISH)
    if wish is not None and wish["wish"] == ON:
        wish = None
    child = _children.get(folder)
    if child is not None:
        child.poll()
    said = last_line(folder / LOG)
    if process is not None and is_alive(process["pid"], process["born"]):
        asked = "" if wish is None or "steps" in wish else wish["wish"]
        return RunStatus(folder, "waiting" if (folder / WAITING).exists() else "running", said, asked)
    if (folder / CHECKPOINT).is_file() and (folder / CHECKPOINT).with_suffix(".json").is_file():
        return RunStatus(folder, "done", said)
    if process is None:
        return RunStatus(folder, "new")
    sentence = said.partition("]: ")[2] if said.startswith("error [") else ""
    if wish is not None and not sentence and ("steps" not in wish or said.startswith(STOPPED)):
        return RunStatus(folder, wish["wish"], said)
    if said.startswith(STOPPED):
        return RunStatus(folder, "stopped", said)
    text = sentence or ENDED_OUTSIDE
    if CRASH.match(said):
        text = f"The training ended with an error of the program ({said[:200]}); {LOG} in {folder} has all of it."
    return RunStatus(folder, "failed", text)


def runs(root: Path | None = None) -> list[RunStatus]:
    """All runs under a folder, the newest first."""
    root = root or runs_folder()
    folders = [f.parent for f in root.glob("*/run.json")] if root.is_dir() else []
    return [status(f) for f in sorted(folders, key=lambda f: (f / "run.json").stat().st_mtime, reverse=True)]


def tail(folder: Path, start: int = 0, name: str = "log.jsonl") -> list[dict[str, Any]]:
    """Whole entries from number ``start`` on of the run's log, or of another file of lines (step_log.STEPS)."""
    try:
        lines = (Path(folder) / name).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[start:] if line.endswith("}")]


def remove(folder: Path) -> None:
    """Delete the folder of a run that does not run; one that is gone already is no error.  Raises JobError (running),
    InputError (no_run) for a folder of anything else."""
    folder = Path(folder)
    if not folder.exists():
        return
    if not (folder / RUN).is_file():
        raise InputError(f"{folder} is no run folder: it has no {RUN}, and is left as it is.", "no_run")
    if status(folder).is_alive:
        raise JobError(f"{folder.name} is running; stop it first.", "running")
    shutil.rmtree(folder, ignore_errors=True)


def device_lock(device: str) -> FileLock:
    """The lock that the run training on a device holds; the system frees it when its process ends, however it ends."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    return FileLock(cache_folder() / f"training-{device.replace(':', '-')}.lock")


def wait_for_device(folder: Path, device: str, should_stop: Callable[[], bool] = lambda: False) -> FileLock | None:
    """Hold the device's lock, marking the run as waiting meanwhile; None where it was asked to stop.

    Of the runs in one folder the one that came first is served first.
    """
    lock, mark = device_lock(device), folder / WAITING
    write_atomically(mark, json.dumps({"device": device, "since": time.time()}).encode())
    try:
        while not should_stop():
            if waiting(folder.parent, device)[:1] not in ([], [folder]):
                time.sleep(0.2)
                continue
            try:
                lock.acquire(timeout=0.5)
                return lock
            except Timeout:
                continue
        return None
    finally:
        mark.unlink(missing_ok=True)


def waiting(root: Path, device: str) -> list[Path]:
    """Folders of the runs that wait for a device, those that came first at the front."""
    marks = [(m, _read(m)) for m in root.glob(f"*/{WAITING}")]
    there = [(entry["since"], m.parent) for m, entry in marks if entry and entry.get("device") == device]
    return [folder for _, folder in sorted(there) if process_lives(folder)]


def position(folder: Path) -> int:
    """Place of a waiting run in the queue of its device, 1 for the next one; 0 where it does not wait."""
    entry = _read(folder / WAITING)
    line = waiting(folder.parent, entry["device"]) if entry else []
    return line.index(folder) + 1 if folder in line else 0


def _launch(folder: Path, threads: int | None, steps: int = 0, more: Sequence[str] = ()) -> RunStatus:
    now = status(folder)
    if now.is_alive:
        raise JobError(f"{folder.name} is running already.", "running")
    command = [sys.executable, "-m", "hsd", "resume", str(folder), "--queue", "--progress", *more]
    if threads:
        command += ["--threads", str(threads)]
    if steps:
        command += ["--steps", str(steps)]
    try:
        (folder / WAITING).unlink(missing_ok=True)
        with (folder / LOG).open("ab") as log:
            log.write(b"starting\n")
            log.flush()
            child = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        write_atomically(folder / PROCESS, json.dumps({"pid": child.pid, "born": birth(child.pid)}).encode())
        if steps:  # what was wished before ends last: with neither that nor a process a paused run is a failed one
            _wish(folder, "paused", steps=steps)
        else:
            (folder / WISH).unlink(missing_ok=True)
    except OSError as error:
        raise JobError(f"The training could not be started: {error.strerror or error}.") from error
    _children[folder] = child
    return status(folder)


def _end(folder: Path, wish: str, seconds: float) -> RunStatus:
    folder = Path(folder)
    now = ask_to_end(folder, wish)
    if not now.is_alive:
        return now
    process = _read(folder / PROCESS)
    deadline = time.monotonic() + seconds
    while is_alive(process["pid"], process["born"]) and time.monotonic() < deadline:
        time.sleep(0.05)
        child = _children.get(folder)
        if child is not None:
            child.poll()
    if is_alive(process["pid"], process["born"]):
        os.kill(process["pid"], signal.SIGKILL)
    return status(folder)


def _wish(folder: Path, wish: str, **more: Any) -> None:
    write_atomically(folder / WISH, json.dumps({"wish": wish, **more}).encode())


def _folder_lock(folder: Path) -> FileLock:
    """Two starters of one folder do not collide."""
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {folder} cannot be made: {error.strerror or error}.", "no_folder") from error
    return FileLock(folder.with_name(folder.name + ".lock"))


def _read(path: Path) -> dict | None:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None
