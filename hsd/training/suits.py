"""Whether a model can be trained on a dataset file at all, said before anything is prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from hsd.data.dataset import Dataset
from hsd.data.trainable import check_trainable
from hsd.errors import InputError
from hsd.models.registry import model_class
from hsd.training.config import TrainingConfig


def check_suits(dataset: Dataset, config: TrainingConfig) -> None:
    """Raises InputError (those of check_trainable; mesh_bound, where the model would belong to one mesh of several;
    idle_entry), UnknownNameError."""
    check_trainable(dataset)
    cls, task = model_class(config.model), dataset.schema.task
    own = cls.make_config(task, **config.model_config)
    if len(dataset.meshes) > 1 and not cls.fits_other_meshes(own):
        raise InputError(
            f"{dataset.path.name} has {len(dataset.meshes)} meshes, but {cls.title} with these settings is bound to "
            "one, whose modes it reads; take a file of one mesh, or another model or variant.",
            "mesh_bound",
        )
    mesh = dataset.meshes[0]
    check_entries(config.model, task, config.model_config, dataset.inputs[0].degree, mesh.dim, _oriented(dataset))


def _oriented(dataset: Dataset) -> bool:
    return all(mesh.orientation is not None for mesh in dataset.meshes)


def check_entries(
    model: str, task: str | None, named: Mapping[str, Any], degree: int, dim: int, oriented: bool
) -> None:
    """Refuse an entry of a model's config that somebody has named, and that then does nothing; one that has its value
    without anybody's doing, or that is off anyway, is left.

    degree, dim, oriented : as in :meth:`hsd.models.base.Operator.idle_on`
    Raises InputError (idle_entry), UnknownNameError.
    """
    cls = model_class(model)
    idle = cls.idle_on(cls.make_config(task, **named), degree, dim, oriented)
    plain = {f.name: f.default for f in fields(cls.Config)}
    for name, value in named.items():
        if name in idle and value != plain[name]:
            raise InputError(f"model.{name}={value} would do nothing: {idle[name]}; leave it out.", "idle_entry")
