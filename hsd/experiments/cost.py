"""What models cost on this machine, measured in one run: preparation, training, a forward pass, memory.

One model after the other, each in a process of its own with an empty cache, by the trainer's own step and on real
samples.  Times are medians of warm repeats; other work on the machine makes them wrong, so that it is measured too.
Weights do not matter to costs: fresh ones of the checkpoint's configuration are used.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch

from hsd.data.dataset import Dataset
from hsd.data.generate import generate
from hsd.data.splits import split_sizes
from hsd.errors import HsdError
from hsd.experiments.cost_table import Cost
from hsd.experiments.transfer import plan_of
from hsd.linalg import Progress, silent
from hsd.training.checkpoint import read_manifest
from hsd.training.config import TrainingConfig
from hsd.training.jobs import ROOT
from hsd.training.run import checkpoint_in, chosen_device, make_trainer
from hsd.training.trainer import Trainer

SECONDS = 2.0
"""Time of the warm repeats of one figure."""
LEAST, MOST = 3, 60
"""Warm repeats."""
SLOW = 3.0
"""Seconds from which one call is warming up enough."""
BATCH = 32
"""Samples whose features are solved for together when those of a whole training are estimated."""


# ---- clocks ------------------------------------------------------------------------------------------------------


def timed(call: Callable[[], object], seconds: float, device: str) -> tuple[float, float]:
    """Median wall and CPU milliseconds of warm repeats, LEAST to MOST of them, for about so many seconds."""

    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    begun = time.perf_counter()
    call()
    wait()
    if time.perf_counter() - begun < SLOW:
        call()
        wait()
    walls, cpus = [], []
    while len(walls) < LEAST or (len(walls) < MOST and sum(walls) < 1000 * seconds):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        wait()
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (time.process_time() - cpu))
    return statistics.median(walls), statistics.median(cpus)


def peak(device: str) -> float:
    """Largest memory so far, MB."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def forward_of(trainer: Trainer, size: int) -> Callable[[], None]:
    """A forward pass of so many training samples, as many at once as the model asks for."""
    samples, model = trainer.data.train[0], trainer.model
    batch, at_once = samples.batch[torch.arange(size) % len(samples)], min(trainer.micro_batch or size, size)
    if batch.fiber is not None:  # what a prediction reads, made by :func:`solves_of`
        batch = replace(batch, fiber=None, fiber_sum=batch.weighted_fiber(model.fiber_weights.detach()))

    @torch.no_grad()
    def forward() -> None:
        for i in range(0, size, at_once):
            model(batch[slice(i, i + at_once)], samples.domain).nodes  # noqa: B018

    return forward


def solves_of(trainer: Trainer, size: int, training: bool) -> Callable[[], object] | None:
    """The solves for so many samples of training, which keeps every feature, or of a prediction, which reads their sum;
    None for models that read none."""
    samples, model = trainer.data.train[0], trainer.model
    lifts, weights = model.fiber_lifts(model.config), model.fiber_weights
    if lifts is None:
        return None
    source = samples.batch.source[torch.arange(size) % len(samples)].double().cpu().numpy()
    if training:
        return lambda: samples.domain.fiber_features(source, lifts)
    return lambda: samples.domain.fiber_sum(source, weights)


# ---- one model, in its own process -------------------------------------------------------------------------------


