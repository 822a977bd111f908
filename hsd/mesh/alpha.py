"""Alpha complexes of point clouds in the plane and in space.

A simplex of the Delaunay triangulation enters at the radius of the smallest empty ball whose sphere passes through
its vertices: its own smallest circumscribed ball when that is empty (Gabriel condition), else the smallest value of
its cofaces.  The complex at radius r has the homotopy type of the union of balls of radius r around the points.
Source: Edelsbrunner, Mücke 1994; Edelsbrunner, Harer 2010, section III.4.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.spatial import Delaunay, QhullError, cKDTree

from hsd.errors import InputError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.persistence import Bars, ball_barcode

FLAT_SPREAD = 1e-9
"""A direction in which the points spread by less than this, relative to the widest one, does not count."""

FLAT_CELL = 1e-9
"""A top simplex with n! · measure below this times (longest edge)^n is flat: its circumsphere is that of its plane."""

EXACT_FIRST = 1000
"""Larger clouds on one sphere are triangulated displaced by 1e-10 first: Qhull takes quadratic time on them."""

QHULL_OPTIONS = "Qbb Qc Qz Q12"
"""Scaled last coordinate, coplanar points kept, a point at infinity (cospherical input); never joggled."""


def principal_coordinates(points: np.ndarray) -> np.ndarray:
    """Points in coordinates of their affine hull, (n, rank), rank 0 … D; distances are kept."""
    centred = points - points.mean(axis=0)
    if len(points) < 2:
        return centred[:, :0]
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((spread > FLAT_SPREAD * spread[0]).sum()) if spread[0] > 0 else 0
    if rank == points.shape[1]:
        return centred
    return centred @ axes[:rank].T


def delaunay_cells(x: np.ndarray) -> np.ndarray:
    """Delaunay triangulation of distinct points in general or special position, (m, D+1) vertex numbers, D = 1, 2, 3.

    Cospherical points get some triangulation of their common cell, flat simplices included.  Of large clouds on one
    sphere, and where Qhull drops a point or its cells do not fit together, the combinatorics of points displaced by
    1e-10 of the spread are used: that only decides between triangulations that are Delaunay to rounding.
    Raises InputError (degenerate_points).
    """
    n, dim = x.shape
    if dim == 1:
        order = np.argsort(x[:, 0])
        return np.column_stack([order[:-1], order[1:]])
    scale = np.abs(x).max()
    shift = np.random.default_rng(n).uniform(-1.0, 1.0, x.shape)
    sizes = (1e-10, 0.0, 1e-8) if n > EXACT_FIRST and lie_on_a_sphere(x) else (0.0, 1e-10, 1e-8)
    for size in sizes:
        try:
            cells = Delaunay(x / scale + size * shift, qhull_options=QHULL_OPTIONS).simplices.astype(np.int64)
        except QhullError:
            continue
        if is_triangulated_ball(x, cells):
            return cells
    raise InputError(
        f"The {n} points have no Delaunay triangulation in double precision (many nearly coincide or are nearly "
        "in one plane or line); merge near copies or thin the cloud first.",
        "degenerate_points",
    )


def lie_on_a_sphere(x: np.ndarray) -> bool:
    """True when all points lie on one sphere or circle to 1e-7 of its radius (least squares for |x|² = 2 c·x + t)."""
    system = np.column_stack([2.0 * x, np.ones(len(x))])
    square = (x**2).sum(axis=1)
    solution = np.linalg.lstsq(system, square, rcond=None)[0]
    return bool(np.abs(system @ solution - square).max() <= 1e-7 * square.max())


def is_triangulated_ball(x: np.ndarray, cells: np.ndarray) -> bool:
    """True when the cells use every point and form one ball that nowhere folds over itself.

    Each facet in one or two cells, χ = 1, the hull one closed piece, and Σ |signed volume| = |Σ signed volume|.
    """
    n, dim = x.shape
    if len(cells) == 0 or len(np.unique(cells)) != n:
        return False
    cx = SimplicialComplex.from_simplices(n, {dim: cells})
    if cx.orientation is None or cx.n(dim) != len(cells) or cx.euler_characteristic != 1:
        return False
    chi_hull = cx.boundary_complex.euler_characteristic - int((~cx.on_boundary(0)).sum())
    if cx.n_boundary_pieces != 1 or chi_hull != (2 if dim == 3 else 0):
        return False
    p = x[cx.simplices(dim)]
    volume = np.linalg.det(p[:, 1:] - p[:, :1]) * cx.orientation
    return bool(abs(volume.sum()) >= np.abs(volume).sum() * (1.0 - 1e-9))


def circumballs(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smallest balls whose spheres pass through the vertices of simplices.

    p : (m, k+1, D) vertices.  Returns centres (m, D), squared radii (m,) and flat (m,) bool; of flat simplices
    (cocircular vertices) the ball has its centre in their plane or line.
    """
    k = p.shape[1] - 1
    edges = p[:, 1:] - p[:, :1]  # (m, k, D)
    half = 0.5 * (edges**2).sum(axis=2)
    u, s, vt = np.linalg.svd(edges, full_matrices=False)  # centre − v0 = E⁺ (|e|²/2): least norm
    longest = np.sqrt(2.0 * half.max(axis=1, initial=0.0))
    flat = s.prod(axis=1) <= FLAT_CELL * longest**k
    keep = s > FLAT_CELL * s[:, :1]
    keep[flat, -1] = False
    inverse = np.where(keep, 1.0 / np.where(keep, s, 1.0), 0.0)
    offset = np.einsum("mji,mj->mi", vt, inverse * np.einsum("mij,mi->mj", u, half))
    return p[:, 0] + offset, (offset**2).sum(axis=1), flat


