"""What cannot be trained is refused before training, in the sentence that ``data check`` notes; so are values."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import hsd
from hsd.cli import main
from hsd.data.check import check_dataset, notes_on_training
from hsd.data.dataset import Dataset, save_dataset
from hsd.data.schema import FieldSpec, Schema
from hsd.data.splits import split_codes
from hsd.errors import InputError
from hsd.models.registry import MODELS
from hsd.training.config import TrainingConfig
from hsd.training.run import make_trainer
from tests.data.datasets import N, forms, write

PAPER = TrainingConfig("hsd", {"variant": "paper", "n_modes": 16})
READINGS = {0: "scalar", 1: "circulation", 2: "density"}


def own(path: Path, meshes: list[hsd.Mesh], degrees: tuple[int, ...], target: int, split: bool = True) -> Path:
    """Random forms of the given degrees on one mesh or several."""
    rng = np.random.default_rng(0)
    numbers = np.arange(N) % len(meshes)
    specs = tuple(FieldSpec(f"u{i}", k, READINGS[k]) for i, k in enumerate(degrees))
    more = {"mesh_of_sample": numbers} if len(meshes) > 1 else {}
    save_dataset(
        path,
        meshes if len(meshes) > 1 else meshes[0],
        {spec.name: forms(rng, meshes, numbers, spec.degree) for spec in specs},
        forms(rng, meshes, numbers, target),
        Schema(specs, FieldSpec("v", target, READINGS[target])),
        split=split_codes(N, 0) if split else None,
        **more,
    )
    return path


TORUS, BALL = hsd.gallery("torus", 60), hsd.gallery("ellipsoid", 60)
REFUSED = {  # name → (meshes, degrees of inputs, degree of the target, split, kind, words)
    "topologies": ([BALL, TORUS], (0,), 1, True, "betti", "different Betti numbers (mesh0: 1 0 1, mesh1: 1 2 1)"),
    "two inputs": ([TORUS], (0, 1), 1, True, "inputs", "has 2 input forms"),
    "far degrees": ([TORUS], (0,), 2, True, "degree", "the 0-form 'u0' as input and a 2-form as target"),
    "one-sided": ([hsd.gallery("klein", 80)], (1,), 2, True, "non_orientable", "mesh is not orientable"),
    "no split": ([TORUS], (0,), 1, False, "no_split", "has no split"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_training_refuses_the_check_has_noted(case, tmp_path, capsys):
    meshes, degrees, target, split, kind, words = REFUSED[case]
    file = own(tmp_path / "mine.npz", meshes, degrees, target, split)
    assert check_dataset(file) == []  # it may be looked at
    (note,) = notes_on_training(file)
    assert note.kind == kind and words in note.message and "mine.npz" in note.message
    with pytest.raises(InputError) as said:
        make_trainer(Dataset(file), TrainingConfig("hsd", {"n_modes": 16}))
    assert (said.value.kind, said.value.message) == (note.kind, note.message)
    assert main(["data", "check", str(file)]) in (0, None)
    printed = capsys.readouterr().out
    assert "No defects found." in printed and f"Not trainable [{kind}]: {note.message}" in printed
    assert main(["data", "check", str(file), "--json"]) in (0, None)
    told = json.loads(capsys.readouterr().out)
    assert told["good"] and told["not_trainable"] == [{"kind": kind, "message": note.message}]


@pytest.mark.parametrize("kind", ["one", "several", "steps"])
def test_good_files_have_no_notes_and_node_vectors_one(kind, tmp_path):
    assert notes_on_training(write(tmp_path / "mine.npz", kind)) == []
    assert [n.kind for n in notes_on_training(write(tmp_path / "vectors.npz", "vectors"))] == ["node_target"]


def test_equal_numbers_of_harmonic_targets_are_enough(tmp_path):
    """On a 0-form the sphere and the torus have one harmonic field each."""
    assert notes_on_training(own(tmp_path / "mine.npz", [BALL, TORUS], (0,), 0)) == []


def test_a_mesh_bound_variant_refuses_several_meshes_before_training(meshes_file):
    with pytest.raises(InputError, match="has 2 meshes, but HSD with these settings is bound to one") as said:
        make_trainer(Dataset(meshes_file), PAPER)
    assert said.value.kind == "mesh_bound"


@pytest.mark.parametrize("model", MODELS)
def test_whoever_trains_on_several_meshes_may_be_evaluated_on_them(model, meshes_file):
    trainer = make_trainer(Dataset(meshes_file), TrainingConfig(model))
    assert trainer.model.mesh_free and trainer.model.fits_other_meshes(trainer.model.config)


def spoilt(file: Path, path: Path, key: str, numbers: list[int], value: float) -> Path:
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays[key][numbers, 0] = value
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("part", ["train", "validation", "test"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_training_refuses_what_is_not_finite_in_any_part(part, value, aero_file, tmp_path, capsys):
    numbers = [int(i) for i in Dataset(aero_file).part(part).index[:2]]
    bad = spoilt(aero_file, tmp_path / "bad.npz", "target", numbers, value)
    (found,) = check_dataset(bad)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as said:
            make_trainer(Dataset(bad), TrainingConfig("hsd", {"n_modes": 16}))
    assert said.value.message == found.message and f"samples {numbers[0]} and {numbers[1]};" in found.message
    assert found.ids == tuple(numbers) and "bad.npz: target" in found.message


@pytest.fixture(scope="module")
def trained(aero_file, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "run"
    entries = ["--set", "epochs=1", "--set", "model.n_modes=16", "--threads", "1"]
    assert main(["train", str(aero_file), "hsd", *entries, "--out", str(folder)]) == 0
    return folder


def test_evaluation_and_prediction_name_file_array_and_sample(trained, aero_file, tmp_path, capsys):
    data = Dataset(aero_file)
    number, key = int(data.part("test").index[0]), f"input/{data.inputs[0].name}"
    bad = spoilt(aero_file, tmp_path / "bad.npz", key, [number], np.nan)
    assert main(["evaluate", str(trained), "--data", str(bad), "--part", "validation", "--json"]) in (0, None)
    capsys.readouterr()
    assert main(["evaluate", str(trained), "--data", str(bad), "--part", "test"]) == 1
    assert f"bad.npz: {key} is not finite in sample {number} of the part test;" in capsys.readouterr().err
    assert main(["predict", str(trained), "--input", str(bad), "--out", str(tmp_path / "out.npz")]) == 1
    assert f"bad.npz: {key} is not finite in sample {number};" in capsys.readouterr().err


def test_a_target_is_not_needed_to_predict(trained, aero_file, tmp_path):
    unknown = spoilt(aero_file, tmp_path / "unknown.npz", "target", [0], np.nan)
    assert main(["predict", str(trained), "--input", str(unknown), "--out", str(tmp_path / "out.npz")]) in (0, None)
