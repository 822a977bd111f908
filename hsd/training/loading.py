"""From files to things that run: datasets with predictors, and the table of models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hsd.data.dataset import Dataset
from hsd.data.domain import Domain
from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.linalg import Progress, silent
from hsd.models.registry import MODELS, NAMED, model_class, model_named
from hsd.training.checkpoint import read_manifest
from hsd.training.config import DEFAULT_MODES, TrainingConfig
from hsd.training.data import domain_of
from hsd.training.predictor import Fields, Notify, Predictor, predictor_on, warn
from hsd.training.run import RunSpec, chosen_device, dataset_of


def dataset_of_checkpoint(checkpoint: Path, data: Path | None = None, progress: Progress = silent) -> Dataset:
    """A dataset file, or without one the data that a checkpoint was trained with, made again from the recorded seed.

    Raises InputError (of read_manifest and Dataset; no_task).
    """
    manifest = read_manifest(checkpoint)
    if data is not None:
        return Dataset(data)
    if manifest["task"] is None:
        raise InputError(f"{checkpoint.name} was trained on own data; name its dataset file with --data.", "no_task")
    provenance = manifest["data"]
    spec = RunSpec(
        TrainingConfig(manifest["model"]),
        task=manifest["task"],
        task_config=manifest["task_config"],
        n_samples=provenance.get("n_samples"),
        n_nodes=provenance.get("n_nodes"),
        data_seed=provenance.get("seed", 0),
    )
    return dataset_of(spec, progress)


def dataset_and_predictor(
    checkpoint: Path, data: Path | None = None, device: str = "auto", progress: Progress = silent
) -> tuple[Dataset, Predictor]:
    """A checkpoint's predictor on the first mesh of a dataset; without a file, of the data it was trained with.

    Raises InputError (of read_checkpoint and Dataset; no_task, other_mesh, other_signature).
    """
    dataset = dataset_of_checkpoint(checkpoint, data, progress)
    return dataset, _predictor(checkpoint, dataset, 0, device, progress, warn)


def predictors(
    checkpoint: Path,
    dataset: Dataset,
    part: str | None = None,
    device: str = "auto",
    progress: Progress = silent,
    notify: Notify = warn,
) -> Iterator[tuple[int, Predictor]]:
    """(number of the mesh, predictor on it) for all meshes of a dataset that samples of a part (None: any) lie on.

    Each is made when it is asked for; ``notify`` is called with its notices.  Raises InputError (mesh_bound, where
    there are several meshes and the model belongs to one; of read_checkpoint; no_split, empty_part, other_signature).
    """
    samples = dataset.all() if part is None else dataset.part(part)
    for mesh in range(len(dataset.meshes)):
        if not len(samples.on_mesh(mesh)):
            continue
        made = _predictor(checkpoint, dataset, mesh, device, progress, notify)
        if len(dataset.meshes) > 1 and not made.model.mesh_free:
            raise InputError(
                f"{dataset.path.name} has {len(dataset.meshes)} meshes, but this {made.model.title} is bound to the "
                "one that it was trained on; give a dataset file with that mesh alone.",
                "mesh_bound",
            )
        yield mesh, made


def _predictor(
    checkpoint: Path, dataset: Dataset, mesh: int, device: str, progress: Progress, notify: Notify
) -> Predictor:
    domain = domain_of(dataset, read_manifest(checkpoint)["domain"]["n_modes"], mesh, progress)
    return predictor_on(checkpoint, domain.to(chosen_device(device)), notify)


def predict_all(on_meshes: Iterable[tuple[int, Predictor]], dataset: Dataset, progress: Progress = silent) -> Fields:
    """Predictions for all samples of a dataset in their order, by the predictors of its meshes (:func:`predictors`).

    With several meshes rows are as long as the largest one needs and end in zeros, as in the dataset file; vectors at
    nodes have as many components as the file's positions.
    """
    samples, found = dataset.all(), []
    for mesh, predictor in on_meshes:

        def read(key: str, mesh: int = mesh) -> np.ndarray:
            return samples.whole(key, mesh)

        coefficients = {name: read(f"coefficient/{name}") for name in dataset.schema.fields}
        fields = predictor(predictor.domain, read(f"input/{dataset.inputs[0].name}"), coefficients, progress)
        found.append((samples.on_mesh(mesh), fields))

    def joined(values: list[np.ndarray]) -> np.ndarray:
        length = max(v.shape[1] for v in values)
        out = np.zeros((dataset.n_samples, length, *values[0].shape[2:]))
        for (rows, _), v in zip(found, values):
            out[rows, : v.shape[1]] = v
        return out

    forms = None if found[0][1].forms is None else joined([fields.forms for _, fields in found])
    return Fields(joined([fields.nodes for _, fields in found])[..., : dataset.n_coordinates], forms)


def model_table(n_nodes: int = 300) -> dict[str, dict[str, Any]]:
    """Model, or name of HSD with certain settings → title, citation, what it reads, whether it runs on other meshes,
    parameters on each task."""
    out: dict[str, dict[str, Any]] = {}
    domains: dict[tuple[str, int], Domain] = {}

    def domain_for(name: str, n_modes: int) -> Domain:
        if (name, n_modes) not in domains:
            this = task(name)
            domains[name, n_modes] = Domain.build(this, this.mesh(n_nodes), n_modes)
        return domains[name, n_modes]

    for name in (*MODELS, *NAMED):
        model, entries = model_named(name)
        cls = model_class(model)
        counts, free = {}, cls.mesh_free
        for of_task in TASKS:
            config = cls.make_config(of_task, **entries)
            with torch.random.fork_rng():
                made = cls(domain_for(of_task, getattr(config, "n_modes", DEFAULT_MODES)), config)
            counts[of_task], free = made.n_parameters, made.mesh_free
        out[name] = {
            "title": cls.title + (f", {name.removeprefix(f'{model}-')}" if name != model else ""),
            "citation": cls.citation,
            "differences": cls.differences,
            "reads": cls.reads,
            "mesh_free": free,
            "parameters": counts,
        }
    return out
