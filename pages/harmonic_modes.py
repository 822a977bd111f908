"""Harmonic Modes: the eigenmodes of Δ_k, their multiplicities, generators and periods."""

import numpy as np
import streamlit as st

from hsd.errors import HsdError
from hsd.ui import cached
from hsd.ui import modes_view as view
from hsd.ui.bound import bound_selectbox, bound_toggle
from hsd.ui.eigenwork import ready_basis
from hsd.ui.export import download_row, figure_html, file_stem, table_csv
from hsd.ui.page import page, provenance_record, space_sentence
from hsd.ui.space import figure_ink, nothing_left, refused, space_controls, unit_of_eigenvalues
from hsd.ui.state import get_state, update
from hsd.ui.viewer import show
from hsd.viz import modes
from hsd.viz.scene import Scene
from hsd.viz.spectrum_figures import eigenvalue_figure, period_figure

PLOT = "modes/eigenvalues"


def controls(mesh) -> None:
    with st.sidebar:
        space_controls(mesh)
        bound_toggle("Arrows", "modes.arrows")
        bound_toggle("Generators of homology", "modes.generators")
        bound_toggle("Edges of the mesh", "modes.edges")
        bound_toggle(
            "Rotate within a block",
            "modes.turn",
            help="Modes of one eigenvalue may be rotated into each other: cos θ φ + sin θ φ′ is as good a mode.",
        )


def moved(values) -> None:
    """Sliders of the viewer were released."""
    if "mode" in values:
        update(**{"modes.mode": round(values["mode"])})
    if "angle" in values:
        update(**{"modes.rotation": float(modes.rotation_angles()[round(values["angle"])])})
    if "clip" in values:
        update(**{"modes.clip": float(values["clip"])})


def clicked() -> None:
    """A mark of the eigenvalue plot was clicked."""
    points = (st.session_state.get(PLOT) or {}).get("selection", {}).get("points", [])
    if points and points[0].get("customdata") is not None:
        number = points[0]["customdata"]
        update(**{"modes.mode": int(number[0] if isinstance(number, list) else number)})


def picture(p, state, basis, number, blocks) -> None:
    """The viewer: the mode, and beside it its rotation when that is wanted."""
    mesh, ready = p.mesh, view.modes_picture_of(basis)
    try:
        surface = cached.surface_of(mesh)
    except HsdError as error:
        st.info(f"{error.message} The spectrum and all numbers below are complete without a picture.")
        return
    if ready.why_not:
        st.info(ready.why_not)
    elif mesh.points is None:
        st.info(f"{mesh.name} has no positions: it is drawn on a stand-in shape, on which lengths are not true.")
    layers, said = view.layers_of(basis) if state.modes.generators else ((), "")
    colour = {"signed": "value (sign of a mode is free)", "unsigned": "length of the vector"}[ready.kind]
    options = {
        "arrows": state.modes.arrows,
        "wireframe": state.modes.edges,
        "layers": layers,
        "clip": state.modes.clip if mesh.dim == 3 else None,
        "theme": state.theme,
    }
    scene = modes.mode_scene(
        ready,
        surface,
        number,
        title=f"Modes of Δ{'₀₁₂₃'[basis.k]}",
        caption=f"Eigenmodes of the Hodge Laplacian on {basis.k}-forms, ‖φ‖ = 1. Colour: {colour}. {said}",
        **options,
    )
    pair = view.pair_of(view.block_with(blocks, number), number, state.modes.partner) if state.modes.turn else None
    if pair is not None and not ready.why_not:
        turned = modes.mode_scene(
            view.rotation_picture_of(basis, *pair),
            surface,
            view.angle_step(state.modes.rotation),
            title=f"Modes {pair[0]}, {pair[1]} turned by θ",
            control="angle",
            label="Rotation θ",
            **(options | {"clip": None, "layers": ()}),
        )
        panel = turned.panels[0]
        if mesh.dim == 3:
            panel = modes.replace(panel, clip=scene.panels[0].clip)
        scene = Scene(
            (*scene.panels, panel), (*scene.controls, *turned.controls), theme=state.theme, caption=scene.caption
        )
    show(scene, "modes/main", height=430, on_controls=moved)


def rotation_note(state, basis, number, blocks) -> None:
    """Why a rotation is allowed, with numbers; the choice of the partner."""
    block = view.block_with(blocks, number)
    pair = view.pair_of(block, number, state.modes.partner)
    if pair is None:
        st.info(
            f"Mode {number} is alone with its eigenvalue, so there is nothing to rotate; choose one with a bracket."
        )
        return
    others = [i for i in block.numbers if i != number]
    if len(others) > 1:
        bound_selectbox("Rotate towards mode", "modes.partner", others)
        pair = view.pair_of(block, number, get_state().modes.partner)
    angles = [0, 30, 45, 60, 90]
    residuals = modes.rotated_residuals(basis, *pair, angles)
    text = ", ".join(f"{a}°: {r:.1e}" for a, r in zip(angles, residuals))
    st.markdown(
        f"Modes {pair[0]} and {pair[1]} share λ = {block.eigenvalue:.6g} (relative spread {block.spread:.1e}). Every "
        f"rotation of them is an equally good mode; residuals at θ = {text}. Single modes are a choice, only "
        "the space they span has a meaning."
    )


