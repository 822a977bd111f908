"""Configs: read from text, refused with the known names."""

from __future__ import annotations

import json
import math
import os
from dataclasses import fields

import pytest
import torch

from hsd.errors import InputError, UnknownNameError
from hsd.models.hsd import HSD
from hsd.models.registry import MODELS, make_model, model_class
from hsd.processes import birth
from hsd.training.config import TrainingConfig
from hsd.training.run import RunSpec, alone_in, make_folder, read_folder, run, use_threads


def test_settings_are_read_from_text():
    config = TrainingConfig("hsd").with_entries(
        ["epochs=7", "lr=1e-3", "model.layers=4", "model.tied=false", "model.fiber=none", "loss=null"]
    )
    assert config.epochs == 7 and config.lr == 1e-3 and config.loss is None
    assert config.model_config == {"layers": 4, "tied": False, "fiber": "none"}
    assert TrainingConfig.from_dict(config.as_dict()) == config
    assert config.with_entries(["epochs=1e2", "lr=1e0"]).epochs == 100
    more = config.with_entries(["loss.flux=1", "loss.spectral_l1=0.1", "model.sizes=[64, 32]"])
    assert more.loss == {"flux": 1.0, "spectral_l1": 0.1} and more.model_config["sizes"] == [64, 32]


@pytest.mark.parametrize(
    "setting, words",
    {
        "epoch=3": "Unknown entry of the training config 'epoch'; known: .*epochs",
        "epochs": "key=value",
        "epochs=0": "at least 1",
        "epochs=2.5": "whole number",
        "lr=-1": "lr must be a number above 0; got -1",
        "lr=abc": "lr must be a number above 0; got 'abc'",
        "lr=nan": "lr must be a number",
        "clip=inf": "clip must be a number",
        "minutes=nan": "minutes must be a number",
        "weight_decay=-1": "weight_decay must be a number of at least 0",
        "seed=-1": "seed must be a whole number of at least 0",
        "seed=99999999999999999999999": "seed must be a whole number",
        "epochs=true": "whole number",
        "compile=maybe": "true or false",
        "loss=flux": "one by one",
        "loss.flux=nan": "weight of loss flux",
        "model=gno": "Unknown entry of the training config 'model'",
        "precision=float8": "Unknown precision",
        "schedule=linear": "Unknown schedule",
        "loss.flux=much": "is a number",
    }.items(),
)
def test_bad_settings_are_refused_in_one_sentence(setting, words):
    with pytest.raises((InputError, UnknownNameError), match=words):
        TrainingConfig("hsd").with_entries([setting])


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UnknownNameError, match="fno3d"):
        model_class("unet")
    with pytest.raises(UnknownNameError, match="channels"):
        HSD.make_config(None, chanels=3)
    assert set(MODELS) >= {"hsd"} and make_model.__doc__


@pytest.mark.parametrize("name, nearest", [("HSD", "hsd"), ("FNO-3D", "fno3d"), ("Geo FNO", "geo_fno"), ("unet", None)])
def test_the_nearest_known_name_is_proposed(name, nearest):
    with pytest.raises(UnknownNameError) as said:
        model_class(name)
    found = said.value.message.partition(" Did you mean ")[2]
    assert found == (f"{nearest}?" if nearest else "")


def test_a_run_has_a_task_or_a_file():
    with pytest.raises(InputError, match="not both"):
        RunSpec(TrainingConfig("hsd"))
    with pytest.raises(InputError, match="not both"):
        RunSpec(TrainingConfig("hsd"), task="magnetostatics", data="x.npz")
    spec = RunSpec(TrainingConfig("hsd", epochs=3), task="magnetostatics", n_nodes=300)
    assert RunSpec.from_dict(spec.as_dict()) == spec


