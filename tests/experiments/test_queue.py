"""The queue of runs: resumable, honest about failures; tables read the test part once; ablations really differ."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hsd.data.tasks import TASKS
from hsd.errors import UnknownNameError
from hsd.experiments import queue as queue_module
from hsd.experiments import report as report_module
from hsd.experiments.queue import CORES, known_result, read_result, run_entry, run_queue, train_process
from hsd.experiments.records import Records
from hsd.experiments.report import ridge_scores, table
from hsd.experiments.suites import SUITES, Entry, suite
from hsd.experiments.tables import markdown, results_of
from hsd.linalg import silent
from hsd.models.hsd import HSD
from hsd.models.registry import model_class
from hsd.processes import birth, is_alive
from hsd.training.run import make_folder, read_folder

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}
SIZES = {"epochs": 2, "n_samples": 40, "n_nodes": 300}


def entry(label: str = "hsd", model: str = "hsd", **config) -> Entry:
    return Entry(label, "ellipsoid_aerodynamics", model, {**SMALL, **config} if model == "hsd" else config, **SIZES)


def never(*_, **__):
    raise AssertionError("done again")


def test_the_queue_goes_on_after_a_failure_and_repeats_nothing(in_process, tmp_path, monkeypatch):
    entries = [entry(), entry("broken", variant="best"), entry("other", channels=3)]
    said, out, records = [], tmp_path / "out", Records(tmp_path / "results")
    results = run_queue(entries, out, "cpu", report=said.append, threads=1, records=records)
    assert [r["label"] for r in results] == ["hsd", "broken", "other"] and len(said) == 3
    assert "Unknown variant" in results[1]["error"]["message"] and records.read(entries[1]) is None
    good = results[0]
    assert good["validation"]["relative_l2"] > 0 and good["training"]["epochs"] == 2
    assert good["curve"]["epoch"] == [0, 1] and good["training"]["preparation_seconds"] > 0
    assert good["training"]["threads"] == 1 and good["training"]["core_minutes"] >= 0

    monkeypatch.setattr(queue_module, "run_entry", never)
    assert run_queue(entries, out, "cpu", records=records) == results
    rows = table(entries, out, records, "cpu")
    record = records.path(entries[0]).read_text()
    monkeypatch.setattr(report_module, "evaluate", never)  # a fresh machine, and the test part is not read again
    assert [r for r in table(entries, tmp_path / "elsewhere", records, "cpu")] == [rows[0], rows[2]]
    assert records.path(entries[0]).read_text() == record
    assert rows[0]["test"]["relative_l2"] != rows[0]["validation"]["relative_l2"]
    kept = json.loads(record)
    assert np.isclose(np.mean(kept["per_sample"]["relative_l2"]), kept["test"]["relative_l2"], rtol=1e-3)
    text = markdown(results_of("smoke", rows))
    assert "| hsd |" in text and "failed: Unknown variant" in text and "*linear ridge*" in text
    ridge = ridge_scores(entries[0])["relative_l2"]
    assert 0 < ridge < 1.5 and np.isfinite(ridge)

    records.path(entries[0]).unlink()  # recorded again from its run folder
    assert known_result(entries[0], out, records)["sha256"] == good["sha256"] and records.read(entries[0]) is not None
    (out / entries[0].name / "result.json").write_text(json.dumps({"schema": "old"}))
    assert read_result(entries[0], out) is None
    (out / entries[0].name / "model.safetensors").unlink()
    records.write(entries[0], good)
    assert table(entries[:1], out, records, "cpu")[0]["test"] is None


def test_an_entry_with_other_settings_of_the_same_name_starts_anew(in_process, tmp_path):
    first, records = entry(), Records(tmp_path)
    run_entry(first, tmp_path, records, "cpu", silent, lambda: False, threads=1)
    second = replace(first, config={**SMALL, "channels": 3})
    assert second.name == first.name and known_result(second, tmp_path, records) is None
    found = run_entry(second, tmp_path, records, "cpu", silent, lambda: False, threads=1)
    assert found["model_config"]["channels"] == 3
    assert records.read(second) is not None and records.read(first) is None


@pytest.mark.parametrize("threads", [1, 2])
def test_a_budget_in_minutes_is_core_minutes_whatever_the_threads(threads, tmp_path, monkeypatch):
    timed = replace(entry(), minutes=6.0)
    monkeypatch.setattr(queue_module, "train_process", lambda *_: (1, 0, "error [x]: stopped here"))
    result = run_entry(timed, tmp_path, Records(tmp_path), "cpu", silent, lambda: False, threads=threads)
    assert result["error"]["message"] == "stopped here"
    assert read_folder(tmp_path / timed.name).training.minutes * threads == 6.0 * CORES


def test_a_process_that_was_asked_to_stop_leaves_no_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(queue_module, "train_process", lambda *_: (0, 100, "Stopped; it goes on."))
    entry = SUITES["smoke"][0]
    assert run_entry(entry, tmp_path, Records(tmp_path), "cpu", silent, lambda: False) is None
    assert read_result(entry, tmp_path) is None


def test_a_process_left_by_a_killed_queue_is_ended_before_its_run_goes_on(tmp_path):
    folder = tmp_path / "run"
    make_folder(folder, entry().spec("cpu"))
    orphan = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    about = {"pid": orphan.pid, "born": birth(orphan.pid), "queue": {"pid": 2**22 + 1, "born": "0"}}
    (folder / "process.json").write_text(json.dumps(about))
    begun = time.monotonic()
    code, memory, said = train_process(folder, silent, lambda: False, 1, 1)
    assert code == 0 and memory > 50 and "Checkpoint" in said and time.monotonic() - begun < 500
    assert not is_alive(orphan.pid, birth(orphan.pid)) and orphan.wait() < 0


QUEUE = """
import sys, time
from pathlib import Path
from hsd.experiments import queue
from hsd.experiments.records import Records
from hsd.linalg import silent
from tests.experiments.test_queue import entry
def train(folder, *rest):
    (folder / "under way").write_text("")
    time.sleep(60)
