"""What a run predicts for one validation sample at this moment, from the weights that it last saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground
from hsd.data.normaliser import Normaliser
from hsd.errors import InputError
from hsd.models.registry import make_model, model_class
from hsd.training.config import DEFAULT_MODES
from hsd.training.data import domain_of
from hsd.training.predictor import Predictor
from hsd.training.run import RunSpec, dataset_path, read_folder
from hsd.training.state import STATE, best_weights


@dataclass(frozen=True, eq=False)
class Snapshot:
    """epoch : from 0, of the weights (−1: no epoch has ended);  number : of the sample in the dataset

    nodes : (n_vertices, C) predicted node values, physical
    """

    epoch: int
    number: int
    nodes: np.ndarray


class Observer:
    """Domain, normaliser and model of a run, made once; then its validation samples with any saved weights.

    Only samples on the dataset's first mesh are looked at.
    Raises InputError (no_run, no_data where the run's data is not made yet, empty_part, and those of the dataset).
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.spec: RunSpec = read_folder(folder)
        path = dataset_path(self.spec)
        if not path.is_file():
            raise InputError(f"The data of {folder.name} is not there (yet): {path.name}.", "no_data")
        self.dataset = Dataset(path)
        config, schema = self.spec.training, self.dataset.schema
        self.rows = self.dataset.part("validation").on_mesh(0)
        own = model_class(config.model).make_config(schema.task, **config.model_config)
        domain = domain_of(self.dataset, getattr(own, "n_modes", DEFAULT_MODES))
        with torch.random.fork_rng():
            model = make_model(config.model, domain, schema.task, **config.model_config)
        about = {"domain": {"mesh_hash": domain.mesh.content_hash}}
        self.predictor = Predictor(model, Normaliser.fit(self.dataset, config.n_train), about, domain)
        self.ground = Ground(domain.mesh, schema.star, schema.bc)

    def stamp(self) -> int:
        """Changes with the saved state; 0 where there is none."""
        try:
            return (self.folder / STATE).stat().st_mtime_ns
        except OSError:
            return 0

    def look(self, i: int) -> Snapshot:
        """Predict validation sample i (taken modulo their number).  Raises InputError (bad_state, empty_part)."""
        if not len(self.rows):
            raise InputError(f"{self.dataset.path.name} has no validation sample on its first mesh.", "empty_part")
        number = int(self.rows[i % len(self.rows)])
        epoch, weights = best_weights(self.folder / STATE)
        domain = self.predictor.domain
        self.predictor.model.load_state_dict(weights)

        def row(key: str) -> np.ndarray:
            return np.asarray(self.dataset.array(key)[number], float)[None, : self.dataset.row_length(key, 0)]

        coefficients = {name: row(f"coefficient/{name}") for name in self.dataset.schema.fields}
        fields = self.predictor(domain, row(f"input/{self.dataset.inputs[0].name}"), coefficients)
        return Snapshot(epoch, number, fields.nodes[0])
