"""Forward and training step of every model: time and peak memory, also as ratios to FNO-3D at equal batch.

    python benchmarks/bench_models.py                                   # all models, transport at 3000 nodes
    python benchmarks/bench_models.py --models fno3d hsd --batch 1 64   # some of them
    python benchmarks/bench_models.py --tasks external_aerodynamics magnetostatics --threads 1
    python benchmarks/bench_models.py --device cuda --seconds 2

Every model runs in a process of its own, on real samples, with the trainer's own step (forward, loss, backward,
penalty, clipping, AdamW; micro-batches as the model asks for).  Forward is from a normalised batch to node values, in
the same micro-batches.  Figures are medians of warm repeats.  CPU milliseconds add up all threads and do not see what
else the machine does, so ratios are of CPU time on a CPU, and of wall time on a GPU; FNO-3D is measured before and
after all others, and its own drift is printed.  "features": solving for the sum of resolvents that HSD's fiber adds,
on the CPU, before the forward pass; training solves for its summands once, before its first step.  Memory is the
largest resident size of the process after that batch's forward and steps (a GPU: the most that was allocated); "at
rest" is that before the first forward, with Python, torch and the constants of the mesh.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from hsd.data.dataset import Dataset
from hsd.data.generate import generate
from hsd.data.tasks import TASKS
from hsd.experiments.cost import forward_of, peak, processor, solves_of, timed
from hsd.models.presets import PRESETS
from hsd.models.registry import MODELS, model_class
from hsd.training.config import DEFAULT_MODES, TrainingConfig
from hsd.training.data import domain_of
from hsd.training.run import chosen_device, make_trainer

REFERENCE = "fno3d"
ROWS = {
    "hsd": ("hsd", {}),
    "hsd tiny": ("hsd", PRESETS["tiny"]),
    "hsd 8 layers 128 modes": ("hsd", {"layers": 8, "n_modes": 128}),
    "hsd paper": ("hsd", PRESETS["paper"]),
    **{name: (name, {}) for name in MODELS if name != "hsd"},
}
"""Label → model and entries of its config; on top of what its task's config says."""
STEP_TARGETS = {"hsd": 1.3, "hsd tiny": 1.0, "hsd 8 layers 128 modes": 1.0}
"""Largest ratio of the training step to FNO-3D's on a CPU."""
FORWARD_TARGET, FORWARD_NODES = 30.0, 3000
"""Milliseconds of one sample's forward pass, features included; CPU time (all threads) bounds that of idle cores."""
MEMORY_TARGET = 8.0
"""Gigabytes that training at the benchmark's batch may take."""
TRAIN_SHARE = 0.65
HEAD = (
    "| model | parameters | batch | at once | forward ms | CPU ms | ratio | step ms | CPU ms | ratio | features CPU ms "
    "| at rest MB | peak MB | ratio |"
)
Row = dict[str, float | int | str]


# ---- one model, in its own process -------------------------------------------------------------------------------


def measure(label: str, data: Path, batches: Sequence[int], device: str, threads: int, seconds: float) -> Iterator[Row]:
    """Figures of one model at each batch, smallest first (peaks of a process never fall)."""
    torch.set_num_threads(threads)
    name, entries = ROWS[label]
    config = TrainingConfig(name, model_config=entries, batch_size=max(batches))
    trainer = make_trainer(Dataset(data), config, device=device)
    model, samples = trainer.model, trainer.data.train[0]
    rest = peak(device)
    for size in sorted(batches):
        rows = torch.arange(size) % len(samples)
        at_once = min(trainer.micro_batch or size, size)
        features = solves_of(trainer, size, training=False)
        if device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats()
        model.eval()
        forward_wall, forward_cpu = timed(forward_of(trainer, size), seconds, device)
        model.train()
        step_wall, step_cpu = timed(lambda rows=rows: trainer.train_step(0, rows), seconds, device)
        most = peak(device)
        yield {
            "label": label,
            "parameters": model.n_parameters,
            "batch": size,
            "at_once": at_once,
            "forward_wall": forward_wall,
            "forward_cpu": forward_cpu,
            "step_wall": step_wall,
            "step_cpu": step_cpu,
            "features": timed(features, seconds / 4, "cpu")[1] if features else 0.0,
            "rest": rest,
            "peak": most,
        }


# ---- all models --------------------------------------------------------------------------------------------------


