"""Isotropic remeshing of a surface that is given as the zero set of a maximum of smooth functions.

The shape is {max_i g_i = 0}; each face belongs to one g_i and edges between faces of different g_i are the sharp edges.
Rounds of splitting long edges, contracting short ones, Delaunay flips, and moving vertices along the surface to the
mean of their neighbours (Botsch and Kobbelt, "A remeshing approach to multiresolution modeling", 2004), with Newton
steps back onto g_i = 0, or onto g_i = g_j = 0 along sharp edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hsd.mesh.primitives.local_ops import (
    Edges,
    collapse_round,
    edge_lengths,
    face_normals,
    flip_round,
    split_round,
    vertex_kinds,
)

Function = Callable[[np.ndarray], np.ndarray]
STEP = 1e-5


def value_and_gradient(g: Function, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g and its forward-difference gradient at p (n, 3)."""
    shifted = np.concatenate([p, *(p + STEP * np.eye(3)[k] for k in range(3))])
    v = g(shifted).reshape(4, -1)
    return v[0], ((v[1:] - v[0]) / STEP).T


def project(points: np.ndarray, active: np.ndarray, gs: Sequence[Function], reach: float, steps: int = 1) -> np.ndarray:
    """Least-norm Newton steps, each at most reach, onto the common zeros of the active functions (n, len(gs)) bool."""
    points = points.copy()
    for _ in range(steps):
        n = len(points)
        value, gradient = np.zeros((n, len(gs))), np.zeros((n, len(gs), 3))
        for k, g in enumerate(gs):
            on = active[:, k]
            if on.any():
                value[on, k], gradient[on, k] = value_and_gradient(g, points[on])
        move = np.zeros_like(points)
        single = active.sum(axis=1) == 1
        k = active[single].argmax(axis=1)
        grad = gradient[single, k]
        move[single] = -value[single, k][:, None] * grad / (np.einsum("ij,ij->i", grad, grad)[:, None] + 1e-12)
        if not single.all():
            many = ~single
            inverse = np.linalg.pinv(gradient[many], rcond=0.15)  # (m, 3, len(gs))
            move[many] = -np.einsum("ndk,nk->nd", inverse, value[many])
        size = np.linalg.norm(move, axis=1)
        points += move * np.minimum(1.0, reach / np.maximum(size, 1e-300))[:, None]
    return points


def active_set(faces: np.ndarray, label: np.ndarray, n: int, n_functions: int) -> np.ndarray:
    """Functions whose faces touch a vertex, bool (n, n_functions)."""
    out = np.zeros((n, n_functions), bool)
    out[faces.ravel(), np.repeat(label, 3)] = True
    return out


def snap_creases(points: np.ndarray, faces: np.ndarray, gs: Sequence[Function], reach: float):
    """Move the nearer end of every edge that crosses a sharp edge onto it; returns points and face labels."""
    n = len(points)
    values = np.stack([g(points) for g in gs], axis=1)
    own = values.argmax(axis=1)
    if len(gs) == 1:
        return points, np.zeros(len(faces), np.int64)
    on = np.zeros((n, len(gs)), bool)
    on[np.arange(n), own] = True
    e = Edges.of(faces, np.zeros(len(faces), np.int64))
    a, b = e.ends[own[e.ends[:, 0]] != own[e.ends[:, 1]]].T
    away_a, away_b = np.abs(values[a, own[b]]), np.abs(values[b, own[a]])
    first = away_a <= away_b
    on[np.where(first, a, b), np.where(first, own[b], own[a])] = True
    points = project(points, on, gs, reach, 3)
    shared = on[faces].all(axis=1)
    middle = np.stack([g(points[faces].mean(axis=1)) for g in gs], axis=1)
    middle = np.where(shared | ~shared.any(axis=1)[:, None], middle, -np.inf)
    return points, without_ears(faces, middle.argmax(axis=1))


def without_ears(faces: np.ndarray, label: np.ndarray, rounds: int = 6) -> np.ndarray:
    """Labels in which no face has two neighbours of one other label: sharp edges without teeth and islands."""
    for _ in range(rounds):
        e = Edges.of(faces, label)
        pair = np.concatenate([e.faces, e.faces[:, ::-1]])
        votes = np.zeros((len(faces), int(label.max()) + 1), np.int8)
        np.add.at(votes, (pair[:, 0], label[pair[:, 1]]), 1)
        best = votes.argmax(axis=1)
        change = (votes.max(axis=1) >= 2) & (best != label)
        if not change.any():
            break
        label = np.where(change, best, label)
    return label


def relax(points, faces, label, gs, size: np.ndarray, strength: float = 0.7, guard: bool = False):
    """Move vertices to the weighted mean of their neighbours, then back onto the surface; corners stay."""
    n = len(points)
    e = Edges.of(faces, label)
    kind = vertex_kinds(faces, label, n, e)
    normal = face_normals(points, faces)
    area = 0.5 * np.linalg.norm(normal, axis=1) / size[faces].mean(axis=1) ** 2
    centre = points[faces].mean(axis=1)
    total = np.bincount(faces.ravel(), np.repeat(area, 3), minlength=n)
    mean = np.stack(
        [np.bincount(faces.ravel(), np.repeat(area * centre[:, d], 3), minlength=n) for d in range(3)], axis=1
    )
    goal = mean / np.maximum(total, 1e-300)[:, None]
    c = e.ends[e.crease]
    if len(c):
        along = np.zeros_like(points)
        for d in range(3):
            along[:, d] = np.bincount(c.ravel(), points[c[:, ::-1].ravel(), d], minlength=n) / 2.0
        goal[kind == 1] = along[kind == 1]
    at = np.stack([np.bincount(faces.ravel(), np.repeat(normal[:, d], 3), minlength=n) for d in range(3)], axis=1)
    at /= np.linalg.norm(at, axis=1)[:, None] + 1e-300
    move = strength * (goal - points)
    flat = kind == 0
    move[flat] -= np.einsum("ij,ij->i", move[flat], at[flat])[:, None] * at[flat]
    move[kind == 2] = 0.0
    reach = float(np.median(edge_lengths(points, e.ends)))
    moved = project(points + move, active_set(faces, label, n, len(gs)), gs, 0.5 * reach)
    return guarded(points, moved, faces) if guard else moved


