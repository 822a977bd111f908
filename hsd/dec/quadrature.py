"""Quadrature on simplices: barycentric points and weights that sum to 1, of any degree of exactness."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np
from scipy.special import roots_jacobi

from hsd.errors import InputError

MAX_DEGREE = 40


@lru_cache(maxsize=64)
def simplex_rule(k: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Conical product of Gauss–Jacobi rules on a k-simplex, exact for polynomials up to ``degree``.

    Returns points (q, k+1) barycentric and weights (q,), all positive, sum 1; q = ⌈(degree+1)/2⌉^k.
    Raises InputError (quadrature).  Source: Stroud 1971, Approximate Calculation of Multiple Integrals, section 2.4.
    """
    if not isinstance(degree, (int, np.integer)) or not 0 <= degree <= MAX_DEGREE:
        raise InputError(
            f"The degree of a quadrature rule is a whole number 0 to {MAX_DEGREE}; got {degree}.", "quadrature"
        )
    points, weights = np.ones((1, 1)), np.ones(1)
    n = degree // 2 + 1
    for j in range(1, k + 1):  # cone over the (j−1)-simplex: (1−t)·old + t·apex, volume element (1−t)^(j−1)
        x, w = roots_jacobi(n, j - 1, 0)
        t, w = (x + 1) / 2, w / w.sum()
        scaled = (1 - t)[:, None, None] * points[None]  # (n, q, j)
        apex = np.broadcast_to(t[:, None, None], (n, len(points), 1))
        points = np.concatenate([scaled, apex], axis=2).reshape(-1, j + 1)
        weights = (w[:, None] * weights[None]).ravel()
    points.flags.writeable = weights.flags.writeable = False
    return points, weights


@lru_cache(maxsize=8)
def symmetric_rule(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest symmetric rule of degree 2 on an n-simplex: products of two Whitney forms are integrated exactly.

    n = 1: two Gauss points; n = 2: the edge midpoints; n = 3: four points with coordinates (5−√5)/20
    three times and (5+3√5)/20.  Weights are equal.
    """
    if n == 0:
        points = np.ones((1, 1))
    elif n == 2:
        points = 0.5 * (1.0 - np.eye(3))
    else:
        a = (n + 2 - sqrt(n + 2)) / ((n + 1) * (n + 2))
        points = np.full((n + 1, n + 1), a) + (1.0 - (n + 1) * a) * np.eye(n + 1)
    points.flags.writeable = False
    return points, np.full(len(points), 1.0 / len(points))
