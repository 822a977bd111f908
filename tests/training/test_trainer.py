"""The loop: deterministic, resumable at any moment, blind to the test part, and loud when it diverges."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hsd.data.dataset import Dataset
from hsd.data.normaliser import Normaliser
from hsd.errors import InputError, SolverError
from hsd.training import trainer as trainer_module
from hsd.training.config import TrainingConfig
from hsd.training.data import TrainingData
from hsd.training.memory import enough_memory
from hsd.training.run import make_trainer
from hsd.training.step_log import STEPS
from hsd.training.steps import batches, form_error, node_error

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"model_config": {"n_modes": 16, "channels": 2, "hidden": 8, "lift": 0, "moment_products": False}}


def curve(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def numbers(log: list[dict]) -> list[tuple]:
    return [(e["epoch"], e["step"], e["train_loss"], e["validation"], e["lr"]) for e in log]


def trained(file: Path, folder: Path | None = None, **entries) -> tuple:
    config = TrainingConfig("hsd", **{**SMALL, "epochs": 4, "batch_size": 8, **entries})
    log: list[dict] = []
    trainer = make_trainer(Dataset(file), config, folder)
    trainer.report = log.append
    trainer.fit()
    return trainer, log


def test_training_lowers_both_errors(aero_file):
    _, log = trained(aero_file, epochs=30)
    assert log[-1]["train_loss"] < 0.5 * log[0]["train_loss"]
    assert log[-1]["validation"] < 0.85 * log[0]["validation"]
    assert log[-1]["lr"] < 1e-2 * max(entry["lr"] for entry in log)


def test_samples_per_second_count_each_sample_once_also_where_batches_do_not_come_out_even(aero_file):
    trainer, log = trained(aero_file, epochs=3, batch_size=7)
    n = sum(len(samples) for samples in trainer.data.train)
    assert n % 7
    for entry in log:
        assert entry["samples_per_s"] * entry["seconds"] == pytest.approx((entry["epoch"] + 1) * n, rel=0.05)


def test_equal_seeds_give_bit_identical_curves_and_other_seeds_do_not(aero_file):
    first, second, other = (trained(aero_file, seed=s) for s in (0, 0, 1))
    assert numbers(first[1]) == numbers(second[1]) != numbers(other[1])
    a, b = first[0].model.state_dict(), second[0].model.state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_micro_batches_add_up_to_the_batch(aero_file):
    whole, parts = (trained(aero_file, epochs=2, precision="float64", micro_batch=m)[1] for m in (0, 3))
    for a, b in zip(whole, parts):
        assert np.isclose(a["train_loss"], b["train_loss"], rtol=1e-9)
        assert np.isclose(a["validation"], b["validation"], rtol=1e-9)


def test_a_stopped_run_resumes_to_the_same_curve(aero_file, tmp_path):
    whole, _ = trained(aero_file, tmp_path / "whole", epochs=5)
    config = whole.config
    steps = [0]

    def stop_in_the_second_epoch() -> bool:
        steps[0] += 1
        return steps[0] == 7

    cut = make_trainer(Dataset(aero_file), config, tmp_path / "cut", should_stop=stop_in_the_second_epoch)
    cut.fit()
    assert not cut.progress.finished and cut.progress.done_in_epoch
    again = make_trainer(Dataset(aero_file), config, tmp_path / "cut")
    again.fit()
    assert numbers(curve(tmp_path / "whole")) == numbers(curve(tmp_path / "cut"))
    a, b = whole.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_a_run_killed_before_its_first_state_begins_its_logs_again(aero_file, tmp_path):
    _, log = trained(aero_file, tmp_path, epochs=2)
    (tmp_path / "state.safetensors").unlink()
    _, again = trained(aero_file, tmp_path, epochs=2)
    assert numbers(curve(tmp_path)) == numbers(again) == numbers(log)
    steps = [json.loads(line)["step"] for line in (tmp_path / STEPS).read_text().splitlines()]
    assert steps == sorted(set(steps))


def test_a_killed_process_resumes_to_the_same_curve(aero_file, tmp_path):
    """kill -9 in mid-epoch, through the command line; the log equals that of an uninterrupted run."""
    settings = ["epochs=12", "batch_size=8", "model.n_modes=16", "model.channels=2", "model.hidden=8", "model.lift=0"]
    command = [sys.executable, "-m", "hsd", "train", str(aero_file), "hsd", "--threads", "1", "--device", "cpu"]
    for setting in settings:
        command += ["--set", setting]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    how = {"env": env, "capture_output": True, "text": True, "cwd": ROOT}
    whole = subprocess.run([*command, "--out", str(tmp_path / "whole")], **how)
    assert whole.returncode == 0, whole.stderr
    assert "best validation relative L2" in whole.stdout
    process = subprocess.Popen([*command, "--out", str(tmp_path / "cut")], env=env, cwd=ROOT, stdout=subprocess.DEVNULL)
    log = tmp_path / "cut" / "log.jsonl"
    deadline = time.monotonic() + 60
    while not (log.is_file() and log.read_text().count("\n") >= 2) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(curve(tmp_path / "cut")) < 12
    resumed = subprocess.run([sys.executable, "-m", "hsd", "resume", str(tmp_path / "cut"), "--threads", "1"], **how)
    assert resumed.returncode == 0, resumed.stderr
    assert numbers(curve(tmp_path / "whole")) == numbers(curve(tmp_path / "cut"))
    a, b = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert a == b


def test_other_settings_do_not_resume_a_run(aero_file, tmp_path):
    trained(aero_file, tmp_path, epochs=1)
    with pytest.raises(InputError, match=r"other settings \(lr\)") as error:
        make_trainer(Dataset(aero_file), TrainingConfig("hsd", **SMALL, epochs=1, batch_size=8, lr=0.5), tmp_path)
    assert error.value.kind == "other_config"


def test_a_broken_state_is_refused_in_one_sentence(aero_file, tmp_path):
    trained(aero_file, tmp_path, epochs=1)
    state = tmp_path / "state.safetensors"
    state.write_bytes(state.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot be read") as error:
        trained(aero_file, tmp_path, epochs=1)
    assert error.value.kind == "bad_state"


def test_divergence_names_the_epoch_and_keeps_the_best_weights(aero_file, tmp_path):
    trainer, _ = trained(aero_file, epochs=2)
    config = replace(trainer.config, epochs=50)
    again = make_trainer(Dataset(aero_file), config, tmp_path)
    seen = []

    def spoil(entry: dict) -> None:
        seen.append(entry)
        if len(seen) == 2:
            with torch.no_grad():
                next(again.model.parameters()).fill_(float("nan"))

    again.report = spoil
    with pytest.raises(SolverError, match="diverged in epoch 2") as error:
        again.fit()
    assert error.value.kind == "diverged" and again.best_weights is not None
    assert all(torch.isfinite(v).all() for v in again.best_weights.values())


def test_patience_ends_a_run_that_gets_no_better(aero_file):
    trainer, log = trained(aero_file, epochs=500, patience=2, lr=1e-15, schedule="constant")
    assert len(log) < 20 and trainer.progress.finished


def test_minutes_lay_the_schedule_over_the_steps_that_fit(aero_file):
    trainer, _ = trained(aero_file, minutes=0.05)
    assert trainer.progress.total_steps and trainer.progress.step >= trainer.progress.total_steps
    assert 0.2 < trainer.progress.seconds / 3.0 < 3.0


def paced(file: Path, folder: Path | None, pace, minutes: float, stop_at: float = 2.0):
    """A trainer whose steps take ``pace(step)`` seconds of a clock of its own, and compute nothing."""
    config = TrainingConfig("hsd", **SMALL, minutes=minutes, batch_size=8)
    trainer = make_trainer(Dataset(file), config, folder)
    now = [trainer.progress.seconds]

    def step(group, rows) -> float:
        now[0] += pace(trainer.progress.step)
        return 1.0

    trainer.train_step, trainer._clock = step, lambda: now[0]
    trainer.should_stop = lambda: now[0] > stop_at * 60 * minutes
    trainer.fit()
    return trainer


PACES = {
    "steady": lambda step: 1.0,
    "slow at first": lambda step: 5.0 if step < 10 else 1.0,
    "very slow at first": lambda step: 25.0 if step < 8 else 1.0,
    "fast at first": lambda step: 0.2 if step < 12 else 1.0,
    "slower and slower": lambda step: 1 + step / 1000,
    "drawn steps": lambda step: 2.2 if step % 3 == 0 else 0.4,
}


@pytest.mark.parametrize("name", PACES)
def test_a_pace_that_changes_after_the_first_steps_ends_on_the_budget(aero_file, name):
    trainer = paced(aero_file, None, PACES[name], minutes=10)
    assert trainer.progress.finished and abs(trainer.progress.seconds / 600 - 1) < 0.03


@pytest.mark.parametrize("stop_at", [0.05, 0.3])
def test_a_budget_is_laid_alike_across_a_stop(aero_file, tmp_path, stop_at):
    whole = paced(aero_file, tmp_path / "whole", PACES["slow at first"], 5)
    cut = paced(aero_file, tmp_path / "cut", PACES["slow at first"], 5, stop_at)
    assert not cut.progress.finished and cut.progress.laid_again == (2 if stop_at > 0.1 else 0)
    again = paced(aero_file, tmp_path / "cut", PACES["slow at first"], 5)
    assert again.progress.total_steps == whole.progress.total_steps == again.progress.step


def test_the_share_done_moves_within_an_epoch(aero_file, monkeypatch):
    monkeypatch.setattr(trainer_module, "SHOW_SECONDS", -1.0)
    shown: list[tuple[str, float]] = []
    config = TrainingConfig("hsd", **SMALL, epochs=2, batch_size=8)
    trainer = make_trainer(Dataset(aero_file), config, show=lambda *said: shown.append(said))
    trainer.fit()
    n = 2 * trainer.n_batches
    assert trainer.n_batches > 3 and shown == [("training", (i + 1) / n) for i in range(n)]


def test_the_test_part_is_never_read(aero_file, tmp_path):
    """Spoil every test sample: nothing about the run changes."""
    with np.load(aero_file) as data:
        arrays = {name: data[name] for name in data.files}
    rows = arrays["split"] == 2
    assert rows.sum() > 5
    for name in ("target", *[n for n in arrays if n.startswith(("input/", "coefficient/"))]):
        arrays[name] = arrays[name].copy()
        arrays[name][rows] = 1e6
    np.savez(tmp_path / "spoilt.npz", **arrays)
    clean, spoilt = (trained(file, epochs=2)[1] for file in (aero_file, tmp_path / "spoilt.npz"))
    assert numbers(clean) == numbers(spoilt)


def test_batches_hold_every_sample_once_in_an_order_of_seed_and_epoch():
    class Fake:
        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

    groups = [Fake(10), Fake(7)]
    order = [(g, r.tolist()) for g, r in batches(groups, 4, 0, 3)]
    for g, n in enumerate((10, 7)):
        assert sorted(i for h, rows in order if h == g for i in rows) == list(range(n))
    assert order == [(g, r.tolist()) for g, r in batches(groups, 4, 0, 3)]
    assert order != [(g, r.tolist()) for g, r in batches(groups, 4, 0, 4)]


def test_errors_are_relative_and_zero_for_the_truth(car_file):
    trainer = make_trainer(Dataset(car_file), TrainingConfig("hsd", **SMALL))
    samples = trainer.data.train[0]
    truth = samples.batch.target
    assert float(form_error(truth, truth, samples.domain).max()) < 1e-6
    assert torch.allclose(form_error(0 * truth, truth, samples.domain), torch.ones(len(truth)), atol=1e-5)
    nodes = samples.target_nodes
    assert torch.allclose(node_error(3 * nodes, nodes, samples.domain), 2 * torch.ones(len(truth)), atol=1e-5)


@pytest.mark.full
def test_two_processes_train_as_one(aero_file, tmp_path):
    """torchrun with two processes (gloo) gives the curve of one process to 1e-4."""
    rest = ["train", str(aero_file), "hsd", "--device", "cpu", "--threads", "1", "--set", "epochs=3"]
    rest += ["--set", "batch_size=8", "--set", "model.n_modes=16", "--set", "model.channels=2", "--set", "model.lift=0"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29617"]
    run += ["-m", "hsd"]
    for name, head in (("one", [sys.executable, "-m", "hsd"]), ("two", run)):
        done = subprocess.run([*head, *rest, "--out", str(tmp_path / name)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for a, b in zip(curve(tmp_path / "one"), curve(tmp_path / "two"), strict=True):
        assert np.isclose(a["validation"], b["validation"], rtol=1e-4)
        assert np.isclose(a["train_loss"], b["train_loss"], rtol=1e-4)


@pytest.mark.full
def test_a_compiled_model_trains_as_the_plain_one_and_says_nothing(aero_file, tmp_path):
    """torch.compile changes neither the curve beyond rounding nor what stands on the terminal."""
    run = [sys.executable, "-m", "hsd", "train", str(aero_file), "deeponet", "--device", "cpu", "--threads", "1"]
    run += ["--set", "epochs=3", "--set", "batch_size=8"]
    for name in ("false", "true"):
        rest = ["--set", f"compile={name}", "--out", str(tmp_path / name)]
        done = subprocess.run(run + rest, cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    for a, b in zip(curve(tmp_path / "false"), curve(tmp_path / "true"), strict=True):
        assert np.isclose(a["validation"], b["validation"], rtol=1e-3)
        assert np.isclose(a["train_loss"], b["train_loss"], rtol=1e-3)


@pytest.mark.parametrize("n", [1, 2, 3, 7, None])
def test_a_limited_run_trains_on_so_many_samples_shared_by_the_meshes(meshes_file, n):
    data = Dataset(meshes_file)
    n = n or len(data.part("train"))
    opened = TrainingData.open(data, 8, n)
    there = [len(data.part("train").on_mesh(j)) for j in (0, 1)]
    counts = [len(s) for s in opened.train]
    assert sum(counts) == n <= sum(there) and 0 not in counts
    if n <= 2 * min(there):
        assert counts == [c for c in ((n + 1) // 2, n // 2) if c]
    assert len(opened.validation) == 2 and opened.normaliser == Normaliser.fit(data, n)


def test_on_one_mesh_the_first_samples_are_those_of_the_smallest_numbers(aero_file):
    data = Dataset(aero_file)
    whole, some = TrainingData.open(data, 8), TrainingData.open(data, 8, 6)
    raw = [d.normaliser.invert("target", d.train[0].batch.target.double().numpy()) for d in (whole, some)]
    assert len(raw[1]) == 6 and np.allclose(raw[0][:6], raw[1], rtol=1e-5, atol=1e-6 * np.abs(raw[1]).max())
    assert whole.normaliser != some.normaliser
    star = some.domain.sparse("target_star")
    target = some.train[0].batch.target
    energy = (target * star(target)).sum(dim=1).mean() / some.domain.tensor("vertex_measure").sum()
    assert abs(float(energy) - 1) < 1e-4  # the scale is that of the samples trained on


def test_too_little_memory_is_a_sentence_and_other_errors_stay():
    with (
        pytest.raises(
            SolverError, match="Training hsd needs more memory than this machine has free; take less"
        ) as info,
        enough_memory("Training hsd", "take less"),
    ):
        torch.empty(2**62, dtype=torch.uint8)
    assert info.value.kind == "out_of_memory"
    with (
        pytest.raises(SolverError, match="than the GPU has free"),
        enough_memory("Training hsd", "take less"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    with pytest.raises(RuntimeError, match="size"), enough_memory("Training hsd", "take less"):
        torch.zeros(2) @ torch.zeros(3)