def guarded(old: np.ndarray, new: np.ndarray, faces: np.ndarray, rounds: int = 6) -> np.ndarray:
    """The new positions, except where a triangle would turn over or become thin: there the old ones stay."""
    before = face_normals(old, faces)
    size = np.linalg.norm(before, axis=1)
    fit = size / edge_sum2(old, faces)
    for _ in range(rounds):
        after = face_normals(new, faces)
        now = np.linalg.norm(after, axis=1)
        turned = (np.einsum("ij,ij->i", before, after) < 0.2 * size * now) & (fit > 0.1)
        thinner = now / edge_sum2(new, faces) < np.minimum(0.08, fit)
        bad = np.unique(faces[turned | thinner])
        if not len(bad) or (new[bad] == old[bad]).all():
            break
        new = new.copy()
        new[bad] = old[bad]
    return new


def edge_sum2(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Sum of the squared edge lengths of each face; 2 area / this is 0.29 for equilateral triangles."""
    p = points[faces]
    return ((p - p[:, [1, 2, 0]]) ** 2).sum(axis=(1, 2)) + 1e-300


def flips(points, faces, label, rounds: int = 10) -> np.ndarray:
    for _ in range(rounds):
        faces, count = flip_round(points, faces, label)
        if count <= len(faces) // 2000:
            break
    return faces


def remesh(points, faces, label, gs, n_vertices: int, size: Function | None = None, sweeps: int = 3):
    """Well-shaped triangles with about n_vertices vertices; topology and sharp edges stay.

    size : relative edge length at points (n, 3) → (n,), default 1 everywhere.  Returns points, faces, label.
    """
    size = size or (lambda p: np.ones(len(p)))
    for sweep in range(sweeps):
        s = size(points)
        area = 0.5 * np.linalg.norm(face_normals(points, faces), axis=1) / s[faces].mean(axis=1) ** 2
        edge = np.sqrt(2.0 / np.sqrt(3.0) * area.sum() / n_vertices)
        for k in range(30 if sweep == 0 else 2):
            limit = 0.8 * edge * size(points)
            points, faces, label, count = collapse_round(points, faces, label, limit, shake=k)
            if count <= len(points) // 200 and k:
                break
        for _ in range(3):
            points, faces, label, count = split_round(points, faces, label, 1.35 * edge * size(points))
            if not count:
                break
        points, faces = settle(points, faces, label, gs, size, 1)
    for _ in range(3):
        if abs(len(points) / n_vertices - 1) < 0.02:
            break
        points, faces, label = reduce_to(points, faces, label, n_vertices, size)
        points, faces, label = grow_to(points, faces, label, n_vertices, size)
        points, faces = settle(points, faces, label, gs, size, 2)
    points, faces = settle(points, faces, label, gs, size, 2, 0.5)
    points, faces = settle(points, faces, label, gs, size, 3, 0.5, guard=True)
    reach = 0.2 * float(np.median(edge_lengths(points, Edges.of(faces, label).ends)))
    on_surface = project(points, active_set(faces, label, len(points), len(gs)), gs, reach, 3)
    return guarded(points, on_surface, faces), faces, label


def settle(points, faces, label, gs, size: Function, times: int, strength: float = 0.7, guard: bool = False):
    """Flip to Delaunay and relax, alternately."""
    faces = flips(points, faces, label)
    for _ in range(times):
        points = relax(points, faces, label, gs, size(points), strength, guard)
        faces = flips(points, faces, label, 4)
    return points, faces


def _relative(points, faces, label, size: Function) -> np.ndarray:
    """Median edge length times the wished relative length, per vertex."""
    scale = size(points)
    ends = Edges.of(faces, label).ends
    return scale * np.median(edge_lengths(points, ends) / scale[ends].mean(axis=1))


def reduce_to(points, faces, label, n_vertices: int, size: Function):
    """Contract short edges first until the count is met or no edge may be contracted."""
    fold, shake = 0.3, 0
    while len(points) > n_vertices * 1.01:
        limit = (1.5 if len(points) > 2000 else 4.0) * _relative(points, faces, label, size)
        some = max(1, min(len(points) - n_vertices, len(points) // 10))
        points, faces, label, count = collapse_round(points, faces, label, limit, some, fold, shake)
        shake += 1
        if not count and shake > 20:
            if fold < -1:
                break
            fold, shake = (-0.5 if fold > 0 else -2.0), 0
    return points, faces, label


def grow_to(points, faces, label, n_vertices: int, size: Function):
    """Halve long edges first until the count is met."""
    while len(points) < n_vertices * 0.99:
        limit = 0.8 * _relative(points, faces, label, size)
        some = max(1, min(n_vertices - len(points), len(points) // 10))
        points, faces, label, _ = split_round(points, faces, label, limit, some)
        faces = flips(points, faces, label)
    return points, faces, label
