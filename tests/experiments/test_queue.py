"""The queue of runs: resumable, honest about failures; tables read the test part once; ablations really differ."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd.errors import InputError, UnknownNameError
from hsd.experiments import queue as queue_module
from hsd.experiments.queue import read_result, run_queue
from hsd.experiments.report import markdown, ridge_scores, scores_on_test, table
from hsd.experiments.suites import OTHER_ROWS, SUITES, TRANSPORT_ROWS, Entry, suite
from hsd.models.hsd import HSD
from hsd.models.registry import model_class

SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}
SIZES = {"epochs": 2, "n_samples": 40, "n_nodes": 300}


def entry(label: str = "hsd", model: str = "hsd", **config) -> Entry:
    return Entry(label, "ellipsoid_aerodynamics", model, {**SMALL, **config} if model == "hsd" else config, **SIZES)


def test_the_queue_goes_on_after_a_failure_and_repeats_nothing(tmp_path, monkeypatch):
    entries = [entry(), entry("broken", variant="best"), entry("other", channels=3)]
    said = []
    results = run_queue(entries, tmp_path, "cpu", report=said.append)
    assert [r["label"] for r in results] == ["hsd", "broken", "other"] and len(said) == 3
    assert "Unknown variant" in results[1]["error"]["message"]
    good = results[0]
    assert good["validation"]["relative_l2"] > 0 and good["training"]["epochs"] == 2 and good["peak_memory_mb"] > 50

    def never(*_):
        raise AssertionError("a finished entry was run again")

    monkeypatch.setattr(queue_module, "run_entry", never)
    assert run_queue(entries, tmp_path, "cpu") == results
    rows = table(entries, tmp_path, device="cpu")
    first = (tmp_path / entries[0].name / "test.json").read_text()
    again = table(entries, tmp_path, device="cpu")
    assert rows == again and (tmp_path / entries[0].name / "test.json").read_text() == first
    assert rows[0]["test"]["relative_l2"] != rows[0]["validation"]["relative_l2"]
    text = markdown(rows)
    assert "| hsd |" in text and "failed: Unknown variant" in text
    ridge = ridge_scores(entries[0])["relative_l2"]
    assert 0 < ridge < 1.5 and np.isfinite(ridge)
    with pytest.raises(InputError, match="no result yet"):
        scores_on_test(entry("never"), tmp_path)
    (tmp_path / entries[0].name / "result.json").write_text(json.dumps({"schema": "old"}))
    assert read_result(tmp_path / entries[0].name) is None


def test_names_of_entries_are_unique_in_every_suite():
    for name, entries in SUITES.items():
        names = [e.name for e in entries]
        assert len(set(names)) == len(names) and names, name
    with pytest.raises(UnknownNameError, match="ablation_transport"):
        suite("everything")


@pytest.mark.parametrize("task", ("toroidal_transport", "other"))
def test_every_ablation_differs_from_the_full_model(task):
    rows = TRANSPORT_ROWS if task == "toroidal_transport" else OTHER_ROWS
    tasks = [task] if task == "toroidal_transport" else sorted({e.task for e in SUITES["ablation_others"]})
    for name in tasks:
        full = HSD.make_config(name)
        same = [label for label, entries in rows.items() if HSD.make_config(name, **entries) == full]
        assert same == ["full"], f"{name}: {same} are the same model"


def test_every_entry_makes_a_valid_run():
    for entries in SUITES.values():
        for e in entries:
            model_class(e.model).make_config(e.task, **e.config)
            assert e.spec("cpu").task == e.task
