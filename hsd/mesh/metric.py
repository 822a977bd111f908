"""Measures and barycentric gradients of simplices from squared edge lengths; no positions needed.

For a k-simplex with vertices v0 … vk and edge vectors e_i = v_i − v_0 the Gram matrix is
G_ij = e_i·e_j = (l²_0i + l²_0j − l²_ij)/2, its measure is √det G / k!, and ⟨∇λ_i, ∇λ_j⟩ = (G⁻¹)_ij.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np

from hsd.errors import MetricError
from hsd.mesh.mesh import Mesh

FLAT = 1e-12
"""A simplex is of zero measure when measure ≤ FLAT · (longest edge)^k: rounding of the squared lengths."""


def simplex_lengths2(mesh: Mesh, k: int) -> np.ndarray:
    """Squared lengths between all vertices of each k-simplex, (N_k, k+1, k+1), symmetric, zero diagonal."""
    s = mesh.complex.simplices(k)
    out = np.zeros((len(s), k + 1, k + 1))
    if k >= 1:
        edges = mesh.complex.subsimplices(k, 1)
        for column, (i, j) in enumerate(combinations(range(k + 1), 2)):
            out[:, i, j] = out[:, j, i] = mesh.squared_lengths[edges[:, column]]
    return out


def gram(l2: np.ndarray) -> np.ndarray:
    """Gram matrices of the edge vectors from vertex 0, (…, k, k), of squared lengths (…, k+1, k+1)."""
    first = l2[..., 0, 1:]
    return 0.5 * (first[..., :, None] + first[..., None, :] - l2[..., 1:, 1:])


def measures(mesh: Mesh, k: int) -> np.ndarray:
    """k-dimensional measure of each k-simplex (1, length, area, volume), (N_k,), unit^k; never negative."""
    if k == 0:
        return np.ones(mesh.complex.n(0))
    if k == 1:
        return np.sqrt(mesh.squared_lengths)
    if mesh.lengths2 is None and mesh.points is not None:  # from positions: no cancellation in thin simplices
        r = _edge_triangles(mesh, k)
        return np.abs(np.prod(np.diagonal(r, axis1=1, axis2=2), axis=1)) / factorial(k)
    det = np.linalg.det(gram(simplex_lengths2(mesh, k)))
    return np.sqrt(np.maximum(det, 0.0)) / factorial(k)


def _edge_triangles(mesh: Mesh, k: int, which: np.ndarray | slice = slice(None)) -> np.ndarray:
    """R of the QR factorisation of the edge vectors from vertex 0 as columns, (m, k, k); RᵀR is their Gram matrix."""
    p = mesh.points[mesh.complex.simplices(k)[which]]
    return np.linalg.qr((p[:, 1:] - p[:, :1]).transpose(0, 2, 1), mode="r")


def zero_measure(mesh: Mesh, k: int) -> np.ndarray:
    """Numbers of the k-simplices whose measure is zero to rounding, relative to their longest edge."""
    if k == 0 or mesh.complex.n(k) == 0:
        return np.zeros(0, np.int64)
    longest = simplex_lengths2(mesh, k).max(axis=(1, 2))
    return np.flatnonzero(measures(mesh, k) <= FLAT * longest ** (k / 2))


def gradient_frames(mesh: Mesh, k: int, which: np.ndarray | slice = slice(None)) -> np.ndarray:
    """∇λ_i of k-simplices in an orthonormal frame of each, (m, k+1, k), unit⁻¹.

    The edge vectors from vertex 0 are Q R; row i ≥ 1 is row i−1 of R⁻¹, row 0 minus their sum.  Inner products of
    wedges come from minors of these rows, never from minors of their Gram matrix, which loses all digits in flat cells.
    Raises MetricError (zero_measure) naming the first degenerate simplex.
    """
    flat = zero_measure(mesh, k)
    if len(flat):
        where = mesh.complex.simplices(k)[flat[0]].tolist()
        word = {1: "edge", 2: "triangle", 3: "tetrahedron"}[k]
        raise MetricError(
            f"{len(flat)} {word}(s) have zero measure, the first is {word} {flat[0]} with vertices {where}; "
            "metric work needs positive measures: repair the mesh (repair='collapse') or use star='unit'.",
            "zero_measure",
            flat[:100],
        )
    if mesh.lengths2 is None:
        inverse = np.linalg.inv(_edge_triangles(mesh, k, which))
    else:
        lower = np.linalg.cholesky(gram(simplex_lengths2(mesh, k)[which]))  # G = L Lᵀ, R = Lᵀ
        inverse = np.linalg.inv(lower).transpose(0, 2, 1)
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


def gradient_products(mesh: Mesh, k: int, which: np.ndarray | slice = slice(None)) -> np.ndarray:
    """⟨∇λ_i, ∇λ_j⟩ on k-simplices, (m, k+1, k+1), unit⁻².  Raises MetricError (zero_measure)."""
    frames = gradient_frames(mesh, k, which)
    return frames @ frames.transpose(0, 2, 1)


def total_measure(mesh: Mesh) -> float:
    """Sum of the measures of the top simplices."""
    return float(measures(mesh, mesh.dim).sum())


def length_scale(mesh: Mesh) -> float:
    """L with L² = measure^(2/n) / 4π; λ̂ = λ L² has no unit."""
    return float(np.sqrt(total_measure(mesh) ** (2.0 / max(mesh.dim, 1)) / (4.0 * np.pi)))


def mean_edge_length(mesh: Mesh) -> float:
    return float(np.sqrt(mesh.squared_lengths).mean())
