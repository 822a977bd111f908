"""Streamlines of a field in tetrahedra as VTK scenes: the truth beside one model."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from hsd.mesh.mesh import Mesh
from hsd.ui.state import AppState
from hsd.ui.vtk_scene import VtkLayer, VtkScene
from hsd.viz import build

N_LINES = 90
LENGTH = 4.0
"""Of a line to either side, in radii: closed ones would go round for ever."""
SIZE, ZOOM = (620, 460), 1.4


def lines_scene(mesh: Mesh, title: str, nodes: np.ndarray, top: float, theme: str) -> VtkScene:
    """Streamlines of node vectors (n_vertices, 3) coloured by length up to ``top``, and the cavity.

    theme : "light", "dark" or "projector"
    """
    length = np.linalg.norm(nodes, axis=1)
    radius = float(np.abs(mesh.points).max())
    data = {"B": np.asarray(nodes, float), "|B|": length}
    flow = {"name": "streamlines", "vectors": "B", "seeds": seeds_in(mesh).tolist(), "tube": 0.012 * radius,
            "max_length": LENGTH * radius}  # fmt: skip
    options = {"scalars": "|B|", "clim": [0.0, top]}
    lines = VtkLayer(mesh.points, mesh.complex.simplices(3), data, filter=flow, options=options, kind="unsigned")
    boundary = build.surface_of(mesh)
    shell = VtkLayer(boundary.points, boundary.triangles, options={"color": "#9aa3ad", "opacity": 0.15})
    alt = f"Streamlines of {title} in {mesh.name}, coloured by their strength up to {top:.3g}"
    return VtkScene((lines, shell), SIZE, title, theme, alt, ZOOM)


def seeds_in(mesh: Mesh) -> np.ndarray:
    """Where lines begin, (N_LINES, 3): spread evenly through 0.6 of the ball outside of its cavity, the same for all
    fields, so that lines that differ are of fields that differ."""
    distance = np.linalg.norm(mesh.points, axis=1)
    low, high = float(distance.min()), 0.6 * float(distance.max())
    u = qmc.Halton(3, scramble=False).random(N_LINES + 1)[1:]
    height, angle = 2 * u[:, 0] - 1, 2 * np.pi * u[:, 1]
    flat = np.sqrt(1 - height**2)
    directions = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), height])
    return directions * np.cbrt(low**3 + (high**3 - low**3) * u[:, 2])[:, None]


def theme_of(state: AppState, dark: bool) -> str:
    """The theme of a VTK scene."""
    if state.theme == "auto":
        return "dark" if dark else "light"
    return state.theme