queue.train_process = train
out = Path(sys.argv[1])
queue.run_entry(entry(), out, Records(out), "cpu", silent, lambda: False, threads=1)
"""


def test_a_second_queue_leaves_what_another_one_runs_and_goes_on(in_process, tmp_path):
    first, second = entry(), entry("other", channels=3)
    other = subprocess.Popen([sys.executable, "-c", QUEUE, str(tmp_path)], cwd=ROOT)
    try:
        mark, deadline = tmp_path / first.name / "under way", time.monotonic() + 60
        while not mark.is_file() and time.monotonic() < deadline:
            time.sleep(0.1)
        said: list[str] = []
        results = run_queue([first, second], tmp_path, "cpu", report=said.append, threads=1, records=Records(tmp_path))
        assert [r["label"] for r in results] == ["other"] and "another queue is running it" in said[0]
        assert other.poll() is None and mark.is_file()
    finally:
        other.kill()
        other.wait()
    results = run_queue([first, second], tmp_path, "cpu", threads=1, records=Records(tmp_path))  # its lock is free
    assert [r["label"] for r in results] == ["hsd", "other"] and "error" not in results[0]


@pytest.mark.parametrize("started_by", ["a living queue", "no queue"])
def test_a_process_that_is_not_a_dead_queues_is_left_alone(in_process, tmp_path, started_by):
    first = entry()
    make_folder(tmp_path / first.name, first.spec("cpu"))
    living = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) for _ in range(2)]
    try:
        child, owner = ({"pid": p.pid, "born": birth(p.pid)} for p in living)
        about = {**child, "queue": owner} if started_by == "a living queue" else child
        (tmp_path / first.name / "process.json").write_text(json.dumps(about))
        said: list[str] = []
        assert run_queue([first], tmp_path, "cpu", report=said.append, threads=1, records=Records(tmp_path)) == []
        assert "another process is training it" in said[0] and living[0].poll() is None
    finally:
        for process in living:
            process.kill()
            process.wait()


def test_a_saved_run_goes_on_with_the_threads_of_its_budget(tmp_path, monkeypatch):
    """Minutes are counted for a number of threads; another number does not delete what was trained with the first."""
    timed, used, said = replace(entry(), minutes=6.0), [], []

    def train(folder, progress, should_stop, workers, threads):
        used.append((threads, read_folder(folder).training.minutes))
        (folder / "state.safetensors").touch()
        return 0, 100, "Stopped; it goes on."

    monkeypatch.setattr(queue_module, "train_process", train)
    for threads in (1, 2, 4):
        again = {"threads": threads, "say": said.append}
        assert run_entry(timed, tmp_path, Records(tmp_path), "cpu", silent, lambda: False, **again) is None
    assert used == [(1, 6.0 * CORES)] * 3 and len(said) == 2 and "goes on with 1 threads" in said[0]
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == [timed.name]

    monkeypatch.setattr(queue_module, "chosen_device", lambda device: "cuda")
    left: list[str] = []
    run_entry(timed, tmp_path, Records(tmp_path), "cuda", silent, lambda: False, leave=left.append)
    assert len(used) == 3 and "began on a CPU" in left[0] and (tmp_path / timed.name / "state.safetensors").is_file()


def test_a_run_with_other_settings_is_set_aside_and_not_deleted(in_process, tmp_path):
    first, said = entry(), []
    second = replace(first, config={**SMALL, "channels": 3})
    for one in (first, second, first):
        found = run_entry(one, tmp_path, Records(tmp_path), "cpu", silent, lambda: False, threads=1, say=said.append)
        assert "error" not in found
    kept = [tmp_path / f"{first.name}_other{n}" for n in (1, 2)]
    assert [read_folder(f).training.model_config["channels"] for f in kept] == [2, 3] and len(said) == 2
    assert all((f / "model.safetensors").is_file() for f in kept)
    run_json = tmp_path / first.name / "run.json"  # begun by a program whose model was built differently
    told = json.loads(run_json.read_text())
    run_json.write_text(json.dumps({**told, "version": told["version"] - 1}))
    (tmp_path / first.name / "result.json").unlink()
    run_entry(first, tmp_path, Records(tmp_path / "none yet"), "cpu", silent, lambda: False, threads=1, say=said.append)
    assert (tmp_path / f"{first.name}_other3").is_dir() and read_folder(tmp_path / first.name).version == told[
        "version"
    ]


def test_names_of_entries_are_unique_in_every_suite():
    for name, entries in SUITES.items():
        names = [e.name for e in entries]
        assert len(set(names)) == len(names) and names, name
    with pytest.raises(UnknownNameError, match="ablation_transport"):
        suite("everything")


@pytest.mark.parametrize("task", TASKS)
def test_every_ablation_differs_from_the_full_model(task):
    name = "ablation_transport" if task == "toroidal_transport" else "ablation_others"
    rows = {e.label: e.config for e in SUITES[name] if e.task == task}
    full = HSD.make_config(task)
    same = [label for label, entries in rows.items() if HSD.make_config(task, **entries) == full]
    assert same == ["full"], f"{task}: {same} are the same model"


def test_every_entry_makes_a_valid_run():
    for entries in SUITES.values():
        for e in entries:
            model_class(e.model).make_config(e.task, **e.config)
            assert e.spec("cpu").task == e.task
