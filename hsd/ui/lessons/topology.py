"""Lesson 8: what a topology-blind smoothing does to harmonic coefficients, beside one that keeps them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from hsd.dec.flat import flat
from hsd.dec.whitney import sharp
from hsd.hodge.compose import Composer, length_of
from hsd.hodge.decomposition import circulations
from hsd.hodge.heat import HeatFlow, KrylovExponential
from hsd.hodge.presets import preset
from hsd.hodge.solver import HodgeSolver
from hsd.ui import cached
from hsd.ui.lessons.base import Lesson, Question, Switch, View
from hsd.ui.modes_view import glyphs_or_none
from hsd.ui.state import LearnState
from hsd.viz.modes import FormPicture, generator_layers, panel_with, picture_of
from hsd.viz.scene import Arrows, Colour, Control, Mix, Scene

N = 700
SHAPES = {"torus": "torus", "double_torus": "double torus"}
TIMES = np.concatenate([[0.0], np.geomspace(1e-3, 10.0, 24)])
"""In units of L², L² = area/4π."""
ASKED = 20
"""Step of TIMES that the question is about."""
OUTCOMES = (
    "both smoothings keep it",
    "the Hodge flow keeps it, smoothing the components loses it",
    "both smoothings lose it",
)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A 1-form ω smoothed in two ways at TIMES: "blind" componentwise, "hodge" by e^{−tΔ}.

    blind, hodge : (N_1, T) cochains
    kept         : by name, (T,) ‖c(t)‖ / ‖c(ω)‖ of the ⋆-orthonormal harmonic coefficients c
    loops        : by name, (b_1, T) circulation of the harmonic part around each generator
    """

    omega: np.ndarray
    blind: np.ndarray
    hodge: np.ndarray
    kept: dict[str, np.ndarray]
    loops: dict[str, np.ndarray]


