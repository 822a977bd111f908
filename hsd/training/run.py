"""A run folder: what was asked (``run.json``), state and log while it trains, the checkpoint when it is done."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from hsd.data.dataset import Dataset
from hsd.data.generate import generate
from hsd.data.placement import placements_of
from hsd.data.plan import Plan
from hsd.data.tasks import TASKS
from hsd.errors import InputError, check_choice
from hsd.hodge.cache import cache_folder, cache_key, lock_of, made_once, write_atomically
from hsd.linalg import Progress, silent
from hsd.models.base import Operator
from hsd.models.registry import model_class
from hsd.processes import is_alive
from hsd.training.checkpoint import read_manifest, save_checkpoint
from hsd.training.config import DEFAULT_MODES, TrainingConfig
from hsd.training.data import TrainingData
from hsd.training.memory import enough_memory
from hsd.training.parallel import Group
from hsd.training.state import LOG, STATE
from hsd.training.suits import check_suits
from hsd.training.trainer import Report, Trainer

RUN = "run.json"
CHECKPOINT = "model.safetensors"
PROCESS = "process.json"
"""Written by :mod:`hsd.training.jobs`: the process of a run in the background."""
TRAINS = "trains.lock"
"""Locked by the process that trains in the folder."""
DEVICES = ("auto", "cpu", "cuda")


class _Ended(Exception):
    """A run was asked to stop before its first step."""


@dataclass(frozen=True)
class RunSpec:
    """What a run trains on, and how.

    task, task_config, n_samples, n_nodes, data_seed : data made on this machine from the recorded seed, or
    data        : path of a dataset file instead
    training    : the training config
    device      : "auto" (a GPU if there is one), "cpu" or "cuda"
    version     : of the model's construction (``Operator.version``), by default the program's own
    """

    training: TrainingConfig
    task: str | None = None
    task_config: dict[str, Any] = field(default_factory=dict)
    n_samples: int | None = None
    n_nodes: int | None = None
    data_seed: int = 0
    data: str | None = None
    device: str = "auto"
    version: int | None = None

    def __post_init__(self):
        check_choice("device", self.device, DEVICES)
        if self.version is None:
            object.__setattr__(self, "version", model_class(self.training.model).version)
        if (self.task is None) == (self.data is None):
            raise InputError("A run needs a task or a dataset file, and not both.", "bad_run")
        if self.task is not None:
            check_choice("task", self.task, TASKS)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> RunSpec:
        entries = with_version(entries)
        return cls(training=TrainingConfig.from_dict(entries.pop("training")), **entries)


def with_version(told: dict[str, Any]) -> dict[str, Any]:
    """The entries of a ``run.json``; one written before models had versions is of the first."""
    return {"version": 1, **told}


def chosen_device(device: str) -> str:
    """ "auto" → "cuda" where there is one, else "cpu".  Raises InputError (no_gpu)."""
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise InputError("No CUDA device is available here; take --device auto or cpu.", "no_gpu")
    return "cuda" if there and device != "cpu" else "cpu"


def use_threads(n: int | None) -> None:
    """Set the number of CPU threads of this process (None: leave it).  Raises InputError (bad_threads)."""
    if n:
        there = os.cpu_count() or 1
        if n > there:
            raise InputError(
                f"This machine has {there} CPU cores; take --threads {there} or fewer (got {n}).", "bad_threads"
            )
        torch.set_num_threads(n)


def make_folder(folder: Path, spec: RunSpec) -> None:
    """Write ``run.json``.  Raises InputError (folder_in_use) where the folder holds another run; one that never came to
    its first step, as its data or settings were refused, gives way."""
    file = folder / RUN
    if (
        file.is_file()
        and has_begun(folder)
        and with_version(json.loads(file.read_text(encoding="utf-8"))) != spec.as_dict()
    ):
        raise InputError(
            f"{folder} holds another run; resume it (python -m hsd resume {shlex.quote(str(folder))}), or choose "
            "another folder.",
            "folder_in_use",
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, json.dumps(spec.as_dict(), indent=1).encode())


def has_begun(folder: Path) -> bool:
    """Whether a run has left anything in its folder, or a process works on it."""
    if any((folder / name).exists() for name in (STATE, CHECKPOINT, LOG)) or process_lives(folder):
        return True
    lock = lock_of(folder / TRAINS)
    if lock is not None:
        lock.release()
    return lock is None


def process_lives(folder: Path) -> bool:
    """Whether the process that the folder names still runs."""
    try:
        told = json.loads((folder / PROCESS).read_text(encoding="utf-8"))
        return is_alive(told["pid"], told["born"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the lock of the process that trains in a run folder.  Raises InputError (running) where another has it."""
    lock = lock_of(folder / TRAINS)
    if lock is None:
        raise InputError(
            f"Another process trains the run in {folder} now; wait for its end, or stop it, and start again.", "running"
        )
    try:
        yield
    finally:
        lock.release()


