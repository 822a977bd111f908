"""Suites of runs: no two rows of a comparison are one model, names say what is compared, `main` is the default."""

from __future__ import annotations

from dataclasses import asdict
from itertools import combinations

import pytest

from hsd.cli import build_parser, main
from hsd.data.domain import Domain
from hsd.data.tasks import TASKS
from hsd.data.tasks import task as make_task
from hsd.experiments.suites import SUITES, compared_with
from hsd.models.hsd import HSD
from hsd.models.presets import PRESETS, TINY
from hsd.models.registry import make_model

ABLATIONS = ("ablation_transport", "ablation_others")


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
            assert len(changed) == 1 or changed == {"lift", "fiber_lifts"}, (label, changed)


def test_the_ablation_on_transport_has_every_piece_that_issue_and_paper_name():
    full = HSD.make_config("toroidal_transport")
    rows = {label: HSD.make_config("toroidal_transport", **e) for label, e in ablation("toroidal_transport").items()}
    for name, values in {
        "commutator": {True, False}, "project": {True, False}, "fiber": {"resolvent", "none", "grid", "both"},
        "global_path": {True, False}, "n_modes": {64, 128, 256}, "layers": {4, 8, 12}, "tied": {True, False},
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
