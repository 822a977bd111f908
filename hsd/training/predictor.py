"""A trained model ready for use: physical values in, physical values out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hsd.data import placement
from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.data.normaliser import Normaliser
from hsd.data.plan import Plan
from hsd.data.scales import Scales
from hsd.errors import HsdError, InputError, check_choice
from hsd.linalg import Progress, silent
from hsd.mesh.mesh import Mesh
from hsd.models.base import Operator, Signature
from hsd.models.registry import make_model
from hsd.training.checkpoint import read_checkpoint, read_manifest
from hsd.training.memory import enough_memory
from hsd.training.run import DEVICES, checkpoint_in, chosen_device


class OtherMeshWarning(UserWarning):
    """A predictor was made on a mesh on which what it gives may be wrong (:attr:`Predictor.notices`)."""


Notify = Callable[[str], None]
warn: Notify = partial(warnings.warn, category=OtherMeshWarning, stacklevel=2)
"""Issue a notice of a predictor as a Python warning."""


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
        self._check_scales(domain)

    @cached_property
    def notices(self) -> tuple[str, ...]:
        """What its predictions on its domain's mesh may get wrong, one sentence each; () on a mesh of training and on
        other resolutions of one, and for a model that refuses other meshes."""
        about, mesh = self.manifest["domain"], self.domain.mesh
        if mesh.content_hash == about["mesh_hash"] or not self.model.mesh_free:
            return ()
        trained = placement.from_manifest(about)
        if trained:
            of_task = bool(self.domain.field_names)  # made where the task's own mesh lies
            return placement.notices_on(mesh, trained, self.model.reads_coordinates or of_task, of_task)
        here = self.domain.scales
        by_length = self.scales is not None and self.scales.measure != about.get("n_vertices")  # not of star "unit"
        if by_length and not self.scales.hold_on(here):
            return (placement.other_measure(here.measure / self.scales.measure, mesh.dim),)
        return ()

    @property
    def source_key(self) -> str:
        return next(key for key in self.normaliser.channels if key.startswith("input/"))

    def own(self, domain: Domain) -> Domain:
        """The domain in the scales of the mesh of training, where they hold and the model reads any."""
        self._check_scales(domain)
        if self.scales is None:
            return domain
        return domain.in_scales(self.scales, fiber=self.model.fiber_lifts(self.model.config) is not None)

    def batch(self, domain: Domain, source: np.ndarray, coefficients: Mapping[str, np.ndarray] | None = None) -> Batch:
        """A normalised batch of physical arrays, with the sum of fiber features where the model reads it.

        Raises InputError (not_numbers, shape, non_finite_field, missing_fields).
        """
        coefficients = {name: real_array(f"coefficients of {name}", c) for name, c in (coefficients or {}).items()}
        scaled = {name: self.normaliser.apply(f"coefficient/{name}", c) for name, c in coefficients.items()}
        plain = self.normaliser.apply(self.source_key, real_array("source", source))
        domain = self.own(domain)
        batch = Batch.of_arrays(domain, plain, None, scaled)
        weights = self.model.fiber_weights
        if weights is not None:
            with np.errstate(all="ignore"):  # what float32 does not hold, the check of the prediction says
                beyond = domain.fiber_sum(plain, weights)
            batch = replace(batch, fiber_sum=torch.as_tensor(beyond).to(batch.source))
        return batch

    @torch.no_grad()
    def run(self, batch: Batch, domain: Domain, size: int = 64, progress: Progress = silent) -> Fields:
        """Predict a normalised batch of at least one sample, ``size`` at a time, and undo the scaling.

        Raises InputError (other_mesh, other_signature, non_finite_prediction).
        """
        self._check_mesh(domain)
        domain = self.own(domain)
        nodes, forms = [], []
        for i in range(0, len(batch), size):
            progress("predictions", i / len(batch))
            prediction = self.model(batch[slice(i, i + size)], domain)
            nodes.append(prediction.nodes.double().cpu().numpy())
            if prediction.forms is not None:
                forms.append(prediction.forms.double().cpu().numpy())
        undo = self.normaliser.invert
        joined = undo("target", np.concatenate(forms)) if forms else None
        fields = Fields(undo("target", np.concatenate(nodes)), joined)
        self._check_finite(fields, domain)
        return fields

    def __call__(
        self,
        domain: Domain,
        source: np.ndarray,
        coefficients: Mapping[str, np.ndarray] | None = None,
        progress: Progress = silent,
    ) -> Fields:
        """Predict physical fields from physical forms.

        source       : (B, N_s) cochains of the task's input, B may be 0;  coefficients: of its named fields,
                       name → (B, m)
        Raises InputError (not_numbers, shape, non_finite_field, missing_fields, other_mesh, other_signature,
        non_finite_prediction).
        """
        source = real_array("source", source)
        if source.ndim == 2 and not len(source):  # what one sample gives, without it
            none = {name: np.zeros((1, *np.shape(c)[1:])) for name, c in (coefficients or {}).items()}
            one = self(domain, np.zeros((1, source.shape[1])), none)
            return Fields(one.nodes[:0], None if one.forms is None else one.forms[:0])
        progress("inputs", None)
        return self.run(self.batch(domain, source, coefficients), domain, progress=progress)

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

    def _check_scales(self, domain: Domain) -> None:
        about, name = self.manifest["domain"], domain.mesh.name
        if not self.model.reads_scales or not self.model.mesh_free:
            return
        is_own = domain.mesh.content_hash == about["mesh_hash"]
        if self.scales is None and not is_own:
            raise InputError(
                f"The manifest of this {self.model.title} has no scales: it was written before those of the mesh of "
                f"training were recorded, so its numbers mean nothing on another mesh (here {name}, "
                f"{domain.n_vertices} vertices); use it on its own mesh, or train it again.",
                "bad_manifest",
            )
        same = is_own and domain.spec.n_modes == about.get("n_modes")
        if self.scales is not None and same and not self.scales.same_mesh(domain.scales):
            raise InputError(
                f"The manifest of this {self.model.title} tells other scales ({self.scales}) than the mesh of training "
                f"has ({domain.scales}); copy the checkpoint again.",
                "bad_manifest",
            )

    def _check_finite(self, fields: Fields, domain: Domain) -> None:
        given = [values for values in (fields.nodes, fields.forms) if values is not None]
        bad = ~np.all([np.isfinite(values.reshape(len(values), -1)).all(axis=1) for values in given], axis=0)
        if bad.any():
            raise InputError(
                f"The prediction of {self.model.title} on {domain.mesh.name} ({domain.n_vertices} vertices) is not "
                f"finite for sample {np.flatnonzero(bad)[0]} of {len(bad)}: give inputs of the size of those of "
                "training, on a mesh in the units and of the shape of training.",
                "non_finite_prediction",
            )


def real_array(what: str, values: Any) -> np.ndarray:
    """Values as float64.  Raises InputError (not_numbers) for texts, complex numbers and what is no array."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"The {what} must be an array of real numbers ({error}).", "not_numbers") from error
    if array.dtype.kind not in "fiub":
        way = "; give real and imaginary part one by one" if array.dtype.kind == "c" else ""
        raise InputError(f"The {what} must be an array of real numbers; got {array.dtype}{way}.", "not_numbers")
    return array.astype(float)


