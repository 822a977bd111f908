"""The Benchmarks page without a browser: no record, one, many; honest states; every number is that of its record."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hsd.data.tasks import TASKS
from hsd.experiments import published
from hsd.experiments.records import RESULTS, Records
from hsd.experiments.standing import PAPER_MARGIN, standing
from hsd.experiments.suites import SUITES
from hsd.experiments.tables import SHORT, results_of, row_of, write_results
from hsd.experiments.trivial import trivial_errors
from hsd.metrics.definitions import DEFINITIONS
from hsd.models.presets import TINIER_ALREADY
from hsd.ui import benchmarks_data as data
from hsd.ui import benchmarks_tables as tables
from hsd.ui.benchmarks_files import files_of, origin_of
from hsd.ui.benchmarks_view import View, part_in_force
from hsd.viz.benchmark_figures import ratio_figure
from hsd.viz.style import LIGHT
from tests.ui.benchmark_records import ablation_of, costs_of, record_of, table_of, transfer_of, write

ROOT = Path(__file__).resolve().parents[2]
PAGE = str(ROOT / "pages" / "benchmarks.py")
TASK = "toroidal_transport"
TABS = ("Results", "Beside the paper", "Ablations", "Cost", "Resolution", "Task card", "Formulas", "Export")


@pytest.fixture(autouse=True)
def _private_store(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path_factory.getbasetemp() / "store"))


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder of results that the page reads."""
    monkeypatch.setenv("HSD_RESULTS", str(tmp_path))
    return tmp_path


@pytest.fixture
def many(results):
    write(results, [*table_of(TASK), *ablation_of(TASK, 9), *table_of("torus_helmholtz", test=False)])
    (results / "transfer.json").write_text(json.dumps(transfer_of(TASK)))
    (results / "cost.json").write_text(json.dumps(costs_of(TASK)))
    return results


def opened(tab: str = "Results", **parameters) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=90)
    for name, value in {"tab": tab, **parameters}.items():
        app.query_params[name] = str(value)
    return good(app.run())


def good(app: AppTest) -> AppTest:
    assert not app.exception and not app.error, [e.value for e in (*app.exception, *app.error)]
    return app


def text(app: AppTest) -> str:
    kinds = (app.caption, app.info, app.markdown, app.warning)
    return "\n".join([e.value for kind in kinds for e in kind] + [e.value for e in app.code])


def frames(app: AppTest) -> list:
    return [e.value for e in app.dataframe]


# ---- states ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("task", [TASK, "vorticity_dynamics"])
def test_without_any_record_every_tab_says_what_is_missing_and_how_it_is_made(results, tab, task):
    said = text(opened(tab, bench=task))
    commands = {
        "Results": f"hsd pretrain --tasks {task} --models hsd",
        "Ablations": f"--tasks {task} --queue",
        "Resolution": "hsd transfer assets/checkpoints",
        "Cost": "No run of",
        "Export": f"hsd benchmark main --tasks {task} --table",
        "Formulas": "perfect: 1",
        "Task card": "Shipped card",
        "Beside the paper": "different data" if task == TASK else "paper prints nothing",
    }
    assert commands[tab] in said


def test_trivial_predictors_are_rows_of_their_own_when_nothing_is_recorded(results):
    frame = frames(opened())[0]
    errors = trivial_errors(TASK)
    assert frame["model"].tolist() == ["linear ridge", "copy of the input", "mean of training", "zero"]
    assert frame["rel. L²"].tolist() == sorted(errors.values()) and set(frame["protocol"]) == {"no training"}


def test_one_record_is_a_row_and_the_others_are_named_as_not_run(results):
    entry = next(e for e in SUITES["main"] if e.task == TASK and e.label == "fno3d")
    write(results, [record_of(entry, 0.2, test=False)])
    app = opened()
    frame, said = frames(app)[0], text(app)
    assert frame.loc[frame["model"] == "FNO-3D", "rel. L²"].item() == record_of(entry, 0.2)["validation"]["relative_l2"]
    assert "has not been read" in said and "HSD has no rank here yet: it has no record under" in said
    assert "Not run yet" in said and "MeshGraphNet" in said and "--models hsd " in said
    assert "a part of the paper's protocol" in said


