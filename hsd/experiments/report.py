"""Rows of a suite's table: the test part is read here, once, and kept in the record; linear ridge on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hsd.data.card import N_MODES, hodge_energies, lowest_columns
from hsd.data.dataset import Dataset
from hsd.data.ground import Ground, square_norms
from hsd.data.ridge import Features, Ridge, fit_ridge
from hsd.data.splits import PARTS
from hsd.errors import InputError
from hsd.experiments.queue import read_result, run_folder
from hsd.experiments.records import Records, is_older, rounded, version_of
from hsd.experiments.shipped import CHECKPOINTS, label_of, shipped_path
from hsd.experiments.suites import Entry
from hsd.experiments.tables import HEAD, row_of
from hsd.experiments.trivial import DATA, is_of_card, recorded_trivial, trivial_errors
from hsd.hodge.spectrum import HodgeBasis
from hsd.linalg import Progress, silent
from hsd.training.checkpoint import read_manifest
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.run import CHECKPOINT, dataset_of

BLOCK = 100
"""Samples handled at once in float64."""
CARRIES = 1e-6
"""Share of the energy above which a Hodge part has modes among the regressors."""
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


def where_weights_went(entry: Entry, root: Path = CHECKPOINTS) -> str | None:
    """The entry of the run whose weights are shipped under an entry's label, None where none are."""
    try:
        manifest = read_manifest(shipped_path(entry.task, label_of(entry), root))
    except InputError:
        return None
    return manifest.get("protocol", {}).get("entry")


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

    A row whose weights are nowhere has no test metrics, and says in "replaced_by" which run's are shipped instead; one
    that a budget cut short says so in "cut".  A record of an older version of its model is shown as it was, its test
    part is not read, and it says so in "newest_version".
    """
    records = records or Records(out)
    rows = []
    for entry in entries:
        record = records.read(entry) or read_result(entry, out) or records.read_older(entry)
        if record is None:
            continue
        if "error" in record:
            rows.append({key: record[key] for key in HEAD} | {"error": record["error"]["message"]})
            continue
        if part == "test" and not is_older(record):
            progress(f"{entry.name}: test metrics", None)
            record = with_test(entry, record, out, records, root, device)
        row = row_of(record) | {"newest_version": version_of(entry.model)}
        if part == "test" and "test" not in record:
            row["replaced_by"] = where_weights_went(entry, root)
        rows.append(row)
    return rows


def trivial_table(
    entries: Sequence[Entry], records: Records, part: str = "test", progress: Progress = silent
) -> dict[str, dict[str, Any]]:
    """Task → linear ridge and trivial predictors on the data of its first entry, as :func:`ridge_scores` gives them.

    What a table beside the records, or on the test part the task's card, has of the same data is taken from there.
    """
    out: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.task in out:
            continue
        data = {key: getattr(entry, key) for key in DATA}
        known = recorded_trivial(records.folder, entry.task, data, part)
        if known is None and part == "test" and is_of_card(entry.task, **data):
            known = {"errors": rounded(trivial_errors(entry.task)), "part": part, **data}
        out[entry.task] = known or rounded(ridge_scores(entry, part, progress))
    return out


def ridge_scores(entry: Entry, part: str = "test", progress: Progress = silent) -> dict[str, Any]:
    """Linear ridge on spectral coefficients of the very samples of an entry, by the recipe of the task's card: 64, 128
    or 256 modes and the penalty by validation.

    relative_l2 : of node values in the lumped ⋆_0, mean over the part;  modes, penalty: those chosen
    errors      : name of :data:`hsd.experiments.trivial.TRIVIAL` → the same error, of ridge and of those without a fit
    part, n_samples, n_nodes, n_train : what it is of
    """
    progress(f"{entry.task}: linear ridge", None)
    samples = _Samples(dataset_of(entry.spec(), progress), entry.n_train, part)
    ridge, predicted = samples.ridge(progress)
    data = {key: getattr(entry, key) for key in DATA}
    errors = samples.without_fit() | {"ridge": samples.error(predicted)}
    about = {"modes": ridge.features.n_modes, "penalty": ridge.penalty, "on_edge": ridge.on_edge}
    return {"relative_l2": errors["ridge"], **about, "errors": errors, "part": part, **data}


class _Samples:
    """The forms of a dataset with what measures errors of node values of one part."""

    def __init__(self, dataset: Dataset, n_train: int, part: str):
        rows = dataset.all()

        def read(key: str) -> np.ndarray:
            return np.concatenate(list(rows.blocks(key)))

        self.ground = Ground(dataset.meshes[0], dataset.schema.star, dataset.schema.bc)
        self.specs, self.spec = dataset.inputs, dataset.target_spec
        self.inputs = {spec.name: read(f"input/{spec.name}") for spec in self.specs}
        self.given = {name: read(f"coefficient/{name}") for name in dataset.schema.fields}
        self.target = read("target")
        codes = np.asarray(dataset.split)
        self.chosen, self.validation = codes == PARTS[part], codes == PARTS["validation"]
        self.train = codes == PARTS["train"]
        if n_train:
            self.train[np.flatnonzero(self.train)[n_train:]] = False
        self.nodes = self._node_values(self.target[self.chosen])
        self.size = np.sqrt(np.einsum("v,bvc->b", self.ground.vertex_measure, self.nodes**2))

    def _node_values(self, forms: np.ndarray) -> np.ndarray:
        return self.ground.node_values(self.spec.degree, self.spec.reading, forms.astype(np.float64))

    def error(self, predicted: np.ndarray) -> float:
        """Mean relative L² of predicted forms (B, N_k) of the part; samples that are zero do not count."""
        wrong = self._node_values(predicted) - self.nodes
        wrong, known = np.sqrt(np.einsum("v,bvc->b", self.ground.vertex_measure, wrong**2)), self.size > 0
        return float((wrong[known] / self.size[known]).mean()) if known.any() else 0.0

    def without_fit(self) -> dict[str, float]:
        """Zero, the mean of training, and a copy of the input where it is of the target's kind."""
        n, kind = int(self.chosen.sum()), (self.spec.degree, self.spec.reading)
        mean = self.target[self.train].mean(axis=0, dtype=np.float64)
        out = {"zero": self.error(np.zeros((n, len(mean)))), "mean": self.error(np.tile(mean, (n, 1)))}
        same = [spec.name for spec in self.specs if (spec.degree, spec.reading) == kind]
        return out | ({"identity": self.error(self.inputs[same[0]][self.chosen])} if same else {})

    def ridge(self, progress: Progress) -> tuple[Ridge, np.ndarray]:
        """The fit, and its predicted forms of the part."""
        bases = {spec.name: self._basis(spec.degree, self.inputs[spec.name], progress) for spec in self.specs}
        basis = self._basis(self.spec.degree, self.target, progress)
        features = []
        for n in N_MODES:
            spectra = {name: self.inputs[name] @ b.star_modes[:, lowest_columns(b, n)] for name, b in bases.items()}
            features.append(Features.of(n, spectra, self.given, self.train))
        star = self.ground.dec.star(self.spec.degree)
        blocks = range(0, len(self.target), BLOCK)
        total = [square_norms(star, self.target[i : i + BLOCK].astype(np.float64)) for i in blocks]
        coefficients = self.target @ basis.star_modes
        ridge = fit_ridge(features, coefficients, np.concatenate(total), self.train, self.validation)
        return ridge, ridge.predict(self.chosen) @ basis.modes.T

    def _basis(self, k: int, forms: np.ndarray, progress: Progress) -> HodgeBasis:
        """All harmonic modes and at most 256 others, shared out among the parts that carry energy."""
        solver = self.ground.solver
        energy = hodge_energies(solver, k, forms[:BLOCK].astype(np.float64))
        whole = sum(float(e.sum()) for e in energy.values())
        parts = [part for part in ("exact", "coexact") if float(energy[part].sum()) > CARRIES * whole]
        each = max(N_MODES) // max(len(parts), 1)
        n = {part: min(each, solver.rank_d(k - 1 if part == "exact" else k)) for part in parts}
        return HodgeBasis(solver.mesh, k, n.get("exact", 0), n.get("coexact", 0), solver=solver, progress=progress)