def read_folder(folder: Path) -> RunSpec:
    """The spec in a run folder.  Raises InputError (no_run, bad_run)."""
    file = folder / RUN
    if not file.is_file():
        raise InputError(f"{folder} is no run folder: it has no {RUN}.", "no_run")
    try:
        return RunSpec.from_dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{file} cannot be read ({error}); start the run again in a new folder.", "bad_run") from error


def checkpoint_in(path: Path) -> Path:
    """A checkpoint's path from itself or from its run folder.  Raises InputError (no_checkpoint)."""
    if not path.is_dir():
        return path
    if not (path / CHECKPOINT).is_file():
        raise InputError(f"{path} has no {CHECKPOINT}; finish its run, or name a checkpoint.", "no_checkpoint")
    return path / CHECKPOINT


def own_data_of(folder: Path) -> Path | None:
    """The dataset file that a run folder names, where it is still there; None for a task's data too.

    Raises InputError (no_run, bad_run; other_data, where its meshes are others than that of the run's checkpoint).
    """
    spec = read_folder(folder)
    if spec.data is None or not Path(spec.data).is_file():
        return None
    trained_on = read_manifest(folder / CHECKPOINT)["domain"]["mesh_hash"] if (folder / CHECKPOINT).is_file() else None
    if trained_on and trained_on not in [mesh.content_hash for mesh in Dataset(spec.data).meshes]:
        raise InputError(
            f"{spec.data} has another mesh by now than the one that the run in {folder} was trained on; name the "
            "dataset file with --data.",
            "other_data",
        )
    return Path(spec.data)


def dataset_path(spec: RunSpec) -> Path:
    """Where a run's dataset is, or will be kept once it is made."""
    if spec.data is not None:
        return Path(spec.data)
    plan = Plan.of(spec.task, spec.n_samples, spec.n_nodes, spec.data_seed, spec.task_config)
    return cache_folder() / "datasets" / f"{spec.task}-{cache_key('dataset', plan)[:16]}.npz"


def check_data(spec: RunSpec) -> None:
    """Look at the run's dataset file, before anything waits for it.  Raises what opening it and check_suits raise."""
    if spec.data is not None:
        check_suits(Dataset(spec.data), spec.training)


def dataset_of(spec: RunSpec, progress: Progress = silent, workers: int = 1) -> Dataset:
    """The dataset of a run: the file named, or one made from the seed and kept in the cache folder."""
    if spec.data is not None:
        return Dataset(spec.data)
    path, settings = dataset_path(spec), (spec.n_samples, spec.n_nodes, spec.data_seed)
    more = {"workers": workers, "config": spec.task_config, "progress": progress}
    made_once(
        path,
        lambda: generate(spec.task, path, *settings, **more),
        lambda: progress("waiting for another process that makes the same samples", None),
    )
    return Dataset(path)


def shared_dataset(group: Group, spec: RunSpec, progress: Progress = silent, workers: int = 1) -> Dataset:
    """The dataset of a run of several processes: the first one makes it while the others wait; where its file is not
    seen on another machine, the first process there makes it again (equal seeds give equal files)."""
    for makes in (group.is_first, group.local_rank == 0) if group.size > 1 and spec.data is None else ():
        ended = False
        try:
            if makes:
                dataset_of(spec, progress, workers)
        except _Ended:
            ended = True
        if group.agree(0.0, ended)[1]:
            raise _Ended
    return dataset_of(spec, progress, workers)


def run(
    folder: Path,
    progress: Progress = silent,
    report: Report = lambda entry: None,
    should_stop: Callable[[], bool] = lambda: False,
    workers: int = 1,
    steps: int = 0,
    finish: bool = False,
    goes_on: Callable[[], bool] = lambda: False,
) -> Path | None:
    """Start or go on with the run of a folder; returns the checkpoint, or None where it was stopped before its end.

    steps   : optimiser steps after which it stops, 0: no limit
    finish  : train no more, and make the checkpoint of the best weights so far
    goes_on : asked after those steps, whether it trains on without a limit
    Of the processes of a ``torchrun`` the first one returns the checkpoint, the others None.
    Raises SolverError (diverged, out_of_memory), InputError (few_gpus; other_version; running, where another process
    trains in the folder; folder_gone, where the folder is deleted meanwhile: nobody could watch or stop the run any
    more), and what reading the folder and the data raise.
    """
    spec = read_folder(folder)
    here = model_class(spec.training.model).version
    if spec.version != here:
        raise InputError(
            f"The run in {folder} was begun with version {spec.version} of the model {spec.training.model}, and this "
            f"program has version {here}; start it again in a new folder.",
            "other_version",
        )
    device = chosen_device(spec.device)
    group, done = Group(device), [0]

    def watched(stage: str, fraction: float | None = None) -> None:
        progress(stage, fraction)
        if should_stop():
            raise _Ended

    def enough() -> bool:
        done[0] += 1
        if not (folder / RUN).is_file():
            raise InputError(f"The folder {folder} was deleted while its run trained; start it again.", "folder_gone")
        return should_stop() or (done[0] == steps and not goes_on())

    with alone_in(folder) if group.is_first else contextlib.nullcontext():
        try:
            dataset = shared_dataset(group, spec, watched, workers)
            alone = watched if group.size == 1 else progress  # several processes end together, at their first step
            with enough_memory(f"Training {spec.training.model}", "take a smaller batch, micro_batch, mesh or model"):
                begun = time.time()
                trainer = make_trainer(dataset, spec.training, folder, device, alone, report, enough, progress)
                prepared = time.time()
                if finish:
                    trainer.end_here()
                model = trainer.fit()
        except _Ended:
            group.close()
            return None
        if group.is_first and trainer.progress.finished:
            seconds = {"preparation_seconds": prepared - begun, "wall_seconds": time.time() - prepared}
            path = keep(folder / CHECKPOINT, model, trainer, dataset, spec, device, seconds)
        else:
            path = None
        group.close()
        return path


