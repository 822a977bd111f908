"""Checkpoints: weights as safetensors, everything else in a JSON manifest beside them; nothing is ever unpickled."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from hsd import __version__
from hsd.errors import InputError, is_whole
from hsd.hodge.cache import write_atomically
from hsd.models.base import Operator, Signature
from hsd.models.registry import MODELS
from hsd.training.manifest import check_manifest, check_model

FORMAT = "hsd-checkpoint"
VERSION = 1
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """manifest : plain values;  weights: name → tensor, on the CPU."""

    manifest: Mapping[str, Any]
    weights: Mapping[str, torch.Tensor]

    @property
    def signature(self) -> Signature:
        return Signature.from_dict(self.manifest["signature"])

    def put_into(self, model: Operator) -> None:
        """Load the weights strictly.  Raises InputError (other_architecture), naming the differences."""
        own = {name: list(t.shape) for name, t in model.state_dict().items()}
        given = {name: list(t.shape) for name, t in self.weights.items()}
        said = [f"{n} is missing" for n in own.keys() - given.keys()]
        said += [f"{n} is not known" for n in given.keys() - own.keys()]
        said += [f"{n} has shape {given[n]}, not {own[n]}" for n in own.keys() & given.keys() if own[n] != given[n]]
        if said:
            more = f" and {len(said) - 3} more" if len(said) > 3 else ""
            raise InputError(
                f"The weights do not fit the {model.title} that the manifest describes: {'; '.join(sorted(said)[:3])}"
                f"{more}; take the two files of one checkpoint.",
                "other_architecture",
            )
        model.load_state_dict(dict(self.weights))


def save_checkpoint(
    path: str | Path,
    model: Operator,
    *,
    normaliser_json: str,
    domain_about: Mapping[str, Any],
    task: str | None = None,
    task_config: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    data: Mapping[str, Any] | None = None,
    metrics: Mapping[str, float] | None = None,
) -> Path:
    """Write ``path`` (.safetensors) and the manifest beside it (.json), each atomically, weights first.

    domain_about : mesh_hash, mesh_name, n_vertices, n_nodes, n_modes, grid_size, scales of the domain that it was
                   trained on; placements of all meshes of training (hsd.data.placement)
    training     : config, steps, epochs, seconds, device, best validation error; data: provenance of the dataset
    Returns the path.  Raises InputError (suffix).
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InputError(f"Checkpoints end in {SUFFIX}; got {path.name}.", "suffix")
    weights = {k: v.detach().to("cpu", copy=True).contiguous() for k, v in model.state_dict().items()}
    raw = save(weights)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.name,
        "model_config": model.config_dict,
        "signature": asdict(model.signature),
        "parameters": model.n_parameters,
        "normaliser": json.loads(normaliser_json),
        "domain": dict(domain_about),
        "task": task,
        "task_config": dict(task_config or {}),
        "training": dict(training or {}),
        "data": dict(data or {}),
        "metrics": dict(metrics or {}),
        "tensors": {k: list(v.shape) for k, v in weights.items()},
        "versions": {"hsd": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "sha256": hashlib.sha256(raw).hexdigest(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, raw)
    write_atomically(path.with_suffix(".json"), json.dumps(manifest, indent=1, sort_keys=True).encode())
    return path


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read and check both files of a checkpoint.

    Raises InputError, one kind a defect: no_file, suffix, pickle, no_manifest, bad_manifest, newer_format,
    unknown_model, other_weights (checksum), bad_weights (truncated, no safetensors), non_finite_weights.
    """
    path = Path(path)
    manifest = read_manifest(path)
    check_model(manifest, path.with_suffix(".json").name)
    raw = path.read_bytes()
    is_header = raw[8:9] == b"{"  # safetensors start with the length of a JSON header, whose first byte may be 0x80
    if not is_header and (raw[:4] == b"PK\x03\x04" or raw[:1] == b"\x80"):
        raise InputError(
            f"{path.name} is a pickle file under another name; it is not opened, because pickles can run code.",
            "pickle",
        )
    try:
        weights = load(raw)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path.name} is no whole safetensors file ({error}); copy the checkpoint again.", "bad_weights"
        ) from error
    if hashlib.sha256(raw).hexdigest() != manifest["sha256"]:
        raise InputError(
            f"{path.name} is not the file that its manifest was written for (checksums differ): it is damaged, or the "
            "two files belong to different checkpoints.",
            "other_weights",
        )
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise InputError(
                f"The weight {name} in {path.name} is not finite everywhere; train again.", "non_finite_weights"
            )
    return Checkpoint(manifest, weights)


def read_manifest(path: str | Path) -> dict[str, Any]:
    """The manifest beside a checkpoint's weights, checked (its model's config is not, see :func:`check_model`).

    Raises InputError as :func:`read_checkpoint`.
    """
    path = Path(path)
    if path.suffix != SUFFIX:
        raise InputError(
            f"{path.name} is no checkpoint of this program: those end in {SUFFIX}; files that may hold pickles are not "
            "opened.",
            "suffix",
        )
    if not path.is_file():
        raise InputError(f"There is no checkpoint {path}.", "no_file")
    beside = path.with_suffix(".json")
    if not beside.is_file():
        raise InputError(f"The manifest {beside.name} is missing beside {path.name}; copy both files.", "no_manifest")
    try:
        manifest = json.loads(beside.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(
            f"{beside.name} is no readable JSON ({error}); copy the checkpoint again.", "bad_manifest"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{beside.name} is not the manifest of a checkpoint (format {FORMAT!r}).", "bad_manifest")
    version = manifest.get("version", 1)
    if not is_whole(version) or version < 1:
        raise InputError(
            f"version in {beside.name} must be a whole number of at least 1; got {version!r}: copy the checkpoint "
            "again.",
            "bad_manifest",
        )
    if version > VERSION:
        raise InputError(
            f"{path.name} has checkpoint version {version}; this program reads up to {VERSION}: update it.",
            "newer_format",
        )
    if isinstance(manifest.get("model"), str) and manifest["model"] not in MODELS:
        raise InputError(
            f"{path.name} holds a model {manifest['model']!r}; this program knows {', '.join(MODELS)}.", "unknown_model"
        )
    check_manifest(manifest, beside.name)
    return manifest


def array_hash(*arrays: np.ndarray) -> str:
    """sha256 over dtype, shape and bytes of arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
