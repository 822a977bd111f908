"""Discrete Hodge stars: mass matrices ⋆_k of ⟨a, b⟩ = aᵀ ⋆_k b on k-cochains.

Each *maximal* simplex adds the mass of its own dimension, so complexes of mixed dimension have one too.

galerkin : ⋆_0 lumped barycentric (or consistent P1), Whitney masses for 0 < k < m, 1/measure for k = m
diagonal : circumcentric dual measure / measure (cotan weights for k = 1 on surfaces); refused unless positive
unit     : identity; combinatorial Laplacians, no metric needed
"""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError, MetricError, check_choice
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import gradient_frames, gradient_products, gram, measures, simplex_lengths2

STARS = ("galerkin", "diagonal", "unit")
POSITIVE = 1e-9
"""A diagonal entry is clearly positive above this fraction of Σ |σ|/|τ|² over its top cells σ (same unit)."""


def hodge_star(mesh: Mesh, k: int, kind: str = "galerkin", consistent_mass: bool = False) -> sp.csr_matrix:
    """⋆_k on all k-simplices, (N_k, N_k) symmetric positive definite CSR, unit^(m−2k) for an m-dimensional mesh.

    Raises UnknownNameError; MetricError (no_metric, zero_measure, star_not_positive).
    Source: Whitney 1957; Bossavit 1988; Desbrun, Hirani, Leok, Marsden, Discrete exterior calculus, 2005.
    """
    check_choice("star", kind, STARS)
    if not 0 <= k <= mesh.dim:
        raise InputError(f"Degree {k} is outside 0 … {mesh.dim} of {mesh.name}.", "degree")
    if kind == "unit":
        return sp.identity(mesh.complex.n(k), format="csr")
    if kind == "diagonal":
        return sp.diags(circumcentric_diagonal(mesh, k), format="csr")
    return _galerkin(mesh, k, consistent_mass)


def _galerkin(mesh: Mesh, k: int, consistent_mass: bool) -> sp.csr_matrix:
    n = mesh.complex.n(k)
    total = sp.csr_matrix((n, n))
    for m in range(k, mesh.dim + 1):
        which = np.flatnonzero(mesh.complex.is_maximal(m))
        if len(which) == 0:
            continue
        index = mesh.complex.subsimplices(m, k)[which]  # (c, C(m+1, k+1))
        local = _local_mass(mesh, m, k, which, consistent_mass)  # (c, C, C)
        rows = np.repeat(index, index.shape[1], axis=1).ravel()
        cols = np.tile(index, (1, index.shape[1])).ravel()
        total = total + sp.csr_matrix((local.ravel(), (rows, cols)), shape=(n, n))
    if k == mesh.dim or (k == 0 and not consistent_mass):
        return sp.diags(total.diagonal(), format="csr")
    return total


def _local_mass(mesh: Mesh, m: int, k: int, which: np.ndarray, consistent_mass: bool) -> np.ndarray:
    """∫_σ ⟨W_I, W_J⟩ for all k-faces I, J of the given m-simplices σ, (c, C, C)."""
    size = measures(mesh, m)[which]
    if k == m:
        if m > 0:
            gradient_products(mesh, m, which[:1])  # refuses zero measures
        return (1 / size)[:, None, None]
    if k == 0 and not consistent_mass:
        gradient_products(mesh, m, which[:1])
        return (size / (m + 1))[:, None, None] * np.eye(m + 1)
    frames = gradient_frames(mesh, m, which)  # (c, m+1, m)
    faces = list(combinations(range(m + 1), k + 1))
    wedges = {v: _wedge(frames, v) for v in combinations(range(m + 1), k)}
    out = np.zeros((len(which), len(faces), len(faces)))
    for a, left in enumerate(faces):
        for b, right in enumerate(faces[: a + 1]):
            for i, li in enumerate(left):
                for j, rj in enumerate(right):
                    pair = (wedges[left[:i] + left[i + 1 :]] * wedges[right[:j] + right[j + 1 :]]).sum(axis=1)
                    out[:, a, b] += (-1) ** (i + j) * (1 + (li == rj)) * pair
            out[:, b, a] = out[:, a, b]
    return out * (factorial(k) ** 2 / ((m + 1) * (m + 2)) * size)[:, None, None]


