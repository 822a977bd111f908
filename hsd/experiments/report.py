"""Tables of a finished suite: the test part is read here, once, and kept beside the runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground, square_norms
from hsd.data.ridge import Features, fit_ridge
from hsd.data.splits import PARTS
from hsd.errors import InputError
from hsd.experiments.queue import read_result
from hsd.experiments.suites import Entry
from hsd.hodge.cache import write_atomically
from hsd.linalg import Progress, silent
from hsd.training.data import domain_of
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.run import CHECKPOINT, dataset_of

TEST = "test.json"
COLUMNS = ("relative_l2", "mse", "gradient_fidelity", "spectral_fidelity", "s_beta0", "iou")
RIDGE_MODES = (64, 128, 256)


def scores_on_test(entry: Entry, out: Path, device: str = "auto") -> dict[str, float]:
    """Metrics of an entry's checkpoint on the test part, computed once and then read from its folder.

    Raises InputError (not_finished) for an entry without a result.
    """
    folder = out / entry.name
    result = read_result(folder)
    if result is None or "error" in result:
        raise InputError(f"{entry.name} has no result yet; run the queue first.", "not_finished")
    kept = folder / TEST
    if kept.is_file():
        return json.loads(kept.read_text(encoding="utf-8"))
    dataset, predictor = dataset_and_predictor(folder / CHECKPOINT, None, device)
    scores = evaluate(predictor, dataset, "test").scores.mean
    write_atomically(kept, json.dumps(scores).encode())
    return scores


def ridge_scores(entry: Entry, part: str = "test", progress: Progress = silent) -> dict[str, float]:
    """Linear ridge on the same spectral coefficients and the same samples as an entry; penalty and modes by validation.

    Returns the relative L² of the cochain in ⋆ on the part.
    """
    dataset = dataset_of(entry.spec(), progress)
    domain = domain_of(dataset, max(RIDGE_MODES), 0, progress)
    return {"relative_l2": _ridge_error(dataset, domain, part, entry.n_train)}


def _ridge_error(dataset: Dataset, domain, part: str, n_train: int) -> float:
    codes = np.asarray(dataset.split)
    rows = dataset.all()
    arrays = domain.arrays

    def read(key: str) -> np.ndarray:
        return np.concatenate(list(rows.blocks(key)))

    def modes(end: str, n: int) -> np.ndarray:
        order = np.argsort(arrays[f"{end}/eigenvalues"], kind="stable")
        harmonic = int((arrays[f"{end}/part"] == 0).sum())
        return np.sort(order[: n + harmonic])

    train = codes == PARTS["train"]
    if n_train:
        train[np.flatnonzero(train)[n_train:]] = False
    source, target = read(f"input/{dataset.inputs[0].name}"), read("target")
    c_source, c_target = source @ arrays["source/star_modes"], target @ arrays["target/star_modes"]
    given = {name: read(f"coefficient/{name}") for name in dataset.schema.fields}
    features = [Features.of(n, {"source": c_source[:, modes("source", n)]}, given, train) for n in RIDGE_MODES]
    star = Ground(domain.mesh, domain.spec.star, domain.spec.bc).dec.star(domain.spec.target[0])
    total = square_norms(star, target)
    ridge = fit_ridge(features, c_target, total, train, codes == PARTS["validation"])
    chosen = codes == PARTS[part]
    wrong = target[chosen] - ridge.predict(chosen) @ arrays["target/modes"].T
    return float(np.sqrt(square_norms(star, wrong) / total[chosen]).mean())


def table(entries: Sequence[Entry], out: Path, with_test: bool = True, device: str = "auto") -> list[dict[str, Any]]:
    """One row an entry that has a result: label, task, parameters, epochs, seconds, validation and test metrics."""
    rows = []
    for entry in entries:
        result = read_result(out / entry.name)
        if result is None:
            continue
        row = {
            "task": entry.task,
            "label": entry.label,
            "model": entry.model,
            "minutes": entry.minutes,
            "seed": entry.seed,
        }
        if "error" in result:
            rows.append({**row, "error": result["error"]["message"]})
            continue
        row |= {
            "parameters": result["parameters"],
            "epochs": result["training"]["epochs"],
            "seconds": result["training"]["training_seconds"],
            "latency_ms": result["latency_ms"],
            "validation": result["validation"],
        }
        if with_test:
            row["test"] = scores_on_test(entry, out, device)
        rows.append(row)
    return rows


def markdown(rows: Sequence[dict[str, Any]], part: str = "test") -> str:
    """A table in Markdown, one block a task, best relative L² first."""
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        whole = sorted((r for r in own if "error" not in r), key=lambda r: r[part]["relative_l2"])
        lines += [f"**{task}**", "", "| model | parameters | epochs | seconds | ms | " + " | ".join(COLUMNS) + " |"]
        lines.append("|" + "---|" * (5 + len(COLUMNS)))
        for r in whole:
            cells = [f"{r[part][c]:.4f}" if c in r[part] else "–" for c in COLUMNS]
            head = [
                r["label"],
                f"{r['parameters']:,}",
                str(r["epochs"]),
                f"{r['seconds']:.0f}",
                f"{r['latency_ms']:.0f}",
            ]
            lines.append("| " + " | ".join([*head, *cells]) + " |")
        lines += [f"| {r['label']} | failed: {r['error']} |" for r in own if "error" in r] + [""]
    return "\n".join(lines)
