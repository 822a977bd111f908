"""Lessons 1 to 3: forms as numbers on simplices, the derivative and its adjoint, and why d∘d is zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from hsd.dec.de_rham import de_rham
from hsd.dec.operators import DEC
from hsd.mesh.mesh import Mesh
from hsd.ui import cached
from hsd.ui.lessons.base import Lesson, Question, Switch, View, tiny
from hsd.ui.modes_view import glyphs_or_none
from hsd.ui.state import LearnState
from hsd.viz import build
from hsd.viz.modes import FormPicture, panel_with, picture_of
from hsd.viz.scene import Arrows, Colour, Mix, Panel, Scene, Surface

COARSE, FINE, BAND = 162, 642, 240
"""Vertices of the meshes: few where single simplices matter."""
LOOP_AT = 0.3
TOWARDS = np.array([0.62, -0.72, 0.5])
"""From the shape to the eye of the first camera."""
ROUNDING = 1e-12


def drawn(picture: FormPicture, surface: Surface, title: str, over: FormPicture, layers=(), wireframe=False) -> Panel:
    """One panel: a picture of one column as colour, that of ``over`` as arrows where it has any."""
    colour = Colour(Mix(picture.columns), picture.kind, picture.name)
    arrows = None
    if over.arrows is not None:
        arrows = Arrows(over.glyphs, Mix(over.arrows), over.name)
    return panel_with(surface, colour, arrows, layers, title, wireframe)


# ---- 1 -----------------------------------------------------------------------------------------------------------


def sample_form(mesh: Mesh, k: int) -> np.ndarray:
    """On the unit sphere: the height z, the wind (−y, x, 0) along edges, the density z on triangles."""
    if k == 1:
        return de_rham(mesh, 1, lambda p: np.column_stack([-p[:, 1], p[:, 0], 0 * p[:, 0]]))
    return de_rham(mesh, k, lambda p: p[:, 2])


def cap_loop(mesh: Mesh) -> np.ndarray:
    """The boundary of the cap above LOOP_AT as a 1-chain, (N_1,), counter-clockwise seen from outside."""
    inside = mesh.points[mesh.complex.simplices(2)].mean(axis=1)[:, 2] > LOOP_AT
    return DEC(mesh).boundary(2) @ (inside * mesh.require_orientation("The cap"))


@st.cache_resource(max_entries=4, show_spinner=False)
def first_picture(k: int) -> FormPicture:
    mesh = cached.gallery_mesh("sphere", COARSE)
    return picture_of(mesh, k, sample_form(mesh, k)[:, None], glyphs_or_none(mesh), symbol="ω")


def show_forms(state: LearnState, theme: str) -> View:
    mesh, k = cached.gallery_mesh("sphere", COARSE), state.form
    surface, omega = cached.surface_of(mesh), sample_form(mesh, k)
    n = mesh.complex.counts
    layers: tuple = ()
    total = {
        0: f"It is the height z: from −{-omega.min():.3f} to {omega.max():.3f}, one number a vertex.",
        2: f"It is the density z times area; the sum over all {n[2]} triangles is ∫ z = {tiny(omega.sum())}, "
        "because both halves of the sphere cancel.",
    }
    if k == 1:
        loop = cap_loop(mesh)
        layers = build.loop_tubes(surface, mesh.complex.simplices(1), loop, label="loop")
        total[1] = (
            f"It is the wind (−y, x, 0) as circulation along edges. Summed along the {np.abs(loop).sum():.0f} edges of "
            f"the loop, each with the sign of its direction: ∮ω = {loop @ omega:.4f}."
        )
    panel = drawn(first_picture(k), surface, f"a {k}-form", first_picture(k), layers=layers, wireframe=True)
    lines = {
        0: "omega = de_rham(mesh, 0, lambda p: p[:, 2])  # one value a vertex",
        1: "omega = de_rham(mesh, 1, lambda p: np.column_stack([-p[:, 1], p[:, 0], 0 * p[:, 0]]))  # ∫ along edges",
        2: "omega = de_rham(mesh, 2, lambda p: p[:, 2])  # ∫ over triangles",
    }
    question = Question(
        f"This sphere has {n[0]} vertices and {n[2]} triangles. How many numbers is a 1-form on it?",
        n[1],
        f"One number an edge. Every triangle has three edges and every edge lies in two triangles, so E = 3F/2 = "
        f"{3 * n[2] // 2}; Euler's formula V − E + F = {n[0]} − {n[1]} + {n[2]} = {n[0] - n[1] + n[2]} agrees.",
    )
    code = (
        "import numpy as np\nimport hsd\nfrom hsd.dec.de_rham import de_rham\n\n"
        f'mesh = hsd.gallery("sphere", {COARSE})\n{lines[k]}\nomega.shape  # ({n[k]},)'
    )
    numbers = f"A {k}-form on this mesh is {n[k]} numbers. {total[k]}"
    return View(mesh, Scene((panel,), theme=theme), numbers, question, code, k)


FORMS = Lesson(
    "What is a form",
    "A $k$-form is what can be integrated over $k$-dimensional pieces. On a mesh we keep only these integrals: one "
    "number for each vertex ($k=0$, a value), each edge ($k=1$, a circulation), each triangle ($k=2$, a flux or mass). "
    "Such a list of numbers is a *cochain*. Its sign belongs to the direction of the simplex: run along an edge "
    "backwards and the number changes sign. Nothing here needs coordinates or a choice of vectors: the arrows are only "
    "drawn by interpolation (Whitney forms). Integrals over longer paths are sums of numbers, exactly.",
    (r"\omega(\sigma) = \int_\sigma \omega", r"\omega(-\sigma) = -\,\omega(\sigma)"),
    (Switch("form", "Show a", {0: "0-form", 1: "1-form", 2: "2-form"}),),
    show_forms,
)


# ---- 2 -----------------------------------------------------------------------------------------------------------

POLYNOMIALS = {1: "z", 2: "3z² − 1", 3: "5z³ − 3z"}
CODE_OF = {1: "z", 2: "3 * z**2 - 1", 3: "5 * z**3 - 3 * z"}


@dataclass(frozen=True, eq=False)
class Derivatives:
    """f, df and δdf on the unit sphere, ratio ‖df‖²/‖f‖², how well d and δ are adjoint, and ∮df around a loop."""

    f: np.ndarray
    df: np.ndarray
    lap: np.ndarray
    ratio: float
    adjoint: float
    loop: float


@st.cache_resource(max_entries=4, show_spinner=False)
def derivatives(ell: int) -> Derivatives:
    mesh = cached.gallery_mesh("sphere", FINE)
    dec, z = DEC(mesh, star="diagonal"), mesh.points[:, 2]
    f = {1: z, 2: 3 * z**2 - 1, 3: 5 * z**3 - 3 * z}[ell]
    one = np.ones_like(f)
    f = f - dec.inner(0, f, one) / dec.inner(0, one, one)
    df = dec.d(0) @ f
    delta = dec.codifferential(1)
    other = sample_form(mesh, 1) + de_rham(mesh, 1, lambda p: p[:, [1, 2, 0]])
    left, right = dec.inner(1, df, other), dec.inner(0, f, delta @ other)
    adjoint = abs(left - right) / (dec.norm(1, df) * dec.norm(1, other))
    ratio = dec.inner(1, df, df) / dec.inner(0, f, f)
    return Derivatives(f, df, delta @ df, ratio, adjoint, float(cap_loop(mesh) @ df))


@st.cache_resource(max_entries=4, show_spinner=False)
def derivative_pictures(ell: int) -> tuple[FormPicture, FormPicture, FormPicture]:
    """f, δdf and df."""
    mesh, made = cached.gallery_mesh("sphere", FINE), derivatives(ell)
    value, lap = (picture_of(mesh, 0, x[:, None], None, symbol=n) for x, n in ((made.f, "f"), (made.lap, "δdf")))
    return value, lap, picture_of(mesh, 1, made.df[:, None], glyphs_or_none(mesh), symbol="df")


def show_derivatives(state: LearnState, theme: str) -> View:
    mesh = cached.gallery_mesh("sphere", FINE)
    surface, made = cached.surface_of(mesh), derivatives(state.ell)
    value, lap, slope = derivative_pictures(state.ell)
    panels = (
        drawn(value, surface, f"f = {POLYNOMIALS[state.ell]}, arrows: df", slope),
        drawn(lap, surface, "δdf", lap),
    )
    numbers = (
        f"Adjoint: |⟨df, ω⟩ − ⟨f, δω⟩| / ‖df‖‖ω‖ = {tiny(made.adjoint)}. Around any closed loop the differences of f "
        f"cancel: ∮df = {tiny(made.loop)}."
    )
    degree = state.ell
    question = Question(
        f"δdf looks like f, c times as large. For f = {POLYNOMIALS[degree]} on the unit sphere, what is c? "
        "(Within 3 % is right.)",
        made.ratio,
        f"Multiply δdf = c f by f: c = ⟨f, δdf⟩/⟨f, f⟩ = ‖df‖²/‖f‖² = {made.ratio:.4f} on this mesh. On the smooth "
        f"sphere "
        f"c = ℓ(ℓ + 1) = {degree * (degree + 1)}: f is a spherical harmonic of degree ℓ = {degree}, an eigenfunction "
        f"of "
        "Δ = δd.",
        tolerance=0.03 * made.ratio,
    )
    code = (
        f'import hsd\n\nmesh = hsd.gallery("sphere", {FINE})\n'
        'dec = hsd.DEC(mesh, star="diagonal")\nz = mesh.points[:, 2]\n'
        f"f, areas = {CODE_OF[degree]}, dec.star(0).diagonal()\nf = f - f @ areas / areas.sum()  # zero mean\n"
        "df = dec.d(0) @ f\nlap = dec.codifferential(1) @ df\nc = dec.inner(1, df, df) / dec.inner(0, f, f)"
    )
    return View(mesh, Scene(panels, theme=theme, columns_of_panels=2), numbers, question, code, 0, star="diagonal")


DERIVATIVES = Lesson(
    "d and δ",
    "The derivative $d$ takes a $k$-form to a $(k+1)$-form by Stokes' theorem: its number on a simplex is the sum over "
    "the boundary. So $df$ on an edge is end minus start, and $d\\omega$ on a triangle is the circulation around it; "
    "the matrices hold only $0$ and $\\pm1$ and know no lengths. Lengths enter through the Hodge star $\\star$, "
    "the inner product $\\langle a,b\\rangle = a^{T}\\!\\star b$. The codifferential $\\delta$ is the adjoint of $d$ "
    "in it, going one degree down: minus the divergence for 1-forms. Together they make the Laplacian, "
    "which is positive here.",
    (
        r"(d\omega)(\sigma)=\omega(\partial\sigma),\quad \Delta=d\delta+\delta d",
        r"\langle d\alpha,\omega\rangle=\langle\alpha,\delta\omega\rangle",
    ),
    (Switch("ell", "f =", POLYNOMIALS),),
    show_derivatives,
)


# ---- 3 -----------------------------------------------------------------------------------------------------------

SURFACES = {"sphere": "sphere", "torus": "torus", "moebius": "Möbius band"}


@dataclass(frozen=True, eq=False)
class TwiceD:
    """d₁d₀ of a mesh with, or without, the sign of one edge wrong.

    nonzeros : stored non-zero entries of d₁d₀ as integers;  f : 0-form;  edge: the edge with the wrong sign
    broken   : d₁Sd₀f on triangles, S = −1 at that edge;  hit: triangles where it is not rounding
    """

    nonzeros: int
    f: np.ndarray
    df: np.ndarray
    edge: int
    broken: np.ndarray
    hit: np.ndarray


@st.cache_resource(max_entries=4, show_spinner=False)
def twice(name: str) -> TwiceD:
    mesh = cached.gallery_mesh(name, BAND)
    dec, p = DEC(mesh), mesh.points3
    f = np.sin(2 * p[:, 0] + 0.5) + p[:, 1] * p[:, 2] - p[:, 1]
    df = dec.d(0) @ f
    ends = mesh.complex.simplices(1)
    inner = np.flatnonzero(~mesh.complex.on_boundary(1))
    front = (p[ends[inner]].mean(axis=1) - p.mean(axis=0)) @ (TOWARDS / np.linalg.norm(TOWARDS))
    near = inner[front > np.quantile(front, 0.97)]
    edge = int(near[np.argmax(np.abs(df[near]))])
    signs = np.ones(dec.n(1))
    signs[edge] = -1.0
    broken = dec.d(1) @ (signs * df)
    hit = np.flatnonzero(np.abs(broken) > ROUNDING * np.abs(df).max())
    product = dec.d(1) @ dec.d(0)
    product.eliminate_zeros()
    return TwiceD(int(product.nnz), f, df, edge, broken, hit)


@st.cache_resource(max_entries=4, show_spinner=False)
def twice_pictures(name: str) -> tuple[FormPicture, FormPicture]:
    mesh, made = cached.gallery_mesh(name, BAND), twice(name)
    value = picture_of(mesh, 0, made.f[:, None], None, symbol="f")
    return value, picture_of(mesh, 1, made.df[:, None], glyphs_or_none(mesh), symbol="df")


def show_twice(state: LearnState, theme: str) -> View:
    mesh = cached.gallery_mesh(state.closed, BAND)
    surface, made, flip = cached.surface_of(mesh), twice(state.closed), state.flip
    value, slope = twice_pictures(state.closed)
    layers = ()
    rest = np.zeros(mesh.complex.n(2))
    if flip:
        layers = (build.edge_segments(mesh, surface, [made.edge], "#00A0FF", width=4.0, label="edge with wrong sign"),)
        rest = np.abs(made.broken)
        rest[rest <= ROUNDING * np.abs(made.df).max()] = 0.0
    top = 2 * float(np.abs(made.df[made.edge]))
    zero = Colour(rest, "error", "|d df|", where="face", limits=(0.0, top))
    panels = (
        drawn(value, surface, "f, arrows: df", slope, layers=layers, wireframe=True),
        panel_with(surface, zero, None, layers, "d df", wireframe=True),
    )
    numbers = f"The matrix d₁d₀ ({mesh.complex.n(2)} × {mesh.complex.n(0)}) has {made.nonzeros} non-zero entries. " + (
        f"With one wrong sign ddf ≠ 0 in {len(made.hit)} triangles; the largest value is {rest.max():.4f} = 2|df(e)|."
        if flip
        else "So ddf = 0 for every f, on every mesh: black everywhere."
    )
    question = Question(
        "Suppose one edge inside the mesh counts with the wrong sign in d₁. For a general f, in how many triangles "
        "does "
        "d df stop being zero?",
        len(made.hit),
        f"In the {len(made.hit)} triangles that share the edge: there df(e) enters with the wrong sign, so the sum "
        f"around "
        f"the triangle is ±2 df(e) = ±{top:.4f} instead of 0. All others never see this edge. Switch it on to see it.",
    )
    code = (
        f'import numpy as np\nimport hsd\n\nmesh = hsd.gallery("{state.closed}", {BAND})\ndec = hsd.DEC(mesh)\n'
        "x, y, z = mesh.points.T\nf = np.sin(2 * x + 0.5) + y * z - y\n(dec.d(1) @ dec.d(0)).nnz  # 0\n"
        f"signs = np.ones(dec.n(1))\nsigns[{made.edge}] = -1\nbroken = dec.d(1) @ (signs * (dec.d(0) @ f))"
    )
    return View(mesh, Scene(panels, theme=theme, columns_of_panels=2), numbers, question, code, 0)


TWICE = Lesson(
    "Why d∘d = 0",
    "Walk around a triangle $abc$ and add the differences of $f$: every vertex comes once as an end and once as a "
    "start, "
    "so the sum is $(f_b-f_a)+(f_c-f_b)+(f_a-f_c)=0$. In general $dd\\omega$ sums $\\omega$ over the boundary of a "
    "boundary, and that is empty: $\\partial\\partial=0$. This is one identity of integers, without limit or rounding, "
    "on curved and on one-sided surfaces alike; in space it reads curl grad $=0$ and div curl $=0$. It makes every "
    "exact form closed, $\\operatorname{im} d\\subseteq\\ker d$, and leaves the question that the next lessons "
    "answer: which closed forms are not exact?",
    (r"\partial_k\,\partial_{k+1}=0 \iff d_k\,d_{k-1}=0",),
    (
        Switch("closed", "Surface", SURFACES),
        Switch("flip", "Sign of one edge", {False: "right", True: "wrong"}),
    ),
    show_twice,
)
