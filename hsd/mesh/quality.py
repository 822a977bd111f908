"""Shape of cells: angles, mean ratio and edge lengths.

Mean ratio (A. Liu, B. Joe 1994): 1 for equilateral cells, 0 for flat ones.  Triangle 4√3·area / Σ l²;
tetrahedron 12 (3 V)^{2/3} / Σ l².
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import gram, measures, simplex_lengths2


def face_angles(mesh: Mesh) -> np.ndarray:
    """Angles at the corners of each face, degrees, (N_2, 3)."""
    l2 = simplex_lengths2(mesh, 2)
    twice = 2.0 * measures(mesh, 2)
    out = np.empty((len(l2), 3))
    for i, (j, k) in enumerate(((1, 2), (0, 2), (0, 1))):
        out[:, i] = np.degrees(np.arctan2(twice, 0.5 * (l2[:, i, j] + l2[:, i, k] - l2[:, j, k])))
    return out


def dihedral_angles(mesh: Mesh) -> np.ndarray:
    """Dihedral angles at the six edges of each tetrahedron, degrees, (N_3, 6).

    cos θ at edge ij, between the faces that share it, is −⟨∇λ_k, ∇λ_l⟩ / (|∇λ_k| |∇λ_l|) for the other two vertices;
    gradients scale with cofactors of the Gram matrix, which stay finite in flat cells.
    """
    g = gram(simplex_lengths2(mesh, 3))
    scale = np.trace(g, axis1=1, axis2=2)
    g = g / np.where(scale > 0, scale, 1.0)[:, None, None]
    adj = np.empty_like(g)  # adjugate of a symmetric 3×3 matrix
    for i in range(3):
        for j in range(3):
            a, b = [m for m in range(3) if m != i], [m for m in range(3) if m != j]
            minor = g[:, a[0], b[0]] * g[:, a[1], b[1]] - g[:, a[0], b[1]] * g[:, a[1], b[0]]
            adj[:, i, j] = (-1) ** (i + j) * minor
    full = np.empty((len(g), 4, 4))
    full[:, 1:, 1:] = adj
    full[:, 0, 1:] = full[:, 1:, 0] = -adj.sum(axis=2)
    full[:, 0, 0] = adj.sum(axis=(1, 2))
    out = np.empty((len(g), 6))
    for column, (k, m) in enumerate(combinations(range(4), 2)):
        length = np.sqrt(np.maximum(full[:, k, k] * full[:, m, m], 0.0))
        cosine = np.divide(-full[:, k, m], length, out=np.ones(len(g)), where=length > 0)
        out[:, column] = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return out


def mean_ratios(mesh: Mesh, k: int) -> np.ndarray:
    """Mean ratio of each face (k = 2) or tetrahedron (k = 3), (N_k,), between 0 and 1."""
    l2 = simplex_lengths2(mesh, k)
    total = l2.sum(axis=(1, 2)) / 2.0
    size = measures(mesh, k)
    value = 4.0 * np.sqrt(3.0) * size if k == 2 else 12.0 * (3.0 * size) ** (2.0 / 3.0)
    return np.divide(value, total, out=np.zeros(len(total)), where=total > 0)


def quality(mesh: Mesh) -> dict | None:
    """min_angle, max_angle (degrees; dihedral for tets), mean_ratio_min, mean_ratio_mean of the cells of the top
    dimension, edge_min, edge_mean, edge_max (unit of length); None without a metric or without edges."""
    if not mesh.has_metric or mesh.complex.n(1) == 0:
        return None
    edges = np.sqrt(mesh.squared_lengths)
    out: dict[str, float | None] = dict.fromkeys(("min_angle", "max_angle", "mean_ratio_min", "mean_ratio_mean"))
    if mesh.dim >= 2:
        angles = face_angles(mesh) if mesh.dim == 2 else dihedral_angles(mesh)
        ratios = mean_ratios(mesh, mesh.dim)
        out.update(
            min_angle=float(angles.min()),
            max_angle=float(angles.max()),
            mean_ratio_min=float(ratios.min()),
            mean_ratio_mean=float(ratios.mean()),
        )
    out.update(edge_min=float(edges.min()), edge_mean=float(edges.mean()), edge_max=float(edges.max()))
    return out
