"""Plane domains with circular holes, meshed by Delaunay triangulation of relaxed points."""

from __future__ import annotations

import numpy as np
from scipy.spatial import Delaunay

from hsd.mesh.mesh import Mesh

HOLES = 0.5 * np.stack([np.cos(2 * np.pi * np.arange(3) / 3 + 0.5), np.sin(2 * np.pi * np.arange(3) / 3 + 0.5)], axis=1)
HOLE_RADIUS = 0.2
SWEEPS = 8


def _rings(h: float) -> np.ndarray:
    """Points on the outer circle and on the three holes, about h apart."""
    out = []
    for centre, radius in [(np.zeros(2), 1.0), *((c, HOLE_RADIUS) for c in HOLES)]:
        n = max(6, round(2 * np.pi * radius / h))
        angle = 2 * np.pi * np.arange(n) / n
        out.append(centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return np.concatenate(out)


def _room(p: np.ndarray) -> np.ndarray:
    """Distance to the boundary, positive inside the domain."""
    to_holes = np.linalg.norm(p[:, None] - HOLES[None], axis=2).min(axis=1) - HOLE_RADIUS
    return np.minimum(1.0 - np.linalg.norm(p, axis=1), to_holes)


def _points(h: float) -> tuple[np.ndarray, int]:
    rows = np.arange(-int(1.2 / h) - 1, int(1.2 / h) + 2)
    i, j = np.meshgrid(rows, rows)
    grid = np.stack([(i + 0.5 * (j % 2)) * h, j * h * np.sqrt(3) / 2], axis=2).reshape(-1, 2)
    edge = _rings(h)
    return np.concatenate([edge, grid[_room(grid) > 0.55 * h]]), len(edge)


def disk_three_holes(n_vertices: int = 3000) -> Mesh:
    """Unit disk in the plane z = 0 with three holes of radius 0.2: four boundary loops.

    Boundary points are equidistant and fixed; inner points start on an equilateral lattice and are moved to the mean of
    their neighbours a few times, with a new Delaunay triangulation after each move.
    """
    smooth = np.pi * (1 - 3 * HOLE_RADIUS**2)
    h = np.sqrt(smooth * 2 / np.sqrt(3) / max(n_vertices, 1))
    for _ in range(4):
        points, _ = _points(h)
        h *= np.sqrt(len(points) / max(n_vertices, 30))
    points, n_fixed = _points(h)
    for sweep in range(SWEEPS):
        faces = Delaunay(points).simplices
        centre = points[faces].mean(axis=1)
        on_edge = (faces < n_fixed).all(axis=1)
        faces = faces[~on_edge | (_room(centre) > 0)]
        if sweep == SWEEPS - 1:
            break
        ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        count = np.bincount(ends.ravel(), minlength=len(points))
        total = np.stack(
            [np.bincount(ends.ravel(), points[ends[:, ::-1].ravel(), d], minlength=len(points)) for d in (0, 1)], axis=1
        )
        points[n_fixed:] = (total / np.maximum(count, 1)[:, None])[n_fixed:]
    return Mesh.from_cells(np.column_stack([points, np.zeros(len(points))]), faces, name="disk_three_holes")
