"""``import hsd`` is light: under a second, nothing heavy loaded; every public name is found when asked for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hsd

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "streamlit", "pyvista", "vtk", "vtkmodules", "plotly", "meshio", "potpourri3d", "scipy", "numpy")
APP_ONLY = ("torch", "streamlit", "pyvista", "vtk", "vtkmodules", "plotly", "meshio", "potpourri3d")
OPERATORS = ("load", "Domain")
"""Public names that belong to neural operators."""


def _loaded_after(code: str, names: tuple[str, ...]) -> list[str]:
    tail = f"\nimport sys, json; print(json.dumps([n for n in {names!r} if n in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code + tail], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_import_loads_nothing_heavy():
    assert _loaded_after("import hsd, hsd.cli", HEAVY) == []


def test_public_names_load_no_app_library():
    """torch comes with the names of operators only."""
    code = f"import hsd\n[getattr(hsd, n) for n in hsd.__all__ if n not in {OPERATORS!r}]"
    assert _loaded_after(code, APP_ONLY) == []
    assert _loaded_after("import hsd\n[getattr(hsd, n) for n in hsd.__all__]", APP_ONLY) == ["torch"]


def test_import_takes_less_than_a_second():
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import hsd"], cwd=ROOT, check=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 1.0


@pytest.mark.parametrize("name", hsd.__all__)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(hsd, name)
    assert name == "__version__" or value.__doc__
    assert name in dir(hsd)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = hsd.no_such_name
