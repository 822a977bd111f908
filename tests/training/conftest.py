"""A small dataset of a real task, made once."""

from __future__ import annotations

from pathlib import Path

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
