"""The README keeps its word: its Python runs, its commands exist, its set-up lines match the files and CI."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hsd.cli import build_parser

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("python -m hsd")]


def test_python_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = blocks("python")
    assert len(code) >= 4
    names: dict = {}
    for i, block in enumerate(code):
        exec(compile(block, f"README.md, Python block {i + 1}", "exec"), names)


@pytest.mark.parametrize("command", commands())
def test_every_command_shown_exists(command):
    words = shlex.split(command, comments=True)[3:]
    assert build_parser().parse_args(words).run


def test_every_subcommand_is_shown():
    known = next(a.choices for a in build_parser()._actions if a.dest == "command")
    assert {shlex.split(c)[3] for c in commands()} == set(known)


def test_setup_commands_name_files_that_exist():
    start, test = (line for block in blocks("sh") for line in block.splitlines() if "venv" in line)
    for line, ending in ((start, "streamlit run app.py"), (test, "python -m pytest")):
        assert line.endswith(ending)
        for name in re.findall(r"\S+\.(?:txt|py)\b", line):
            assert (ROOT / name).is_file(), name


def test_ci_runs_the_readmes_test_command():
    test = next(line for block in blocks("sh") for line in block.splitlines() if line.endswith("pytest"))
    script = (ROOT / ".ci" / "run").read_text().splitlines()
    for step in test.split(" && "):
        assert step.replace("install -r", "install -q -r") in script, step


def test_operators_of_the_table_exist():
    import hsd

    for name in re.findall(r"^\| `([a-z_]+)\(k\)`", README, re.MULTILINE):
        assert callable(getattr(hsd.DEC, name))


def test_every_mesh_format_is_listed():
    from hsd.mesh.io import READERS

    table = README.split("## Files")[1].split("## Speed")[0]
    assert {suffix for suffix in READERS if f"`.{suffix}`" not in table} == set()


def test_pins_are_exact_and_dev_adds_to_them():
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text().splitlines():
            assert re.fullmatch(r"(#.*|-r requirements\.txt|[A-Za-z0-9-]+==[0-9.]+|)", line), line
