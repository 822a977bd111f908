"""Tables of results: ranks, margins, what is missing; the README's block is the JSON."""

from __future__ import annotations

import json

import pytest

from hsd.errors import InputError
from hsd.experiments import cost_table, transfer_table
from hsd.experiments.records import RESULTS, Records, read_json
from hsd.experiments.standing import standing
from hsd.experiments.suites import SUITES
from hsd.experiments.tables import (
    NO_RUN,
    README,
    block_in,
    markdown,
    marks,
    put_into_readme,
    read_results,
    results_of,
    row_of,
    write_results,
)
from hsd.experiments.trivial import is_of_card, trivial_errors, trivial_of

TASK = "toroidal_transport"


def row(label, mse, l2, iou=0.5, **more):
    test = {"mse": mse, "relative_l2": l2, "iou": iou, "mass_drift": 1e-7}
    head = {"entry": label, "task": TASK, "label": label, "model": label, "minutes": 6.0, "seed": 0, "cut": None}
    cost = {"parameters": 1234, "n_samples": 1000, "n_train": 680, "n_nodes": 3000, "epochs": 9, "core_minutes": 12.0}
    cost |= {"epochs_asked": 100, "model_version": 1, "newest_version": 1}
    used = {"training_seconds": 360.0, "preparation_seconds": 2.5, "latency_ms": 3.0, "peak_memory_mb": 500}
    machine = {"device": "cpu, 2 threads", "threads": 2, "gpu_memory_mb": None}
    return {**head, **cost, **used, **machine, "validation": test, "test": test, "test_std": test, **more}


ROWS = [row("hsd", 0.06, 0.3, iou=0.4), row("fno3d", 0.1, 0.25), row("gno", 0.2, 0.6, iou=0.4), row("hsd tiny", 0, 0)]


def test_ranks_and_margins_are_against_the_baselines_alone():
    found = standing(ROWS, TASK)
    assert (
        found["ranks"]["mse"] == [1, 3] and found["ranks"]["relative_l2"] == [2, 3] and found["ranks"]["iou"] == [2, 3]
    )
    assert found["ranks"]["mass_drift"] == [1, 3]
    assert found["margins"]["mse"] == {"best_baseline": "fno3d", "minutes": None, "margin": 0.4}
    assert found["margins"]["relative_l2"]["margin"] == pytest.approx(-0.2) and found["paper_mse_margin"] == 0.36
    assert standing(ROWS[:1], TASK) is None and standing(ROWS[1:], TASK) is None


def test_a_baseline_counts_with_its_best_row_whatever_its_budget_and_hsd_with_its_own():
    longer = [row("fno3d", 0.05, 0.26, minutes=30.0), row("gno", 0.01, 0.5, iou=0.6, minutes=30.0)]
    odd = [row("hsd", 0.001, 0.001, minutes=30.0), row("fno3d", 0.0, 0.0, seed=1), row("hsd paper", 0.0, 0.0)]
    for one in odd[2:]:
        one["model"] = "hsd"
    found = standing([*ROWS[:3], *longer, *odd], TASK)
    assert found["ranks"]["mse"] == [3, 3] and found["ranks"]["iou"] == [3, 3]
    assert found["margins"]["mse"] == {"best_baseline": "gno", "minutes": 30.0, "margin": -5.0}
    assert found["margins"]["relative_l2"]["best_baseline"] == "fno3d"  # its six minutes were better
    assert found["margins"]["relative_l2"]["minutes"] is None
    text = markdown(results_of("main", [*ROWS, *longer]))
    assert "\n| fno3d (30 min) | 1,234" in text and "\n| fno3d | 1,234" in text
    assert "-500 % to gno (30 min) (36 %) | -20 % to fno3d |" in text


def test_rows_of_an_older_version_of_a_model_are_marked_and_have_no_standing():
    rows = [*ROWS[:2], row("gno", 0.0, 0.0, newest_version=2), row("ono", 0.5, 0.5, newest_version=3, test=None)]
    assert standing(rows, TASK)["margins"]["mse"]["best_baseline"] == "fno3d"
    text = markdown(results_of("main", rows))
    assert "\n| gno (older) |" in text and "| ono | of an older version of the model, whose test part is not" in text
    assert "Of an older version of the model, to be run again: gno (1, now 2), ono (1, now 3)." in text
    assert standing([row("hsd", 0.1, 0.1, newest_version=2), *ROWS[1:]], TASK) is None
    seeds = [row("hsd", 0.1, 0.1, seed=seed, newest_version=2) for seed in (0, 1)]
    assert results_of("main", seeds)["seeds"] == []


