"""Suites of runs: no two rows of a comparison are one model, names say what is compared, `main` is the default."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import combinations

import pytest

from hsd.cli import build_parser, main
from hsd.data.domain import Domain
from hsd.data.tasks import TASKS
from hsd.data.tasks import task as make_task
from hsd.errors import UnknownNameError
from hsd.experiments.pretrain import wanted
from hsd.experiments.records import SCHEMA, Records
from hsd.experiments.suites import (
    CORE_TASKS,
    SUITES,
    Entry,
    best_baselines,
    chosen,
    compared_with,
    full_protocol,
    shown,
)
from hsd.models.hsd import HSD
from hsd.models.presets import PRESETS, TINY
from hsd.models.registry import BASELINES, make_model

ABLATIONS = ("ablation_transport", "ablation_others")


def recorded(records: Records, task: str, model: str, error: float, cut: float | None = None) -> Entry:
    """A record of a row of the main tables, with nothing but its validation error."""
    entry = next(e for e in (*SUITES["main"], *SUITES["others"]) if (e.task, e.label) == (task, model))
    scores = {"relative_l2": error}
    head = {"schema": SCHEMA, "entry": entry.name, **asdict(entry), "cut": cut, "validation": scores}
    records.write(entry, head)
    return entry


def ablation(task: str) -> dict[str, dict]:
    return {e.label: e.config for name in ABLATIONS for e in SUITES[name] if e.task == task}


def test_the_suite_of_the_command_is_main_where_none_is_named(tmp_path, capsys):
    assert build_parser().parse_args(["benchmark", "--queue"]).suite == "main"
    assert main(["benchmark", "--out", str(tmp_path), "--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[0] for line in lines] == [entry.name for entry in SUITES["main"]]


@pytest.mark.parametrize("task", TASKS)
def test_no_two_rows_of_an_ablation_are_one_model(task):
    made = {label: HSD.make_config(task, **entries) for label, entries in ablation(task).items()}
    assert [pair for pair in combinations(made, 2) if made[pair[0]] == made[pair[1]]] == []


@pytest.mark.parametrize("task", TASKS)
def test_a_row_of_an_ablation_differs_by_one_thing_from_the_row_that_it_is_compared_with(task):
    rows = ablation(task)
    made = {label: asdict(HSD.make_config(task, **entries)) for label, entries in rows.items()}
    for label in rows:
        if label not in ("full", "paper"):
            other = made[compared_with(label, rows)]
            changed = {key for key, value in made[label].items() if value != other[key]}
            assert len(changed) == 1 or changed in ({"lift", "fiber_lifts"}, {"poles", "hats"}), (label, changed)


def test_the_ablation_on_transport_has_every_piece_that_issue_and_paper_name():
    full = HSD.make_config("toroidal_transport")
    rows = {label: HSD.make_config("toroidal_transport", **e) for label, e in ablation("toroidal_transport").items()}
    for name, values in {
        "commutator": {True, False}, "project": {True, False}, "fiber": {"resolvent", "none", "grid"},
        "global_path": {True, False}, "n_modes": {64, 128, 256, 512}, "layers": {4, 8, 12}, "tied": {True, False},
        "variant": {"spectral", "paper"}, "penalty": {0.0, full.penalty}, "products": {0, 4},
    }.items():  # fmt: skip
        assert {getattr(config, name) for config in rows.values()} == values, name


@pytest.mark.parametrize("task", TASKS)
def test_tiny_is_a_row_exactly_where_it_has_fewer_parameters_than_the_default(task):
    this = make_task(task)
    domain = Domain.build(this, this.mesh(300), 64)
    own, tiny = (make_model("hsd", domain, task, **entries).n_parameters for entries in ({}, TINY))
    rows = [e for e in (*SUITES["main"], *SUITES["others"]) if e.task == task and e.config == PRESETS["tiny"]]
    assert len(rows) == (tiny < own)


# ---- larger budgets and further seeds ----------------------------------------------------------------------------


def test_the_best_two_baselines_of_a_core_task_have_thirty_minutes_more_are_taken_as_rows_are_recorded(tmp_path):
    records = Records(tmp_path)
    assert chosen("long", records) == []
    task, other = CORE_TASKS[:2]
    recorded(records, task, "gno", 0.5)
    recorded(records, task, "hsd", 0.01)
    assert [(e.task, e.model, e.minutes, e.config) for e in chosen("long", records)] == [(task, "gno", 30.0, {})]
    for model, error in {"fno3d": 0.2, "ono": 0.3}.items():
        recorded(records, task, model, error)
    recorded(records, task, "deeponet", 0.1, cut=3.0)  # not whole
    recorded(records, other, "hamlet", 0.4)
    assert best_baselines(task, records, 2) == ["fno3d", "ono"]
    assert [(e.task, e.label) for e in chosen("long", records)] == [(task, "fno3d"), (task, "ono"), (other, "hamlet")]
    assert chosen("main", records) == SUITES["main"]
    with pytest.raises(UnknownNameError, match="long"):
        chosen("everything", records)


def test_further_seeds_are_of_hsd_and_the_best_baseline_on_transport(tmp_path):
    records = Records(tmp_path)
    first = recorded(records, "toroidal_transport", "hsd", 0.02)
    assert chosen("seeds", records) == [replace(first, seed=seed) for seed in (1, 2)]
    for model, error in {"fno3d": 0.2, "ono": 0.1}.items():
        recorded(records, "toroidal_transport", model, error)
    seeds = [(e.task, e.model, e.seed) for e in chosen("seeds", records)]
    assert seeds == [("toroidal_transport", m, seed) for m in ("hsd", "ono") for seed in (1, 2)]


def test_the_full_suite_is_what_pretrain_makes_with_three_seeds_of_hsd_and_the_best_two(tmp_path):
    records = Records(tmp_path)
    pretrained = {e.name: e for e in wanted(protocol="full")}
    assert {e.name: e for e in SUITES["full"] if e.seed == 0} == pretrained
    for model, error in {"gno": 0.1, "ono": 0.3, "fno3d": 0.2}.items():
        recorded(records, "magnetostatics", model, error)
    seeds = [e for e in chosen("full", records) if e.seed]
    assert {(e.task, e.model) for e in seeds if e.model in BASELINES} == {
        ("magnetostatics", "gno"), ("magnetostatics", "fno3d")
    }  # fmt: skip
    assert {(e.task, e.seed) for e in seeds if e.model == "hsd"} == {(task, seed) for task in TASKS for seed in (1, 2)}
    assert all(e == full_protocol(e) and e.n_samples == 3000 and not e.minutes for e in SUITES["full"])


def test_the_table_of_main_has_the_rows_of_larger_budgets_and_seeds_too():
    names = {e.name for e in shown("main")}
    assert names == {e.name for suite in ("main", "long", "seeds") for e in SUITES[suite]}
    assert shown("others") == SUITES["others"]


def test_the_command_runs_the_chosen_ones_says_what_it_lacks_and_takes_named_models(tmp_path, capsys):
    folders = ["--out", str(tmp_path), "--results", str(tmp_path)]
    assert main(["benchmark", "long", "--queue", *folders]) == 1
    assert "run them first (python -m hsd benchmark main --queue)" in capsys.readouterr().err
    recorded(Records(tmp_path), "magnetostatics", "ono", 0.3)

    def listed(*words):
        assert main(["benchmark", "long", *folders, *words]) == 0
        return [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]]

    assert listed() == ["magnetostatics_ono_s0_30min"]
    assert listed("--tasks", "magnetostatics", "--models", "gno") == ["magnetostatics_gno_s0_30min"]
