"""Synthetic records of runs: of every shape that the queue writes, with made-up scores."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from hsd.experiments.records import SCHEMA, rounded
from hsd.experiments.suites import SUITES, Entry

SAMPLES = 40


def record_of(entry: Entry, error: float, test: bool = True, cut: float | None = None) -> dict[str, Any]:
    """A record of an entry whose relative L² is about ``error`` on both parts."""
    rng = np.random.default_rng(sum(entry.name.encode()))
    samples = {
        "relative_l2": error * rng.lognormal(0.0, 0.3, SAMPLES),
        "s_beta0": np.clip(1 - error * rng.lognormal(0.0, 0.3, SAMPLES), 0, 1),
        "iou": np.clip(1 - 1.2 * error * rng.lognormal(0.0, 0.3, SAMPLES), 0, 1),
    }
    scores = {name: float(values.mean()) for name, values in samples.items()}
    scores |= {"mse": error**2 / 2, "gradient_fidelity": 1 - error / 2, "energy_fidelity": 1 - error}
    scores |= {"spectral_fidelity": float(np.exp(-2 * error)), "mass_drift": error / 50, "coexact_error": error}
    epochs = int(400 * error) + 2
    out = {
        "schema": SCHEMA,
        "entry": entry.name,
        **asdict(entry),
        "cut": cut,
        "wall_seconds": 400.0,
        "peak_memory_mb": 700,
        "versions": {"hsd": "0.1.0", "torch": "2.13.0", "python": "3.11.7"},
        "validation": scores,
        "latency_ms": 2 + 90 * error,
        "training": {
            "epochs": epochs, "n_train": entry.n_train or 680, "training_seconds": 360.0, "preparation_seconds": 4.2,
            "core_minutes": 12.0, "device": "cpu, 2 threads", "threads": 2,
        },
        "parameters": 200_000 + int(1e5 * error),
        "model_config": dict(entry.config),
        "data": {
            "command": f"python -m hsd data generate {entry.task} --samples {entry.n_samples} --seed 0",
            "n_nodes": 3000, "seed": 0,
        },
        "sha256": f"{sum(entry.name.encode()):064x}",
        "curve": {
            "epoch": [0, epochs - 1], "seconds": [9.0, 360.0], "train_loss": [0.9, error / 2],
            "validation": [1.0, error],
        },
    }  # fmt: skip
    if test:
        out |= {"test": scores, "test_std": {name: float(v.std()) for name, v in samples.items()}}
        out["per_sample"] = {name: values.tolist() for name, values in samples.items()}
    return json.loads(json.dumps(rounded(out, 5)))


def write(folder: Path, records: list[dict[str, Any]]) -> Path:
    """``runs/ENTRY.json`` for each record; returns the folder."""
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    for record in records:
        (folder / "runs" / f"{record['entry']}.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def table_of(task: str, test: bool = True) -> list[dict[str, Any]]:
    """All rows of a task's table with errors 0.02, 0.05, 0.08 … in their order; HSD with three seeds, ONO cut short."""
    suite = "main" if any(entry.task == task for entry in SUITES["main"]) else "others"
    entries = [entry for entry in SUITES[suite] if entry.task == task]
    records = [
        record_of(entry, 0.02 + 0.03 * i, test, 3.2 if entry.label == "ono" else None)
        for i, entry in enumerate(entries)
    ]
    return records + [record_of(replace(entries[0], seed=seed), 0.02 + 0.001 * seed, test) for seed in (1, 2)]


def ablation_of(task: str, n: int | None = None) -> list[dict[str, Any]]:
    """The first n variants of a task's ablation, without test metrics."""
    suite = "ablation_transport" if task == "toroidal_transport" else "ablation_others"
    entries = [entry for entry in SUITES[suite] if entry.task == task][:n]
    return [record_of(entry, 0.03 + 0.004 * i, test=False) for i, entry in enumerate(entries)]


def transfer_of(task: str) -> list[dict[str, Any]]:
    """Rows as ``python -m hsd transfer --json`` writes them: HSD holds, DeepONet refuses other meshes."""
    rows = []
    for label, title, growth in (("hsd", "HSD", 1.02), ("fno3d", "FNO-3D", 2.5), ("deeponet", "DeepONet", None)):
        for n, here in ((3000, True), (1500, False), (7000, False)):
            error = 0.05 if here else None if growth is None else 0.05 * growth
            rows.append(
                {
                    "checkpoint": f"assets/checkpoints/{task}/{label}.safetensors", "title": title, "task": task,
                    "n_samples": 64, "n_nodes": n, "n_vertices": n + 2, "trained_here": here, "error": error,
                    "ratio": None if error is None else error / 0.05, "truth_gap": 0.004 if here else 0.012,
                    "error_fine": None if error is None else 1.1 * error,
                    "ratio_fine": None if error is None else error / 0.05,
                    "refused": "It is bound to its mesh." if error is None else None,
                }
            )  # fmt: skip
    return rows


def costs_of(task: str) -> dict[str, Any]:
    """A file as ``python -m hsd cost --json`` writes it: FNO-3D is quicker than HSD, the rest is not measured."""
    rows = [
        {
            "checkpoint": f"assets/checkpoints/{task}/{label}.safetensors", "label": label, "task": task,
            "n_vertices": 3002, "parameters": parameters, "n_train": 680, "preparation_s": 9.5, "features_ms": 0.0,
            "forward_ms": ms, "forward_cpu_ms": 1.5 * ms, "at_once": 32, "step_ms": 900.0, "epoch_s": 19.1,
            "memory_mb": 700.0,
        }
        for label, parameters, ms in (("hsd", 3617, 12.5), ("fno3d", 263_285, 8.25))
    ]  # fmt: skip
    where = {"device": "cpu", "name": "Some CPU", "cores": 2, "threads": 2, "torch": "2.13.0", "load": 0.1}
    return {"schema": "hsd-cost-1", "machine": where, "rows": rows}
