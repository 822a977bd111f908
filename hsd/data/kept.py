"""Shapes that take seconds to make and are always the same, kept in the disk cache (:mod:`hsd.hodge.cache`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

import hsd.mesh.primitives as primitives
from hsd.hodge.cache import cache_key, cached
from hsd.mesh.mesh import Mesh


@cache
def sources() -> str:
    """sha256 (hex) of the program text that makes shapes: what an older text made is made again."""
    folder = Path(primitives.__file__).parent
    files = [*sorted(folder.glob("*.py")), folder.parent / "complex.py", Path(__file__).with_name("smooth_shapes.py")]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def kept_array(make: Callable[[], np.ndarray], *key: object) -> np.ndarray:
    """``make()``, from disk where it was made before under this key (name and arguments, by their ``repr``)."""
    return cached(_key(*key), lambda entry: "values" in entry, lambda: {"values": make()})["values"]


def kept_mesh(make: Callable[[], Mesh], *key: object) -> Mesh:
    """The same for a mesh of one kind of cell: points, simplices and winding are equal to the last bit."""

    def compute() -> dict[str, np.ndarray]:
        mesh = make()
        cells = mesh.complex.simplices(mesh.dim).copy()
        turned = mesh.winding < 0
        cells[turned, :2] = cells[turned, 1::-1]
        return {"points": mesh.points, "cells": cells, "name": np.array(mesh.name)}

    entry = cached(_key(*key), lambda entry: {"points", "cells", "name"} <= set(entry), compute)
    return Mesh.from_cells(entry["points"], entry["cells"], name=str(entry["name"]))


def _key(*key: object) -> str:
    return cache_key("shape", sources(), np.__version__, *key)
