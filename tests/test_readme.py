"""The README keeps its word: its Python runs, its commands exist, its set-up lines match the files and CI."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hsd.cli import build_parser, main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("python -m hsd")]


@pytest.mark.parametrize("command", commands())
def test_every_command_shown_exists(command):
    words = shlex.split(command, comments=True)[3:]
    assert build_parser().parse_args(words).run


def test_python_blocks_and_commands_run_in_turn_and_write_into_out_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "out" / "cache"))
    names: dict = {}
    for i, block in enumerate(blocks("python")):
        exec(compile(block, f"README.md, Python block {i + 1}", "exec"), names)
    for command in commands():
        assert main(shlex.split(command, comments=True)[3:]) == 0, (command, capsys.readouterr().err)
        if "--out" in command:
            assert Path(command.split("--out ")[1].split()[0]).stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert "/out/" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_command_that_makes_a_checkpoint_again_would_train_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (command,) = [line for block in blocks("bash") for line in block.splitlines() if "-m hsd pretrain" in line]
    assert main([*shlex.split(command)[3:], "--plan"]) == 0
    said = capsys.readouterr().out
    assert "torus_helmholtz_hsd_s0_6min" in said and "missing" in said


def test_sizes_of_the_shipped_checkpoints_are_as_it_says():
    files = [path for path in (ROOT / "assets" / "checkpoints").rglob("*") if path.is_file()]
    weights = [path for path in files if path.suffix == ".safetensors"]
    count, total, largest = re.search(
        r"The (\d+) shipped ones take (\d+) MB with their manifests and\nrecorded inputs, the largest ([\d.]+) MB",
        README,
    ).groups()
    assert int(count) == len(weights) and int(total) == round(sum(path.stat().st_size for path in files) / 1e6)
    assert float(largest) == round(max(path.stat().st_size for path in weights) / 1e6, 1)


def test_the_gallery_is_listed_whole():
    from hsd.mesh.primitives import GALLERY

    listed = re.search(r"^Shapes of the gallery: (.*?)\.$", README, re.MULTILINE | re.DOTALL)[1]
    assert re.findall(r"`(\w+)`", listed) == list(GALLERY)


def test_the_cache_folder_is_the_one_used(monkeypatch):
    from hsd.hodge.cache import cache_folder

    monkeypatch.delenv("HSD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert "~/" + cache_folder().relative_to(Path.home()).as_posix() in README


def test_pages_of_the_app_are_named():
    for page in (ROOT / "pages").glob("*.py"):
        assert re.sub(r"^\d+_", "", page.stem).replace("_", " ").lower() in README.lower(), page.name


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

    rows = re.findall(r"^\| (`.*?) \|", README.split("## Operators")[1].split("## Stars")[0], re.MULTILINE)
    calls = [call for row in rows for call in re.findall(r"`([^`]+)`", row)]
    assert len(calls) > 15
    for call in calls:
        name, method = call.split("(")[0], re.search(r"\)\.(\w+)", call)
        assert name.startswith("dec.") or name in hsd.__all__, call
        value = getattr(hsd.DEC, name.removeprefix("dec.")) if name.startswith("dec.") else getattr(hsd, name)
        assert callable(value) and (method is None or hasattr(value, method[1]) or method[1] == "harmonic"), call


def test_what_is_said_of_the_harmonic_basis_holds():
    import hsd

    row = next(line for line in README.splitlines() if line.startswith("| `HodgeSolver"))
    basis = hsd.HodgeSolver(hsd.gallery("torus", 60)).harmonic(1)
    assert type(basis).__name__ in row
    for name in re.findall(r"`(dual|orthonormal|cycles|periods)`", row):
        assert getattr(basis, name).shape[1] == 2


def test_every_mesh_format_is_listed():
    from hsd.mesh.io import READERS

    table = README.split("## Files")[1].split("## Speed")[0]
    assert {suffix for suffix in READERS if f"`.{suffix}`" not in table} == set()


def test_pins_are_exact_and_dev_adds_to_them():
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text().splitlines():
            assert re.fullmatch(r"(#.*|-r requirements\.txt|[A-Za-z0-9-]+==[0-9.]+|)", line), line


def test_what_is_said_of_tuning_holds():
    from hsd.data.tasks import TASKS
    from hsd.models.registry import BASELINES, model_class

    said = re.search(r"HSD was tuned more than the baselines: .*?default\.", README, re.DOTALL)[0]
    assert set(model_class("hsd").task_config) == set(TASKS) and "each of the six tasks" in said
    for name in BASELINES:
        cls = model_class(name)
        by_task = {key for entries in cls.task_config.values() for key in entries} & {"lr", "weight_decay"}
        assert by_task <= {"weight_decay"} or cls.title in said, name
