"""A parametric car of the DrivAer kind: closed, one component, well-shaped triangles, sharp arches and tail edge."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError, check_choice
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives.car_shape import OUTLINE, Car, CarShape
from hsd.mesh.primitives.isosurface import isosurface
from hsd.mesh.primitives.remesh import flips, reduce_to, remesh, snap_creases

STYLES = tuple(OUTLINE)
AREA = 33.0
"""Area in m², weighted by the wished density; only sets the first grid."""
THINNEST, THICKEST = 0.06, 0.14
"""Limits in metres of the thickness of wing, struts, mirrors and rails."""
LEAST, LEAST_WITH_PARTS = 450, 1000
"""Coarser cars are made by contracting edges of one with so many vertices."""


def car(
    style: str = "fastback",
    n_vertices: int = 3000,
    wing: bool = False,
    roof_rails: bool = False,
    mirrors: bool = True,
    thickness: float | None = None,
) -> Mesh:
    """Closed car surface, about 4.6 m long, 1.8 m wide without mirrors and 1.4 m high; x is the driving axis, z is up.

    style      : "fastback", "notchback" or "estate"
    wing       : a rear wing on two struts; it closes one handle, so b_1 grows by 2
    roof_rails : two rails on two feet each; two handles, so b_1 grows by 4
    thickness  : of wing, struts, mirrors and rails in metres; None: 0.06 to 0.14, larger on coarse meshes, so that
                 triangles stay well shaped.  A number makes meshes of all sizes approximate one and the same shape.
    Raises InputError (bad_option) for a thickness outside 0.06 … 0.14, UnknownNameError for another style.
    """
    check_choice("car style", style, STYLES)
    if thickness is not None and not THINNEST <= thickness <= THICKEST:
        raise InputError(f"Parts of a car are {THINNEST} to {THICKEST} m thick; got {thickness!r}.", "bad_option")
    least = LEAST_WITH_PARTS if wing or roof_rails else LEAST
    n_first = max(n_vertices, least)
    edge = np.sqrt(2.0 / np.sqrt(3.0) * AREA / n_first)
    if thickness is None:
        thickness = float(np.clip(0.8 * edge, THINNEST, THICKEST))
    shape = Car(CarShape(style, wing, roof_rails, mirrors, thickness))
    gs = shape.functions

    def g(p):
        return np.max([f(p) for f in gs], axis=0)

    low, high = np.array([-2.5, -1.3, 0.0]), np.array([2.6, 1.3, 2.0])
    step = min(1.25 * edge, 0.8 * shape.shape.thickness if wing or roof_rails else 0.08)
    points, faces = isosurface(g, low, high, step)
    points, label = snap_creases(points, faces, gs, 0.5 * step)
    points, faces, label = remesh(points, faces, label, gs, n_first, shape.fine, sweeps=4)
    if n_vertices < n_first:
        whole = np.zeros(len(faces), np.int64)  # too coarse for sharp edges
        points, faces, label = reduce_to(points, faces, whole, n_vertices, shape.fine)
        faces = flips(points, faces, label)
    return Mesh.from_cells(points, faces, name=f"car_{style}")
