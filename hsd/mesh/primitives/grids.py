"""Index patterns that the shapes of the gallery share: staggered strips, the icosphere, prisms, Kuhn cubes.

Everything here is combinatorial (which corners form a simplex); the shapes decide where the corners lie.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

ROW = float(np.sqrt(3.0) / 2.0)
"""Distance of neighbouring rows of an equilateral lattice of unit spacing."""


def staggered(n: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of ``rows`` strips of ``n`` steps in which every odd row is shifted by half a step.

    Corner (i, j) lies at (i + (j mod 2)/2, j).  Returns I, J, each (2 n rows, 3), counter-clockwise; I reaches n and J
    reaches rows, so the caller glues or appends what lies there.
    """
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(rows), indexing="ij"))
    odd = j % 2
    first = np.stack([i, i + 1, i], axis=1), np.stack([j, j + odd, j + 1], axis=1)
    second = np.stack([i + 1 - odd, i + 1, i + odd], axis=1), np.stack([j, j + 1 - odd, j + 1], axis=1)
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])


def best_size(n_vertices: int, candidates: list[tuple[int, float, tuple]]) -> tuple:
    """The parameters whose vertex count is near the wish and whose shape penalty is small.

    candidates : (count, penalty ≥ 0, parameters); a relative count error of 1 % weighs as much as a penalty of 0.01.
    """
    cost = [abs(np.log(count / max(n_vertices, 1))) + penalty for count, penalty, _ in candidates]
    return candidates[int(np.argmin(cost))][2]


# ---- icosphere -------------------------------------------------------------------------------------------------


def icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """The 12 vertices (unit length) and 20 outward faces of the regular icosahedron."""
    g = (1.0 + np.sqrt(5.0)) / 2.0
    points = np.array(
        [[s1, s2 * g, 0.0] for s1 in (-1, 1) for s2 in (-1, 1)]
        + [[0.0, s1, s2 * g] for s1 in (-1, 1) for s2 in (-1, 1)]
        + [[s2 * g, 0.0, s1] for s1 in (-1, 1) for s2 in (-1, 1)]
    )
    near = ((points[:, None] - points[None]) ** 2).sum(axis=2) < 4.5
    faces = np.array(
        [
            (a, b, c)
            for a in range(12)
            for b in range(a + 1, 12)
            for c in range(b + 1, 12)
            if near[a, b] and near[b, c] and near[a, c]
        ]
    )
    p = points[faces]
    inward = np.einsum("ij,ij->i", np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), p.sum(axis=1)) < 0
    faces[inward] = faces[inward][:, [0, 2, 1]]
    return points / np.sqrt(1.0 + g * g), faces


def merge_lattice(corners: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the points Σ w_c · corner_c so that equal ones on shared faces and edges get one number.

    corners : (m, c) vertex numbers; weights : (p, c) non-negative integers with constant sum.
    Returns keys (n, 2c): sorted (corner, weight) pairs of the distinct points, and their numbers (m, p).
    """
    m, c = corners.shape
    big = int(corners.max()) + 1
    where = np.broadcast_to(corners[:, None, :], (m, len(weights), c)).reshape(-1, c).copy()
    weight = np.broadcast_to(weights[None], (m, len(weights), c)).reshape(-1, c).copy()
    where[weight == 0] = big
    order = np.argsort(where, axis=1, kind="stable")
    where, weight = np.take_along_axis(where, order, 1), np.take_along_axis(weight, order, 1)
    key = np.zeros(len(where), np.int64)
    for column, base in [(where[:, a], big + 1) for a in range(c)] + [
        (weight[:, a], weights.sum(1)[0] + 1) for a in range(c)
    ]:
        key = key * int(base) + column
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return np.concatenate([where[first], weight[first]], axis=1), inverse.reshape(m, -1)


def lattice_points(keys: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Positions Σ w_c x_c / Σ w_c of the keys of :func:`merge_lattice`."""
    c = keys.shape[1] // 2
    padded = np.vstack([points, np.zeros((1, points.shape[1]))])
    weight = keys[:, c:].astype(float)
    return np.einsum("nc,ncd->nd", weight, padded[keys[:, :c]]) / weight.sum(axis=1)[:, None]


def icosphere(frequency: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit sphere: each face of the icosahedron divided into frequency² triangles, projected; 10 f² + 2 vertices.

    The division is by equal angles along the edges, which keeps triangle areas within a factor of about 1.3.
    """
    points, faces = icosahedron()
    f = frequency
    a, b = np.meshgrid(np.arange(f + 1), np.arange(f + 1), indexing="ij")
    inside = a + b <= f
    number = np.full((f + 1, f + 1), -1)
    number[inside] = np.arange(inside.sum())
    weights = np.stack([f - a[inside] - b[inside], a[inside], b[inside]], axis=1)
    up = a + b < f
    down = a + b < f - 1
    ua, ub, da, db = a[up], b[up], a[down], b[down]
    pattern = np.concatenate(
        [
            np.stack([number[ua, ub], number[ua + 1, ub], number[ua, ub + 1]], axis=1),
            np.stack([number[da + 1, db], number[da + 1, db + 1], number[da, db + 1]], axis=1),
        ]
    )
    keys, index = merge_lattice(faces, weights)
    # sin(angle·w/f) in place of w/f spaces the points on every edge by equal angles
    step = np.arccos(1.0 / np.sqrt(5.0)) / f
    padded = np.vstack([points, np.zeros((1, 3))])
    xyz = np.einsum("nc,ncd->nd", np.sin(step * keys[:, 3:]), padded[keys[:, :3]])
    return xyz / np.linalg.norm(xyz, axis=1)[:, None], index[:, pattern].reshape(-1, 3)


def sphere_frequency(n_vertices: float) -> int:
    """The frequency whose count 10 f² + 2 is nearest in ratio."""
    f = max(1, int(np.sqrt(max(n_vertices - 2, 1) / 10.0)))
    return min((f, f + 1), key=lambda k: abs(np.log((10 * k * k + 2) / max(n_vertices, 1))))


# ---- solids ----------------------------------------------------------------------------------------------------


def prism_tets(triangles: np.ndarray, n_base: int, layers: int, cyclic: bool = False) -> np.ndarray:
    """Split triangle × layer prisms into three tets each; vertex v of layer l is number v + l · n_base.

    Each quadrilateral is cut from its smaller base vertex below to its larger one above, so neighbours agree.
    """
    t = np.sort(triangles, axis=1)
    layer = np.arange(layers)[:, None]
    above = (layer + 1) % layers if cyclic else layer + 1
    a, b, c = (t[None, :, k] + layer * n_base for k in range(3))  # (layers, n_triangles)
    a1, b1, c1 = (t[None, :, k] + above * n_base for k in range(3))
    parts = [(a, b, c, c1), (a, b, b1, c1), (a, a1, b1, c1)]
    return np.concatenate([np.stack(p, axis=2).reshape(-1, 4) for p in parts])


def kuhn_tets(corner: np.ndarray) -> np.ndarray:
    """Six tets per cube along its main diagonal; corner : (m, 2, 2, 2) vertex numbers; neighbours agree."""
    out = []
    for order in permutations(range(3)):
        at = np.zeros(3, int)
        path = [corner[:, 0, 0, 0]]
        for axis in order:
            at[axis] = 1
            path.append(corner[:, at[0], at[1], at[2]])
        out.append(np.stack(path, axis=1))
    return np.concatenate(out)


def outward(points: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """The tets with vertex order of positive volume."""
    p = points[tets]
    negative = np.linalg.det(p[:, 1:] - p[:, :1]) < 0
    tets = tets.copy()
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return tets
