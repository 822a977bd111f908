"""The polygons in which a plane cuts a tetrahedral mesh, and how vertex and cell values are read on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError
from hsd.mesh.mesh import Mesh

LOCAL_EDGES = tuple(combinations(range(4), 2))
FLAT_CUT = 1e-12
"""Triangles of the cut below this fraction of the squared longest edge of the mesh are points or lines and dropped."""


@dataclass(frozen=True, eq=False)
class PlaneCut:
    """A plane cut as triangles.

    points    : (m, 3), one on each edge that the plane crosses
    triangles : (n_triangles, 3), wound right-handed about the normal
    tets      : (n_triangles,) tet of each triangle
    weights   : (m, n_vertices) CSR, linear interpolation along the crossed edges
    """

    points: np.ndarray
    triangles: np.ndarray
    tets: np.ndarray
    weights: sp.csr_matrix

    def of_vertices(self, values: np.ndarray) -> np.ndarray:
        """Vertex values (n_vertices, …) → values at the points (m, …); exact for linear functions."""
        values = np.asarray(values)
        flat = values.reshape(len(values), -1)
        return np.asarray(self.weights @ flat).reshape(-1, *values.shape[1:])

    def of_cells(self, values: np.ndarray) -> np.ndarray:
        """Tet values (n_tets, …) → values on the triangles (n_triangles, …)."""
        return np.asarray(values)[self.tets]


def plane_cut(mesh: Mesh, normal: Sequence[float] = (0.0, 0.0, 1.0), offset: float = 0.0) -> PlaneCut:
    """Cut of a tetrahedral mesh with the plane n·x = offset, n = normal/|normal|; the default is z = 0.

    Vertices on the plane count as above it, so a face in the plane is taken once, from the tet below.
    Raises InputError (dimension, bad_plane).
    """
    if mesh.dim != 3 or mesh.points is None or mesh.points.shape[1] != 3:
        raise InputError(f"A plane cuts meshes of tetrahedra in space; {mesh.name} is none.", "dimension")
    direction = np.asarray(normal, np.float64)
    length = np.linalg.norm(direction) if direction.shape == (3,) else 0.0
    if not (0 < length < np.inf and np.isfinite(offset)):
        raise InputError(
            "A plane needs a normal of three finite numbers, not all zero, and a finite offset; got "
            f"{normal}, {offset}.",
            "bad_plane",
        )
    direction = direction / length
    cx = mesh.complex
    height = mesh.points @ direction - offset
    above = height >= 0
    ends = cx.simplices(1)
    crossed = np.flatnonzero(above[ends[:, 0]] != above[ends[:, 1]])
    a, b = ends[crossed].T
    t = height[a] / (height[a] - height[b])
    rows = np.tile(np.arange(len(crossed)), 2)
    weights = sp.csr_matrix(
        (np.concatenate([1 - t, t]), (rows, np.concatenate([a, b]))), shape=(len(crossed), cx.n_vertices)
    )
    points = weights @ mesh.points

    point_of_edge = np.full(cx.n(1), -1)
    point_of_edge[crossed] = np.arange(len(crossed))
    code = above[cx.simplices(3)] @ (1 << np.arange(4))
    triangles, tets = [np.zeros((0, 3), np.int64)], [np.zeros(0, np.int64)]
    edges = cx.subsimplices(3, 1)
    for case in range(1, 15):
        of_case = np.flatnonzero(code == case)
        for corners in _triangles_of(case):
            triangles.append(point_of_edge[edges[of_case][:, corners]])
            tets.append(of_case)
    triangles, tets = np.concatenate(triangles), np.concatenate(tets)
    corners = points[triangles]
    signed = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) @ direction
    triangles[signed < 0] = triangles[signed < 0][:, ::-1]
    keep = np.abs(signed) > FLAT_CUT * mesh.squared_lengths.max(initial=0.0)
    order = np.flatnonzero(keep)[np.argsort(tets[keep], kind="stable")]
    return PlaneCut(points, triangles[order], tets[order], weights)


@lru_cache(maxsize=16)
def _triangles_of(case: int) -> tuple[list[int], ...]:
    """Local edges at the corners of the one or two triangles of a tet; bit i of ``case``: vertex i is above."""
    up = [i for i in range(4) if case >> i & 1]
    down = [i for i in range(4) if i not in up]

    def edge(i: int, j: int) -> int:
        return LOCAL_EDGES.index((min(i, j), max(i, j)))

    if len(up) != 2:
        (apex,), base = (up, down) if len(up) == 1 else (down, up)
        return ([edge(apex, j) for j in base],)
    ring = [edge(up[0], down[0]), edge(up[0], down[1]), edge(up[1], down[1]), edge(up[1], down[0])]
    return ([ring[0], ring[1], ring[2]], [ring[0], ring[2], ring[3]])
