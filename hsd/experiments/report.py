"""Rows of a suite's table: the test part is read here, once, and kept in the record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground, square_norms
from hsd.data.ridge import Features, fit_ridge
from hsd.data.splits import PARTS
from hsd.errors import InputError
from hsd.experiments.queue import read_result, run_folder
from hsd.experiments.records import Records, rounded
from hsd.experiments.shipped import CHECKPOINTS, label_of, shipped_path
from hsd.experiments.suites import Entry
from hsd.experiments.tables import HEAD, row_of
from hsd.linalg import Progress, silent
from hsd.training.checkpoint import read_manifest
from hsd.training.data import domain_of
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.run import CHECKPOINT, dataset_of

RIDGE_MODES = (64, 128, 256)
PER_SAMPLE = ("relative_l2", "s_beta0", "iou")
"""Metrics that are kept for each test sample, for box plots."""


def with_test(
    entry: Entry, record: dict[str, Any], out: Path, records: Records, root: Path = CHECKPOINTS, device: str = "auto"
) -> dict[str, Any]:
    """A record with its test metrics: those it has, or computed once from its checkpoint and kept in it.

    test, test_std : mean and standard deviation of each metric;  per_sample: arrays of :data:`PER_SAMPLE`
    The checkpoint is that of the run folder, or the shipped one; without either the record comes back as it was.
    """
    if "test" in record:
        return record
    checkpoint = find_checkpoint(entry, record, out, root)
    if checkpoint is None:
        return record
    dataset, predictor = dataset_and_predictor(checkpoint, None, device)
    scores = evaluate(predictor, dataset, "test").scores
    samples = {name: scores.samples[name].double().tolist() for name in PER_SAMPLE if name in scores.samples}
    found = {
        "test": rounded(scores.mean),
        "test_std": rounded(scores.std),
        "per_sample": rounded(samples, 4),
    }
    record = {**record, **found}
    records.write(entry, record)
    return record


def find_checkpoint(entry: Entry, record: dict[str, Any], out: Path, root: Path = CHECKPOINTS) -> Path | None:
    """The file with the weights that a record is of (by checksum), in the run folder or among the shipped ones."""
    for path in (run_folder(entry, out, record["cut"]) / CHECKPOINT, shipped_path(entry.task, label_of(entry), root)):
        try:
            if path.is_file() and read_manifest(path)["sha256"] == record["sha256"]:
                return path
        except InputError:
            continue
    return None


def table(
    entries: Sequence[Entry],
    out: Path,
    records: Records | None = None,
    device: str = "auto",
    progress: Progress = silent,
    root: Path = CHECKPOINTS,
    part: str = "test",
) -> list[dict[str, Any]]:
    """One row an entry that has a record (or a failure in its run folder), with validation and test metrics.

    part : "validation" leaves the test part unread (rows that have its metrics keep them)

    A row whose weights are nowhere has no test metrics; one that a budget cut short says so in "cut".
    """
    records = records or Records(out)
    rows = []
    for entry in entries:
        record = records.read(entry) or read_result(entry, out)
        if record is None:
            continue
        if "error" in record:
            rows.append({key: record[key] for key in HEAD} | {"error": record["error"]["message"]})
            continue
        if part == "test":
            progress(f"{entry.name}: test metrics", None)
            record = with_test(entry, record, out, records, root, device)
        rows.append(row_of(record))
    return rows


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