def componentwise(solver: HodgeSolver, omega: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(e^{−tΔ₀}vₓ, e^{−tΔ₀}v_y, e^{−tΔ₀}v_z)♭ of the vectors v = ω♯ at the vertices, (N_1, T); times > 0 in unit²."""
    mesh, dec = solver.mesh, solver.dec
    mass, stiffness = dec.star(0), dec.upper_stiffness(0)
    vectors = sharp(mesh, omega, 1, at="vertices")
    weights = mass.diagonal() / mass.diagonal().sum()
    out = np.empty((*vectors.shape, len(times)))
    for i in range(vectors.shape[1]):
        mean = float(weights @ vectors[:, i])
        flow = KrylovExponential(stiffness, mass, vectors[:, i] - mean, times[0], times[-1])
        out[:, i] = flow.at(times) + mean
    return np.stack([flat(mesh, out[:, :, j]) for j in range(len(times))], axis=1)


@st.cache_resource(max_entries=2, show_spinner=False)
def smoothed(shape: str) -> Smoothed:
    """Both smoothings of the field of lesson 4."""
    mesh = cached.gallery_mesh(shape, N)
    solver = cached.solver_of(mesh, "galerkin", "absolute")
    omega = Composer(solver).form(preset("mixture", mesh, 1, solver.betti[1]))
    times = TIMES * length_of(solver) ** 2
    parts = cached.decomposer_of(mesh, 1, "absolute", "galerkin")(omega)
    hodge = HeatFlow(solver, parts, times[1], times[-1]).field(times)
    blind = np.column_stack([flat(mesh, sharp(mesh, omega, 1, at="vertices")), componentwise(solver, omega, times[1:])])
    gamma = solver.harmonic(1).orthonormal
    whole = float(np.linalg.norm(parts.harmonic_coefficients))
    kept, loops = {}, {}
    for name, fields in (("blind", blind), ("hodge", hodge)):
        c = gamma.T @ (solver.dec.star(1) @ fields)
        kept[name] = np.linalg.norm(c, axis=0) / whole
        loops[name] = np.column_stack([circulations(solver, 1, gamma @ column) for column in c.T])
    return Smoothed(omega, blind, hodge, kept, loops)


@st.cache_resource(max_entries=2, show_spinner=False)
def smoothed_pictures(shape: str) -> tuple[FormPicture, FormPicture]:
    mesh, made = cached.gallery_mesh(shape, N), smoothed(shape)
    labels = [
        f"t = {t:.3g} L², kept {100 * a:.1f} % | {100 * b:.1f} %"
        for t, a, b in zip(TIMES, made.kept["blind"], made.kept["hodge"])
    ]
    glyphs = glyphs_or_none(mesh)
    return tuple(picture_of(mesh, 1, fields, glyphs, labels, symbol="ω") for fields in (made.blind, made.hodge))


def outcome(made: Smoothed) -> int:
    """The entry of OUTCOMES that the numbers at the step asked about mean: kept is above 99 %, lost below 50 %."""
    blind, hodge = made.kept["blind"][ASKED], made.kept["hodge"][ASKED]
    return 0 if blind > 0.99 else (1 if hodge > 0.99 else 2)


def show_topology(state: LearnState, theme: str) -> View:
    mesh = cached.gallery_mesh(state.blind, N)
    surface, made = cached.surface_of(mesh), smoothed(state.blind)
    step = min(state.time, len(TIMES) - 1)
    loops = generator_layers(mesh, surface, 1, cached.homology_of(mesh, "absolute").cycles(1), "absolute")[0]
    panels = []
    for picture, title in zip(smoothed_pictures(state.blind), ("components smoothed", "Hodge flow e^(−tΔ)ω")):
        colour = Colour(Mix(picture.columns, mode="t"), picture.kind, picture.name, scale="ω")
        arrows = Arrows(picture.glyphs, Mix(picture.arrows, mode="t"), picture.name, scale="ω")
        panels.append(panel_with(surface, colour, arrows, loops, title))
    labels = smoothed_pictures(state.blind)[0].columns.labels
    slider = Control("t", "Time", 0, len(TIMES) - 1, step, labels=labels, play=True, report=True)
    scene = Scene(tuple(panels), (slider,), theme=theme, columns_of_panels=2)
    around = ", ".join(
        f"z{'₁₂₃₄'[i]}: {a:.3f} | {b:.3f}"
        for i, (a, b) in enumerate(zip(made.loops["blind"][:, step], made.loops["hodge"][:, step]))
    )
    start = made.loops["hodge"][:, 0]
    numbers = (
        f"At t = {TIMES[step]:.3g} L² the harmonic coefficients are {100 * made.kept['blind'][step]:.2f} % "
        f"(components) and "
        f"{100 * made.kept['hodge'][step]:.2f} % (Hodge) of those of ω. Circulation of the harmonic part, components | "
        f"Hodge: {around}; at first {', '.join(f'{c:.3f}' for c in start)}. Vectors at vertices alone cost "
        f"{100 * (1 - made.kept['blind'][0]):.1f} % at t = 0."
    )
    question = Question(
        f"Both are smoothed until t = {TIMES[ASKED]:.2g} L². What becomes of the circulation around the holes?",
        outcome(made),
        f"After t = {TIMES[ASKED]:.2g} L² smoothing the three components has left "
        f"{100 * made.kept['blind'][ASKED]:.1f} %, "
        f"the Hodge flow {100 * made.kept['hodge'][ASKED]:.4f} %. Components tend to a constant vector c, and the "
        f"form of "
        "a constant vector is d(c·x), exact: circulation zero around every loop. Under e^(−tΔ) modes decay like "
        "e^(−λt), "
        "and harmonic ones have λ = 0.",
        choices=OUTCOMES,
    )
    code = (
        "import hsd\nfrom hsd.hodge.compose import Composer\nfrom hsd.hodge.heat import HeatFlow\n"
        f'from hsd.hodge.presets import preset\n\nmesh = hsd.gallery("{state.blind}", {N})\nsolver = '
        f"hsd.HodgeSolver(mesh)\n"
        'omega = Composer(solver).form(preset("mixture", mesh, 1, solver.betti[1]))\n'
        "parts = hsd.Decomposer(mesh, 1, solver=solver)(omega)\nflow = HeatFlow(solver, parts, 1e-4, 10.0)\n"
        "later = flow.field(1.0)\nhsd.decompose(mesh, later, 1).harmonic_coefficients  # those of omega"
    )
    return View(mesh, scene, numbers, question, code, 1, controls={"t": "time"})


TOPOLOGY = Lesson(
    "Why operators need topology",
    "The diffusion $e^{-t\\Delta}$ keeps the harmonic part of a field for ever and damps every other mode by "
    "$e^{-\\lambda t}$. An operator that treats a field as three numbers a point need not know this: smoothing the "
    "components sends the field to a constant vector, whose circulation around every hole is zero. The loss is not "
    "noise that more samples would average out; it is a whole component, of dimension $b_1$, that this smoothing "
    "cannot keep. In a Hodge basis the harmonic coefficients are $b_1$ numbers of their own, which a layer can keep, "
    "read or change on purpose. The same holds for models of potentials alone: $d\\alpha+\\delta\\beta$ never "
    "contains $\\gamma$.",
    (
        r"e^{-t\Delta}\omega=\gamma+\sum_{\lambda_i>0}e^{-\lambda_i t}c_i\varphi_i",
        r"c\cdot dx=d(c\cdot x)\ \Rightarrow\ \oint c\cdot dx=0",
    ),
    (Switch("blind", "Surface", SHAPES),),
    show_topology,
)
