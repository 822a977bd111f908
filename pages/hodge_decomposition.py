"""Hodge Decomposition: compose a field and see it as exact, coexact and harmonic part."""

import streamlit as st

from hsd.errors import HsdError, TopologyError
from hsd.hodge.compose import length_of
from hsd.ui import cached, compose_panel, compose_state
from hsd.ui import decomposition_numbers as numbers
from hsd.ui import decomposition_tables as tables
from hsd.ui import decomposition_view as view
from hsd.ui import decomposition_work as work
from hsd.ui.bound import bound_segments, bound_toggle
from hsd.ui.export import download_row, parts_stem, table_csv
from hsd.ui.modes_view import files_of
from hsd.ui.page import page, provenance_record, space_sentence
from hsd.ui.space import refused, space_controls
from hsd.ui.state import get_state, update
from hsd.ui.viewer import show
from hsd.viz import decomposition_scene as scenes
from hsd.viz.scene import Tool

VIEWS = {"parts": "Parts", "potentials": "Potentials", "heat": "Heat flow", "zeros": "Zeros", "checks": "Checks"}
BREAKS = {"": "Nothing broken", "wrong star": "Wrong ⋆ in δ", "flipped sign": "Flipped sign in d"}
WEIGHTS = {"exact": "weight_exact", "coexact": "weight_coexact", "harmonic": "weight_harmonic"}
SCIENCE = "%.6e"


def moved(values) -> None:
    """Sliders of the viewer were released."""
    if "clip" in values:
        update(**{"decomposition.clip": float(values["clip"])})
    if "t" in values and get_state().decomposition.show == "heat":
        times = st.session_state.get("decomposition/times")
        if times:
            update(**{"decomposition.time": times[min(round(values["t"]), len(times) - 1)]})


def picked(pick) -> None:
    """A value was read: the weights of that moment go into the link."""
    names = {scenes.WEIGHTS[part]: f"decomposition.{name}" for part, name in WEIGHTS.items()}
    update(**{names[w]: float(v) for w, v in pick.controls.items() if w in names})


def scene_of(p, state, field, parts, surface, solver):
    """The scene of the view in force, and sentences on what it lacks."""
    mesh, options = p.mesh, state.decomposition
    picture = view.parts_picture_of(mesh, field, parts)
    common = {"theme": state.theme, "clip": options.clip if mesh.dim == 3 else None}
    drawn = common | {"arrows": options.arrows}
    colour = "length of the vector" if picture.kind == "unsigned" else "value"
    if options.show == "potentials":
        text = "Potentials with isolines: ω = dα + δβ + γ with δα = 0 and dβ = 0."
        return scenes.potentials_scene(mesh, surface, parts, view.glyphs_or_none(mesh), caption=text, **drawn)
    if options.show == "checks":
        checks = view.checks_of(solver, field, parts, options.broken)
        text = "Where each expression is not zero, relative to the size of its terms; black is zero."
        return scenes.checks_scene(mesh, surface, checks, state.k, caption=text, **common), []
    if picture.columns is None:
        return None, [picture.why_not]
    if options.show == "heat" and not work.heat_is_open(mesh, state.k):
        work.ask_for_heat(mesh, state.k)
        return None, []
    if options.show == "heat":
        flow, times = view.heat_of(solver, field, parts)
        st.session_state["decomposition/times"] = (times / length_of(solver) ** 2).tolist()
        step = view.heat_step(times, length_of(solver) ** 2, options.time)
        ready = view.heat_picture_of(mesh, field, flow, times)
        text = f"Heat flow e^(−tΔ)ω: the exact and coexact parts decay, γ stays. Colour: {colour}."
        return scenes.heat_scene(ready, surface, step, caption=text, **drawn), []
    notes = []
    if options.show == "zeros":
        found, why = zeros_or_why(p, state, field, parts)
        if found:
            turning = "orange and pink vortices ↺ ↻" if mesh.orientation is not None else "orange vortex (of no sense)"
            text = f"Zeros: red source, blue sink, {turning}, black saddle (index −1)."
            look = {"arrows": options.arrows, "theme": state.theme, "caption": text}
            return scenes.zeros_scene(picture, surface, found, **look), []
        notes = [f"{why} The parts are shown without zeros."]
    tool = Tool()
    if options.tool != "look" and mesh.dim >= 2:
        tool = Tool("place", options.tool, scenes.POINT_COLOURS[options.tool])
    return scenes.parts_scene(
        picture,
        surface,
        {part: getattr(options, name) for part, name in WEIGHTS.items()},
        energies=parts.energies,
        markers=scenes.markers_of(field.composition) if field.composition and mesh.dim >= 2 else (),
        tool=tool,
        layers=view.loop_layers_of(mesh, state.bc, state.k, options.loop),
        caption=f"{field.sentence} Colour: {colour}, one scale. The weights are blended in the page.",
        **drawn,
    ), notes


