"""Δ_0 of a point cloud from local triangulations."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError
from hsd.mesh.from_points import check_cloud

LEAST_POINTS = 10
"""A local triangulation needs some neighbours."""


def point_cloud_laplacian(points: np.ndarray) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Weak Laplacian L (positive semidefinite) and lumped mass M of a sampled surface: Ω⁰ → Ω⁰ only, Δ_0 u = M⁻¹ L u.

    Each point's neighbourhood is triangulated by Delaunay in its tangent plane.  Every local triangle counts one
    third, since on a clean surface each of its three corners finds it: L = ⅓ Σ cotan matrices, M = ⅓ Σ areas / 3.
    The union of the local triangles is **no complex**: neighbouring triangulations disagree and edges carry many
    triangles (χ = 26 on a sphere of 642 random points), so there are no Betti numbers and no forms of degree ≥ 1
    on it; for those use :func:`hsd.mesh.from_points.mesh_from_points`.

    points : (n, 3) distinct, unit of length.  Returns L (no unit) and M (unit²), both (n, n) CSR.
    Raises InputError (shape, empty, non_finite_vertex, too_many_points, too_few_points, duplicate_points,
    degenerate_points, missing_package).
    Source: Sharp, Crane 2020, A Laplacian for nonmanifold triangle meshes, section 5.7 (without the tufted cover).
    """
    points = check_cloud(points)
    if points.shape[1] != 3:
        raise InputError(f"A point-cloud Laplacian needs points of shape (n, 3); got {points.shape}.", "shape")
    n = len(points)
    if n < LEAST_POINTS:
        raise InputError(f"A local triangulation needs {LEAST_POINTS} points or more; got {n}.", "too_few_points")
    n_copies = n - len(np.unique(points, axis=0))
    if n_copies:
        raise InputError(
            f"{n_copies} points are exact copies of others; merge them first (merge_copies does).", "duplicate_points"
        )
    try:
        from potpourri3d import PointCloudLocalTriangulation
    except ImportError:
        raise InputError(
            "potpourri3d is not installed; install it for point-cloud Laplacians.", "missing_package"
        ) from None
    centred = points - points.mean(axis=0)
    local = PointCloudLocalTriangulation(centred).get_local_triangulation().reshape(-1, 3).astype(np.int64)
    triangles = local[(local >= 0).all(axis=1)]
    p = centred[triangles]  # (m, 3, 3)
    opposite = p[:, [2, 0, 1]] - p[:, [1, 2, 0]]  # edge opposite to each corner
    area2 = np.linalg.norm(np.cross(opposite[:, 0], opposite[:, 1]), axis=1)
    keep = area2 > 1e-12 * (opposite**2).sum(axis=2).max(axis=1, initial=0.0)
    triangles, opposite, area2 = triangles[keep], opposite[keep], area2[keep]
    mass = np.bincount(triangles.ravel(), weights=np.repeat(area2 / 18.0, 3), minlength=n)
    lonely = np.flatnonzero(mass == 0)
    if len(lonely):
        raise InputError(
            f"{len(lonely)} point(s) have no local triangle, the first is {lonely[0]}: no sampled surface there.",
            "degenerate_points",
            lonely[:100],
        )
    entries = np.einsum("mid,mjd->mij", opposite, opposite) / (6.0 * area2)[:, None, None]  # ⅓ · e_i·e_j / (4 area)
    rows = np.repeat(triangles, 3, axis=1)  # (m, 9)
    cols = np.tile(triangles, (1, 3))
    stiffness = sp.coo_matrix((entries.ravel(), (rows.ravel(), cols.ravel())), shape=(n, n)).tocsr()
    return stiffness, sp.diags_array(mass, format="csr")
