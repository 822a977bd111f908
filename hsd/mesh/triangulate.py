"""Polygons and strips to triangles: no new vertices, no overlap, the polygon's winding kept.

Convex polygons become fans (quads take the shorter valid diagonal); all others are cut ear by ear in the plane that
fits them best, best-shaped ear first (G. H. Meisters, Polygons have ears, 1975).
"""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError
from hsd.mesh.raw import CellBlock

MAX_CORNERS = 20_000
THIN = 1e-10
"""A corner triangle counts as flat when twice its area is below THIN · (polygon's extent)²."""


def triangulate(points: np.ndarray, block: CellBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangles of polygons.

    points : (n, D) finite at all corners; block : kind ``polygon``.
    Returns (triangles (t, 3) of file point numbers, row of each (t,), rows whose outline crosses itself).
    Consecutive equal corners are merged first; a polygon left with fewer than three corners keeps its first three, so
    that the caller sees the repeated index.  Raises InputError (polygon_too_large).
    """
    block, kept = _without_stutter(block)
    triangles, rows, crossing = [], [], []
    for size in np.unique(block.lengths):
        which = np.flatnonzero(block.lengths == size)
        if size > MAX_CORNERS:
            raise InputError(
                f"Face {which[0]} has {size} corners; polygons up to {MAX_CORNERS} corners are triangulated here.",
                "polygon_too_large",
            )
        corners = block.flat[block.offsets[which][:, None] + np.arange(size)]  # (m, size)
        if size == 3:
            triangles.append(corners)
            rows.append(which)
            continue
        xy = _plane_coordinates(points, corners)  # (m, size, 2)
        first, done = _fans(xy)
        cuts = np.column_stack([np.zeros(size - 2, np.int64), np.arange(1, size - 1), np.arange(2, size)])
        fan = (cuts[None] + first[done][:, None, None]) % size  # (m', size-2, 3)
        triangles.append(np.take_along_axis(corners[done][:, None, :], fan, axis=2).reshape(-1, 3))
        rows.append(np.repeat(which[done], size - 2))
        for j in np.flatnonzero(~done):
            ears, simple = clip_ears(xy[j])
            triangles.append(corners[j][ears])
            rows.append(np.full(len(ears), which[j]))
            if not simple:
                crossing.append(which[j])
    if not rows:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
    triangles, rows = np.concatenate(triangles), np.concatenate(rows)
    order = np.argsort(rows, kind="stable")
    return triangles[order], kept[rows[order]], np.array(sorted(kept[crossing]), np.int64)


def strip_triangles(block: CellBlock) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of triangle strips, every second one turned so that the winding agrees: (t, 3) and rows (t,)."""
    n = block.lengths - 2
    row = np.repeat(np.arange(len(block)), n)
    i = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
    start = block.offsets[row] + i
    out = np.stack([block.flat[start], block.flat[start + 1], block.flat[start + 2]], axis=1)
    odd = i % 2 == 1
    out[odd, 0], out[odd, 1] = out[odd, 1].copy(), out[odd, 0].copy()
    return out, row


def _without_stutter(block: CellBlock) -> tuple[CellBlock, np.ndarray]:
    """Drop corners equal to their successor, where at least three distinct corners remain; all rows are kept."""
    row = block.row_of_entry
    following = np.arange(1, len(block.flat) + 1)
    following[block.offsets[1:] - 1] = block.offsets[:-1]
    same = block.flat == block.flat[following]
    remaining = block.lengths - np.bincount(row[same], minlength=len(block))
    drop = same & (remaining >= 3)[row]
    # rows that cannot be mended keep their first three corners: they name a vertex twice and are dropped later
    place = np.arange(len(block.flat)) - block.offsets[:-1][row]
    drop |= (remaining < 3)[row] & (place >= 3)
    lengths = block.lengths - np.bincount(row[drop], minlength=len(block))
    return CellBlock.of_lengths(block.kind, block.flat[~drop], lengths), np.arange(len(block))


def _plane_coordinates(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Corners in the best-fit plane, centred and scaled to unit extent, counter-clockwise by signed area, (m, s, 2)."""
    p = points[corners]  # (m, s, D)
    p = p - p.mean(axis=1, keepdims=True)
    extent = np.abs(p).max(axis=(1, 2), keepdims=True)
    p = p / np.where(extent > 0, extent, 1.0)
    if p.shape[2] == 2:
        xy = p
    else:
        axes = np.linalg.svd(p, full_matrices=False)[2][:, :2]  # (m, 2, D)
        xy = np.einsum("msd,mad->msa", p, axes)
        if (
            p.shape[2] == 3
        ):  # prefer the plane across the vector area: exact for planar polygons, steadier for bent ones
            normal = np.cross(p, np.roll(p, -1, axis=1)).sum(axis=1)
            length = np.linalg.norm(normal, axis=1)
            good = length > 1e-6
            n = normal[good] / length[good, None]
            helper = np.eye(3)[np.abs(n).argmin(axis=1)]
            u = np.cross(helper, n)
            u /= np.linalg.norm(u, axis=1, keepdims=True)
            frame = np.stack([u, np.cross(n, u)], axis=1)
            xy[good] = np.einsum("msd,mad->msa", p[good], frame)
    turn = _cross(xy, np.roll(xy, -1, axis=1)).sum(axis=1)
    xy = xy.copy()
    xy[turn < 0, :, 1] *= -1
    return xy


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _fans(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First corner of a fan without flat or turned triangles, and where one exists: (m,) and (m,) bool.

    A fan is free of overlap when all its triangles turn left and together turn less than once around its first corner.
    """
    m, size, _ = xy.shape
    first, done = np.zeros(m, np.int64), np.zeros(m, bool)
    if size == 4:
        diagonals = np.stack([((xy[:, 2] - xy[:, 0]) ** 2).sum(1), ((xy[:, 3] - xy[:, 1]) ** 2).sum(1)], axis=1)
        tries = np.where((diagonals[:, 1] < diagonals[:, 0] * (1 - 1e-9))[:, None], [[1, 0]], [[0, 1]])  # (m, 2)
    else:
        tries = np.zeros((m, 1), np.int64)
    for column in tries.T:
        open_ = np.flatnonzero(~done)
        order = (column[open_][:, None] + np.arange(size)) % size
        ring = np.take_along_axis(xy[open_], order[..., None], axis=1)
        arm = ring[:, 1:] - ring[:, :1]
        turns = _cross(arm[:, :-1], arm[:, 1:])
        angle = np.arctan2(turns, (arm[:, :-1] * arm[:, 1:]).sum(axis=2)).sum(axis=1)
        good = (turns > THIN).all(axis=1) & (angle < 2 * np.pi - 1e-6)
        first[open_[good]] = column[open_[good]]
        done[open_[good]] = True
    return first, done


def clip_ears(xy: np.ndarray) -> tuple[np.ndarray, bool]:
    """Ear clipping of one polygon: xy (n, 2) counter-clockwise → triangles (n−2, 3) of corner numbers, and whether
    every cut was a true ear (False: the outline crosses itself, and the cuts may overlap).  O(n²) array work."""
    ring = list(range(len(xy)))
    nxt = np.roll(np.arange(len(xy)), -1)
    prv = np.roll(np.arange(len(xy)), 1)
    alive = np.ones(len(xy), bool)
    quality = np.array([_ear_quality(xy, alive, prv[i], i, nxt[i]) for i in ring])
    out, simple = np.zeros((len(xy) - 2, 3), np.int64), True
    for step in range(len(xy) - 2):
        i = int(quality.argmax())
        if quality[i] <= 0 and step < len(xy) - 3:
            for j in np.flatnonzero(alive):
                quality[j] = _ear_quality(xy, alive, prv[j], j, nxt[j])
            i = int(quality.argmax())
            if quality[i] <= 0:
                simple = False
                here = np.flatnonzero(alive)
                area = _cross(xy[here] - xy[prv[here]], xy[nxt[here]] - xy[here])
                i = int(here[np.abs(area).argmin()])  # least harm: the flattest corner
        if step == len(xy) - 3:
            i = int(np.flatnonzero(alive)[0])
            simple &= bool(_cross(xy[i] - xy[prv[i]], xy[nxt[i]] - xy[i]) > -THIN)
        a, c = prv[i], nxt[i]
        out[step] = a, i, c
        alive[i], quality[i] = False, -np.inf
        nxt[a], prv[c] = c, a
        if step < len(xy) - 3:
            for j in (a, c):
                quality[j] = _ear_quality(xy, alive, prv[j], j, nxt[j])
    return out, simple


def _ear_quality(xy: np.ndarray, alive: np.ndarray, a: int, b: int, c: int) -> float:
    """4√3·area / Σ length² of corner triangle abc (1 = equilateral), or −1 when it is no ear."""
    pa, pb, pc = xy[a], xy[b], xy[c]
    area2 = float(_cross(pb - pa, pc - pa))
    if area2 <= THIN:
        return -1.0
    others = alive.copy()
    others[[a, b, c]] = False
    p = xy[others]
    inside = (
        (_cross(pb - pa, p - pa) >= -THIN) & (_cross(pc - pb, p - pb) >= -THIN) & (_cross(pa - pc, p - pc) >= -THIN)
    )
    if inside.any():
        at_corner = (
            (np.abs(p - pa).max(axis=1) == 0) | (np.abs(p - pb).max(axis=1) == 0) | (np.abs(p - pc).max(axis=1) == 0)
        )
        if (inside & ~at_corner).any():
            return -1.0
    lengths2 = ((pb - pa) ** 2).sum() + ((pc - pb) ** 2).sum() + ((pa - pc) ** 2).sum()
    return float(2 * np.sqrt(3.0) * area2 / lengths2)
