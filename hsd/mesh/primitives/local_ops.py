"""Flip, split and collapse of edges of a closed triangle surface, many independent ones at a time.

Faces keep their winding and an integer label; edges between faces of different label are creases and stay.  Every
operation keeps a closed 2-manifold of the same topology: a collapse needs the link condition (the ends have exactly
the two opposite corners as common neighbours), a flip needs a new edge and corners of valence above three.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass
class Edges:
    """Edges of a closed surface: ends (m, 2), faces (m, 2), opposite corners (m, 2); face 0 runs ends[0] → ends[1]."""

    ends: np.ndarray
    faces: np.ndarray
    opposite: np.ndarray
    crease: np.ndarray

    @classmethod
    def of(cls, faces: np.ndarray, label: np.ndarray) -> Edges:
        n = int(faces.max()) + 1
        start, end = faces.T.ravel(), faces[:, [1, 2, 0]].T.ravel()
        other = faces[:, [2, 0, 1]].T.ravel()
        face = np.tile(np.arange(len(faces)), 3)
        key = (np.minimum(start, end) * n + np.maximum(start, end)) * 2 + (
            start > end
        )  # no ties on an oriented surface
        order = np.argsort(key)
        first, second = order[0::2], order[1::2]
        pair = np.stack([face[first], face[second]], axis=1)
        return cls(
            np.stack([start[first], end[first]], axis=1),
            pair,
            np.stack([other[first], other[second]], axis=1),
            label[pair[:, 0]] != label[pair[:, 1]],
        )


def edge_lengths(points: np.ndarray, ends: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1)


def face_normals(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Normals with length twice the area."""
    p = points[faces]
    return np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])


