"""Linear ridge of a table: the recipe of the task's card on the entry's own samples."""

from __future__ import annotations

import pytest

from hsd.data.card import task_card
from hsd.data.tasks import TASKS
from hsd.experiments import report
from hsd.experiments.records import Records
from hsd.experiments.report import ridge_scores, table, trivial_table
from hsd.experiments.suites import SUITES, Entry
from hsd.experiments.tables import results_of, write_results
from hsd.models.fno3d import FNO3D
from tests.ui.benchmark_records import record_of

SIZES = {"n_samples": 40, "n_nodes": 300}


SLOW = ("external_aerodynamics", "magnetostatics")
"""Tasks whose mesh or truths take long to make."""


@pytest.mark.parametrize("task", [pytest.param(t, marks=pytest.mark.full if t in SLOW else ()) for t in TASKS])
def test_ridge_and_trivial_predictors_are_those_of_the_card_of_the_same_samples(task):
    card = task_card(task, **SIZES)
    found = ridge_scores(Entry("hsd", task, "hsd", **SIZES))
    expected = {name: error for name, error in card["predictors"].items() if error is not None}
    assert found["errors"] == pytest.approx(expected, rel=1e-5)
    assert found["modes"] == card["ridge"]["modes"] and found["penalty"] == pytest.approx(
        card["ridge"]["penalty"], 0.01
    )


def test_ridge_of_fewer_training_samples_and_of_another_part_is_another_one():
    task = "ellipsoid_aerodynamics"
    whole, few = (ridge_scores(Entry("hsd", task, "hsd", n_train=n, **SIZES)) for n in (0, 10))
    assert few["relative_l2"] != whole["relative_l2"] and few["errors"]["mean"] > whole["errors"]["mean"]
    assert ridge_scores(Entry("hsd", task, "hsd", **SIZES), "validation")["relative_l2"] != whole["relative_l2"]


def test_ridge_is_computed_once_for_the_samples_of_a_suite_and_kept_in_its_table(tmp_path, monkeypatch):
    task, calls = "ellipsoid_aerodynamics", []

    def ridge(entry, part, progress):
        calls.append(entry.n_train)
        data = {key: getattr(entry, key) for key in ("n_samples", "n_nodes", "n_train")}
        return {"relative_l2": 0.5, "errors": {"ridge": 0.5}, "part": part, **data}

    monkeypatch.setattr(report, "ridge_scores", ridge)
    records = Records(tmp_path)
    few = [Entry(model, task, model, n_train=100) for model in ("hsd", "fno3d")]
    found = trivial_table(few, records)
    assert calls == [100] and found[task]["errors"] == {"ridge": 0.5}
    row = {"task": task, "label": "hsd", "model": "hsd", "seed": 0, "minutes": 6.0, "test": None}
    write_results(results_of("small", [row], "test", found), records)
    assert trivial_table(few, records) == found and calls == [100]
    assert trivial_table(few, records, "validation")[task]["part"] == "validation" and calls == [100, 100]
    main = next(e for e in SUITES["others"] if e.task == task)
    assert 0.7 < trivial_table([main], records)[task]["errors"]["ridge"] < 0.8 and calls == [100, 100]  # of the card


def test_a_record_of_an_older_version_is_shown_as_it_was_and_its_test_part_is_not_read(tmp_path, monkeypatch):
    entry = next(e for e in SUITES["others"] if e.model == "fno3d")
    records = Records(tmp_path)
    records.write(entry, record_of(entry, 0.3, test=False))
    monkeypatch.setattr(report, "with_test", lambda *_: pytest.fail("read"))
    monkeypatch.setattr(FNO3D, "version", 2, raising=False)
    (row,) = table([entry], tmp_path, records)
    assert (row["model_version"], row["newest_version"], row["test"]) == (1, 2, None)
    assert row["validation"]["relative_l2"] > 0
