"""Dataset files: one .npz with meshes, inputs, target and provenance, read lazily, without torch and without pickle.

Arrays (float32 unless said; n samples, N_k simplices of the array's degree k):

    schema                        JSON text, :class:`hsd.data.schema.Schema`
    mesh/points, mesh/cells       (n_vertices, D) float64, (m, 2 | 3 | 4) whole numbers; vertex order gives the winding
    input/NAME                    (n, N_k)
    target                        (n, N_k), or (n, n_vertices, D) when it reads "vectors"
    coefficient/NAME              (n, m), coefficients in the named fields
    field/NAME                    (N_k, m) float64, the named fields
    trajectory                    (n, T, N_k), optional: snapshots of the target's field, the initial state first
    split                         (n,) int8, optional: 0 training, 1 validation, 2 test

Several meshes: ``mesh0/points``, ``mesh1/points``, … with ``mesh_of_sample`` (n,), and ``field0/NAME``,
``field1/NAME``, …; rows are as long as the largest mesh needs and end in zeros.  Anything else goes under ``extra/``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from hsd.data.archive import Archive, Blocks, write_archive
from hsd.data.schema import VECTORS, Schema
from hsd.data.splits import PARTS
from hsd.data.structure import Structure
from hsd.data.tasks.base import FieldSpec, NamedFields
from hsd.data.values import all_finite, numbered
from hsd.errors import InputError, check_choice
from hsd.mesh.mesh import Mesh


class Dataset:
    """A dataset file, its arrays mapped into memory when they are asked for.

    meshes         : the meshes, in the order of their numbers, in space (:attr:`hsd.mesh.mesh.Mesh.in_space`)
    n_coordinates  : D of the file's positions; its node vectors have as many components
    mesh_of_sample : (n_samples,) number of the mesh of each sample
    Raises InputError with the first defect of the file's structure (see :func:`hsd.data.check.check_dataset`, which
    also reads all values).
    """

    def __init__(self, path: str | os.PathLike):
        structure = Structure(Archive(path))
        if structure.findings:
            first = structure.findings[0]
            raise InputError(first.message, first.kind)
        self.path = Path(path)
        self._archive = structure.archive
        self.schema: Schema = structure.schema
        self.meshes: tuple[Mesh, ...] = tuple(mesh.in_space for mesh in structure.meshes)
        self.n_coordinates: int = max(mesh.points.shape[1] for mesh in structure.meshes)
        self.n_samples: int = structure.n_samples
        self.mesh_of_sample: np.ndarray = structure.mesh_of_sample

    @property
    def inputs(self) -> tuple[FieldSpec, ...]:
        return self.schema.inputs

    @property
    def target_spec(self) -> FieldSpec:
        return self.schema.target

    def input(self, name: str) -> np.ndarray:
        """(n, N_k), mapped.  Raises UnknownNameError."""
        check_choice("input", name, [spec.name for spec in self.inputs])
        return self._archive[f"input/{name}"]

    @property
    def target(self) -> np.ndarray:
        """(n, N_k) or (n, n_vertices, D), mapped."""
        return self._archive["target"]

    @property
    def trajectory(self) -> np.ndarray | None:
        """(n, T, N_k), mapped, or None."""
        return self._archive.optional("trajectory")

    def coefficients(self, name: str) -> np.ndarray:
        """(n, m), mapped.  Raises UnknownNameError."""
        check_choice("named fields", name, self.schema.fields)
        return self._archive[f"coefficient/{name}"]

    def named_fields(self, mesh: int = 0) -> dict[str, NamedFields]:
        """Fields of one mesh, values (N_k, m)."""
        prefix = "field" if "mesh/points" in self._archive else f"field{mesh}"
        return {
            name: NamedFields(spec.degree, spec.reading, self._archive[f"{prefix}/{name}"], spec.reference)
            for name, spec in self.schema.fields.items()
        }

    @property
    def split(self) -> np.ndarray | None:
        """(n,) int8 codes of hsd.data.splits.PARTS, or None where the file has no split."""
        return self._archive.optional("split")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Names of the arrays with one row a sample: input/…, coefficient/…, target, trajectory."""
        names = [f"input/{s.name}" for s in self.inputs] + [f"coefficient/{name}" for name in self.schema.fields]
        return (*names, "target", *(["trajectory"] if "trajectory" in self._archive else []))

    def part(self, name: str) -> Part:
        """The samples of "train", "validation" or "test", and nothing else.

        Raises UnknownNameError, InputError (no_split, empty_part).
        """
        check_choice("part of the split", name, PARTS)
        if self.split is None:
            raise InputError(
                f"{self.path.name} has no split; add the array 'split' (hsd.data.splits.split_codes makes one).",
                "no_split",
            )
        index = np.flatnonzero(np.asarray(self.split) == PARTS[name])
        if not len(index):
            raise InputError(f"{self.path.name} has no sample of the part {name!r}; change its split.", "empty_part")
        return Part(self, name, index)

    def all(self) -> Part:
        """All samples as one part."""
        return Part(self, "all", np.arange(self.n_samples))

    def row_length(self, key: str, mesh: int) -> int:
        """Length of a row of an array on one mesh, without the zeros that fill it up."""
        if key.startswith("coefficient/"):
            return self._archive.shape(key)[1]
        spec = self.target_spec
        if key.startswith("input/"):
            spec = next(s for s in self.inputs if s.name == key.removeprefix("input/"))
        return self.meshes[mesh].complex.n(spec.degree)

    def array(self, key: str) -> np.ndarray:
        """One of :attr:`keys`, mapped."""
        check_choice("array", key, self.keys)
        return self._archive[key]


