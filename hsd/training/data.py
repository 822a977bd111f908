"""The training and validation samples of a dataset file as normalised batches; nothing here can see the test split."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from hsd.data.batch import Batch
from hsd.data.dataset import NON_FINITE, Dataset, Part
from hsd.data.domain import Domain
from hsd.data.domain_arrays import DomainSpec
from hsd.data.file_task import FileTask
from hsd.data.ground import Ground
from hsd.data.normaliser import Normaliser
from hsd.data.values import all_finite
from hsd.errors import InputError
from hsd.linalg import Progress, silent


@dataclass(frozen=True, eq=False)
class Samples:
    """Normalised samples of one part on one domain: a batch, and the node values of its targets."""

    batch: Batch
    domain: Domain

    def __len__(self) -> int:
        return len(self.batch)

    @cached_property
    def target_nodes(self) -> torch.Tensor:
        """(n, n_vertices, C), made once."""
        blocks = torch.split(self.batch.target, 256)
        return torch.cat([self.domain.target_nodes(block) for block in blocks])

    def with_fiber(self, lifts: int) -> Samples:
        """The same samples with the resolvent features of their sources and of ``lifts`` functions of them."""
        if self.batch.fiber is not None:
            return self
        features = self.domain.fiber_features(self.batch.source.double().cpu().numpy(), lifts)
        fiber = torch.as_tensor(features).to(self.batch.source)
        return Samples(replace(self.batch, fiber=fiber), self.domain)

    def to(self, domain: Domain) -> Samples:
        """On the device and in the precision of a domain (of the same mesh)."""
        return Samples(self.batch.to(domain.device, domain.dtype), domain)


def domain_of(dataset: Dataset, n_modes: int, mesh: int = 0, progress: Progress = silent) -> Domain:
    """The domain of one of the dataset's meshes (float32, CPU), with the harmonic frame of its task.

    Raises InputError (node_target, inputs).
    """
    task = FileTask(dataset)
    spec = DomainSpec.of(task, n_modes)
    ground = Ground(dataset.meshes[mesh], spec.star, spec.bc)
    fields, frame = dataset.named_fields(mesh), task.frame(ground)
    return Domain.from_mesh(ground.mesh, spec, fields, frame, progress, ground)


def samples_of(part: Part, domain: Domain, normaliser: Normaliser, mesh: int = 0, relative: bool = False) -> Samples:
    """The samples of a part on one mesh, normalised.

    relative : whether errors relative to the targets will be taken, so that none may be zero
    Raises InputError (non_finite_field, zero_target), naming file, array and sample.
    """
    dataset = part.dataset

    def read(key: str) -> np.ndarray:
        out, finite, zero = [], [], []
        for block in part.blocks(key, mesh):
            finite.append(all_finite(block))
            zero.append(~block.any(axis=1))
            out.append(normaliser.apply(key, block).astype(np.float32))
        part.refuse(mesh, key, ~np.concatenate(finite), NON_FINITE)
        if relative and key == "target":
            part.refuse(mesh, key, np.concatenate(zero), "zero_target")
        return np.concatenate(out)

    coefficients = {name: read(f"coefficient/{name}") for name in dataset.schema.fields}
    source = read(f"input/{dataset.inputs[0].name}")
    return Samples(Batch.of_arrays(domain, source, read("target"), coefficients), domain)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Training and validation samples, one entry a mesh, with the normaliser fitted on those for training."""

    dataset: Dataset
    normaliser: Normaliser
    train: tuple[Samples, ...]
    validation: tuple[Samples, ...]

    @classmethod
    def open(
        cls,
        dataset: Dataset,
        n_modes: int,
        n_train: int = 0,
        fiber_lifts: int | None = None,
        progress: Progress = silent,
        one_scale: bool = False,
    ) -> TrainingData:
        """``n_train`` : training samples used, by turns from the meshes; 0: all.

        one_scale : whether further meshes are put into the scales of the first one, as a trained model sees them

        Raises InputError (no_split, empty_part, node_target, inputs, non_finite_field; n_train, where there are fewer
        samples; zero_target, as errors are relative to the target).
        """
        progress("normaliser", None)
        parts = {name: dataset.part(name) for name in ("train", "validation")}
        there = len(parts["train"])
        if n_train > there:
            raise InputError(f"n_train asks for {n_train} training samples, and the dataset has {there}.", "n_train")
        normaliser = Normaliser.fit(dataset, n_train)
        if n_train:
            parts["train"] = parts["train"].first(n_train)
        out: dict[str, list[Samples]] = {"train": [], "validation": []}
        meshes = range(len(dataset.meshes))
        for mesh in sorted(meshes, key=lambda mesh: not len(parts["train"].on_mesh(mesh))):  # those trained on first
            domain = domain_of(dataset, n_modes, mesh, progress)
            if one_scale and out["train"]:
                domain = domain.in_scales(out["train"][0].domain.scales, fiber_lifts is not None)
            for name, part in parts.items():
                if not len(part.on_mesh(mesh)):
                    continue
                samples = samples_of(part, domain, normaliser, mesh, relative=True)
                if fiber_lifts is not None:
                    progress(f"resolvent features, {name}", None)
                    samples = samples.with_fiber(fiber_lifts)
                out[name].append(samples)
        return cls(dataset, normaliser, tuple(out["train"]), tuple(out["validation"]))

    @property
    def domain(self) -> Domain:
        return self.train[0].domain

    def to(self, device: str, dtype: torch.dtype) -> TrainingData:
        domains = {}

        def move(samples: Samples) -> Samples:
            key = samples.domain.mesh.content_hash
            domains.setdefault(key, samples.domain.to(device, dtype))
            return samples.to(domains[key])

        train, validation = (tuple(move(s) for s in group) for group in (self.train, self.validation))
        return TrainingData(self.dataset, self.normaliser, train, validation)
