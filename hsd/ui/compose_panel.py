"""Widgets that compose the field: preset, tool, sliders of a point, circulations, upload."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from hsd.dec.read_field import SUFFIXES
from hsd.hodge.compose import WIDTHS, Composition, kinds_of
from hsd.hodge.presets import PRESETS
from hsd.mesh.mesh import Mesh
from hsd.ui import compose_state as edit
from hsd.ui import store
from hsd.ui.bound import bound_number, bound_segments, bound_selectbox, bound_slider, fill, is_old
from hsd.ui.state import AppState, get_state

OWN, PRESET, FILES = "own", "compose/preset", "compose/file"
DIALS = 3.0
"""Dials go from −3 to 3, farther where the field already does."""


def source_widgets(state: AppState, mesh: Mesh) -> None:
    """Which field: a preset, random, what was composed or uploaded."""
    names = ([OWN] if state.field else []) + list(PRESETS)
    shown = OWN if state.field else state.decomposition.preset
    fill(PRESET, shown)
    st.selectbox("Field", names, names.index(shown), lambda n: own_words(state) if n == OWN else PRESETS[n],
                 key=PRESET, on_change=_preset_chosen)  # fmt: skip
    if not state.field and state.decomposition.preset == "random":
        bound_number("Seed", "seed", 0, 2**31 - 1, 1)
    with st.container(key="compose-buttons", horizontal=True, wrap=False, gap="small"):
        disabled = not st.session_state.get(edit.UNDO)
        st.button("Undo", on_click=edit.undo, disabled=disabled, key="compose/undo", width="stretch")
        st.button("Clear", on_click=edit.choose_preset, args=("empty",), key="compose/clear", width="stretch")
        again = ("random", state.seed + 1)
        st.button("Random", on_click=edit.choose_preset, args=again, key="compose/random", width="stretch")


def own_words(state: AppState) -> str:
    """The composed or uploaded field in words."""
    try:
        name = store.get(state.field).name
    except store.StoreError:
        return "a field that is no longer kept"
    return "your composition" if name.endswith(".json") else f"uploaded: {name}"


def _preset_chosen() -> None:
    if st.session_state[PRESET] != OWN and not is_old(PRESET):
        edit.choose_preset(st.session_state[PRESET])


def point_widgets(state: AppState, mesh: Mesh, composition: Composition | None) -> None:
    """Tool, strength and width; they belong to the chosen point, or else to the next one."""
    kinds = kinds_of(mesh.dim, state.k)
    if mesh.dim >= 2:
        bound_segments(
            "A click on the surface",
            "decomposition.tool",
            ["look", *kinds],
            lambda t: "reads" if t == "look" else t,
            help="In the view “Parts” a click reads the value there, or places a source, sink or vortex; points can be "
            "dragged, and deleted with the Delete key.",
            width="stretch",
            wrap=False,
        )
    points = composition.points if composition else ()
    ids = ["", *(p.id for p in points if p.kind in kinds)]
    words = {p.id: f"{p.id}: {p.kind}, {p.strength:g}" for p in points}
    if len(ids) > 1:
        bound_selectbox(
            "Strength and width of", "decomposition.selected", ids, lambda i: words.get(i, "the next point"),
            on_change=edit.select,
        )  # fmt: skip
    bound_slider("Strength", "decomposition.strength", -3.0, 3.0, 0.05, on_change=edit.adjust)
    bound_slider("Width σ / L", "decomposition.width", *WIDTHS, 0.01, on_change=edit.adjust)
    if mesh.dim == 3:
        bound_slider("Depth below the boundary / L", "decomposition.depth", 0.0, 2.0, 0.05, on_change=edit.adjust)
    if state.decomposition.selected in words:
        st.button(f"Delete {state.decomposition.selected}", on_click=edit.delete_selected, key="compose/delete")


def dial_widgets(composition: Composition | None, n: int, k: int) -> None:
    """One dial a generator: the circulation of γ around it."""
    if n == 0:
        st.caption(f"b{'₀₁₂₃'[k]} = 0: no harmonic directions to dial.")
        return
    if composition is None:
        st.caption("The field was uploaded; its circulations are in the table.")
        return
    values = (*composition.circulations, *([0.0] * n))[:n]
    for i, value in enumerate(values):
        key = f"{edit.DIAL}{i}"
        fill(key, float(value))
        reach = max(DIALS, abs(value))
        st.slider(f"Circulation {i + 1}", -reach, reach, float(value), 0.05, key=key, on_change=_dialled, args=(i, n))


def _dialled(i: int, n: int) -> None:
    if not is_old(f"{edit.DIAL}{i}"):
        edit.dial(i, n)


def upload_widgets(state: AppState, mesh: Mesh) -> None:
    """A field from a file, or one that came with the mesh."""
    kinds = [s.removeprefix(".") for s in SUFFIXES]
    st.file_uploader(
        f"Node vectors, cell vectors or a {state.k}-cochain", type=kinds, key="compose/upload", on_change=_uploaded
    )
    names = [*mesh.point_fields, *mesh.cell_fields]
    if names:
        st.selectbox("From the mesh file", names, index=None, key=FILES, on_change=_taken)
    if edit.enters_as_vectors(mesh, state.k):
        bound_segments(
            "Composed fields enter as",
            "decomposition.entry",
            ["form", "vectors"],
            {"form": "forms", "vectors": "node vectors ♭"}.get,
            help="Node vectors go through ♭ first, as measured or simulated data do; parts then mix a little.",
        )


def _uploaded() -> None:
    file = st.session_state.get("compose/upload")
    if file is not None:
        edit.upload(file.getvalue(), Path(file.name).name)


def _taken() -> None:
    if st.session_state.get(FILES):
        edit.take_file_field(st.session_state[FILES])


def sidebar(mesh: Mesh, composition: Composition | None, n_harmonic: int) -> None:
    """All of it, in the sidebar."""
    state = get_state()
    source_widgets(state, mesh)
    point_widgets(state, mesh, composition)
    with st.expander("Harmonic directions", expanded=0 < n_harmonic <= 2):
        dial_widgets(composition, n_harmonic, state.k)
    with st.expander("Upload, or enter as vectors"):
        upload_widgets(state, mesh)
