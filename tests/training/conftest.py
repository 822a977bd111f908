"""A small dataset of a real task, made once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hsd.data.dataset import save_dataset
from hsd.data.ground import Ground
from hsd.data.schema import FieldsSpec, Schema
from hsd.data.splits import split_codes
from hsd.data.tasks import task


def make_dataset(path: Path, name: str, n: int, nodes: int, **config) -> Path:
    this = task(name, **config)
    mesh = this.mesh(nodes)
    ground = Ground(mesh)
    fields = this.named_fields(ground)
    made = this.realise(this.samples(0, 0, n), ground)
    schema = Schema(
        this.inputs,
        this.target,
        {k: FieldsSpec(f.degree, f.reading, f.reference) for k, f in fields.items() if k in made.coefficients},
        task=name,
        state=this.inputs[0].name if this.time_dependent else None,
        provenance={"n_nodes": nodes, "n_samples": n, "seed": 0, "config": this.config_dict},
    )
    save_dataset(
        path,
        mesh,
        dict(made.inputs),
        made.target,
        schema,
        coefficients=dict(made.coefficients),
        fields={k: f.values for k, f in fields.items() if k in made.coefficients},
        split=split_codes(n, 0),
    )
    return path


@pytest.fixture(scope="session")
def aero_file(tmp_path_factory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "aero.npz", "ellipsoid_aerodynamics", 60, 300)


@pytest.fixture(scope="session")
def car_file(tmp_path_factory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "car.npz", "external_aerodynamics", 24, 700)


def several_meshes(path: Path, nodes: tuple[int, ...], n: int, name: str = "ellipsoid_aerodynamics") -> Path:
    """Samples 0 … n − 1 of a task, by turns on meshes of those sizes, rows filled up with zeros."""
    this = task(name)
    grounds = [Ground(this.mesh(size)) for size in nodes]
    numbers = np.random.default_rng(0).integers(0, len(nodes), n)
    made = [this.realise(this.samples(0, 0, n), ground) for ground in grounds]

    def rows(values: list[np.ndarray]) -> np.ndarray:
        out = np.zeros((n, max(v.shape[1] for v in values)))
        for i, j in enumerate(numbers):
            out[i, : values[j].shape[1]] = values[j][i]
        return out

    save_dataset(
        path,
        [ground.mesh for ground in grounds],
        {s.name: rows([m.inputs[s.name] for m in made]) for s in this.inputs},
        rows([m.target for m in made]),
        Schema(this.inputs, this.target, task=name),
        mesh_of_sample=numbers,
        split=split_codes(n, 0),
    )
    return path


@pytest.fixture(scope="session")
def meshes_file(tmp_path_factory) -> Path:
    return several_meshes(tmp_path_factory.mktemp("data") / "meshes.npz", (300, 420), 40)
