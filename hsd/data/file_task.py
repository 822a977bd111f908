"""A dataset file as a task: its samples are read by number in place of being drawn, everything else is as of a task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hsd.data.dataset import Dataset
from hsd.data.ground import Ground
from hsd.data.plan import Plan
from hsd.data.splits import PARTS
from hsd.data.tasks import TASKS
from hsd.data.tasks.base import FieldSpec, NamedFields, Realisation, Record, Task, TaskConfig
from hsd.data.trainable import check_fields
from hsd.errors import InputError
from hsd.mesh.mesh import Mesh

OWN = "own"
"""Family of the files that no task made."""
NAME_LETTERS = 24


@dataclass(frozen=True)
class FileConfig(TaskConfig):
    """file, version : path, and what tells one version of the file from another (time in ns, bytes)"""

    file: str = ""
    version: tuple[int, int] = (0, 0)


class FileTask(Task):
    """The samples of a dataset file, each on the mesh that the file says.

    name   : of the file with a digest of path and version: two files, or two versions of one, never share it
    family : the task that made the file, or OWN
    Raises InputError (node_target, inputs, degree) where operators cannot read the file's fields.
    """

    Config = FileConfig

    def __init__(self, data: Dataset):
        check_fields(data)
        stat = data.path.stat()
        n_nodes = max(mesh.complex.n_vertices for mesh in data.meshes)
        version = (stat.st_mtime_ns, stat.st_size)
        super().__init__(n_nodes=n_nodes, n_samples=data.n_samples, file=str(data.path), version=version)
        self.data, self.made_by = data, None
        if data.schema.task in TASKS:
            self.made_by = Plan.of(data.schema.task, config=data.schema.provenance.get("config", {})).make_task()
        digest = hashlib.sha256(repr((str(data.path.resolve()), version)).encode()).hexdigest()[:8]
        letters = "".join(c if c.isalnum() and c.isascii() else "_" for c in data.path.stem)[:NAME_LETTERS]
        self.name = f"{OWN}_{letters}_{digest}"
        self.title = data.path.name
        self.inputs, self.target = data.inputs, data.target_spec
        self.equation = f"{_said(self.inputs[0])} ↦ {_said(self.target)}"
        self.star, self.bc = data.schema.star, data.schema.bc

    @property
    def family(self) -> str:
        return self.made_by.name if self.made_by is not None else OWN

    def mesh(self, n_nodes: int | None = None) -> Mesh:
        """The file's first mesh; it has no others for ``n_nodes``."""
        return self.data.meshes[0]

    def mesh_of(self, i: int) -> Mesh:
        """The mesh of sample i."""
        return self.data.meshes[int(self.data.mesh_of_sample[i])]

    def _number_of(self, ground: Ground) -> int:
        for i, mesh in enumerate(self.data.meshes):
            if mesh.content_hash == ground.mesh.in_space.content_hash:
                return i
        raise InputError(f"{ground.mesh.name} is no mesh of {self.title}; take one of its own.", "other_mesh")

    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        """Those of the file for this mesh.  Raises InputError (other_mesh)."""
        return self.data.named_fields(self._number_of(ground))

    def frame(self, ground: Ground) -> np.ndarray | None:
        """That of the task that made the file.  Raises as :meth:`hsd.data.tasks.base.Task.on_its_shape`."""
        if self.made_by is None:
            return None
        with self.made_by.on_its_shape(ground.mesh):
            return self.made_by.frame(ground)

    @contextmanager
    def on_its_shape(self, mesh: Mesh) -> Iterator[None]:
        """Errors on the file's own meshes are those of the file."""
        yield

    def draw(self, rng: np.random.Generator) -> Record:
        """A sample of the file, drawn by its number."""
        return self.sample(0, int(rng.integers(self.data.n_samples)))

    def sample(self, seed: int, i: int) -> Record:
        """Number i of the file; the seed is not read.  Raises InputError (no_sample)."""
        if not 0 <= i < self.data.n_samples:
            raise InputError(f"{self.title} has samples 0 to {self.data.n_samples - 1}; there is no {i}.", "no_sample")
        return {"number": np.array(i)}

    def realise(self, records: Sequence[Record], ground: Ground) -> Realisation:
        """The rows of the file, float64.  Raises InputError (other_mesh) where a sample lies on another mesh."""
        mesh, numbers = self._number_of(ground), [int(record["number"]) for record in records]
        for i in numbers:
            if int(self.data.mesh_of_sample[i]) != mesh:
                raise InputError(
                    f"Sample {i} of {self.title} lies on another mesh than {ground.mesh.name}.", "other_mesh"
                )

        def rows(key: str) -> np.ndarray:
            array, length = self.data.array(key), self.data.row_length(key, mesh)
            return np.array([array[i] for i in numbers], np.float64)[:, :length]

        return Realisation(
            {spec.name: rows(f"input/{spec.name}") for spec in self.inputs},
            rows("target"),
            {name: rows(f"coefficient/{name}") for name in self.data.schema.fields},
        )

    def part_of(self, i: int) -> str:
        """ "train", "validation" or "test" by the file's split, "" where it has none."""
        if self.data.split is None:
            return ""
        return next(name for name, code in PARTS.items() if code == int(self.data.split[i]))

    def numbers_of(self, part: str, ground: Ground) -> np.ndarray:
        """Numbers of the samples of a part on one mesh.  Raises InputError (no_split, empty_part, other_mesh)."""
        return self.data.part(part).on_mesh(self._number_of(ground))

    @property
    def config_dict(self) -> dict[str, Any]:
        """Entries of the task that made the file, and which file it is."""
        return (self.made_by.config_dict if self.made_by is not None else {}) | asdict(self.config)


def _said(spec: FieldSpec) -> str:
    return f"{spec.title or spec.name} ({spec.degree}-form, {spec.reading})"
