"""A dataset file as a task: the same rows, domains and refusals as the file itself has."""

from __future__ import annotations

import os

import numpy as np
import pytest

from hsd.data.dataset import Dataset
from hsd.data.domain_arrays import DomainSpec
from hsd.data.file_task import OWN, FileTask
from hsd.data.ground import Ground
from hsd.data.splits import PARTS, split_codes
from hsd.errors import InputError
from tests.data.datasets import N, contents, write
from tests.training.conftest import make_dataset


@pytest.mark.parametrize("kind", ["one", "several", "steps"])
def test_samples_of_a_file_are_its_rows_each_on_its_own_mesh(tmp_path, kind):
    told = contents(kind)
    task = FileTask(Dataset(write(tmp_path / "mine.npz", kind)))
    assert task.family == OWN and task.title == "mine.npz" and task.config.n_samples == N
    for i in range(N):
        mesh = task.mesh_of(i)
        ground = Ground(mesh, task.star, task.bc)
        made = task.realise([task.sample(5, i)], ground)
        n = mesh.complex.n(task.target.degree)
        assert np.array_equal(made.target[0], np.float32(told["target"][i][:n]))
        assert not told["target"][i][n:].any()
        assert np.array_equal(made.inputs["g"][0], np.float32(told["inputs"]["g"][i][: mesh.complex.n(0)]))
        for name, fields in task.named_fields(ground).items():
            assert fields.values.shape == (mesh.complex.n(1), 2)
            assert np.array_equal(made.coefficients[name][0], np.float32(told["coefficients"][name][i]))


def test_parts_are_those_of_the_split_mesh_by_mesh(tmp_path):
    task = FileTask(Dataset(write(tmp_path / "mine.npz", "several")))
    codes, found = split_codes(N), []
    for mesh in task.data.meshes:
        numbers = task.numbers_of("test", Ground(mesh))
        assert all(task.mesh_of(i) is mesh for i in numbers)
        found += list(numbers)
    assert sorted(found) == list(np.flatnonzero(codes == PARTS["test"]))
    assert [task.part_of(i) for i in found] == ["test"] * len(found)


def test_star_and_boundary_condition_of_the_file_reach_the_domain(tmp_path):
    from dataclasses import replace

    told = contents("one")
    schema = replace(told["schema"], star="diagonal", bc="relative")
    task = FileTask(Dataset(write(tmp_path / "mine.npz", "one", schema=schema)))
    spec = DomainSpec.of(task, 32)
    assert (spec.star, spec.bc, spec.source, spec.target) == ("diagonal", "relative", (0, "scalar"), (1, "flux"))


def test_two_versions_of_a_file_never_share_a_name(tmp_path):
    path = write(tmp_path / "mine.npz", "one")
    first = FileTask(Dataset(path)).name
    assert FileTask(Dataset(path)).name == first
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))
    assert FileTask(Dataset(path)).name != first
    assert FileTask(Dataset(write(tmp_path / "other.npz", "one"))).name != first


def test_a_file_that_a_task_made_belongs_to_its_family_with_its_frame(tmp_path):
    path = make_dataset(tmp_path / "aero.npz", "ellipsoid_aerodynamics", 8, 300)
    task = FileTask(Dataset(path))
    assert task.family == "ellipsoid_aerodynamics" and task.config_dict["file"] == str(path)
    ground = Ground(task.mesh())
    frame, own = task.frame(ground), task.made_by.frame(ground)
    assert (frame is None) == (own is None) and (frame is None or np.array_equal(frame, own))


def test_what_operators_cannot_read_and_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="node vectors"):
        FileTask(Dataset(write(tmp_path / "vectors.npz", "vectors")))
    task = FileTask(Dataset(write(tmp_path / "several.npz", "several")))
    with pytest.raises(InputError, match="samples 0 to 19"):
        task.sample(0, 20)
    other = next(i for i in range(N) if task.mesh_of(i) is not task.mesh())
    with pytest.raises(InputError, match="lies on another mesh"):
        task.realise([task.sample(0, other)], Ground(task.mesh()))