def test_the_table_holds_the_numbers_of_the_records_with_protocols_and_seeds(many):
    app = opened()
    frame = frames(app)[0]
    records = {r["entry"]: r for r in table_of(TASK)}
    rows = frame[frame["entry"] != ""]
    assert set(rows["entry"]) == set(records) and frame["rel. L²"].is_monotonic_increasing
    short = {title: name for name, title in SHORT.items()}
    for _, row in rows.iterrows():
        record = records[row["entry"]]
        for title in set(short) & set(frame.columns):
            assert row[title] == record["test"][short[title]]
        assert (row["parameters"], row["epochs"]) == (record["parameters"], record["training"]["epochs"])
        assert row["protocol"] == ("cut: 3.2 of 6 min" if record["label"] == "ono" else "whole")
    assert {"HSD", "HSD, seed 1", "HSD, seed 2", "HSD (tiny)"} <= set(rows["model"]) and "Enst" not in frame
    seeds = frames(app)[1]
    assert seeds["model"].tolist() == ["HSD"] and seeds["seeds"].tolist() == [3] and seeds["rel. L² ± "].item() > 0
    assert "1 of 13 were cut short" in text(app) and "over the test samples" in text(app)


def test_a_part_that_nobody_has_read_is_not_shown_as_if_it_were(many):
    app = opened(bench="torus_helmholtz")
    assert "test part has not been read" in text(app) and "Scores on **validation**" in text(app)
    runs = data.table_runs(data.found_in(many), TASK)
    assert part_in_force(runs, "test") == ("test", "") and part_in_force(runs, "validation") == ("validation", "")


def test_broken_and_foreign_files_are_left_out_with_a_sentence(many):
    (many / "runs" / "torn.json").write_text('{"schema"')
    (many / "runs" / "old.json").write_text('{"schema": "hsd-result-1"}')
    (many / "transfer.json").write_text("[1]")
    (many / "cost.json").write_text('{"rows": []}')
    said = text(opened())
    assert "torn.json is no record" in said and "old.json is no record" in said
    assert "make it again" in text(opened("Resolution"))
    assert "cost.json is no file of the command cost" in text(opened("Cost"))


def test_runs_of_other_protocols_are_tables_of_their_own(many):
    entries = [e for e in SUITES["main"] if e.task == TASK and e.label in ("hsd", "fno3d")]
    write(many, [record_of(replace(e, minutes=0.0, epochs=50, n_samples=3000), 0.01) for e in entries])
    runs = data.table_runs(data.found_in(many), TASK)
    first, second = data.protocols(runs)
    assert (first.key, second.key) == ("6min_1000samples", "50ep_3000samples")
    app = opened(protocol=second.key)
    assert "This is the paper's protocol" in text(app) and (frames(app)[0]["entry"] != "").sum() == 2
    run = next(run for run in runs if run.protocol == second)
    assert run.suite == "" and "hsd train toroidal_transport" in data.command_of(run)
    assert "--set epochs=50" in data.command_of(run)


def test_longer_runs_of_the_best_baselines_stand_in_the_table_of_the_six_minutes(many):
    assert f"hsd benchmark long --tasks {TASK} --queue" in text(opened())
    entry = next(e for e in SUITES["long"] if (e.task, e.model) == (TASK, "gno"))
    record = record_of(entry, 0.01)
    write(many, [record])
    app = opened()
    frame, said = frames(app)[0], text(app)
    rows = frame[frame["entry"] == entry.name]
    assert rows["model"].item() == "GNO (30 min)" and rows["rel. L²"].item() == record["test"]["relative_l2"]
    assert "HSD (tiny)" in set(frame["model"]) and "Rows with (30 min) had that" in said
    assert "of the best baseline, GNO (30 min)." in said and "benchmark long" not in said
    run = data.found_in(many).by_entry(entry.name)
    assert run.suite == data.LONG and f"benchmark long --tasks {TASK} --models gno --queue" in data.command_of(run)


def test_linear_ridge_is_that_of_the_samples_shown_or_not_there(many):
    entry = next(e for e in SUITES["small"] if (e.task, e.model) == (TASK, "fno3d"))
    write(many, [record_of(entry, 0.3)])
    key = "2min_1000samples_n100"
    app = opened(protocol=key)
    assert "linear ridge" not in set(frames(app)[0]["model"]) and "are not computed for these samples" in text(app)
    data_of = {"n_samples": 1000, "n_nodes": None, "n_train": 100}
    own = {TASK: {"errors": {"zero": 1.0, "ridge": 0.8765}, "part": "test", **data_of}}
    rows = [row_of(record_of(entry, 0.3))]
    write_results(results_of("small", rows, "test", own), Records(many))
    frame = frames(opened(protocol=key))[0]
    assert frame.loc[frame["model"] == "linear ridge", "rel. L²"].item() == 0.8765
    first = frames(opened())[0]
    assert first.loc[first["model"] == "linear ridge", "rel. L²"].item() == trivial_errors(TASK)["ridge"]


