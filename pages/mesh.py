"""The mesh: gallery, upload, report, defects, repair, units, download, and an estimate of what the other pages cost."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from hsd.mesh.primitives import GALLERY
from hsd.ui import cached, mesh_tabs
from hsd.ui.bound import bound_number, bound_selectbox, bound_slider, bound_toggle
from hsd.ui.gallery_strip import gallery_strip
from hsd.ui.page import mesh_code, page
from hsd.ui.state import MeshState, get_state, update
from hsd.ui.upload import forget_error, upload_box, upload_error
from hsd.ui.viewer import show
from hsd.viz.defects import marked_panel, marks_of, short
from hsd.viz.modes import CLIP_NORMAL
from hsd.viz.scene import Clip, Control, Scene

LARGEST = 20_000  # vertices that the slider offers; a link may ask for more


def choose(name: str) -> None:
    """Another shape of the gallery, at the size set."""
    forget_error()
    update(mesh=MeshState(name=name, n=get_state().mesh.n))


def choose_listed() -> None:
    choose(get_state().mesh.name)


def moved(values) -> None:
    """The slider of the cut was released."""
    update(**{"mesh.clip": float(values["clip"])})


with page("Mesh") as p:
    choice = p.state.mesh
    with st.sidebar:
        if choice.upload:
            st.button("Back to the gallery", on_click=choose, args=(choice.name,), width="stretch")
            st.caption(f"Uploaded: {p.mesh.name}")
        else:
            bound_selectbox("Shape", "mesh.name", GALLERY, lambda name: name.replace("_", " "), on_change=choose_listed)
            top = max(LARGEST, choice.n)
            bound_slider("Resolution: number of vertices, about", "mesh.n", 100, top, on_change=forget_error)
            st.caption(GALLERY[choice.name].sentence)
        bound_toggle("Show edges", "mesh.edges")
        upload_box()
        if choice.upload:
            source = cached.file_mesh(choice)
            if source.dim <= 1 or choice.fill_triangles:
                bound_toggle("Fill every triangle of edges (clique complex)", "mesh.fill_triangles")
            if any(notice.kind == "alpha_complex" for notice in source.notices):
                bound_number("Radius of the alpha complex (0: automatic)", "mesh.radius", 0.0)
    upload_error()
    if not p.state.present:
        gallery_strip("" if choice.upload else choice.name, choose)

    notices = cached.notices_of(p.mesh)
    marks = marks_of(p.mesh, notices)
    picture, facts = st.columns([3, 2], gap="medium")
    with facts:
        report = cached.report_of(p.mesh)
        mesh_tabs.betti(report)
        if marks:
            kinds = ["", *(mark.kind for mark in marks), "none"]
            bound_selectbox("Mark in the picture", "mesh.defect", kinds, lambda kind: short(kind) or "all")
        mesh_tabs.findings(p.mesh, notices)
        mesh_tabs.facts_table(report, choice.unit)
    with picture:
        choice = get_state().mesh
        shown = [mark for mark in marks if choice.defect in ("", mark.kind)]
        panel = marked_panel(p.mesh, cached.surface_of(p.mesh), shown, wireframe=choice.edges)
        controls: tuple[Control, ...] = ()
        if p.mesh.dim == 3 and not shown:  # cavities lie inside; marks are shown whole
            panel = replace(panel, clip=Clip(CLIP_NORMAL, "clip"))
            controls = (Control("clip", "Cut at", 0.0, 1.0, choice.clip, 0.01, report=True),)
        scene = Scene((panel,), controls, theme=p.state.theme, caption=mesh_tabs.caption(p.mesh, shown))
        show(scene, "mesh/main", 560 if p.state.present else 430, on_controls=moved)
        mesh_tabs.show_tabs(p, mesh_code(get_state(), p.mesh))
