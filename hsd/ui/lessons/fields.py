"""Lessons 4 to 6: the Hodge decomposition, harmonic fields and Betti numbers, boundary conditions."""

from __future__ import annotations

import numpy as np
import streamlit as st

from hsd.hodge.compose import Composer
from hsd.hodge.decomposition import PARTS, Decomposition, circulations
from hsd.hodge.homology import betti_numbers
from hsd.hodge.presets import preset
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.ui import cached
from hsd.ui.lessons.base import Lesson, Question, Switch, View, minus, tiny
from hsd.ui.modes_view import glyphs_or_none
from hsd.ui.state import LearnState
from hsd.viz import build
from hsd.viz.decomposition_scene import parts_picture, parts_scene
from hsd.viz.modes import FormPicture, generator_layers, mode_scene, panel_with, picture_of
from hsd.viz.scene import Scene

N = 700
"""Vertices of the meshes."""
HOLE = 2.4
"""Radius of a cut disc in units of √(area / vertex)."""
SHAPES = {"sphere": "sphere", "torus": "torus", "double_torus": "double torus"}
GENUS = {"sphere": 0, "torus": 1, "double_torus": 2}


# ---- 4 -----------------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=4, show_spinner=False)
def split(shape: str) -> tuple[np.ndarray, Decomposition]:
    """A field of a source, a sink, two vortices and circulations, and its parts."""
    mesh = cached.gallery_mesh(shape, N)
    solver = cached.solver_of(mesh, "galerkin", "absolute")
    omega = Composer(solver).form(preset("mixture", mesh, 1, solver.betti[1]))
    return omega, cached.decomposer_of(mesh, 1, "absolute", "galerkin")(omega)


@st.cache_resource(max_entries=4, show_spinner=False)
def split_picture(shape: str) -> FormPicture:
    mesh = cached.gallery_mesh(shape, N)
    return parts_picture(mesh, split(shape)[1], glyphs_or_none(mesh))


def shares(parts: Decomposition) -> dict[str, float]:
    """Energy of each part in percent of ‖ω‖²."""
    return {part: 100 * parts.energies[part] / parts.energies["total"] for part in PARTS}


def show_split(state: LearnState, theme: str) -> View:
    mesh = cached.gallery_mesh(state.shape, N)
    _, parts = split(state.shape)
    share, b = shares(parts), GENUS[state.shape] * 2
    scene = parts_scene(
        split_picture(state.shape),
        cached.surface_of(mesh),
        dict.fromkeys(PARTS, 1.0),
        energies=parts.energies,
        theme=theme,
    )
    off = float(np.abs(parts.inner - np.diag(np.diag(parts.inner))).max())
    numbers = (
        f"Largest inner product of two parts: {tiny(off)} of ‖ω‖²; what the three solves leave over: "
        f"{tiny(parts.residual)} "
        f"of ‖ω‖. b₁ = {b}."
    )
    why = (
        f"Parts are orthogonal, so energies add up (Pythagoras): 100 − {share['exact']:.1f} − {share['coexact']:.1f} = "
    )
    left = abs(100 - share["exact"] - share["coexact"])
    why += f"{left:.1f}; hsd computes γ from a solve of its own: {share['harmonic']:.1f} %."
    if b == 0:
        why += " It has to be zero: b₁ = 0, a sphere has no harmonic 1-form."
    question = Question(
        f"The exact part holds {share['exact']:.1f} % of the energy ‖ω‖², the coexact part {share['coexact']:.1f} %. "
        "How many percent does the harmonic part hold? (Within 1 is right.)",
        share["harmonic"],
        why,
        tolerance=1.0,
        unit="%",
    )
    code = (
        "import hsd\nfrom hsd.hodge.compose import Composer\nfrom hsd.hodge.presets import preset\n\n"
        f'mesh = hsd.gallery("{state.shape}", {N})\nsolver = hsd.HodgeSolver(mesh)\n'
        'omega = Composer(solver).form(preset("mixture", mesh, 1, solver.betti[1]))\n'
        "parts = hsd.Decomposer(mesh, 1, solver=solver)(omega)\nparts.energies, parts.inner, parts.residual"
    )
    return View(mesh, scene, numbers, question, code, 1)


SPLIT = Lesson(
    "Hodge decomposition",
    "Every $k$-form is a sum of three in exactly one way: an exact part $d\\alpha$ (for 1-forms a gradient, with "
    "sources and "
    "sinks), a coexact part $\\delta\\beta$ (a rotated gradient, with vortices) and a harmonic part $\\gamma$ with "
    "$d\\gamma=0$ and $\\delta\\gamma=0$. The three are orthogonal, because $\\langle d\\alpha,\\delta\\beta\\rangle="
    "\\langle dd\\alpha,\\beta\\rangle=0$, so energies add up. The harmonic part has neither sources nor vortices: it "
    "flows around the holes of the shape. Move the weights under the picture to add and remove parts; they are blended "
    "in the page from one decomposition.",
    (r"\omega = d\alpha + \delta\beta + \gamma", r"\|\omega\|^2=\|d\alpha\|^2+\|\delta\beta\|^2+\|\gamma\|^2"),
    (Switch("shape", "Surface", SHAPES),),
    show_split,
)


