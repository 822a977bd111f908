"""A task on a mesh that is not its shape, or not at its place, says so by its own name and the mesh's."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hsd
from hsd.data.dataset import Dataset, save_dataset
from hsd.data.domain import Domain
from hsd.data.tasks import TASKS, task
from hsd.errors import HsdError
from hsd.training.data import domain_of
from tests.data.datasets import write
from tests.training.conftest import make_dataset


def shifted(mesh: hsd.Mesh) -> hsd.Mesh:
    return replace(mesh, points=mesh.points + 5.0)


MESHES = {
    "sphere": lambda: hsd.gallery("sphere", 162),
    "torus": lambda: hsd.gallery("torus", 200),
    "car": lambda: hsd.gallery("car", 700),
    "ball": lambda: hsd.gallery("ball", 200),
    "klein": lambda: hsd.gallery("klein", 200),
    "moebius": lambda: hsd.gallery("moebius", 200),
}
MISFITS = [
    *[("torus_helmholtz", name) for name in ("sphere", "ball", "klein", "shifted")],
    *[("toroidal_transport", name) for name in ("sphere", "ball", "klein", "shifted")],
    *[("external_aerodynamics", name) for name in ("sphere", "ball", "torus", "car", "klein", "shifted")],
    *[("ellipsoid_aerodynamics", name) for name in ("ball", "klein", "moebius")],
    *[("vorticity_dynamics", name) for name in ("ball", "klein", "moebius")],
    *[("magnetostatics", name) for name in ("sphere", "torus", "ball")],
]
REASONS = {"ball": "it has dimension 3 and not 2", "klein": "it is not orientable", "moebius": "it is not orientable"}


@pytest.mark.parametrize("name, mesh", MISFITS)
def test_a_task_on_another_shape_says_its_name_its_shape_and_why(name, mesh):
    this = task(name)
    other = MESHES[mesh]() if mesh != "shifted" else shifted(this.mesh(700 if "external" in name else 300))
    with pytest.raises(HsdError) as said:
        Domain.build(this, other, 16, 8)
    message = said.value.message
    assert message.startswith(f"The task {name} is defined on {this.place}; {other.name} does not fit it: "), message
    assert message.endswith("; use that shape at its place, or train on data of your own.")
    if this.dim == 2:
        assert REASONS.get(mesh, "") in message


@pytest.mark.parametrize("name", TASKS)
def test_its_own_shape_fits_and_few_modes_are_not_blamed_on_it(name):
    this = task(name)
    mesh = this.mesh(700 if "external" in name else 300)
    assert this.dim == mesh.dim and mesh.orientation is not None
    with this.on_its_shape(mesh):
        pass
    if name == "torus_helmholtz":
        with pytest.raises(HsdError, match=r"^n_modes must be at least"):
            Domain.build(this, mesh, 1, 8)


def test_a_file_that_says_it_is_of_a_task_is_held_to_its_shape(tmp_path):
    good = make_dataset(tmp_path / "good.npz", "torus_helmholtz", 6, 300)
    assert domain_of(Dataset(good), 16).n_vertices > 0
    assert domain_of(Dataset(write(tmp_path / "own.npz", "steps")), 16).n_vertices > 0
    data = Dataset(good)

    far = shifted(data.meshes[0])
    inputs = {data.inputs[0].name: data.input(data.inputs[0].name)}
    save_dataset(tmp_path / "far.npz", far, inputs, data.target, data.schema, split=data.split)
    with pytest.raises(HsdError, match="The task torus_helmholtz is defined on the torus"):
        domain_of(Dataset(tmp_path / "far.npz"), 16)
