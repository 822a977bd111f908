"""Mesh transfer: a trained model on other meshes of its task's shape, with the modes of those meshes, not retrained.

The same physical samples (records of the test part, or of another one) are realised on each mesh by the task's own
solver, so that truths differ between meshes by the solver's discretisation.  A model that has learned the solver of its
own mesh perfectly still errs by that difference elsewhere.  Therefore each prediction is also held against one truth
for all meshes, solved on a fine mesh and interpolated linearly: that error says what the model itself does on a mesh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hsd.data.domain import Domain
from hsd.data.domain_arrays import DomainSpec
from hsd.data.ground import Ground
from hsd.data.plan import Plan
from hsd.data.splits import PARTS, split_codes
from hsd.data.tasks.base import Realisation
from hsd.errors import InputError, check_choice
from hsd.linalg import Progress, silent
from hsd.mesh.closest import ClosestPoint
from hsd.training.checkpoint import read_manifest
from hsd.training.predictor import Predictor, predictor_on
from hsd.training.run import checkpoint_in, chosen_device

NODES = (1500, 7000)
SAMPLES = 64
FINE = 4
"""Vertices of the fine mesh over those of the mesh of training."""
BLOCK = 64
"""Samples predicted at once by models that ask for no smaller number."""


@dataclass(frozen=True)
class Transferred:
    """One model on one mesh.

    n_nodes, n_vertices : vertices aimed at, and those of the mesh;  trained_here: whether it is the mesh of training
    error     : mean over the samples of the relative L² of node values; None where the model refuses the mesh
    ratio     : error / error on the mesh of training
    error_fine, ratio_fine : the same against the truth of the fine mesh
    truth_gap : mean relative L² between the truth here and that of the fine mesh
    refused   : the model's sentence, or None
    """

    checkpoint: str
    title: str
    task: str
    n_samples: int
    n_nodes: int
    n_vertices: int
    trained_here: bool
    error: float | None
    ratio: float | None
    error_fine: float | None
    ratio_fine: float | None
    truth_gap: float
    refused: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def plan_of(checkpoint: Path, manifest: Mapping[str, Any]) -> Plan:
    """What made the samples that a checkpoint was trained with.  Raises InputError (no_task)."""
    if manifest["task"] is None:
        raise InputError(
            f"{checkpoint.name} was trained on own data, which cannot be made again on another mesh; transfer is "
            "measured for models of a task.",
            "no_task",
        )
    data = manifest["data"]
    return Plan.of(
        manifest["task"],
        data.get("n_samples"),
        data.get("n_nodes", manifest["domain"]["n_nodes"]),
        data.get("seed", 0),
        manifest["task_config"],
    )


@dataclass(frozen=True, eq=False)
class Place:
    """The samples on one mesh.  nodes: (B, n_vertices, C) the truth's node values."""

    ground: Ground
    made: Realisation
    nodes: np.ndarray


class Samples:
    """The first samples of a part of a plan, realised on meshes of any size, each once."""

    def __init__(self, plan: Plan, n_samples: int, part: str = "test"):
        self.plan, self.task = plan, plan.make_task()
        check_choice("part of the samples", part, PARTS)
        index = np.flatnonzero(split_codes(plan.n_samples, plan.seed) == PARTS[part])[:n_samples]
        if not len(index):
            raise InputError(
                f"Transfer needs {part} samples; of {plan.n_samples} samples of {plan.task} none is among the "
                f"{n_samples} asked for.",
                "empty_part",
            )
        self.records = [self.task.sample(plan.seed, int(i)) for i in index]
        self.on = cache(self._on)

    def __len__(self) -> int:
        return len(self.records)

    def _on(self, n_nodes: int) -> Place:
        """The samples on the mesh with about so many vertices."""
        mesh = self.task.mesh(n_nodes)
        ground = Ground(mesh)
        made = self.task.realise(self.records, ground)
        target = self.task.target
        return Place(ground, made, ground.node_values(target.degree, target.reading, made.target))

    @cached_property
    def fine(self) -> tuple[Place, ClosestPoint]:
        """The samples on the fine mesh, and what finds places on it."""
        place = self.on(FINE * self.plan.n_nodes)
        return place, ClosestPoint(place.ground.mesh)

    def domain(self, n_nodes: int, n_modes: int, grid_size: int, progress: Progress = silent) -> Domain:
        """The domain of a mesh, with its own modes and the task's fields."""
        ground = self.on(n_nodes).ground
        spec = DomainSpec.of(self.task, n_modes, grid_size)
        fields, frame = self.task.named_fields(ground), self.task.frame(ground)
        return Domain.from_mesh(ground.mesh, spec, fields, frame, progress, ground)

    def fine_on(self, n_nodes: int) -> Place:
        """The truth of the fine mesh, interpolated linearly to the vertices of another one."""
        place = self.on(n_nodes)
        fine, locator = self.fine
        at = locator(place.ground.mesh.points)
        corners = locator.mesh.complex.simplices(locator.mesh.dim)[at.cell]  # (n_vertices, n + 1)
        moved = np.einsum("bvic,vi->bvc", fine.nodes[:, corners], at.bary)
        return replace(place, nodes=moved)


