"""App that bench_viewer.py measures: a field step in our viewer and in stpyvista, and scrubbing in the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

import hsd
from hsd.ui.viewer import show
from hsd.ui.viewer.assets import ensure_static
from hsd.viz import build
from hsd.viz.scene import Colour, Columns, Control, Mix, Panel, Scene

st.set_page_config(page_title="bench", layout="wide")
ensure_static(Path(__file__).parent)
N_MODES = 64


@st.cache_resource(max_entries=4)
def surface(n: int):
    mesh = hsd.gallery("sphere", n)
    return mesh, build.surface_of(mesh)


@st.cache_resource(max_entries=4)
def waves(n: int) -> Columns:
    """64 smooth fields: as many bytes as modes, without the eigen-solve."""
    p = surface(n)[0].points3
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((3, N_MODES)) * np.linspace(1, 8, N_MODES)
    return Columns(np.sin(p @ direction))


def values_of(p: np.ndarray, step: int) -> np.ndarray:
    return np.sin(3 * p[:, 0] + 0.3 * step) * np.cos(2 * p[:, 1])


n = int(st.query_params.get("n", 3000))
what = st.query_params.get("what", "ours")
step = st.sidebar.slider("Step", 0, 20, 0)
st.sidebar.checkbox("Other")
mesh, drawn = surface(n)
if what == "ours":
    control = Control("step", "Own", 0, 20, 0, keys=True, report=True)
    step += int(st.session_state.get("ours", {}).get("controls", {}).get("step", 0))
    panel = Panel(drawn, Colour(values_of(mesh.points3, step), name="field", limits=(-1, 1)))
    show(Scene((panel,), (control,), rev=f"step {step}"), "ours", height=420)
elif what == "scrub":
    views = int(st.query_params.get("views", 1))
    control = Control("mode", "Mode", 0, N_MODES - 1, 0)
    panel = Panel(drawn, Colour(Mix(waves(n), mode="mode"), name="mode"))
    show(Scene((panel,) * views, (control,), columns_of_panels=views), "scrub", height=420)
else:
    import pyvista as pv
    from stpyvista import stpyvista

    pv.OFF_SCREEN = True
    faces = np.column_stack([np.full(len(drawn.triangles), 3), drawn.triangles]).ravel()
    data = pv.PolyData(drawn.points, faces)
    data["field"] = values_of(drawn.points, step)
    plotter = pv.Plotter(window_size=(700, 420))
    plotter.add_mesh(data, scalars="field", cmap="coolwarm", clim=(-1, 1))
    stpyvista(plotter, key="stpv")
st.caption(f"done {step}")
