"""Background runs: start, pause, resume, kill, queue; found again by anybody, never two on one folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from hsd.errors import InputError
from hsd.processes import STOP_CODE, birth, is_alive
from hsd.training import jobs
from hsd.training.checkpoint import read_checkpoint
from hsd.training.config import TrainingConfig
from hsd.training.run import CHECKPOINT, RUN, RunSpec, make_folder, read_folder, run
from hsd.training.state import best_weights
from hsd.training.step_log import STEPS

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0}


def spec(file: Path, epochs: int) -> RunSpec:
    return RunSpec(TrainingConfig("hsd", SMALL, epochs=epochs, batch_size=8), data=str(file), device="cpu")


def wait_for(condition, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


def test_a_run_is_paused_found_again_by_another_process_and_resumed_to_its_end(aero_file, tmp_path):
    folder = tmp_path / "run"
    assert jobs.start(folder, spec(aero_file, 100_000), threads=1).state in ("running", "waiting")
    wait_for(lambda: len(jobs.tail(folder)) >= 2)
    with pytest.raises(jobs.JobError, match="running already"):
        jobs.start(folder, spec(aero_file, 100_000))
    with pytest.raises(jobs.JobError, match="stop it first"):
        jobs.remove(folder)
    look = f"from hsd.training import jobs; from pathlib import Path; print(jobs.status(Path({str(folder)!r})).state)"
    seen = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, env=os.environ)
    assert seen.stdout.strip() == "running", seen.stderr
    assert jobs.pause(folder).state == "paused" and jobs._children[folder].returncode == STOP_CODE
    reached = len(jobs.tail(folder))
    assert jobs.resume(folder, threads=1).state in ("running", "waiting")
    wait_for(lambda: len(jobs.tail(folder)) > reached)
    epochs = [entry["epoch"] for entry in jobs.tail(folder)]
    assert epochs == list(range(len(epochs)))
    assert jobs.stop(folder).state == "stopped"
    assert [run.folder for run in jobs.runs(tmp_path)] == [folder]
    jobs.remove(folder)
    assert jobs.runs(tmp_path) == []


def test_a_folder_that_holds_no_run_is_left_as_it_is(tmp_path):
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="no run folder"):
        jobs.remove(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    jobs.remove(tmp_path / "gone")  # somebody else deleted it: nothing to do
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.full
def test_a_killed_run_has_failed_and_goes_on_to_a_checkpoint(aero_file, tmp_path):
    folder = tmp_path / "run"
    jobs.start(folder, spec(aero_file, 40), threads=1)
    wait_for(lambda: len(jobs.tail(folder)) >= 1)
    process = jobs._read(folder / jobs.PROCESS)
    os.kill(process["pid"], signal.SIGKILL)
    wait_for(lambda: not is_alive(process["pid"], process["born"]))
    now = jobs.status(folder)
    if now.state != "done":  # it may have finished just before
        assert now.state == "failed" and "resume it" in now.text
        jobs.resume(folder, threads=1)
    wait_for(lambda: jobs.status(folder).state == "done")
    assert len(jobs.tail(folder)) == 40 and jobs.resume(folder).state == "done"


def test_a_run_whose_folder_is_deleted_ends_instead_of_training_on_unseen(aero_file, tmp_path):
    folder = tmp_path / "run"
    make_folder(folder, spec(aero_file, 40))
    with pytest.raises(InputError) as caught:
        run(folder, report=lambda entry: shutil.rmtree(folder, ignore_errors=True))
    assert caught.value.kind == "folder_gone" and "deleted" in caught.value.message
    assert not (folder / RUN).exists() and not (folder / CHECKPOINT).exists()


def test_one_run_a_device_and_the_next_waits_its_turn(aero_file, tmp_path):
    with jobs.device_lock("cpu"):
        jobs.start(tmp_path / "run", spec(aero_file, 2), threads=1)
        wait_for(lambda: jobs.status(tmp_path / "run").state == "waiting")
    wait_for(lambda: jobs.status(tmp_path / "run").state == "done")


def test_a_step_is_one_optimiser_step_and_the_last_of_an_epoch_ends_it(aero_file, tmp_path):
    folder = tmp_path / "run"
    jobs.start(folder, spec(aero_file, 100_000), threads=1)
    wait_for(lambda: len(jobs.tail(folder)) >= 1)
    assert jobs.pause(folder).state == "paused"

    def steps() -> int:
        return jobs.tail(folder, name=STEPS)[-1]["step"]

    for _ in range(2):
        before, epochs = steps(), len(jobs.tail(folder))
        jobs.step(folder, threads=1)
        wait_for(lambda: jobs.status(folder).state == "paused")
        assert steps() == before + 1
        ends = jobs.tail(folder)[-1]["step"] == steps()
        assert len(jobs.tail(folder)) == epochs + ends


def paused(folder: Path, file: Path) -> None:
    jobs.start(folder, spec(file, 100_000), threads=1)
    wait_for(lambda: len(jobs.tail(folder)) >= 1)
    assert jobs.pause(folder).state == "paused"


def test_a_run_asked_to_go_on_during_a_single_step_or_while_it_ends_goes_on(aero_file, tmp_path):
    folder = tmp_path / "run"
    paused(folder, aero_file)

    def goes_on() -> None:
        reached = len(jobs.tail(folder))
        wait_for(lambda: len(jobs.tail(folder)) > reached + 2)
        assert jobs.status(folder).state == "running" and not jobs.status(folder).wish

    jobs.step(folder, threads=1)
    first = jobs._read(folder / jobs.PROCESS)["pid"]
    assert jobs.resume(folder, threads=1).state in ("running", "waiting")
    goes_on()
    assert jobs._read(folder / jobs.PROCESS)["pid"] == first  # the same process
    assert jobs.ask_to_end(folder, "paused").wish == "paused"
    assert jobs.resume(folder, threads=1).state in ("running", "waiting")
    goes_on()
    assert jobs._read(folder / jobs.PROCESS)["pid"] != first
    assert jobs.stop(folder).state == "stopped"


def test_the_end_of_a_single_step_and_a_wish_to_go_on_do_not_cross(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    jobs._wish(folder, "paused", steps=1)
    assert not jobs.goes_on(folder) and jobs._read(folder / jobs.WISH)["ends"]  # from now on it is waited for
    jobs._wish(folder, jobs.ON)
    assert jobs.goes_on(folder) and not (folder / jobs.WISH).exists()


def test_neither_a_step_nor_an_end_is_asked_of_a_run_that_runs(aero_file, tmp_path):
    folder = tmp_path / "run"
    with jobs.device_lock("cpu"):
        jobs.start(folder, spec(aero_file, 5), threads=1)
        for ask in (jobs.step, jobs.finish):
            with pytest.raises(jobs.JobError, match="pause it first") as said:
                ask(folder)
            assert said.value.kind == "running"
        jobs.stop(folder)


def test_a_run_that_does_not_end_in_time_is_said_and_not_started_twice(aero_file, tmp_path):
    folder = tmp_path / "run"
    make_folder(folder, spec(aero_file, 5))
    (folder / jobs.PROCESS).write_text(json.dumps({"pid": os.getpid(), "born": birth(os.getpid())}))
    jobs._wish(folder, "paused")
    with pytest.raises(jobs.JobError, match="when it has ended") as said:
        jobs.resume(folder, seconds=0.2)
    assert said.value.kind == "running"


def test_a_stopped_run_can_be_finished_with_its_best_weights(aero_file, tmp_path):
    folder = tmp_path / "run"
    jobs.start(folder, spec(aero_file, 100_000), threads=1)
    wait_for(lambda: len(jobs.tail(folder)) >= 2)
    assert jobs.stop(folder).state == "stopped"
    log = jobs.tail(folder)
    jobs.finish(folder, threads=1)
    wait_for(lambda: jobs.status(folder).state == "done")
    assert jobs.tail(folder) == log
    kept = read_checkpoint(folder / "model.safetensors")
    epoch, best = best_weights(folder / "state.safetensors")
    assert kept.manifest["training"]["best_epoch"] == epoch == min(log, key=lambda e: e["validation"])["epoch"]
    assert all(torch.equal(kept.weights[name], best[name]) for name in best)


@pytest.mark.full
def test_runs_that_wait_are_served_in_the_order_in_which_they_came(aero_file, tmp_path):
    folders = [tmp_path / name for name in ("b", "a")]
    with jobs.device_lock("cpu"):
        for place, folder in enumerate(folders, 1):
            jobs.start(folder, spec(aero_file, 30), threads=1)
            wait_for(lambda: jobs.position(folder) == place)  # noqa: B023 (waited for here)
        jobs.stop(folders[0])
        assert jobs.status(folders[0]).state == "stopped" and jobs.position(folders[1]) == 1
        jobs.resume(folders[0], threads=1)
        wait_for(lambda: jobs.position(folders[0]) == 2)
    wait_for(lambda: all(jobs.status(f).state == "done" for f in folders))
    ends = [(f / "model.json").stat().st_mtime_ns for f in folders]
    assert ends[1] < ends[0]


def test_a_run_killed_in_a_single_step_has_failed(aero_file, tmp_path):
    folder = tmp_path / "run"
    with jobs.device_lock("cpu"):
        make_folder(folder, spec(aero_file, 5))
        jobs.step(folder, threads=1)
        os.kill(jobs._read(folder / jobs.PROCESS)["pid"], signal.SIGKILL)
        wait_for(lambda: jobs.status(folder).state == "failed")


def test_a_full_disk_is_a_sentence(aero_file, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jobs, "make_folder", full)
    with pytest.raises(jobs.JobError, match="No space left on device"):
        jobs.start(tmp_path / "run", spec(aero_file, 5))


def test_errors_of_a_run_are_its_sentence(tmp_path):
    with jobs.device_lock("cpu"):  # said at once, and not when its turn comes
        jobs.start(tmp_path / "run", spec(tmp_path / "no_such_file.npz", 2), threads=1)
        wait_for(lambda: jobs.status(tmp_path / "run").state == "failed")
    assert "no_such_file.npz" in jobs.status(tmp_path / "run").text


def test_folders_that_are_no_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="no run folder"):
        jobs.resume(tmp_path)
    with pytest.raises(InputError, match="no run folder"):
        read_folder(tmp_path / "nothing")
    assert jobs.status(tmp_path / "nothing").state == "new"


def test_a_reused_process_number_is_no_run_of_ours():
    assert is_alive(os.getpid(), birth(os.getpid()))
    assert not is_alive(os.getpid(), "1") and not is_alive(2**22 - 3, "")
