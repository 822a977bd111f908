"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # two workers on two cores, set before numpy is loaded
    os.environ.setdefault(_variable, "1")

import pytest  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of browser tests, the slowest, come first and by turns with others, so that no worker ends with them alone
    and rarely two of them run at once."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    browser = [f for f in files if f.name.endswith("_browser.py")]
    others = [f for f in files if not f.name.endswith("_browser.py")]
    turns = [f for pair in zip(browser, others) for f in pair]
    items[:] = [item for f in dict.fromkeys([*turns, *browser, *others]) for item in files[f]]


def shared_folder() -> Path | None:
    """The folder with case files and real meshes, or None; under HSD_REQUIRE_SHARED=1 its absence is a failure."""
    folder = Path(os.environ.get("HSD_SHARED", ROOT.parent / "shared"))
    if (folder / "cases" / "files" / "shareable" / "manifest.json").is_file():
        return folder
    if os.environ.get("HSD_REQUIRE_SHARED") == "1":
        raise RuntimeError(f"HSD_REQUIRE_SHARED=1, but no case files under {folder}")
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("no folder of shared cases (set HSD_SHARED)")
    return folder


def folder_of_run(tmp_path_factory) -> Path:
    """The temporary folder that all workers of a test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(autouse=True)
def _private_cache(tmp_path_factory, monkeypatch):
    """Bases are cached in a folder of the test run, never in the user's."""
    monkeypatch.setenv("HSD_CACHE", str(folder_of_run(tmp_path_factory) / "hsd-cache"))


@pytest.fixture
def run(capsys):
    """Call a command of ``python -m hsd`` in this process → (exit code, output, errors)."""
    from hsd import cli

    def call(*words):
        try:
            code = cli.main([str(w) for w in words])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return call
