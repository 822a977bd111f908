"""Which points are one point: exactly equal positions, or positions within a tolerance of the box diagonal.

Points are joined in chains (a near b, b near c); the first in file order stands for all, so no position is invented.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

CROWD = 32
"""A tolerance that gives more than CROWD pairs a point is no seam repair: only equal positions are joined then."""


@dataclass(frozen=True)
class Weld:
    """label : (n,) the point that stands for each point; n_merged : points that became another;
    n_moved : those with a different position; farthest : largest distance moved; crowded : the tolerance was too
    wide for this point set, so that only equal positions were joined."""

    label: np.ndarray
    n_merged: int
    n_moved: int
    farthest: float
    crowded: bool = False


def box_diagonal(points: np.ndarray) -> float:
    """Length of the diagonal of the bounding box; 0 for no points."""
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0))) if len(points) else 0.0


def equal_positions(points: np.ndarray) -> np.ndarray:
    """For each point the first point at exactly its position, (n,); −0 equals 0."""
    n = len(points)
    if n == 0:
        return np.zeros(0, np.int64)
    points = points + 0.0
    order = np.lexsort(points.T[::-1])  # stable: equal rows stay in file order
    ordered = points[order]
    new = np.ones(n, bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    label = np.empty(n, np.int64)
    label[order] = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    return label


def find_weld(points: np.ndarray, which: np.ndarray, tolerance: float) -> Weld:
    """Join the points ``which`` closer than ``tolerance`` (a length; 0 joins equal positions only).

    points : (n, D) finite at ``which``; which : (n,) bool; all other points stand for themselves.
    """
    ids = np.flatnonzero(which)
    label = np.arange(len(points))
    equal = equal_positions(points[ids])
    label[ids] = ids[equal]
    crowded = False
    distinct = ids[equal == np.arange(len(ids))]
    if tolerance > 0 and len(distinct) > 1:
        tree = cKDTree(points[distinct])
        if int(tree.count_neighbors(tree, tolerance)) - len(distinct) > 2 * CROWD * len(distinct):
            crowded = True
        else:
            pairs = tree.query_pairs(tolerance, output_type="ndarray")
            if len(pairs):
                size = len(distinct)
                graph = sp.coo_matrix((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
                piece = connected_components(graph, directed=False)[1]
                first = np.full(int(piece.max()) + 1, size)
                np.minimum.at(first, piece, np.arange(size))
                to = np.arange(len(points))
                to[distinct] = distinct[first[piece]]
                label = to[label]
    moved = np.linalg.norm(points[ids] - points[label[ids]], axis=1)
    return Weld(
        label,
        int((label != np.arange(len(points))).sum()),
        int((moved > 0).sum()),
        float(moved.max(initial=0.0)),
        crowded,
    )
