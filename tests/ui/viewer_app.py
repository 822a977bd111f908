"""An app for the browser tests of the viewer: every feature on its own page, small meshes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

import hsd
from hsd.hodge.decomposition import decompose
from hsd.ui.viewer import show
from hsd.ui.viewer.assets import ensure_static
from hsd.ui.vtk_scene import VtkLayer, VtkScene, show_vtk_scene
from hsd.viz import build
from hsd.viz.palettes import PARTS
from hsd.viz.scene import (
    Arrows,
    Clip,
    Colour,
    Control,
    Isolines,
    Marker,
    Mix,
    Panel,
    Scene,
    Tool,
)

st.set_page_config(page_title="viewer", layout="wide")
ensure_static(Path(__file__).parent)


@st.cache_resource(max_entries=8)
def surface(name: str, n: int):
    mesh = hsd.gallery(name, n)
    return mesh, build.surface_of(mesh)


@st.cache_resource(max_entries=8)
def modes(name: str, n: int, k: int, n_modes: int):
    mesh, drawn = surface(name, n)
    basis = hsd.lowest_modes(mesh, k, n_modes)
    columns = build.mode_columns(basis)
    glyphs = build.glyphs_of(mesh, drawn) if k == 1 else None
    return basis, columns, glyphs, None if glyphs is None else build.mode_arrows(basis, glyphs)


def modes_page() -> None:
    n = int(st.query_params.get("n", 3000))
    k = int(st.query_params.get("k", 0))
    name = st.query_params.get("mesh", "torus")
    theme = st.sidebar.radio("Theme", ["auto", "light", "dark", "projector"])
    wire = st.sidebar.checkbox("Edges")
    iso = st.sidebar.checkbox("Isolines")
    two = st.sidebar.checkbox("Two views")
    step = st.sidebar.slider("Server mode", 0, 15, 3)
    st.text_input("Notes", key="notes")
    _, drawn = surface(name, n)
    basis, columns, glyphs, vectors = modes(name, n, k, 16)
    control = Control("mode", "Mode", 0, basis.n_modes - 1, step, labels=columns.labels, play=True, keys=True)
    colour = Colour(Mix(columns, mode="mode"), "signed" if k == 0 else "unsigned", "mode" if k == 0 else "|mode|", "1")
    arrows = None if k == 0 else Arrows(glyphs, Mix(vectors, mode="mode"), name="length")
    panel = Panel(drawn, colour, f"Mode of Δ{k}", arrows, wireframe=wire, isolines=Isolines(12) if iso else None)
    panels = (panel, panel) if two else (panel,)
    scene = Scene(panels, (control,), theme=theme, caption=f"Eigenfunctions of Δ{k} on the {name}; absolute.")
    events = show(scene, "modes", on_pick=lambda pick: st.session_state.update(picked=pick))
    pick = st.session_state.get("picked")
    if pick is not None:
        st.code(f"{pick.face} {pick.bary} {pick.position}", language=None)
    st.caption(f"run {st.session_state.setdefault('runs', 0)}; controls {dict(events.controls)}")
    st.session_state.runs += 1


def field_page() -> None:
    mesh, drawn = surface("sphere", int(st.query_params.get("n", 3000)))
    p = mesh.points3
    step = st.sidebar.slider("Step", 0, 20, 0, key="step")
    values = np.sin(3 * p[:, 0] + 0.3 * step) * np.cos(2 * p[:, 1])
    show(Scene((Panel(drawn, Colour(values, name="field", unit="m"), "Field"),), caption="A field."), "field")
    st.caption(f"step {step}")


@st.cache_resource(max_entries=4)
def parts(name: str, n: int):
    mesh, _ = surface(name, n)
    basis, _, glyphs, _ = modes(name, n, 1, 16)
    rng = np.random.default_rng(1)
    form = basis.modes @ (rng.standard_normal(basis.n_modes) / (1 + np.arange(basis.n_modes)) ** 0.3)
    done = decompose(mesh, form, 1)
    cochains = np.column_stack([done.exact, done.coexact, done.harmonic])
    names = ("exact", "coexact", "harmonic")
    return (
        build.form_columns(mesh, 1, cochains, groups=names),
        build.glyph_columns(mesh, glyphs, 1, cochains, groups=names),
        glyphs,
    )


def blend_page() -> None:
    n = int(st.query_params.get("n", 3000))
    _, drawn = surface("double_torus", n)
    colours, vectors, glyphs = parts("double_torus", n)
    ids = {"exact": "wd", "coexact": "wdelta", "harmonic": "wgamma"}
    controls = tuple(Control(ids[part], f"w {PARTS[part].name}", 0, 2, 1, 0.01) for part in ids)
    panels = []
    for i, part in enumerate((None, *ids)):
        keep = ids if part is None else {part: ids[part]}
        coefficients = np.ones(3) if part is None else np.eye(3)[i - 1]
        weight = {g: c for g, c in keep.items()}
        panels.append(
            Panel(
                drawn,
                Colour(Mix(colours, coefficients, weights=weight), "unsigned", "|ω|", "1/m", scale="all"),
                "ω" if part is None else PARTS[part].name,
                Arrows(glyphs, Mix(vectors, coefficients, weights=weight), "|ω|", "1/m"),
            )
        )
    show(Scene(tuple(panels), controls, caption="ω = w_d dα + w_δ δβ + w_γ γ."), "blend", height=560)


def place_page() -> None:
    _, drawn = surface("sphere", 1500)
    points = st.session_state.setdefault("points", {})

    def placed(event) -> None:
        if event.op == "add":
            points[event.new_id] = (event.kind, event.face, event.bary)
        elif event.op == "move":
            points[event.id] = (points[event.id][0], event.face, event.bary)
        else:
            del points[event.id]

    markers = tuple(Marker(i, f, b, kind=k, colour="#D55E00", label=i) for i, (k, f, b) in points.items())
    tool = Tool("place", "vortex")
    show(Scene((Panel(drawn, title="Click to place", markers=markers),), tool=tool), "place", on_place=placed)
    st.code(repr(points), language=None)


def tets_page() -> None:
    mesh, drawn = surface("ball_with_cavity", 1500)
    p = mesh.points3
    values = p[:, 0] * p[:, 2] + 0.3 * np.sin(4 * p[:, 1])
    control = Control("cut", "Clip plane", 0, 1, 0.55, 0.01, keys=True)
    panel = Panel(drawn, Colour(values, name="potential", unit="V"), "Cut open", clip=Clip((0, 1, 0), "cut"))
    mesh2, torus = surface("torus", 3000)
    homology = hsd.hodge.homology.Homology(mesh2.complex)
    loops = homology.cycles(1)
    tubes = []
    for i, colour in enumerate(("#E69F00", "#56B4E9")):
        tubes += build.loop_tubes(torus, mesh2.complex.simplices(1), loops[:, i], colour, f"generator {i + 1}")
    parity = (mesh2.points3[mesh2.complex.simplices(2)].mean(axis=1)[:, 0] > 0).astype(float)
    second = Panel(
        torus,
        Colour(parity, "category", "side", where="face", categories=("left", "right")),
        "Generators",
        tubes=tuple(tubes),
    )
    show(Scene((panel, second), (control,), caption="A ball with a cavity, cut; generators of H₁."), "tets")


def report_page() -> None:
    mesh, drawn = surface("sphere", 500)
    start = st.session_state.setdefault("start", 0)
    if st.button("Reset"):
        start = st.session_state.start = 1
    control = Control("level", "Level", 0, 10, start, report=True)
    values = mesh.points3[:, 2]
    panel = Panel(drawn, Colour(values, name="z"), isolines=Isolines(6, level="level"))
    events = show(Scene((panel,), (control,)), "report")
    st.markdown(f"server knows {events.controls.get('level', 0):.0f}")


def vtk_page() -> None:
    mesh = hsd.gallery("ball", 800)
    p = mesh.points3
    data = {"u": p[:, 0] * p[:, 1]}
    cells = mesh.complex.simplices(3)
    layers = (
        VtkLayer(p, cells, data, filter={"name": "outline"}, options={"color": "#888888"}),
        VtkLayer(
            p,
            cells,
            data,
            filter={"name": "slice", "normal": [0, 1, 0], "origin": [0, 0, 0]},
            options={"scalars": "u"},
        ),
    )
    st.markdown("shown: " + show_vtk_scene(VtkScene(layers, size=(700, 420)), "vtk"))


st.set_option("client.showSidebarNavigation", True)  # as app.py does
st.navigation(
    [
        st.Page(modes_page, title="Modes", default=True, url_path="modes"),
        st.Page(field_page, title="Field", url_path="field"),
        st.Page(blend_page, title="Blend", url_path="blend"),
        st.Page(place_page, title="Place", url_path="place"),
        st.Page(tets_page, title="Tets", url_path="tets"),
        st.Page(report_page, title="Report", url_path="report"),
        st.Page(vtk_page, title="VTK", url_path="vtk"),
    ]
).run()
