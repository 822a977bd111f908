"""Checkpoints: what is saved comes back, and every damaged or foreign file ends in its own sentence."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hsd.cli import main
from hsd.data.batch import Batch
from hsd.data.dataset import Dataset
from hsd.data.domain import Domain
from hsd.data.generate import generate
from hsd.data.ground import Ground
from hsd.data.scales import Scales
from hsd.data.tasks import task
from hsd.errors import InputError
from hsd.models.base import Signature
from hsd.training.checkpoint import read_checkpoint
from hsd.training.config import TrainingConfig
from hsd.training.data import domain_of
from hsd.training.evaluate import arrays_of, evaluate
from hsd.training.loading import dataset_and_predictor, predict_all, predictors
from hsd.training.predictor import load, predictor_on
from hsd.training.run import RunSpec, make_folder, run, task_config_of

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory, aero_file) -> tuple[Path, Dataset]:
    folder = tmp_path_factory.mktemp("run")
    make_folder(
        folder, RunSpec(TrainingConfig("hsd", SMALL, epochs=2, batch_size=16), data=str(aero_file), device="cpu")
    )
    return run(folder), Dataset(aero_file)


def copy_of(path: Path, folder: Path) -> Path:
    out = folder / path.name
    out.write_bytes(path.read_bytes())
    out.with_suffix(".json").write_bytes(path.with_suffix(".json").read_bytes())
    return out


def test_a_checkpoint_predicts_as_the_model_that_was_saved(made):
    path, dataset = made
    first, second = (predictor_on(path, domain_of(dataset, 16)) for _ in range(2))
    arrays = arrays_of(dataset, "validation")
    a, b = (p(p.domain, arrays["source"], {}) for p in (first, second))
    assert np.array_equal(a.nodes, b.nodes) and np.array_equal(a.forms, b.forms)
    manifest = first.manifest
    assert manifest["training"]["epochs"] == 2 and manifest["parameters"] == first.model.n_parameters
    recorded = manifest["training"]["best_validation"]
    result = evaluate(first, dataset, "validation")
    assert np.isclose(result.scores.mean["relative_l2"], recorded, rtol=1e-4)
    assert result.latency_ms > 0


def test_load_gives_a_ready_predictor_on_the_task_and_on_another_mesh(made):
    path, dataset = made
    own = load(path)
    assert own.domain.mesh.content_hash == dataset.meshes[0].content_hash
    this = task("ellipsoid_aerodynamics")
    mesh = this.mesh(600)
    other = load(path, mesh)
    ground_nodes = other.domain.n_vertices
    fields = other(other.domain, np.zeros((2, ground_nodes)) + np.linspace(0, 1, ground_nodes), {})
    assert fields.nodes.shape == (2, ground_nodes, 3) and np.isfinite(fields.nodes).all()


def test_on_another_resolution_a_predictor_works_in_the_scales_of_its_mesh_of_training(made, tmp_path):
    path, _ = made
    this, own = task("ellipsoid_aerodynamics"), load(path)
    assert Scales(**own.manifest["domain"]["scales"]) == own.domain.scales and own.own(own.domain) is own.domain
    other = load(path, this.mesh(600))
    made_there = this.realise(this.samples(0, 0, 3), Ground(other.domain.mesh))
    (source,) = made_there.inputs.values()
    there = other.domain.in_scales(own.domain.scales)
    assert there is not other.domain and other.own(other.domain) is there
    plain = other.normaliser.apply(other.source_key, source)
    batch = Batch.of_arrays(there, plain, None, {})
    batch = replace(batch, fiber=torch.as_tensor(there.fiber_features(plain, 0)).to(batch.source))
    with torch.no_grad():
        wanted = other.normaliser.invert("target", other.model(batch, there).forms.double().numpy())
    found = other(other.domain, source, {}).forms
    assert np.array_equal(found, wanted)
    older = copy_of(path, tmp_path)
    edit(domain={"scales": None})(older)
    before = load(older, this.mesh(600))
    assert before.own(before.domain) is before.domain  # without scales those of the mesh
    assert not np.array_equal(before(before.domain, source, {}).forms, found)


def test_predict_covers_all_samples_in_order(made):
    path, dataset = made
    everything = predict_all(predictors(path, dataset, device="cpu"), dataset)
    rows = dataset.part("validation").index
    part = evaluate(predictor_on(path, domain_of(dataset, 16)), dataset, "validation").fields
    assert len(everything.nodes) == dataset.n_samples
    assert np.allclose(everything.nodes[rows], part.nodes, rtol=1e-4, atol=1e-4 * np.abs(part.nodes).max())


@pytest.mark.parametrize(
    "name, words", [("own.npz", "is the input itself"), ("model.safetensors", "written as .npz"), ("p.csv", "as .npz")]
)
def test_predict_overwrites_neither_its_input_nor_a_checkpoint(made, tmp_path, capsys, name, words):
    path, data = tmp_path / "model.safetensors", tmp_path / "own.npz"
    for source, copy in ((made[0], path), (made[0].with_suffix(".json"), path.with_suffix(".json"))):
        copy.write_bytes(source.read_bytes())
    data.write_bytes(made[1].path.read_bytes())
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert main(["predict", str(path), "--input", str(data), "--out", str(tmp_path / name), "--device", "cpu"]) == 1
    assert words in capsys.readouterr().err
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_evaluate_takes_a_run_folder_for_its_checkpoint(made, tmp_path, capsys):
    for file in (made[0], made[0].with_suffix(".json")):
        (tmp_path / f"model{file.suffix}").write_bytes(file.read_bytes())
    said = []
    for given in (made[0], tmp_path):
        assert main(["evaluate", str(given), "--data", str(made[1].path), "--device", "cpu", "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["mean"])
    assert said[0] == said[1]
    (tmp_path / "model.safetensors").unlink()
    assert main(["evaluate", str(tmp_path), "--device", "cpu"]) == 1
    assert "has no model.safetensors" in capsys.readouterr().err


def test_evaluate_and_predict_cover_all_meshes_of_a_file(made, meshes_file, tmp_path, capsys):
    path, data = made[0], Dataset(meshes_file)
    assert main(["evaluate", str(path), "--data", str(meshes_file), "--device", "cpu", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    own = [evaluate(predictor_on(path, domain_of(data, 16, j)), data, "validation", j) for j in (0, 1)]
    errors = np.concatenate([e.scores.samples["relative_l2"] for e in own])
    assert said["samples"] == len(errors) == len(data.part("validation")) and min(len(e.fields.nodes) for e in own)
    assert np.isclose(said["mean"]["relative_l2"], errors.mean(), rtol=1e-6)

    out = tmp_path / "p.npz"
    assert main(["predict", str(path), "--input", str(meshes_file), "--out", str(out), "--device", "cpu"]) == 0
    with np.load(out) as file:
        assert np.array_equal(file["mesh_of_sample"], data.mesh_of_sample)
        assert np.array_equal(file["sample"], np.arange(40))
        nodes, forms = file["nodes"], file["forms"]
    for j, e in enumerate(own):
        rows, size = data.part("validation").on_mesh(j), data.meshes[j].complex.n_vertices
        assert np.allclose(nodes[rows, :size], e.fields.nodes, rtol=1e-4, atol=1e-4 * np.abs(nodes).max())
        length = e.fields.forms.shape[1]
        assert np.allclose(forms[rows, :length], e.fields.forms, rtol=1e-4, atol=1e-4 * np.abs(forms).max())
        assert not nodes[rows, size:].any() and not forms[rows, length:].any()


def test_a_model_of_one_mesh_refuses_a_file_of_several(meshes_file, aero_file, tmp_path):
    config = {"variant": "paper", "n_modes": 16, "fiber_width": 2, "fiber_depth": 1, "fiber_modes": 2}
    make_folder(tmp_path, RunSpec(TrainingConfig("hsd", config, epochs=1), data=str(aero_file), device="cpu"))
    path = run(tmp_path)
    with pytest.raises(InputError, match=r"has 2 meshes, but this .* is bound to the one") as error:
        predict_all(predictors(path, Dataset(meshes_file), device="cpu"), Dataset(meshes_file))
    assert error.value.kind == "mesh_bound"


def test_a_paper_variant_refuses_another_mesh(tmp_path, aero_file):
    config = {"variant": "paper", "n_modes": 16, "fiber_width": 2, "fiber_depth": 1, "fiber_modes": 2}
    make_folder(tmp_path, RunSpec(TrainingConfig("hsd", config, epochs=1), data=str(aero_file), device="cpu"))
    path = run(tmp_path)
    this = task("ellipsoid_aerodynamics")
    predictor = load(path, this.mesh(450))
    with pytest.raises(InputError, match="does not carry over to another mesh") as error:
        predictor(predictor.domain, np.zeros((1, predictor.domain.n_vertices)))
    assert error.value.kind == "other_mesh"


def test_a_checkpoint_of_a_generated_file_knows_the_physics_of_the_file(tmp_path, monkeypatch):
    """Without the file the same samples are made again: other entries of the config, the same mesh and truths."""
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))
    file = generate("toroidal_transport", tmp_path / "d.npz", 12, 300, 3, config={"velocity": "rotation", "nu": 0.03})
    make_folder(tmp_path / "run", RunSpec(TrainingConfig("hsd", SMALL, epochs=1), data=str(file), device="cpu"))
    path = run(tmp_path / "run")
    manifest = read_checkpoint(path).manifest
    assert manifest["task_config"] == {"velocity": "rotation", "nu": 0.03}
    again, predictor = dataset_and_predictor(path, None, "cpu")
    assert again.path != file and np.array_equal(again.target, Dataset(file).target)
    same = predictor_on(path, domain_of(Dataset(file), 16))
    first, second = (evaluate(p, d).scores.mean for p, d in ((predictor, again), (same, Dataset(file))))
    assert first == second
    assert load(path).domain.field_names == predictor.domain.field_names
    assert np.array_equal(
        load(path).domain.arrays["field/velocity"], domain_of(Dataset(file), 16).arrays["field/velocity"]
    )


def test_a_file_of_default_physics_leaves_the_task_config_empty(aero_file):
    assert task_config_of(Dataset(aero_file)) == {}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


def flip_a_bit(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[-9] ^= 1
    path.write_bytes(raw)


def edit(**changes):
    def change(path: Path) -> None:
        beside = path.with_suffix(".json")
        manifest = json.loads(beside.read_text())
        for key, value in changes.items():
            if value is None:
                del manifest[key]
            elif isinstance(value, dict):
                manifest[key] |= value
            else:
                manifest[key] = value
        beside.write_text(json.dumps(manifest))

    return change


def spoil_weights(path: Path) -> None:
    """A NaN, with a checksum that agrees."""
    import hashlib

    weights = load_file(path)
    next(iter(weights.values())).view(-1)[0] = float("nan")
    save_file(weights, path)
    edit(sha256=hashlib.sha256(path.read_bytes()).hexdigest())(path)


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps({"weights": [1, 2, 3]}))


def zipped(path: Path) -> None:
    torch.save({"weights": torch.zeros(3)}, path)


MUTATIONS = {
    "truncated": (truncate, "bad_weights", "no whole safetensors file"),
    "bit flipped": (flip_a_bit, "other_weights", "checksums differ"),
    "NaN weight": (spoil_weights, "non_finite_weights", "not finite"),
    "wrong width": (edit(model_config={"channels": 3}), "other_architecture", "has shape"),
    "more layers": (edit(model_config={"layers": 2}), "other_architecture", "is missing"),
    "foreign manifest": (edit(sha256="0" * 64), "other_weights", "checksums differ"),
    "text file": (lambda p: p.write_text("not weights"), "bad_weights", "no whole safetensors file"),
    "empty file": (lambda p: p.write_bytes(b""), "bad_weights", "no whole safetensors file"),
    "pickle": (pickled, "pickle", "pickles can run code"),
    "torch.save": (zipped, "pickle", "pickles can run code"),
    "newer format": (edit(version=99), "newer_format", "update it"),
    "other program's manifest": (edit(format="something"), "bad_manifest", "not the manifest"),
    "broken manifest": (lambda p: p.with_suffix(".json").write_text("{"), "bad_manifest", "no readable JSON"),
    "lacking manifest": (edit(normaliser=None), "bad_manifest", "lacks normaliser"),
    "broken normaliser": (edit(normaliser={"channels": 3}), "bad_normaliser", "normaliser"),
    "broken scales": (edit(domain={"scales": {"measure": -1}}), "bad_manifest", "scales in the manifest"),
    "broken signature": (edit(signature={"source": 5}), "bad_manifest", "signature"),
    "unknown model": (edit(model="unet"), "unknown_model", "knows hsd"),
    "no manifest": (lambda p: p.with_suffix(".json").unlink(), "no_manifest", "missing beside"),
    "no file": (lambda p: p.unlink(), "no_file", "no checkpoint"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutated_checkpoint_ends_in_its_own_sentence(name, made, tmp_path):
    mutate, kind, words = MUTATIONS[name]
    path = copy_of(made[0], tmp_path)
    mutate(path)
    with pytest.raises(InputError, match=words) as error:
        predictor_on(path, domain_of(made[1], 16))
    assert error.value.kind == kind and "\n" not in error.value.message


def test_another_task_is_refused(made, car_file, tmp_path):
    domain = domain_of(Dataset(car_file), 16)
    with pytest.raises(InputError, match="another task") as error:
        predictor_on(made[0], domain)
    assert error.value.kind == "other_signature"
    this = task("toroidal_transport")
    transport = Domain.build(this, this.mesh(300), 16)
    with pytest.raises(InputError, match="another task") as error:
        predictor_on(made[0], transport)
    own, other = (asdict(p) for p in (read_checkpoint(made[0]).signature, Signature.of(transport)))
    for name in own:  # the fields that differ, and no others
        assert (f"{name}: {own[name]} against {other[name]}" in error.value.message) == (own[name] != other[name])


@pytest.mark.parametrize("suffix", (".pt", ".pth", ".pkl", ".ckpt", ".npz", ""))
def test_other_suffixes_are_refused_unopened(suffix, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError, match="are not opened") as error:
        read_checkpoint(path)
    assert error.value.kind == "suffix"