NON_FINITE = "non_finite_field"
REFUSED = {NON_FINITE: "is not finite", "zero_target": "is zero everywhere"}
"""Kind of the error → what is said of an array."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some samples of a dataset; all reading goes through :attr:`index`.

    index : (m,) increasing numbers of the samples
    """

    dataset: Dataset
    name: str
    index: np.ndarray

    def __len__(self) -> int:
        return len(self.index)

    def on_mesh(self, mesh: int) -> np.ndarray:
        """Numbers of this part's samples on one mesh."""
        return self.index[self.dataset.mesh_of_sample[self.index] == mesh]

    def first(self, n: int) -> Part:
        """The first n samples (all where there are no more), taken from the meshes by turns until one has no more."""
        meshes = self.dataset.mesh_of_sample[self.index]
        turn = np.empty(len(self), np.int64)  # place of each sample among those of its mesh
        for mesh in np.unique(meshes):
            on_it = np.flatnonzero(meshes == mesh)
            turn[on_it] = np.arange(len(on_it))
        chosen = np.lexsort((meshes, turn))[:n]
        return Part(self.dataset, self.name, np.sort(self.index[chosen]))

    def blocks(self, key: str, mesh: int = 0, size: int = 256):
        """Rows of one of :attr:`Dataset.keys` on one mesh, float64, ``size`` at a time, filling zeros cut off."""
        rows = self.on_mesh(mesh)
        array, length = self.dataset.array(key), self.dataset.row_length(key, mesh)
        axis = 2 if key == "trajectory" else 1
        for start in range(0, len(rows), size):
            block = array[rows[start : start + size]]
            yield block.take(np.arange(length), axis=axis).astype(np.float64)

    def whole(self, key: str, mesh: int = 0) -> np.ndarray:
        """All rows of a key on one mesh, as :meth:`blocks` gives them, joined.

        Raises InputError (empty_part; non_finite_field, naming file, array and samples).
        """
        blocks = list(self.blocks(key, mesh))
        if not blocks:
            raise InputError(f"{self.dataset.path.name} has no {self.name} samples on mesh {mesh}.", "empty_part")
        self.refuse(mesh, key, ~np.concatenate([all_finite(block) for block in blocks]), NON_FINITE)
        return np.concatenate(blocks)

    def refuse(self, mesh: int, key: str, bad: np.ndarray, kind: str) -> None:
        """Raise InputError (``kind``, one of :data:`REFUSED`) where samples on a mesh are bad, (m,) bool."""
        if bad.any():
            of = f" of the part {self.name}" if self.name in PARTS else ""
            where = numbered("sample", self.on_mesh(mesh)[bad])
            raise InputError(
                f"{self.dataset.path.name}: {key} {REFUSED[kind]} in {where}{of}; leave such samples out and write the "
                "file again.",
                kind,
            )