def residual_table(basis, table) -> None:
    st.caption(
        "Residual ‖Kφ − λ⋆φ‖ / (‖Kφ‖ + ‖λ⋆φ‖); for harmonic modes the larger backward error of dφ = 0 and δφ = 0."
    )
    config = {
        "residual": st.column_config.NumberColumn(format="%.3e"),
        "eigenvalue": st.column_config.NumberColumn(format="%.8g"),
    }
    st.dataframe(table, hide_index=True, column_config=config, height=260, key="modes/table")


def period_matrix(state, basis) -> None:
    matrix = basis.solver.harmonic(basis.k).periods
    if len(matrix) == 0:
        st.markdown(f"b{'₀₁₂₃'[basis.k]} = 0: no harmonic {basis.k}-forms, no generators, no periods.")
        return
    st.markdown(
        "Period matrix, ∮ over zᵢ of γⱼ, of the ⋆-orthonormal harmonic modes over the generator cycles "
        f"(determinant {np.linalg.det(matrix):.6g}; not zero, so the periods determine a harmonic form)."
    )
    figure = period_figure(matrix, figure_ink(state))
    st.plotly_chart(figure, width="content", theme=None, key="modes/periods", alt="Period matrix as coloured cells")
    columns = {f"γ{j + 1}": matrix[:, j] for j in range(len(matrix))}
    st.dataframe(
        {"generator": list(range(1, len(matrix) + 1)), **columns},
        hide_index=True,
        column_config={name: st.column_config.NumberColumn(format="%.8g") for name in columns},
        key="modes/ptable",
    )


def exports(p, state, basis, table, figure) -> None:
    st.markdown(
        f"All {basis.n_modes} modes with eigenvalues and parts; the table; the plot. Files or their names carry the "
        "mesh's hash and the version. The picture: camera button of the view, or the command under Code."
    )
    origin = provenance_record(p.mesh, state)
    files = view.files_of(p.mesh, basis.k, lambda suffix: view.exporter(basis, suffix))
    files["CSV"] = (".csv", lambda: table_csv(table, origin), "text/csv")
    files["HTML"] = (".html", lambda: figure_html(figure, origin), "text/html")
    stem = file_stem(p.mesh.name, p.mesh.content_hash, basis.k, basis.bc, basis.star)
    download_row(files, f"modes_{stem}", "modes")


def code(p, state, basis, number) -> None:
    st.code(view.modes_code(state, p.mesh, basis, number), language="python")
    st.code(view.modes_command(state, p.mesh, number), language="bash")


def details(p, state, basis, number, table, figure) -> None:
    """Tables, periods, exports and code below the picture; only the open tab is made."""
    tabs = st.tabs(["Modes and residuals", "Periods", "Export", "Code"], key="modes/tabs", on_change="rerun")
    makers = [
        lambda: residual_table(basis, table),
        lambda: period_matrix(state, basis),
        lambda: exports(p, state, basis, table, figure),
        lambda: code(p, state, basis, number),
    ]
    for tab, make in zip(tabs, makers):
        if tab.open:
            with tab:
                make()


def main(p) -> None:
    controls(p.mesh)
    state = get_state()
    try:
        basis = ready_basis(p.mesh, state.k, state.bc, state.star, state.n_modes)
        if basis is None or nothing_left(basis):
            return
        table, blocks = view.table_of(basis)
    except HsdError as error:
        if not refused(error, p.mesh):
            raise
        return
    number = min(state.modes.mode, basis.n_modes - 1)
    left, right = st.columns([3, 2])
    with left:
        picture(p, state, basis, number, blocks)
    with right:
        figure = eigenvalue_figure(
            np.array(table["eigenvalue"]),
            table["part"],
            [np.array(b.numbers) for b in blocks],
            number,
            figure_ink(state),
            cut=[b.part for b in blocks if b.cut],
            hover=[f"{part}, ×{m}" for part, m in zip(table["part"], table["multiplicity"])],
            unit=unit_of_eigenvalues(state),
        )
        st.plotly_chart(
            figure,
            theme=None,
            key=PLOT,
            on_select=clicked,
            selection_mode="points",
            alt=f"Eigenvalues of the {basis.n_modes} lowest modes by part, blocks of equal ones bracketed",
        )
        st.caption(
            f"Click a mark to see its mode. Brackets: equal eigenvalues of one part. {view.summary(basis, table)}"
        )
        if state.modes.turn:
            rotation_note(state, basis, number, blocks)
    for notice in basis.notices:
        st.info(notice.message)
    st.caption(space_sentence(state, p.mesh))
    details(p, state, basis, number, table, figure)


with page("Harmonic Modes", "Eigenmodes of the Hodge Laplacian; the harmonic ones, λ = 0, count the holes.") as p:
    main(p)
