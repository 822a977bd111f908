"""Configs: read from text, refused with the known names."""

from __future__ import annotations

import json

import pytest

from hsd.errors import InputError, UnknownNameError
from hsd.models.hsd import HSD
from hsd.models.registry import MODELS, make_model, model_class
from hsd.training.config import TrainingConfig
from hsd.training.run import RunSpec, make_folder, run


def test_settings_are_read_from_text():
    config = TrainingConfig("hsd").with_entries(
        ["epochs=7", "lr=1e-3", "model.layers=4", "model.tied=false", "model.fiber=none", "loss=null"]
    )
    assert config.epochs == 7 and config.lr == 1e-3 and config.loss is None
    assert config.model_config == {"layers": 4, "tied": False, "fiber": "none"}
    assert TrainingConfig.from_dict(config.as_dict()) == config
    more = config.with_entries(["loss.flux=1", "loss.spectral_l1=0.1", "model.sizes=[64, 32]"])
    assert more.loss == {"flux": 1.0, "spectral_l1": 0.1} and more.model_config["sizes"] == [64, 32]


@pytest.mark.parametrize(
    "setting, words",
    {
        "epoch=3": "Unknown entry of the training config 'epoch'; known: .*epochs",
        "epochs": "key=value",
        "epochs=0": "at least 1",
        "epochs=2.5": "whole number",
        "lr=-1": "positive",
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
    with pytest.raises(InputError, match="another run"):
        make_folder(tmp_path, spec)
