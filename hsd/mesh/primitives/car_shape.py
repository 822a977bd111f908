"""The car as functions: {max(body, −wheel houses, tail) = 0}, in metres.

x is the driving axis (nose at negative x, the air flows along +x), y to the side, z up, the road at z = 0.  The body is
bounded by a top outline z(x), a half width that shrinks above the belt line, a floor and a nose, all joined with round
transitions; mirrors, wing and roof rails are joined to it.  Wheel arches and the tail's edge are sharp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.mesh.primitives.handles import smooth_max, smooth_min

NOSE, TAIL = -2.30, 2.30
AXLES = (-1.42, 1.38)
WHEEL_Z, WHEEL_RADIUS, WHEEL_INNER = 0.33, 0.37, 0.56
BELT = 0.90
FINEST = 0.4
"""Edge length at mirrors, wing and rails against that of the plain panels."""

BONNET = [(-2.6, 0.62), (-2.25, 0.74), (-1.9, 0.83), (-1.0, 0.95), (-0.2, 1.37), (0.15, 1.43)]
OUTLINE = {
    "fastback": [*BONNET, (0.7, 1.42), (1.2, 1.31), (2.1, 0.99), (2.6, 0.93)],
    "notchback": [*BONNET, (0.6, 1.42), (0.9, 1.36), (1.55, 1.04), (2.2, 1.01), (2.6, 0.97)],
    "estate": [*BONNET, (1.2, 1.43), (1.9, 1.37), (2.6, 1.28)],
}
"""Top outline at y = 0: corners (x, z), rounded in :func:`outline_table`."""

WING_X = {"fastback": 1.80, "notchback": 1.80, "estate": 1.52}
RAIL_Y, RAIL_X, RAIL_HALF = 0.50, 0.42, 0.46


@dataclass(frozen=True)
class CarShape:
    """What a car looks like; thickness is the least thickness of mirrors, struts, wing and rails in metres."""

    style: str
    wing: bool
    roof_rails: bool
    mirrors: bool
    thickness: float


def outline_table(style: str) -> tuple[np.ndarray, np.ndarray]:
    """x and z of the top outline with corners rounded over about 0.3 m."""
    x = np.linspace(-3.0, 3.0, 3001)
    z = np.interp(x, *np.array(OUTLINE[style]).T)
    window = np.hanning(153)
    window /= window.sum()
    return x, np.convolve(np.pad(z, 76, mode="edge"), window, mode="valid")


def _box(p: np.ndarray, centre, half, radius: float) -> np.ndarray:
    """Distance to a box with rounded edges."""
    q = np.abs(p - centre) - np.asarray(half) + radius
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0) - radius


def _softplus(t: np.ndarray, k: float) -> np.ndarray:
    return 0.5 * (t + np.sqrt(t * t + k * k))


class Car:
    """The functions body, wheel_houses (positive inside a house) and tail of one car."""

    def __init__(self, shape: CarShape):
        self.shape = shape
        self.table = outline_table(shape.style)

    @property
    def functions(self):
        return [self.body, self.wheel_houses, self.tail]

    def top(self, x: np.ndarray) -> np.ndarray:
        return np.interp(x, *self.table)

    def body(self, p: np.ndarray) -> np.ndarray:
        x, y, z = p[:, 0], np.abs(p[:, 1]), p[:, 2]
        swept = x + 0.10 * y * y * np.tanh(-1.0 - 2.0 * x) + 0.06 * y * y * (x > 0.3) * (x - 0.3)
        height = self.top(swept)
        slope = (self.top(swept + 0.02) - self.top(swept - 0.02)) / 0.04
        roof = (z - height + 0.07 * y * y) / np.sqrt(1.0 + slope * slope)
        above = _softplus(z - BELT, 0.06)
        width = (
            0.89 - 0.055 * np.maximum(np.abs(x) - 0.9, 0.0) ** 2 - 0.42 * above - 0.25 * np.maximum(0.45 - z, 0.0) ** 2
        )
        width = width - 0.05 * np.maximum(x - 0.8, 0.0) * above
        side = (y - width) * 0.93
        front = NOSE + 0.16 * y * y + 0.30 * np.maximum(z - 0.45, 0.0) ** 2 - x
        floor = 0.17 + 0.10 * np.maximum(np.abs(x) - 1.7, 0.0) - z
        out = smooth_max(smooth_max(roof, side, 0.16), smooth_max(front, floor, 0.22), 0.22)
        return self._add_parts(out, p, x, y)

    def _add_parts(self, out: np.ndarray, p: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mirrors, wing and rails joined to the body; q is p reflected to y ≥ 0."""
        s, t = self.shape, self.shape.thickness
        q = np.stack([x, y, p[:, 2]], axis=1)
        if s.mirrors:
            r = np.array([0.5 * max(t, 0.17), 0.15, max(0.085, 0.6 * t)])
            mirror = (np.linalg.norm((q - [-0.62, 0.96, 1.00]) / r, axis=1) - 1.0) * r.min()
            out = smooth_min(out, mirror, 0.05)
        if s.wing:
            at = WING_X[s.style]
            deck = float(self.top(at))
            high = deck + 0.17 + 1.2 * t
            blade = _box(q, [at + 0.08, 0.0, high], [0.17 + t, 0.72, 0.5 * t], 0.45 * t)
            strut = _box(
                q,
                [at + 0.06, 0.42, 0.5 * (deck + high) - 0.06],
                [0.06 + 0.6 * t, 0.55 * t, 0.5 * (high - deck) + 0.1],
                0.4 * t,
            )
            out = smooth_min(out, smooth_min(blade, strut, 0.03), 0.03)
        if s.roof_rails:
            roof = float(self.top(RAIL_X)) - 0.07 * RAIL_Y**2
            high = roof + 0.06 + 0.9 * t
            bar = _box(q, [RAIL_X, RAIL_Y, high], [RAIL_HALF, 0.5 * t, 0.5 * t], 0.4 * t)
            feet = np.abs(x - RAIL_X)
            foot = np.stack([feet, y, p[:, 2]], axis=1)
            foot = _box(foot, [RAIL_HALF - 0.7 * t, RAIL_Y, roof], [0.7 * t, 0.5 * t, high - roof], 0.4 * t)
            out = smooth_min(out, smooth_min(bar, foot, 0.02), 0.03)
        return out

    def wheel_houses(self, p: np.ndarray) -> np.ndarray:
        y = np.abs(p[:, 1])
        rho = np.minimum(*(np.hypot(p[:, 0] - x, p[:, 2] - WHEEL_Z) for x in AXLES))
        return -smooth_max(rho - WHEEL_RADIUS, WHEEL_INNER - y, 0.10)

    def tail(self, p: np.ndarray) -> np.ndarray:
        y, z = p[:, 1], p[:, 2]
        lean = 0.42 if self.shape.style == "estate" else 0.12
        return p[:, 0] - TAIL + 0.10 * y * y + lean * _softplus(z - 0.85, 0.1) + 0.35 * _softplus(0.45 - z, 0.1)

    def fine(self, p: np.ndarray) -> np.ndarray:
        """Wished relative edge length: smaller at mirrors, wing and rails, and a little along the wheel arches."""
        s = self.shape
        q = np.stack([p[:, 0], np.abs(p[:, 1]), p[:, 2]], axis=1)
        near = np.abs(self.wheel_houses(p)) / 0.9 + 0.35
        if s.mirrors:
            near = np.minimum(near, np.linalg.norm(q - [-0.62, 0.96, 1.00], axis=1) / 0.5)
        if s.wing:
            at = WING_X[s.style]
            near = np.minimum(near, _box(q, [at + 0.08, 0.0, float(self.top(at)) + 0.2], [0.2, 0.7, 0.15], 0.0) / 0.8)
        if s.roof_rails:
            bar = _box(q, [RAIL_X, RAIL_Y, float(self.top(RAIL_X)) + 0.1], [RAIL_HALF, 0.05, 0.1], 0.0)
            near = np.minimum(near, bar / 0.5)
        return np.clip(FINEST + (1.0 - FINEST) * near, FINEST, 1.0)
