"""The sizes in which a model's numbers are meant, carried from the mesh of training to other resolutions of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hsd.errors import InputError, is_real

SAME_SHAPE = 0.2
"""Relative difference of measure up to which two meshes count as resolutions of one shape (coarse tetrahedra lose much;
units differ by more)."""
ROUNDING = 1e-6


@dataclass(frozen=True)
class Scales:
    """scale2 = measure^(2/n)/4π, measure (area or volume) and cutoff λ_K, the largest eigenvalue of the source's modes.

    λ̂ = λ · scale2, mean values and the shifts of resolvents have no unit by them, so that a model fits a mesh in any
    unit.  But an equation's constants do not change with the facets: on a coarser or finer mesh of the same shape,
    whose measure and λ_K differ by the discretisation alone, the scales of the mesh of training hold.
    """

    scale2: float
    measure: float
    cutoff: float

    @classmethod
    def of_manifest(cls, about: Mapping[str, Any]) -> Scales | None:
        """From "domain" of a checkpoint's manifest; None where it has none.  Raises InputError (bad_manifest)."""
        told = about.get("scales")
        if told is None:
            return None
        names = set(cls.__dataclass_fields__)
        if not isinstance(told, dict) or set(told) != names or not all(is_real(v) and v >= 0 for v in told.values()):
            raise InputError(
                f"The scales in the manifest must be the numbers {', '.join(sorted(names))}; got {told!r}.",
                "bad_manifest",
            )
        return cls(**told)

    def hold_on(self, other: Scales) -> bool:
        """Whether another mesh, of those scales, is a resolution of the same shape."""
        return abs(other.measure - self.measure) <= SAME_SHAPE * self.measure

    def equal(self, other: Scales) -> bool:
        """Up to rounding, in which machines differ."""
        pairs = ((self.measure, other.measure), (self.cutoff, other.cutoff))
        return all(abs(a - b) <= ROUNDING * abs(a) for a, b in pairs)
