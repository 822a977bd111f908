"""From files to things that run: datasets with predictors, and the table of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hsd.data.dataset import Dataset
from hsd.data.domain import Domain
from hsd.data.tasks import TASKS, task
from hsd.errors import InputError
from hsd.linalg import Progress, silent
from hsd.models.registry import MODELS, model_class
from hsd.training.checkpoint import read_manifest
from hsd.training.config import DEFAULT_MODES, TrainingConfig
from hsd.training.data import domain_of
from hsd.training.predictor import Fields, Predictor, predictor_on
from hsd.training.run import RunSpec, chosen_device, dataset_of


def dataset_and_predictor(
    checkpoint: Path, data: Path | None = None, device: str = "auto", progress: Progress = silent
) -> tuple[Dataset, Predictor]:
    """A checkpoint's predictor on the mesh of a dataset; without a file, on the data that it was trained with.

    Raises InputError (of read_checkpoint and Dataset; no_task, other_mesh, other_signature).
    """
    manifest = read_manifest(checkpoint)
    if data is not None:
        dataset = Dataset(data)
    elif manifest["task"] is None:
        raise InputError(f"{checkpoint.name} was trained on own data; name its dataset file with --data.", "no_task")
    else:
        provenance = manifest["data"]
        spec = RunSpec(
            TrainingConfig(manifest["model"]),
            task=manifest["task"],
            task_config=manifest["task_config"],
            n_samples=provenance.get("n_samples"),
            n_nodes=provenance.get("n_nodes"),
            data_seed=provenance.get("seed", 0),
        )
        dataset = dataset_of(spec, progress)
    domain = domain_of(dataset, manifest["domain"]["n_modes"], 0, progress)
    return dataset, predictor_on(checkpoint, domain.to(chosen_device(device)))


def predict_all(predictor: Predictor, dataset: Dataset) -> Fields:
    """Predictions for all samples of a dataset's first mesh, in their order."""
    rows = dataset.all()

    def read(key: str) -> np.ndarray:
        return np.concatenate(list(rows.blocks(key)))

    coefficients = {name: read(f"coefficient/{name}") for name in dataset.schema.fields}
    return predictor(predictor.domain, read(f"input/{dataset.inputs[0].name}"), coefficients)


def model_table(n_nodes: int = 300) -> dict[str, dict[str, Any]]:
    """Model → title, citation, what it reads, whether it runs on other meshes, parameters on each task."""
    out: dict[str, dict[str, Any]] = {}
    domains: dict[tuple[str, int], Domain] = {}

    def domain_for(name: str, n_modes: int) -> Domain:
        if (name, n_modes) not in domains:
            this = task(name)
            domains[name, n_modes] = Domain.build(this, this.mesh(n_nodes), n_modes)
        return domains[name, n_modes]

    for model in MODELS:
        cls = model_class(model)
        counts, free = {}, cls.mesh_free
        for name in TASKS:
            config = cls.make_config(name)
            with torch.random.fork_rng():
                made = cls(domain_for(name, getattr(config, "n_modes", DEFAULT_MODES)), config)
            counts[name], free = made.n_parameters, made.mesh_free
        out[model] = {
            "title": cls.title,
            "citation": cls.citation,
            "differences": cls.differences,
            "reads": cls.reads,
            "mesh_free": free,
            "parameters": counts,
        }
    return out
