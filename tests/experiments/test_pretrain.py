"""Pretraining: the most wanted first, resumable, within its budget; only better checkpoints replace shipped ones."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace

import pytest
import torch

from hsd.cli import main
from hsd.errors import InputError, UnknownNameError
from hsd.experiments import pretrain as pretrain_module
from hsd.experiments.golden import TOLERANCE, golden_difference
from hsd.experiments.pretrain import (
    LABEL_ORDER,
    TASK_ORDER,
    Session,
    checkpoint_of,
    pack,
    part_done,
    plan,
    pretrain,
    wanted,
)
from hsd.experiments.queue import run_entry, run_queue
from hsd.experiments.records import Records
from hsd.experiments.report import table
from hsd.experiments.shipped import (
    LABELS,
    install,
    label_of,
    protocol_of,
    refusal,
    shipped,
    shipped_checkpoints,
    shipped_path,
)
from hsd.experiments.suites import SUITES
from hsd.experiments.tables import markdown, results_of
from hsd.linalg import silent
from hsd.models.hsd import HSD
from hsd.models.presets import PRESETS, TINIER_ALREADY
from hsd.training.predictor import load

TASK = "ellipsoid_aerodynamics"
TINY = {"n_samples": 40, "n_nodes": 300, "epochs": 2}


def entries(*labels):
    return wanted([TASK], labels, **TINY)


@pytest.fixture
def session(in_process, tmp_path):
    root, records = tmp_path / "checkpoints", Records(tmp_path / "results")
    return Session(root, records, tmp_path / "out", 600.0, "cpu", threads=1)


def states(session, todo):
    return {label_of(s.entry): s.state for s in plan(todo, session.root, session.records, session.out)}


def test_wanted_entries_are_those_of_the_suites_tasks_and_labels_in_their_order():
    todo = wanted()
    assert {e.name for e in todo} == {e.name for e in (*SUITES["main"], *SUITES["others"])}
    tiny = [(task, "hsd-tiny") for task in ("vorticity_dynamics", "external_aerodynamics")]
    order = [(t, m) for t in TASK_ORDER for m in LABEL_ORDER if (t, m) not in tiny]
    assert [(e.task, label_of(e)) for e in todo] == order
    with pytest.raises(InputError, match="as small as hsd-tiny already"):
        wanted(["vorticity_dynamics"], ["hsd-tiny"])
    assert set(LABEL_ORDER) == set(LABELS)
    full = wanted(["magnetostatics", "toroidal_transport"], ["hsd"], protocol="full")
    assert [(e.task, e.minutes, e.epochs, e.n_samples) for e in full] == [
        ("toroidal_transport", 0.0, 50, 3000),
        ("magnetostatics", 0.0, 100, 3000),
    ]
    with pytest.raises(UnknownNameError, match="hsd-paper"):
        wanted(None, ["hsd paper"])


def test_tiny_is_the_default_on_external_aerodynamics():
    task = "external_aerodynamics"
    assert HSD.make_config(task) == HSD.make_config(task, **PRESETS["tiny"]) and task in TINIER_ALREADY


def test_the_session_ships_what_is_missing_and_the_suite_has_nothing_left_to_run(session, monkeypatch, tmp_path):
    todo, said = entries("hsd-tiny", "hsd"), []
    session.report = said.append
    assert set(states(session, todo).values()) == {"missing"}
    assert [step.state for step in pretrain(todo, session)] == ["done", "done"]
    found = shipped_checkpoints(TASK, session.root, session.records.folder)
    assert [s.label for s in found] == ["hsd", "hsd-tiny"] and "installed" in said[1]
    for s in found:
        record = session.records.read(next(e for e in todo if label_of(e) == s.label))
        assert s.validation == record["validation"] and s.protocol["entry"] == record["entry"]
        assert not s.is_cut and s.test is None and s.protocol["epochs_done"] == 2
        predictor = load(s.path)
        assert golden_difference(predictor, s.path.parent) < TOLERANCE
        with torch.no_grad():
            next(predictor.model.parameters()).add_(0.05)
        assert golden_difference(predictor, s.path.parent) > TOLERANCE
    assert (session.root / TASK / "hsd.json").stat().st_size < 20_000
    monkeypatch.setattr("hsd.experiments.queue.run_entry", lambda *_: pytest.fail("run again"))
    assert len(run_queue(todo, tmp_path / "fresh", "cpu", records=session.records)) == 2

    with (
        tarfile.open(tmp_path / "a.tar.gz") if pack(tmp_path / "a.tar.gz", session.root, session.records) else None as a
    ):
        names = a.getnames()
    assert f"checkpoints/{TASK}/hsd.safetensors" in names and f"results/runs/{todo[0].name}.json" in names

    shutil.rmtree(session.out)  # a fresh machine: the weights are shipped, nothing is to be done
    assert set(states(session, todo).values()) == {"done"}
    shipped_path(TASK, "hsd", session.root).unlink()
    assert states(session, todo) == {"hsd": "missing", "hsd-tiny": "done"}
    with pytest.raises(InputError, match="pretrain --tasks ellipsoid_aerodynamics --models hsd"):
        shipped(TASK, "hsd", session.root)
    assert shipped(TASK, "hsd-tiny", session.root).is_file()


def test_a_checkpoint_is_replaced_only_by_a_better_one_of_no_smaller_protocol(session):
    (entry,) = entries("hsd-tiny")
    pretrain([entry], session)
    record = session.records.read(entry)
    checkpoint = checkpoint_of(record, entry, session.out)
    worse, better = (record["validation"]["relative_l2"] * f for f in (1.1, 0.9))

    def with_error(error, **more):
        return {**record, **more, "validation": {"relative_l2": error}, "wall_seconds": 1, "sha256": "0" * 64}

    def refused(found):
        return refusal(found, entry, session.root)

    assert refused(record) == "it is there already" and install(checkpoint, record, entry, session.root)
    assert "not below" in refused(with_error(worse)) and refused(with_error(better)) is None
    assert "larger protocol" in refused(with_error(better, epochs=1))
    assert "larger protocol" in refused(with_error(better, n_samples=39))
    assert "larger protocol" in refused(with_error(better, cut=1.0))
    assert refused(with_error(better, n_samples=80, epochs=4)) is None
    assert "larger protocol" in refused(with_error(better, minutes=6.0, training={**record["training"], "epochs": 1}))
    with pytest.raises(InputError, match="is not the checkpoint"):
        install(checkpoint, with_error(better), entry, session.root)


def test_a_checkpoint_of_an_older_version_of_its_model_counts_as_missing_and_gives_way_to_a_worse_one(
    session, monkeypatch
):
    (entry,) = entries("hsd-tiny")
    monkeypatch.setattr(HSD, "version", 1, raising=False)
    pretrain([entry], session)
    first = session.records.read(entry)
    assert protocol_of(first)["model_version"] == 1 and states(session, [entry]) == {"hsd-tiny": "done"}
    monkeypatch.setattr(HSD, "version", 2)
    step = plan([entry], session.root, session.records, session.out)[0]
    assert step.state == "missing" and "older version of the model" in step.text
    worse = {**first, "model_version": 2, "epochs": 1, "sha256": "0" * 64, "validation": {"relative_l2": 9.0}}
    assert refusal(worse, entry, session.root) is None
    again = Session(session.root, session.records, session.out, 600.0, "cpu", threads=1)
    assert [s.state for s in pretrain([entry], again)] == ["done"]
    (found,) = shipped_checkpoints(root=session.root)
    assert found.protocol["model_version"] == 2 == session.records.read(entry)["model_version"]
    assert "newer version" in refusal(first, entry, session.root)


def test_a_larger_protocol_replaces_weights_and_leaves_the_smaller_ones_row_with_where_they_went(session, tmp_path):
    (small,) = entries("hsd-tiny")
    large = replace(small, epochs=3, n_samples=60)
    pretrain([small], session)
    record = run_entry(large, session.out, session.records, "cpu", silent, lambda: False, 1, 1)
    better = {**record, "validation": {**record["validation"], "relative_l2": 1e-9}}
    assert install(checkpoint_of(record, large, session.out), better, large, session.root) is None
    assert shipped_checkpoints(root=session.root)[0].protocol["entry"] == large.name != small.name
    shutil.rmtree(session.out)
    rows = table([small, large], session.out, session.records, "cpu", root=session.root)
    assert [row["test"] is None for row in rows] == [True, False] and rows[0]["validation"]
    assert [row.get("replaced_by") for row in rows] == [large.name, None]
    assert f"its weights gave way to those of {large.name}" in markdown(results_of("main", rows))
    assert table([small], tmp_path / "o", session.records, "cpu", root=tmp_path)[0]["replaced_by"] is None


def test_half_a_checkpoint_counts_as_missing_and_is_installed_again_without_training(session, monkeypatch):
    (entry,) = entries("hsd-tiny")
    pretrain([entry], session)
    path = shipped_path(TASK, "hsd-tiny", session.root)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8] + bytes(8))  # killed between weights and manifest
    assert states(session, [entry]) == {"hsd-tiny": "trained"}
    monkeypatch.setattr(pretrain_module, "run_entry", lambda *_: pytest.fail("trained again"))
    again = Session(session.root, session.records, session.out, 600.0, "cpu", threads=1)
    assert [s.state for s in pretrain([entry], again)] == ["done"] and path.read_bytes() == whole


def test_too_large_weights_are_refused_with_their_size(session, monkeypatch):
    (entry,) = entries("hsd-tiny")
    monkeypatch.setattr("hsd.experiments.shipped.LIMIT", 1000)
    said = []
    session.report = said.append
    steps = pretrain([entry], session)
    assert steps[0].state == "failed" and "MB, more than" in steps[0].text and "not replaced" in said[-1]
    assert shipped_checkpoints(root=session.root) == []


def test_a_smaller_budget_is_recorded_and_the_entry_stays_unfinished(session):
    (entry,) = entries("hsd-tiny")
    record = run_entry(entry, session.out, session.records, "cpu", silent, lambda: False, 1, 1, cut=1.0)
    assert record["cut"] == 1.0 and record["training"]["epochs"] == 1
    assert install(checkpoint_of(record, entry, session.out), record, entry, session.root) is None
    (found,) = shipped_checkpoints(root=session.root, results=session.records.folder)
    assert found.is_cut and part_done(found.protocol, entry) == 0.5
    step = plan([entry], session.root, session.records, session.out)[0]
    assert (step.state, step.part) == ("part", 0.5) and "50 %" in step.text
    assert [s.state for s in pretrain([entry], session)] == ["done"]
    assert session.records.read(entry)["cut"] is None


def test_missing_ones_come_first_then_the_smallest_part(session):
    todo = entries("hsd", "fno3d", "hsd-tiny")
    small, smaller = replace(todo[2], epochs=1), replace(todo[0], epochs=1, n_samples=20)
    pretrain([small, smaller], session)
    order = [(label_of(s.entry), s.state) for s in plan(todo, session.root, session.records, session.out)]
    assert order == [("fno3d", "missing"), ("hsd", "part"), ("hsd-tiny", "part")]


@pytest.mark.parametrize(("left", "expected"), [(430, (True, None)), (300, (True, 4.0)), (200, (False, None))])
def test_an_entry_is_cut_to_what_is_left_if_half_of_it_fits(left, expected, tmp_path):
    (entry,) = wanted([TASK], ["hsd"])
    session = Session(tmp_path, Records(tmp_path), tmp_path, left, "cpu", threads=2, clock=lambda: 0.0)
    session.overheads = [60.0]
    assert session.cut_for(entry) == expected


def test_a_stopped_session_starts_nothing_and_says_what_is_left(session):
    session.should_stop = lambda: True
    assert [s.state for s in pretrain(entries("hsd", "hsd-tiny"), session)] == ["missing", "missing"]


def test_the_command_prints_its_plan_and_touches_nothing(tmp_path, capsys):
    folders = ["--out", str(tmp_path / "o"), "--checkpoints", str(tmp_path / "c"), "--results", str(tmp_path / "r")]
    assert main(["pretrain", "--plan", "--device", "cpu", "--minutes", "4", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert (
        len(lines) == len(SUITES["main"]) + len(SUITES["others"])
        and lines[0].startswith("toroidal_transport_hsd_s0_2min")
        and "missing" in lines[0]
    )
    assert list(tmp_path.iterdir()) == []


def test_protocols_are_plain_and_complete(session):
    (entry,) = entries("hsd-tiny")
    record = run_entry(entry, session.out, session.records, "cpu", silent, lambda: False, 1, 1)
    found = protocol_of(json.loads(json.dumps(record)))
    assert None not in {k: v for k, v in found.items() if k != "cut"}.values()
