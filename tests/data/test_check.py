"""Broken dataset files: exactly one finding each, of the right kind, in a sentence that names place and remedy."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hsd import cli
from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset
from hsd.errors import InputError
from tests.data.broken import BROKEN, change, cut, put
from tests.data.datasets import KINDS, write

KINDS_OF_VALUES = ("damaged", "non_finite", "split", "padding", "not_harmonic")

OF_VALUES = ("damaged", "non_finite", "split", "trajectory", "padding", "not_harmonic")


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("good")
    return {kind: write(folder / f"{kind}.npz", kind) for kind in KINDS}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_has_exactly_the_right_finding(good, tmp_path, case):
    of, spoil, kind, words = BROKEN[case]
    path = tmp_path / "mine.npz"
    shutil.copy(good[of], path)
    spoil(path)
    findings = check_dataset(path)
    assert [f.kind for f in findings] == [kind], [f.message for f in findings]
    message = findings[0].message
    assert all(word in message for word in words), message
    assert "mine.npz" in message and message.endswith(".") and "\n" not in message


@pytest.mark.parametrize(
    "case",
    [c for c, entry in BROKEN.items() if entry[2] not in OF_VALUES],
)
def test_opening_refuses_what_check_finds_in_the_structure(good, tmp_path, case):
    of, spoil, kind, _ = BROKEN[case]
    path = tmp_path / "mine.npz"
    shutil.copy(good[of], path)
    spoil(path)
    with pytest.raises(InputError) as caught:
        Dataset(path)
    assert caught.value.kind == kind and caught.value.message == check_dataset(path)[0].message


@pytest.mark.parametrize("kind", KINDS)
def test_good_files_and_those_of_numpy_have_no_findings(good, tmp_path, kind):
    assert check_dataset(good[kind]) == []
    with np.load(good[kind]) as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    np.savez_compressed(tmp_path / "again.npz", **arrays, **{"extra/notes": np.array("free")})
    assert check_dataset(tmp_path / "again.npz") == []


def test_two_defects_are_two_findings(good, tmp_path):
    path = tmp_path / "mine.npz"
    shutil.copy(good["one"], path)
    change("target", put((5, 17), np.nan))(path)
    change("split", put(2, 7))(path)
    assert [f.kind for f in check_dataset(path)] == ["non_finite", "split"]


@pytest.mark.parametrize("cut_at", np.linspace(0.02, 0.999, 15))
def test_no_cut_file_looks_whole(good, tmp_path, cut_at):
    path = tmp_path / "mine.npz"
    shutil.copy(good["one"], path)
    cut(cut_at)(path)
    assert len(check_dataset(path)) == 1


def test_the_command_prints_sentences_and_says_it_by_its_exit_code(good, tmp_path, capsys):
    assert cli.main(["data", "check", str(good["one"])]) == 0
    assert "20 samples" in capsys.readouterr().out
    path = tmp_path / "mine.npz"
    shutil.copy(good["one"], path)
    change("target", put((5, 17), np.nan))(path)
    with pytest.raises(SystemExit) as stop:
        cli.main(["data", "check", str(path)])
    assert stop.value.code == 1
    assert capsys.readouterr().out.startswith("[non_finite] mine.npz: target")
    with pytest.raises(SystemExit):
        cli.main(["data", "check", str(path), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["good"] is False and [f["kind"] for f in said["findings"]] == ["non_finite"]
