"""Scores of a predictor on a part of a dataset, with the metrics of hsd.metrics; the test part is read only here."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from hsd.data.dataset import Dataset
from hsd.data.domain import Domain
from hsd.data.ground import Ground
from hsd.errors import InputError
from hsd.linalg import Progress, silent
from hsd.metrics.scoring import Scores, score
from hsd.metrics.yardstick import Yardstick
from hsd.training.predictor import Fields, Predictor

VORTICITY_TASKS = ("vorticity_dynamics",)
"""Tasks whose scalar is itself a vorticity."""


@dataclass(frozen=True)
class Evaluation:
    """scores : all metrics a sample;  fields: the predictions;  latency_ms: median of one warm sample."""

    scores: Scores
    fields: Fields
    latency_ms: float


def arrays_of(dataset: Dataset, part: str, mesh: int = 0, limit: int = 0) -> dict[str, np.ndarray]:
    """Physical arrays of a part on one mesh: "source", "target" and "coefficient/NAME", float64.

    Raises InputError (no_split, empty_part; non_finite_field, naming file, array and samples).
    """
    rows = dataset.part(part)
    keys = {"source": f"input/{dataset.inputs[0].name}", "target": "target"}
    keys |= {f"coefficient/{name}": f"coefficient/{name}" for name in dataset.schema.fields}
    return {name: rows.whole(key, mesh)[: limit or None] for name, key in keys.items()}


def yardstick_of(domain: Domain, task: str | None) -> Yardstick:
    """The yardstick of a domain's target."""
    ground = Ground(domain.mesh, domain.spec.star, domain.spec.bc)
    return Yardstick.of(ground, *domain.spec.target, is_vorticity=task in VORTICITY_TASKS)


def predict_part(
    predictor: Predictor, domain: Domain, arrays: dict[str, np.ndarray], progress: Progress = silent
) -> Fields:
    coefficients = {k.removeprefix("coefficient/"): v for k, v in arrays.items() if k.startswith("coefficient/")}
    return predictor(domain, arrays["source"], coefficients, progress)


def evaluate(
    predictor: Predictor,
    dataset: Dataset,
    part: str = "validation",
    mesh: int = 0,
    limit: int = 0,
    yardstick: Yardstick | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Score a predictor on "train", "validation" or "test" of a dataset's mesh (its own domain is used for it).

    The truth's node values are the yardstick's sharp of its cochains; the MSE is in the normaliser's units.
    """
    domain = predictor.domain
    if dataset.meshes[mesh].content_hash != domain.mesh.content_hash:
        raise InputError(
            f"The predictor's domain is {domain.mesh.name} with {domain.n_vertices} vertices, the dataset's mesh "
            "another one; make the predictor on the dataset's mesh.",
            "other_mesh",
        )
    arrays = arrays_of(dataset, part, mesh, limit)
    fields = predict_part(predictor, domain, arrays, progress)
    progress("metrics", None)
    yardstick = yardstick or yardstick_of(domain, dataset.schema.task)
    channel = predictor.normaliser.channels["target"]
    scores = score(
        yardstick,
        fields.nodes,
        None,
        prediction_form=fields.forms,
        truth_form=arrays["target"],
        unit=channel.scale,
    )
    return Evaluation(scores, fields, latency(predictor, domain, arrays))


def evaluate_meshes(
    on_meshes: Iterable[tuple[int, Predictor]],
    dataset: Dataset,
    part: str = "validation",
    limit: int = 0,
    progress: Progress = silent,
) -> tuple[Scores, float]:
    """Scores of all samples of a part, mesh by mesh, by the predictors of the meshes; milliseconds of one sample.

    Metrics that are not defined on every mesh are left out; the milliseconds are the mean over the samples of their
    mesh's median.  limit : samples of each mesh, 0: all
    """
    found = [evaluate(predictor, dataset, part, mesh, limit, progress=progress) for mesh, predictor in on_meshes]
    names = [name for name in found[0].scores.samples if all(name in e.scores.samples for e in found)]
    joined = Scores({name: torch.cat([e.scores.samples[name] for e in found]) for name in names})
    counts = [len(e.fields.nodes) for e in found]
    return joined, sum(n * e.latency_ms for n, e in zip(counts, found)) / sum(counts)


def latency(predictor: Predictor, domain: Domain, arrays: dict[str, np.ndarray], repeats: int = 7) -> float:
    """Median milliseconds of one sample from physical input to physical output, warm."""
    one = {name: values[:1] for name, values in arrays.items()}
    predict_part(predictor, domain, one)
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        predict_part(predictor, domain, one)
        times.append(1000 * (time.perf_counter() - begun))
    return statistics.median(times)
