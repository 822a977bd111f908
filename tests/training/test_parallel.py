"""Several processes that train one model take every decision together, and one of them writes and speaks."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from hsd.errors import InputError
from hsd.training.parallel import Group

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["model.n_modes=16", "model.channels=2", "model.hidden=8", "model.lift=0", "batch_size=8"]
CLOCKS = """
import os, sys, time
from hsd.cli import main
from hsd.training.trainer import Trainer
Trainer._clock = lambda self: time.monotonic() * (1 + 3 * int(os.environ["RANK"]))
sys.exit(main(sys.argv[1:]))
"""
"""A command line on which the clock of the second process runs four times as fast."""
SIGNAL = """
import os, signal, sys
from hsd.cli import main
from hsd.training.trainer import Trainer
step = Trainer.train_step
def stopped(self, group, rows):
    if os.environ["RANK"] == "1" and self.progress.step == 3:
        os.kill(os.getpid(), signal.SIGTERM)
    return step(self, group, rows)
Trainer.train_step = stopped
sys.exit(main(sys.argv[1:]))
"""
"""A command line on which the second process is asked to stop in its fourth step."""


def two(words: list[str], script: str = "", cache: Path | None = None) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of ``python -m hsd`` in two processes with the variables that torchrun sets."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}
    env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} | ({"HSD_CACHE": str(cache)} if cache else {})
    head = [sys.executable, "-c", script] if script else [sys.executable, "-m", "hsd"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    started = [
        subprocess.Popen([*head, *words], env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}, **pipes)
        for rank in (0, 1)
    ]
    try:
        said = [process.communicate(timeout=240) for process in started]
    finally:
        for process in started:
            process.kill()
    return [(process.returncode, *texts) for process, texts in zip(started, said)]


def train(what: str, out: Path, *settings: str) -> list[str]:
    words = ["train", what, "hsd", "--device", "cpu", "--threads", "1", "--out", str(out)]
    for setting in (*SMALL, *settings):
        words += ["--set", setting]
    return words


@pytest.mark.full
def test_processes_with_different_clocks_end_a_budget_together(aero_file, tmp_path):
    done = two(train(str(aero_file), tmp_path / "run", "minutes=0.05"), CLOCKS)
    assert [code for code, _, _ in done] == [0, 0], done
    assert "Checkpoint" in done[0][1] and done[1][1:] == ("", "")
    training = json.loads((tmp_path / "run" / "model.json").read_text())["training"]
    assert training["processes"] == 2 and abs(training["training_seconds"] / 3 - 1) < 0.5


def test_a_task_is_made_by_one_process_and_a_stop_of_one_is_a_stop_of_all(tmp_path):
    run, cache = tmp_path / "run", tmp_path / "cache"
    words = [*train("ellipsoid_aerodynamics", run, "epochs=3"), "--samples", "60", "--nodes", "300"]
    done = two(words, SIGNAL, cache)
    assert [code for code, _, _ in done] == [0, 0], done
    assert done[0][1].startswith("Stopped;") and done[1][1:] == ("", "")
    assert len(list((cache / "datasets").glob("*.npz"))) == 1
    steps = [json.loads(line)["step"] for line in (run / "steps.jsonl").read_text().splitlines()]
    assert steps[-1] == 4


@pytest.fixture
def gpus(monkeypatch):
    """A machine that says it has two GPUs; what was asked of torch, in order."""
    asked = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda i: asked.append(("device", i)))
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **_: asked.append(("group", backend)))
    monkeypatch.setenv("WORLD_SIZE", "4")
    return asked


def test_each_process_has_a_gpu_of_its_own_before_it_joins_the_others(gpus, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("LOCAL_RANK", "1")
    group = Group("cuda")
    assert gpus == [("device", 1), ("group", "nccl")] and group.local_device == "cuda:1"
    seen = []
    monkeypatch.setattr(torch, "tensor", lambda values, device, **_: seen.append(device) or torch.zeros(len(values)))
    monkeypatch.setattr(dist, "all_reduce", lambda tensor, op: None)
    group.sum(1.0)
    group.agree(1.0, True)
    assert seen == ["cuda:1", "cuda:1"]


def test_more_processes_than_gpus_are_refused(gpus, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(InputError, match=r"has no GPU of its own \(it has 2\)") as error:
        Group("cuda")
    assert error.value.kind == "few_gpus" and not gpus
