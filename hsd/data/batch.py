"""Typed batches: source and target forms with the coefficients of the domain's fields, on one mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
import torch

from hsd.data.domain import Domain
from hsd.errors import InputError


@dataclass(frozen=True)
class Batch:
    """B samples on one domain.

    source       : (B, N_s) forms of degree ``domain.spec.source``
    target       : (B, N_t) forms of degree ``domain.spec.target``, or None where nothing is known
    coefficients : name of the domain's fields → (B, m)
    fiber        : (B, N_t, 3 (1 + lifts)) resolvent features of the source and of functions of its values beyond the
                   modes, or None where no model reads them
    fiber_sum    : (B, N_t) those features times the weights of the model that is to run, or None
    """

    source: torch.Tensor
    target: torch.Tensor | None = None
    coefficients: Mapping[str, torch.Tensor] = field(default_factory=dict)
    fiber: torch.Tensor | None = None
    fiber_sum: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index) -> Batch:
        """The samples of an index (slice, list or tensor of numbers), in that order."""
        return self._map(lambda x: x[index])

    def weighted_fiber(self, weights: torch.Tensor) -> torch.Tensor | None:
        """Σ_i w_i of the fiber's features i, (B, N_t); None where there are none.  ``fiber_sum`` is taken as this."""
        if self.fiber_sum is not None:
            return self.fiber_sum
        if self.fiber is None or not self.fiber.shape[2]:
            return None
        return self.fiber[..., : len(weights)] @ weights

    def to(self, device=None, dtype: torch.dtype | None = None) -> Batch:
        return self._map(lambda x: x.to(device=device, dtype=dtype))

    def _map(self, f) -> Batch:
        changed = {}
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, torch.Tensor):
                changed[entry.name] = f(value)
            elif isinstance(value, Mapping):
                changed[entry.name] = {name: f(v) for name, v in value.items()}
        return replace(self, **changed)

    @classmethod
    def of_arrays(
        cls,
        domain: Domain,
        source: np.ndarray,
        target: np.ndarray | None = None,
        coefficients: Mapping[str, np.ndarray] | None = None,
        fiber: np.ndarray | None = None,
    ) -> Batch:
        """A batch of plain arrays in the domain's precision and on its device.

        Raises InputError (shape, non_finite_field, missing_fields), each naming what was expected.
        """
        shapes = {"source": domain.arrays["source/modes"].shape[0], "target": domain.arrays["target/modes"].shape[0]}
        given = {"source": np.asarray(source), "target": None if target is None else np.asarray(target)}
        for name, values in given.items():
            if values is None:
                continue
            if values.ndim != 2 or values.shape[1] != shapes[name] or len(values) != len(given["source"]):
                degree = getattr(domain.spec, name)[0]
                raise InputError(
                    f"The {name} must be {degree}-forms on {domain.mesh.name}, shape (B, {shapes[name]}) with one B "
                    f"for all; got {values.shape}.",
                    "shape",
                )
            if not np.isfinite(values).all():
                raise InputError(f"The {name} is not finite everywhere; remove those samples.", "non_finite_field")
        coefficients = dict(coefficients or {})
        for name in domain.field_names:
            m = domain.arrays[f"field/{name}"].shape[1]
            got = np.shape(coefficients.get(name))
            if got != (len(given["source"]), m):
                raise InputError(
                    f"This domain has {m} fields {name!r}: give their coefficients, shape "
                    f"({len(given['source'])}, {m}); got {got if name in coefficients else 'none'}.",
                    "missing_fields",
                )

        def tensor(x: np.ndarray | None) -> torch.Tensor | None:
            if x is None:
                return None
            return torch.as_tensor(np.ascontiguousarray(x)).to(device=domain.device, dtype=domain.dtype)

        known = {name: tensor(np.asarray(coefficients[name])) for name in domain.field_names}
        return cls(tensor(given["source"]), tensor(given["target"]), known, tensor(fiber))


def node_inputs(batch: Batch, domain: Domain) -> torch.Tensor:
    """What node models read: the source's node values and the vectors of each named field, (B, n_vertices, C_in)."""
    parts = [domain.source_nodes(batch.source)]
    for name in domain.field_names:
        parts.append(torch.einsum("bm,mnc->bnc", batch.coefficients[name], domain.tensor(f"field_nodes/{name}")))
    return torch.cat(parts, dim=-1)


def n_node_inputs(domain: Domain) -> int:
    """C_in of :func:`node_inputs`."""
    n = domain.n_vertices
    own = int(domain.arrays["source_nodes/shape"][0]) // n
    return own + sum(domain.arrays[f"field_nodes/{name}"].shape[2] for name in domain.field_names)


def n_node_outputs(domain: Domain) -> int:
    """Channels of the target's node values."""
    return int(domain.arrays["target_nodes/shape"][0]) // domain.n_vertices


def reference_coefficients(batch: Batch, domain: Domain) -> torch.Tensor | None:
    """(B, b) harmonic coefficients that the target must have, or None where the task knows none.

    From the fields that the domain marks as reference; where source and target have one degree, from the source.
    """
    name = domain.reference_name
    with torch.autocast(batch.source.device.type, enabled=False):
        if name is not None:
            return batch.coefficients[name] @ domain.tensor(f"harmonic_of/{name}").T
        if domain.spec.source[0] == domain.spec.target[0]:
            basis = domain.source
            return batch.source @ basis.star_modes[:, basis.harmonic]
    return None
