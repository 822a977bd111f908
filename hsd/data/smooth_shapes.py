"""The smooth shapes behind the meshes of tasks: random points on them, and the nearest point to a given one.

Records of samples speak of these shapes only, so that one record can be realised on any mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from hsd.data.kept import kept_array
from hsd.errors import check_choice
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.mesh.primitives.car_shape import OUTLINE, WING_X, Car, CarShape
from hsd.mesh.primitives.remesh import value_and_gradient

N_TABLE = 20000
"""Points of a table that stands for a shape without a formula: one per 0.0002 of an area of 4, far below any width."""


class Shape(Protocol):
    """A smooth surface in space."""

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n random points, uniform by area, (n, 3)."""
        ...


@dataclass(frozen=True)
class Ellipsoid:
    """Σ (x_i / axes_i)² = 1."""

    axes: tuple[float, float, float]

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        axes, out = np.array(self.axes), np.zeros((0, 3))
        while len(out) < n:  # area element of the sphere's image: |x / axes| · Π axes, at most Π axes / min axes
            u = rng.standard_normal((2 * n + 8, 3))
            u /= np.linalg.norm(u, axis=1)[:, None]
            keep = rng.random(len(u)) * (1 / axes.min()) < np.linalg.norm(u / axes, axis=1)
            out = np.concatenate([out, u[keep] * axes])
        return out[:n]

    def project(self, points: np.ndarray) -> np.ndarray:
        """Along the ray from the centre."""
        return points / np.linalg.norm(points / np.array(self.axes), axis=1)[:, None]

    def normals(self, points: np.ndarray) -> np.ndarray:
        g = points / np.array(self.axes) ** 2
        return g / np.linalg.norm(g, axis=1)[:, None]


@dataclass(frozen=True)
class Torus:
    """Tube of radius r round the circle of radius R in the plane z = 0."""

    R: float = 1.0
    r: float = 0.4

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        phi = np.zeros(0)
        while len(phi) < n:  # area element r (R + r cos φ)
            draw = rng.random((2, 2 * n + 8))
            angle = 2 * np.pi * draw[0]
            phi = np.concatenate([phi, angle[draw[1] * (self.R + self.r) < self.R + self.r * np.cos(angle)]])
        phi, theta = phi[:n], 2 * np.pi * rng.random(n)
        rho = self.R + self.r * np.cos(phi)
        return np.stack([rho * np.cos(theta), rho * np.sin(theta), self.r * np.sin(phi)], axis=1)

    def _middle(self, points: np.ndarray) -> np.ndarray:
        flat = points * [1.0, 1.0, 0.0]
        return self.R * flat / np.linalg.norm(flat, axis=1)[:, None]

    def project(self, points: np.ndarray) -> np.ndarray:
        """The nearest point."""
        return self._middle(points) + self.r * self.normals(points)

    def normals(self, points: np.ndarray) -> np.ndarray:
        out = points - self._middle(points)
        return out / np.linalg.norm(out, axis=1)[:, None]


@dataclass(frozen=True, eq=False)
class PointTable:
    """A surface known by many points on it, uniform by area, (m, 3)."""

    table: np.ndarray

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return self.table[rng.integers(len(self.table), size=n)]

    @classmethod
    def of_mesh(cls, mesh: Mesh, n: int = N_TABLE) -> PointTable:
        """Points on the triangles of a mesh, by area; the same ones at every call."""
        rng = np.random.default_rng(0)
        area = measures(mesh, 2)
        face = np.searchsorted(np.cumsum(area) / area.sum(), rng.random(n)).clip(max=len(area) - 1)
        bary = np.sort(rng.random((n, 2)), axis=1)
        bary = np.stack([bary[:, 0], bary[:, 1] - bary[:, 0], 1 - bary[:, 1]], axis=1)
        return cls(np.einsum("ni,nid->nd", bary, mesh.points[mesh.complex.simplices(2)[face]]))


