"""Costs: measured in processes of their own with an empty cache, of the models that the checkpoints name."""

from __future__ import annotations

import json

import pytest

from hsd.cli import main
from hsd.data.splits import split_sizes
from hsd.errors import HsdError
from hsd.experiments.cost import costs
from hsd.experiments.cost_table import Cost, machine_words, markdown, rows_in
from hsd.experiments.tables import percent
from hsd.models.registry import model_class
from hsd.training.config import TrainingConfig
from hsd.training.run import RunSpec, make_folder, run

NAME, N, NODES = "ellipsoid_aerodynamics", 30, 300
SMALL = {"hsd": {"n_modes": 24, "channels": 2, "hidden": 8}, "deeponet": {}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    out = []
    for model, config in SMALL.items():
        folder = tmp_path_factory.mktemp("runs") / model
        training = TrainingConfig(model, config, epochs=1, batch_size=16)
        make_folder(folder, RunSpec(training, NAME, n_samples=N, n_nodes=NODES, device="cpu"))
        run(folder)
        out.append(folder)
    return out


@pytest.fixture(scope="module")
def found(folders) -> list[Cost]:
    return list(costs(folders, "cpu", 1, 0.05))


def test_each_model_is_measured_on_samples_of_its_task(found):
    assert [row.label for row in found] == list(SMALL)
    for row in found:
        assert row.task == NAME and abs(row.n_vertices - NODES) < 0.2 * NODES
        assert row.n_train == split_sizes(N)["train"] and row.at_once == 16
        assert row.epoch_s == pytest.approx(row.step_ms / 1000 * row.n_train / 16)
        assert row.preparation_s > 0 and row.memory_mb > 50
        assert 0 < row.forward_ms < row.step_ms, "a step of sixteen samples holds a forward pass of each"


def test_features_are_part_of_the_forward_pass_of_models_that_read_them(found):
    hsd, deeponet = found
    assert deeponet.features_ms == 0 and 0 < hsd.features_ms < hsd.forward_ms
    for row in found:
        assert row.parameters > 0 and model_class(row.label).title


@pytest.mark.full
def test_the_command_writes_what_it_prints(folders, tmp_path, capsys):
    assert (
        main(["cost", str(folders[1]), "--seconds", "0.05", "--threads", "1", "--json", str(tmp_path / "c.json")]) == 0
    )
    rows, where = rows_in((tmp_path / "c.json").read_text())
    assert capsys.readouterr().out == markdown(rows, where)
    assert where["threads"] == 1 and f"{rows[0]['parameters']:,}" in markdown(rows, where)
    with pytest.raises(ValueError):
        rows_in(json.dumps([1]))


def test_a_busy_machine_is_said():
    where = {"name": "CPU", "cores": 2, "threads": 2, "torch": "2", "device": "cpu", "load": 0.1}
    assert "other work" not in machine_words(where) and "1.5 cores" in machine_words({**where, "load": 1.5})


def test_what_cannot_be_measured_is_said(folders, tmp_path):
    assert main(["cost", str(tmp_path)]) == 1
    program = ("sh", "-c", "echo out of memory >&2; exit 3")
    with pytest.raises(HsdError, match="hsd/model could not be measured: out of memory"):
        list(costs(folders[:1], "cpu", 1, 0.05, program=program))


def test_less_than_all_is_never_a_hundred_per_cent():
    assert [percent(x) for x in (0.914, 0.996, 0.99996, 1.0, -0.5)] == ["91 %", "99.6 %", "99.996 %", "100 %", "-50 %"]