def test_runs_of_an_older_version_of_a_model_are_marked_and_do_not_count(many):
    entry = next(e for e in SUITES["main"] if (e.task, e.model) == (TASK, "gno"))
    newer = next(e for e in SUITES["main"] if e.model == "gno" and e.task != TASK)
    write(many, [record_of(entry, 0.001)])
    assert "of the best baseline, GNO." in text(opened())
    write(many, [record_of(newer, 0.3) | {"model_version": 2}])
    app = opened()
    frame = frames(app)[0]
    assert frame.loc[frame["entry"] == entry.name, "protocol"].item() == "whole, model version 1 of 2"
    assert "of the best baseline, FNO-3D." in text(app) and data.missing(data.found_in(many), TASK) == ["gno"]
    rows = [{"task": TASK, "model": "fno3d", "newest_version": 4}]
    (many / "main.json").write_text(json.dumps({"rows": rows}))
    assert data.newest_versions(many, data.found_in(many).runs)["fno3d"] == 4


# ---- beside the paper --------------------------------------------------------------------------------------------


def test_published_numbers_give_the_margins_that_the_paper_states_where_its_table_agrees():
    for task in ("external_aerodynamics", "magnetostatics"):
        assert round(published.published_margin(task, "mse")[1], 2) == PAPER_MARGIN[task]
    best, margin = published.published_margin(TASK, "mse")
    assert best == "meshgraphnet" and round(margin, 2) == 0.32
    table = published.TABLE_1[TASK]
    assert round(1 - table["hsd"][1] / table["fno3d"][1], 2) == PAPER_MARGIN[TASK]  # its text takes FNO-3D
    assert tables.margin_words(None, TASK)[0].endswith("Its text says 36 %, which is against FNO-3D.")
    assert not any("text says" in said for said in tables.margin_words(None, "magnetostatics"))
    for task in (*published.TABLE_1, *published.STRESS):
        assert {rank for rank, _ in published.published_standing(task).values()} == {1}


def test_ranks_and_margins_beside_the_paper_are_those_of_the_library(many):
    app = opened("Beside the paper")
    rows = [data.found_in(many).by_entry(r["entry"]) for r in table_of(TASK)]
    expected = standing([run.row for run in rows], TASK)
    ours, theirs, ranks = frames(app)
    assert "other data" in text(app) and "4 % below" not in text(app)
    for _, row in ranks.iterrows():
        name = next(n for n, title in SHORT.items() if title == row["metric"])
        known = expected["ranks"].get(name)
        assert row["HSD here"] == ("{} of {}".format(*known) if known else "not measured")
    margin = expected["margins"]["mse"]
    assert f"HSD's error is {100 * margin['margin']:.0f} % below that of the best baseline, FNO-3D" in text(app)
    assert theirs["MSE"].min() == 3.56e-4 and ours["model"].tolist()[:2] == ["GNO", "MeshGraphNet"]


@pytest.mark.parametrize("gap, words", [(0.0005, "a tie, less than"), (0.05, "more than")])
def test_a_margin_within_the_spread_over_seeds_is_a_tie(gap, words):
    hsd, fno = (next(e for e in SUITES["main"] if e.task == TASK and e.label == label) for label in ("hsd", "fno3d"))
    errors = [(replace(hsd, seed=seed), 0.02 + 0.001 * seed) for seed in range(3)] + [(fno, 0.021 + gap)]
    runs = []
    for entry, error in errors:
        record = record_of(entry, error)
        record["test"]["relative_l2"] = error
        runs.append(data.run_of(record))
    found = tables.standing_of(runs, TASK, "test")
    assert tables.tie_words(runs, "test", found) == (
        f"The gap in rel. L², {gap:.2g}, is {words} one standard deviation over seeds (0.001, HSD; FNO-3D has "
        "one seed)."
    )
    assert tables.tie_words([runs[0], runs[-1]], "test", found) == ""