def partners(
    rng: np.random.Generator, shape: Ellipsoid | Torus, centres: np.ndarray, low: float, high: float
) -> np.ndarray:
    """For each centre a point of the surface in a random direction, low to high away in a straight line, (n, 3).

    Both distances must be small against the radii of curvature times two.
    """
    n = len(centres)
    wished = rng.uniform(low, high, n)
    normal = shape.normals(centres)
    way = np.cross(normal, rng.standard_normal((n, 3)))
    way /= np.linalg.norm(way, axis=1)[:, None]
    reach = wished
    for _ in range(8):
        found = shape.project(centres + reach[:, None] * way)
        reach = reach * wished / np.linalg.norm(found - centres, axis=1)
    return found


# ---- the car ---------------------------------------------------------------------------------------------------

CAR_FRAME = {
    "fastback": ((0.2190, 0.0, 0.7078), 2.5556),
    "notchback": ((0.2146, 0.0, 0.6962), 2.5505),
    "estate": ((0.2310, 0.0, 0.7532), 2.5745),
}
"""Style → centroid of the smooth surface with wing and mirrors (metres) and the distance of its farthest point."""
THICKNESS = 0.11
"""Thickness of wing, struts and mirrors in metres, one for all sizes of meshes."""


@dataclass(frozen=True)
class WingedCar:
    """A car with mirrors and a wing on two struts, its farthest point at distance 1 from its centroid.

    Raises UnknownNameError (style).
    """

    style: str = "fastback"

    def __post_init__(self):
        check_choice("car style", self.style, OUTLINE)

    @cached_property
    def car(self) -> Car:
        return Car(CarShape(self.style, True, False, True, THICKNESS))

    @property
    def options(self) -> dict:
        """Options of :func:`hsd.mesh.primitives.car` for meshes of this shape, in metres."""
        return {"style": self.style, "wing": True, "mirrors": True, "thickness": THICKNESS}

    def from_metres(self, points: np.ndarray) -> np.ndarray:
        centre, radius = CAR_FRAME[self.style]
        return (points - np.array(centre)) / radius

    def to_metres(self, points: np.ndarray) -> np.ndarray:
        centre, radius = CAR_FRAME[self.style]
        return points * radius + np.array(centre)

    def on_wing(self, points: np.ndarray) -> np.ndarray:
        """True for points of the plane y = 0 on the wing's cross-section, false for those on the body."""
        x, _, z = self.to_metres(points).T
        return (x > WING_X[self.style] - 0.4) & (z > self.car.top(x) + 0.09)

    @cached_property
    def _table(self) -> PointTable:
        return _car_table(self.style)

    def points(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return self._table.points(rng, n)


@lru_cache(maxsize=4)
def _car_table(style: str) -> PointTable:
    return PointTable(kept_array(lambda: _car_points(style), "points of the car", style))


def _car_points(style: str) -> np.ndarray:
    """Points uniform by area: random points of a thin shell |g| < t |∇g|, of equal thickness everywhere, moved onto
    g = 0 by Newton steps."""
    shape = WingedCar(style)
    functions = shape.car.functions

    def g(p):
        return np.max([f(p) for f in functions], axis=0)

    rng, step, shell = np.random.default_rng(0), 0.06, 0.01
    low = np.array([-2.6, -1.3, 0.0])
    cells = np.stack(np.meshgrid(*(np.arange(k) for k in (88, 44, 34)), indexing="ij"), axis=-1).reshape(-1, 3)
    near = np.abs(g(low + (cells + 0.5) * step)) < 2.0 * step
    cells = cells[near]
    out = np.zeros((0, 3))
    while len(out) < N_TABLE:
        p = low + (cells[rng.integers(len(cells), size=4 * N_TABLE)] + rng.random((4 * N_TABLE, 3))) * step
        value, gradient = value_and_gradient(g, p)
        keep = np.abs(value) < shell * np.linalg.norm(gradient, axis=1)
        out = np.concatenate([out, p[keep]])
    out = out[:N_TABLE]
    for _ in range(4):
        value, gradient = value_and_gradient(g, out)
        out = out - (value / (gradient**2).sum(axis=1))[:, None] * gradient
    return shape.from_metres(out)
