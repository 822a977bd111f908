"""What a composed field is, as a small record: points with strengths and widths, and circulations.

:class:`hsd.hodge.compose.Composer` turns it into a cochain of a mesh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from hsd.errors import InputError, check_choice

KINDS = ("source", "sink", "vortex")
WIDTHS = (0.02, 1.0)
MAX_POINTS = 200


@dataclass(frozen=True)
class Point:
    """One placed point.

    kind     : "source", "sink" or "vortex" (counter-clockwise seen against the normal; negative strength: clockwise)
    cell     : simplex that it lies in: a triangle of a surface, a boundary triangle of tets, an edge of a graph
    bary     : barycentric weights of its vertices in stored order
    strength : of source or vortex, unit of the field's integral;  width: σ in units of L, L² = measure^(2/n)/4π
    depth    : in tets, how far below the boundary, in units of L
    position : where it lay when it was placed, so that it is found again on another mesh; () without positions
    """

    id: str
    kind: str
    cell: int
    bary: tuple[float, ...]
    strength: float = 1.0
    width: float = 0.2
    depth: float = 0.0
    position: tuple[float, ...] = ()

    def __post_init__(self):
        check_choice("kind of point", self.kind, KINDS)
        object.__setattr__(self, "bary", tuple(float(b) for b in self.bary))
        object.__setattr__(self, "position", tuple(float(x) for x in self.position))
        numbers = (*self.bary, self.strength, self.width, self.depth, *self.position)
        if not np.isfinite(numbers).all() or not WIDTHS[0] <= self.width <= WIDTHS[1] or self.depth < 0:
            raise InputError(
                f"Point {self.id} needs finite numbers, a width from {WIDTHS[0]} to {WIDTHS[1]} and a depth ≥ 0; "
                f"got strength {self.strength}, width {self.width}, depth {self.depth}.",
                "range",
            )


@dataclass(frozen=True)
class Composition:
    """Points and circulations of a k-form; ``mesh`` is the content hash of the mesh that cells are numbered on."""

    k: int = 1
    mesh: str = ""
    points: tuple[Point, ...] = ()
    circulations: tuple[float, ...] = ()

    def to_record(self) -> dict:
        """Plain values, e.g. for JSON."""
        return {"version": 1, **asdict(self)}

    @classmethod
    def from_record(cls, record: object) -> Composition:
        """The composition of a record.  Raises InputError (not_a_composition)."""
        try:
            if not isinstance(record, Mapping) or record["version"] != 1 or len(record["points"]) > MAX_POINTS:
                raise ValueError
            points = tuple(
                Point(
                    str(p["id"]), str(p["kind"]), int(p["cell"]), tuple(p["bary"]), float(p["strength"]),
                    float(p["width"]), float(p["depth"]), tuple(p["position"]),
                )
                for p in record["points"]
            )  # fmt: skip
            return cls(int(record["k"]), str(record["mesh"]), points, tuple(map(float, record["circulations"])))
        except (KeyError, TypeError, ValueError):
            raise InputError("This is no composed field; compose it again.", "not_a_composition") from None

    # ---- editing -----------------------------------------------------------------------------------------------

    def with_point(self, point: Point) -> Composition:
        """Added, or changed where the id is known.  Raises InputError (too_many)."""
        if len(self.points) >= MAX_POINTS and all(p.id != point.id for p in self.points):
            raise InputError(f"A field may have {MAX_POINTS} points; delete some first.", "too_many")
        known = [p.id for p in self.points]
        if point.id in known:
            return replace(self, points=tuple(point if p.id == point.id else p for p in self.points))
        return replace(self, points=(*self.points, point))

    def without(self, id_: str) -> Composition:
        return replace(self, points=tuple(p for p in self.points if p.id != id_))

    def with_circulation(self, i: int, value: float, n: int) -> Composition:
        values = (*self.circulations, *([0.0] * n))[:n]
        return replace(self, circulations=tuple(value if j == i else v for j, v in enumerate(values)))

    def point(self, id_: str) -> Point | None:
        return next((p for p in self.points if p.id == id_), None)


def kinds_of(dim: int, k: int) -> tuple[str, ...]:
    """Kinds of points that mean something for k-forms in dimension ``dim``."""
    return KINDS if dim >= 2 and (k == 1 or (k == 2 and dim == 3)) else KINDS[:2]


def part_of(dim: int, k: int, kind: str) -> str:
    """The Hodge part that a point adds to: "exact" or "coexact"."""
    check_choice("kind of point", kind, kinds_of(dim, k))
    source_is_exact = k == 1 or k == dim
    return "exact" if source_is_exact == (kind != "vortex") else "coexact"
