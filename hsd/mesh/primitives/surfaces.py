"""Surfaces with a formula: sphere, ellipsoid, torus, strips, Möbius band, Klein bottle, projective plane, books.

Every builder maps a wished vertex count to a :class:`Mesh`; the count comes within 15 % from 500 vertices on, and
below the smallest possible count the smallest valid mesh is returned.  Nothing here is random.
"""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.grids import ROW, icosphere, sphere_frequency, staggered

TAU = 2.0 * np.pi


def sphere(n_vertices: int = 3000, radius: float = 1.0) -> Mesh:
    """Sphere of near-uniform near-equilateral triangles (icosphere); 10 f² + 2 vertices."""
    points, faces = icosphere(sphere_frequency(n_vertices))
    return Mesh.from_cells(radius * points, faces, name="sphere")


def torus_grid(n: int, rows: int) -> np.ndarray:
    """Triangles of the staggered n × rows torus; vertex (i, j) is number i·rows + j; rows even."""
    i, j = staggered(n, rows)
    return (i % n) * rows + j % rows


def torus(n_vertices: int = 3000, R: float = 1.0, r: float = 0.4) -> Mesh:
    """Torus of revolution about z; (R + r cos φ)(cos θ, sin θ), r sin φ; triangles equilateral on the middle circle.

    With the default radii every angle lies between 37° and 80°, so all cotan weights are positive.
    """
    if not 0 < r < R:
        raise InputError(f"A torus needs radii 0 < r < R; got R = {R}, r = {r}.", "bad_option")
    rows = max(4, 2 * round(np.sqrt(n_vertices * r / (R * ROW)) / 2))
    n = max(3, round(n_vertices / rows))
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(rows), indexing="ij"))
    theta, phi = TAU * (i + 0.5 * (j % 2)) / n, TAU * j / rows
    rho = R + r * np.cos(phi)
    points = np.stack([rho * np.cos(theta), rho * np.sin(theta), r * np.sin(phi)], axis=1)
    return Mesh.from_cells(points, torus_grid(n, rows), name="torus")


def _strip(n_vertices: int, aspect: float, odd: bool, least: tuple[int, int]) -> tuple[int, int]:
    """Steps along and rows across (rows of vertices) of a band of length/width = aspect."""
    rows = np.sqrt(n_vertices / (aspect * ROW)) + 0.5
    rows = max(least[1], 2 * round((rows - 1) / 2) + 1 if odd else round(rows))
    return max(least[0], round(n_vertices / rows)), rows


def cylinder(n_vertices: int = 3000, radius: float = 1.0, height: float = 2.0) -> Mesh:
    """Open cylinder about z: two boundary loops."""
    n, rows = _strip(n_vertices, TAU * radius / height, False, (3, 2))
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(rows), indexing="ij"))
    theta = TAU * (i + 0.5 * (j % 2)) / n
    points = np.stack([radius * np.cos(theta), radius * np.sin(theta), height * (j / (rows - 1) - 0.5)], axis=1)
    i, j = staggered(n, rows - 1)
    return Mesh.from_cells(points, (i % n) * rows + j, name="cylinder")


def annulus(n_vertices: int = 3000, inner: float = 0.4, outer: float = 1.0) -> Mesh:
    """Flat ring in the plane z = 0; radii in geometric progression, so triangles are equilateral at every radius."""
    if not 0 < inner < outer:
        raise InputError(f"An annulus needs radii 0 < inner < outer; got {inner} and {outer}.", "bad_option")
    n, rows = _strip(n_vertices, TAU / np.log(outer / inner), False, (3, 2))
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(rows), indexing="ij"))
    theta, rho = TAU * (i + 0.5 * (j % 2)) / n, inner * (outer / inner) ** (j / (rows - 1))
    points = np.stack([rho * np.cos(theta), rho * np.sin(theta), np.zeros(len(rho))], axis=1)
    i, j = staggered(n, rows - 1)
    return Mesh.from_cells(points, ((i % n) * rows + j)[:, ::-1], name="annulus")


