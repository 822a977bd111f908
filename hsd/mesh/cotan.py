"""Cotan weights of edges of surfaces, from squared lengths.

w_e = ½ Σ cot(angle opposite e) over the faces at e: the entry of the diagonal ⋆_1 and, with a minus sign, of the
stiffness matrix of Δ_0 (R. H. MacNeal 1949; U. Pinkall, K. Polthier 1993, Computing discrete minimal surfaces).
"""

from __future__ import annotations

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures, simplex_lengths2, zero_measure


def cotangents(mesh: Mesh) -> np.ndarray:
    """Cotangent of the angle at each corner of each face, (N_2, 3), no unit; column i belongs to the i-th vertex.

    0 in faces of zero area, whose cotangents are infinite.
    """
    l2 = simplex_lengths2(mesh, 2)
    area = measures(mesh, 2)
    out = np.zeros((len(area), 3))
    good = np.ones(len(area), bool)
    good[zero_measure(mesh, 2)] = False
    for i, (j, k) in enumerate(((1, 2), (0, 2), (0, 1))):
        out[good, i] = (l2[good, i, j] + l2[good, i, k] - l2[good, j, k]) / (4.0 * area[good])
    return out


def cotan_weights(mesh: Mesh) -> np.ndarray:
    """w_e = ½ Σ cot, (n_edges,), no unit; 0 on edges without faces."""
    faces = mesh.complex.faces(2)  # (N_2, 3): column i is the edge opposite vertex i
    return 0.5 * np.bincount(faces.ravel(), cotangents(mesh).ravel(), minlength=mesh.complex.n(1))