def test_what_ranks_do_not_say_names_the_baselines_of_few_epochs_on_that_part():
    runs = []
    for label, epochs in {"hsd": 3, "fno3d": tables.FEW_EPOCHS, "gnot": tables.FEW_EPOCHS - 1, "hamlet": 1}.items():
        record = record_of(next(e for e in SUITES["main"] if e.task == TASK and e.label == label), 0.5)
        record["training"]["epochs"] = epochs
        runs.append(data.run_of(record))
    built, few = tables.limit_words(runs, "test")
    assert "samples alone" in built and few.startswith("GNOT and HAMLET had fewer than 20 epochs")
    assert tables.limit_words(runs[:3], "test")[1].startswith("GNOT had")
    assert tables.limit_words(runs[:2], "test") == [built]
    short = deepcopy(runs[1].record)
    short["training"]["epochs"] = 1
    assert tables.limit_words([data.run_of(short), runs[1]], "test")[1].startswith("FNO-3D (its shorter row) had")


# ---- ablations, cost, transfer -----------------------------------------------------------------------------------


def test_ablations_are_ratios_to_the_full_model_and_missing_variants_are_named(many):
    app = opened("Ablations")
    records = ablation_of(TASK, 9)
    frame = frames(app)[0]
    assert frame["variant"].tolist() == [r["label"] for r in records]
    errors = {r["label"]: r["validation"]["relative_l2"] for r in records}
    others = dict.fromkeys(errors, "full")
    others |= {"grid fiber, without projection": "grid fiber", "grid fiber, commutator": "grid fiber"}
    assert frame["against"].tolist() == list(others.values())
    ratios = [errors[label] / errors[other] for label, other in others.items()]
    assert frame["ratio"].tolist() == pytest.approx(ratios)
    _, entries = data.ablation_entries(TASK)
    assert f"**Not run yet** ({len(entries) - 9} of {len(entries)}" in text(app) and entries[-1].label in text(app)
    assert "full" not in {r.label for r in data.table_runs(data.found_in(many), TASK)}


def test_ratios_are_bars_from_one_on_a_logarithmic_axis_in_words_that_suit_their_size():
    ratios = {"same": 1.0, "half": 0.5, "a bit": 1.0004, "worse": 1.29, "far": 30.4, "gone": 0.0}
    figure = ratio_figure(ratios, "title", LIGHT)
    bars = figure.data[0]
    ends = np.array(bars.base) + np.array(bars.x)
    assert ends == pytest.approx([1.0, 0.5, 1.0004, 1.29, 30.4, 1e-3])
    assert list(bars.text) == ["±0 %", "−50 %", "±0 %", "+29 %", "×30.4", "−100 %"]
    low, high = figure.layout.xaxis.range
    assert figure.layout.xaxis.type == "log" and 10**low < ends.min() and 10**high > ends.max()
    assert {bars.marker.color[i] for i in (1, 5)}.isdisjoint(bars.marker.color[i] for i in (3, 4))


def test_every_task_has_a_table_and_an_ablation_of_its_own():
    for task in TASKS:
        assert data.suite_of(task) in data.TABLES
        assert data.ablation_entries(task)[1][0].label == "full"
        missing = data.missing(data.Found(Path(), (), ()), task)
        assert set(data.LABELS) - set(missing) == ({"hsd-tiny"} if task in TINIER_ALREADY else set())


def test_costs_and_transfer_show_the_recorded_numbers_and_refusals(many):
    app = opened("Cost")
    measured, cost = frames(app)[:2]
    assert measured["model"].tolist() == ["FNO-3D", "HSD"] and measured["forward ms"].tolist() == [8.25, 12.5]
    assert "Some CPU, 2 cores" in text(app) and "Not measured yet" in text(app) and "hsd cost assets" in text(app)
    assert cost["forward ms"].is_monotonic_increasing and set(cost["training s"]) == {360.0}
    app = opened("Resolution")
    frame = frames(app)[0]
    assert frame["relative L²"].isna().sum() == 2 and "It is bound to its mesh." in set(frame["refused because"])
    assert "Not measured yet" in text(app) and "Geo-FNO" in text(app)
    assert data.label_of_checkpoint("out/x/model.safetensors", "FNO-3D") == "fno3d"


# ---- where a number is from --------------------------------------------------------------------------------------


