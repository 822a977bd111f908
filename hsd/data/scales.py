"""The sizes in which a model's numbers are meant, carried from the mesh of training to other resolutions of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hsd.errors import InputError, is_real

SAME_SHAPE = 0.2
"""Relative difference of measure up to which two meshes count as resolutions of one shape (coarse tetrahedra lose much;
units differ by more)."""
ROUNDING = 1e-6
LEAST, MOST = 1e-6, 1e12
"""Bounds of λ̂_K = cutoff · scale2: about K on surfaces, up to (edges)²/π on graphs; a few on few thick cells."""
OTHER_CUTOFF = 2.0
"""Ratio of two cutoffs of one mesh and number of modes from which on they are not one number."""


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
    def of_manifest(cls, about: Mapping[str, Any], dim: int | None = None, name: str = "the manifest") -> Scales | None:
        """From "domain" of a checkpoint's manifest; None where it has none.

        dim : dimension of the mesh of training, None: not known here;  name: of the manifest, for sentences
        The measure is that of the largest cells, (4π scale2)^(n/2); on complexes of mixed dimension those of their
        other cells are added; with star "unit" it is the number of vertices.  Raises InputError (bad_manifest).
        """
        told = about.get("scales")
        if told is None:
            return None
        names = set(cls.__dataclass_fields__)
        is_all = isinstance(told, dict) and set(told) == names and all(is_real(v) and v >= 0 for v in told.values())
        if not is_all or not told["measure"] or not told["scale2"]:
            raise InputError(
                f"The scales in {name} must be the numbers {', '.join(sorted(names))}, above 0; got {told!r}: copy the "
                "checkpoint again.",
                "bad_manifest",
            )
        found = cls(**told)
        if found.measure != about.get("n_vertices"):  # not of star "unit", whose numbers have no length in them
            if found.cutoff and not LEAST <= found.cutoff * found.scale2 <= MOST:  # 0: harmonic modes alone
                raise InputError(
                    f"The scales in {name} have cutoff · scale2 = {found.cutoff:g} · {found.scale2:g}, which no mesh "
                    f"has ({LEAST:g} to {MOST:g}): copy the checkpoint again.",
                    "bad_manifest",
                )
            if dim is not None and not found._of_largest_cells(dim) <= found.measure * (1 + ROUNDING):
                raise InputError(
                    f"The scales in {name} contradict each other: measure {found.measure:g}, but scale2 "
                    f"{found.scale2:g} = measure^(2/{dim})/4π says {found._of_largest_cells(dim):g}; copy the "
                    "checkpoint again.",
                    "bad_manifest",
                )
        return found

    def _of_largest_cells(self, dim: int) -> float:
        """(4π scale2)^(n/2), ∞ where no float holds it."""
        log = max(dim, 1) / 2 * (math.log(4 * math.pi) + math.log(self.scale2))
        return math.exp(log) if log < 700 else math.inf

    def same_mesh(self, other: Scales) -> bool:
        """Whether both can be of one mesh with one number of modes (which machines may end at another gap)."""
        near = all(abs(a - b) <= 1e-3 * abs(a) for a, b in ((self.measure, other.measure), (self.scale2, other.scale2)))
        low, high = sorted((self.cutoff, other.cutoff))
        return near and high <= OTHER_CUTOFF * low

    def hold_on(self, other: Scales) -> bool:
        """Whether another mesh, of those scales, is a resolution of the same shape."""
        return abs(other.measure - self.measure) <= SAME_SHAPE * self.measure

    def equal(self, other: Scales) -> bool:
        """Up to rounding, in which machines differ."""
        pairs = ((self.measure, other.measure), (self.cutoff, other.cutoff))
        return all(abs(a - b) <= ROUNDING * abs(a) for a, b in pairs)
