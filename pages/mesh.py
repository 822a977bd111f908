"""The mesh in force."""

import streamlit as st

from hsd.mesh.primitives import GALLERY
from hsd.ui import cached
from hsd.ui.bound import bound_selectbox, bound_slider
from hsd.ui.page import page
from hsd.ui.viewer import show
from hsd.viz.scene import Panel, Scene

with page("Mesh") as p:
    with st.sidebar:
        bound_selectbox("Shape", "mesh.name", GALLERY)
        bound_slider("Number of vertices", "mesh.n", 100, 20_000)
    show(Scene((Panel(cached.surface_of(p.mesh)),), caption=p.mesh.name), key="mesh/main")
    st.write(cached.report_of(p.mesh)["betti_Q"])
