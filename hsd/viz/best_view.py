"""The direction from which most of what matters on a surface is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

N_DIRECTIONS, CELLS = 120, 22
STEEP = 0.9
"""Largest |z| of a direction, so that z still points up in the picture."""
BEHIND = 0.12
"""A vertex is seen where none of the surface lies further in front of it than this share of its size."""
ENOUGH = 0.6
"""Share of a set of which more is not better."""
LITTLE = 0.02
"""Weight of nearness, small beside one more set that is seen."""


def best_direction(points: np.ndarray, sets: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Unit vector along which to look at a surface with vertices (n, 3) so that most of the vertex sets are seen.

    Maximises Σ_sets min(1, share of the set's vertices that is seen / ENOUGH), and among equals how near to the viewer
    the sets lie, among directions spread evenly over the sphere, but not along z; the same every time.
    """
    centred = points - points.mean(axis=0)
    size = float(np.linalg.norm(centred, axis=1).max()) or 1.0
    best, found = -1.0, (0.0, 1.0, 0.0)
    for back in directions():
        seen = visible(centred / size, back)
        near = centred @ back / size
        score = sum(min(1.0, seen[one].mean() / ENOUGH) + LITTLE * near[one].mean() for one in sets if len(one))
        if score > best + 1e-9:
            best, found = score, tuple(float(-x) for x in back)
    return found


def directions() -> np.ndarray:
    """Unit vectors from the surface to the viewer, spread evenly, those near z left out."""
    i = np.arange(N_DIRECTIONS) + 0.5
    z, angle = 1 - 2 * i / N_DIRECTIONS, np.pi * (1 + 5**0.5) * i
    flat = np.sqrt(1 - z**2)
    return np.column_stack([flat * np.cos(angle), flat * np.sin(angle), z])[np.abs(z) <= STEEP]


def visible(points: np.ndarray, back: np.ndarray) -> np.ndarray:
    """(n,) whether a viewer far away along ``back`` sees each vertex, by a coarse map of depths; |points| ≤ 1."""
    right = np.cross(back, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    across = np.column_stack([points @ right, points @ np.cross(right, back)])
    column, row = np.clip(((across + 1) / 2 * CELLS).astype(int), 0, CELLS - 1).T
    depth, cell = points @ back, column * CELLS + row
    front = np.full(CELLS**2, -np.inf)
    np.maximum.at(front, cell, depth)
    return depth >= front[cell] - BEHIND
