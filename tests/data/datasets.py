"""Small good datasets for tests: one mesh, several meshes, node vectors, a trajectory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hsd.data.dataset import save_dataset, vector_target
from hsd.data.schema import FieldsSpec, Schema
from hsd.data.splits import split_codes
from hsd.data.tasks.base import FieldSpec
from hsd.hodge.solver import HodgeSolver
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

N = 20


def padded(rows: list[np.ndarray]) -> np.ndarray:
    """Rows of unequal length as one array, filled up with zeros."""
    out = np.zeros((len(rows), max(len(r) for r in rows), *rows[0].shape[1:]))
    for target, row in zip(out, rows):
        target[: len(row)] = row
    return out


def forms(rng: np.random.Generator, meshes: list[Mesh], numbers: np.ndarray, k: int) -> np.ndarray:
    return padded([rng.normal(size=meshes[j].complex.n(k)) for j in numbers])


def contents(kind: str, seed: int = 0) -> dict:
    """Arguments of save_dataset: "one" (harmonic reference), "several" meshes, "vectors", "steps" (trajectory)."""
    rng = np.random.default_rng(seed)
    if kind == "several":
        meshes = [gallery("torus", 60), gallery("torus", 90), gallery("torus", 75)]
        numbers = rng.integers(0, 3, N)
    else:
        meshes, numbers = [gallery("torus", 60)], np.zeros(N, int)
    scalar = FieldSpec("g", 0, "scalar")
    out = {
        "meshes": meshes if kind == "several" else meshes[0],
        "inputs": {"g": forms(rng, meshes, numbers, 0)},
        "target": forms(rng, meshes, numbers, 1),
        "schema": Schema((scalar,), FieldSpec("v", 1, "flux"), provenance={"made": "by a test"}),
        "split": split_codes(N),
    }
    if kind in ("one", "several"):
        frames = [{"harmonic": HodgeSolver(m).harmonic(1).orthonormal} for m in meshes]
        fields = {"harmonic": FieldsSpec(1, "flux", True)}
        out |= {"coefficients": {"harmonic": rng.normal(size=(N, 2))}, "fields": frames}
        out["schema"] = Schema((scalar,), FieldSpec("v", 1, "flux"), fields)
        if kind == "one":
            out["fields"] = frames[0]
        else:
            out["mesh_of_sample"] = numbers
    if kind == "vectors":
        out["schema"] = Schema((scalar,), vector_target("v"))
        out["target"] = rng.normal(size=(N, meshes[0].complex.n_vertices, 3))
    if kind == "steps":
        steps = np.stack([out["inputs"]["g"] * f for f in (1.0, 0.8, 0.5)], axis=1)
        out |= {"trajectory": steps, "target": steps[:, -1]}
        out["schema"] = Schema((scalar,), FieldSpec("end", 0, "scalar"), state="g")
    return out


KINDS = ("one", "several", "vectors", "steps")


def write(path: Path, kind: str, **changes) -> Path:
    """A dataset file of one of KINDS."""
    save_dataset(path, **{**contents(kind), **changes})
    return path