def measure(checkpoint: Path, data: Path, device: str = "cpu", seconds: float = SECONDS, threads: int = 1) -> Cost:
    """Costs of a checkpoint's model on samples of its task, in this process."""
    torch.set_num_threads(threads)
    manifest = read_manifest(checkpoint)
    config = TrainingConfig.from_dict(manifest["training"]["config"])
    begun = time.perf_counter()
    trainer = make_trainer(Dataset(data), config, device=device)
    preparation = time.perf_counter() - begun
    here = sum(map(len, (*trainer.data.train, *trainer.data.validation)))
    solves, features_ms, features_cpu_ms, batched = solves_of(trainer, 1, training=False), 0.0, 0.0, 0.0
    if solves is not None:
        features_ms, features_cpu_ms = timed(solves, seconds / 4, "cpu")
        many, begun = solves_of(trainer, BATCH, training=True), time.perf_counter()
        many()
        batched = (time.perf_counter() - begun) / BATCH
    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()
    trainer.model.eval()
    forward_ms, forward_cpu_ms = timed(forward_of(trainer, 1), seconds, device)
    trainer.model.train()
    at_once = min(trainer.micro_batch or config.batch_size, config.batch_size)
    rows = torch.arange(at_once) % len(trainer.data.train[0])
    step_ms, _ = timed(lambda: trainer.train_step(0, rows), seconds, device)
    sizes, n_train = split_sizes(plan_of(checkpoint, manifest).n_samples), manifest["training"]["n_train"]
    return Cost(
        checkpoint=str(checkpoint),
        label=manifest.get("label", manifest["model"]),
        task=manifest["task"],
        n_vertices=trainer.data.domain.n_vertices,
        parameters=trainer.model.n_parameters,
        n_train=n_train,
        preparation_s=preparation + batched * (n_train + sizes["validation"] - here),
        features_ms=features_ms,
        forward_ms=forward_ms + features_ms,
        forward_cpu_ms=forward_cpu_ms + features_cpu_ms,
        at_once=at_once,
        step_ms=step_ms,
        epoch_s=step_ms / 1000 * n_train / at_once,
        memory_mb=peak(device),
    )


# ---- all models --------------------------------------------------------------------------------------------------


def machine(device: str, threads: int) -> dict[str, Any]:
    """Where costs are measured."""
    name = torch.cuda.get_device_name() if device.startswith("cuda") else processor()
    return {
        "device": device,
        "name": name,
        "cores": os.cpu_count(),
        "threads": threads,
        "torch": torch.__version__,
    }


def processor() -> str:
    """The CPU's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def costs(
    checkpoints: Sequence[Path],
    device: str = "auto",
    threads: int | None = None,
    seconds: float = SECONDS,
    progress: Progress = silent,
    program: Sequence[str] = (sys.executable, "-m", "hsd"),
) -> Iterator[Cost]:
    """Costs of checkpoints (or run folders), one after the other, each in a process of its own (``program`` starts it).

    Raises InputError (of read_checkpoint; no_checkpoint, no_task), HsdError (not_measured) with what a process said.
    """
    device, threads = chosen_device(device), threads or os.cpu_count() or 1
    paths = [checkpoint_in(given) for given in checkpoints]
    manifests = [read_manifest(path) for path in paths]
    plans = [plan_of(path, manifest) for path, manifest in zip(paths, manifests)]
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, Path] = {}
        for path, manifest, plan in zip(paths, manifests, plans):
            key = plan.to_json()
            if key not in files:
                same = (m for m, other in zip(manifests, plans) if other == plan)
                batch = max(m["training"]["config"]["batch_size"] for m in same)
                n_samples = next(n for n in count(batch) if split_sizes(n)["train"] >= batch)
                progress(f"{plan.task}: {n_samples} samples", None)
                file = Path(folder) / f"{len(files)}.npz"
                files[key] = generate(plan.task, file, n_samples, plan.n_nodes, config=manifest["task_config"])
            progress(f"{path.parent.name}/{path.stem}", None)
            with tempfile.TemporaryDirectory() as cache:
                words = ["cost", path.absolute(), "--one", files[key], "--device", device]
                words += ["--threads", threads, "--seconds", seconds]
                env = {**os.environ, "HSD_CACHE": cache}
                done = subprocess.run([*program, *map(str, words)], cwd=ROOT, capture_output=True, text=True, env=env)
            if done.returncode:
                said = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
                raise HsdError(f"{path.parent.name}/{path.stem} could not be measured: {said}", "not_measured")
            yield Cost(**{**json.loads(done.stdout.splitlines()[-1]), "checkpoint": str(path)})