def in_process(label: str, data: Path, args: argparse.Namespace, device: str) -> list[Row] | str:
    """The figures of a process of its own, or the last line that it said."""
    words = ["--one", label, "--data", data, "--device", device, "--threads", args.threads, "--seconds", args.seconds]
    done = subprocess.run(
        [sys.executable, __file__, *map(str, words), "--batch", *map(str, args.batch)], capture_output=True, text=True
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        return said[-1] if said else f"ended with code {done.returncode}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def clock_of(device: str) -> str:
    return "wall" if device.startswith("cuda") else "cpu"


def reference_of(runs: Sequence[Sequence[Row]]) -> dict[int, Row]:
    """Batch → FNO-3D's figures, means over its runs."""
    out = {}
    for rows in zip(*runs, strict=True):
        out[rows[0]["batch"]] = {
            k: statistics.mean(r[k] for r in rows) if isinstance(v, float) else v for k, v in rows[0].items()
        }
    return out


def line(row: Row, reference: dict[int, Row], device: str) -> str:
    """One line of the table; without a reference the ratios are missing."""
    base, clock = reference.get(row["batch"]), clock_of(device)

    def ratio(key: str) -> str:
        return f"{row[key] / base[key]:.2f}" if base and base[key] else "–"

    cells = [row["label"], f"{row['parameters']:,}", row["batch"], row["at_once"]]
    for kind in ("forward", "step"):
        cells += [f"{row[f'{kind}_wall']:.1f}", f"{row[f'{kind}_cpu']:.1f}", ratio(f"{kind}_{clock}")]
    cells += [f"{row['features']:.1f}" if row["features"] else "–"]
    cells += [f"{row['rest']:.0f}", f"{row['peak']:.0f}", ratio("peak")]
    return "| " + " | ".join(map(str, cells)) + " |"


def verdicts(rows: Sequence[Row], reference: dict[int, Row], device: str, nodes: int, threads: int) -> list[str]:
    """Each target with what was measured."""

    def said(what: str, value: float, limit: float, unit: str = "") -> str:
        return f"- {what}: {value:.2f}{unit}, target ≤ {limit:g}{unit}: {'held' if value <= limit else 'MISSED'}"

    out, clock = [], clock_of(device)
    for row in rows:
        label, size = row["label"], row["batch"]
        base = reference.get(size)
        if base and label in STEP_TARGETS:
            ratio = row[f"step_{clock}"] / base[f"step_{clock}"]
            out.append(said(f"training step of {label} at batch {size} over FNO-3D's", ratio, STEP_TARGETS[label]))
        if label in STEP_TARGETS and size == 1 and nodes == FORWARD_NODES:
            whole = row[f"forward_{clock}"] + row["features"]
            what = f"forward of one sample, {label}, features included, {clock} time, {threads} threads"
            out.append(said(what, whole, FORWARD_TARGET, " ms"))
        if row["peak"] > 1000 * MEMORY_TARGET:
            out.append(said(f"memory of {label} at batch {size}", row["peak"] / 1000, MEMORY_TARGET, " GB"))
    return out


def bench(task: str, args: argparse.Namespace, device: str, data: Path) -> None:
    """Measure all models on one task and print the table and the targets."""
    dataset = Dataset(data)
    for label in args.models:  # constants of the mesh come from the cache, so that no model's memory holds their making
        name, entries = ROWS[label]
        domain_of(dataset, getattr(model_class(name).make_config(task, **entries), "n_modes", DEFAULT_MODES))
    print(f"\n**{task}**, {dataset.meshes[0].complex.n_vertices} vertices\n\n{HEAD}\n|{'---|' * HEAD.count(' |')}")
    first = in_process(REFERENCE, data, args, device) if REFERENCE in args.models else []
    runs, reference, found = [], {}, []
    if isinstance(first, list) and first:
        runs, reference = [first], reference_of([first])
        for row in first:
            print(line(row, reference, device), flush=True)
    elif first:
        print(f"| {REFERENCE} | failed: {first} |", flush=True)
    for label in (label for label in args.models if label != REFERENCE):
        rows = in_process(label, data, args, device)
        if isinstance(rows, str):
            print(f"| {label} | failed: {rows} |", flush=True)
            continue
        found += rows
        for row in rows:
            print(line(row, reference, device), flush=True)
    if found and runs:
        again = in_process(REFERENCE, data, args, device)
        if isinstance(again, list):
            for row in again:
                print(line({**row, "label": f"{REFERENCE} again"}, reference, device), flush=True)
            reference = reference_of([*runs, again])
    text = verdicts(found, reference, device, args.nodes, args.threads)
    print("\n".join(["", "Against the mean of both runs of FNO-3D:" if found and runs else "", *text]), flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=sorted(TASKS), default=["toroidal_transport"])
    parser.add_argument("--models", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 64])
    parser.add_argument("--nodes", type=int, default=3000)
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--seconds", type=float, default=4.0, help="time of the warm repeats of one figure (4)")
    parser.add_argument("--one", choices=list(ROWS), help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    device = chosen_device(args.device)
    if args.one:
        for row in measure(args.one, args.data, args.batch, device, args.threads, args.seconds):
            print(json.dumps(row), flush=True)
        return
    where = torch.cuda.get_device_name() if device == "cuda" else processor()
    print(f"{where}, torch {torch.__version__}, {args.threads} torch threads; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for task in args.tasks:
            n_samples = int(max(args.batch) / TRAIN_SHARE) + 4
            bench(task, args, device, generate(task, Path(folder) / f"{task}.npz", n_samples, args.nodes))


if __name__ == "__main__":
    main()
