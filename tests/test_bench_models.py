"""The benchmark of models: real figures from a tiny run, ratios to FNO-3D at equal batch, targets judged as stated."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from .training.conftest import make_dataset

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_models", ROOT / "benchmarks" / "bench_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(bench, label: str, batch: int, **figures) -> dict:
    given = dict.fromkeys(("forward_wall", "forward_cpu", "step_wall", "step_cpu", "rest", "peak"), 10.0)
    return {"label": label, "parameters": 9, "batch": batch, "at_once": batch, "features": 0.0, **given, **figures}


def test_a_tiny_run_has_positive_figures_and_a_line_for_each_batch(bench, tmp_path):
    data = make_dataset(tmp_path / "d.npz", "ellipsoid_aerodynamics", 12, 300)
    threads = torch.get_num_threads()
    found = {m: list(bench.measure(m, data, [4, 1], "cpu", threads, 0.01)) for m in ("fno3d", "hsd tiny")}
    for rows in found.values():
        assert [r["batch"] for r in rows] == [1, 4]
        assert all(r[k] > 0 for r in rows for k in ("forward_wall", "forward_cpu", "step_wall", "step_cpu", "rest"))
        assert rows[1]["peak"] >= rows[0]["peak"] >= rows[0]["rest"]
    assert found["hsd tiny"][0]["features"] > 0 == found["fno3d"][0]["features"]
    reference = bench.reference_of([found["fno3d"]])
    for rows in found.values():
        assert all(bench.line(r, reference, "cpu").count("|") == bench.HEAD.count("|") for r in rows)


def test_every_model_is_among_the_rows_and_makes_a_config(bench):
    assert {model for model, _ in bench.ROWS.values()} == set(bench.MODELS)
    for model, entries in bench.ROWS.values():
        assert vars(bench.model_class(model).make_config("toroidal_transport", **entries)).items() >= entries.items()


def test_ratios_are_to_the_mean_of_the_reference_at_the_same_batch(bench):
    runs = [[row(bench, "fno3d", 1, step_cpu=10.0), row(bench, "fno3d", 64, step_cpu=s)] for s in (100.0, 300.0)]
    reference = bench.reference_of(runs)
    assert reference[1]["step_cpu"] == 10 and reference[64]["step_cpu"] == 200
    cells = bench.line(row(bench, "hsd", 64, step_cpu=50.0, step_wall=7.0), reference, "cpu").split("|")
    assert cells[10].strip() == "0.25"
    assert "–" in bench.line(row(bench, "hsd", 8), reference, "cpu")


@pytest.mark.parametrize(("step", "word"), ((12.9, "held"), (13.1, "MISSED")))
def test_a_target_is_held_or_missed_as_stated(bench, step, word):
    reference = bench.reference_of([[row(bench, "fno3d", 64)]])
    (said,) = bench.verdicts([row(bench, "hsd", 64, step_cpu=step)], reference, "cpu", 3000, 2)
    assert said.endswith(word) and "1.3" in said
    heavy = row(bench, "gnot", 64, peak=9000.0)
    assert "9.00 GB" in bench.verdicts([heavy], reference, "cpu", 3000, 2)[0]
    slow = row(bench, "hsd", 1, forward_cpu=25.0, features=step)
    assert bench.verdicts([slow], {}, "cpu", 3000, 2)[0].endswith("MISSED")
    assert bench.verdicts([slow], {}, "cpu", 300, 2) == []
