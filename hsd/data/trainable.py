"""What of a sound dataset file no model can be trained on: said by ``data check`` as a note, refused by training."""

from __future__ import annotations

from collections.abc import Iterator

from hsd.data.dataset import Dataset
from hsd.data.schema import VECTORS
from hsd.data.values import non_finite
from hsd.errors import HsdError, InputError, Notice
from hsd.hodge.homology import Homology

DIMENSIONS = (2, 3)
"""Numbers of coordinates that models read; those of the plane are put into space."""


def check_fields(data: Dataset) -> None:
    """Whether operators can read a file's fields.  Raises InputError (node_target, inputs, degree)."""
    _raise(_of_fields(data))


def check_trainable(data: Dataset) -> None:
    """Whether models can be trained on a file: its fields, meshes, split and values; reads all samples in blocks.

    Raises InputError (node_target, inputs, degree, coordinates, non_orientable, betti, no_split, empty_part,
    non_finite), with the first that is found.
    """
    _raise(training_notes(data))


def _raise(notes: Iterator[Notice]) -> None:
    for note in notes:
        raise InputError(note.message, note.kind, note.ids)


def training_notes(data: Dataset) -> Iterator[Notice]:
    """Everything for which training refuses a file: one sentence for each."""
    found = [*_of_fields(data), *_of_meshes(data)]
    yield from found
    yield from _of_split(data)
    if not found:
        yield from _of_topology(data)
    for key in data.keys:
        if key != "trajectory":
            yield from non_finite(data.path.name, key, data.array(key))


def _of_fields(data: Dataset) -> Iterator[Notice]:
    name, target = data.path.name, data.target_spec
    if target.reading == VECTORS:
        yield Notice(
            "node_target",
            f"{name} has node vectors as target; make forms of them (hsd.flat, hsd.flat_flux) to train.",
        )
    if len(data.inputs) != 1:
        yield Notice(
            "inputs",
            f"Operators read one form and coefficients of named fields; {name} has {len(data.inputs)} input forms.",
        )
    elif target.reading != VECTORS and abs(data.inputs[0].degree - target.degree) > 1:
        first = data.inputs[0]
        yield Notice(
            "degree",
            f"Operators map a form to one of the same or a neighbouring degree; {name} has the {first.degree}-form "
            f"{first.name!r} as input and a {target.degree}-form as target.",
        )


def _of_meshes(data: Dataset) -> Iterator[Notice]:
    name, mesh = data.path.name, data.meshes[0]
    if data.n_coordinates not in DIMENSIONS:
        yield Notice(
            "coordinates",
            f"{name} has positions in {data.n_coordinates} coordinates; models read 2 or 3, so project them.",
        )
    fields = [*data.inputs, data.target_spec, *data.schema.fields.values()]
    signed = [s.reading for s in fields if s.reading == "density" or (s.reading == "flux" and mesh.dim == 2)]
    for mesh in data.meshes if signed else ():
        if mesh.orientation is None and mesh.dim < mesh.points.shape[1]:
            yield Notice(
                "non_orientable",
                f"{name}: {mesh.name} is not orientable, and a {signed[0]} needs an orientation; read its forms as "
                "scalars or circulations, or cut the mesh.",
            )


def _of_split(data: Dataset) -> Iterator[Notice]:
    for part in ("train", "validation"):
        try:
            data.part(part)
        except HsdError as error:
            yield Notice(error.kind, error.message)
            if error.kind == "no_split":
                return


def _of_topology(data: Dataset) -> Iterator[Notice]:
    """A model has a fixed number of harmonic coefficients of its target's degree."""
    if len(data.meshes) < 2:
        return
    k, bc = data.target_spec.degree, data.schema.bc
    numbers = [Homology(mesh.complex, bc).betti("Q") for mesh in data.meshes]
    if len({betti[k] for betti in numbers}) > 1:
        first: dict[tuple[int, ...], str] = {}
        for mesh, betti in zip(data.meshes, numbers):
            first.setdefault(betti, mesh.name)
        said = ", ".join(f"{mesh}: {' '.join(map(str, betti))}" for betti, mesh in first.items())
        yield Notice(
            "betti",
            f"The meshes of {data.path.name} have different Betti numbers ({said}), and so different numbers of "
            f"harmonic {k}-forms, which a model must have fixed; make a file of each topology.",
        )