def zeros_or_why(p, state, field, parts):
    """The zeros of ω and its parts; where indices have no meaning, nothing and one sentence."""
    if state.k != 1:
        return {}, "Indices of zeros are those of 1-forms on surfaces; choose degree 1."
    try:
        return view.zeros_of(p.mesh, field, parts), ""
    except TopologyError as error:
        return {}, error.message


def picture(p, state, field, parts, solver) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound_segments("View", "decomposition.show", VIEWS, VIEWS.get, label_visibility="collapsed")
        if state.decomposition.show == "checks":
            bound_segments("Break it", "decomposition.broken", BREAKS, BREAKS.get, label_visibility="collapsed")
    try:
        surface = cached.surface_of(p.mesh)
    except HsdError as error:
        st.info(f"{error.message} All numbers are complete without a picture.")
        return
    scene, notes = scene_of(p, get_state(), field, parts, surface, solver)
    if p.mesh.points is None:
        notes = [f"{p.mesh.name} is drawn on a stand-in shape, on which lengths are not true.", *notes]
    for note in notes:
        st.info(note)
    if scene is not None:
        show(
            scene,
            "decomposition/main",
            height=470,
            on_place=compose_state.placed,
            on_pick=picked,
            on_controls=moved,
        )


def details(p, state, field, parts, solver) -> None:
    tabs = st.tabs(["Inner products", "Points", "Export", "Code"], key="decomposition/tabs", on_change="rerun")
    makers = [lambda: products(p, state, field, parts, solver), lambda: points(p, field),
              lambda: exports(p, state, field, parts), lambda: code(p, state, field)]  # fmt: skip
    for tab, make in zip(tabs, makers):
        if tab.open:
            with tab:
                make()


def products(p, state, field, parts, solver) -> None:
    broken = state.decomposition.broken if state.decomposition.show == "checks" else ""
    rows = tables.inner_rows(view.checks_of(solver, field, parts, broken))
    left, right = st.columns(2)
    config = {name: st.column_config.NumberColumn(format="%.3e") for name in list(rows)[1:]}
    left.dataframe(rows, hide_index=True, column_config=config, key="decomposition/inner")
    config = {"‖·‖²": st.column_config.NumberColumn(format=SCIENCE)}
    right.dataframe(tables.energy_rows(parts), hide_index=True, column_config=config, key="decomposition/energies")


def points(p, field) -> None:
    if field.composition is None:
        st.markdown(field.sentence)
        return
    st.dataframe(tables.point_rows(field.composition), hide_index=True, key="decomposition/points")


def exports(p, state, field, parts) -> None:
    st.markdown(
        "The field, its parts and potentials; the energies; what was composed. Files carry the mesh's hash and the "
        "version. The picture: camera button of the view."
    )
    files = files_of(p.mesh, state.k, lambda suffix: view.exporter(p.mesh, field, parts, suffix))
    origin = provenance_record(p.mesh, state)
    files["CSV: energies"] = (".csv", lambda: table_csv(tables.energy_rows(parts), origin), "text/csv")
    if field.composition is not None:
        files["JSON: composition"] = (".json", lambda: view.composition_json(field).encode(), "application/json")
    download_row(files, parts_stem(p.mesh, state), "decomposition")


def code(p, state, field) -> None:
    st.code(view.code(state, p.mesh, field))
    st.code(work.figure_command(state, p.mesh, field), language="bash")


def main(p) -> None:
    space = st.sidebar.container()
    below = st.sidebar.container()
    with below:
        space_controls(p.mesh, n_modes=False)
        bound_toggle("Arrows", "decomposition.arrows")
    state = get_state()
    for note in compose_state.take_notes():
        st.warning(note)
    try:
        solver = cached.solver_of(p.mesh, state.star, state.bc)
        field = field_or_preset(state, p.mesh)
        state = get_state()
        with space:
            compose_panel.sidebar(p.mesh, field.composition, solver.betti[state.k])
        state = get_state()
        ready = work.ready_decomposition(state, p.mesh, field)
    except HsdError as error:
        if not refused(error, p.mesh):
            raise
        return
    if ready is None:
        st.caption(space_sentence(state, p.mesh))
        return
    field, parts = ready
    left, right = st.columns([3, 2])
    with left:
        picture(p, state, field, parts, solver)
    with right:
        numbers.side(p, state, field, parts, solver)
    st.caption(space_sentence(state, p.mesh))
    details(p, state, field, parts, solver)


def field_or_preset(state, mesh):
    """The field in force; where it cannot be had on this mesh, a sentence and the preset."""
    try:
        return compose_state.field_of(state, mesh)
    except HsdError as error:
        if not state.field or error.kind in ("star_not_positive", "no_metric"):
            raise
        st.warning(f"{error.message} Shown instead: the preset field.")
        update(field="")
        return compose_state.field_of(get_state(), mesh)


with page("Hodge Decomposition", "Every field is a gradient, a curl and a harmonic rest: ω = dα + δβ + γ.") as p:
    main(p)