def save_dataset(
    path: str | os.PathLike,
    meshes: Mesh | Sequence[Mesh],
    inputs: Mapping[str, np.ndarray],
    target: np.ndarray,
    schema: Schema,
    *,
    mesh_of_sample: np.ndarray | None = None,
    coefficients: Mapping[str, np.ndarray] | None = None,
    fields: Mapping[str, np.ndarray] | Sequence[Mapping[str, np.ndarray]] = (),
    trajectory: np.ndarray | None = None,
    split: np.ndarray | None = None,
) -> None:
    """Write a dataset file, and refuse, before it gets its name, one that :class:`Dataset` would not read.

    meshes : one, or a list with ``mesh_of_sample`` and one entry of ``fields`` each
    The rest is as in the module's description; sample arrays become float32, mesh hashes and n_samples are filled in.
    Raises InputError (the kinds of check_dataset; no_folder), HsdError (disk_full).
    """
    path = Path(path)
    one = isinstance(meshes, Mesh)
    listed = (meshes,) if one else tuple(meshes)
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} does not exist; make it first.", "no_folder")
    schema = replace(schema, n_samples=len(target), mesh_hashes=tuple(m.content_hash for m in listed))
    arrays: dict[str, np.ndarray | Blocks] = {"schema": np.array(schema.to_json())}
    per_mesh = [dict(fields)] if one else [dict(f) for f in fields] or [{} for _ in listed]
    for j, (mesh, own) in enumerate(zip(listed, per_mesh, strict=True)):
        number = "" if one else str(j)
        arrays |= mesh_arrays(mesh, f"mesh{number}")
        arrays |= {f"field{number}/{name}": np.asarray(v, np.float64) for name, v in own.items()}
    arrays |= {f"input/{name}": np.asarray(v, np.float32) for name, v in inputs.items()}
    arrays["target"] = np.asarray(target, np.float32)
    arrays |= {f"coefficient/{name}": np.asarray(v, np.float32) for name, v in (coefficients or {}).items()}
    if trajectory is not None:
        arrays["trajectory"] = np.asarray(trajectory, np.float32)
    if mesh_of_sample is not None:
        arrays["mesh_of_sample"] = np.asarray(mesh_of_sample, np.int64)
    if split is not None:
        arrays["split"] = np.asarray(split, np.int8)
    trial = path.with_name(f"{path.name}.{os.getpid()}.unchecked")
    try:
        write_archive(trial, arrays)
        Dataset(trial)
        os.replace(trial, path)
    except InputError as error:
        raise InputError(error.message.replace(trial.name, path.name), error.kind, error.ids) from error
    finally:
        trial.unlink(missing_ok=True)


def mesh_arrays(mesh: Mesh, prefix: str) -> dict[str, np.ndarray]:
    """``prefix/points`` and ``prefix/cells`` that give the same mesh back (positions, simplices, orientation).

    Raises InputError (no_positions, mixed_dimension).
    """
    if mesh.points is None:
        raise InputError(f"{mesh.name} has no positions; a dataset file needs them.", "no_positions")
    if not mesh.complex.is_pure and any(mesh.complex.is_maximal(k).any() for k in range(1, mesh.dim)):
        raise InputError(
            f"{mesh.name} has maximal simplices of several degrees; a dataset file holds one kind of cell.",
            "mixed_dimension",
        )
    return {f"{prefix}/points": np.asarray(mesh.points, np.float64), f"{prefix}/cells": mesh.oriented_cells()}


def vector_target(name: str, title: str = "") -> FieldSpec:
    """The spec of a target of vectors at the vertices, (n, n_vertices, D)."""
    return FieldSpec(name, 0, VECTORS, title)