def task_config_of(dataset: Dataset) -> dict[str, Any]:
    """Entries of the task's config that a generated file was made with and that differ from the defaults, sizes apart;
    none for own data.  Raises UnknownNameError, InputError (bad_config)."""
    name, told = dataset.schema.task, dataset.schema.provenance.get("config", {})
    if name not in TASKS:
        return {}
    defaults, made = Plan.of(name).make_task().config_dict, Plan.of(name, config=told).make_task().config_dict
    return {k: v for k, v in made.items() if v != defaults[k] and k not in ("n_samples", "n_nodes")}


def make_trainer(
    dataset: Dataset,
    config: TrainingConfig,
    folder: Path | None = None,
    device: str = "cpu",
    progress: Progress = silent,
    report: Report = lambda entry: None,
    should_stop: Callable[[], bool] = lambda: False,
    show: Progress = silent,
) -> Trainer:
    """A trainer for a dataset: the domain with the model's number of modes, fiber features where it reads them.

    progress : of the preparation;  report, should_stop, show: as in :class:`hsd.training.trainer.Trainer`
    Raises what :func:`hsd.training.suits.check_suits` raises.
    """
    check_suits(dataset, config)
    task = dataset.schema.task
    cls = model_class(config.model)
    model_config = cls.make_config(task, **config.model_config)
    n_modes = getattr(model_config, "n_modes", DEFAULT_MODES)
    lifts = cls.fiber_lifts(model_config)
    data = TrainingData.open(dataset, n_modes, config.n_train, lifts, progress, cls.reads_scales)
    return Trainer(data, config, folder, device, report, should_stop, task, show)


def keep(
    path: Path,
    model: Operator,
    trainer: Trainer,
    dataset: Dataset,
    spec: RunSpec,
    device: str,
    seconds: dict[str, float],
) -> Path:
    """Write the checkpoint of a finished run.

    seconds : of the process that finished it: preparation (domain, modes, fiber features, as far as the cache did not
              hold them) and wall clock from then on
    """
    domain, progress = trainer.data.domain, trainer.progress
    provenance = dict(dataset.schema.provenance)
    about = {
        "mesh_hash": domain.mesh.content_hash,
        "mesh_name": domain.mesh.name,
        "n_vertices": domain.n_vertices,
        "n_nodes": provenance.get("n_nodes", domain.n_vertices),
        "n_modes": domain.spec.n_modes,
        "grid_size": domain.spec.grid_size,
        "scales": asdict(domain.scales),
        "placements": placements_of(samples.domain.mesh for samples in trainer.data.train),
    }
    on_gpu = device.startswith("cuda")
    threads = torch.get_num_threads()
    training = {
        "config": spec.training.as_dict(),
        "steps": progress.step,
        "epochs": progress.epoch,
        "best_epoch": progress.best_epoch,
        "best_validation": progress.best,
        "training_seconds": round(progress.seconds, 2),
        **{name: round(value, 2) for name, value in seconds.items()},
        "core_minutes": None if on_gpu else round(progress.seconds * threads * trainer.group.size / 60, 3),
        "device": torch.cuda.get_device_name() if on_gpu else f"cpu, {threads} threads",
        "threads": threads,
        "processes": trainer.group.size,
        "n_train": sum(len(s) for s in trainer.data.train),
        "pid": os.getpid(),
        "modes": {"source": domain.source.n_modes, "target": domain.target.n_modes},
    }
    return save_checkpoint(
        path,
        model,
        normaliser_json=trainer.data.normaliser.to_json(),
        domain_about=about,
        task=dataset.schema.task,
        task_config=spec.task_config if spec.data is None else task_config_of(dataset),
        training=training,
        data=provenance,
    )