def test_a_record_opens_with_config_seed_data_versions_checksum_and_command(many):
    record = next(r for r in table_of(TASK) if r["label"] == "hsd paper")
    app = opened(record=record["entry"])
    said = text(app)
    for needed in (
        record["sha256"], record["data"]["command"], "seed 0", "torch 2.13.0", "Made again by",
        "--models 'hsd paper' --queue --results out/again",
    ):  # fmt: skip
        assert needed in said
    assert any(json.loads(e.value)["config"] == record["config"] for e in app.json)
    metrics = frames(app)[-1]
    assert metrics["test"].tolist() == [record["test"][n] for n in DEFINITIONS if n in record["test"]]


def test_a_link_to_a_lost_record_is_a_sentence(many):
    assert "There is no record gone" in text(opened(record="gone"))


def test_a_chosen_cell_opens_the_record_of_its_row_and_leaving_it_closes_it(many):
    def script():
        import streamlit as st

        from hsd.ui.benchmarks_record import CLEARED, _chosen, closed
        from hsd.ui.state import get_state

        for cells in ([], [(1, "MSE")], [(0, "MSE")]):
            st.session_state["table"] = {"selection": {"cells": cells}}
            _chosen("table", ("a", ""))
            st.text(get_state().benchmarks.record)
        closed()
        st.text(f"{get_state().benchmarks.record}{st.session_state[CLEARED]}")

    app = good(AppTest.from_function(script).run())
    assert [e.value for e in app.text] == ["", "", "a", "1"]


@pytest.mark.parametrize("suite", SUITES)
def test_every_run_of_a_suite_is_made_again_by_a_command_that_the_program_reads(suite):
    import shlex

    from hsd.cli import build_parser

    for entry in SUITES[suite]:
        words = shlex.split(data.command_of(data.run_of(record_of(entry, 0.1))))
        args = build_parser().parse_args(words[3:])
        chosen = [e for e in SUITES[args.suite] if e.task in args.tasks and e.label in args.models]
        assert entry.name in [e.name for e in chosen]


# ---- exports, formulas, opening ----------------------------------------------------------------------------------


def view_of(folder: Path) -> View:
    from hsd.data.tasks import task

    found = data.found_in(folder)
    runs = data.ordered(data.table_runs(found, TASK))
    return View(found, task(TASK), runs, data.protocols(runs)[0], "test", "")


def test_exported_tables_hold_the_records_and_say_where_they_are_from(many):
    view = view_of(many)
    files = {label: make() for label, (_, make, _) in files_of(view).items()}
    lines = files["CSV: results"].decode().splitlines()
    assert f"# content: {origin_of(view.found)['content']}" in lines and "# part: test" in lines
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in lines if not line.startswith("#")))))
    records = {r["entry"]: r for r in table_of(TASK)}
    assert {row["entry"] for row in rows} - {""} == set(records)
    assert all(float(r["MSE"]) == records[r["entry"]]["test"]["mse"] for r in rows if r["entry"])
    whole = json.loads(files["JSON"])
    assert whole["paper"]["note"].startswith("other data") and whole["not_run"] == []
    assert {row["sha256"] for row in whole["rows"]} == {r["sha256"] for r in records.values()}
    assert (
        whole["standing"]["ranks"]["mse"][0] == 1 and whole["trivial"]["errors"].keys() == trivial_errors(TASK).keys()
    )


def test_all_formulas_are_shown_as_the_metrics_use_them(results):
    from hsd.metrics import METRICS

    app = opened("Formulas")
    assert list(METRICS) == list(DEFINITIONS)
    for name, metric in METRICS.items():
        said = DEFINITIONS[name]
        assert (metric.title, metric.formula, metric.best) == (said.title, said.formula, said.best)
    assert {e.value.strip("$\n") for e in app.latex} == {said.latex for said in DEFINITIONS.values()}


def test_opening_the_page_loads_no_torch():
    code = (
        "import sys\nfrom streamlit.testing.v1 import AppTest\n"
        f"app = AppTest.from_file({PAGE!r}, default_timeout=60).run()\nassert not app.exception\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")


def test_the_records_of_the_program_are_all_read():
    found = data.found_in(RESULTS)
    assert found.broken == () and len(found.runs) == len(list((RESULTS / "runs").glob("*.json")))
    assert all(run.suite or run.protocol.n_samples != 1000 for run in found.runs)