def test_a_run_begun_with_another_version_of_its_model_does_not_go_on(tmp_path):
    spec = RunSpec(TrainingConfig("hsd", epochs=3), task="torus_helmholtz", n_nodes=300, n_samples=20)
    older = {key: value for key, value in spec.as_dict().items() if key != "version"}  # as they were written before
    assert RunSpec.from_dict(older).version == 1 < spec.version == HSD.version
    (tmp_path / "run.json").write_text(json.dumps(older))
    with pytest.raises(InputError, match=f"begun with version 1 .* has version {HSD.version}; start it again") as said:
        run(tmp_path)
    assert said.value.kind == "other_version"
    (tmp_path / "log.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="another run"):
        make_folder(tmp_path, spec)


BAD_ENTRIES = [
    ("lr", math.nan, "a number above 0"), ("lr", 0, "above 0"), ("weight_decay", "much", "at least 0"),
    ("layers", -3, "at least"), ("layers", "abc", "whole number"), ("width", 0, "at least 1"),
    ("width", True, "whole number"), ("heads", 7, "divide"), ("n_modes", 0, "at least 1"),
    ("channels", 0, "at least 1"), ("masked", "maybe", "true or false"), ("radius", -1.0, "above 0"),
    ("branch", [64, -1], "a list of whole numbers"), ("branch", 64, "a list of whole numbers"),
]  # fmt: skip


@pytest.mark.parametrize(
    "model, entry, value, words",
    [
        (name, *bad)
        for name in MODELS
        for bad in BAD_ENTRIES
        if bad[0] in {f.name for f in fields(model_class(name).Config)}
    ],
)
def test_bad_entries_of_a_model_are_refused_in_one_sentence_that_names_them(model, entry, value, words):
    cls = model_class(model)
    with pytest.raises(InputError, match=f"{entry}.*{words}") as said:
        cls.make_config(None, **{entry: value})
    assert said.value.kind == "bad_config"
    assert cls.make_config(None) == cls.Config()


def test_a_run_that_never_began_gives_its_folder_to_the_next(tmp_path):
    wrong = RunSpec(TrainingConfig("hsd", epochs=1), task="torus_helmholtz", task_config={"ellipsoid": 1})
    right = RunSpec(TrainingConfig("hsd", epochs=1), task="torus_helmholtz", n_nodes=300, n_samples=20)
    make_folder(tmp_path, wrong)
    with pytest.raises(UnknownNameError, match="ellipsoid"):
        run(tmp_path)
    make_folder(tmp_path, right)
    assert read_folder(tmp_path) == right
    with alone_in(tmp_path), pytest.raises(InputError, match="another run"):
        make_folder(tmp_path, wrong)
    (tmp_path / "process.json").write_text(json.dumps({"pid": os.getpid(), "born": birth(os.getpid())}))
    with pytest.raises(InputError, match="another run"):
        make_folder(tmp_path, wrong)


def test_an_unknown_task_is_refused_at_once_and_the_nearest_one_named():
    with pytest.raises(UnknownNameError, match="Did you mean torus_helmholtz"):
        RunSpec(TrainingConfig("hsd"), task="torus_helmholz")


def test_threads_are_at_most_the_cores_of_the_machine():
    there, before = os.cpu_count() or 1, torch.get_num_threads()
    with pytest.raises(InputError, match=f"has {there} CPU cores; take --threads {there} or fewer"):
        use_threads(there + 1)
    assert torch.get_num_threads() == before


def test_one_process_at_a_time_trains_in_a_folder(tmp_path):
    make_folder(tmp_path, RunSpec(TrainingConfig("hsd", epochs=1), task="torus_helmholtz", task_config={"nope": 1}))
    with alone_in(tmp_path), pytest.raises(InputError, match="Another process trains") as said:
        run(tmp_path)
    assert said.value.kind == "running"
    with pytest.raises(UnknownNameError):  # and afterwards the next may, and frees it however it ends
        run(tmp_path)
    with alone_in(tmp_path):
        pass
