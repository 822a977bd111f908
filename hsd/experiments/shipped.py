"""Checkpoints that come with the program: ``assets/checkpoints/TASK/LABEL.safetensors`` with manifest, golden output.

A label is a name of the registry, or ``hsd-paper`` or ``hsd-tiny``.  A checkpoint is replaced only by one that is
better on validation under the same or a larger protocol, or of a newer version of the model; its manifest says what the
protocol was and what cut it short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hsd.data.tasks import TASKS
from hsd.errors import InputError, check_choice
from hsd.experiments.golden import record_golden
from hsd.experiments.records import ASSETS, RESULTS, read_json, text_of, version_in, version_of
from hsd.experiments.suites import Entry
from hsd.hodge.cache import write_atomically
from hsd.models.registry import MODELS, NAMED
from hsd.training.checkpoint import SUFFIX, read_checkpoint, read_manifest
from hsd.training.loading import dataset_and_predictor

CHECKPOINTS = ASSETS / "checkpoints"
LABELS = (*MODELS, *NAMED)
LIMIT = 1_500_000
"""Bytes of weights at most."""


@dataclass(frozen=True)
class Shipped:
    """One shipped checkpoint, from its manifest.

    protocol   : entry (name of the run), minutes and epochs (budget asked for), cut (what it got instead, or None),
                 n_samples, n_train, n_nodes, seed, epochs_done, steps, training_seconds, preparation_seconds,
                 core_minutes, device, threads, model_version
    validation : metrics on the validation part;  test: on the test part, None until a table has read it
    """

    task: str
    label: str
    model: str
    path: Path
    parameters: int
    n_bytes: int
    protocol: Mapping[str, Any]
    validation: Mapping[str, float]
    test: Mapping[str, float] | None

    @property
    def is_cut(self) -> bool:
        """Whether a budget cut it short."""
        return self.protocol["cut"] is not None


def label_of(entry: Entry) -> str:
    """The label that an entry's checkpoint ships under."""
    return entry.label.replace(" ", "-")


def shipped_path(task: str, label: str, root: Path = CHECKPOINTS) -> Path:
    """Where a task's checkpoint of that label is or would be."""
    return root / task / f"{label}{SUFFIX}"


def shipped(task: str, label: str, root: Path = CHECKPOINTS) -> Path:
    """The checkpoint of a task and label.  Raises UnknownNameError, InputError (not_shipped)."""
    check_choice("task", task, TASKS)
    check_choice("label of a checkpoint", label, LABELS)
    path = shipped_path(task, label, root)
    if not path.is_file():
        raise InputError(
            f"No checkpoint of {label} for {task} is there; make it: python -m hsd pretrain --tasks {task} "
            f"--models {label} --budget-minutes 20 --out out/pretrain.",
            "not_shipped",
        )
    return path


def shipped_checkpoints(task: str | None = None, root: Path = CHECKPOINTS, results: Path = RESULTS) -> list[Shipped]:
    """All shipped checkpoints (of a task), tasks and labels in their order; reads manifests only.

    Raises UnknownNameError, InputError (of read_manifest; bad_manifest) for a damaged one.
    """
    if task is not None:
        check_choice("task", task, TASKS)
    paths = [(t, m, shipped_path(t, m, root)) for t in ([task] if task else TASKS) for m in LABELS]
    return [_read(t, m, path, results) for t, m, path in paths if path.is_file()]


def _read(task: str, label: str, path: Path, results: Path) -> Shipped:
    manifest = read_manifest(path)
    if "protocol" not in manifest or "validation" not in manifest.get("metrics", {}):
        raise InputError(f"{path.name} was not installed by this program: its protocol is missing.", "bad_manifest")
    record = read_json(results / "runs" / f"{manifest['protocol']['entry']}.json") or {}
    return Shipped(
        task,
        label,
        manifest["model"],
        path,
        manifest["parameters"],
        path.stat().st_size,
        manifest["protocol"],
        manifest["metrics"]["validation"],
        record.get("test") if record.get("sha256") == manifest["sha256"] else None,
    )


def sound(task: str, label: str, root: Path = CHECKPOINTS) -> dict[str, Any] | None:
    """The manifest of a shipped checkpoint whose two files are whole and fit each other, else None."""
    try:
        manifest = read_checkpoint(shipped_path(task, label, root)).manifest
    except InputError:
        return None
    return dict(manifest) if "protocol" in manifest else None