def alpha_values(x: np.ndarray, cx: SimplicialComplex) -> list[np.ndarray]:
    """Squared radius at which each simplex of the Delaunay complex enters, one array a degree, unit².

    The Gabriel condition is tested on the vertices opposite in the cofaces, which is enough except in flat cells
    (cospherical points): there on all points.  Monotone: no simplex has a smaller value than one of its faces.
    """
    n, dim = x.shape
    values = [np.zeros(n)] + [np.empty(0)] * dim
    tree = None
    for k in range(dim, 0, -1):
        centre, own, flat = circumballs(x[cx.simplices(k)])
        empty = np.ones(cx.n(k), bool)
        if k == dim:
            in_flat = flat if dim >= 2 else np.zeros_like(flat)
        else:
            in_flat, above = np.zeros(cx.n(k), bool), in_flat
            in_flat[cx.faces(k + 1)[above].ravel()] = True
            for i in range(k + 2):
                f, apex = cx.faces(k + 1)[:, i], cx.simplices(k + 1)[:, i]
                empty[f[((x[apex] - centre[f]) ** 2).sum(axis=1) < own[f] * (1.0 - 1e-12)]] = False
        if in_flat.any():
            tree = tree or cKDTree(x)
            nearest = tree.query(centre[in_flat])[0]
            empty[in_flat] = nearest**2 >= own[in_flat] * (1.0 - 1e-7)
        if k == dim:
            values[k] = _spread_to_neighbours(cx, np.where(empty, own, np.inf))
            continue
        least = np.full(cx.n(k), np.inf)
        for i in range(k + 2):
            np.minimum.at(least, cx.faces(k + 1)[:, i], values[k + 1])
        values[k] = np.where(empty, np.minimum(own, least), least)
    for k in range(1, dim):  # rounding only
        np.maximum(values[k + 1], values[k][cx.faces(k + 1)].max(axis=1), out=values[k + 1])
    return values


def _spread_to_neighbours(cx: SimplicialComplex, values: np.ndarray) -> np.ndarray:
    """Top simplices with value ∞ (flat, circle not empty) take the least finite value over a shared facet."""
    if np.isfinite(values).all():
        return values
    dim = cx.dim
    f = cx.faces(dim).ravel()
    order = np.argsort(f, kind="stable")
    pair = np.flatnonzero(f[order][1:] == f[order][:-1])
    a, b = order[pair] // (dim + 1), order[pair + 1] // (dim + 1)
    here, there = np.concatenate([a, b]), np.concatenate([b, a])
    while not np.isfinite(values).all():
        least = np.full(len(values), np.inf)
        np.minimum.at(least, here, values[there])
        fresh = ~np.isfinite(values) & np.isfinite(least)
        if not fresh.any():
            raise InputError(
                "Every cell of the Delaunay triangulation is flat: the points lie nearly in one plane or line; "
                "project them first.",
                "degenerate_points",
            )
        values = np.where(fresh, least, values)
    return values


