"""Smooth closed level sets with remeshed, well-shaped triangles: ellipsoid, double torus, plate with five holes."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.grids import icosphere, sphere_frequency
from hsd.mesh.primitives.isosurface import isosurface
from hsd.mesh.primitives.remesh import guarded, project, remesh, settle

DOUBLE = np.array([[-0.65, 0.0], [0.65, 0.0]])
FIVE = np.concatenate(
    [
        [[0.0, 0.0]],
        1.25
        * np.stack(
            [np.cos(np.pi / 4 + np.pi / 2 * np.arange(4)), np.sin(np.pi / 4 + np.pi / 2 * np.arange(4))], axis=1
        ),
    ]
)


def smooth_min(a: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    """Minimum with a round transition of width k (twice differentiable)."""
    h = np.maximum(k - np.abs(a - b), 0.0) / k
    return np.minimum(a, b) - h**3 * k / 6.0


def smooth_max(a: np.ndarray, b: np.ndarray, k: float) -> np.ndarray:
    return -smooth_min(-a, -b, k)


def _rings(p: np.ndarray, centres: np.ndarray, R: float, r: float, k: float) -> np.ndarray:
    """Tubes of radius r round circles of radius R in the plane, smoothly joined."""
    out = None
    for c in centres:
        rho = np.hypot(p[:, 0] - c[0], p[:, 1] - c[1]) - R
        d = np.hypot(rho, p[:, 2]) - r
        out = d if out is None else smooth_min(out, d, k)
    return out


FINE = 6000
"""Above this number of vertices a mesh is made with a quarter of them, and each triangle halved in both directions."""


def _from_function(g, low, high, area: float, n_vertices: int, name: str) -> Mesh:
    points, faces = _smooth(g, low, high, area, n_vertices)
    return Mesh.from_cells(points, faces, name=name)


def _smooth(g, low, high, area: float, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
    if n_vertices > FINE:
        return refine(*_smooth(g, low, high, area, -(-n_vertices // 4)), g)
    edge = np.sqrt(2.0 / np.sqrt(3.0) * area / n_vertices)
    low, high = np.array(low), np.array(high)
    points, faces = isosurface(g, low, high, min(1.4 * edge, 0.16))
    points, faces, _ = remesh(points, faces, np.zeros(len(faces), np.int64), [g], n_vertices)
    return points, faces


def refine(points: np.ndarray, faces: np.ndarray, g) -> tuple[np.ndarray, np.ndarray]:
    """Four triangles for each one, moved onto g = 0 and evened out."""
    ends, edge = np.unique(
        np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
    )
    a, b, c = faces.T
    ab, bc, ca = (len(points) + edge.reshape(-1, 3)).T
    faces = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    points = np.concatenate([points, points[ends].mean(axis=1)])
    label, one = np.zeros(len(faces), np.int64), np.ones((len(points), 1), bool)
    reach = 0.2 * float(np.median(np.linalg.norm(points[faces[:, 0]] - points[faces[:, 1]], axis=1)))
    points = project(points, one, [g], reach, 2)
    points, faces = settle(points, faces, label, [g], lambda p: np.ones(len(p)), 2, 0.5, guard=True)
    return guarded(points, project(points, one, [g], reach, 2), faces), faces


def ellipsoid(n_vertices: int = 3000, axes: tuple[float, float, float] = (1.5, 1.0, 0.75)) -> Mesh:
    """Ellipsoid with the given semi-axes (3 : 2 : 1.5), triangles of one size; 10 f² + 2 vertices."""
    points, faces = icosphere(sphere_frequency(n_vertices))
    axes = np.asarray(axes, float)
    if axes.shape != (3,) or not (axes > 0).all():
        raise InputError(f"An ellipsoid needs three positive semi-axes; got {axes.tolist()}.", "bad_option")

    def g(p):
        return (np.linalg.norm(p / axes, axis=1) - 1.0) * axes.min()

    start = points * axes / np.linalg.norm(points, axis=1)[:, None]
    points, faces, _ = remesh(start, faces, np.zeros(len(faces), np.int64), [g], len(points))
    return Mesh.from_cells(points, faces, name="ellipsoid")


def double_torus(n_vertices: int = 3000) -> Mesh:
    """Genus 2: two tubes of radius 0.25 round circles of radius 0.65 that touch, smoothly joined."""
    return _from_function(
        lambda p: _rings(p, DOUBLE, 0.65, 0.25, 0.2),
        (-1.7, -1.05, -0.4),
        (1.7, 1.05, 0.4),
        11.5,
        n_vertices,
        "double_torus",
    )


def genus5_plate(n_vertices: int = 3000) -> Mesh:
    """Genus 5: a round plate of thickness 0.5 with one hole in the middle and four round it, edges rounded."""

    def g(p):
        out = np.hypot(p[:, 0], p[:, 1]) - 1.9
        for x, y in FIVE:
            out = smooth_max(out, 0.33 - np.hypot(p[:, 0] - x, p[:, 1] - y), 0.1)
        return smooth_max(out, np.abs(p[:, 2]) - 0.25, 0.3)

    return _from_function(g, (-2.1, -2.1, -0.45), (2.1, 2.1, 0.45), 26.0, n_vertices, "genus5_plate")
