"""Runs that cannot begin: what is wrong with one is said before it has a folder, and a folder of none is left."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hsd.data.dataset import Dataset
from hsd.models.registry import model_class
from hsd.training.jobs import LOG, WAITING
from hsd.training.run import PROCESS, RUN, TRAINS, RunSpec, chosen_device, dataset_path, has_begun


def check_run(spec: RunSpec) -> None:
    """Look at device, model and data of a run, as far as that takes no time.

    Raises InputError (no_gpu; of the head of the dataset file and the configs), UnknownNameError.
    """
    chosen_device(spec.device)
    task = spec.task if spec.data is None else Dataset(spec.data).schema.task
    dataset_path(spec)
    model_class(spec.training.model).make_config(task, **spec.training.model_config)


def discard(folder: Path, made_here: bool) -> None:
    """Remove what a run that never came to its first step has left in its folder, and the folder if it was
    ``made_here`` and nothing else is in it."""
    if has_begun(folder):
        return
    for name in (RUN, TRAINS, PROCESS, LOG, WAITING):
        (folder / name).unlink(missing_ok=True)
    if made_here:
        with contextlib.suppress(OSError):  # somebody else has put a file there
            folder.rmdir()
