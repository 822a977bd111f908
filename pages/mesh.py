"""Torus, its report and a mode."""

import streamlit as st

from hsd.ui import cached
from hsd.viz.surface import surface_figure

N_MODES = 16
DEGREES = {0: "0-forms (functions)", 1: "1-forms (vector fields)"}

st.title("Torus, its report and a mode")
with st.sidebar:
    n_vertices = st.slider("Number of vertices", 500, 5000, 2000, step=500, key="mesh_n_vertices")
    degree = st.radio("Degree of the forms", list(DEGREES), format_func=DEGREES.get, key="mesh_degree")
    number = st.slider("Mode", 0, N_MODES - 1, 1 - degree, key=f"mesh_mode_{degree}")

mesh = cached.gallery_mesh("torus", n_vertices)
facts = cached.gallery_report("torus", n_vertices)
picture, table = st.columns([3, 2])

with table:
    numbers = ", ".join(f"b{k} = {b}" for k, b in enumerate(facts["betti_Q"]))
    st.markdown(f"**Betti numbers over Q: {numbers}**")
    st.table(cached.report_table("torus", n_vertices))
    for warning in facts["warnings"]:
        st.warning(warning["message"])

with picture:
    mode = cached.gallery_mode("torus", n_vertices, degree, N_MODES, number)
    figure = surface_figure(mesh.points3, mesh.oriented_cells(), mode.values, signed=mode.signed, label=mode.label)
    st.plotly_chart(figure, theme=None, width="stretch", key="mesh_picture")
    st.caption(
        f"Mode {number} of the Hodge Laplacian on {degree}-forms: {mode.part} part, eigenvalue {mode.eigenvalue:.4g}. "
        f"Colour: {mode.label}. The torus has no boundary, so no boundary condition is imposed."
    )