def is_outdated(manifest: Mapping[str, Any]) -> bool:
    """Whether a shipped checkpoint was trained with an older version of its model."""
    return version_in(manifest["protocol"]) < version_of(manifest["model"])


def refusal(record: Mapping[str, Any], entry: Entry, root: Path = CHECKPOINTS) -> str | None:
    """Why a finished run's checkpoint does not replace the one that is there; None where it does, as it does with one
    of an older version of the model whatever its error."""
    there = sound(entry.task, label_of(entry), root)
    if there is None:
        return None
    new, old = protocol_of(record), {"model_version": 1, **there["protocol"]}
    if new["model_version"] != old["model_version"]:
        is_newer = new["model_version"] > old["model_version"]
        return None if is_newer else "the one that is there is of a newer version of the model"
    if there["sha256"] == record["sha256"] and new == old:
        return "it is there already"
    same_kind = bool(new["minutes"]) == bool(old["minutes"])
    size = budget_of if same_kind else lambda protocol: protocol["epochs_done"] * protocol["n_train"]
    smaller = new["n_samples"] < old["n_samples"] or (new["n_nodes"] or 0) < (old["n_nodes"] or 0)
    if smaller or size(new) < size(old):
        return "the one that is there has a larger protocol"
    mine, theirs = record["validation"]["relative_l2"], there["metrics"]["validation"]["relative_l2"]
    if mine is None or not mine < theirs:
        return f"its validation error {mine} is not below {theirs} of the one that is there"
    return None


def install(checkpoint: Path, record: Mapping[str, Any], entry: Entry, root: Path = CHECKPOINTS) -> str | None:
    """Ship a finished run's checkpoint; returns None, or the reason why the one that is there stays.

    checkpoint : of the run;  record: its record (see :mod:`hsd.experiments.records`)
    Weights are written first, then the manifest; a checkpoint half replaced by a killed process counts as missing.
    Raises InputError (too_large, other_weights, and those of reading the run), UnknownNameError (label).
    """
    label = check_choice("label of a checkpoint", label_of(entry), LABELS)
    manifest = dict(read_checkpoint(checkpoint).manifest)
    said = too_large(checkpoint)
    if said is not None:
        raise InputError(f"{label} for {entry.task} is not shipped: {said}.", "too_large")
    if manifest["sha256"] != record["sha256"]:
        raise InputError(f"{checkpoint} is not the checkpoint that {entry.name} recorded.", "other_weights")
    reason = refusal(record, entry, root)
    if reason is not None:
        return reason
    path = shipped_path(entry.task, label, root)
    dataset, predictor = dataset_and_predictor(checkpoint, None, "cpu")
    manifest |= {
        "label": label,
        "metrics": {"validation": record["validation"]},
        "protocol": protocol_of(record),
        "golden": record_golden(predictor, dataset, path.parent),
    }
    write_atomically(path, checkpoint.read_bytes())
    write_atomically(path.with_suffix(".json"), text_of(manifest).encode())
    _drop_unused_inputs(path.parent)
    return None


def too_large(checkpoint: Path) -> str | None:
    """What is said of weights of more than :data:`LIMIT` bytes, None of others."""
    size = checkpoint.stat().st_size
    return None if size <= LIMIT else f"its weights have {size / 1e6:.2f} MB, more than {LIMIT / 1e6:.1f} MB"


def protocol_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a checkpoint was trained with, and what it got of it."""
    training = record["training"]
    kept = ("n_train", "steps", "training_seconds", "preparation_seconds", "core_minutes", "device", "threads")
    asked = ("entry", "minutes", "epochs", "cut", "n_samples", "seed", "batch_size")
    out = {key: record[key] for key in asked} | {key: training[key] for key in kept}
    out |= {"n_nodes": record["data"].get("n_nodes"), "epochs_done": training["epochs"]}
    return out | {"model_version": version_in(record)}


def budget_of(protocol: Mapping[str, Any]) -> float:
    """Minutes or epochs that a run was given."""
    return protocol["cut"] if protocol["cut"] is not None else protocol["minutes"] or protocol["epochs"]


def _drop_unused_inputs(folder: Path) -> None:
    manifests = [read_json(path) or {} for path in folder.glob("*.json")]
    used = {m.get("golden", {}).get("input") for m in manifests}
    for path in folder.glob("input-*.npz"):
        if path.name not in used:
            path.unlink(missing_ok=True)
