"""Lesson 7: the spectrum of the Laplacian and truncation."""

from __future__ import annotations

from dataclasses import replace
from math import floor

import numpy as np
import streamlit as st

from hsd.dec.preset_fields import preset_field
from hsd.hodge.spectral_energy import SpectralEnergy, spectral_energy
from hsd.ui import cached
from hsd.ui.lessons.base import Lesson, Question, Switch, View, tiny
from hsd.ui.modes_view import glyphs_or_none
from hsd.ui.state import LearnState
from hsd.viz.energy_scene import energy_picture, energy_scene
from hsd.viz.modes import FormPicture

N, SEED, ASKED = 642, 0, 12.0
N_MODES = {0: 49, 1: 48}
"""Whole eigenspaces of the sphere: λ up to 42 for functions, up to 20 for 1-forms."""


@st.cache_resource(max_entries=2, show_spinner=False)
def truncated(k: int) -> SpectralEnergy:
    """Smooth random waves on the sphere in the lowest modes of Δ_k."""
    mesh = cached.gallery_mesh("sphere", N)
    return spectral_energy(
        cached.basis_of(mesh, k, "absolute", "galerkin", N_MODES[k]), preset_field(mesh, k, "waves", SEED)
    )


@st.cache_resource(max_entries=2, show_spinner=False)
def truncated_picture(k: int) -> FormPicture:
    mesh = cached.gallery_mesh("sphere", N)
    return energy_picture(truncated(k), preset_field(mesh, k, "waves", SEED), glyphs_or_none(mesh))


def clusters(eigenvalues: np.ndarray) -> list[tuple[int, int]]:
    """(ℓ(ℓ + 1), number of eigenvalues nearest to it) of a sphere, for ℓ = 0, 1, …"""
    ell = np.array([floor((-1 + np.sqrt(1 + 4 * max(v, 0.0))) / 2 + 0.5) for v in eigenvalues])
    return [(int(n * (n + 1)), int((ell == n).sum())) for n in np.unique(ell)]


def show_spectrum(state: LearnState, theme: str) -> View:
    mesh, k = cached.gallery_mesh("sphere", N), state.degree
    energy = truncated(k)
    n = len(energy.columns)
    cut = min(state.cut, n)
    scene = energy_scene(truncated_picture(k), cached.surface_of(mesh), energy, cut, theme=theme)
    scene = replace(scene, panels=scene.panels[:2], columns_of_panels=2)  # without the difference
    counts = dict(clusters(energy.eigenvalues))
    seen = {level: counts[level] for level in sorted(counts) if level < ASKED}
    list_of = ", ".join(f"{level} (×{m})" for level, m in seen.items())
    near = np.abs(energy.eigenvalues - ASKED) < 1.0
    numbers = (
        f"With {cut} of {n} modes the relative error is {energy.errors[cut]:.4f}; all of them reach "
        f"{energy.floor:.4f}. "
        f"Parseval: |‖ω‖² − Σ|cᵢ|² − ‖rest‖²| / ‖ω‖² = {tiny(energy.parseval)}."
    )
    kinds = "function" if k == 0 else "1-form"
    low, high = energy.eigenvalues[near].min(), energy.eigenvalues[near].max()
    more = (
        "a spherical harmonic of degree ℓ = 3 has 2ℓ + 1 = 7 independent copies"
        if k == 0
        else "for 1-forms each of the 7 functions f of degree ℓ = 3 gives an exact mode df and a coexact mode ⋆df"
    )
    question = Question(
        f"On the unit sphere the eigenvalues of Δ{'₀₁'[k]} cluster at ℓ(ℓ + 1): {list_of}. How many independent "
        f"{kinds}s belong to the next value, 12?",
        int(near.sum()),
        f"hsd finds {int(near.sum())} eigenvalues between {low:.3f} and {high:.3f} (an inertia count proves that none "
        f"is "
        f"missing): {more}. Cutting inside such a block keeps an arbitrary part of it.",
    )
    code = (
        "import hsd\nfrom hsd.dec.preset_fields import preset_field\n\n"
        f'mesh = hsd.gallery("sphere", {N})\nbasis = hsd.lowest_modes(mesh, {k}, {N_MODES[k]})\n'
        f'energy = hsd.spectral_energy(basis, preset_field(mesh, {k}, "waves", seed={SEED}))\n'
        f"energy.eigenvalues, energy.errors[{cut}], energy.reconstruct({cut})"
    )
    return View(mesh, scene, numbers, question, code, k, controls={"cut": "cut"})


SPECTRUM = Lesson(
    "Spectrum and truncation",
    "The Laplacian $\\Delta_k$ has an orthonormal basis of eigenforms, and its eigenvalues $\\lambda\\ge 0$ are "
    "squared "
    "frequencies. The harmonic forms are exactly those with $\\lambda=0$; all others are exact or coexact. A smooth "
    "field has little energy in high modes, so a sum of few modes comes close: the error obeys "
    "$\\|\\omega-\\omega_m\\|^2\\le\\langle\\omega,\\Delta\\omega\\rangle/\\lambda_{m+1}$, and no other "
    "space of dimension $m$ guarantees a smaller one. Equal eigenvalues come in blocks: single modes within one are a "
    "choice, the space they "
    "span is not. "
    "A truncation should end between blocks, and should keep every harmonic form.",
    (
        r"\omega_m=\sum_{i\le m}c_i\,\varphi_i,\quad c_i=\langle\varphi_i,\omega\rangle",
        r"\|\omega-\omega_m\|^2=\|\omega\|^2-\sum_{i\le m}|c_i|^2",
    ),
    (Switch("degree", "Forms of degree", {0: "0: functions", 1: "1: fields"}),),
    show_spectrum,
)
