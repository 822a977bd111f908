"""Golden outputs: what a shipped checkpoint predicted for one validation sample when it was made.

The input is kept once a task and mesh, ``input-HASH.npz`` beside the checkpoints: the source as float16 of its largest
value (the prediction was made from these rounded numbers) and the coefficients.  Node values at fixed vertices stand in
the manifest of the checkpoint; the domain is rebuilt from the task, whose mesh is deterministic.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from hsd.data.dataset import Dataset
from hsd.errors import InputError
from hsd.hodge.cache import write_atomically
from hsd.training.evaluate import arrays_of, predict_part
from hsd.training.predictor import Predictor

PLACES = 64
TOLERANCE = 1e-3
"""Largest difference, in units of the root mean square of the recorded values."""


def record_golden(predictor: Predictor, dataset: Dataset, folder: Path) -> dict[str, Any]:
    """Write the input where it is not there yet; returns the manifest's entry: input, vertices, values (p, C)."""
    name = f"input-{predictor.domain.mesh.content_hash[:8]}.npz"
    path = folder / name
    if not path.is_file():
        arrays = arrays_of(dataset, "validation", limit=1)
        source = arrays.pop("source")
        arrays.pop("target")
        scale = float(np.abs(source).max()) or 1.0
        packed = {"source": (source / scale).astype(np.float16), "scale": np.array(scale), **arrays}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **packed)
        write_atomically(path, buffer.getvalue())
    n = predictor.domain.n_vertices
    vertices = np.unique(np.linspace(0, n - 1, min(PLACES, n)).round().astype(int))
    values = _predict(predictor, path)[vertices]
    return {
        "input": name,
        "vertices": vertices.tolist(),
        "values": [[float(f"{x:.7g}") for x in row] for row in values],
    }


def golden_difference(predictor: Predictor, folder: Path) -> float:
    """max |u − u_recorded| over the places and components, by the root mean square of the recorded values.

    Raises InputError (no_golden, bad_golden).
    """
    golden = predictor.manifest.get("golden")
    if not golden:
        raise InputError("The manifest of this checkpoint has no golden output; install it again.", "no_golden")
    recorded = np.array(golden["values"])
    found = _predict(predictor, folder / golden["input"])[golden["vertices"]]
    return float(np.abs(found - recorded).max() / max(np.sqrt((recorded**2).mean()), 1e-30))


def _predict(predictor: Predictor, path: Path) -> np.ndarray:
    """Node values (n_vertices, C) for the kept input."""
    try:
        with np.load(path, allow_pickle=False) as data:
            arrays = {key: data[key] for key in data.files}
        source = arrays.pop("source").astype(np.float64) * float(arrays.pop("scale"))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"The golden input {path.name} cannot be read ({error}).", "bad_golden") from error
    return predict_part(predictor, predictor.domain, {"source": source, **arrays}).nodes[0]
