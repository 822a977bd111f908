"""Closed surfaces {g = 0} of a function, by marching tetrahedra: always a closed, orientable 2-manifold.

Each cube of a grid is cut into six tets along its main diagonal (Kuhn), so that neighbours agree; a tet with both signs
carries one triangle or two.  Triangles may be thin; :mod:`hsd.mesh.primitives.remesh` makes them well shaped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd.errors import InputError
from hsd.mesh.primitives.grids import kuhn_tets

KEEP_OFF = 0.05
"""Crossings stay this far (share of the grid edge) from grid points, so that no triangle is degenerate."""


def _grid_values(g: Callable, axes: list[np.ndarray]) -> np.ndarray:
    """g on the grid, slab by slab; g maps (n, 3) to (n,)."""
    y, z = np.meshgrid(axes[1], axes[2], indexing="ij")
    values = np.empty(tuple(len(a) for a in axes))
    slab = max(1, 200_000 // y.size)
    for start in range(0, len(axes[0]), slab):
        x = axes[0][start : start + slab]
        p = np.empty((len(x), *y.shape, 3))
        p[..., 0], p[..., 1], p[..., 2] = x[:, None, None], y, z
        values[start : start + slab] = g(p.reshape(-1, 3)).reshape(p.shape[:-1])
    return values


def isosurface(g: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, h: float):
    """The surface g = 0 inside the box [low, high], grid step about h, normals towards g > 0.

    Returns points (n, 3) and faces (m, 3).  Raises InputError (no_surface) when g has one sign on the grid.
    """
    axes = [np.linspace(a, b, max(3, int(np.ceil((b - a) / h)) + 1)) for a, b in zip(low, high)]
    shape = tuple(len(a) for a in axes)
    values = _grid_values(g, axes)
    positive = values > 0
    corners = [
        positive[i : i + shape[0] - 1, j : j + shape[1] - 1, k : k + shape[2] - 1] for i, j, k in np.ndindex(2, 2, 2)
    ]
    count = np.sum(corners, axis=0, dtype=np.int8)
    cells = np.argwhere((count > 0) & (count < 8))
    if not len(cells):
        raise InputError(
            "The function has one sign on the whole grid, so there is no surface to extract.", "no_surface"
        )
    cube = np.empty((len(cells), 2, 2, 2), np.int64)
    for d in np.ndindex(2, 2, 2):
        cube[:, d[0], d[1], d[2]] = np.ravel_multi_index(tuple((cells + d).T), shape)
    tets = kuhn_tets(cube)
    sign = positive.ravel()[tets]
    tets = np.take_along_axis(tets, np.argsort(sign, axis=1, kind="stable"), axis=1)  # inside corners first
    n_out = sign.sum(axis=1)
    a, b, c, d = tets.T
    pairs = []  # three crossed grid edges (inside, outside) a triangle
    one, two, three = n_out == 1, n_out == 2, n_out == 3
    pairs.append(np.stack([np.stack([v, d], axis=1) for v in (a, b, c)], axis=1)[one])
    pairs.append(np.stack([np.stack([a, v], axis=1) for v in (b, c, d)], axis=1)[three])
    quad = [np.stack(e, axis=1) for e in ((a, c), (a, d), (b, d), (b, c))]
    pairs.append(np.stack([quad[0], quad[1], quad[2]], axis=1)[two])
    pairs.append(np.stack([quad[0], quad[2], quad[3]], axis=1)[two])
    pairs = np.concatenate(pairs)  # (m, 3, 2)
    owner = np.concatenate([tets[one], tets[three], tets[two], tets[two]])
    outside = np.concatenate([np.repeat(k, mask.sum()) for k, mask in ((1, one), (3, three), (2, two), (2, two))])

    key, faces = np.unique(pairs[..., 0] * values.size + pairs[..., 1], return_inverse=True)
    faces = faces.reshape(-1, 3)
    ends = np.stack([key // values.size, key % values.size])
    place = [np.stack([ax[w] for ax, w in zip(axes, np.unravel_index(e, shape))], axis=1) for e in ends]
    inside_value, outside_value = values.ravel()[ends[0]], values.ravel()[ends[1]]
    t = np.clip(inside_value / (inside_value - outside_value), KEEP_OFF, 1 - KEEP_OFF)[:, None]
    points = (1 - t) * place[0] + t * place[1]

    xyz = np.stack([ax[w] for ax, w in zip(axes, np.unravel_index(owner, shape))], axis=2)  # (m, 4, 3)
    weight = np.where(np.arange(4)[None] >= 4 - outside[:, None], 1.0 / outside[:, None], -1.0 / (4 - outside[:, None]))
    towards = np.einsum("mi,mid->md", weight, xyz)
    p = points[faces]
    wrong = np.einsum("md,md->m", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), towards) < 0
    faces[wrong] = faces[wrong][:, [0, 2, 1]]
    return points, faces
