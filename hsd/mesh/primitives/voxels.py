"""Solids of Kuhn-divided cuboids: a cube, and a box with two cavities and a tunnel."""

from __future__ import annotations

from itertools import product

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.grids import best_size, kuhn_tets, outward


def voxel_solid(axes: tuple[np.ndarray, np.ndarray, np.ndarray], filled: np.ndarray, name: str) -> Mesh:
    """Tets of the filled cells of a rectilinear grid; axes : increasing coordinates; filled : bool (nx, ny, nz)."""
    shape = tuple(len(a) for a in axes)
    cells = np.argwhere(filled)
    corner = np.empty((len(cells), 2, 2, 2), np.int64)
    for d in product((0, 1), repeat=3):
        corner[:, d[0], d[1], d[2]] = np.ravel_multi_index(tuple((cells + d).T), shape)
    used, index = np.unique(kuhn_tets(corner), return_inverse=True)
    where = np.unravel_index(used, shape)
    points = np.stack([a[w] for a, w in zip(axes, where)], axis=1)
    return Mesh.from_cells(points, outward(points, index.reshape(-1, 4)), name=name)


def cube(n_vertices: int = 3000, side: float = 1.0) -> Mesh:
    """Cube [0, side]³; the three divisions differ by at most one."""
    m = max(1, int(np.cbrt(n_vertices)) - 1)
    options = [(m,) * 3, (m, m, m + 1), (m, m + 1, m + 1), (m + 1,) * 3]
    sizes = [((a + 1) * (b + 1) * (c + 1), 0.0, (a, b, c)) for a, b, c in options]
    n = best_size(n_vertices, sizes)
    return voxel_solid(tuple(np.linspace(0.0, side, k + 1) for k in n), np.ones(n, bool), "cube")


def box_two_cavities_tunnel(n_vertices: int = 3000) -> Mesh:
    """Box 7 × 3 × 3 with cubic cavities in the slabs x = 1…2 and 5…6 and a square tunnel along z at x = 3…4.

    Along x the box has four solid and three hollow slabs, along y and z two solid and one hollow; each kind of slab is
    divided on its own so that the count can be met.
    """
    m = max(1, round(np.cbrt(n_vertices / 91.0)))
    near = range(max(1, m - 1), m + 3)
    sizes = []
    for sx, hx, sy, hy, hz in product(near, repeat=5):
        total = (4 * sx + 3 * hx + 1) * (2 * sy + hy + 1) * (2 * sy + hz + 1)
        hollow = (hx - 1) * (hy - 1)
        count = total - 2 * hollow * (hz - 1) - hollow * (2 * sy + hz + 1)
        uneven = np.log([sx, hx, sy, hy, hz])
        sizes.append((count, 0.1 * float(np.ptp(uneven)), (sx, hx, sy, hy, hz)))
    sx, hx, sy, hy, hz = best_size(n_vertices, sizes)
    slabs = ([sx, hx] * 3 + [sx], [sy, hy, sy], [sy, hz, sy])
    hole = [np.repeat(np.arange(len(s)), s) for s in slabs]  # slab of each cell
    x, y, z = np.meshgrid(*hole, indexing="ij")
    empty = (y == 1) & ((x == 3) | ((z == 1) & ((x == 1) | (x == 5))))
    axes = tuple(np.concatenate([[0.0], *(k + np.arange(1, n + 1) / n for k, n in enumerate(s))]) for s in slabs)
    return voxel_solid(axes, ~empty, "box_two_cavities_tunnel")
