"""Spectral Energy of models: sidebar, truncated fields, spectra of the sample, the figure over the test set."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from hsd.ui import checkpoint_files, held_out
from hsd.ui import comparison_export as files
from hsd.ui import comparison_view as shared
from hsd.ui import spectra_view as view
from hsd.ui.bound import bound_segments, bound_toggle
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_panels import choice_sidebar, refusals
from hsd.ui.comparison_subject import Subject
from hsd.ui.export import download_row, figure_html, table_csv
from hsd.ui.space import figure_ink
from hsd.ui.spectra_view import Spectra
from hsd.ui.spectra_work import cut_rows, mode_rows
from hsd.ui.state import AppState, get_state, update
from hsd.ui.viewer import show

PAPER_TASKS = ("external_aerodynamics", "magnetostatics", "toroidal_transport")
OF = {"field": "A field", "models": "Models"}


def choice() -> None:
    """Whether the page is about a field on the mesh in force or about models."""
    with st.sidebar:
        bound_segments("Spectrum of", "spectrum.of", list(OF), OF.get)


def models_page(subject: Subject) -> None:
    """The page on models below its header."""
    ready = subject.ready
    choice_sidebar(ready, compose_here=False)
    checkpoint_files.show_error()
    if subject.refused():
        return
    with st.sidebar:
        bound_toggle("Logarithmic axes", "spectrum.log", name="models")
        bound_toggle(
            "Sum each block", "spectrum.sums", name="models",
            help="Modes of one eigenvalue are a choice; their summed energy is not.",
        )  # fmt: skip
        bound_toggle("Bands of the test set", "spectrum.band", help="A quarter to three quarters of the samples.")
    state, found = get_state(), subject.outcomes()
    spectra = view.spectra_of(ready, found)
    canvas(state, ready, spectra)
    refusals(state, ready)
    if missing := shared.missing_words(state, ready):
        st.info(missing)
    spectrum(state, ready, spectra)
    details(state, ready, spectra, found)
    st.caption(shared.conditions(ready))
    subject.prepare_next(state, lambda state, ready, found: view.spectra_of(ready, found))


def canvas(state: AppState, ready: Ready, spectra: Spectra) -> None:
    """Fields and errors, cut where the slider stands."""
    scene = view.scene_of(state, ready, spectra)
    height = 430 if spectra.found else 320
    show(scene, f"spectra/{ready.task.name}", height=height, on_controls=_moved)


def _moved(values: Mapping[str, float]) -> None:
    if "kept" in values:
        update(**{"spectrum.kept": round(values["kept"])})
    if "clip" in values:
        update(**{"spectrum.clip": float(values["clip"])})


def spectrum(state: AppState, ready: Ready, spectra: Spectra) -> None:
    """The sample's spectrum and where its error lies."""
    figure = view.sample_figure(state, spectra, figure_ink(state))
    alt = "Energy of truth, models and their errors in each mode against its eigenvalue"
    st.plotly_chart(figure, theme=None, key="spectra/sample", alt=alt)
    cut = view.cut_of(state, spectra.frame)
    st.caption(f"{view.map_words(ready)} Dotted: the last of the {cut} modes kept.")
    if not spectra.found:
        return
    rows = cut_rows(spectra.frame, spectra.truth, {m.title: s for m, s in spectra.found.items()}, cut)
    config = {name: st.column_config.NumberColumn(format="%.4f") for name in list(rows)[1:]}
    config["model"] = st.column_config.TextColumn(pinned=True)
    st.dataframe(rows, hide_index=True, column_config=config, key="spectra/cut")
    st.caption(
        "Errors relative to the truth, norms in ⋆. Squares of kept, beyond and outside add up to the square of "
        "the error (Parseval)."
    )


def details(state: AppState, ready: Ready, spectra: Spectra, found) -> None:
    """Tabs; only the open one is made."""
    makers = {
        "Test set": lambda: paper_tab(state, ready, spectra),
        "Data and export": lambda: data_tab(state, ready, spectra, found),
        "Code": lambda: st.code(view.code(state, ready, spectra), language="python"),
    }
    for tab, make in zip(st.tabs(list(makers), key="spectra/tabs", on_change="rerun"), makers.values()):
        if tab.open:
            with tab:
                make()


def paper_tab(state: AppState, ready: Ready, spectra: Spectra) -> None:
    """The paper's figure: energies over the test set."""
    found = held_out.offered(ready, "spectra", "Compute the spectra of {n} test samples")
    if found is None:
        if ready.task.name in PAPER_TASKS:
            st.caption("The paper's figure: |c|² against λ over the test set, for truth and models.")
        return
    figure = view.paper_figure(state, spectra.frame, found, figure_ink(state))
    st.plotly_chart(figure, theme=None, key="spectra/paper", alt="Median energy in each block over the test samples")
    text = "Median over the samples of the energy in each block of equal eigenvalues"
    text += ", band from a quarter to three quarters of them." if state.spectrum.band else "."
    if ready.task.name in PAPER_TASKS:
        text += " The paper's figure of spectral decay, on our data."
    st.caption(text)
    rows = view.paper_rows(spectra.frame, found)
    with st.expander("Data"):
        st.dataframe(rows, hide_index=True, height=260, key="spectra/paper data")
        origin = {"task": ready.task.name, "seed": str(found.seed), "samples": str(len(found.numbers))}
        origin |= {"mesh_hash": ready.mesh.content_hash} | shared.checkpoint_hashes(found.found)
        download_row(
            {
                "CSV": (".csv", lambda: table_csv(rows, origin), "text/csv"),
                "HTML": (".html", lambda: figure_html(figure, origin), "text/html"),
            },
            f"spectra_{ready.task.name}_test",
            "spectra/paper",
        )


def data_tab(state: AppState, ready: Ready, spectra: Spectra, found) -> None:
    rows = mode_rows(spectra.frame, spectra.truth, {m.title: s for m, s in spectra.found.items()})
    st.dataframe(rows, hide_index=True, height=260, key="spectra/data")
    origin = files.record_of(state, ready, found)
    figure = view.sample_figure(state, spectra, figure_ink(state))
    download_row(
        {
            "CSV": (".csv", lambda: table_csv(rows, origin), "text/csv"),
            **view.spectra_files(state, ready, spectra, found, origin),
            "HTML: spectra": ("_spectra.html", lambda: figure_html(figure, origin), "text/html"),
        },
        f"spectra_{files.stem(state, ready)}",
        "spectra",
    )