def test_means_over_seeds_are_of_runs_that_differ_by_their_seed_alone():
    seeds = [row("hsd", 0.06 + 0.01 * k, 0.3 + 0.02 * k, seed=k) for k in (1, 2)]
    rows = [*ROWS, *seeds, row("fno3d", 9, 9, seed=1, cut=3.0), row("gno", 9, 9, minutes=30.0)]
    (found,) = results_of("main", rows)["seeds"]
    assert (found["label"], found["seeds"]) == ("hsd", [0, 1, 2])
    assert found["mean"]["relative_l2"] == pytest.approx(0.32) and found["std"]["relative_l2"] == pytest.approx(0.02)
    lines = markdown(results_of("main", rows)).splitlines()
    (line,) = [line for line in lines if "| 0, 1, 2 |" in line]
    assert line.startswith("| hsd | 0, 1, 2 | 0.0700 ± 0.0100 | 0.3200 ± 0.0200 |") and "| 0.4667 ± 0.0577 |" in line
    assert any(line.startswith("| hsd, seed 2 |") for line in lines)


def test_the_table_is_in_order_with_trivial_predictors_and_says_what_is_missing_or_cut():
    rows = [*ROWS, row("ono", 1, 0.9, cut=3.2), row("gnot", 1, 1, test=None), {**row("x", 1, 1), "error": "Too big."}]
    rows[-1].pop("test")
    text = markdown(results_of("main", rows))
    lines = text.splitlines()
    first = [line.split("|")[1].strip() for line in lines[4:12]]
    ridge = trivial_errors(TASK)["ridge"]
    assert 0.3 < ridge < 0.6 and first == [
        "hsd tiny", "fno3d", "hsd", "*linear ridge*", "gno", "*copy of the input*", "ono (cut)", "*mean of training*",
    ]  # fmt: skip
    assert "Cut short by a budget: ono (3.2 of 6 minutes)." in text
    assert "| gnot | its weights are not here" in text and "| x | failed: Too big. |" in text
    assert "40 % to fno3d (36 %)" in text and "-20 % to fno3d" in text and "1.0e-07" in text
    assert "exp(−|β0_p(t)" in text and "harmonic part" not in text
    assert all(line.count("|") == lines[2].count("|") for line in lines[2:12])


