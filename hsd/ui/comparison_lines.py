"""Streamlines of a field in tetrahedra as VTK scenes: the truth beside one model."""

from __future__ import annotations

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.ui.state import AppState
from hsd.ui.vtk_scene import VtkLayer, VtkScene
from hsd.viz import build

N_LINES = 90
LENGTH = 4.0
"""Of a line to either side, in radii: closed ones would go round for ever."""
SIZE = (620, 460)


def lines_scene(mesh: Mesh, title: str, nodes: np.ndarray, top: float, theme: str) -> VtkScene:
    """Streamlines of node vectors (n_vertices, 3) coloured by length up to ``top``, and the cavity.

    theme : "light", "dark" or "projector"
    """
    length = np.linalg.norm(nodes, axis=1)
    radius = float(np.abs(mesh.points).max())
    data = {"B": np.asarray(nodes, float), "|B|": length}
    flow = {"name": "streamlines", "vectors": "B", "n_points": N_LINES, "radius": 0.6 * radius, "tube": 0.012 * radius,
            "max_length": LENGTH * radius}  # fmt: skip
    options = {"scalars": "|B|", "clim": [0.0, top]}
    lines = VtkLayer(mesh.points, mesh.complex.simplices(3), data, filter=flow, options=options, kind="unsigned")
    boundary = build.surface_of(mesh)
    shell = VtkLayer(boundary.points, boundary.triangles, options={"color": "#9aa3ad", "opacity": 0.15})
    alt = f"Streamlines of {title} in {mesh.name}, coloured by their strength up to {top:.3g}"
    return VtkScene((lines, shell), SIZE, title, theme, alt)


def theme_of(state: AppState, dark: bool) -> str:
    """The theme of a VTK scene."""
    if state.theme == "auto":
        return "dark" if dark else "light"
    return state.theme
