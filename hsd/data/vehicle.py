"""Surfaces of vehicles from files, such as those of DrivAerNet++ (STL, VTK): checked, and scaled to radius 1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hsd.errors import MetricError, TopologyError
from hsd.mesh.decimate import require_closed_surface
from hsd.mesh.io import load_mesh
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures, zero_measure
from hsd.mesh.repair import repair


def load_vehicle(path: str | os.PathLike, steps: Sequence[str] = ()) -> Mesh:
    """The closed surface in a file, its centroid by area at 0 and its farthest vertex at distance 1, normals outwards.

    steps : of :func:`hsd.mesh.repair.repair`, done first in this order, such as ("split", "largest")
    Raises what :func:`hsd.mesh.io.load_mesh` raises; InputError (degree) and TopologyError (several_pieces,
    non_manifold, not_closed, non_orientable) for what is no closed surface in one piece, MetricError (zero_measure) for
    triangles without area; each sentence names the step of :func:`hsd.mesh.repair.repair` that helps.
    """
    mesh = load_mesh(path)
    if steps:
        mesh, _ = repair(mesh, tuple(steps))
    if mesh.dim == 2 and mesh.complex.n_components > 1:
        raise TopologyError(
            f"A vehicle is one closed surface, but {mesh.name} has {mesh.complex.n_components} pieces: keep the "
            "largest (repair steps 'split', 'largest') or join them to one skin in the program that made them.",
            "several_pieces",
        )
    require_closed_surface(mesh, "A flow round a vehicle")
    flat = zero_measure(mesh, 2)
    if len(flat):
        raise MetricError(
            f"{len(flat)} triangle(s) of {mesh.name} have no area, the first is triangle {flat[0]}: repair it (step "
            "'collapse').",
            "zero_measure",
            flat[:100],
        )
    area = measures(mesh, 2)
    cells = mesh.oriented_cells()
    points = mesh.points - area @ mesh.points[cells].mean(axis=1) / area.sum()
    points = points / np.linalg.norm(points, axis=1).max()
    a, b, c = points[cells].transpose(1, 0, 2)
    winding = mesh.winding
    if np.einsum("ij,ij->", a, np.cross(b, c)) < 0:
        winding = -np.ones(len(cells), np.int8) if winding is None else -winding
    return replace(mesh, points=points, winding=winding, point_fields={}, cell_fields={})