# ---- 5 -----------------------------------------------------------------------------------------------------------


@st.cache_resource(max_entries=12, show_spinner=False)
def holed(shape: str, holes: int) -> Mesh:
    """The surface without discs (all triangles near a vertex) around its outermost vertices in +x and −x."""
    whole = cached.gallery_mesh(shape, N)
    if holes == 0:
        return whole
    p, cells = whole.points, whole.oriented_cells()
    middle = p[cells].mean(axis=1)
    radius = HOLE * np.sqrt(measures(whole, 2).sum() / whole.complex.n_vertices)
    keep = np.ones(len(cells), bool)
    for tip in (np.argmax(p @ [1.0, -0.2, 0.1]), np.argmax(p @ [-1.0, -0.2, 0.1]))[:holes]:
        keep &= np.linalg.norm(middle - p[tip], axis=1) > radius
    used, faces = np.unique(cells[keep], return_inverse=True)
    name = f"{whole.name} with {holes} hole{'s' if holes > 1 else ''}"
    return Mesh.from_cells(p[used], faces.reshape(-1, 3), name)


@st.cache_resource(max_entries=12, show_spinner=False)
def harmonic_picture(key: str, bc: str, _mesh: Mesh) -> FormPicture | None:
    """All harmonic 1-forms, dual to the generators (period 1 around one, 0 around the others)."""
    gamma = cached.solver_of(_mesh, "galerkin", bc).harmonic(1).dual
    if gamma.shape[1] == 0:
        return None
    gamma = cached.solver_of(_mesh, "galerkin", bc).dec.extend(1, gamma)
    labels = [f"circulation 1 around generator {j + 1}" for j in range(gamma.shape[1])]
    return picture_of(_mesh, 1, gamma, glyphs_or_none(_mesh), labels, symbol="γ")


def show_betti(state: LearnState, theme: str) -> View:
    mesh, genus = holed(state.shape, state.holes), GENUS[state.shape]
    surface, betti = cached.surface_of(mesh), betti_numbers(mesh.complex)
    picture = harmonic_picture(mesh.content_hash, "absolute", mesh)
    cycles = cached.homology_of(mesh, "absolute").cycles(1)
    layers = [build.boundary_segments(mesh, surface, width=4.0)] if state.holes else []
    layers += generator_layers(mesh, surface, 1, cycles, "absolute")[0]
    if picture is None:
        scene = Scene((panel_with(surface, None, None, layers, "no harmonic 1-form"),), theme=theme)
    else:
        scene = mode_scene(
            picture, surface, state.field, layers=layers, theme=theme, title="harmonic 1-forms", label="Field"
        )
    v, e, f = mesh.complex.counts
    punctured = betti_numbers(holed(state.shape, 2).complex)
    numbers = (
        f"Exact Betti numbers, by integer elimination: ({', '.join(map(str, betti))}); χ = V − E + F = {v} − {e} + {f} "
        f"= {minus(v - e + f)} = b₀ − b₁ + b₂. Harmonic 1-forms: {betti[1]}. Lines: generators of H₁."
    )
    question = Question(
        f"The whole {SHAPES[state.shape]} has b₁ = {2 * genus}. Cut two discs out of it. How many independent harmonic "
        "1-forms (absolute condition) does what is left have?",
        punctured[1],
        f"Each disc lowers χ by one: {minus(2 - 2 * genus)} − 2 = {minus(-2 * genus)}. The first hole only turns b₂ "
        "from 1 to 0, its rim is the boundary of all the rest. The second adds a loop that bounds nothing: "
        "b₁ = b₀ + b₂ − χ = 1 + 0 − "
        f"({minus(-2 * genus)}) = {punctured[1]}. Cut them and count.",
    )
    code = (
        f'import hsd\n\nmesh = hsd.gallery("{state.shape}", {N})\n'
        + ("# … without the triangles of the cut discs: hsd.Mesh.from_cells(points, faces)\n" if state.holes else "")
        + "hsd.betti_numbers(mesh.complex)\nharmonic = hsd.HodgeSolver(mesh).harmonic(1)\n"
        "harmonic.dual, harmonic.cycles  # forms with period 1 around one generator, 0 around the others"
    )
    return View(mesh, scene, numbers, question, code, 1, controls={"mode": "field"})


