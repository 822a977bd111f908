"""Forms from config dataclasses: every entry with help and bounds, settings there and back."""

from __future__ import annotations

import pytest

from hsd.errors import InputError
from hsd.models.registry import MODELS, model_class
from hsd.training.config import TrainingConfig
from hsd.ui.training_entries import as_text, entries_of, helps_of, with_setting, without_model
from hsd.ui.training_fields import Limits
from hsd.ui.training_form import settings_of

CONFIGS = [TrainingConfig("hsd"), *(model_class(m).make_config() for m in MODELS)]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_every_entry_has_help_and_its_default_fits_its_bounds(config):
    for entry in entries_of(config, ("lr", "weight_decay")):
        assert entry.help, entry.name
        if entry.kind == "choice":
            assert entry.default in entry.choices and len(entry.choices) > 1
        if entry.kind in ("whole", "number"):
            assert entry.low <= entry.default <= entry.high


def test_help_is_the_docstring_of_the_entry_alone():
    helps = helps_of(TrainingConfig)
    assert helps["epochs"] == "passes over the training set" and helps["batch_size"] == "effective batch"
    assert helps["patience"].endswith("0: never") and helps["lr"] == helps["weight_decay"] == "None: the model's own"
    hsd = {e.name: e for e in entries_of(model_class("hsd").make_config("toroidal_transport"))}
    assert hsd["fiber"].choices == ("resolvent", "grid", "both", "none")
    assert hsd["layers"].default == 12 and hsd["layers"].low == 0 and hsd["channels"].low == 1


def test_a_setting_at_its_default_is_left_out():
    settings = with_setting(("lr=0.001",), "epochs", 5, 100)
    assert settings == ("lr=0.001", "epochs=5")
    assert with_setting(settings, "epochs", 100, 100) == ("lr=0.001",)
    assert with_setting((), "model.branch", [8, 8], (8, 8)) == ()
    assert without_model(("epochs=5", "model.layers=3")) == ("epochs=5",)
    assert as_text(None) == "null" and as_text(True) == "true" and as_text((4, 5)) == "[4, 5]"


def test_a_config_survives_as_settings():
    config = TrainingConfig(
        "deeponet", {"branch": [16, 8], "basis": 12}, epochs=3, lr=2e-3, minutes=0.5, loss={"flux": 2.0},
        schedule="constant", seed=4, compile=True,
    )  # fmt: skip
    assert TrainingConfig("deeponet").with_entries(settings_of(config)) == config
    assert settings_of(TrainingConfig("hsd")) == ()


def test_a_learning_rate_is_above_zero_and_up_to_one():
    entry = next(e for e in entries_of(TrainingConfig("hsd")) if e.name == "lr")
    limits = Limits("learning rate", entry.low, entry.high, entry.kind, entry.above)
    assert limits.read(1.0) == 1.0 and limits.read(1e-9) == 1e-9 and limits.read(None) is None
    for wrong in (-1, 0, 1.5, float("nan")):
        with pytest.raises(InputError, match="above 0, up to 1"):
            limits.read(wrong)
