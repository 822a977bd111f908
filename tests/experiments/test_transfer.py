"""Mesh transfer: the same samples and weights on each mesh, errors as evaluation gives them, refusals in own words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hsd.cli import main
from hsd.cli_transfer import joined
from hsd.data.dataset import Dataset
from hsd.data.ground import Ground
from hsd.data.plan import Plan
from hsd.data.tasks import task
from hsd.errors import InputError, UnknownNameError
from hsd.experiments.transfer import Samples, Transferred, mean_error, transfer
from hsd.metrics.scoring import score
from hsd.metrics.yardstick import Yardstick
from hsd.training.checkpoint import read_manifest
from hsd.training.config import TrainingConfig
from hsd.training.evaluate import evaluate
from hsd.training.loading import dataset_and_predictor
from hsd.training.predictor import load
from hsd.training.run import RunSpec, make_folder, run

from ..training.conftest import make_dataset

NAME = "ellipsoid_aerodynamics"
SMALL = {"n_modes": 24, "channels": 2, "hidden": 8, "lift": 0}
PAPER = {"variant": "paper", "fiber": "none", "n_modes": 16, "base_hidden": 8}
N_TEST = 12


def trained(folder: Path, data: Path, epochs: int = 20, **config) -> Path:
    make_folder(
        folder,
        RunSpec(TrainingConfig("hsd", config, epochs=epochs, batch_size=16, lr=1e-2), data=str(data), device="cpu"),
    )
    run(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "aero.npz", NAME, 60, 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data) -> Path:
    return trained(tmp_path_factory.mktemp("runs") / "free", data, **SMALL)


@pytest.fixture(scope="module")
def rows(folder) -> list[Transferred]:
    return transfer([folder], (200, 500), 64, "cpu")


def test_on_the_mesh_of_training_the_error_is_that_of_the_test_part(rows, folder, data):
    first = rows[0]
    assert first.trained_here and first.ratio == first.ratio_fine == 1 and first.n_samples == N_TEST
    dataset, predictor = dataset_and_predictor(folder / "model.safetensors", data, "cpu")
    assert len(Dataset(data).part("test")) == N_TEST
    expected = evaluate(predictor, dataset, "test").scores.mean["relative_l2"]
    assert np.isclose(first.error, expected, rtol=1e-4)


@pytest.mark.parametrize("place", (1, 2))
def test_on_another_mesh_the_error_is_that_of_the_loaded_weights_there(rows, folder, data, place):
    row = rows[place]
    this = task(NAME)
    mesh = this.mesh(row.n_nodes)
    assert mesh.complex.n_vertices == row.n_vertices != rows[0].n_vertices
    ground = Ground(mesh)
    made = this.realise([this.sample(0, int(i)) for i in Dataset(data).part("test").index], ground)
    predictor = load(folder / "model.safetensors", mesh)
    fields = predictor(predictor.domain, made.inputs["vorticity"], made.coefficients)
    yardstick = Yardstick.of(ground, this.target.degree, this.target.reading)
    truth = ground.node_values(this.target.degree, this.target.reading, made.target)
    expected = score(yardstick, fields.nodes, truth, names=["relative_l2"]).mean["relative_l2"]
    assert np.isclose(row.error, expected, rtol=1e-3) and np.isclose(row.ratio, expected / rows[0].error, rtol=1e-3)
    assert 0.5 < row.ratio < 2


def test_truths_are_the_nearer_to_that_of_the_fine_mesh_the_finer_their_mesh():
    samples = Samples(Plan.of(NAME, 60, 2400), 4)
    gaps = [mean_error(samples.on(n).nodes, samples.fine_on(n)) for n in (300, 1200, 2400)]
    assert 0 < gaps[2] < 0.7 * gaps[1] < 0.4 * gaps[0] < 0.2


def test_on_a_mesh_the_error_to_the_fine_truth_differs_by_at_most_the_truths_gap(rows):
    for row in rows:
        assert row.truth_gap > 0 and abs(row.error_fine - row.error) <= 1.05 * row.truth_gap * (1 + row.error)


def test_the_parts_are_other_samples():
    plan = Plan.of(NAME, 60, 300)
    test, validation = (Samples(plan, 4, part).on(300).nodes for part in ("test", "validation"))
    assert not any(np.allclose(a, b) for a in test for b in validation)
    with pytest.raises(UnknownNameError, match="part of the samples"):
        Samples(plan, 4, "exam")


def test_a_model_bound_to_its_mesh_refuses_the_others_in_its_own_words(tmp_path, data):
    folder = trained(tmp_path / "bound", data, epochs=1, **PAPER)
    own, other = transfer([folder / "model.safetensors"], (200,), 4, "cpu")
    assert own.error > 0 and own.refused is None
    assert other.error is None and other.ratio is None and "does not carry over to another mesh" in other.refused


def test_what_cannot_be_transferred_is_said(tmp_path, folder):
    with pytest.raises(InputError) as found:
        transfer([tmp_path], (200,), 4, "cpu")
    assert found.value.kind == "no_checkpoint"
    with pytest.raises(InputError) as found:
        transfer([folder], (200,), 0, "cpu")
    assert found.value.kind == "empty_part"
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    manifest = {**read_manifest(own / "model.safetensors"), "task": None}
    (own / "model.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError) as found:
        transfer([own], (200,), 4, "cpu")
    assert found.value.kind == "no_task"


def test_the_command_prints_all_rows_and_writes_them(tmp_path, folder, capsys):
    words = ["transfer", str(folder), "--nodes", "200", "--samples", "4", "--device", "cpu"]
    assert main([*words, "--json", str(tmp_path / "t.json")]) == 0
    said = capsys.readouterr().out
    written = json.loads((tmp_path / "t.json").read_text())
    assert [r["n_nodes"] for r in written] == [300, 200] and "300 (trained)" in said
    assert f"{written[1]['error']:.4f}" in said and f"{written[1]['ratio']:.3f}" in said


def test_rows_replace_those_of_the_same_checkpoint_in_the_file_alone(tmp_path):
    file = tmp_path / "t.json"
    file.write_text(json.dumps([{"checkpoint": name, "error": 1.0} for name in ("c", "a", "a")]))
    rows = joined(file, [{"checkpoint": name, "error": error} for name, error in (("b", 2.0), ("a", 3.0))])
    assert [(row["checkpoint"], row["error"]) for row in rows] == [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    for text in ("[1]", "{}", "no json"):
        file.write_text(text)
        with pytest.raises(InputError, match="no table of transfer errors"):
            joined(file, [{"checkpoint": "a"}])
