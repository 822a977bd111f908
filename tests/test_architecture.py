"""Import arrows and walls.  Imports are read from the syntax tree, so lazy ones inside functions count too."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Each layer may import from itself and from those before it.  errors and linalg are the ground; cli, ui, pages and app
# may also use the public names of ``hsd`` itself (which reach down to hodge).
LAYERS = (
    "errors", "linalg", "processes", "mesh", "dec", "hodge", "data", "nn", "models", "metrics", "training",
    "experiments", "viz", "cli", "ui", "pages", "app",
)  # fmt: skip
NUMPY_ONLY = ("errors", "linalg", "processes", "mesh", "dec", "hodge", "data")
NUMERIC = {"numpy", "scipy"}
# Third-party packages that a layer may use beside numpy and scipy.
EXTRA = {
    "nn": {"torch"},
    "models": {"torch"},
    "metrics": {"torch"},
    "training": {"torch", "safetensors"},
    "experiments": {"torch", "safetensors"},
    "viz": {"plotly", "pyvista", "vtk", "vtkmodules", "PIL"},
    "ui": {"streamlit", "plotly", "panel", "stpyvista", "pandas", "torch"},
    "pages": {"streamlit", "plotly", "pandas"},
    "app": {"streamlit"},
}
# Exceptions, file by file (a prefix of the path): what a file wraps for everybody else.
EXCEPTIONS = {
    "hsd/linalg.py": {"threadpoolctl", "pymetis"},  # one BLAS thread inside iterations; nested dissection
    "hsd/mesh/io": {"pyvista", "vtk", "vtkmodules", "meshio"},  # file formats
    "hsd/mesh/point_laplacian": {"potpourri3d"},  # local triangulations of point clouds
    "hsd/hodge/cache": {"filelock"},  # two processes share the disk cache
    "hsd/training/jobs": {"filelock"},  # one starter a run folder, one run a device
    "hsd/data/generate": {"filelock"},  # one run a folder of parts
    "hsd/ui/vtk_worker": {"pyvista", "PIL"},  # a process of its own
    "hsd/data/domain.py": {"torch"},
    "hsd/data/sparse.py": {"torch"},
    "hsd/data/batch.py": {"torch"},
}
LAZY = {"pyvista", "vtk", "vtkmodules", "meshio", "potpourri3d", "torch", "stpyvista", "panel"}
LAZY_BELOW = ("mesh", "dec", "hodge", "viz", "cli", "ui", "pages", "app")
MAX_LINES = 400
SHARED_MODELS = ("registry.py", "__init__.py", "models/base.py")
"""Files of the models' layer that may name models; ``base`` may be imported by all of them."""


def layer_of(path: str) -> str:
    """Layer of a file given relative to the root; ``hsd`` for the package's own __init__ and __main__."""
    parts = path.split("/")
    if parts[0] in ("app.py", "pages"):
        return parts[0].removesuffix(".py")
    if parts[1] in ("__init__.py", "__main__.py"):
        return "hsd"
    name = parts[1].removesuffix(".py")
    return "cli" if name.startswith("cli_") else name


def imports(tree: ast.AST, path: str):
    """Yield (line, dotted module, imported names, at module level) for each import, importlib calls included."""
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, (), id(node) in top
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                package = path.removesuffix(".py").split("/")[: -node.level]
                module = ".".join([*package, *([module] if module else [])])
            yield node.lineno, module, tuple(a.name for a in node.names), id(node) in top
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value, (), False


def violations(path: str, source: str) -> list[str]:
    """All breaches of arrows, walls and house rules in one file."""
    tree = ast.parse(source)
    layer = layer_of(path)
    found = [] if layer in (*LAYERS, "hsd") else [f"{path}: {layer} is no layer"]
    allowed = NUMERIC | EXTRA.get(layer, set())
    for prefix, more in EXCEPTIONS.items():
        if path.startswith(prefix):
            allowed = allowed | more
    for line, module, names, at_top in imports(tree, path):
        where = f"{path}:{line}"
        package, *rest = module.split(".")
        if package == "hsd":
            targets = rest[:1] or [n for n in names if n != "__version__"] or (["hsd"] if not names else [])
            for target in targets:
                target_layer = "cli" if target.startswith("cli_") else target
                if target_layer not in LAYERS:  # a public name of hsd, or hsd itself
                    if layer not in ("hsd", "cli", "ui", "pages", "app"):
                        found.append(f"{where} imports {module} itself; name the module that defines what it needs")
                elif layer != "hsd" and LAYERS.index(target_layer) > LAYERS.index(layer):
                    found.append(f"{where} {layer} imports from the later layer {target_layer}")
            other_model = rest[:1] == ["models"] and rest[1:] != ["base"]
            if layer == "models" and other_model and not path.endswith(SHARED_MODELS):
                found.append(f"{where} a model imports another model")
            if layer == "pages" and rest[:1] == ["pages"]:
                found.append(f"{where} a page imports another page")
        elif package in ("pages", "app"):
            found.append(f"{where} imports {package}")
        elif package not in sys.stdlib_module_names and package not in allowed:
            found.append(f"{where} {layer} imports {package}")
        elif package in LAZY and at_top and layer in LAZY_BELOW:
            found.append(f"{where} imports {package} at module level; import it inside the function that needs it")
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print":
            found.append(f"{path}:{line} print")
        if isinstance(node, ast.ExceptHandler):
            caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(c is None or getattr(c, "id", "") in ("Exception", "BaseException") for c in caught):
                found.append(f"{path}:{line} bare or broad except")
        if isinstance(node, ast.Assert):
            found.append(f"{path}:{line} assert")
    lines = source.splitlines()
    found += [f"{path}:{i} {m}" for i, text in enumerate(lines, 1) for m in ("TODO", "FIXME", "XXX") if m in text]
    if len(lines) > MAX_LINES:
        found.append(f"{path} has {len(lines)} lines, more than {MAX_LINES}")
    return found


