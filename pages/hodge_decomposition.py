"""Hodge Decomposition: compose a field and see it as exact, coexact and harmonic part."""

import streamlit as st

from hsd.errors import HsdError, TopologyError
from hsd.hodge.compose import length_of
from hsd.ui import cached, compose_panel, compose_state
from hsd.ui import decomposition_view as view
from hsd.ui.bound import bound_segments, bound_toggle
from hsd.ui.export import figure_html, table_csv
from hsd.ui.page import page, provenance_record, space_sentence
from hsd.ui.space import figure_ink, refused, space_controls
from hsd.ui.state import get_state, update
from hsd.ui.viewer import show
from hsd.viz import decomposition_scene as scenes
from hsd.viz.decomposition_figures import energy_bar, heat_figure
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


def row_chosen() -> None:
    """A row of the circulation table was clicked: its loop is drawn."""
    rows = (st.session_state.get("decomposition/periods") or {}).get("selection", {}).get("rows", [])
    update(**{"decomposition.loop": int(rows[0]) if rows else -1})


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
    if options.show == "heat":
        flow, times = view.heat_of(solver, field, parts)
        st.session_state["decomposition/times"] = (times / length_of(solver) ** 2).tolist()
        step = view.heat_step(times, length_of(solver) ** 2, options.time)
        ready = view.heat_picture_of(mesh, field, flow, times)
        text = f"Heat flow e^(−tΔ)ω: the exact and coexact parts decay, γ stays. Colour: {colour}."
        return scenes.heat_scene(ready, surface, step, caption=text, **drawn), []
    if options.show == "zeros":
        if state.k != 1:
            return None, ["Indices of zeros are those of 1-forms on surfaces; choose degree 1."]
        try:
            found = view.zeros_of(mesh, field, parts)
        except TopologyError as error:
            return None, [error.message]
        text = "Zeros: red source, blue sink, orange and pink vortices ↺ ↻, black saddle (index −1)."
        return scenes.zeros_scene(
            picture, surface, found, arrows=options.arrows, theme=state.theme, caption=text
        ), []
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
    ), []


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


def energies(state, parts, checks) -> None:
    """The energy bar and Pythagoras."""
    figure = energy_bar(parts.energies, figure_ink(state))
    shares = ", ".join(f"{p} {100 * parts.energies[p] / (parts.energies['total'] or 1):.4g} %" for p in WEIGHTS)
    st.plotly_chart(figure, theme=None, key="decomposition/energy", alt=f"Shares of the energy: {shares}",
                    config={"displayModeBar": False})  # fmt: skip
    st.caption(
        f"‖ω‖² = {parts.energies['total']:.6g}: {shares}. Pythagoras: |‖ω‖² − Σ‖part‖²| / ‖ω‖² = "
        f"{checks.pythagoras:.1e}; ‖ω − dα − δβ − γ‖ / ‖ω‖ = {parts.residual:.1e}, each part from its own solve."
    )


def check_marks(checks) -> None:
    """The four identities, orthogonality and Pythagoras: green where they hold."""
    with st.container(horizontal=True, key="decomposition-checks"):
        for check in checks.checks:
            mark(f"{check.name} = 0: {check.value:.1e}", check.holds)
        mark(f"⟨·,·⟩ = 0: {checks.orthogonality:.1e}", checks.orthogonality <= view.ZERO)
        mark(f"Pythagoras: {checks.pythagoras:.1e}", checks.pythagoras <= view.ZERO)


def mark(text: str, good: bool) -> None:
    st.badge(text, color="green" if good else "red", icon=":material/check:" if good else ":material/close:")


def broken_words(state, checks) -> None:
    """What the break did, and why."""
    if not state.decomposition.broken:
        st.caption("Backward errors: what is left over, divided by the sizes of what was summed; up to 1e-10 is zero.")
        return
    failed = [c for c in checks.checks if not c.holds]
    words = [c.name for c in failed]
    if checks.orthogonality > view.ZERO:
        words.append("orthogonality")
    if checks.pythagoras > view.ZERO:
        words.append("Pythagoras")
    if not words:
        st.info("Nothing fails here: this operator does not enter for this degree and field.")
        return
    why = failed[0].why if failed else view.WHY[state.decomposition.broken]
    st.warning(f"Fails: {', '.join(words)}. {why.format(faces='cofaces')}")


def side(p, state, field, parts, solver) -> None:
    """Numbers beside the picture."""
    broken = state.decomposition.broken if state.decomposition.show == "checks" else ""
    checks = view.checks_of(solver, field, parts, broken)
    energies(state, parts, checks)
    check_marks(checks)
    if state.decomposition.show == "checks":
        broken_words(state, checks)
    st.markdown(view.betti_words(p.mesh, state.k, state.bc))
    if state.decomposition.show == "heat":
        heat_numbers(p, state, field, parts, solver)
    elif state.decomposition.show == "zeros":
        zero_numbers(p, state, field, parts)
    else:
        circulation_tables(state, solver, parts)