def disk_grid(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit disk of m rings with 6, 12, … 6m vertices: positions (1 + 3m(m+1), 2) and triangles."""
    k = np.repeat(np.arange(1, m + 1), 6 * np.arange(1, m + 1))
    first = 1 + 3 * k * (k - 1)
    j = np.arange(1, len(k) + 1) - first
    angle, rho = TAU * j / (6 * k), k / m
    points = np.vstack([[0.0, 0.0], np.stack([rho * np.cos(angle), rho * np.sin(angle)], axis=1)])
    s, p = j // k, j % k  # sector and place in it

    def out(q):
        return first + (s * k + q) % (6 * k)

    def inn(q):
        return np.where(k == 1, 0, first - 6 * (k - 1) + (s * (k - 1) + q) % np.maximum(6 * (k - 1), 1))

    one = np.stack([inn(p), out(p), out(p + 1)], axis=1)
    two = np.stack([inn(p), out(p + 1), inn(p + 1)], axis=1)[p < k - 1]
    return points, np.concatenate([one, two])


def disk_rings(n_vertices: float) -> int:
    m = max(1, int(np.sqrt(max(n_vertices - 1, 1) / 3.0)))
    return min((max(m - 1, 1), m, m + 1), key=lambda k: abs(np.log((1 + 3 * k * (k + 1)) / max(n_vertices, 1))))


def disk(n_vertices: int = 3000, radius: float = 1.0) -> Mesh:
    """Flat disk in the plane z = 0."""
    points, faces = disk_grid(disk_rings(n_vertices))
    return Mesh.from_cells(radius * np.column_stack([points, np.zeros(len(points))]), faces, name="disk")


def _rows_in_square(nx: int, ny: int, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Staggered rectangle 1 × height: even rows have nx + 1 vertices, odd rows nx + 2 (half steps at both ends)."""
    size = nx + 1 + np.arange(ny + 1) % 2
    start = np.concatenate([[0], np.cumsum(size)])
    x = [np.arange(nx + 1) if j % 2 == 0 else np.concatenate([[0], np.arange(nx) + 0.5, [nx]]) for j in range(ny + 1)]
    points = np.stack([np.concatenate(x) / nx, np.repeat(np.arange(ny + 1), size) * (height / ny)], axis=1)
    faces = []
    for j in range(ny):
        low, high = (j, j + 1) if j % 2 == 0 else (j + 1, j)  # low: the row without half steps
        a, b = start[low] + np.arange(nx + 1), start[high] + np.arange(nx + 2)
        part = [np.stack([a, b[1:], b[:-1]], axis=1), np.stack([a[:-1], a[1:], b[1:-1]], axis=1)]
        faces.append(np.concatenate(part) if j % 2 == 0 else np.concatenate(part)[:, ::-1])
    return points, np.concatenate(faces)


def square(n_vertices: int = 3000, side: float = 1.0) -> Mesh:
    """Flat square [0, side]² in the plane z = 0, near-equilateral inside, half triangles along two sides."""
    nx = max(1, round(np.sqrt(n_vertices * ROW) - 1))
    ny = max(1, round(n_vertices / (nx + 1.5) - 1))
    points, faces = _rows_in_square(nx, ny, 1.0)
    return Mesh.from_cells(side * np.column_stack([points, np.zeros(len(points))]), faces, name="square")


def moebius(n_vertices: int = 3000, radius: float = 1.0, half_width: float = 0.4) -> Mesh:
    """Möbius band, one boundary loop, non-orientable: (R + s cos u/2)(cos u, sin u), s sin u/2, |s| ≤ half_width."""
    n, rows = _strip(n_vertices, np.pi * radius / half_width, True, (5, 3))
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(rows), indexing="ij"))
    u, s = TAU * (i + 0.5 * (j % 2)) / n, half_width * (2.0 * j / (rows - 1) - 1.0)
    rho = radius + s * np.cos(u / 2)
    points = np.stack([rho * np.cos(u), rho * np.sin(u), s * np.sin(u / 2)], axis=1)
    i, j = staggered(n, rows - 1)
    j = np.where(i >= n, rows - 1 - j, j)  # half a turn of the cross-section after one turn
    return Mesh.from_cells(points, (i % n) * rows + j, name="moebius")


def klein(n_vertices: int = 3000, radius: float = 2.0, size: float = 0.8) -> Mesh:
    """Klein bottle as figure-8 immersion (it crosses itself along a circle; no two vertices coincide).

    The curve (sin v, sin 2v) turns by half a turn while it goes once round, so (u + 2π, v) is glued to (u, −v).
    """
    n_u = max(3, 2 * round((np.sqrt(n_vertices * 1.9 * radius / size / 2.0) - 1) / 2) + 1)
    n_v = max(4, round(n_vertices / n_u))
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n_v), np.arange(n_u), indexing="ij"))
    fine = np.linspace(-np.pi, np.pi, 4001)
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(np.sin(fine)), np.diff(np.sin(2 * fine))))])
    at = ((i + 0.5 * (j % 2) + 0.25) / n_v + 0.5) % 1.0  # arc length, 0.5 being v = 0
    v = np.interp(at, arc / arc[-1], fine)
    u = TAU * j / n_u
    p, q = size * np.sin(v), size * np.sin(2 * v)
    rho = radius + np.cos(u / 2) * p - np.sin(u / 2) * q
    points = np.stack([rho * np.cos(u), rho * np.sin(u), np.sin(u / 2) * p + np.cos(u / 2) * q], axis=1)
    i, j = staggered(n_v, n_u)
    i = np.where(j == n_u, -i - 1, i)
    return Mesh.from_cells(points, (i % n_v) * n_u + j % n_u, name="klein")


