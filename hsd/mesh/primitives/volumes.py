"""Solids of tetrahedra from prisms: ball with cavity, solid torus, ball."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.grids import (
    best_size,
    icosahedron,
    icosphere,
    kuhn_tets,
    lattice_points,
    merge_lattice,
    outward,
    prism_tets,
)
from hsd.mesh.primitives.surfaces import disk_grid

ICO_EDGE = 1.05
"""Mean edge angle of the icosphere times its frequency."""


def ball_with_cavity(n_vertices: int = 3000, outer: float = 2.0, inner: float = 0.4, layers: int | None = None) -> Mesh:
    """Ball of radius ``outer`` with a concentric spherical cavity; icosphere × layers, radii in geometric progression.

    layers : number of prism layers; None picks layers as thick as the triangles are wide.
    """
    if not 0 < inner < outer or (layers is not None and layers < 1):
        raise InputError(
            f"A shell needs 0 < inner < outer and layers ≥ 1; got {inner}, {outer}, {layers}.", "bad_option"
        )
    log = np.log(outer / inner)
    sizes = []
    for f in range(1, 4 + int(np.sqrt(n_vertices / 10.0))):
        for n in [layers] if layers else range(1, 3 + int(3 * f * log)):
            thick = log / n / (ICO_EDGE / f)
            sizes.append(((10 * f * f + 2) * (n + 1), 0.15 * abs(np.log(thick)), (f, n)))
    f, n = best_size(n_vertices, sizes)
    unit, faces = icosphere(f)
    radii = inner * (outer / inner) ** (np.arange(n + 1) / n)
    points = (radii[:, None, None] * unit[None]).reshape(-1, 3)
    return Mesh.from_cells(points, outward(points, prism_tets(faces, len(unit), n)), name="ball_with_cavity")


def solid_torus(n_vertices: int = 3000, R: float = 1.0, r: float = 0.4) -> Mesh:
    """Solid torus about z: disk of radius r × circle of radius R."""
    if not 0 < r < R:
        raise InputError(f"A torus needs radii 0 < r < R; got R = {R}, r = {r}.", "bad_option")
    sizes = []
    for m in range(1, 4 + int(np.cbrt(n_vertices))):
        section = 1 + 3 * m * (m + 1)
        n = max(3, round(n_vertices / section))
        sizes.append((section * n, 0.15 * abs(np.log(2 * np.pi * R / n / (r / m))), (m, n)))
    m, n = best_size(n_vertices, sizes)
    flat, faces = disk_grid(m)
    angle = 2 * np.pi * np.arange(n) / n
    rho = R + r * flat[:, 0]
    points = np.stack(
        [np.outer(np.cos(angle), rho), np.outer(np.sin(angle), rho), np.broadcast_to(r * flat[:, 1], (n, len(flat)))],
        axis=2,
    ).reshape(-1, 3)
    return Mesh.from_cells(points, outward(points, prism_tets(faces, len(flat), n, cyclic=True)), name="solid_torus")


def _core(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit ball: each of the 20 tets centre–face of the icosahedron cut into m³ tets, layer k drawn to radius k/m."""
    points, faces = icosahedron()
    points = np.vstack([points, np.zeros(3)])
    corners = np.column_stack([np.full(20, 12), faces])
    x = np.stack(np.meshgrid(*[np.arange(m + 1)] * 3, indexing="ij"), axis=-1)
    inside = (x[..., 0] >= x[..., 1]) & (x[..., 1] >= x[..., 2])  # Kuhn simplex m ≥ x ≥ y ≥ z ≥ 0
    number = np.full((m + 1,) * 3, -1)
    number[inside] = np.arange(inside.sum())
    a, b, c = x[inside].T
    weights = np.stack([m - a, a - b, b - c, c], axis=1)
    base = np.stack(np.meshgrid(*[np.arange(m)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    cube = np.empty((len(base), 2, 2, 2), np.int64)
    for d in np.ndindex(2, 2, 2):
        cube[:, d[0], d[1], d[2]] = number[tuple((base + d).T)]
    pattern = kuhn_tets(cube)
    pattern = pattern[(pattern >= 0).all(axis=1)]
    keys, index = merge_lattice(corners, weights)
    xyz = lattice_points(keys, points)
    layer = 1.0 - np.where(keys[:, :4] == 12, keys[:, 4:], 0).sum(axis=1) / m
    norm = np.linalg.norm(xyz, axis=1)
    return xyz * (layer / np.where(norm > 0, norm, 1.0))[:, None], index[:, pattern].reshape(-1, 4)


def ball(n_vertices: int = 3000, radius: float = 1.0) -> Mesh:
    """Solid ball: an icosahedral core of m layers, then up to m/2 layers of prisms with the core's surface."""
    sizes = []
    for m in range(1, 3 + int(np.cbrt(0.4 * n_vertices))):
        for more in range(m // 2 + 1):
            count = 1 + sum(10 * k * k + 2 for k in range(1, m + 1)) + more * (10 * m * m + 2)
            sizes.append((count, 0.1 * more / m, (m, more)))
    m, more = best_size(n_vertices, sizes)
    points, tets = _core(m)
    inner_radius = m / (m + more)
    norm = np.linalg.norm(points, axis=1)
    skin = np.flatnonzero(norm > 1 - 0.5 / m)
    points = points * inner_radius
    if more:
        inverse = np.full(len(points), -1)
        inverse[skin] = np.arange(len(skin))
        faces = np.concatenate([np.delete(tets, k, axis=1) for k in range(4)])
        faces = inverse[faces[(inverse[faces] >= 0).all(axis=1)]]
        shells = prism_tets(faces, len(skin), more)
        above = len(points) + np.arange(more * len(skin))
        number = np.concatenate([skin, above])
        growth = (1 + np.arange(1, more + 1) / m)[:, None, None]
        points = np.concatenate([points, (growth * points[skin][None]).reshape(-1, 3)])
        tets = np.concatenate([tets, number[shells]])
    points = radius * points
    return Mesh.from_cells(points, outward(points, tets), name="ball")
