"""Numpy only: normals, creases, decimated display, boundaries of tet meshes, sample points, loops from chains."""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from hsd.errors import InputError
from hsd.mesh.complex import unique_rows
from hsd.mesh.mesh import Mesh

CREASE_DEGREES = 40.0


def unit_ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre of the bounding box and the factor that brings the farthest point to distance 1; (n, 3) → ((3,), float).

    x ↦ (x − centre) · scale.  A single point keeps its size.
    """
    if len(points) == 0:
        return np.zeros(3), 1.0
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    radius = float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))
    return centre, 1.0 / radius if radius > 0 else 1.0


def face_normals(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals (m, 3), zero for degenerate triangles, and areas (m,) by the right-hand rule of the vertex order."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    cross = np.cross(b - a, c - a)
    length = np.linalg.norm(cross, axis=1)
    return cross / np.where(length > 0, length, 1.0)[:, None], length / 2


def corner_angles(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(m, 3) angle at each corner, radians; 0 in degenerate triangles."""
    out = np.empty(triangles.shape)
    for i in range(3):
        p, q, r = (points[triangles[:, (i + j) % 3]] for j in range(3))
        u, v = q - p, r - p
        out[:, i] = np.arctan2(np.linalg.norm(np.cross(u, v), axis=1), (u * v).sum(axis=1))
    return out


