"""Checkpoints: what is saved comes back, and every damaged or foreign file ends in its own sentence."""

from __future__ import annotations

import json
import pickle
import warnings
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
from hsd.errors import InputError, SolverError, UnknownNameError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery
from hsd.models.base import Signature
from hsd.training.checkpoint import read_checkpoint
from hsd.training.config import TrainingConfig
from hsd.training.data import domain_of
from hsd.training.evaluate import arrays_of, evaluate
from hsd.training.loading import dataset_and_predictor, predict_all, predictors
from hsd.training.predictor import OtherMeshWarning, load, predictor_on
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
    beyond = there.fiber_sum(plain, other.model.fiber_weights)
    batch = replace(batch, fiber_sum=torch.as_tensor(beyond).to(batch.source))
    with torch.no_grad():
        wanted = other.normaliser.invert("target", other.model(batch, there).forms.double().numpy())
    found = other(other.domain, source, {}).forms
    assert np.array_equal(found, wanted)
    older = copy_of(path, tmp_path)
    edit(domain={"scales": None})(older)
    before = load(older)  # on the mesh of training itself they are not needed
    there = this.realise(this.samples(0, 0, 3), Ground(own.domain.mesh))
    (at_home,) = there.inputs.values()
    assert before.own(before.domain) is before.domain
    assert np.array_equal(before(before.domain, at_home, {}).forms, own(own.domain, at_home, {}).forms)
    for use in (lambda: load(older, this.mesh(600)), lambda: before(other.domain, source, {})):
        with pytest.raises(InputError, match="use it on its own mesh, or train it again") as error:
            use()
        assert error.value.kind == "bad_manifest"


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


GONE, NULL = object(), object()