def _wedge(frames: np.ndarray, vertices: tuple[int, ...]) -> np.ndarray:
    """dλ_{v1} ∧ … ∧ dλ_{vk} in the orthonormal frame: its C(m, k) minors, (c, C(m, k))."""
    k, m = len(vertices), frames.shape[2]
    if k == 0:
        return np.ones((len(frames), 1))
    rows = frames[:, list(vertices)]
    return np.stack([np.linalg.det(rows[:, :, list(columns)]) for columns in combinations(range(m), k)], axis=1)


def circumcentric_entries(mesh: Mesh, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Signed circumcentric ⋆_k entries and the scale Σ |σ|/|τ|² that they are compared with, both (N_k,).

    Dual measure of a k-face I in an m-simplex: v(I) = Σ_{J ⊃ I} h(I, J) v(J)/(m−k) with the signed distance h of the
    circumcentres of I and J along the normal of I in J.  On surfaces ⋆_1 is the half sum of cotangents.
    """
    total = np.zeros(mesh.complex.n(k))
    scale = np.zeros(mesh.complex.n(k))
    own = measures(mesh, k)
    for m in range(k, mesh.dim + 1):
        which = np.flatnonzero(mesh.complex.is_maximal(m))
        if len(which) == 0:
            continue
        dual = {tuple(range(m + 1)): np.ones(len(which))}
        for j in range(m, k, -1):
            heights = _signed_heights(mesh, j)
            where = mesh.complex.subsimplices(m, j)[which]
            lower: dict[tuple[int, ...], np.ndarray] = {}
            for column, simplex in enumerate(combinations(range(m + 1), j + 1)):
                for i in range(j + 1):
                    face = simplex[:i] + simplex[i + 1 :]
                    term = heights[where[:, column], i] * dual[simplex] / (m - j + 1)
                    lower[face] = lower.get(face, 0.0) + term
            dual = lower
        index = mesh.complex.subsimplices(m, k)[which]
        size = measures(mesh, m)[which]
        for column, face in enumerate(combinations(range(m + 1), k + 1)):
            at = index[:, column]
            total += np.bincount(at, weights=dual[face] / own[at], minlength=len(total))
            scale += np.bincount(at, weights=size / own[at] ** 2, minlength=len(total))
    return total, scale


def _signed_heights(mesh: Mesh, j: int) -> np.ndarray:
    """Signed distance of the circumcentre of each j-simplex from its face opposite vertex i, (N_j, j+1)."""
    g = gram(simplex_lengths2(mesh, j))
    products = gradient_products(mesh, j)
    t = np.linalg.solve(g, 0.5 * np.diagonal(g, axis1=1, axis2=2)[..., None])[..., 0]  # barycentric, vertices 1 … j
    centre = np.concatenate([1 - t.sum(axis=1, keepdims=True), t], axis=1)
    return centre / np.sqrt(np.diagonal(products, axis1=1, axis2=2))


def circumcentric_diagonal(mesh: Mesh, k: int) -> np.ndarray:
    """The diagonal of the circumcentric ⋆_k, (N_k,).  Raises MetricError (star_not_positive) with the bad count."""
    entries, scale = circumcentric_entries(mesh, k)
    bad = np.flatnonzero(entries <= POSITIVE * scale)
    if len(bad):
        word = {0: "vertices", 1: "edges", 2: "faces", 3: "tetrahedra"}[k]
        at = mesh.complex.simplices(k)[bad[0]].tolist()
        raise MetricError(
            f"The diagonal star of degree {k} is not clearly positive on {len(bad)} of {len(entries)} {word} "
            f"(first: {at}, entry {entries[bad[0]]:.3g}); use star='galerkin', which is positive on every mesh.",
            "star_not_positive",
            bad[:100],
        )
    return entries
