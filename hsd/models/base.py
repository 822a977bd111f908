"""What every operator offers: one call on a batch and a domain, sizes fixed by a signature, a config, a citation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import nn

from hsd.data.batch import Batch, n_node_inputs, n_node_outputs
from hsd.data.domain import Domain
from hsd.errors import InputError, UnknownNameError, is_real, is_whole
from hsd.nn.mlp import real_parameters


@dataclass(frozen=True)
class Signature:
    """What a model reads and writes, independent of the mesh; a model fits every domain with its signature.

    source, target        : (degree, reading) of the forms
    node_inputs, node_outputs : channels of the node values read and written
    fields                : names of the domain's fields with their number, in the order of ``Domain.field_names``
    n_harmonic            : harmonic modes of the target's degree
    dim                   : dimension of the mesh
    """

    source: tuple[int, str]
    target: tuple[int, str]
    node_inputs: int
    node_outputs: int
    fields: tuple[tuple[str, int], ...]
    n_harmonic: int
    dim: int

    @classmethod
    def of(cls, domain: Domain) -> Signature:
        counts = tuple((name, int(domain.arrays[f"field/{name}"].shape[1])) for name in domain.field_names)
        return cls(
            tuple(domain.spec.source),
            tuple(domain.spec.target),
            n_node_inputs(domain),
            n_node_outputs(domain),
            counts,
            int((domain.arrays["target/part"] == 0).sum()),
            domain.mesh.dim,
        )

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> Signature:
        """From the plain values that :func:`dataclasses.asdict` and JSON make of it."""
        entries = dict(entries)
        entries["source"], entries["target"] = tuple(entries["source"]), tuple(entries["target"])
        entries["fields"] = tuple((name, int(m)) for name, m in entries["fields"])
        return cls(**entries)


@dataclass(frozen=True, eq=False)
class Prediction:
    """forms : (B, N_t) cochains where the model makes them;  given: (B, n_vertices, C) node values where not."""

    given: torch.Tensor | None = None
    forms: torch.Tensor | None = None
    domain: Domain | None = None

    @cached_property
    def nodes(self) -> torch.Tensor:
        """(B, n_vertices, C) node values, of all models: those given, else the sharp of the forms."""
        return self.given if self.given is not None else self.domain.target_nodes(self.forms)


@dataclass(frozen=True)
class ModelConfig:
    """Entries that all models have: the learning rate and weight decay that it is trained with by default.

    Raises InputError (bad_config) for a value that is not of its default's kind: true or false, a text, a finite number
    (of at least 0), a whole number (of at least 1, or 0 where ``may_be_zero`` names it), a list of those.
    """

    lr: float = 1e-3
    weight_decay: float = 1e-5
    may_be_zero: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self):
        for f in fields(self):
            value, low = getattr(self, f.name), 0 if f.name in self.may_be_zero else 1
            if isinstance(f.default, bool):
                good, kind = isinstance(value, bool), "true or false"
            elif isinstance(f.default, int):
                good, kind = is_whole(value) and low <= value < 2**31, f"a whole number of at least {low}"
            elif isinstance(f.default, float):
                good, kind = is_real(value) and value >= 0.0, "a number of at least 0"
                if f.name in ("lr", "radius"):
                    good, kind = good and value > 0.0, "a number above 0"
            elif isinstance(f.default, tuple):
                good = isinstance(value, list | tuple) and all(is_whole(v) and v >= 1 for v in value)
                kind = "a list of whole numbers, as [64, 64]"
            else:
                good, kind = isinstance(value, str), "a text"
            if not good:
                raise InputError(f"The model's entry {f.name} must be {kind}; got {value!r}.", "bad_config")
        heads, width = getattr(self, "heads", 1), getattr(self, "width", 0)
        if width % heads:
            raise InputError(f"The model's heads must divide its width; got {heads} and {width}.", "bad_config")


class Operator(nn.Module):
    """A neural operator: Batch × Domain → Prediction, all values in normalised units.

    config    : entries that replace those of ``Config()`` (and of ``task_config[task]``, where the task is given)
    signature : what it reads and writes
    domain    : the domain that it is trained on; only sizes, means and fixed sensors are taken from it

    Raises UnknownNameError for an unknown entry of the config.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    citation: ClassVar[str]
    differences: ClassVar[str]
    """What differs from the paper, in one or two sentences."""
    reads: ClassVar[str] = "node values"
    mesh_free: ClassVar[bool] = True
    """Whether a trained model runs on other meshes of the domain's shape."""
    reads_scales: ClassVar[bool] = False
    """Whether the scales of the mesh of training matter to it (see hsd.data.scales)."""
    version: ClassVar[int] = 1
    """Raised when weights, constants or training rules change, so that what was trained before counts as older."""
    micro_batch: ClassVar[int] = 0
    """Samples at once that train in 8 GB on 3000 vertices, 0: a common batch of 64 fits whole."""
    Config: ClassVar[type[ModelConfig]] = ModelConfig
    task_config: ClassVar[dict[str, dict[str, Any]]] = {}
    """Entries of the config that the paper's table sets for one task."""

    def __init__(self, domain: Domain, config: ModelConfig | None = None):
        super().__init__()
        self.config = config or self.Config()
        self.signature = Signature.of(domain)

    @classmethod
    def make_config(cls, task: str | None = None, **entries: Any) -> ModelConfig:
        """The config for a task with some entries replaced; lists, as JSON has them, are tuples.

        Raises UnknownNameError, naming the known entries.
        """
        known = [f.name for f in fields(cls.Config)]
        for key in entries:
            if key not in known:
                raise UnknownNameError(f"entry of the config of {cls.name}", key, known)
        plain = {key: tuple(value) if isinstance(value, list) else value for key, value in entries.items()}
        return cls.Config(**{**cls.task_config.get(task or "", {}), **plain})

    @classmethod
    def fiber_lifts(cls, config: ModelConfig) -> int | None:
        """How many functions of the source a model of that config wants in ``Batch.fiber`` beside the source; None: it
        reads no fiber."""
        return None

    @property
    def fiber_weights(self) -> torch.Tensor | None:
        """By which a model sums the features of ``Batch.fiber``, (3 (1 + lifts),); None: it reads no fiber."""
        return None

    @classmethod
    def fits_other_meshes(cls, config: ModelConfig) -> bool:
        """``mesh_free`` of a model of that config."""
        return cls.mesh_free

    @classmethod
    def idle_entries(cls, config: ModelConfig) -> frozenset[str]:
        """Entries of that config whose values change neither model nor training."""
        return frozenset()

    @classmethod
    def idle_on(cls, config: ModelConfig, degree: int, dim: int, oriented: bool) -> dict[str, str]:
        """Entry → why its value has no effect, for a source of that degree on a mesh of that dimension."""
        return {}

    def forward(self, batch: Batch, domain: Domain) -> Prediction:
        """Predict on any domain that fits.  Raises InputError (other_signature, other_mesh)."""
        found = Signature.of(domain)
        if found != self.signature:
            differing = [f.name for f in fields(Signature) if getattr(found, f.name) != getattr(self.signature, f.name)]
            said = ", ".join(f"{n}: {getattr(self.signature, n)} against {getattr(found, n)}" for n in differing)
            raise InputError(
                f"This {self.title} was made for another kind of domain ({said}); choose a model of this task.",
                "other_signature",
            )
        return self.predict(batch, domain)

    @abstractmethod
    def predict(self, batch: Batch, domain: Domain) -> Prediction:
        """The forward map, sizes already checked."""

    def prepare(self, batch: Batch, domain: Domain) -> None:
        """Fix scales that the model reads off training samples, once, before the first step."""

    def penalty(self, domain: Domain, generator: torch.Generator) -> torch.Tensor | None:
        """An extra term of the training loss that does not depend on the batch, or None."""
        return None

    @property
    def reads_coordinates(self) -> bool:
        """Whether a turned mesh gets another prediction than the turned one, the input being turned with it."""
        return True

    @property
    def n_parameters(self) -> int:
        """Trained real numbers (complex ones count twice)."""
        return real_parameters(self)

    @property
    def config_dict(self) -> dict[str, Any]:
        return asdict(self.config)
