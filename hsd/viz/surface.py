"""A triangulated surface coloured by one value a vertex or a triangle, as a plotly figure."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

SIGNED_COLOURS = "RdBu_r"
UNSIGNED_COLOURS = "Viridis"


def surface_figure(
    points: np.ndarray, triangles: np.ndarray, values: np.ndarray, signed: bool, label: str, height: int = 600
) -> go.Figure:
    """Surface with colours: diverging and centred at zero where ``signed``, else sequential from zero.

    points (n, 3), triangles (m, 3); values (n,) one a vertex or (m,) one a triangle; label names the colour bar.
    """
    values = np.asarray(values, float)
    top = float(np.abs(values).max(initial=0.0)) or 1.0
    x, y, z = np.asarray(points, float).T
    i, j, k = np.asarray(triangles).T
    surface = go.Mesh3d(
        x=x,
        y=y,
        z=z,
        i=i,
        j=j,
        k=k,
        intensity=values,
        intensitymode="vertex" if len(values) == len(x) else "cell",
        colorscale=SIGNED_COLOURS if signed else UNSIGNED_COLOURS,
        cmin=-top if signed else 0.0,
        cmax=top,
        colorbar={"title": {"text": label, "side": "right"}, "thickness": 14, "len": 0.7},
        flatshading=False,
        lighting={"ambient": 0.75, "diffuse": 0.4, "specular": 0.05},
        hovertemplate="%{intensity:.4g}<extra></extra>",
    )
    hidden = {"visible": False}
    camera = {"eye": {"x": 1.6, "y": 1.6, "z": 1.2}}
    return go.Figure(
        surface,
        layout={
            "height": height,
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "paper_bgcolor": "white",
            "font": {"color": "#222222"},
            "scene": {"aspectmode": "data", "xaxis": hidden, "yaxis": hidden, "zaxis": hidden, "camera": camera},
            "uirevision": "camera",
        },
    )
