"""Closest points on a mesh: for points in space the nearest top simplex, barycentric coordinates and the distance.

Candidates come from k-d trees of centroids, one tree for each octave of simplex radius r (largest distance from the
centroid to a corner).  A simplex at distance ≤ u has its centroid within u + r, so the search of a tree may stop as
soon as its next neighbour is farther than u + max r: the answer is the exact minimum over all simplices.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from hsd.errors import InputError, MetricError
from hsd.mesh.mesh import Mesh

CHUNK = 20_000
FIRST = 8
"""Neighbours asked for after the first one; doubled until the bound closes."""
ON_FACE = 1e-10
"""Barycentric coordinates up to this put a point on the face without that corner."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where points lie on a mesh.

    cell     : (m,) number of the closest top simplex (of several at one distance the one found first)
    bary     : (m, n+1) barycentric coordinates of the closest point, ≥ 0, sum 1
    distance : (m,) distance to it, unit; exactly 0 inside a simplex of the dimension of space
    """

    cell: np.ndarray
    bary: np.ndarray
    distance: np.ndarray


class ClosestPoint:
    """Closest-point queries on the top simplices of one mesh (dimension 0 … 3 in R^D); the trees are built once.

    Raises MetricError (no_positions), InputError (empty).
    """

    def __init__(self, mesh: Mesh):
        if mesh.points is None:
            raise MetricError(
                f"{mesh.name} has no positions, so no points can be located on it; give coordinates.", "no_positions"
            )
        if mesh.complex.n(mesh.dim) == 0:
            raise InputError(f"{mesh.name} has no simplices to locate points on.", "empty")
        self.mesh = mesh
        self.corners = mesh.points[mesh.complex.simplices(mesh.dim)]  # (N, n+1, D)
        self.low, self.high = self.corners.min(axis=1), self.corners.max(axis=1)  # boxes, (N, D)
        centroid = self.corners.mean(axis=1)
        self.radius = np.sqrt(((self.corners - centroid[:, None]) ** 2).sum(axis=2).max(axis=1))
        largest = max(self.radius.max(), np.finfo(float).tiny)
        octave = np.floor(np.log2(np.maximum(self.radius / largest, 2.0**-20))).astype(int)
        groups = [np.flatnonzero(octave == o) for o in np.unique(octave)]
        groups.sort(key=len, reverse=True)
        self._trees = [(ids, cKDTree(centroid[ids]), self.radius[ids].max()) for ids in groups]

    def __call__(self, points: np.ndarray) -> Places:
        """The closest places of points (m, D).  Raises InputError (shape, non_finite_vertex)."""
        points = np.asarray(points, np.float64)
        n, width = self.corners.shape[1:]
        if points.ndim != 2 or points.shape[1] != width:
            raise InputError(f"Points on {self.mesh.name} have shape (m, {width}); got {points.shape}.", "shape")
        bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
        if len(bad):
            raise InputError(
                f"Point {bad[0]} is not finite ({len(bad)} such); drop or mend it.", "non_finite_vertex", bad[:100]
            )
        out = Places(np.zeros(len(points), np.int64), np.zeros((len(points), n)), np.full(len(points), np.inf))
        for start in range(0, len(points), CHUNK):
            part = slice(start, start + CHUNK)
            self._locate(points[part], Places(out.cell[part], out.bary[part], out.distance[part]))
        return out

    def sides(self, places: Places) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All top simplices at each place: a point on a face lies in every simplex around that face.

        Returns the point (M,), cell (M,), barycentric rows (M, n+1) and share 1/(number of sides) (M,) of each pair;
        means over sides do not depend on rounding, where a single closest simplex would be a toss-up.
        """
        complex_, n = self.mesh.complex, self.mesh.dim
        on = places.bary > ON_FACE
        size = on.sum(axis=1)
        inner = np.flatnonzero(size == n + 1)
        out = [(inner, places.cell[inner], places.bary[inner], np.ones(len(inner)))]
        for f in range(n):
            point = np.flatnonzero(size == f + 1)
            if len(point) == 0:
                continue
            faces = complex_.subsimplices(n, f)
            masks = np.array([[i in c for i in range(n + 1)] for c in combinations(range(n + 1), f + 1)])
            column = (on[point][:, None] == masks[None]).all(axis=2).argmax(axis=1)
            face = faces[places.cell[point], column]
            order = np.argsort(faces.ravel(), kind="stable")  # top simplices around each face, in a row
            count = np.bincount(faces.ravel(), minlength=complex_.n(f))
            start = np.cumsum(count) - count
            many = count[face]
            offset = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
            cell = order[np.repeat(start[face], many) + offset] // faces.shape[1]
            point = np.repeat(point, many)
            tops = complex_.simplices(n)
            same = tops[cell][:, :, None] == tops[places.cell[point]][:, None, :]
            bary = np.einsum("mij,mj->mi", same, np.where(on, places.bary, 0.0)[point])
            out.append((point, cell, bary / bary.sum(axis=1, keepdims=True), np.repeat(1.0 / many, many)))
        return tuple(np.concatenate(x) for x in zip(*out))

    def _locate(self, points: np.ndarray, best: Places) -> None:
        """Search all trees in turn, each round twice as deep, until no tree can hold anything closer."""
        searches = [(tree, np.arange(len(points))) for tree in self._trees]
        seen, upto = 0, 1
        while searches:
            following = []
            for (ids, tree, reach), rows in searches:
                rows = rows[best.distance[rows] > 0]
                last = min(upto, len(ids))
                still = [rows[:0]]
                for start in range(0, len(rows), max(1, 64 * CHUNK // upto)):
                    part = rows[start : start + max(1, 64 * CHUNK // upto)]
                    d, near = tree.query(points[part], k=np.arange(1, last + 1))
                    # neighbours at one distance come in any order: those as far as the last one seen are new, too
                    new = d >= d[:, max(seen, 1) - 1, None]
                    row, col = np.nonzero(new & (d - self.radius[ids[near]] < best.distance[part][:, None]))
                    self._improve(points, part[row], ids[near[row, col]], best)
                    still.append(part[d[:, -1] - reach < best.distance[part]])
                rows = np.concatenate(still)
                if last < len(ids) and len(rows):
                    following.append(((ids, tree, reach), rows))
            searches = following
            seen, upto = upto, FIRST if upto == 1 else 2 * upto

    def _improve(self, points: np.ndarray, row: np.ndarray, cell: np.ndarray, best: Places) -> None:
        outside = np.maximum(np.maximum(self.low[cell] - points[row], points[row] - self.high[cell]), 0.0)
        near = (outside**2).sum(axis=1) < best.distance[row] ** 2
        row, cell = row[near], cell[near]
        bary, distance = closest_on_simplices(self.corners[cell], points[row])
        order = np.lexsort((cell, distance, row))
        first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
        first = first[distance[first] < best.distance[row[first]]]
        best.cell[row[first]], best.bary[row[first]], best.distance[row[first]] = (
            cell[first],
            bary[first],
            distance[first],
        )


def closest_on_simplices(corners: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Closest point of one simplex to one point, m times: barycentric rows (m, n+1) and distances (m,).

    corners (m, n+1, D), points (m, D).  The minimum over all faces whose foot of the perpendicular lies inside them;
    faces of zero measure are left to their own faces.
    """
    m, width, dim = corners.shape
    bary, distance = np.zeros((m, width)), np.full(m, np.inf)
    open_ = np.arange(m)
    for size in range(width, 0, -1):
        for face in combinations(range(width), size):
            p, x = corners[open_][:, face], points[open_]
            weights = _foot(p, x)
            away = np.linalg.norm(np.einsum("mi,mid->md", weights, p) - x, axis=1)
            if size == dim + 1:
                away[:] = 0.0
            better = (weights >= 0).all(axis=1) & (away < distance[open_])
            index = open_[better]
            distance[index] = away[better]
            bary[index] = 0.0
            bary[np.ix_(index, face)] = weights[better]
        if size == width:
            open_ = np.flatnonzero(np.isinf(distance))  # a foot inside the whole simplex is the closest point
    return bary, distance


def _foot(p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of the foot of the perpendicular from x on the plane of p; −1 where it is degenerate."""
    m, size, _ = p.shape
    if size == 1:
        return np.ones((m, 1))
    edges = p[:, 1:] - p[:, :1]
    gram = np.einsum("mid,mjd->mij", edges, edges)
    rhs = np.einsum("mid,md->mi", edges, x - p[:, 0])
    scale = np.einsum("mii->m", gram) / (size - 1)
    flat = ~(np.linalg.det(gram) > 1e-24 * scale ** (size - 1))
    gram[flat] = np.eye(size - 1)
    inner = np.linalg.solve(gram, rhs[:, :, None])[:, :, 0]
    inner[flat] = -1.0
    return np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)


def locate(mesh: Mesh, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Closest top simplex (m,), barycentric coordinates (m, n+1) and distance (m,) of points (m, D).

    Points outside a volume go to its nearest boundary point.  Build :class:`ClosestPoint` once for many queries.
    Raises MetricError (no_positions), InputError (empty, shape, non_finite_vertex).
    """
    found = ClosestPoint(mesh)(points)
    return found.cell, found.bary, found.distance
