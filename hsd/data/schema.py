"""The schema of a dataset file: what its arrays are, read from and written to JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hsd.data.tasks.base import READINGS, FieldSpec
from hsd.dec.operators import BOUNDARY_CONDITIONS
from hsd.dec.stars import STARS
from hsd.errors import InputError

FORMAT = "hsd-dataset"
VERSION = 1
VECTORS = "vectors"
"""Reading of a target that is no cochain: vectors at the vertices, (n, n_vertices, D), degree 0."""


@dataclass(frozen=True)
class FieldsSpec:
    """Named fields of the domain: cochains of one degree; ``reference`` as in tasks.base.NamedFields."""

    degree: int
    reading: str
    reference: bool = False


@dataclass(frozen=True)
class Schema:
    """What a dataset file says about its arrays.

    inputs, target : cochains by name (the target may read "vectors")
    fields         : name → named fields, whose coefficients each sample holds
    task           : name of the task that made it, None for own data
    state          : name of the input that is the target's field at the initial time, None for steady data
    star, bc       : Hodge star and boundary condition under which harmonic fields are meant
    n_samples      : None: as many as the target has
    mesh_hashes    : content hash of each mesh, None: not stated
    provenance     : task, config, seed, n_samples, n_nodes, chunk, split, versions, command; free for own data
    """

    inputs: tuple[FieldSpec, ...]
    target: FieldSpec
    fields: Mapping[str, FieldsSpec] = field(default_factory=dict)
    task: str | None = None
    state: str | None = None
    star: str = "galerkin"
    bc: str = "absolute"
    n_samples: int | None = None
    mesh_hashes: tuple[str, ...] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """JSON text, the same for equal schemas."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, name: str = "The file") -> Schema:
        """Raises InputError (bad_schema, newer_version, reading)."""
        try:
            given = json.loads(text)
        except ValueError as error:
            raise _bad(name, f"is no JSON ({error})") from error
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            raise _bad(name, f'must be a JSON object with "format": "{FORMAT}"')
        version = given.get("version")
        if not _is_whole(version) or version < 1:
            raise _bad(name, f"has version {version!r}; a whole number from 1 to {VERSION} is expected")
        if version > VERSION:
            raise InputError(
                f"{name} has schema version {version}, but this program reads versions up to {VERSION}; "
                "use a newer program.",
                "newer_version",
            )
        return cls._from_dict(given, name)

    @classmethod
    def _from_dict(cls, given: dict[str, Any], name: str) -> Schema:
        for key in ("inputs", "target"):
            if key not in given:
                raise _bad(name, f"lacks the entry {key!r}")
        if not isinstance(given["inputs"], list):
            raise _bad(name, 'must have a list "inputs"')
        inputs = tuple(_field_spec(entry, f"inputs[{i}]", name) for i, entry in enumerate(given["inputs"]))
        names = [spec.name for spec in inputs]
        if len(set(names)) != len(names):
            raise _bad(name, f"names one input twice ({', '.join(names)})")
        target = _field_spec(given["target"], "target", name)
        fields = _typed(given, "fields", (dict,), {}, name)
        hashes = _typed(given, "mesh_hashes", (list, type(None)), None, name)
        n_samples = given.get("n_samples")
        if n_samples is not None and (not _is_whole(n_samples) or n_samples < 1):
            raise _bad(name, f"has n_samples {n_samples!r}; a whole number above 0 is expected")
        schema = cls(
            inputs,
            target,
            {key: _fields_spec(entry, f"fields.{key}", name) for key, entry in fields.items()},
            _typed(given, "task", (str, type(None)), None, name),
            _typed(given, "state", (str, type(None)), None, name),
            _choice(given, "star", STARS, "galerkin", name),
            _choice(given, "bc", BOUNDARY_CONDITIONS, "absolute", name),
            n_samples,
            None if hashes is None else tuple(str(h) for h in hashes),
            _typed(given, "provenance", (dict,), {}, name),
        )
        if not inputs and not schema.fields:
            raise _bad(name, "has neither inputs nor fields with coefficients, so that there is nothing to learn from")
        if schema.state is not None and schema.state not in names:
            raise _bad(name, f"gives the state {schema.state!r}, which is none of its inputs ({', '.join(names)})")
        return schema


def _bad(name: str, what: str) -> InputError:
    return InputError(f"The schema of {name} {what}; mend the array 'schema'.", "bad_schema")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _typed(given: dict, key: str, types: tuple[type, ...], default: Any, name: str) -> Any:
    value = given.get(key, default)
    if not isinstance(value, types):
        raise _bad(name, f"has {key} {value!r}; {' or '.join(t.__name__ for t in types)} is expected")
    return value


def _choice(given: dict, key: str, known: tuple[str, ...], default: str, name: str) -> str:
    value = given.get(key, default)
    if value not in known:
        raise _bad(name, f"has {key} {value!r}; one of {', '.join(known)} is expected")
    return value


def _field_spec(entry: object, where: str, name: str) -> FieldSpec:
    entry = _entry(entry, where, name)
    label = entry.get("name")
    if not isinstance(label, str) or not label or "/" in label:
        raise _bad(name, f"has {where} without a name (a text without '/')")
    readings = (*READINGS, VECTORS) if where == "target" else READINGS
    _check_reading(entry["reading"], readings, where, name)
    return FieldSpec(label, entry["degree"], entry["reading"], str(entry.get("title", "")))


def _fields_spec(entry: object, where: str, name: str) -> FieldsSpec:
    entry = _entry(entry, where, name)
    _check_reading(entry["reading"], READINGS, where, name)
    reference = entry.get("reference", False)
    if not isinstance(reference, bool):
        raise _bad(name, f"has {where} with reference {reference!r}; true or false is expected")
    return FieldsSpec(entry["degree"], entry["reading"], reference)


def _entry(entry: object, where: str, name: str) -> dict[str, Any]:
    if not isinstance(entry, dict) or "degree" not in entry or "reading" not in entry:
        raise _bad(name, f'must give {where} as an object with "degree" and "reading"')
    if not _is_whole(entry["degree"]):
        raise _bad(name, f"has {where} of degree {entry['degree']!r}; a whole number is expected")
    return entry


def _check_reading(reading: object, known: tuple[str, ...], where: str, name: str) -> None:
    if reading not in known:
        raise InputError(
            f"The schema of {name} reads {where} as {reading!r}; known readings are {', '.join(known)}.", "reading"
        )


def expected_degrees(reading: str, dim: int) -> tuple[int, ...]:
    """Degrees of which a reading makes sense on a mesh of dimension ``dim`` (see tasks.base.READINGS)."""
    return {
        "scalar": (0,),
        VECTORS: (0,),
        "circulation": (1,),
        "flux": (dim - 1,),
        "density": (dim,),
    }[reading]
