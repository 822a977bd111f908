"""Slopes for second-order upwind fluxes on triangulated surfaces, positive by construction.

On the edge i → j the flux needs a value half-way.  Two increments along the edge are known there: downstream
b = u_j − u_i, and upstream a = u_i − u(x_i − (x_j − x_i)), where the second value is interpolated linearly in the
triangle at i that lies opposite to j.  That triangle's corners k, m give a = α_k (u_i − u_k) + α_m (u_i − u_m) with
α ≥ 0, and a limiter φ(a, b) between 0, 2a and 2b makes u_i + φ/2 an average of u_i and u_j that grows no extrema.

Source: Cournède, Debiez, Dervieux, A positive MUSCL scheme for triangulations, INRIA report 3465, 1998; Koren, A robust
upwind discretization method for advection, diffusion and source terms, 1993.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from hsd.errors import InputError
from hsd.mesh.mesh import Mesh


def upstream_increments(mesh: Mesh) -> sp.csr_matrix:
    """a of every edge in both directions, (2 n_edges, n_vertices): rows 0 … n_edges−1 for i → j, the rest for j → i.

    Exact for fields that are linear in the tangent plane at i.  Rows sum to zero; the entry of i is Σα, all others are
    ≤ 0.  The tangent plane is orthogonal to the mean normal, weighted by area.
    Raises InputError (not_closed) unless the mesh is a closed orientable surface in space.
    """
    cx = mesh.complex
    if mesh.dim != 2 or mesh.points is None or mesh.points.shape[1] != 3 or cx.has_boundary:
        raise InputError(
            f"Upwind slopes are made on closed surfaces in space; {mesh.name} has dimension {mesh.dim}"
            f"{', a boundary' if mesh.dim == 2 and cx.has_boundary else ''}.",
            "not_closed",
        )
    mesh.require_orientation("The tangent plane of an upwind slope")
    cells, p = mesh.oriented_cells(), mesh.points
    area = np.cross(p[cells[:, 1]] - p[cells[:, 0]], p[cells[:, 2]] - p[cells[:, 0]])
    normal = np.zeros_like(p)
    for corner in cells.T:
        np.add.at(normal, corner, area)
    normal /= np.linalg.norm(normal, axis=1)[:, None]

    edges = cx.simplices(1)
    tail, head = np.concatenate([edges, edges[:, ::-1]]).T  # (2 n_edges,)
    corner = np.concatenate([np.roll(cells, -s, axis=1) for s in range(3)])  # (3 n_faces, 3): i, k, m
    corner = corner[np.argsort(corner[:, 0], kind="stable")]
    count = np.bincount(corner[:, 0], minlength=len(p))
    first = np.cumsum(count) - count
    row = np.repeat(np.arange(len(tail)), count[tail])
    place = np.arange(len(row)) - np.repeat(np.cumsum(count[tail]) - count[tail], count[tail])
    at, k, m = corner[first[tail[row]] + place].T  # every triangle at the tail of every directed edge

    n = normal[at]

    def in_plane(v: np.ndarray) -> np.ndarray:
        return v - (v * n).sum(axis=1)[:, None] * n

    back, to_k, to_m = in_plane(p[at] - p[head[row]]), in_plane(p[k] - p[at]), in_plane(p[m] - p[at])

    def area_of(v: np.ndarray, w: np.ndarray) -> np.ndarray:
        return (np.cross(v, w) * n).sum(axis=1)

    whole = area_of(to_k, to_m)
    alpha_k, alpha_m = area_of(back, to_m) / whole, area_of(to_k, back) / whole
    # the triangle that the ray enters has both ≥ 0; on a shared edge rounding decides, and clipping mends the rest
    inside = np.where(whole > 0, np.minimum(alpha_k, alpha_m), -np.inf)
    order = np.lexsort((inside, row))
    chosen = order[np.cumsum(count[tail]) - 1]
    alpha_k, alpha_m = np.maximum(alpha_k[chosen], 0.0), np.maximum(alpha_m[chosen], 0.0)
    rows = np.tile(np.arange(len(tail)), 3)
    columns = np.concatenate([tail, k[chosen], m[chosen]])
    values = np.concatenate([alpha_k + alpha_m, -alpha_k, -alpha_m])
    return sp.csr_matrix((values, (rows, columns)), shape=(len(tail), len(p)))


def limited(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None, work: np.ndarray | None = None) -> np.ndarray:
    """φ(a, b) of the same sign as both, 0 where they differ: min(2|a|, (|a| + 2|b|)/3, 2|b|); b when a = b.

    out : may be ``a``; work : an array of the same shape, overwritten.
    """
    same = (a > 0) == (b > 0)
    size_b = np.abs(b, out=work)
    size_b *= 2.0
    out = np.abs(a, out=out)
    third = out + size_b
    third /= 3.0
    out *= 2.0
    np.minimum(out, third, out=out)
    np.minimum(out, size_b, out=out)
    np.copysign(out, b, out=out)
    out *= same
    return out
