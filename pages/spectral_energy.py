"""Spectral Energy: a field in the modes of Δ_k, Weyl's law, truncation and its error; models beside the truth."""

import streamlit as st

from hsd.errors import HsdError
from hsd.ui import cached, spectra_panels
from hsd.ui import spectrum_view as view
from hsd.ui.bound import bound_number, bound_segments, bound_selectbox, bound_toggle
from hsd.ui.comparison_subject import Subject
from hsd.ui.eigenwork import ready_basis
from hsd.ui.export import download_row, figure_html, file_stem, table_csv
from hsd.ui.page import page, provenance_record, space_sentence
from hsd.ui.space import figure_ink, nothing_left, refused, space_controls, unit_of_eigenvalues
from hsd.ui.state import get_state, update
from hsd.ui.viewer import show
from hsd.viz.energy_scene import energy_scene
from hsd.viz.spectrum_figures import counting_figure, error_figure, power_figure


def controls(mesh) -> None:
    with st.sidebar:
        words = view.sources(get_state(), mesh)
        source = bound_selectbox("Field", "spectrum.source", words, words.get)
        if source == "coordinate":
            bound_segments("Coordinate", "spectrum.axis", view.axes(mesh))
        elif source in ("random", "waves", "blob", "vortex_pair"):
            bound_number("Seed", "seed", 0, 2**31 - 1, 1)
        space_controls(mesh)
        bound_toggle("Logarithmic axes", "spectrum.log")
        bound_toggle(
            "Sum each block",
            "spectrum.sums",
            help="Modes of one eigenvalue are a choice; their summed energy is not.",
        )
        bound_toggle("Arrows", "spectrum.arrows")


def moved(values) -> None:
    """Sliders of the viewer were released."""
    if "cut" in values:
        update(**{"spectrum.cut": round(values["cut"])})
    if "clip" in values:
        update(**{"spectrum.clip": float(values["clip"])})


def picture(p, state, basis, field, energy, cut) -> None:
    try:
        surface = cached.surface_of(p.mesh)
    except HsdError as error:
        st.info(f"{error.message} The plots and all numbers below are complete without a picture.")
        return
    ready = view.picture_of(basis, field, energy)
    if ready.why_not:
        st.info(ready.why_not)
        return
    if p.mesh.points is None:
        st.info(f"{p.mesh.name} has no positions: it is drawn on a stand-in shape, on which lengths are not true.")
    scene = energy_scene(
        ready,
        surface,
        energy,
        cut,
        arrows=state.spectrum.arrows,
        clip=state.spectrum.clip if p.mesh.dim == 3 else None,
        theme=state.theme,
        caption=f"{field.sentence} The slider keeps the modes with the smallest eigenvalues, harmonic ones first.",
    )
    show(scene, "spectrum/main", height=330, on_controls=moved)


def plots(state, basis, energy, cut) -> dict:
    """The two plots on truncation; returns them by name."""
    ink, unit, log = figure_ink(state), unit_of_eigenvalues(state), state.spectrum.log
    left, right = st.columns(2)
    with left:
        power = power_figure(energy, ink, cut, state.spectrum.sums, log, unit)
        st.plotly_chart(power, theme=None, key="spectrum/power", alt="Energy of each mode against its eigenvalue")
        st.caption(
            "Energy |cᵢ|² = ⟨φᵢ, ω⟩² of each mode, filled where it is kept. "
            + ("Blocks of equal eigenvalues are summed." if state.spectrum.sums else "")
        )
    with right:
        error = error_figure(energy, ink, cut, log)
        st.plotly_chart(error, theme=None, key="spectrum/error", alt="Relative error against the number of modes")
        st.caption(
            f"With {cut} of {len(energy.columns)} modes the relative error is {energy.errors[cut]:.6g}; all of them "
            f"reach {energy.floor:.6g}. Parseval: |‖ω‖² − Σ|cᵢ|² − ‖rest‖²| / ‖ω‖² = {energy.parseval:.1e}."
        )
    return {"energies": power, "errors": error}


def counting(state, basis, energy) -> dict:
    laws = view.laws_of(basis)
    figure = counting_figure(
        energy.eigenvalues, energy.part, laws, figure_ink(state), unit_of_eigenvalues(state), state.spectrum.log
    )
    st.plotly_chart(
        figure, theme=None, key="spectrum/count", alt="Number of modes up to an eigenvalue, with Weyl's law"
    )
    if laws:
        st.caption("Weyl's law (broad lines): " + "; ".join(law.text for law in laws.values()) + ".")
    elif state.star == "unit":
        st.caption("The unit star knows no lengths, so Weyl's law does not apply.")
    return {"counting": figure}


def parts(basis, field, energy, cut) -> None:
    st.markdown("**How much of each Hodge part the modes reach**")
    table = view.part_table(basis, field, energy, cut)
    percent = st.column_config.NumberColumn(format="percent")
    config = {name: percent for name in ("share", "in the basis", "kept")}
    st.dataframe(table, hide_index=True, column_config=config, key="spectrum/parts")
    st.caption(
        "Share: of ‖ω‖², from the Hodge decomposition. In the basis, kept: how much of the part's energy all modes, "
        "and those kept, reach. What no mode reaches is the floor of the error curve."
    )


def exports(p, state, field, energy, cut, figures) -> None:
    """The numbers of all plots, and files."""
    rows, origin = view.mode_rows(energy), provenance_record(p.mesh, state)
    st.dataframe(rows, hide_index=True, height=260, key="spectrum/data")
    files = {
        "CSV": (".csv", lambda: table_csv(rows, origin), "text/csv"),
        "NPZ": (".npz", lambda: view.energy_npz(energy, field, cut, origin), "application/octet-stream"),
    }
    for what, figure in figures.items():
        files[f"HTML: {what}"] = (f"_{what}.html", lambda f=figure: figure_html(f, origin), "text/html")
    stem = file_stem(p.mesh.name, p.mesh.content_hash, state.k, state.bc, state.star)
    download_row(files, f"spectrum_{stem}", "spectrum")


def main(p) -> None:
    controls(p.mesh)
    state = get_state()
    try:
        basis = ready_basis(p.mesh, state.k, state.bc, state.star, state.n_modes)
        if basis is None or nothing_left(basis):
            return
        field = view.field_of(state, p.mesh)
        energy = view.energy_of(basis, field)
    except HsdError as error:
        if not refused(error, p.mesh):
            raise
        return
    if not energy.total > 0:
        st.info("This field is zero here, so it has no spectrum; choose another one.")
        st.caption(space_sentence(state, p.mesh))
        return
    cut = view.cut_of(state, len(energy.columns))
    picture(p, state, basis, field, energy, cut)
    figures = plots(state, basis, energy, cut)
    left, right = st.columns(2)
    with left:
        figures |= counting(state, basis, energy)
    with right:
        parts(basis, field, energy, cut)
    for notice in basis.notices:
        st.info(notice.message)
    st.caption(space_sentence(state, p.mesh))
    data, code = st.tabs(["Data", "Code"], key="spectrum/tabs", on_change="rerun")
    if data.open:
        with data:
            exports(p, state, field, energy, cut, figures)
    if code.open:
        with code:
            st.code(view.energy_code(state, p.mesh, field, cut), language="python")


if get_state().spectrum.of == "models":
    chosen = Subject("Spectral Energy")
    with page("Spectral Energy", "", chosen.domain, chosen.drawn):
        spectra_panels.choice()
        spectra_panels.models_page(chosen)
else:
    with page("Spectral Energy", "The energy of a field in each mode, and what is left when the spectrum is cut.") as p:
        spectra_panels.choice()
        main(p)