def heat_numbers(p, state, field, parts, solver) -> None:
    flow, times = view.heat_of(solver, field, parts)
    rates = view.lowest_eigenvalues(state, p.mesh)
    now = times[view.heat_step(times, length_of(solver) ** 2, state.decomposition.time)]
    figure = heat_figure(times[1:], flow.energies(times[1:]), now, rates, figure_ink(state), length_of(solver) ** 2)
    st.plotly_chart(figure, theme=None, key="decomposition/heat", alt="Energies of the three parts against time")
    words = ", ".join(f"{part} λ = {value:.6g}" for part, value in rates.items())
    st.caption(
        f"‖part(t)‖² on log axes; thin: e^(−2λt) of the lowest eigenvalues ({words}). "
        f"L² = {length_of(solver) ** 2:.4g}, the squared length scale measure^(2/n)/4π."
    )
    with st.expander("Data"):
        st.dataframe(view.heat_rows(flow, times), hide_index=True, key="decomposition/heatdata")
        html = figure_html(figure, provenance_record(p.mesh, state))
        st.download_button("HTML", html, "heat.html", on_click="ignore")


def zero_numbers(p, state, field, parts) -> None:
    try:
        found = view.zeros_of(p.mesh, field, parts) if state.k == 1 else {}
    except TopologyError:
        found = {}
    if not found:  # the picture's place says why
        return
    st.markdown("**Poincaré–Hopf**: Σ index + boundary term = χ.")
    st.dataframe(view.zero_sums(found), hide_index=True, key="decomposition/zerosums")
    st.caption(
        "Index of a triangle: turns of the field around it, corrected by its curvature. Boundary term: turns of the "
        "field against the tangent along the boundary, taken off; 0 where there is no boundary."
    )
    with st.expander("All zeros"):
        st.dataframe(view.zero_rows(found), hide_index=True, key="decomposition/zeros")


def circulation_tables(state, solver, parts) -> None:
    k = state.k
    if len(parts.periods) == 0:
        st.markdown(f"b{'₀₁₂₃'[k]} = 0: there are no generators of degree {k}, so γ = 0.")
        return
    st.markdown("**Circulation of γ**: the same for every loop of a class. Tick a row to see its loop.")
    config = {"∮ γ": st.column_config.NumberColumn(format="%.10g")}
    st.dataframe(
        view.period_rows(parts), hide_index=True, key="decomposition/periods", on_select=row_chosen,
        selection_mode="single-row", column_config=config, height=min(38 + 36 * len(parts.periods), 220),
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(view.period_words(parts))
        if state.decomposition.loop >= 0:
            st.button("Hide the loop", on_click=update, kwargs={"decomposition.loop": -1}, key="decomposition/hide")
    st.markdown("**Depends on the loop**: what is not closed, around the loops drawn. ∮ dα = 0 always.")
    rows = view.loop_rows(solver, parts)
    numbers = {name: st.column_config.NumberColumn(format="%.4g") for name in rows if name != "generator"}
    height = min(38 + 36 * len(parts.periods), 220)
    st.dataframe(rows, hide_index=True, key="decomposition/loops", column_config=numbers, height=height)


def details(p, state, field, parts, solver) -> None:
    tabs = st.tabs(["Inner products", "Points", "Export", "Code"], key="decomposition/tabs", on_change="rerun")
    makers = [lambda: products(p, state, field, parts, solver), lambda: points(p, field),
              lambda: exports(p, state, field, parts), lambda: st.code(view.code(state, p.mesh, field))]  # fmt: skip
    for tab, make in zip(tabs, makers):
        if tab.open:
            with tab:
                make()


def products(p, state, field, parts, solver) -> None:
    broken = state.decomposition.broken if state.decomposition.show == "checks" else ""
    rows = view.inner_rows(view.checks_of(solver, field, parts, broken))
    left, right = st.columns(2)
    config = {name: st.column_config.NumberColumn(format="%.3e") for name in list(rows)[1:]}
    left.dataframe(rows, hide_index=True, column_config=config, key="decomposition/inner")
    config = {"‖·‖²": st.column_config.NumberColumn(format=SCIENCE)}
    right.dataframe(view.energy_rows(parts), hide_index=True, column_config=config, key="decomposition/energies")


def points(p, field) -> None:
    if field.composition is None:
        st.markdown(field.sentence)
        return
    st.dataframe(view.point_rows(field.composition), hide_index=True, key="decomposition/points")


def exports(p, state, field, parts) -> None:
    name = f"{p.mesh.name}_k{state.k}_{state.bc}_{state.star}_{p.mesh.content_hash[:8]}"
    with st.container(horizontal=True):
        for suffix in view.formats_for(p.mesh, state.k):
            st.download_button(
                suffix.upper().lstrip("."), view.exporter(p.mesh, field, parts, suffix), f"{name}{suffix}",
                key=f"decomposition/export{suffix}", on_click="ignore",
            )  # fmt: skip
        table = table_csv(view.energy_rows(parts), provenance_record(p.mesh, state))
        st.download_button("Energies CSV", table, f"{name}.csv", "text/csv", on_click="ignore")
        if field.composition is not None:
            st.download_button("Composition JSON", view.composition_json(field), "composition.json", on_click="ignore")


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
        parts = view.decomposition_of(state, p.mesh, field)
    except HsdError as error:
        if not refused(error, p.mesh):
            raise
        return
    left, right = st.columns([3, 2])
    with left:
        picture(p, state, field, parts, solver)
    with right:
        side(p, state, field, parts, solver)
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
