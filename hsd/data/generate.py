"""Making a dataset file: fixed chunks by worker processes, kept beside the file until it is whole.

``F.parts/`` holds the plan, the mesh and one archive a chunk, each written atomically; the file F gets its name when it
is complete.  A run that was interrupted goes on with the chunks that are there, and the result is the same.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from hsd.data.archive import Archive, Blocks, disk_full, write_archive
from hsd.data.dataset import mesh_arrays
from hsd.data.plan import CHUNK, Plan
from hsd.data.schema import FieldsSpec
from hsd.data.splits import split_codes
from hsd.errors import HsdError, InputError, require_whole
from hsd.hodge.cache import write_atomically
from hsd.linalg import Progress, silent
from hsd.mesh.mesh import Mesh

PROGRAM = (sys.executable, "-m", "hsd")
PLAN, MESH, LOCK = "plan.json", "mesh.npz", "lock"
PER_SAMPLE = ("input/", "target", "coefficient/", "trajectory")


def chunk_file(folder: Path, chunk: int) -> Path:
    return folder / f"chunk-{chunk:05d}.npz"


def generate(
    name: str,
    out: str | os.PathLike,
    n_samples: int | None = None,
    n_nodes: int | None = None,
    seed: int = 0,
    *,
    workers: int = 1,
    config: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    chunk: int = CHUNK,
    progress: Progress = silent,
    program: Sequence[str] = PROGRAM,
) -> Path:
    """Make ``n_samples`` samples of a task and write them to the dataset file ``out`` (.npz).

    n_samples, n_nodes : default to the task's config; ``config`` replaces other entries of it
    workers            : processes, each with one BLAS thread; the file does not depend on their number
    overwrite          : replace a file that exists, and parts that another run has left
    chunk              : samples realised together; part of what fixes the last digits
    program            : the words that start ``python -m hsd``
    Equal arguments and versions give equal bytes.  Raises UnknownNameError, InputError (exists, other_run, running,
    unknown_format, no_folder, bad_number, not_whole, bad_seed, bad_config, non_finite, shape, and those of the task),
    HsdError (worker_died, disk_full).
    """
    plan = Plan.of(name, n_samples, n_nodes, seed, config, chunk)
    require_whole("number of workers", workers)
    if workers < 1:
        raise InputError(f"The number of workers must be at least 1; got {workers}.", "bad_number")
    out = Path(out)
    _check_out(out, overwrite)
    folder = out.with_name(out.name + ".parts")
    folder.mkdir(exist_ok=True)
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"Another run is writing to {folder}; wait for it, or stop it.", "running") from error
    try:
        _prepare(folder, plan, overwrite)
        progress("making the mesh", None)
        task = plan.make_task()
        if not (folder / MESH).is_file():
            write_archive(folder / MESH, mesh_arrays(task.mesh(), "mesh"))
        missing = [c for c in range(plan.n_chunks) if not _is_whole(chunk_file(folder, c))]
        _Crew(folder, plan, missing, program, progress).work(min(workers, len(missing)))
        progress("writing the file", None)
        _assemble(folder, plan, out)
    finally:
        lock.release()
    shutil.rmtree(folder, ignore_errors=True)
    return out


def _check_out(out: Path, overwrite: bool) -> None:
    if out.suffix.lower() != ".npz":
        raise InputError(f"Datasets are written as .npz; {out.name!r} has another suffix.", "unknown_format")
    if not out.parent.is_dir():
        raise InputError(f"The folder {out.parent} does not exist; make it first.", "no_folder")
    if out.is_dir():
        raise InputError(f"{out} is a folder; give the name of a file.", "exists")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists; choose another name, or say --overwrite.", "exists")


def _prepare(folder: Path, plan: Plan, overwrite: bool) -> None:
    """Leave in the folder what belongs to this plan, or refuse."""
    text, place = plan.to_json(), folder / PLAN
    if place.is_file() and place.read_text(encoding="utf-8") != text:
        if not overwrite:
            raise InputError(
                f"{folder} holds an interrupted run with other settings or versions; finish that one, remove the "
                "folder, or say --overwrite.",
                "other_run",
            )
        for path in folder.iterdir():
            if path.name != LOCK:
                path.unlink()
    write_atomically(place, text.encode())
    for path in folder.glob("*.growing"):  # of a killed run
        path.unlink()


def _is_whole(path: Path) -> bool:
    """True for a chunk that can be used; one that is damaged is removed."""
    if not path.is_file():
        return False
    try:
        if not Archive(path).damaged():
            return True
    except InputError:
        pass
    path.unlink()
    return False


# ---- the processes -----------------------------------------------------------------------------------------------


class _Crew:
    """Worker processes that take chunk numbers on their input and answer a line for each that is written."""

    def __init__(self, folder: Path, plan: Plan, chunks: list[int], program: Sequence[str], progress: Progress):
        self.folder, self.plan, self.program, self.progress = folder, plan, program, progress
        self.waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for chunk in chunks:
            self.waiting.put(chunk)
        self.answers: queue.SimpleQueue[int | HsdError | None] = queue.SimpleQueue()
        self.n_done = plan.n_chunks - len(chunks)
        self.stopped = False

    def work(self, workers: int) -> None:
        self._report()
        processes = [self._start(i) for i in range(workers)]
        threads = [threading.Thread(target=self._serve, args=(p, i), daemon=True) for i, p in enumerate(processes)]
        try:
            for thread in threads:
                thread.start()
            running = workers
            while running:
                answer = self.answers.get()
                if isinstance(answer, HsdError):
                    raise answer
                if answer is None:
                    running -= 1
                    continue
                self.n_done += 1
                self._report()
                self._check_space(answer)
        finally:
            self.stopped = True
            for process in processes:
                if process.poll() is None:
                    process.terminate()
            for process in processes:
                process.wait()

    def _report(self) -> None:
        done = min(self.n_done * self.plan.chunk, self.plan.n_samples)
        self.progress(f"{done} of {self.plan.n_samples} samples", self.n_done / self.plan.n_chunks)

    def _check_space(self, chunk: int) -> None:
        """Stop early when chunks and file together will not fit on the disk."""
        size = chunk_file(self.folder, chunk).stat().st_size
        need = size * (2 * self.plan.n_chunks - self.n_done)
        free = shutil.disk_usage(self.folder).free
        if need > free:
            raise disk_full(self.folder, f"{need / 1e9:.1f} GB more are needed, {free / 1e9:.1f} GB are free")

    def _start(self, number: int) -> subprocess.Popen:
        home = str(Path(__file__).resolve().parents[2])
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}
        with self._log(number).open("wb") as log:
            return subprocess.Popen(
                [*self.program, "data", "worker", str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                process_group=0,  # Ctrl-C is for the process that started it, which ends it
                env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(paths)},
                text=True,
                encoding="utf-8",
            )

    def _log(self, number: int) -> Path:
        return self.folder / f"worker-{number}.log"

    def _serve(self, process: subprocess.Popen, number: int) -> None:
        """Hand chunks to one process until none is left; its own thread."""
        try:
            while not self.stopped:
                try:
                    chunk = self.waiting.get_nowait()
                except queue.Empty:
                    break
                process.stdin.write(f"{chunk}\n")
                process.stdin.flush()
                self.answers.put(self._answer(process, number, process.stdout.readline(), chunk))
            process.stdin.close()
        except (BrokenPipeError, ValueError, OSError):
            self.answers.put(self._death(process, number, None))
        self.answers.put(None)

    def _answer(self, process: subprocess.Popen, number: int, line: str, chunk: int) -> int | HsdError:
        if line.strip() == str(chunk):
            return chunk
        if line.startswith("{"):
            error = json.loads(line)["error"]
            return HsdError(error["message"], error["kind"])
        return self._death(process, number, chunk)

    def _death(self, process: subprocess.Popen, number: int, chunk: int | None) -> HsdError:
        code = process.wait()
        lines = self._log(number).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        what = "" if chunk is None else " while making samples {} to {}".format(*self.plan.range_of(chunk))
        why = f"signal {-code}, perhaps for lack of memory" if code < 0 else f"exit code {code}"
        last = f"; its last line is {lines[-1]!r}" if lines else ""
        return HsdError(
            f"A worker stopped{what} ({why}{last}); run the same command again, with fewer workers if memory is short.",
            "worker_died",
        )


def serve_chunks(folder: Path, lines, answer) -> None:
    """The life of a worker: a chunk number on each line, answered when its file is written; ends with the lines."""
    plan = Plan.from_file(folder / PLAN)
    maker = _Maker(folder, plan)
    for line in lines:
        maker.make(int(line))
        answer(line.strip())


class _Maker:
    """Realises chunks on the mesh of the run."""

    def __init__(self, folder: Path, plan: Plan):
        from hsd.data.ground import Ground

        self.folder, self.plan, self.task = folder, plan, plan.make_task()
        archive = Archive(folder / MESH)
        self.mesh = Mesh.from_cells(
            np.asarray(archive["mesh/points"]), np.asarray(archive["mesh/cells"]), name=plan.task
        )
        self.ground = Ground(self.mesh)

    def make(self, chunk: int) -> None:
        """Write one chunk; the first also holds the named fields."""
        task = self.task
        result = task.realise(task.samples(self.plan.seed, *self.plan.range_of(chunk)), self.ground)
        arrays = {f"input/{spec.name}": result.inputs[spec.name] for spec in task.inputs}
        arrays["target"] = result.target
        arrays |= {f"coefficient/{name}": values for name, values in result.coefficients.items()}
        if result.trajectory is not None:
            arrays["trajectory"] = result.trajectory
        arrays = {name: np.asarray(values, np.float32) for name, values in arrays.items()}
        start, stop = self.plan.range_of(chunk)
        for name, values in arrays.items():
            if len(values) != stop - start:
                raise InputError(f"{task.name} gave {len(values)} rows of {name} for {stop - start} samples.", "shape")
            bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
            if len(bad):
                raise InputError(
                    f"{name} of sample {start + bad[0]} of {task.name} is not finite; change the config or the seed.",
                    "non_finite",
                )
        if chunk == 0:
            fields = task.named_fields(self.ground)
            used = {name: fields[name] for name in result.coefficients}
            arrays |= {f"field/{name}": np.asarray(f.values, np.float64) for name, f in used.items()}
            specs = {name: [f.degree, f.reading, f.reference] for name, f in used.items()}
            arrays["fields"] = np.array(json.dumps(specs))
        write_archive(chunk_file(self.folder, chunk), arrays)


# ---- the file ----------------------------------------------------------------------------------------------------


def _assemble(folder: Path, plan: Plan, out: Path) -> None:
    chunks = [Archive(chunk_file(folder, c)) for c in range(plan.n_chunks)]
    first, mesh = chunks[0], Archive(folder / MESH)
    cells = Mesh.from_cells(np.asarray(mesh["mesh/points"]), np.asarray(mesh["mesh/cells"]))
    named = {name: FieldsSpec(*spec) for name, spec in json.loads(str(np.asarray(first["fields"]))).items()}
    schema = plan.schema(plan.make_task(), cells.content_hash, named)
    arrays: dict[str, np.ndarray | Blocks] = {"schema": np.array(schema.to_json())}
    arrays |= {name: mesh[name] for name in mesh.names}
    arrays |= {name: first[name] for name in first.names if name.startswith("field/")}
    arrays["split"] = split_codes(plan.n_samples, plan.seed)
    for name in first.names:
        if name.startswith(PER_SAMPLE):
            shape = (plan.n_samples, *first.shape(name)[1:])
            arrays[name] = Blocks(shape, np.float32, _rows(chunks, name))
    write_archive(out, arrays, folder)


def _rows(chunks: list[Archive], name: str) -> Iterator[np.ndarray]:
    for chunk in chunks:
        yield chunk[name]
