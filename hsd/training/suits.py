"""Whether a model can be trained on a dataset file at all, said before anything is prepared."""

from __future__ import annotations

from hsd.data.dataset import Dataset
from hsd.data.trainable import check_trainable
from hsd.errors import InputError
from hsd.models.registry import model_class
from hsd.training.config import TrainingConfig


def check_suits(dataset: Dataset, config: TrainingConfig) -> None:
    """Raises InputError (those of check_trainable; mesh_bound, where the model would belong to one mesh of several),
    UnknownNameError."""
    check_trainable(dataset)
    cls = model_class(config.model)
    own = cls.make_config(dataset.schema.task, **config.model_config)
    if len(dataset.meshes) > 1 and not cls.fits_other_meshes(own):
        raise InputError(
            f"{dataset.path.name} has {len(dataset.meshes)} meshes, but {cls.title} with these settings is bound to "
            "one, whose modes it reads; take a file of one mesh, or another model or variant.",
            "mesh_bound",
        )
