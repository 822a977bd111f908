"""What is wrong with a dataset file: structure, values, checksums, references; one sentence for each defect."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from hsd.data.archive import Archive
from hsd.data.dataset import Dataset
from hsd.data.splits import PARTS
from hsd.data.structure import Structure
from hsd.data.trainable import training_notes
from hsd.data.values import blocks_of, non_finite
from hsd.dec.operators import DEC
from hsd.errors import HsdError, Notice

HARMONIC_TOLERANCE = 1e-4
"""Largest backward error of dγ = 0 and δγ = 0 of a reference field; float32 rounding is far below."""
STATE_TOLERANCE = 1e-5
"""Largest difference of state and first snapshot in units of the state's largest value; float32 rounding is below."""


def check_dataset(path: str | os.PathLike) -> list[Notice]:
    """All defects found in a dataset file; an empty list says that it is good.

    Kinds: no_file, empty, not_this_format, truncated, header_too_large, pickle_inside, duplicate_array, not_an_array,
    missing_array, unknown_array, bad_schema, newer_version, reading, degree, dimension, several_meshes, other_mesh,
    shape, wrong_dtype, mesh_of_sample, damaged, non_finite, split, trajectory, padding,
    not_harmonic, and those of meshes.
    Never raises for what is in the file; files of any size are read in blocks.
    """
    try:
        structure = Structure(Archive(path))
        if structure.findings:
            return structure.findings
        damaged = [
            Notice("damaged", f"{structure.name}: {name} does not fit its checksum; copy or write it again.")
            for name in structure.archive.damaged()
        ]
        return damaged or list(_values(structure))
    except HsdError as error:
        return [Notice(error.kind, error.message, error.ids)]


def notes_on_training(path: str | os.PathLike) -> list[Notice]:
    """Why no model can be trained on a file without defects; empty where one can.  It may still be looked at.

    Kinds: those of :func:`hsd.data.trainable.training_notes`.
    """
    try:
        return list(training_notes(Dataset(path)))
    except HsdError as error:
        return [Notice(error.kind, error.message, error.ids)]


def _values(structure: Structure) -> Iterator[Notice]:
    archive = structure.archive
    for key in archive.names:
        if archive.dtype(key).kind == "f" and not key.startswith(("mesh", "extra/")):
            yield from non_finite(structure.name, key, archive[key])
    if "split" in archive:
        yield from _split(structure)
    if structure.schema.state is not None and "trajectory" in archive:
        yield from _initial_state(structure)
    if len(structure.meshes) > 1:
        yield from _padding(structure)
    yield from _harmonic(structure)


def _split(structure: Structure) -> Iterator[Notice]:
    codes = np.asarray(structure.archive["split"])
    bad = np.flatnonzero(~np.isin(codes, list(PARTS.values())))
    if len(bad):
        meaning = ", ".join(f"{code} {name}" for name, code in PARTS.items())
        yield Notice(
            "split",
            f"{structure.name}: split has the code {codes[bad[0]]} at sample {bad[0]} ({len(bad)} unknown in all); "
            f"known are {meaning}.",
            tuple(int(i) for i in bad[:100]),
        )
    elif not (codes == PARTS["train"]).any():
        yield Notice("split", f"{structure.name}: split leaves no sample for training; give some the code 0.")


def _initial_state(structure: Structure) -> Iterator[Notice]:
    """The first snapshot of a trajectory is the state that the model is given."""
    key = f"input/{structure.schema.state}"
    bad: list[int] = []
    for start, block in blocks_of(structure.archive["trajectory"]):
        state = np.asarray(structure.archive[key][start : start + len(block)], np.float64)
        with np.errstate(invalid="ignore"):  # what is not finite has its own finding
            off = np.abs(block[:, 0] - state).max(axis=1) > STATE_TOLERANCE * np.abs(state).max(axis=1)
        bad += (start + np.flatnonzero(off)).tolist()
    if bad:
        yield Notice(
            "trajectory",
            f"{structure.name}: trajectory does not begin with {key} in {len(bad)} of "
            f"{len(structure.archive['trajectory'])} samples, the first is sample {bad[0]}; put that state first.",
            tuple(bad[:100]),
        )


def _padding(structure: Structure) -> Iterator[Notice]:
    specs = [(f"input/{s.name}", s, 1) for s in structure.schema.inputs] + [("target", structure.schema.target, 1)]
    if "trajectory" in structure.archive:
        specs.append(("trajectory", structure.schema.target, 2))
    lengths = {s.degree: np.array([m.complex.n(s.degree) for m in structure.meshes]) for _, s, _ in specs}
    for key, spec, axis in specs:
        for start, block in blocks_of(structure.archive[key]):
            own = lengths[spec.degree][structure.mesh_of_sample[start : start + len(block)]]
            beyond = np.arange(block.shape[axis]) >= own[:, None]  # (rows, longest)
            used = np.moveaxis(block != 0, axis, 1)
            used = used.reshape(*used.shape[:2], -1).any(axis=2)
            bad = np.flatnonzero((used & beyond).any(axis=1))
            if len(bad):
                sample = start + int(bad[0])
                mesh = structure.mesh_of_sample[sample]
                yield Notice(
                    "padding",
                    f"{structure.name}: {key} of sample {sample} has values beyond the {own[bad[0]]} simplices of "
                    f"mesh{mesh}; fill its row up with zeros.",
                    (sample,),
                )
                break


def _harmonic(structure: Structure) -> Iterator[Notice]:
    """Reference fields are harmonic and ⋆-orthonormal, so that coefficients in them mean something."""
    for name, spec in structure.schema.fields.items():
        if not spec.reference:
            continue
        for mesh in structure.meshes:
            key = f"{mesh.name.replace('mesh', 'field')}/{name}"
            values = np.asarray(structure.archive[key], np.float64)
            if not np.isfinite(values).all():
                continue
            dec = DEC(mesh, structure.schema.star, structure.schema.bc)
            values = values[dec.free(spec.degree)]
            errors = [
                max(dec.closedness(spec.degree, column), dec.coclosedness(spec.degree, column)) for column in values.T
            ]
            if max(errors, default=0.0) > HARMONIC_TOLERANCE:
                worst = int(np.argmax(errors))
                yield Notice(
                    "not_harmonic",
                    f"{structure.name}: column {worst} of {key} is a reference, but it is not harmonic (dγ or δγ is "
                    f"{errors[worst]:.1e} of its terms); use HodgeSolver.harmonic, or set reference to false.",
                )
                break
            gram = values.T @ (dec.star(spec.degree) @ values)
            if np.abs(gram - np.eye(len(gram))).max(initial=0.0) > HARMONIC_TOLERANCE:
                yield Notice(
                    "not_harmonic",
                    f"{structure.name}: the columns of {key} are a reference, but they are not ⋆-orthonormal; "
                    "orthonormalise them.",
                )
                break