def split_creases(
    points: np.ndarray, triangles: np.ndarray, degrees: float = CREASE_DEGREES
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices doubled along creases, so that each copy has one normal.

    Corners of a vertex stay together when a chain of triangles connects them whose neighbours bend by less than
    ``degrees`` and agree in orientation (so Möbius seams and non-manifold edges split).
    Returns triangles (m, 3) on the new vertices, vertex_of (n',) old vertex of each, normals (n', 3) by corner angles.
    """
    normals, _ = face_normals(points, triangles)
    m = len(triangles)
    tail = triangles.ravel()
    head = triangles[:, [1, 2, 0]].ravel()  # half-edge 3f+i goes from corner i to corner i+1 of triangle f
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    _, edge = unique_rows(np.column_stack([low, high]).astype(np.int64), len(points))
    order = np.argsort(edge, kind="stable")
    count = np.bincount(edge, minlength=1)
    first = order[np.cumsum(count) - count][count == 2] if m else np.zeros(0, int)
    second = order[np.cumsum(count) - 1][count == 2] if m else np.zeros(0, int)
    f, g = first // 3, second // 3
    smooth = (normals[f] * normals[g]).sum(axis=1) >= np.cos(np.radians(degrees))
    smooth &= tail[first] == head[second]
    first, second = first[smooth], second[smooth]
    after = np.arange(3 * m).reshape(m, 3)[:, [1, 2, 0]].ravel()  # corner at the head of each half-edge
    rows = np.concatenate([first, after[first]])
    cols = np.concatenate([after[second], second])
    graph = sp.coo_matrix((np.ones(len(rows), np.int8), (rows, cols)), shape=(3 * m, 3 * m))
    _, label = connected_components(graph, directed=False)
    n_new = int(label.max(initial=-1)) + 1
    vertex_of = np.zeros(n_new, np.int64)
    vertex_of[label] = tail
    by_vertex = np.argsort(vertex_of, kind="stable")
    rank = np.empty(n_new, np.int64)
    rank[by_vertex] = np.arange(n_new)
    new = rank[label]
    angle = corner_angles(points, triangles).ravel()
    summed = np.zeros((n_new, 3))
    for axis in range(3):
        summed[:, axis] = np.bincount(new, weights=angle * np.repeat(normals[:, axis], 3), minlength=n_new)
    length = np.linalg.norm(summed, axis=1)
    bad = length <= 1e-12
    summed[bad], length[bad] = (0.0, 0.0, 1.0), 1.0
    return new.reshape(m, 3), vertex_of[by_vertex], summed / length[:, None]


def tet_boundary(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Boundary triangles of a tet mesh, outward: (m, 3) vertices, and (m,) their rows in ``simplices(2)``."""
    cx = mesh.complex
    faces = np.flatnonzero(cx.n_cofaces(2) == 1)
    triangles = cx.simplices(2)[faces].copy()
    rows, position = np.nonzero(np.isin(cx.faces(3), faces))
    where = np.searchsorted(faces, cx.faces(3)[rows, position])
    inner = np.empty(len(faces), np.int64)
    inner[where] = cx.simplices(3)[rows, position]
    p = mesh.points3
    a, b, c = (p[triangles[:, i]] for i in range(3))
    inward = (np.cross(b - a, c - a) * (p[inner] - a)).sum(axis=1) > 0
    triangles[inward, 1], triangles[inward, 2] = triangles[inward, 2].copy(), triangles[inward, 1].copy()
    return triangles, faces


def cluster(points: np.ndarray, triangles: np.ndarray, n_target: int) -> tuple[np.ndarray, np.ndarray]:
    """Fewer triangles by merging vertices in the cells of a grid; each cell keeps the vertex nearest to its mean.

    Returns (p, 3) triangles on the *old* vertex numbers, and (p,) the old triangle that each is, corner by corner.
    The grid is chosen so that about ``n_target`` vertices remain.
    """
    used = np.unique(triangles)
    box = points[used]
    low, size = box.min(axis=0), float(np.ptp(box, axis=0).max()) or 1.0
    cells_across, best = np.sqrt(n_target / 3.0), None
    for _ in range(8):  # surface of a box of the same size has 6 cells_across² cells; correct from what is found
        key = np.floor((box - low) / size * cells_across * 0.999).astype(np.int64)
        _, cell = unique_rows(key, int(cells_across) + 2)
        n = int(cell.max()) + 1
        best = cell
        if abs(n - n_target) <= 0.15 * n_target:
            break
        cells_across *= np.clip(np.sqrt(n_target / n), 0.5, 2.0)
    n = int(best.max()) + 1
    count = np.bincount(best, minlength=n)
    mean = np.column_stack([np.bincount(best, weights=box[:, i], minlength=n) / count for i in range(3)])
    distance = ((box - mean[best]) ** 2).sum(axis=1)
    order = np.lexsort((distance, best))
    keep = used[order[np.cumsum(count) - count]]
    to_keep = np.zeros(len(points), np.int64)
    to_keep[used] = keep[best]
    small = to_keep[triangles]
    alive = (small[:, 0] != small[:, 1]) & (small[:, 1] != small[:, 2]) & (small[:, 2] != small[:, 0])
    rows = np.flatnonzero(alive)
    _, first = np.unique(np.sort(small[rows], axis=1), axis=0, return_index=True)
    rows = rows[np.sort(first)]
    return small[rows], rows


def sample_seed(*parts: str) -> int:
    """A seed from content (e.g. ``mesh.content_hash``), so that equal input gives equal samples everywhere."""
    return int.from_bytes(hashlib.blake2b("/".join(parts).encode(), digest_size=8).digest(), "little")


def area_samples(measure: np.ndarray, n: int, corners: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n points spread evenly by measure over simplices of ``corners`` vertices: numbers (n,), weights (n, corners).

    Stratified: one point in each n-th of the total measure; weights uniform in the simplex (Devroye 1986, Dirichlet).
    """
    total = np.cumsum(np.asarray(measure, float))
    if len(total) == 0 or not total[-1] > 0:
        raise InputError("Points cannot be spread over triangles without area.", "zero_measure")
    rng = np.random.default_rng(seed)
    at = (np.arange(n) + rng.random(n)) / n * total[-1]
    cell = np.minimum(np.searchsorted(total, at, side="right"), len(total) - 1)
    weights = -np.log1p(-rng.random((n, corners)))
    return cell, weights / weights.sum(axis=1, keepdims=True)


def spread_samples(points: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Numbers (n,) of points far from each other: greedy thinning of many candidates on a growing radius.

    points (m, 3) in drawing order; every n kept, the farthest gaps first (farthest-point sampling, Gonzalez 1985).
    """
    m = len(points)
    if n >= m:
        return np.arange(m)
    chosen = np.empty(n, np.int64)
    chosen[0] = seed % m
    distance = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    for i in range(1, n):
        chosen[i] = int(np.argmax(distance))
        np.minimum(distance, ((points - points[chosen[i]]) ** 2).sum(axis=1), out=distance)
    return chosen


def loops_of_chain(edges: np.ndarray, coefficients: np.ndarray) -> list[np.ndarray]:
    """Closed walks of a 1-cycle: edges (N_1, 2), integer coefficients (N_1,) → list of vertex sequences.

    Each sequence is in walking order without repeating its first vertex; an edge with coefficient c is walked |c|
    times, backwards where c < 0.  Raises InputError (not_a_cycle) where the boundary is not zero.
    """
    c = np.rint(coefficients).astype(np.int64)
    on = np.flatnonzero(c)
    times = np.abs(c[on])
    tail = np.repeat(np.where(c[on] > 0, edges[on, 0], edges[on, 1]), times)
    head = np.repeat(np.where(c[on] > 0, edges[on, 1], edges[on, 0]), times)
    n = int(max(tail.max(initial=-1), head.max(initial=-1))) + 1
    if not np.array_equal(np.bincount(tail, minlength=n), np.bincount(head, minlength=n)):
        raise InputError("The chain has a boundary, so it is not made of loops.", "not_a_cycle")
    out_of: dict[int, list[int]] = {}
    for a, b in zip(tail.tolist(), head.tolist()):
        out_of.setdefault(a, []).append(b)
    loops = []
    for start in sorted(out_of):
        while out_of[start]:
            walk, here, seen = [start], start, {start: 0}
            while True:
                here = out_of[here].pop()
                if here in seen:  # a simple loop closes: cut it out of the walk
                    cut = seen[here]
                    loops.append(np.array(walk[cut:]))
                    for vertex in walk[cut + 1 :]:
                        del seen[vertex]
                    walk = walk[: cut + 1]
                    if cut == 0:
                        break
                else:
                    seen[here] = len(walk)
                    walk.append(here)
    return loops
