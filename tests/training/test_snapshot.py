"""What a run predicts while it trains: the saved best weights on a validation sample, as the finished run does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd.data.dataset import Dataset
from hsd.errors import InputError
from hsd.training.config import TrainingConfig
from hsd.training.data import domain_of
from hsd.training.predictor import predictor_on
from hsd.training.run import CHECKPOINT, RunSpec, make_folder, run
from hsd.training.snapshot import Observer
from tests.training.conftest import make_dataset

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}


def begun(file, folder, epochs: int = 3, model: str = "hsd", entries: dict = SMALL):
    make_folder(folder, RunSpec(TrainingConfig(model, entries, epochs=epochs, batch_size=8), data=str(file)))
    return folder


def test_the_last_snapshot_is_what_the_checkpoint_predicts(aero_file, tmp_path):
    folder = begun(aero_file, tmp_path / "run")
    observer = Observer(folder)
    assert observer.stamp() == 0
    run(folder)
    assert observer.stamp() > 0
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    data = Dataset(aero_file)
    for i in (0, 1, len(observer.rows)):
        seen = observer.look(i)
        assert seen.epoch == min(log, key=lambda e: e["validation"])["epoch"]
        assert seen.number == data.part("validation").index[i % len(observer.rows)]
        predictor = predictor_on(folder / CHECKPOINT, domain_of(data, 16))
        source = np.asarray(data.array(f"input/{data.inputs[0].name}")[seen.number], float)[None]
        assert np.allclose(seen.nodes, predictor(predictor.domain, source).nodes[0], atol=1e-12)


def test_before_the_first_epoch_the_present_weights_are_shown(aero_file, tmp_path):
    folder = begun(aero_file, tmp_path / "run")
    assert run(folder, steps=1) is None
    seen = Observer(folder).look(0)
    assert seen.epoch == -1 and np.isfinite(seen.nodes).all()


def test_data_that_is_not_made_yet_and_broken_states_are_sentences(aero_file, tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path))
    make_folder(tmp_path / "new", RunSpec(TrainingConfig("hsd"), task="torus_helmholtz", n_samples=20, n_nodes=300))
    with pytest.raises(InputError, match="not there") as info:
        Observer(tmp_path / "new")
    assert info.value.kind == "no_data"
    observer = Observer(begun(aero_file, tmp_path / "run"))
    (tmp_path / "run" / "state.safetensors").write_bytes(b"not a state")
    with pytest.raises(InputError, match="cannot be read"):
        observer.look(0)


def test_a_run_does_not_go_on_with_data_of_another_schema(aero_file, tmp_path):
    file = tmp_path / "data.npz"
    file.write_bytes(aero_file.read_bytes())
    folder = begun(file, tmp_path / "run", model="deeponet", entries={"readings": 64})
    assert run(folder, steps=2) is None
    file.unlink()
    make_dataset(file, "toroidal_transport", 24, 300)
    with pytest.raises(InputError, match="do not fit its data any more"):
        run(folder)