def test_what_a_budget_cut_is_said_in_the_unit_that_it_is_counted_in():
    timed, counted = row("ono", 1, 0.9, cut=3.2), row("gno", 1, 1, minutes=0.0, epochs_asked=50, cut=37.0)
    text = markdown(results_of("main", [timed, counted]))
    assert "Cut short by a budget: ono (3.2 of 6 minutes), gno (37 of 50 epochs)." in text
    for path in RESULTS.glob("runs/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert row_of(record)["epochs_asked"] == record["epochs"]


def test_a_row_whose_shipped_weights_gave_way_to_another_run_says_to_which():
    rows = [row("gno", 1, 1, test=None, replaced_by="x_gno_s0_100ep_3000samples"), row("ono", 1, 1, test=None)]
    rows.append(row("gnot", 1, 1, test=None, replaced_by="gnot"))
    text = markdown(results_of("main", [*ROWS, *rows]))
    assert "| gno | its weights gave way to those of x_gno_s0_100ep_3000samples, so that test metrics are miss" in text
    assert text.count("| its weights are not here, so that test metrics are missing |") == 2


def test_linear_ridge_is_that_of_the_tables_own_samples():
    few = [row("hsd", 0.1, 0.1, n_train=100), row("fno3d", 0.2, 0.2, n_train=100)]
    assert is_of_card(TASK, 1000, None, 0) and is_of_card(TASK, 1000, 3000, 680)
    assert not any(is_of_card(TASK, *data) for data in ((1000, None, 100), (3000, None, 0), (1000, 1500, 0)))
    assert "| *linear ridge* | not computed for these samples |" in markdown(results_of("small", few))
    own = {"errors": {"zero": 1.0, "ridge": 0.8765}, "part": "test", "n_samples": 1000, "n_nodes": None, "n_train": 100}
    text = markdown(results_of("small", few, "test", {TASK: own}))
    ridge = [line for line in text.splitlines() if line.startswith("| *linear ridge*")]
    assert len(ridge) == 1 and "0.8765" in ridge[0] and "0.3576" not in text


def test_what_a_table_recorded_of_the_same_samples_and_part_is_found_again(tmp_path):
    few = {"n_samples": 1000, "n_nodes": None, "n_train": 100}
    own = {"errors": {"ridge": 0.8765}, "part": "validation", **few}
    write_results(
        results_of("small", [row("hsd", 0.1, 0.1, n_train=100)], "validation", {TASK: own}), Records(tmp_path)
    )
    assert trivial_of(tmp_path, TASK, few, "validation").errors == {"ridge": 0.8765}
    assert trivial_of(tmp_path, TASK, few, "test").errors == {}
    card = trivial_of(tmp_path, TASK, {**few, "n_train": 0}, "validation")
    assert card.errors == trivial_errors(TASK) and card.part == "test"


def test_a_table_of_validation_metrics_says_so_and_needs_no_test_metrics():
    rows = [{**row("hsd", 0.1, 0.1), "test": None}, {**row("fno3d", 0.2, 0.2), "test": None}]
    results = results_of("main", rows, "validation")
    text = markdown(results)
    assert "the test part has not been read" in text and "weights are not here" not in text
    assert results["standing"][0]["margins"]["mse"]["margin"] == pytest.approx(0.5) and "50 % to fno3d" in text
    assert results_of("main", rows)["standing"] == []


def test_the_block_of_the_readme_is_rewritten_and_nothing_else(tmp_path):
    records, path = Records(tmp_path), tmp_path / "README.md"
    first, last = marks("main")
    path.write_text(f"before\n{first}\nold\n{last}\nafter\n")
    with pytest.raises(InputError, match="benchmark main --table"):
        read_results("main", records)
    write_results(results_of("main", ROWS), records)
    results = read_results("main", records)
    put_into_readme(results, path)
    put_into_readme(results, path)
    assert block_in(path.read_text(), "main") == markdown(results)
    assert path.read_text().startswith(f"before\n{first}\n") and path.read_text().endswith(f"{last}\nafter\n")
    path.write_text("no marks")
    with pytest.raises(InputError, match="has no lines"):
        put_into_readme(results, path)


@pytest.mark.parametrize("suite", ["main", "others", "full", "small", "ablation_transport", "ablation_others"])
def test_the_readme_shows_the_results_that_are_in_the_repository(suite):
    results = read_json(RESULTS / f"{suite}.json")
    block = block_in(README.read_text(encoding="utf-8"), suite)
    assert block == (NO_RUN if results is None else markdown(results))


def test_the_readme_shows_costs_and_transfer_as_they_are_in_the_repository():
    text = README.read_text(encoding="utf-8")
    assert block_in(text, "cost") == cost_table.markdown(*cost_table.rows_in((RESULTS / "cost.json").read_text()))
    assert block_in(text, "transfer") == transfer_table.markdown(json.loads((RESULTS / "transfer.json").read_text()))


def test_the_table_of_transfer_has_a_row_a_model_and_the_mesh_of_training_first():
    def row(name: str, n: int, error: float | None, ratio: float | None) -> dict:
        here, fine = n == 3000, None if error is None else 2 * error
        return {
            "checkpoint": f"some/where/{name}.safetensors", "task": "t", "n_nodes": n, "n_samples": 4,
            "trained_here": here, "error": error, "ratio": ratio, "error_fine": fine, "ratio_fine": ratio,
            "truth_gap": 1 / n,
        }  # fmt: skip

    rows = [row("b", 3000, 0.5, 1.0), row("b", 1500, None, None), row("a", 3000, 0.25, 1.0), row("a", 1500, 0.5, 2.0)]
    assert transfer_table.markdown(rows).split("\n")[:7] == [
        "**t**, 4 samples",
        "",
        "| model | error, 3000 nodes | error, 1500 nodes | to fine, 3000 nodes | to fine, 1500 nodes |",
        "|---|---|---|---|---|",
        "| a | 0.2500 | 0.5000 (2.00) | 0.5000 | 1.0000 (2.00) |",
        "| b | 0.5000 | — | 1.0000 | — |",
        "| *own truth* | — | — | 0.0003 | 0.0007 |",
    ]


def test_the_records_in_the_repository_are_plain_and_of_known_runs():
    known = {entry.task for entries in SUITES.values() for entry in entries}
    for path in RESULTS.glob("runs/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert record["entry"] == path.stem and record["task"] in known and "error" not in record
        assert path.stat().st_size < 60_000
