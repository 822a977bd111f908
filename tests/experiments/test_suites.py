"""Suites of runs: no two rows of a comparison are one model, names say what is compared, `main` is the default."""

from __future__ import annotations

from hsd.cli import build_parser, main
from hsd.experiments.suites import SUITES


def test_the_suite_of_the_command_is_main_where_none_is_named(tmp_path, capsys):
    assert build_parser().parse_args(["benchmark", "--queue"]).suite == "main"
    assert main(["benchmark", "--out", str(tmp_path), "--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[0] for line in lines] == [entry.name for entry in SUITES["main"]]
