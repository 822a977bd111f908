"""Commands that train: what is refused leaves nothing behind, what is interrupted says how it goes on."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hsd.models.registry import NAMED
from hsd.training import jobs
from hsd.training.run import RUN, read_folder
from tests.training.conftest import make_dataset
from tests.training.test_parallel import two

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 8 * 1024
"""Bytes of a file at most, where writing is to fail."""
TINY = ["batch_size=8", "model.n_modes=16", "model.channels=2", "model.hidden=8", "model.lift=0"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "aero.npz", "ellipsoid_aerodynamics", 60, 300)


def settings(*more: str) -> list[str]:
    return [word for text in (*TINY, *more) for word in ("--set", text)]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "hsd", *map(str, words)]


_started: list[subprocess.Popen] = []


def started(words: list[str], cache: Path | None = None) -> subprocess.Popen:
    env = {**os.environ, "OMP_NUM_THREADS": "1"} | ({"HSD_CACHE": str(cache)} if cache else {})
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(
        words, cwd=ROOT, env=env, start_new_session=True, **pipes,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # runs in the background ignore Ctrl-C
    )  # fmt: skip
    _started.append(process)
    return process


@pytest.fixture(autouse=True)
def _no_process_is_left():
    yield
    while _started:
        process = _started.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def wait_for(condition, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


# ---- refused -----------------------------------------------------------------------------------------------------

REFUSED = {
    "task": ["nope", "hsd"],
    "model": ["torus_helmholtz", "nope"],
    "file": ["nope.npz", "hsd"],
    "entry of the model": ["torus_helmholtz", "hsd", "--set", "model.nope=1"],
    "value of the task": ["torus_helmholtz", "hsd", "--set", "task.nope=1"],
    "samples": ["torus_helmholtz", "hsd", "--samples", "0"],
    "more samples than can be meant": ["torus_helmholtz", "hsd", "--samples", "1000000000", "--nodes", "100"],
    "another file": [str(ROOT / "README.md"), "hsd"],
    "threads": ["torus_helmholtz", "hsd", "--threads", "100000"],
    "two budgets": ["torus_helmholtz", "hsd", "--set", "epochs=2", "--set", "minutes=1"],
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_run_leaves_no_folder(run, tmp_path, what):
    code, _, err = run("train", *REFUSED[what], "--out", tmp_path / "run")
    assert code == 1 and err.startswith("error [") and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_run_refused_by_its_data_leaves_no_folder_and_of_an_old_one_what_it_held(run, tmp_path, data):
    words = ["train", data, "hsd", *settings("n_train=100000", "epochs=1")]
    assert run(*words, "--out", tmp_path / "run")[0] == 1
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert run(*words, "--out", tmp_path / "run")[0] == 1
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"


def test_two_budgets_are_said_as_such_and_zero_minutes_are_none(run, tmp_path, data):
    _, _, err = run("train", data, "hsd", *settings("epochs=2", "minutes=1"), "--out", tmp_path / "a")
    assert "set either epochs or minutes" in err
    assert run("train", data, "hsd", *settings("epochs=1", "minutes=0"), "--out", tmp_path / "b")[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["train", "torus_helmholtz", "hsd", "--out", "o", "--threads", "0"],
        ["train", "torus_helmholtz", "hsd", "--out", "o", "--workers", "0"],
        ["cost", "c", "--seconds", "-1"],
        ["cost", "c", "--seconds", "nan"],
        ["cost", "c", "--threads", "0"],
        ["pretrain", "--out", "o", "--budget-minutes", "-1"],
        ["pretrain", "--out", "o", "--minutes", "0"],
        ["pretrain", "--out", "o", "--jobs", "0"],
        ["pretrain", "--out", "o", "--tasks"],
        ["benchmark", "smoke", "--tasks"],
        ["benchmark", "smoke", "--models"],
        ["benchmark", "smoke", "--minutes", "-1"],
    ],
)
def test_numbers_that_mean_nothing_are_wrong_usage(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "") and ("expected" in err)


def test_no_limit_of_steps_is_said_by_the_help(run):
    for name in ("train", "resume"):
        assert "(0: no limit)" in " ".join(run(name, "--help")[1].split())
    assert "Minutes are of computing" in " ".join(run("train", "--help")[1].split())


def test_a_row_that_a_suite_does_not_have_is_a_sentence_with_those_that_it_has(run, tmp_path):
    folders = ["--out", tmp_path, "--results", tmp_path]
    code, out, err = run("benchmark", "main", "--tasks", "torus_helmholtz", *folders)
    assert (code, out) == (1, "") and "no task 'torus_helmholtz'; it has toroidal_transport" in err
    code, out, err = run("benchmark", "smoke", "--models", "gno", *folders)
    assert (code, out) == (1, "") and "no label 'gno'; it has hsd" in err
    both = ["--tasks", "vorticity_dynamics", "--models", "hsd tiny"]
    code, out, err = run("benchmark", "main", *both, *folders)
    assert (code, out) == (1, "") and "no row of hsd tiny on vorticity_dynamics" in err


def test_a_budget_too_small_for_any_training_is_said(run, tmp_path):
    folders = [word for name in ("out", "checkpoints", "results") for word in (f"--{name}", tmp_path / name)]
    words = ["--tasks", "torus_helmholtz", "--models", "hsd", "--device", "cpu", "--budget-minutes", "0.01"]
    code, out, _ = run("pretrain", *words, *folders)
    assert code == 0 and "budget of 0.01 minutes did not suffice for any training" in out and "1 of 1 are left" in out


def test_of_several_processes_one_says_what_is_wrong(tmp_path):
    done = two(["train", "toroidal_transport", "nope", "--out", str(tmp_path / "run")])
    assert [code for code, _, _ in done] == [1, 1]
    assert "Unknown model 'nope'" in done[0][2] and done[1][1:] == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["data", "generate", "torus_helmholtz", "--samples", "20", "--nodes", "300", "--out"],
        ["modes", "gallery:torus:300", "--n", "40", "--out"],
        ["train", "DATA", "hsd", *settings("epochs=1"), "--device", "cpu", "--threads", "1", "--out"],
    ],
)
def test_a_file_that_cannot_be_written_is_named(tmp_path, data, words):
    words = [str(data) if word == "DATA" else word for word in words]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

    told = subprocess.run(
        command(*words, tmp_path / "out.npz"), cwd=ROOT, capture_output=True, text=True, preexec_fn=limit
    )  # fmt: skip
    assert told.returncode == 1 and told.stderr.count("\n") == 1, told.stderr
    assert re.match(rf"error \[file\]: {re.escape(str(tmp_path))}/out\.npz\S*: File too large\.", told.stderr)


# ---- interrupted -------------------------------------------------------------------------------------------------


def test_ctrl_c_keeps_the_state_says_how_to_go_on_and_the_folder_says_that_it_stopped(run, tmp_path, data):
    folder = tmp_path / "run"
    words = ["train", data, "hsd", *settings("epochs=100000"), "--threads", 1, "--device", "cpu", "--out", folder]
    process = started(command(*words))
    wait_for(lambda: len(jobs.tail(folder)) >= 2 or process.poll() is not None)
    assert jobs.status(folder).state == "running" and jobs.status(folder).is_alive
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == f"Stopped; `python -m hsd resume {folder}` goes on with it.\n"
    assert "Ctrl-C again ends at once" in err and "Traceback" not in err
    assert jobs.status(folder).state == "stopped"
    reached = jobs.tail(folder, name="steps.jsonl")[-1]["step"]
    assert run("resume", folder, "--steps", 1)[0] == 0
    assert jobs.tail(folder, name="steps.jsonl")[-1]["step"] == reached + 1


def test_ctrl_c_while_the_data_are_made_is_the_same(tmp_path):
    folder = tmp_path / "run"
    words = ["train", "vorticity_dynamics", "hsd", "--samples", 3000, "--nodes", 600, "--workers", 2, "--threads", 1]
    process = started(command(*words, "--device", "cpu", "--out", folder, "--progress"), tmp_path / "cache")
    wait_for(lambda: list(tmp_path.rglob("cache/datasets/*")) or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in err
    assert out == f"Stopped; `python -m hsd resume {folder}` goes on with it.\n"
    assert (folder / RUN).is_file() and jobs.status(folder).state == "stopped"


def test_ctrl_c_while_torch_is_loaded_waits_for_it(tmp_path, data):
    folder = tmp_path / "run"
    process = started(command("train", data, "hsd", "--device", "cpu", "--threads", "1", "--out", folder))
    wait_for(lambda: "libtorch" in Path(f"/proc/{process.pid}/maps").read_text(), 30)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out.startswith("Stopped;") and "Traceback" not in err
    assert jobs.status(folder).state == "stopped"


def test_a_run_that_failed_on_the_command_line_is_told_as_failed(run, tmp_path, data):
    own, folder = tmp_path / "own.npz", tmp_path / "run"
    shutil.copy(data, own)
    words = ["train", own, "hsd", *settings("epochs=3"), "--threads", "1", "--steps", "1", "--out", folder]
    assert run(*words)[0] == 0 and jobs.status(folder).state == "stopped"
    own.unlink()
    assert run("resume", folder)[0] == 1
    (found,) = jobs.runs(tmp_path)
    assert found.state == "failed" and "own.npz" in found.text
    shutil.copy(data, own)
    assert run("resume", folder)[0] == 0 and jobs.status(folder).state == "done"


# ---- names and files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_models_are_trained_under_the_names_that_they_are_shipped_under(run, tmp_path, data, name):
    folder = tmp_path / name
    words = ["train", data, name, "--set", "epochs=1", "--set", "model.n_modes=16", "--steps", 1, "--out", folder]
    assert run(*words)[0] == 0
    training = read_folder(folder).training
    assert training.model == "hsd" and training.model_config == {**NAMED[name], "n_modes": 16}


def test_the_models_are_listed_under_the_names_that_train_takes(run, monkeypatch):
    monkeypatch.setattr("hsd.training.loading.TASKS", ("torus_helmholtz",))
    rows = json.loads(run("models", "--json")[1])
    assert {"hsd", "fno3d", *NAMED} <= set(rows)
    assert rows["hsd-tiny"]["parameters"]["torus_helmholtz"] < rows["hsd"]["parameters"]["torus_helmholtz"]


def test_a_run_folder_is_evaluated_on_its_own_file_while_that_is_the_same(run, tmp_path, data):
    own, folder = tmp_path / "own.npz", tmp_path / "run"
    shutil.copy(data, own)
    assert run("train", own, "hsd", *settings("epochs=1"), "--threads", "1", "--out", folder)[0] == 0
    code, out, err = run("evaluate", folder, "--json")
    assert (code, err) == (0, "") and json.loads(out)["data"] == str(own)
    code, out, err = run("evaluate", folder, "--progress")
    assert code == 0 and "predictions" in err and "metrics" in err and "here and now" in out
    code, out, err = run("predict", folder, "--input", own, "--out", tmp_path / "p.npz", "--progress")
    assert code == 0 and "predictions" in err and "predictions for 60 samples" in out
    make_dataset(own, "ellipsoid_aerodynamics", 60, 400)
    code, _, err = run("evaluate", folder)
    assert code == 1 and "has another mesh by now" in err