def load(path: str | Path, mesh: Mesh | None = None, device: str = "cpu") -> Predictor:
    """A predictor from a checkpoint (or its run folder), on its task's own mesh (default) or another mesh of the same
    shape; what is to be said of that mesh (:attr:`Predictor.notices`) is issued as OtherMeshWarning.

    device : "cpu", "cuda", "cuda:1", … or "auto" (a GPU if there is one)
    Raises InputError (see :func:`hsd.training.checkpoint.read_checkpoint`; no_checkpoint, no_mesh, no_gpu,
    other_architecture, no_task, other_mesh), SolverError (out_of_memory).
    """
    path = checkpoint_in(Path(path))
    manifest, beside = read_manifest(path), path.with_suffix(".json").name
    about = manifest["domain"]
    if mesh is not None and not isinstance(mesh, Mesh):
        raise InputError(
            f"The mesh must be a Mesh, as hsd.load_mesh(file) gives it; got {mesh!r:.60} of type "
            f"{type(mesh).__name__}.",
            "no_mesh",
        )
    place = device_of(device)
    if manifest["task"] is None:
        raise InputError(
            f"{path.name} was trained on own data, so its domain is not known here; give the dataset's domain to "
            "hsd.training.predictor.predictor_on.",
            "no_task",
        )
    try:
        task = Plan.of(manifest["task"], config=manifest["task_config"]).make_task()
    except HsdError as error:
        raise InputError(f"{beside} tells no task of this program: {error.message}", "bad_manifest") from error
    with enough_memory(f"The domain of {path.name}", f"take a coarser mesh, or look at domain in {beside}"):
        mesh = task.mesh(about["n_nodes"]) if mesh is None else mesh
        domain = Domain.build(task, mesh, about["n_modes"], about["grid_size"])
    return predictor_on(path, domain.to(place), partial(warn, stacklevel=3))


def device_of(device: str) -> str:
    """The device of a name.  Raises UnknownNameError, InputError (no_gpu)."""
    kind, _, number = str(device).partition(":")
    found = chosen_device(check_choice("device", kind, DEVICES))
    if found != "cuda" or not number:
        return found
    there = torch.cuda.device_count()
    if not number.isdecimal() or int(number) >= there:
        raise InputError(f"There is no CUDA device {number} here; the numbers go from 0 to {there - 1}.", "no_gpu")
    return f"cuda:{number}"


def predictor_on(path: str | Path, domain: Domain, notify: Notify = warn) -> Predictor:
    """A predictor from a checkpoint on a given domain.

    notify : called with each of its notices
    Raises InputError (of read_checkpoint; bad_manifest, other_signature, other_architecture), SolverError
    (out_of_memory).
    """
    path = checkpoint_in(Path(path))
    checkpoint = read_checkpoint(path)
    manifest, beside = checkpoint.manifest, path.with_suffix(".json").name
    normaliser = Normaliser.from_json(json.dumps(manifest["normaliser"]))
    here, there = asdict(Signature.of(domain)), asdict(checkpoint.signature)
    if here != there:
        said = "; ".join(f"{name}: {there[name]} against {here[name]}" for name in here if here[name] != there[name])
        raise InputError(
            f"{path.name} was made for another task than this domain's ({said}); choose a checkpoint of this "
            "task, or data of its own.",
            "other_signature",
        )
    with torch.random.fork_rng(), _buildable(beside):
        model = make_model(manifest["model"], domain, None, **manifest["model_config"])
    checkpoint.put_into(model)
    predictor = Predictor(model.to(domain.device, domain.dtype), normaliser, manifest, domain)
    for notice in predictor.notices:
        notify(notice)
    return predictor


@contextmanager
def _buildable(beside: str) -> Iterator[None]:
    """One sentence where sizes in a manifest make no model."""
    try:
        with enough_memory(f"The model that {beside} describes", "look at its model_config, or copy it again"):
            yield
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        said = f"The model_config in {beside} makes no model ({first}); copy the checkpoint again."
        raise InputError(said, "bad_manifest") from error