def put(where: str, value: object):
    """Set (NULL: to null, GONE: delete) the entry of a manifest under keys joined by dots."""

    def change(path: Path) -> None:
        beside = path.with_suffix(".json")
        manifest = json.loads(beside.read_text())
        *keys, last = where.split(".")
        inside = manifest
        for key in keys:
            inside = inside[key]
        if value is GONE:
            del inside[last]
        else:
            inside[last] = None if value is NULL else value
        beside.write_text(json.dumps(manifest))

    return change


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
    "broken normaliser": (edit(normaliser={"channels": 3}), "bad_manifest", "normaliser.channels in"),
    "broken scales": (edit(domain={"scales": {"measure": -1}}), "bad_manifest", "scales in model.json"),
    "broken signature": (edit(signature={"source": 5}), "bad_manifest", "signature"),
    "unknown model": (edit(model="unet"), "unknown_model", "knows hsd"),
    "no task": (put("task", GONE), "bad_manifest", "model.json lacks task"),
    "task a number": (put("task", 5), "bad_manifest", "task in model.json must be the name of a task or null"),
    "no task config": (put("task_config", GONE), "bad_manifest", "model.json lacks task_config"),
    "no data": (put("data", GONE), "bad_manifest", "model.json lacks data"),
    "domain null": (put("domain", NULL), "bad_manifest", "domain in model.json must be an object; got None"),
    "model config null": (put("model_config", NULL), "bad_manifest", "model_config in model.json must be an object"),
    "model a list": (put("model", ["hsd"]), "bad_manifest", "model in model.json must be a text"),
    "no mesh hash": (put("domain.mesh_hash", GONE), "bad_manifest", "model.json lacks domain.mesh_hash"),
    "no modes": (put("domain.n_modes", GONE), "bad_manifest", "model.json lacks domain.n_modes"),
    "modes a text": (put("domain.n_modes", "16"), "bad_manifest", "domain.n_modes in model.json must be a whole"),
    "modes true": (put("domain.n_modes", True), "bad_manifest", "domain.n_modes in model.json must be a whole"),
    "half a node": (put("domain.n_nodes", 300.5), "bad_manifest", "domain.n_nodes in model.json must be a whole"),
    "many nodes": (put("domain.n_nodes", 10**6), "bad_manifest", "domain.n_nodes in model.json must be at most"),
    "huge grid": (put("domain.grid_size", 10**6), "bad_manifest", "domain.grid_size in model.json must be .* 4 to 256"),
    "huge number": (put("domain.n_vertices", 10**400), "bad_manifest", "domain.n_vertices in model.json"),
    "huge width": (put("model_config.hidden", 10**9), "bad_manifest", "model_config.hidden in model.json .* at most"),
    "width a text": (
        put("model_config.hidden", "8"),
        "bad_manifest",
        "model_config in model.json is none of the model",
    ),
    "other model": (put("model", "fno3d"), "bad_manifest", "model_config in model.json is none of the model fno3d"),
    "no target": (put("normaliser.target", GONE), "bad_manifest", "normaliser in model.json lacks the channel target"),
    "no input": (put("normaliser.input/vorticity", GONE), "bad_manifest", "lacks the channel input/"),
    "scale a text": (put("normaliser.target.scale", "1"), "bad_manifest", "normaliser.target in model.json must be"),
    "scale 0": (put("normaliser.target.scale", 0.0), "bad_manifest", "normaliser.target in model.json must be"),
    "no version": (put("version", GONE), "bad_manifest", "model.json lacks version"),
    "version a text": (put("version", "1"), "bad_manifest", "version in model.json must be a whole number"),
    "version 0": (put("version", 0), "bad_manifest", "version in model.json must be a whole number"),
    "signature null": (put("signature", NULL), "bad_manifest", "signature in model.json must be an object"),
    "reading a number": (put("signature.source", [0, 1]), "bad_manifest", "signature in model.json cannot be read"),
    "dimension a text": (put("signature.dim", "2"), "bad_manifest", "signature.dim in model.json must be a whole"),
    "measure 0": (put("domain.scales.measure", 0.0), "bad_manifest", "scales in model.json .* above 0"),
    "scale2 0": (put("domain.scales.scale2", 0), "bad_manifest", "scales in model.json .* above 0"),
    "infinite cutoff": (put("domain.scales.cutoff", float("inf")), "bad_manifest", "scales in model.json"),
    "absurd cutoff": (put("domain.scales.cutoff", 1e300), "bad_manifest", "cutoff · scale2 = 1e.300"),
    "small measure": (put("domain.scales.measure", 1e-3), "bad_manifest", "contradict each other"),
    "other scale2": (put("domain.scales.scale2", 20.0), "bad_manifest", "contradict each other"),
    "other cutoff": (put("domain.scales.cutoff", 1.0), "bad_manifest", "than the mesh of training has"),
    "no placement": (put("domain.placements", []), "bad_manifest", "placements in model.json"),
    "broken placement": (put("domain.placements", [{"betti": "x"}]), "bad_manifest", "placement in model.json"),
    "deep manifest": (lambda p: p.with_suffix(".json").write_text("[" * 10**5), "bad_manifest", "no readable JSON"),
    "no manifest": (lambda p: p.with_suffix(".json").unlink(), "no_manifest", "missing beside"),
    "no file": (lambda p: p.unlink(), "no_file", "no checkpoint"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutated_checkpoint_ends_in_its_own_sentence(name, made, tmp_path):
    mutate, kind, words = MUTATIONS[name]
    path = copy_of(made[0], tmp_path)
    mutate(path)
    for use in (lambda: predictor_on(path, domain_of(made[1], 16)), lambda: load(path)):
        with pytest.raises(InputError, match=words) as error:
            use()
        assert error.value.kind == kind and "\n" not in error.value.message


@pytest.mark.parametrize("name", ("domain null", "model config null", "no task", "huge grid"))
def test_evaluate_says_an_altered_manifest_in_one_sentence(name, made, tmp_path, capsys):
    mutate, kind, _ = MUTATIONS[name]
    path = copy_of(made[0], tmp_path)
    mutate(path)
    assert main(["evaluate", str(path), "--data", str(made[1].path), "--device", "cpu"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error [{kind}]") and "model.json" in said and said.count("\n") == 1


def test_a_task_that_is_none_of_this_program_is_said_with_the_file(made, tmp_path):
    for change in (put("task", "heat"), put("task_config.viscosity", 3)):
        path = copy_of(made[0], tmp_path)
        change(path)
        with pytest.raises(InputError, match=r"model.json tells no task of this program: Unknown") as error:
            load(path)
        assert error.value.kind == "bad_manifest"


def test_sizes_that_no_memory_holds_are_a_sentence(made, tmp_path, monkeypatch):
    def full(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 44000000000 bytes.")

    monkeypatch.setattr("hsd.training.predictor.make_model", full)
    with pytest.raises(SolverError, match=r"model that model.json describes needs more memory"):
        load(made[0])
    monkeypatch.setattr("hsd.training.predictor.Domain.build", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(SolverError, match=r"domain of model.safetensors needs more memory"):
        load(made[0])


def test_load_takes_a_run_folder_and_says_what_is_no_mesh_or_no_device(made, tmp_path, monkeypatch):
    for file in (made[0], made[0].with_suffix(".json")):
        (tmp_path / f"model{file.suffix}").write_bytes(file.read_bytes())
    assert load(tmp_path).manifest == load(made[0]).manifest
    with pytest.raises(InputError, match=r"has no model.safetensors") as error:
        load(tmp_path.parent)
    assert error.value.kind == "no_checkpoint"
    with pytest.raises(InputError, match=r"as hsd.load_mesh.file. gives it; got 'x' of type str") as error:
        load(made[0], "x")
    assert error.value.kind == "no_mesh"
    with pytest.raises(UnknownNameError, match="device 'gpu'"):
        load(made[0], device="gpu")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match="No CUDA device") as error:
        load(made[0], device="cuda")
    assert error.value.kind == "no_gpu"


def test_a_predictor_takes_no_samples_and_refuses_what_are_no_real_numbers(made):
    predictor = load(made[0])
    n = predictor.domain.n_vertices
    none = predictor(predictor.domain, np.zeros((0, n)))
    some = predictor(predictor.domain, np.ones((2, n)))
    assert none.nodes.shape == (0, *some.nodes.shape[1:]) and none.forms.shape == (0, some.forms.shape[1])
    for source in ("forms", np.ones((1, n)) * 1j, np.full((1, n), "1"), [[1.0], [1.0, 2.0]], np.full((1, n), None)):
        with pytest.raises(InputError, match="source must be an array of real numbers") as error:
            predictor(predictor.domain, source)
        assert error.value.kind == "not_numbers"
    with pytest.raises(InputError, match=r"shape \(B, "):
        predictor(predictor.domain, np.zeros((0, n + 1)))


def test_a_prediction_that_is_not_finite_is_said(made):
    predictor = load(made[0])
    source = np.ones((3, predictor.domain.n_vertices))
    source[1] *= 1e300
    with (
        warnings.catch_warnings(),
        pytest.raises(InputError, match=r"prediction of HSD on .* vertices. is not finite for sample 1 of 3") as error,
    ):
        warnings.simplefilter("error")
        predictor(predictor.domain, source)
    assert error.value.kind == "non_finite_prediction"


def copies(mesh: Mesh) -> dict[str, Mesh]:
    """The same shape in other units, turned and moved."""
    turn = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    changed = {"scaled": 0.01 * mesh.points, "turned": mesh.points @ turn, "moved": mesh.points + [3.0, 1.0, -2.0]}
    return {name: replace(mesh, points=points) for name, points in changed.items()}


def test_a_predictor_says_what_another_mesh_may_make_wrong_and_nothing_on_a_resolution_of_its_own(made):
    path, this = made[0], task("ellipsoid_aerodynamics")
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherMeshWarning)
        assert load(path).notices == load(path, this.mesh(700)).notices == ()
        assert load(path, copies(this.mesh(300))["moved"]).notices == ()  # it reads places from the centre
    for name, words in (("scaled", "area is 0.0001 times"), ("turned", "is turned against")):
        with pytest.warns(OtherMeshWarning, match=words) as found:
            predictor = load(path, copies(this.mesh(300))[name])
        assert [str(w.message) for w in found] == list(predictor.notices) and len(found) == 1
        assert found[0].filename == __file__
    with pytest.warns(OtherMeshWarning) as found:
        load(path, gallery("sphere", 300))
    assert [any(words in str(w.message) for w in found) for words in ("another shape", "turned")] == [True, False]


def test_an_older_manifest_tells_other_units_alone(made, tmp_path):
    path, this = copy_of(made[0], tmp_path), task("ellipsoid_aerodynamics")
    put("domain.placements", GONE)(path)
    meshes = copies(this.mesh(300))
    with pytest.warns(OtherMeshWarning, match="area is 0.0001 times"):
        load(path, meshes["scaled"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherMeshWarning)
        load(path, meshes["turned"])


def test_the_commands_print_notices_as_notes(made, tmp_path, capsys):
    path, data = copy_of(made[0], tmp_path), str(made[1].path)
    manifest = json.loads(path.with_suffix(".json").read_text())["domain"]
    measure = 100 * manifest["placements"][0]["measure"]
    put("domain.mesh_hash", "of another mesh")(path)
    put("domain.placements", [{**manifest["placements"][0], "measure": measure}])(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherMeshWarning)
        for words in (["evaluate", "--data", data], ["predict", "--input", data, "--out", str(tmp_path / "p.npz")]):
            assert main([words[0], str(path), *words[1:], "--device", "cpu"]) == 0
            said = capsys.readouterr().err
            assert said.startswith("note: The mesh's area is 0.01 times") and said.count("\n") == 1


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