def mean_error(nodes: np.ndarray, place: Place) -> float:
    """Mean over the samples of ‖u_p − u_g‖/‖u_g‖, node values (B, n_vertices, C) weighted by the lumped ⋆_0."""
    weights = place.ground.vertex_measure[:, None]
    error, size = (np.sqrt((weights * u**2).sum(axis=(1, 2))) for u in (nodes - place.nodes, place.nodes))
    return float((error / size).mean())


def predictions(predictor: Predictor, domain: Domain, made: Realisation) -> np.ndarray:
    """Physical node values on a domain, in the blocks that the model asks for."""
    source = made.inputs[predictor.source_key.removeprefix("input/")]
    batch = predictor.batch(domain, source, made.coefficients)
    return predictor.run(batch, domain, predictor.model.micro_batch or BLOCK).nodes


def transfer(
    checkpoints: Sequence[Path],
    nodes: Sequence[int] = NODES,
    n_samples: int = SAMPLES,
    device: str = "auto",
    progress: Progress = silent,
    part: str = "test",
) -> list[Transferred]:
    """Evaluate checkpoints (or run folders) on the mesh of training, then on meshes with about ``nodes`` vertices.

    part : whose samples are predicted; "validation" leaves the test part unread

    Raises InputError (of read_checkpoint; no_checkpoint, no_task, empty_part), and what the task's meshes raise.
    """
    device = chosen_device(device)
    samples: dict[str, Samples] = {}
    out = []
    paths = [checkpoint_in(given) for given in checkpoints]
    manifests = [read_manifest(path) for path in paths]  # all, so that a wrong one is said before the long work
    for given, path, manifest in zip(checkpoints, paths, manifests):
        plan = plan_of(path, manifest)
        if plan.to_json() not in samples:
            samples[plan.to_json()] = Samples(plan, n_samples, part)
        out += _one(given, path, manifest, samples[plan.to_json()], nodes, device, progress)
    return out


def _one(
    given: Path,
    path: Path,
    manifest: Mapping[str, Any],
    samples: Samples,
    nodes: Sequence[int],
    device: str,
    progress: Progress,
) -> list[Transferred]:
    plan, about = samples.plan, manifest["domain"]
    out: list[Transferred] = []
    predictor = reference = None
    for n in dict.fromkeys((plan.n_nodes, *nodes)):
        progress(f"{plan.task}, {n} nodes: samples", None)
        place, fine = samples.on(n), samples.fine_on(n)
        progress(f"{given.name} on {n} nodes", None)
        domain = samples.domain(n, about["n_modes"], about["grid_size"], progress).to(device)
        predictor = predictor or predictor_on(path, domain)
        errors, refused = (None, None), None
        try:
            nodes_here = predictions(predictor, domain, place.made)
            errors = mean_error(nodes_here, place), mean_error(nodes_here, fine)
        except InputError as found:
            if found.kind not in ("other_mesh", "other_signature", "non_finite_prediction"):
                raise
            refused = found.message
        if n == plan.n_nodes:
            reference = errors
        ratios = [e / r if e is not None and r else None for e, r in zip(errors, reference)]
        out.append(
            Transferred(
                checkpoint=str(given),
                title=predictor.model.title,
                task=plan.task,
                n_samples=len(samples),
                n_nodes=n,
                n_vertices=domain.n_vertices,
                trained_here=n == plan.n_nodes,
                error=errors[0],
                ratio=ratios[0],
                error_fine=errors[1],
                ratio_fine=ratios[1],
                truth_gap=mean_error(place.nodes, fine),
                refused=refused,
            )
        )
    return out
