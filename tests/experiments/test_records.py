"""Records are of one entry and one way of building its model; small, plain and finite."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest

from hsd.experiments.records import (
    CURVE_POINTS,
    SCHEMA,
    Records,
    is_of,
    is_older,
    rounded,
    text_of,
    thin_curve,
    version_of,
)
from hsd.experiments.suites import SUITES, Entry
from hsd.models.hsd import HSD

ENTRY = Entry("hsd", "ellipsoid_aerodynamics", "hsd", {"n_modes": 16}, minutes=6.0)


def record(entry: Entry = ENTRY, **more) -> dict:
    return {
        "schema": SCHEMA,
        "entry": entry.name,
        **asdict(entry),
        "cut": None,
        "model_version": version_of("hsd"),
    } | more


@pytest.mark.parametrize(
    "other",
    [
        replace(ENTRY, config={"n_modes": 32}),
        replace(ENTRY, minutes=3.0),
        replace(ENTRY, n_samples=40),
        replace(ENTRY, n_nodes=300),
        replace(ENTRY, n_train=100),
        replace(ENTRY, seed=1),
        replace(ENTRY, batch_size=64),
    ],
)
def test_a_record_of_another_config_budget_data_or_seed_does_not_count(other, tmp_path):
    records = Records(tmp_path)
    records.write(ENTRY, record())
    assert records.read(ENTRY)["entry"] == ENTRY.name
    assert not is_of(records.read(ENTRY), other) and records.read(other) is None


def test_a_model_that_is_built_differently_by_now_has_no_record():
    built = {"n_modes": 16, "gone": 1}
    assert is_of(record(model_config=built), ENTRY)
    assert not is_of(record(model_config={**built, "hidden": 7}), ENTRY)
    assert not is_of({**record(), "schema": "older"}, ENTRY)


def test_an_entry_that_changes_nothing_does_not_tell_records_apart():
    for entries, idle in ({"variant": "paper"}, True), ({"layers": 0}, True), ({"layers": 2}, False):
        entry = replace(ENTRY, model="hsd", config=entries)
        built = asdict(HSD.make_config(entry.task, **entries)) | {"penalty": 0.7}
        one = record(model="hsd", config=entries, model_config=built, model_version=HSD.version)
        assert is_of(one, entry) == idle


def test_a_record_of_an_older_version_of_its_model_is_not_done(tmp_path, monkeypatch):
    monkeypatch.setattr(HSD, "version", 1, raising=False)
    records = Records(tmp_path)
    unnamed = record()
    del unnamed["model_version"]  # as before versions were recorded
    records.write(ENTRY, unnamed)
    assert records.read_whole(ENTRY) == unnamed and records.read_older(ENTRY) is None
    monkeypatch.setattr(HSD, "version", 2)
    assert records.read(ENTRY) is None and records.read_older(ENTRY) == unnamed and is_older(unnamed)
    assert records.read_older(replace(ENTRY, minutes=3.0)) is None
    records.write(ENTRY, record(model_version=2))
    assert records.read(ENTRY)["model_version"] == 2 and records.read_older(ENTRY) is None
    monkeypatch.setattr(HSD, "version", 1)
    assert not is_of(record(model_version=2), ENTRY) and not is_older(record(model_version=2))


def test_a_run_that_was_cut_short_is_recorded_but_not_whole(tmp_path):
    records = Records(tmp_path)
    records.write(ENTRY, record() | {"cut": 4.0})
    assert records.read(ENTRY)["cut"] == 4.0 and records.read_whole(ENTRY) is None


def test_a_damaged_record_is_none(tmp_path):
    records = Records(tmp_path)
    records.write(ENTRY, record())
    text = records.path(ENTRY).read_text()
    records.path(ENTRY).write_text(text[: len(text) // 2])
    assert records.read(ENTRY) is None


def test_curves_keep_their_ends_and_at_most_sixty_points():
    log = [{"epoch": i, "seconds": i, "train_loss": 1 / (i + 1), "validation": 2.0} for i in range(1000)]
    curve = thin_curve(log)
    assert len(curve["epoch"]) <= CURVE_POINTS and (curve["epoch"][0], curve["epoch"][-1]) == (0, 999)
    assert thin_curve(log[:3])["train_loss"] == [e["train_loss"] for e in log[:3]]
    assert thin_curve([])["epoch"] == []


def test_text_is_valid_json_with_rounded_finite_numbers_and_unchanged_words():
    value = {"a": [1.23456789, math.nan, 3], "words": "[ a,\n b ]", "rows": [[1.0, 2.0], [3.0, 4.0]], "n": 12345678}
    text = text_of(rounded(value))
    assert json.loads(text) == {"a": [1.23457, None, 3], "words": "[ a,\n b ]", "rows": [[1, 2], [3, 4]], "n": 12345678}
    assert '"a": [1.23457, null, 3]' in text


def test_equal_names_mean_equal_runs_over_all_suites_that_share_records():
    named: dict[str, Entry] = {}
    for suite, entries in SUITES.items():
        for entry in entries if suite != "smoke" else ():
            assert named.setdefault(entry.name, entry) == entry, entry.name