class AlphaFiltration:
    """All alpha complexes of a cloud of distinct points, and which of them live long.

    points : (n, D) distinct, D ≥ 2; collinear and coplanar clouds are filtered in their own line or plane.
    Raises InputError (degenerate_points) where no Delaunay triangulation can be made.
    """

    RESOLUTION = 1e-6
    """Bars with death ≤ (1 + RESOLUTION) · birth are rounding and count nowhere."""

    MEANINGFUL = 1.5
    """Betti numbers that hold from r to less than MEANINGFUL · r are taken for noise."""

    SMALL = 10
    """With fewer points than this, and nothing meaningful, the points are left isolated."""

    def __init__(self, points: np.ndarray):
        points = np.asarray(points, np.float64)
        x = principal_coordinates(points)
        n, self.rank = x.shape
        if self.rank == 0:
            self.complex = SimplicialComplex.from_simplices(n, {})
            self.radii = [np.zeros(n)]
        else:
            cells = delaunay_cells(x)
            self.complex = SimplicialComplex.from_simplices(n, {self.rank: cells})
            self.radii = [np.sqrt(v) for v in alpha_values(x, self.complex)]
        for array in self.radii:
            array.flags.writeable = False

    @cached_property
    def barcode(self) -> Bars:
        """Bars over GF(2): degree, birth radius, death radius (∞ once, in degree 0)."""
        return ball_barcode(self.complex, self.radii).lasting(1.0 + self.RESOLUTION)

    def betti_at(self, radius: float) -> tuple[int, ...]:
        """(b_0, …, b_{D−1}) of the complex at a radius, one number a degree below the cloud's own dimension D."""
        return self.barcode.betti_at(radius, max(self.rank, 1))

    def complex_at(self, radius: float) -> SimplicialComplex:
        """All simplices that have entered at a radius, and all vertices; maximal simplices may differ in degree."""
        chosen = {k: self.complex.simplices(k)[self.radii[k] <= radius] for k in range(1, self.complex.dim + 1)}
        return SimplicialComplex.from_simplices(self.complex.n_vertices, chosen)

    @cached_property
    def intervals(self) -> list[tuple[float, float, tuple[int, ...]]]:
        """Radius from, radius below, Betti numbers: the whole filtration in steps, 0 to ∞."""
        bars = self.barcode
        n_degrees = max(self.rank, 1)
        times = np.concatenate([bars.birth, bars.death[np.isfinite(bars.death)]])
        step = np.zeros((len(times), n_degrees), np.int64)
        step[np.arange(len(bars)), bars.degree] = 1
        step[len(bars) :][np.arange(len(times) - len(bars)), bars.degree[np.isfinite(bars.death)]] = -1
        order = np.argsort(times, kind="stable")
        times, level = times[order], np.cumsum(step[order], axis=0)
        apart = times[1:] > times[:-1] * (1.0 + self.RESOLUTION)  # events at one radius are one step
        last, first = np.append(apart, True), np.append(True, apart)
        until = np.append(times[first][1:], np.inf)
        return [(float(a), float(b), tuple(v)) for a, b, v in zip(times[last], until, level[last].tolist())]

    @cached_property
    def typical_spacing(self) -> float:
        """Radius at which three of four points have joined others: below it nothing of the shape can be seen."""
        merges = self.barcode.of_degree(0)[:, 1]
        merges = np.sort(merges[np.isfinite(merges)])
        return float(merges[(3 * len(merges)) // 4]) if len(merges) else 0.0

    @cached_property
    def suggestion(self) -> tuple[float, float, float, tuple[int, ...]]:
        """Radius, the interval it lies in (from, below), and the Betti numbers there.

        Betti numbers are judged by the sum of log(to / from) over all intervals on which they hold: a ratio of radii
        has no unit, and says by how much the sampling could be coarser.  The start (radii below
        :attr:`typical_spacing`) and the end (the filled hull) are left out.  The radius is the geometric middle of
        the longest interval of the winner.  Where no interval has a ratio of MEANINGFUL (random points in a square
        or a cube reach 1.1 to 1.4), the hull is filled, or, with fewer than SMALL points, the points stay isolated.
        """
        lower = self.typical_spacing
        lived: dict[tuple[int, ...], float] = {}
        longest: dict[tuple[int, ...], tuple[float, float]] = {}
        for a, b, betti in self.intervals[:-1]:
            a = max(a, lower)
            if b <= a:
                continue
            lived[betti] = lived.get(betti, 0.0) + float(np.log(b / a))
            if betti not in longest or b / a > longest[betti][1] / longest[betti][0]:
                longest[betti] = (a, b)
        for betti in sorted(lived, key=lived.get, reverse=True):
            a, b = longest[betti]
            if b >= self.MEANINGFUL * a:
                return float(np.sqrt(a * b)), a, b, betti
        if self.complex.n_vertices < self.SMALL:
            return 0.0, *self.intervals[0]
        return 1.01 * self.intervals[-1][0], *self.intervals[-1]

    @property
    def suggested_radius(self) -> float:
        """The radius of :attr:`suggestion`, in the unit of the points."""
        return self.suggestion[0]
