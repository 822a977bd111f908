"""What a task is: a domain, mesh-free samples, and their realisation as cochains on any mesh of the domain's shape."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from hsd.data.ground import Ground
from hsd.errors import InputError, TopologyError, UnknownNameError, require_whole
from hsd.mesh.mesh import Mesh

Record = dict[str, np.ndarray]
"""One sample without a mesh: centres on the smooth shape, widths, strengths, circulations."""

READINGS = ("scalar", "circulation", "flux", "density")
"""How a cochain reads as node values: a 0-form as it is; a 1-form as the vectors of its sharp; an (n−1)-form as the
vectors whose flux it holds; an n-form as its density, averaged to the vertices by measure."""


@dataclass(frozen=True)
class FieldSpec:
    """One input or target: a k-form and how it reads at the nodes (one of READINGS)."""

    name: str
    degree: int
    reading: str
    title: str = ""


@dataclass(frozen=True)
class NamedFields:
    """Fields that belong to the domain, not to a sample: m cochains of one degree, ``values`` (N_k, m).

    A sample holds their coefficients (m,); ``reference`` says that those of the *target* in these fields (harmonic
    ones, ⋆-orthonormal) are known from the input and must be kept exactly.
    """

    degree: int
    reading: str
    values: np.ndarray
    reference: bool = False


@dataclass(frozen=True)
class Realisation:
    """B samples on one mesh, float64.

    inputs       : name → (B, N_k), one entry for each of ``Task.inputs``
    target       : (B, N_k), of ``Task.target``
    coefficients : name of NamedFields → (B, m)
    trajectory   : (B, n_snapshots, N_k) of the target's field, the initial state first; None for steady tasks
    parts        : name → (B, N_k) in which the target splits by its making ("local", "global"), for cards and pages
    """

    inputs: Mapping[str, np.ndarray]
    target: np.ndarray
    coefficients: Mapping[str, np.ndarray] = field(default_factory=dict)
    trajectory: np.ndarray | None = None
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __getitem__(self, rows: slice) -> Realisation:
        """The same of some of the samples."""
        return Realisation(
            {name: values[rows] for name, values in self.inputs.items()},
            self.target[rows],
            {name: values[rows] for name, values in self.coefficients.items()},
            None if self.trajectory is None else self.trajectory[rows],
            {name: values[rows] for name, values in self.parts.items()},
        )


@dataclass(frozen=True)
class TaskConfig:
    """What all tasks state: sizes of the domain and of the data set, and weights of the loss terms."""

    n_nodes: int = 3000
    n_samples: int = 3000
    loss_weights: Mapping[str, float] = field(default_factory=lambda: {"relative_l2": 1.0})


class Task(ABC):
    """One physical task.  Subclasses set the class attributes and write the abstract methods.

    config : entries that replace those of the frozen default ``Config()``
    star, bc : Hodge star and boundary condition under which its forms and harmonic fields are meant
    Raises UnknownNameError for an unknown entry, InputError for a bad value.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    equation: ClassVar[str]
    """One line of the equation, in the notation of the docstring."""
    place: ClassVar[str] = "its own shape"
    """The shape that it is defined on, and where that lies, in words."""
    dim: ClassVar[int | None] = None
    """Dimension of that shape, which is orientable; None: not known."""
    Config: ClassVar[type[TaskConfig]]
    inputs: ClassVar[tuple[FieldSpec, ...]]
    target: ClassVar[FieldSpec]
    time_dependent: ClassVar[bool] = False
    star: ClassVar[str] = "galerkin"
    bc: ClassVar[str] = "absolute"

    def __init__(self, **config: Any):
        known = [f.name for f in fields(self.Config)]
        for key in config:
            if key not in known:
                raise UnknownNameError(f"entry of the config of {self.name}", key, known)
        self.config = replace(self.Config(), **config)

    @property
    def family(self) -> str:
        """Name of the task whose trained models and rules fit these samples: its own name."""
        return self.name

    @abstractmethod
    def mesh(self, n_nodes: int | None = None) -> Mesh:
        """The domain with about ``n_nodes`` vertices (default: the config's), lengths scaled as the task states."""

    @abstractmethod
    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        """Fields of the domain by name, with a meaning that does not depend on the mesh (signs and order included)."""

    def frame(self, ground: Ground) -> np.ndarray | None:
        """(N_k, b) ⋆-orthonormal harmonic fields of the target's degree whose meaning does not depend on the mesh.

        None where the task has none; then harmonic amounts that a model finds are bound to one mesh.
        """
        return None

    @contextmanager
    def on_its_shape(self, mesh: Mesh) -> Iterator[None]:
        """Within it, whatever cannot be made on a mesh is said to be so because the mesh is not the task's shape.

        Raises InputError (dimension), TopologyError (non_orientable), and what is raised within, each beginning with
        the task and the mesh.
        """
        try:
            if self.dim is not None and mesh.dim != self.dim:
                raise InputError(f"it has dimension {mesh.dim} and not {self.dim}", "dimension")
            if self.dim is not None and mesh.orientation is None:
                raise TopologyError("it is not orientable", "non_orientable")
            yield
        except (InputError, TopologyError) as error:
            raise type(error)(
                f"The task {self.name} is defined on {self.place}; {mesh.name} does not fit it: "
                f"{error.message.rstrip('.')}; use that shape at its place, or train on data of your own.",
                error.kind,
                error.ids,
            ) from error

    def built_on(self, ground: Ground) -> tuple[dict[str, NamedFields], np.ndarray | None]:
        """:meth:`named_fields` and :meth:`frame`.  Raises as :meth:`on_its_shape`."""
        with self.on_its_shape(ground.mesh):
            return self.named_fields(ground), self.frame(ground)

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Record:
        """One mesh-free record from a generator of its own."""

    @abstractmethod
    def realise(self, records: Sequence[Record], ground: Ground) -> Realisation:
        """All records on one mesh at once (factored once, many right-hand sides, no loop over samples)."""

    def sample(self, seed: int, i: int) -> Record:
        """Record i of a seed: depends on (task, config, seed, i) only.  Raises InputError for negative numbers."""
        for what, value in (("seed", seed), ("number of the sample", i)):
            require_whole(what, value)
            if value < 0:
                raise InputError(f"The {what} must not be negative; got {value}.", "bad_seed")
        key = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "little")
        return self.draw(np.random.default_rng(np.random.SeedSequence([key, seed, i])))

    def samples(self, seed: int, start: int, stop: int) -> list[Record]:
        return [self.sample(seed, i) for i in range(start, stop)]

    @property
    def config_dict(self) -> dict[str, Any]:
        """The config as plain values for JSON."""
        return asdict(self.config)


def stacked(records: Sequence[Record], key: str) -> np.ndarray:
    """Entries ``key`` of all records, stacked (B, …); those of unequal length are filled up with zeros."""
    values = [np.asarray(r[key], dtype=float) for r in records]
    longest = max(v.shape[0] if v.ndim else 0 for v in values)
    if not longest:
        return np.array(values)
    out = np.zeros((len(values), longest, *values[0].shape[1:]))
    for row, v in zip(out, values):
        row[: len(v)] = v
    return out


def require_range(what: str, pair: Sequence[float]) -> None:
    """Raise InputError (bad_option) unless ``pair`` is a range of positive numbers (low, high), low ≤ high."""
    if len(pair) != 2 or not 0 < pair[0] <= pair[1]:
        raise InputError(f"{what} is a range of positive numbers, low ≤ high; got {tuple(pair)}.", "bad_option")