def rp2(n_vertices: int = 3000) -> Mesh:
    """Projective plane: the icosphere with opposite points identified, isometric to the half sphere in R⁶ (Veronese).

    x ↦ (x², y², z², √2 xy, √2 yz, √2 zx)/√2 multiplies tangent lengths by 1, so the area tends to 2π.
    """
    points, faces = icosphere(sphere_frequency(2 * n_vertices))
    key = np.round(points, 9) + 0.0
    lead = np.where(np.abs(key[:, 2]) > 1e-6, key[:, 2], np.where(np.abs(key[:, 1]) > 1e-6, key[:, 1], key[:, 0]))
    half = points * np.sign(lead)[:, None]
    _, first, inverse = np.unique(np.round(half, 7) + 0.0, axis=0, return_index=True, return_inverse=True)
    x, y, z = half[first].T
    r = np.sqrt(2.0)
    veronese = np.stack([x * x, y * y, z * z, r * x * y, r * y * z, r * z * x], axis=1) / r
    faces = np.unique(np.sort(inverse.ravel()[faces], axis=1), axis=0)
    return Mesh.from_cells(veronese, faces, name="rp2")


def two_components(n_vertices: int = 3000) -> Mesh:
    """A torus (R = 1, r = 0.4) and beside it a sphere of radius 0.6: two components, the vertices shared by area."""
    share = smooth_torus_area() / (smooth_torus_area() + 4 * np.pi * 0.36)
    ball = sphere(max(12, n_vertices * (1 - share)), 0.6)
    ring = torus(max(12, n_vertices - ball.complex.n_vertices))
    n = ring.complex.n_vertices
    points = np.concatenate([ring.points, ball.points + [2.2, 0.0, 0.0]])
    faces = np.concatenate([ring.oriented_cells(), ball.oriented_cells() + n])
    return Mesh.from_cells(points, faces, name="two_components")


def theta_circle(n_vertices: int = 3000) -> Mesh:
    """Theta graph (two nodes joined by three arcs) × circle: three sheets meet along two circles; non-manifold."""
    n = max(3, round(1.5 * np.sqrt(n_vertices)))
    k = max(2, round((n_vertices / n - 2) / 3 + 1))  # edges an arc
    t = np.arange(1, k) / k
    bow = np.stack([0.5 * np.cos(np.pi * t), 0.5 * np.sin(np.pi * t)], axis=1)
    arcs = [bow, np.stack([0.5 - t, 0.0 * t], axis=1), bow * [1.0, -1.0]]
    section = np.concatenate([[[0.5, 0.0], [-0.5, 0.0]], *arcs])
    ids = [[0, *range(2 + a * (k - 1), 2 + (a + 1) * (k - 1)), 1] for a in range(3)]
    edges = np.concatenate([np.stack([p[:-1], p[1:]], axis=1) for p in map(np.array, ids)])
    m, angle = len(section), TAU * np.arange(n) / n
    rho = 1.5 + section[:, 0]
    points = np.stack(
        [np.outer(np.cos(angle), rho), np.outer(np.sin(angle), rho), np.broadcast_to(section[:, 1], (n, m))], axis=2
    ).reshape(-1, 3)
    low, high = (np.arange(n) * m)[:, None], ((np.arange(n) + 1) % n * m)[:, None]
    a, b = edges[:, 0], edges[:, 1]
    one = np.stack([low + a, low + b, high + b], axis=2).reshape(-1, 3)
    two = np.stack([low + a, high + b, high + a], axis=2).reshape(-1, 3)
    return Mesh.from_cells(points, np.concatenate([one, two]), name="theta_circle")


def book(n_vertices: int = 3000) -> Mesh:
    """Three pages glued along one spine: an edge with three triangles at the smallest, then refined rectangles."""
    if n_vertices < 20:
        points = np.array([[0, 0, 0], [0, 0, 1.0], [1, 0, 0.5], [-0.5, ROW, 0.5], [-0.5, -ROW, 0.5]])
        return Mesh.from_cells(points, np.array([[0, 1, 2], [0, 1, 3], [0, 1, 4]]), name="book")
    nx = max(1, round(np.sqrt(n_vertices * ROW / 3) - 0.7))
    ny = max(1, round(n_vertices / (3 * nx + 1.5) - 1))
    flat, faces = _rows_in_square(nx, ny, 1.0)
    n = len(flat)
    on_spine = flat[:, 0] == 0.0
    points, cells, number = [flat[on_spine] * [[0.0, 1.0]] @ [[0, 0, 0], [0, 0, 1.0]]], [], int(on_spine.sum())
    for angle in TAU * np.arange(3) / 3:
        index = np.empty(n, np.int64)
        index[on_spine] = np.arange(on_spine.sum())
        index[~on_spine] = number + np.arange(n - on_spine.sum())
        number += n - int(on_spine.sum())
        x, y = flat[~on_spine].T
        points.append(np.stack([x * np.cos(angle), x * np.sin(angle), y], axis=1))
        cells.append(index[faces])
    return Mesh.from_cells(np.concatenate(points), np.concatenate(cells), name="book")


# ---- smooth values ---------------------------------------------------------------------------------------------


def smooth_torus_area(R: float = 1.0, r: float = 0.4) -> float:
    """4π² R r."""
    return 4.0 * np.pi**2 * R * r