BETTI = Lesson(
    "Betti numbers and harmonic fields",
    "The Betti number $b_k$ counts the independent $k$-cycles that bound nothing: $b_0$ pieces, $b_1$ loops, $b_2$ "
    "enclosed cavities. Hodge's theorem says that each class of closed forms modulo exact ones contains exactly one "
    "harmonic form, so there are exactly $b_k$ of them. A harmonic 1-form is fixed by its periods, its circulations "
    "around "
    "the $b_1$ generators drawn. Bending the surface changes the fields, never their number. We therefore count "
    "first, with integers, and then compute that many: deciding which small eigenvalue is zero would be a guess.",
    (
        r"\dim\{\gamma:\ d\gamma=0,\ \delta\gamma=0\} = b_k",
        r"b_k=\dim\ker\partial_k-\dim\operatorname{im}\partial_{k+1}",
    ),
    (Switch("shape", "Surface", SHAPES), Switch("holes", "Discs cut out", {0: "0", 1: "1", 2: "2"})),
    show_betti,
)


# ---- 6 -----------------------------------------------------------------------------------------------------------

PLATES = {"annulus": "annulus", "disk_three_holes": "disc with three holes"}
DIRECTIONS = ("around the holes, along the rims", "from rim to rim, across the boundary", "there is no harmonic 1-form")


def rim_share(mesh: Mesh, bc: str) -> float:
    """Largest number on boundary edges over the largest on all edges, of all harmonic 1-forms; nan without any.

    Zero says that nothing runs along the boundary: the field is normal to it.
    """
    solver = cached.solver_of(mesh, "galerkin", bc)
    gamma = solver.dec.extend(1, solver.harmonic(1).orthonormal)
    if gamma.shape[1] == 0:
        return float("nan")
    return float(np.abs(gamma[mesh.complex.on_boundary(1)]).max() / np.abs(gamma).max())


def direction_of(share: float) -> int:
    """The entry of DIRECTIONS that a share along the rim means."""
    if np.isnan(share):
        return 2
    return 1 if share < 1e-12 else 0


def show_rim(state: LearnState, theme: str) -> View:
    mesh = cached.gallery_mesh(state.plate, N)
    surface = cached.surface_of(mesh)
    solver = cached.solver_of(mesh, "galerkin", state.rim)
    picture = harmonic_picture(mesh.content_hash, state.rim, mesh)
    layers = [build.boundary_segments(mesh, surface, width=4.0)]
    j = min(state.field, solver.betti[1] - 1)
    scene = mode_scene(picture, surface, j, layers=layers, theme=theme, title=f"harmonic, {state.rim}", label="Field")
    gamma = solver.dec.extend(1, solver.harmonic(1).dual)[:, j]
    absolute, relative = (cached.homology_of(mesh, bc).betti("Q") for bc in ("absolute", "relative"))
    share = rim_share(mesh, "relative")
    numbers = (
        f"b(M) = ({', '.join(map(str, absolute))}), b(M, ∂M) = ({', '.join(map(str, relative))}). In force: "
        f"{state.rim}; "
        f"the field shown has period {circulations(solver, 1, gamma)[j]:.4f} over its generator, and its largest "
        f"number on "
        f"a rim edge is {tiny(rim_share(mesh, state.rim))} of the largest."
    )
    question = Question(
        "Under the relative condition the form is zero on every boundary edge. Where does its harmonic 1-form run?",
        direction_of(share),
        f"b₁(M, ∂M) = {relative[1]}, so there is one for each arc from rim to rim. On rim edges its numbers are zero "
        f"({tiny(share)} of the largest), so nothing runs along the rim and the field meets it at a right angle. Under "
        f"the "
        f"absolute condition it is the other way round ({rim_share(mesh, 'absolute'):.2f}): tangential, around the "
        f"holes. "
        "On orientable surfaces ⋆ turns one into the other by 90°.",
        choices=DIRECTIONS,
    )
    code = (
        f'import hsd\n\nmesh = hsd.gallery("{state.plate}", {N})\nsolver = hsd.HodgeSolver(mesh, bc="{state.rim}")\n'
        "solver.betti  # exact, of M or of (M, ∂M)\ngamma = solver.dec.extend(1, solver.harmonic(1).dual)\n"
        "abs(gamma[mesh.complex.on_boundary(1)]).max()  # along the rim"
    )
    return View(mesh, scene, numbers, question, code, 1, bc=state.rim, controls={"mode": "field"})


RIM = Lesson(
    "Boundary conditions",
    "On a shape with boundary, $d$ and $\\delta$ are adjoint only if a boundary term vanishes, and there are two "
    "natural "
    "ways. *Absolute*: nothing is imposed on the cochain; harmonic 1-forms come out tangential to the boundary and "
    "there are $b_k(M)$ of them. *Relative*: the cochain is zero on boundary simplices; harmonic 1-forms are normal to "
    "the boundary and are counted by $b_k(M,\\partial M)$. On orientable shapes of dimension $n$ the two counts mirror "
    "each other (Lefschetz duality). A model of a wall that flow cannot cross and one of a conductor that field lines "
    "meet at right angles need different spaces.",
    (r"\int_{\partial M}\alpha\wedge\star\omega=0", r"b_k(M)=b_{n-k}(M,\partial M)"),
    (
        Switch("plate", "Shape", PLATES),
        Switch("rim", "Condition", {"absolute": "absolute", "relative": "relative"}),
    ),
    show_rim,
)
