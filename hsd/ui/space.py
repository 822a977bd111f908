"""Controls of the space of forms (degree, boundary condition, star, number of modes), the same on every page."""

from __future__ import annotations

import streamlit as st

from hsd.errors import HsdError
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.ui.bound import bound_radio, bound_selectbox
from hsd.ui.page import space_sentence
from hsd.ui.state import AppState, get_state, update
from hsd.viz.style import Ink, ink_of

STAR_WORDS = {
    "galerkin": "Galerkin (any mesh)",
    "diagonal": "diagonal (cotan)",
    "unit": "unit (combinatorial)",
}
MODE_STEPS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def degree_words(dim: int, k: int) -> str:
    """What k-forms are on a mesh of this dimension, in a few words."""
    if k == 0:
        return "0: functions"
    if k == dim and k >= 2:
        return f"{k}: densities"
    return "1: circulations" if k == 1 else "2: fluxes"


def stars_for(mesh: Mesh) -> tuple[str, ...]:
    """Stars that a mesh can have: without lengths the unit one alone."""
    return tuple(STAR_WORDS) if mesh.has_metric else ("unit",)


def space_controls(mesh: Mesh, n_modes: bool = True) -> AppState:
    """Widgets for k, boundary condition, star and number of modes; degrees that the mesh lacks are not offered."""
    bound_selectbox(
        "Degree k of the forms",
        "k",
        range(mesh.dim + 1),
        lambda k: degree_words(mesh.dim, k),
        help="Values at vertices (k = 0), along edges (1), through faces (2) or in tetrahedra (3).",
    )
    bounded = mesh.dim >= 1 and mesh.complex.has_boundary
    bound_radio(
        "Boundary condition",
        "bc",
        ("absolute", "relative"),
        horizontal=True,
        help="Absolute imposes nothing, relative sets the form to zero on boundary simplices."
        + ("" if bounded else " This mesh has no boundary: both are the same."),
    )
    bound_selectbox("Hodge star", "star", stars_for(mesh), STAR_WORDS.get)
    if n_modes:
        state = get_state()
        most = mesh.complex.n(min(state.k, mesh.dim))
        steps = sorted({n for n in MODE_STEPS if n <= most} | {min(state.n_modes, most)} | {min(most, MODE_STEPS[0])})
        bound_select_modes(steps)
    return get_state()


def bound_select_modes(steps: list[int]) -> int:
    """The number of modes, on a scale that doubles."""
    return bound_selectbox("Number of modes", "n_modes", steps, help="The lowest ones, whatever their part.")


def refused(error: HsdError, mesh: Mesh) -> bool:
    """Say why a star was refused and offer one that works; False where the error is another one."""
    better = {"star_not_positive": "galerkin", "no_metric": "unit", "zero_measure": "unit"}.get(error.kind)
    if better is None or get_state().star == better:
        return False
    st.error(error.message)
    st.button(f"Use the {better} star instead", type="primary", on_click=update, kwargs={"star": better})
    return True


def nothing_left(basis: HodgeBasis) -> bool:
    """True, with a sentence, where the boundary condition leaves no form at all."""
    if basis.n_modes:
        return False
    st.info(
        f"Every {basis.k}-simplex of this mesh lies on its boundary, so relative conditions leave no {basis.k}-form; "
        "choose absolute conditions or another degree."
    )
    st.caption(space_sentence(get_state(), basis.mesh))
    return True


def figure_ink(state: AppState) -> Ink:
    """The look of plots for the theme in force."""
    return ink_of(state.theme, st.context.theme.type == "dark")


def unit_of_eigenvalues(state: AppState) -> str:
    """ " (m⁻²)" where the mesh has a unit and the star knows lengths, else nothing."""
    return f" ({state.mesh.unit}⁻²)" if state.mesh.unit and state.star != "unit" else ""


def command_source(state: AppState, mesh: Mesh) -> str:
    """The mesh as the command line takes it."""
    if state.mesh.upload:
        from hsd.ui.store import get

        return repr(get(state.mesh.upload).name) if " " in mesh.name else get(state.mesh.upload).name
    return f"gallery:{state.mesh.name}:{state.mesh.n}"


__all__ = [
    "command_source",
    "degree_words",
    "figure_ink",
    "nothing_left",
    "refused",
    "space_controls",
    "stars_for",
    "unit_of_eigenvalues",
]
