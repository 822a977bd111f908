"""Point clouds as meshes: an alpha complex at a stated radius, by default that of the longest-lived Betti numbers."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.alpha import AlphaFiltration
from hsd.mesh.mesh import Mesh

MAX_POINTS = 100_000
"""Largest cloud that is triangulated (about 0.7 million tetrahedra); more are refused."""

__all__ = ["MAX_POINTS", "AlphaFiltration", "check_cloud", "merge_copies", "mesh_from_points"]


def check_cloud(points: np.ndarray) -> np.ndarray:
    """Points as float64 (n, 2 | 3); raises InputError (empty, shape, non_finite_vertex, too_many_points)."""
    try:
        points = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Points must be an array of numbers of shape (n, 2) or (n, 3).", "shape") from None
    if points.size == 0:
        raise InputError("The point cloud is empty; at least one point is needed.", "empty")
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise InputError(f"Points must have shape (n, 2) or (n, 3); got {points.shape}.", "shape")
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise InputError(
            f"Point {bad[0]} has a coordinate that is not finite ({len(bad)} such); drop or mend it.",
            "non_finite_vertex",
            bad[:100],
        )
    if len(points) > MAX_POINTS:
        raise InputError(
            f"The cloud has {len(points)} points; at most {MAX_POINTS} are triangulated: thin it first.",
            "too_many_points",
        )
    return points


def merge_copies(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[Notice, ...]]:
    """Distinct points in order of appearance (m, D), the vertex of each point (n,), a notice if any were copies."""
    _, first, inverse = np.unique(points + 0.0, axis=0, return_index=True, return_inverse=True)  # −0 is 0
    by_appearance = np.argsort(first)
    number = np.empty(len(first), np.int64)
    number[by_appearance] = np.arange(len(first))
    vertex = number[inverse.ravel()]
    kept = first[by_appearance]
    copies = np.setdiff1d(np.arange(len(points)), kept)
    if len(copies) == 0:
        return points, vertex, ()
    notice = Notice(
        "duplicate_points",
        f"{len(copies)} of {len(points)} points are exact copies of others and were merged; {len(kept)} are distinct.",
        tuple(copies[:100].tolist()),
    )
    return points[kept], vertex, (notice,)


def mesh_from_points(points: np.ndarray, name: str = "points", radius: float | None = None) -> Mesh:
    """The alpha complex of a point cloud as a mesh; its simplices may be of mixed dimension.

    points : (n, 2 | 3), unit of length;  radius : ≥ 0 in that unit, ∞ = filled hull, None = the suggested one
    (:attr:`AlphaFiltration.suggestion`).  Exact copies are merged (``vertex_of_file_point`` keeps the map).
    Notices: ``duplicate_points``; ``alpha_complex`` with radius, Betti numbers and the radii between which they hold.
    Raises InputError (empty, shape, non_finite_vertex, too_many_points, radius, degenerate_points).
    """
    distinct, vertex, notices = merge_copies(check_cloud(points))
    if radius is not None and not radius >= 0:
        raise InputError(f"The radius of an alpha complex must be 0 or more; got {radius}.", "radius")
    filtration = AlphaFiltration(distinct)
    if radius is None:
        radius, since, until, betti = filtration.suggestion
        reason = "the radius at which they live longest" if radius > 0 else "too few points to suggest a shape"
    else:
        since, until, betti = next(i for i in reversed(filtration.intervals) if i[0] <= radius or i[0] == 0)
        reason = "the radius was given"
    message = (
        f"Alpha complex at radius {radius:.6g}: Betti numbers over GF(2) {betti}, which hold for radii from "
        f"{since:.6g} to {until:.6g} ({reason})."
    )
    return Mesh(
        filtration.complex_at(radius),
        distinct,
        name=name,
        vertex_of_file_point=vertex if len(distinct) < len(vertex) else None,
        notices=(*notices, Notice("alpha_complex", message)),
    )
