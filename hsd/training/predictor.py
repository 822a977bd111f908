"""A trained model ready for use: physical values in, physical values out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.data.normaliser import Normaliser
from hsd.data.plan import Plan
from hsd.data.scales import Scales
from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.models.base import Operator
from hsd.models.registry import make_model
from hsd.training.checkpoint import read_checkpoint, read_manifest


@dataclass(frozen=True)
class Fields:
    """nodes : (B, n_vertices, C) physical node values;  forms: (B, N_t) physical cochains, or None."""

    nodes: np.ndarray
    forms: np.ndarray | None


class Predictor:
    """A model with its normaliser and manifest.

    ``predictor(domain, source, coefficients)`` maps physical forms to physical fields on any domain that fits;
    mesh-bound models refuse other meshes than their own.
    """

    def __init__(self, model: Operator, normaliser: Normaliser, manifest: Mapping[str, Any], domain: Domain):
        self.model, self.normaliser, self.manifest, self.domain = model.eval(), normaliser, manifest, domain
        self.scales = Scales.of_manifest(manifest["domain"]) if model.reads_scales else None

    @property
    def source_key(self) -> str:
        return next(key for key in self.normaliser.channels if key.startswith("input/"))

    def own(self, domain: Domain) -> Domain:
        """The domain in the scales of the mesh of training, where they hold and the model reads any."""
        if self.scales is None:
            return domain
        return domain.in_scales(self.scales, fiber=self.model.fiber_lifts(self.model.config) is not None)

    def batch(self, domain: Domain, source: np.ndarray, coefficients: Mapping[str, np.ndarray] | None = None) -> Batch:
        """A normalised batch of physical arrays, with fiber features where the model reads them.

        Raises InputError (shape, non_finite_field, missing_fields).
        """
        scaled = {n: self.normaliser.apply(f"coefficient/{n}", np.asarray(c)) for n, c in (coefficients or {}).items()}
        plain = self.normaliser.apply(self.source_key, np.asarray(source, float))
        domain = self.own(domain)
        batch = Batch.of_arrays(domain, plain, None, scaled)
        lifts = self.model.fiber_lifts(self.model.config)
        if lifts is not None:
            batch = replace(batch, fiber=torch.as_tensor(domain.fiber_features(plain, lifts)).to(batch.source))
        return batch

    @torch.no_grad()
    def run(self, batch: Batch, domain: Domain, size: int = 64) -> Fields:
        """Predict a normalised batch, ``size`` samples at a time, and undo the scaling."""
        self._check_mesh(domain)
        domain = self.own(domain)
        nodes, forms = [], []
        for i in range(0, len(batch), size):
            prediction = self.model(batch[slice(i, i + size)], domain)
            nodes.append(prediction.nodes.double().cpu().numpy())
            if prediction.forms is not None:
                forms.append(prediction.forms.double().cpu().numpy())
        undo = self.normaliser.invert
        joined = undo("target", np.concatenate(forms)) if forms else None
        return Fields(undo("target", np.concatenate(nodes)), joined)

    def __call__(
        self, domain: Domain, source: np.ndarray, coefficients: Mapping[str, np.ndarray] | None = None
    ) -> Fields:
        """Predict physical fields from physical forms.

        source       : (B, N_s) cochains of the task's input;  coefficients: of its named fields, name → (B, m)
        Raises InputError (shape, non_finite_field, missing_fields, other_mesh, other_signature).
        """
        return self.run(self.batch(domain, source, coefficients), domain)

    def __repr__(self) -> str:
        about = self.manifest["domain"]
        return (
            f"Predictor({self.model.title} for {self.manifest['task'] or 'own data'}, trained on {about['mesh_name']} "
            f"with {about['n_vertices']} vertices, here on {self.domain.n_vertices})"
        )

    def _check_mesh(self, domain: Domain) -> None:
        own = self.manifest["domain"]
        if not self.model.mesh_free and domain.mesh.content_hash != own["mesh_hash"]:
            raise InputError(
                f"{self.model.title} was trained on {own['mesh_name']} with {own['n_vertices']} vertices and does not "
                f"carry over to another mesh (here {domain.mesh.name}, {domain.n_vertices} vertices): it reads raw "
                "coefficients or fixed places; choose a mesh-free model or its own mesh.",
                "other_mesh",
            )


def load(path: str | Path, mesh: Mesh | None = None, device: str = "cpu") -> Predictor:
    """A predictor from a checkpoint, on its task's own mesh (default) or another mesh of the same shape.

    Raises InputError (see :func:`hsd.training.checkpoint.read_checkpoint`; other_architecture, no_task, other_mesh).
    """
    manifest = read_manifest(path)
    about = manifest["domain"]
    if manifest["task"] is None:
        raise InputError(
            f"{Path(path).name} was trained on own data, so its domain is not known here; give the dataset's domain to "
            "hsd.training.predictor.predictor_on.",
            "no_task",
        )
    task = Plan.of(manifest["task"], config=manifest["task_config"]).make_task()
    domain = Domain.build(task, mesh or task.mesh(about["n_nodes"]), about["n_modes"], about["grid_size"])
    return predictor_on(path, domain.to(device))


def predictor_on(path: str | Path, domain: Domain) -> Predictor:
    """A predictor from a checkpoint on a given domain.

    Raises InputError (of read_checkpoint; bad_manifest, bad_normaliser, other_signature, other_architecture).
    """
    checkpoint = read_checkpoint(path)
    manifest = checkpoint.manifest
    normaliser = Normaliser.from_json(json.dumps(manifest["normaliser"]))
    with torch.random.fork_rng():
        model = make_model(manifest["model"], domain, None, **manifest["model_config"])
    here, there = asdict(model.signature), asdict(checkpoint.signature)
    if here != there:
        said = "; ".join(f"{name}: {there[name]} against {here[name]}" for name in here if here[name] != there[name])
        raise InputError(
            f"{Path(path).name} was made for another task than this domain's ({said}); choose a checkpoint of this "
            "task, or data of its own.",
            "other_signature",
        )
    checkpoint.put_into(model)
    return Predictor(model.to(domain.device, domain.dtype), normaliser, manifest, domain)
