"""Structure of a dataset file: which arrays it must have, of which type and shape, on which meshes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from hsd.data.archive import Archive
from hsd.data.schema import VECTORS, Schema, expected_degrees
from hsd.data.tasks.base import FieldSpec
from hsd.errors import HsdError, InputError, Notice
from hsd.mesh.mesh import Mesh

FORM = ("0-form", "1-form", "2-form", "3-form")
SIMPLICES = ("vertices", "edges", "triangles", "tetrahedra")


class Structure:
    """The parts of a file's structure, and what is wrong with it: one finding for each defect.

    Values are read of the schema, the meshes and ``mesh_of_sample`` only.
    findings       : empty for a good file; where schema or meshes are bad, what depends on them is not judged
    schema, meshes, n_samples, mesh_of_sample : valid when there are no findings
    """

    def __init__(self, archive: Archive):
        self.archive = archive
        self.findings: list[Notice] = []
        try:
            self.schema = self._read_schema()
            self._check_names()
            self.meshes = tuple(self._read_mesh(prefix) for prefix in self._mesh_prefixes())
            self._check_hashes()
            self._check_degrees()
        except HsdError as error:
            self.findings.append(Notice(error.kind, error.message, error.ids))
            return
        self.n_samples = self._count_samples()
        self.mesh_of_sample = self._read_mesh_of_sample()
        if not self.findings:
            self._check_arrays()

    def _found(self, kind: str, message: str) -> None:
        self.findings.append(Notice(kind, message))

    @property
    def name(self) -> str:
        return self.archive.name

    # ---- schema ------------------------------------------------------------------------------------------------

    def _read_schema(self) -> Schema:
        if "schema" not in self.archive:
            raise InputError(
                f"{self.name} has no array 'schema', so it is no dataset file; hsd.data.dataset.save_dataset writes "
                "one.",
                "missing_array",
            )
        if self.archive.dtype("schema").kind != "U" or self.archive.shape("schema") != ():
            raise InputError(
                f"{self.name}: schema must be one text (JSON); found {self.archive.dtype('schema')} of shape "
                f"{self.archive.shape('schema')}.",
                "bad_schema",
            )
        return Schema.from_json(str(np.asarray(self.archive["schema"])), self.name)

    def _check_names(self) -> None:
        """Every array of the schema is there, and none that nobody reads."""
        prefixes = self._mesh_prefixes()
        known = {"schema", "target", "trajectory", "split"}
        needed = [f"input/{s.name}" for s in self.schema.inputs] + ["target"]
        for name in self.schema.fields:
            needed += [f"coefficient/{name}"]
            needed += [f"{prefix.replace('mesh', 'field')}/{name}" for prefix in prefixes]
        for prefix in prefixes:
            needed += [f"{prefix}/points", f"{prefix}/cells"]
        if prefixes[0] != "mesh":
            needed.append("mesh_of_sample")
        for name in needed:
            if name not in self.archive:
                raise InputError(f"{self.name} has no array {name!r}, which its schema needs; add it.", "missing_array")
        for name in self.archive.names:
            if name not in known and name not in needed and not name.startswith("extra/"):
                raise InputError(
                    f"{self.name} has an array {name!r} that its schema does not name; name it there, or call it "
                    f"'extra/{name}'.",
                    "unknown_array",
                )

    # ---- meshes ------------------------------------------------------------------------------------------------

    def _mesh_prefixes(self) -> list[str]:
        listed = {m[1] for n in self.archive.names if (m := re.fullmatch(r"(mesh\d+)/(points|cells)", n))}
        single = [n for n in self.archive.names if n in ("mesh/points", "mesh/cells")]
        if listed and single:
            raise InputError(
                f"{self.name} has both 'mesh/…' and 'mesh0/…'; keep one mesh or a numbered list.", "several_meshes"
            )
        if not listed:
            return ["mesh"]
        expected = [f"mesh{j}" for j in range(len(listed))]
        if listed != set(expected):
            raise InputError(
                f"{self.name} numbers its meshes {', '.join(sorted(listed))}; number them 0 to {len(listed) - 1}.",
                "missing_array",
            )
        return expected

    def _read_mesh(self, prefix: str) -> Mesh:
        points, cells = f"{prefix}/points", f"{prefix}/cells"
        for key, kinds, rule in ((points, "f", "real numbers"), (cells, "iu", "whole numbers")):
            if self.archive.dtype(key).kind not in kinds:
                raise InputError(
                    f"{self.name}: {key} must hold {rule}; found {self.archive.dtype(key)}.", "wrong_dtype"
                )
        shape = self.archive.shape(cells)
        if len(shape) != 2 or not 2 <= shape[1] <= 4 or not shape[0]:
            raise InputError(
                f"{self.name}: {cells} must have shape (m, 2), (m, 3) or (m, 4) with m > 0; found {shape}.", "shape"
            )
        if len(self.archive.shape(points)) != 2:
            raise InputError(
                f"{self.name}: {points} must have shape (n_vertices, D); found {self.archive.shape(points)}.", "shape"
            )
        try:
            return Mesh.from_cells(np.asarray(self.archive[points]), np.asarray(self.archive[cells]), name=prefix)
        except HsdError as error:
            raise InputError(f"{self.name}: {prefix} is no mesh: {error.message}", error.kind, error.ids) from error

    def _check_hashes(self) -> None:
        hashes = self.schema.mesh_hashes
        if hashes is None:
            return
        if len(hashes) != len(self.meshes):
            raise InputError(
                f"{self.name} states {len(hashes)} mesh hash(es) for {len(self.meshes)} mesh(es); state one a mesh.",
                "other_mesh",
            )
        for mesh, stated in zip(self.meshes, hashes):
            if mesh.content_hash != stated:
                raise InputError(
                    f"{self.name}: {mesh.name} has the hash {mesh.content_hash[:12]}…, but the samples were made on "
                    f"{stated[:12]}…; put the mesh back that they belong to.",
                    "other_mesh",
                )

    def _check_degrees(self) -> None:
        dims = {mesh.dim for mesh in self.meshes}
        if len(dims) > 1:
            raise InputError(
                f"{self.name} mixes meshes of dimensions {sorted(dims)}; keep one dimension a file.", "dimension"
            )
        dim = dims.pop()
        specs = [(f"input {s.name!r}", s) for s in self.schema.inputs] + [("target", self.schema.target)]
        specs += [(f"field {name!r}", s) for name, s in self.schema.fields.items()]
        for what, spec in specs:
            if not 0 <= spec.degree <= dim:
                raise InputError(
                    f"{self.name}: the {what} has degree {spec.degree}, but its mesh has forms of degree 0 to {dim}; "
                    "correct the schema.",
                    "degree",
                )
            if spec.degree not in expected_degrees(spec.reading, dim):
                raise InputError(
                    f"{self.name}: the {what} of degree {spec.degree} cannot read {spec.reading!r} on a mesh of "
                    f"dimension {dim}, where that is of degree {expected_degrees(spec.reading, dim)[0]}; correct it.",
                    "reading",
                )

        state, target = self.schema.state, self.schema.target
        for spec in self.schema.inputs:
            if spec.name == state and (spec.degree, spec.reading) != (target.degree, target.reading):
                raise InputError(
                    f"{self.name}: the state {state!r} ({spec.reading}, degree {spec.degree}) must be a field like the "
                    f"target ({target.reading}, degree {target.degree}); correct the schema.",
                    "degree",
                )

    # ---- samples -----------------------------------------------------------------------------------------------

    def _count_samples(self) -> int:
        if self.schema.n_samples is not None:
            return self.schema.n_samples
        shape = self.archive.shape("target")
        if not shape or not shape[0]:
            self._found("empty", f"{self.name} has no samples (target has shape {shape}); add some.")
            return 0
        return shape[0]

    def _read_mesh_of_sample(self) -> np.ndarray:
        if "mesh_of_sample" not in self.archive:
            return np.zeros(self.n_samples, np.int64)
        dtype, shape = self.archive.dtype("mesh_of_sample"), self.archive.shape("mesh_of_sample")
        if dtype.kind not in "iu":
            self._found("wrong_dtype", f"{self.name}: mesh_of_sample must hold whole numbers; found {dtype}.")
        elif shape != (self.n_samples,):
            self._found("shape", f"{self.name}: mesh_of_sample has shape {shape}; it needs {(self.n_samples,)}.")
        else:
            values = np.asarray(self.archive["mesh_of_sample"]).astype(np.int64)
            bad = np.flatnonzero((values < 0) | (values >= len(self.meshes)))
            if not len(bad):
                return values
            self._found(
                "mesh_of_sample",
                f"{self.name}: mesh_of_sample of sample {bad[0]} is {values[bad[0]]}, but the meshes are numbered 0 to "
                f"{len(self.meshes) - 1} ({len(bad)} such); correct it.",
            )
        return np.zeros(self.n_samples, np.int64)

    def _check_arrays(self) -> None:
        for key, spec in self._sample_arrays():
            self._check_array(key, (self.n_samples, *self._tail(spec)), self._in_words(spec))
        tail = self._tail(self.schema.target)
        if "trajectory" in self.archive:
            shape = self.archive.shape("trajectory")
            steps = shape[1] if len(shape) == len(tail) + 2 else "T"
            words = f"T snapshots of {self._in_words(self.schema.target)}"
            self._check_array("trajectory", (self.n_samples, steps, *tail), words)
        for name, spec in self.schema.fields.items():
            shape = self.archive.shape(f"coefficient/{name}")
            m = shape[1] if len(shape) == 2 else "m"
            self._check_array(f"coefficient/{name}", (self.n_samples, m), f"m coefficients in the fields {name!r}")
            for mesh in self.meshes:
                key = f"{mesh.name.replace('mesh', 'field')}/{name}"
                expected = (mesh.complex.n(spec.degree), m)
                self._check_array(key, expected, f"{FORM[spec.degree]}s, one a column, one column a coefficient", "")
        if "split" in self.archive:
            dtype, shape = self.archive.dtype("split"), self.archive.shape("split")
            if dtype.kind not in "iu":
                self._found("wrong_dtype", f"{self.name}: split must hold whole numbers (int8); found {dtype}.")
            elif shape != (self.n_samples,):
                self._found(
                    "shape", f"{self.name}: split has shape {shape}; {(self.n_samples,)} is expected, one a sample."
                )

    def _sample_arrays(self) -> Iterator[tuple[str, FieldSpec]]:
        for spec in self.schema.inputs:
            yield f"input/{spec.name}", spec
        yield "target", self.schema.target

    def _tail(self, spec: FieldSpec) -> tuple[int, ...]:
        longest = max(mesh.complex.n(spec.degree) for mesh in self.meshes)
        if spec.reading == VECTORS:
            return longest, max(mesh.points.shape[1] for mesh in self.meshes)
        return (longest,)

    def _in_words(self, spec: FieldSpec) -> str:
        longest = max(mesh.complex.n(spec.degree) for mesh in self.meshes)
        what = "vectors" if spec.reading == VECTORS else f"{FORM[spec.degree]}s"
        return f"{what} on {longest} {SIMPLICES[spec.degree]}"

    def _check_array(self, key: str, expected: tuple, words: str, samples: str | None = None) -> None:
        dtype, shape = self.archive.dtype(key), self.archive.shape(key)
        if dtype.kind != "f" or dtype.itemsize not in (4, 8):
            self._found("wrong_dtype", f"{self.name}: {key} must hold float32 (or float64); found {dtype}; convert it.")
            return
        if len(shape) != len(expected) or any(e != s for s, e in zip(shape, expected)):
            counted = f"{self.n_samples} samples of " if samples is None else samples
            self._found(
                "shape",
                f"{self.name}: {key} has shape {shape}; {_shape(expected)} is expected ({counted}{words}).",
            )


def _shape(expected: tuple) -> str:
    return "(" + ", ".join(str(e) for e in expected) + ("," if len(expected) == 1 else "") + ")"