def project_files() -> list[str]:
    files = [*ROOT.glob("hsd/**/*.py"), *ROOT.glob("pages/*.py"), ROOT / "app.py"]
    return sorted(f.relative_to(ROOT).as_posix() for f in files)


@pytest.mark.parametrize("path", project_files())
def test_arrows_and_walls_hold(path):
    assert violations(path, (ROOT / path).read_text(encoding="utf-8")) == []


def test_every_layer_named_is_checked():
    seen = {layer_of(path) for path in project_files()}
    assert {"errors", "mesh", "dec", "hodge", "cli", "ui", "pages", "app", "viz"} <= seen


PLANTED = {
    "upward": ("hsd/mesh/a.py", "from hsd.dec.star import star"),
    "upward, lazy": ("hsd/dec/a.py", "def f():\n    import hsd.hodge.spectrum"),
    "upward, relative": ("hsd/mesh/a.py", "from ..dec import star"),
    "upward, by name": ("hsd/dec/a.py", "from hsd import hodge"),
    "public name from within": ("hsd/hodge/a.py", "from hsd import load_mesh"),
    "package from within": ("hsd/hodge/a.py", "import hsd"),
    "linalg above errors only": ("hsd/linalg.py", "from hsd.mesh.mesh import Mesh"),
    "page from the library": ("hsd/ui/a.py", "from pages import mesh"),
    "torch too low": ("hsd/hodge/a.py", "def f():\n    import torch"),
    "torch in data": ("hsd/data/tasks/a.py", "import torch.nn as nn"),
    "by importlib": ("hsd/hodge/a.py", "import importlib\nimportlib.import_module('torch')"),
    "pyvista outside io": ("hsd/mesh/validate.py", "def f():\n    import pyvista as pv"),
    "pyvista at the top": ("hsd/mesh/io/vtk.py", "import pyvista as pv"),
    "potpourri3d elsewhere": ("hsd/mesh/surface.py", "def f():\n    import potpourri3d"),
    "streamlit in viz": ("hsd/viz/a.py", "import streamlit as st"),
    "streamlit in the cli": ("hsd/cli.py", "from streamlit import runtime"),
    "unlisted package": ("hsd/hodge/a.py", "import networkx"),
    "model of a model": ("hsd/models/gno.py", "from hsd.models.fno3d import FNO3D"),
    "no layer": ("hsd/helpers/a.py", "x = 1"),
    "print": ("hsd/mesh/a.py", "print('x')"),
    "broad except": ("hsd/mesh/a.py", "try:\n    f()\nexcept (ValueError, Exception):\n    pass"),
    "bare except": ("hsd/mesh/a.py", "try:\n    f()\nexcept:\n    pass"),
    "assert": ("hsd/mesh/a.py", "def f(x):\n    assert x"),
    "left to do": ("hsd/mesh/a.py", "x = 1  # TODO"),
    "too long": ("hsd/mesh/a.py", "x = 1\n" * (MAX_LINES + 1)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_caught(name):
    path, source = PLANTED[name]
    assert len(violations(path, source)) == 1


HARMLESS = {
    "downward": ("hsd/hodge/a.py", "import numpy as np\nfrom hsd.dec import DEC\nfrom hsd.errors import HsdError"),
    "own layer": ("hsd/mesh/a.py", "from .complex import SimplicialComplex"),
    "the version": ("hsd/hodge/a.py", "from hsd import __version__"),
    "exception": ("hsd/mesh/io/gmsh.py", "def f():\n    import meshio"),
    "base of the models": ("hsd/models/a.py", "from hsd.models.base import Operator"),
    "public names above": ("pages/a.py", "import streamlit as st\n\nimport hsd\nfrom hsd.ui import cached"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_allowed_passes(name):
    assert violations(*HARMLESS[name]) == []