def cosine_at(apex: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    u, v = a - apex, b - apex
    return np.einsum("ij,ij->i", u, v) / np.sqrt(np.einsum("ij,ij->i", u, u) * np.einsum("ij,ij->i", v, v) + 1e-300)


def _winners(groups: np.ndarray, priority: np.ndarray, n: int) -> np.ndarray:
    """True for the rows whose priority is the largest at all of their vertices; priorities are made distinct first."""
    rank = np.empty(len(priority))
    rank[np.argsort(priority, kind="stable")] = np.arange(1, len(priority) + 1)
    best = np.zeros(n)
    np.maximum.at(best, groups.ravel(), np.repeat(rank, groups.shape[1]))
    return (best[groups] == rank[:, None]).all(axis=1)


def flip_round(points: np.ndarray, faces: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, int]:
    """Flip independent edges whose opposite angles sum to more than π; returns faces and the number of flips."""
    e = Edges.of(faces, label)
    a, b, c, d = points[e.ends[:, 0]], points[e.ends[:, 1]], points[e.opposite[:, 0]], points[e.opposite[:, 1]]
    angle_c, angle_d = np.arccos(np.clip(cosine_at(c, a, b), -1, 1)), np.arccos(np.clip(cosine_at(d, a, b), -1, 1))
    gain = angle_c + angle_d - np.pi
    valence = np.bincount(faces.ravel(), minlength=len(points))
    pick = np.flatnonzero((gain > 1e-3) & ~e.crease & (valence[e.ends] > 3).all(axis=1))
    if not len(pick):
        return faces, 0
    n = len(points)
    key = e.ends[:, 0] * n + e.ends[:, 1]  # increasing
    low, high = e.opposite[pick].min(axis=1), e.opposite[pick].max(axis=1)
    there = np.minimum(np.searchsorted(key, low * n + high), len(key) - 1)
    pick = pick[key[there] != low * n + high]
    # no fold: both new faces keep the side of both old ones
    a, b, c, d = a[pick], b[pick], c[pick], d[pick]
    old = np.cross(b - a, c - a) + np.cross(a - b, d - b)
    side = np.einsum("ij,ij->i", np.cross(d - a, c - a), old), np.einsum("ij,ij->i", np.cross(b - d, c - d), old)
    bent = np.einsum("ij,ij->i", np.cross(d - a, c - a), np.cross(b - d, c - d))
    size = np.linalg.norm(np.cross(d - a, c - a), axis=1) * np.linalg.norm(np.cross(b - d, c - d), axis=1)
    pick = pick[(side[0] > 0) & (side[1] > 0) & (bent > 0.5 * size)]
    if not len(pick):
        return faces, 0
    quad = np.concatenate([e.ends[pick], e.opposite[pick]], axis=1)
    win = _winners(quad, gain[pick], n)
    a, b, c, d = quad[win].T
    faces = faces.copy()
    faces[e.faces[pick[win], 0]] = np.stack([a, d, c], axis=1)
    faces[e.faces[pick[win], 1]] = np.stack([d, b, c], axis=1)
    return faces, int(win.sum())


def split_round(
    points: np.ndarray, faces: np.ndarray, label: np.ndarray, limit: np.ndarray, at_most: int | None = None
):
    """Halve independent edges longer than limit (per vertex, the smaller end counts), longest first.

    at_most : no more than this many.  Returns points, faces, label, count.
    """
    e = Edges.of(faces, label)
    length = edge_lengths(points, e.ends) / limit[e.ends].min(axis=1)
    pick = np.flatnonzero(length > 1.0)
    if not len(pick):
        return points, faces, label, 0
    pick = pick[_winners(e.faces[pick], length[pick], len(faces))]
    if at_most is not None and len(pick) > at_most:
        pick = pick[np.argsort(-length[pick], kind="stable")[:at_most]]
    (a, b), (c, d) = e.ends[pick].T, e.opposite[pick].T
    m = len(points) + np.arange(len(pick))
    f0, f1 = e.faces[pick].T
    faces = faces.copy()
    faces[f0], faces[f1] = np.stack([a, m, c], axis=1), np.stack([b, m, d], axis=1)
    more = np.concatenate([np.stack([m, b, c], axis=1), np.stack([m, a, d], axis=1)])
    points = np.concatenate([points, 0.5 * (points[a] + points[b])])
    return points, np.concatenate([faces, more]), np.concatenate([label, label[f0], label[f1]]), len(pick)


def vertex_kinds(faces: np.ndarray, label: np.ndarray, n: int, e: Edges | None = None) -> np.ndarray:
    """0 inside a label, 1 on a crease curve, 2 where curves meet, end or pinch."""
    e = e or Edges.of(faces, label)
    count = np.bincount(e.ends[e.crease].ravel(), minlength=n)
    return np.where(count == 0, 0, np.where(count == 2, 1, 2))


def _normal_and_fit(corner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normals of triangles (m, 3, 3), and height over longest side (0.87 for equilateral ones)."""
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    side2 = ((corner - corner[:, [1, 2, 0]]) ** 2).sum(axis=2).max(axis=1)
    return normal, np.linalg.norm(normal, axis=1) / (side2 + 1e-300)


def collapse_round(points, faces, label, limit, at_most: int | None = None, fold: float = 0.3, shake: int = 0):
    """Contract independent edges shorter than limit (per vertex, the larger end counts), shortest first.

    shake : number that varies the order a little, so that a refused edge does not block its neighbours for ever;
    at_most : no more than this many; fold : smallest cosine allowed between a face's normals before and after.
    Returns points, faces, label, count; vertices are renumbered.
    """
    n = len(points)
    e = Edges.of(faces, label)
    kind = vertex_kinds(faces, label, n, e)
    length = edge_lengths(points, e.ends) / limit[e.ends].max(axis=1)
    k0, k1 = kind[e.ends].T
    allowed = (np.minimum(k0, k1) == 0) | (e.crease & (np.minimum(k0, k1) == 1))
    pick = np.flatnonzero((length < 1.0) & allowed)
    if not len(pick):
        return points, faces, label, 0
    # link condition
    ones = np.ones(2 * len(e.ends), np.int32)
    both = np.concatenate([e.ends, e.ends[:, ::-1]])
    near = sp.csr_matrix((ones, (both[:, 0], both[:, 1])), shape=(n, n))
    common = np.asarray(near[e.ends[pick, 0]].multiply(near[e.ends[pick, 1]]).sum(axis=1)).ravel()
    valence = np.bincount(faces.ravel(), minlength=n)
    pick = pick[(common == 2) & (valence[e.opposite[pick]] > 3).all(axis=1)]
    length[pick] *= 1.0 + 0.3 * np.modf((pick + 1) * (0.6180339887 + 0.1 * shake))[0] * (shake > 0)
    pick = pick[_winners(e.ends[pick], -length[pick], n)]
    a, b = e.ends[pick].T
    ka, kb = kind[a], kind[b]
    target = np.where(
        (ka > kb)[:, None], points[a], np.where((kb > ka)[:, None], points[b], 0.5 * (points[a] + points[b]))
    )
    # geometry of the faces that stay
    incident = sp.csr_matrix(
        (np.ones(faces.size, np.int32), (faces.ravel(), np.repeat(np.arange(len(faces)), 3))), shape=(n, len(faces))
    )
    ok = np.ones(len(pick), bool)
    for end, other in ((a, b), (b, a)):
        rows = incident[end].tocoo()
        which, face = rows.row, rows.col
        stays = (faces[face] != other[which][:, None]).all(axis=1)
        which, face = which[stays], face[stays]
        corner = points[faces[face]]
        before, fit = _normal_and_fit(corner)
        corner[faces[face] == end[which][:, None]] = target[which]
        after, now = _normal_and_fit(corner)
        dot = np.einsum("ij,ij->i", before, after)
        size = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        bad = ((dot < fold * size) & (fit > 0.1)) | (now < np.minimum(0.12, fit))
        ok[which[bad]] = False
    pick, target, a, b = pick[ok], target[ok], a[ok], b[ok]
    if not len(pick):
        return points, faces, label, 0
    # independent: no two regions touch
    rank = np.empty(len(pick))
    rank[np.argsort(-length[pick], kind="stable")] = np.arange(1, len(pick) + 1)
    own = np.zeros(n)
    np.maximum.at(own, np.concatenate([a, b]), np.tile(rank, 2))
    around = own.copy()
    np.maximum.at(around, both[:, 0], own[both[:, 1]])
    win = np.flatnonzero((around[a] == rank) & (around[b] == rank))
    if at_most is not None and len(win) > at_most:
        win = win[np.argsort(-rank[win])[:at_most]]
    a, b = a[win], b[win]
    points = points.copy()
    points[a] = target[win]
    number = np.arange(n)
    number[b] = a
    faces = number[faces]
    stay = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces, label = faces[stay], label[stay]
    keep = np.ones(n, bool)
    keep[b] = False
    return points[keep], (np.cumsum(keep) - 1)[faces], label, len(win)
