"""A dataset on a mesh of the plane, positions (n, 2), is that on the same mesh with z = 0, for every model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import hsd
from hsd.cli import main
from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset, save_dataset, vector_target
from hsd.data.domain import Domain
from hsd.data.domain_arrays import DomainSpec
from hsd.data.file_task import FileTask
from hsd.data.ground import Ground
from hsd.data.schema import FieldSpec, Schema
from hsd.data.splits import split_codes
from hsd.dec.operators import DEC
from hsd.models.registry import MODELS, make_model
from hsd.training.data import TrainingData
from hsd.viz.task_sample import file_sample, node_values

N = 20
TARGETS = {"scalar": FieldSpec("v", 0, "scalar"), "flux": FieldSpec("v", 1, "flux")}


def disk(coordinates: int, turned: bool = False) -> hsd.Mesh:
    """A disk, its triangles wound against the clock, or (turned) with it."""
    mesh = hsd.gallery("disk", 90)
    cells = mesh.in_space.oriented_cells()
    p = mesh.points[cells]
    clockwise = np.linalg.det((p[:, 1:] - p[:, :1])[..., :2]) < 0
    cells = np.where((clockwise != turned)[:, None], cells[:, ::-1], cells)
    points = np.column_stack([mesh.points[:, :2], np.zeros((len(mesh.points), coordinates - 2))])
    return hsd.Mesh.from_cells(points, cells, "disk")


def write(path: Path, mesh: hsd.Mesh, reading: str = "scalar") -> Path:
    rng = np.random.default_rng(0)
    x, y = mesh.points[:, :2].T
    a, b = rng.normal(size=(2, N, 1))
    u = np.sin(3 * (a * x + b * y)) + b
    target = {"scalar": np.tanh(u), "flux": u @ DEC(mesh).d(0).T, "vectors": np.stack([u] * mesh.points.shape[1], -1)}
    spec = vector_target("v") if reading == "vectors" else TARGETS[reading]
    schema = Schema((FieldSpec("u", 0, "scalar"),), spec)
    save_dataset(path, mesh, {"u": u}, target[reading], schema, split=split_codes(N, 0))
    return path


@pytest.mark.parametrize("reading", TARGETS)
@pytest.mark.parametrize("model", MODELS)
def test_every_model_predicts_in_the_plane_what_it_predicts_at_z_0(model, reading, tmp_path):
    found = []
    for coordinates in (2, 3):
        data = TrainingData.open(Dataset(write(tmp_path / f"{coordinates}.npz", disk(coordinates), reading)), 16)
        torch.manual_seed(0)
        made = make_model(model, data.domain)
        samples = data.validation[0]
        made.prepare(data.train[0].batch, data.domain)
        with torch.no_grad():
            found.append(made.eval()(samples.batch, samples.domain).nodes)
    assert found[0].shape[2] == (1 if reading == "scalar" else 3) and torch.equal(*found)


def test_forms_of_the_plane_keep_their_meaning_whatever_way_triangles_are_wound():
    """Of the plane a flux has the sign of the plane, not of the triangles; so it has in space."""
    for turned in (False, True):
        flat = disk(2, turned)
        wind = np.column_stack([-flat.points[:, 1], flat.points[:, 0] + 1])
        flux = hsd.flat_flux(flat, wind)
        made = Ground(flat.in_space).node_values(1, "flux", flux[None])[0]
        own = Ground(flat).node_values(1, "flux", flux[None])[0]
        assert np.allclose(made[:, :2], own, atol=1e-12) and not made[:, 2].any()
        ones = np.ones(flat.complex.n(2))
        assert np.array_equal(*(Ground(m).values_of_top_or_bottom(2) * ones for m in (flat, flat.in_space)))
    space = disk(3)
    assert space.in_space is space and disk(2).in_space.content_hash == space.content_hash


def test_a_file_of_the_plane_is_trained_evaluated_and_predicted(tmp_path, capsys):
    printed = []
    for coordinates in (2, 3):
        file = write(tmp_path / f"{coordinates}.npz", disk(coordinates), "flux")
        assert check_dataset(file) == []
        run, out = tmp_path / f"run{coordinates}", tmp_path / f"out{coordinates}.npz"
        entries = ["--set", "epochs=1", "--set", "model.n_modes=16", "--threads", "1"]
        assert main(["train", str(file), "hsd", *entries, "--out", str(run)]) == 0
        capsys.readouterr()
        assert main(["evaluate", str(run), "--data", str(file), "--json"]) in (0, None)
        printed.append(capsys.readouterr().out.split('"mean"')[1].split('"latency_ms"')[0])
        assert main(["predict", str(run), "--input", str(file), "--out", str(out)]) in (0, None)
    assert printed[0] == printed[1]
    plane, space = (dict(np.load(tmp_path / f"out{c}.npz")) for c in (2, 3))
    assert np.array_equal(plane["forms"], space["forms"])
    assert plane["nodes"].shape[2] == 2 and np.array_equal(plane["nodes"], space["nodes"][..., :2])


def test_a_domain_of_the_plane_is_that_of_the_mesh_in_space(tmp_path):
    data = Dataset(write(tmp_path / "own.npz", disk(2)))
    task = FileTask(data)
    domain = Domain.from_mesh(disk(2), DomainSpec.of(task, 16))
    assert domain.mesh.content_hash == data.meshes[0].content_hash
    assert task.named_fields(Ground(disk(2))) == {}


def test_node_vectors_of_the_plane_have_two_components_and_are_drawn_in_space(tmp_path):
    file = write(tmp_path / "own.npz", disk(2), "vectors")
    assert check_dataset(file) == []
    data = Dataset(file)
    assert data.n_coordinates == 2 and data.target.shape[2] == 2
    sample = file_sample(data, Ground(data.meshes[0]), 3)
    values = node_values(sample, sample.target)
    assert np.array_equal(values[0, :, :2], data.target[3]) and not values[..., 2].any()
