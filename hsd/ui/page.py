"""The frame that every page shares: header, error boundary, notes of the link, provenance, themes, presenter mode.

    with page("Harmonic modes", "Fields that neither the derivative nor the codifferential sees.") as p:
        p.state, p.mesh                       # AppState and the mesh in force
        st.write(space_sentence(p.state, p.mesh))

An HsdError anywhere within becomes one sentence; what was drawn before it stays, and the page stays usable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from hsd import __version__
from hsd.errors import HsdError
from hsd.mesh.mesh import Mesh
from hsd.ui import cached
from hsd.ui.bound import begin_run, bound_radio, bound_toggle, end_run
from hsd.ui.browser import copy_link, set_theme
from hsd.ui.memory import freeze_imports
from hsd.ui.state import AppState, MeshState, changed, get_state, settle, sync, take_notes, update
from hsd.ui.store import StoreError
from hsd.ui.viewer.assets import ensure_static

PROJECTOR = """
.stApp, .stApp p, .stApp li, .stApp label, .stApp [data-testid="stMarkdownContainer"] { color: #000 !important; }
.stApp { background: #fff !important; }
.stApp [data-testid^="stBaseButton-primary"] * { color: #fff !important; }
.stApp [data-testid^="stBaseButton"]:disabled * { color: #767676 !important; }
.stApp [data-testid="stCaptionContainer"] * { color: #111 !important; opacity: 1 !important; }
"""
BIG = """html { font-size: 20px !important; } h1 { font-size: 2rem !important; }
.katex-display > .katex { font-size: 1.1em !important; }
"""
ALONE = """
[data-testid="stSidebar"], [data-testid="stSidebarCollapsedControl"], [data-testid="stExpandSidebarButton"],
[data-testid="stHeader"] { display: none !important; }
.stMainBlockContainer { padding-top: 1rem !important; max-width: 100% !important; }
"""
TIGHT = """
.stMainBlockContainer { padding: 1.4rem 2.2rem 2rem; max-width: 1900px; }
.stMainBlockContainer h1 { padding: 0; font-size: 1.9rem; }
[data-testid="stMain"]::before { box-shadow: none !important; }
[data-testid="stHeader"] { background: transparent; pointer-events: none; }
[data-testid="stHeader"] button, [data-testid="stHeader"] a { pointer-events: auto; }
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button { padding: .25rem .2rem; min-width: 0; }
[data-testid="stSidebar"] [data-testid="stButtonGroup"] button p { font-size: .8rem; }
.st-key-compose-buttons button { padding: .25rem .3rem; min-width: 0; }
.st-key-compose-buttons > * { min-width: 0; }
.st-key-training-numbers [data-testid="stMetricValue"] { font-size: 1.25rem; }
.st-key-head { container-type: inline-size; }
.st-key-head > * { flex: none; min-width: 0; }
.st-key-head > *:first-child { margin-right: auto; }
.st-key-head h1 { white-space: nowrap; }
.st-key-head button { white-space: nowrap; }
.st-key-head > *:has(.st-key-head-mesh), .st-key-head > .st-key-head-mesh { flex: 0 1 auto; margin-left: auto; }
.st-key-head-mesh * { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 100%; }
@container (max-width: 50rem) { .st-key-head > *:has(> .st-key-head-device) { display: none; } }
@container (max-width: 64rem) { .st-key-head > *:has(> .st-key-head-cells) { display: none; } }
[data-testid="stElementContainer"]:has(> .stCacheSpinner) { height: auto !important; margin-bottom: 0 !important; }
"""
WAITING = """
.stMainBlockContainer:has(.st-key-waiting-mesh, .st-key-waiting-answers) .st-key-subject { display: none; }
.stMainBlockContainer:has(.st-key-waiting-mesh) :is(.st-key-head-mesh, .st-key-head-cells) { display: none; }
"""
"""While hsd.ui.comparison_wait has such a panel, what is of another mesh than the one computed is not to be seen."""


@dataclass(frozen=True)
class PageContext:
    """What a page needs: the state and the mesh in force (of a page with a domain: its mesh, which may be missing)."""

    state: AppState
    mesh: Mesh | None


@dataclass(frozen=True)
class Domain:
    """The mesh of a page that has its own (None: there is none now), its badges, and the line under the page."""

    mesh: Mesh | None
    badges: tuple[str, str]
    provenance: str


@contextmanager
def page(
    title: str,
    sentence: str = "",
    domain: Callable[[AppState], Domain] | None = None,
    drawn: Callable[[], None] | None = None,
) -> Iterator[PageContext]:
    """Header before the page's own content, provenance after it.

    title : of the page;  sentence : what is to be seen here, in words
    domain : of a page whose mesh is not the mesh in force; asked once a run, below the title
    drawn : of a page that hides what it showed while it computes (WAITING); called when all is drawn
    """
    through_the_router()
    begin_run()
    ensure_viewer()
    state = sync()
    style(state)
    if domain is None:
        mesh, notes = mesh_in_force()
        state = get_state()
        header(title, state)(mesh_words(mesh, state))
        under = ""
    else:
        name_mesh = header(title, state)
        own, notes = domain(state), ()
        mesh, under = own.mesh, own.provenance
        name_mesh(own.badges)
    if sentence and not state.present:
        st.markdown(sentence)
    for note in (*take_notes(), *notes):
        st.warning(note)
    with nullcontext() if drawn is None else st.container(key="subject"):
        try:
            yield PageContext(state, mesh)
        except HsdError as error:
            st.error(error.message)
        except MemoryError:
            st.error("There is not enough memory for this; use a smaller mesh or fewer modes.")
        st.caption(under or provenance_text(mesh, get_state()))
    if drawn is not None:
        drawn()
    end_run()
    settle()
    freeze_imports()


def through_the_router() -> None:
    """Run again through ``app.py`` where Streamlit took the folder ``pages`` for its old kind of app.

    It does so for a link to a page when a fresh server has not run ``app.py`` yet; then the page has no navigation.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


@st.cache_resource(show_spinner=False)
def ensure_viewer() -> None:
    """The viewer's scripts lie in ``static/``; once a server."""
    ensure_static()


def can_be_had(choice: MeshState) -> bool:
    """Whether a choice makes a mesh."""
    try:
        cached.mesh_of(choice)
    except HsdError:
        return False
    return True


def mesh_in_force() -> tuple[Mesh, tuple[str, ...]]:
    """The mesh of the state; when it cannot be had, the last good one or the gallery's first, and a sentence why."""
    choice = get_state().mesh
    try:
        mesh = cached.mesh_of(choice)
    except HsdError as error:
        gone = isinstance(error, StoreError)
        last = st.session_state.get("_app_state/last_mesh", MeshState())
        last = MeshState() if gone or last == choice else last
        what = "the gallery's torus" if last == MeshState() else "the previous mesh"
        bare = replace(choice, repair=())
        if choice.repair and last == MeshState() and can_be_had(bare):
            last, what = bare, "the mesh without repair"
        update(mesh=last)
        sync()
        return cached.mesh_of(last), (f"{error.message} Shown instead: {what}.",)
    st.session_state["_app_state/last_mesh"] = choice
    return mesh, ()


def style(state: AppState) -> None:
    """Type size and colours of the theme and of presenter mode."""
    rules = [TIGHT, WAITING]
    if state.theme == "projector":
        rules += [PROJECTOR, BIG]
    if state.present:
        rules += [BIG, ALONE]
    st.html(f"<style>{''.join(rules)}</style>")
    set_theme({"dark": "dark", "light": "light", "projector": "light"}.get(state.theme, ""))


def header(title: str, state: AppState) -> Callable[[tuple[str, str]], None]:
    """Title, device and version, Copy link; returns what puts the words on the mesh there."""
    with st.container(key="head", horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
        st.title(title, anchor=False, width="content")
        places = [st.container(key=key, width="content") for key in ("head-mesh", "head-cells")]
        if not state.present:
            with st.container(key="head-device", width="content"):
                st.badge(f"{device_words()} · hsd {__version__}", color="gray")
            copy_link()
        with st.popover("View", help="Theme and presenter mode"):
            bound_radio("Theme", "theme", THEMES, THEMES.get)
            bound_toggle("Presenter mode: big type, no sidebar", "present")

    def name_mesh(badges: tuple[str, str]) -> None:
        for place, words in zip(places, badges):
            if words:
                place.badge(words, color="blue")

    return name_mesh


def mesh_words(mesh: Mesh, state: AppState) -> tuple[str, str]:
    """Name and number of vertices of the mesh; number of its largest cells, or ""."""
    kinds = ("vertices", "edges", "triangles", "tetrahedra")
    top = mesh.dim
    name = state.mesh.name if not state.mesh.upload else mesh.name
    sizes = [f"{n:,}".replace(",", "\u202f") for n in (mesh.complex.n_vertices, mesh.complex.n(top))]
    return f"{name}: {sizes[0]} vertices", f"{sizes[1]} {kinds[top]}" if top else ""


def device_words() -> str:
    """Where numerics run."""
    return f"CPU, {os.cpu_count()} cores"


def provenance_text(mesh: Mesh, state: AppState) -> str:
    """Mesh, content hash, conditions, seed and version, as exports carry it too."""
    return (
        f"Mesh {mesh.name}, content {mesh.content_hash[:12]} · degree {state.k}, {state.bc}, star {state.star} · "
        f"seed {state.seed} · {device_words()} · hsd {__version__}"
    )


def provenance_record(mesh: Mesh, state: AppState) -> dict[str, str]:
    """The same as fields of a file."""
    return {
        "mesh": mesh.name,
        "mesh_hash": mesh.content_hash,
        "degree": str(state.k),
        "boundary": state.bc,
        "star": state.star,
        "seed": str(state.seed),
        "version": __version__,
    }


THEMES = {
    "auto": "as the browser",
    "light": "light",
    "dark": "dark",
    "projector": "projector (light, big, high contrast)",
}
STARS = {
    "galerkin": "Galerkin star (Whitney mass matrices)",
    "diagonal": "Diagonal star (circumcentric, cotan weights)",
    "unit": "Unit star (combinatorial, lengths do not count)",
}


def boundary_sentence(mesh: Mesh, k: int, bc: str) -> str:
    """What the boundary condition means for k-forms on this mesh."""
    if mesh.dim >= 1 and not mesh.complex.has_boundary:
        return "The mesh has no boundary, so absolute and relative are the same"
    as_vector = {(2, 1): ("tangential to", "normal to"), (3, 1): ("tangential to", "normal to")}.get((mesh.dim, k))
    if (mesh.dim, k) == (3, 2):
        as_vector = ("normal to", "tangential to")
    if bc == "absolute":
        text = "Absolute boundary condition: nothing is imposed on the boundary values, counts Hᵏ(M)"
    else:
        text = "Relative boundary condition: the form is zero on boundary simplices, counts Hᵏ(M, ∂M)"
    if as_vector:
        side = as_vector[0 if bc == "absolute" else 1]
        text += f"; as vector fields, harmonic ones are {side} the boundary"
    return text


def space_sentence(state: AppState, mesh: Mesh) -> str:
    """Boundary condition, star and sign convention in words, for under a picture."""
    return condition_sentence(mesh, state.k, state.bc, state.star)


def condition_sentence(mesh: Mesh, k: int, bc: str, star: str) -> str:
    """The same for k-forms under a condition and a star that are not those of the state."""
    return (
        f"{boundary_sentence(mesh, k, bc)}. {STARS[star]}. "
        "The Laplacian Δ = dδ + δd is positive (eigenvalues\u00a0≥\u00a00)."
    )


def state_with(**changes) -> AppState:
    """The present state with other fields, without changing it (for links and code samples)."""
    return changed(get_state(), changes)


def mesh_code(state: AppState, mesh: Mesh) -> str:
    """The lines of Python that make the mesh in force."""
    choice, lines = state.mesh, ["import hsd", ""]
    if choice.upload:
        more = ", fill_triangles=True" if choice.fill_triangles else ""
        more += f", radius={choice.radius!r}" if choice.radius > 0 else ""
        from hsd.ui.store import get

        lines.append(f"mesh = hsd.load_mesh({get(choice.upload).name!r}{more})")
    else:
        lines.append(f"mesh = hsd.gallery({choice.name!r}, {choice.n})")
    if choice.scale != 1.0:
        lines += [
            "from dataclasses import replace",
            f"mesh = replace(mesh, points=mesh.points * {choice.scale!r})",
        ]
    if choice.repair:
        lines.append(f"mesh, record = hsd.repair(mesh, {choice.repair!r}, max_hole={choice.max_hole})")
    return "\n".join(lines)
