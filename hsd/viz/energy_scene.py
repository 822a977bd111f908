"""A field, its truncation in a basis and what is left, side by side: the truncation is moved in the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hsd.hodge.spectral_energy import SpectralEnergy
from hsd.viz.modes import CLIP_NORMAL, FormPicture, panel_with, picture_of
from hsd.viz.scene import Arrows, Clip, Colour, Control, Glyphs, Mix, Scene, Surface


def energy_picture(energy: SpectralEnergy, omega: np.ndarray, glyphs: Glyphs | None) -> FormPicture:
    """Columns ω, φ₀, φ₁, … by eigenvalue, for colouring and as arrows."""
    dec, k = energy.basis.solver.dec, energy.basis.k
    omega = dec.extend(k, dec.restrict(k, omega))  # under relative conditions boundary values count as zero
    cochains = np.column_stack([omega, energy.basis.modes[:, energy.columns]])
    return picture_of(energy.basis.mesh, k, cochains, glyphs, symbol="ω")


def cut_labels(energy: SpectralEnergy) -> tuple[str, ...]:
    """One text a number of modes kept, from 1 on: largest eigenvalue among them and the relative error."""
    return tuple(f"λ ≤ {v:.4g}, error {e:.3g}" for v, e in zip(energy.eigenvalues, energy.errors[1:]))


def energy_scene(
    picture: FormPicture,
    surface: Surface,
    energy: SpectralEnergy,
    cut: int,
    *,
    arrows: bool = True,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
    layers: Sequence = (),
) -> Scene:
    """Three linked panels: ω, Σ_{i<m} cᵢφᵢ, and the difference; the slider m stays in the page."""
    n = len(energy.columns)
    c = energy.coefficients
    only, kept, rest = np.r_[1.0, np.zeros(n)], np.r_[0.0, c], np.r_[1.0, -c]
    controls = [
        Control(
            "cut", "Modes kept", 1, n, max(1, min(cut, n)), labels=cut_labels(energy), play=True, keys=True, report=True
        )
    ]
    handle = "cut" if n > 1 else None
    if n <= 1:
        controls = []
    columns = picture.columns
    first = np.linalg.norm(columns.values[..., 0], axis=1) if columns.is_vector else np.abs(columns.values[..., 0])
    top = float(first.max(initial=0.0)) or 1.0
    scale = {"scale": "field"}
    panels = []
    for title, weights, cuts in (
        ("Field ω", only, None),
        ("Truncated sum", kept, handle),
        ("Difference", rest, handle),
    ):
        mix = Mix(columns, weights, cut=cuts, always=1)
        if title == "Difference":
            signed = picture.kind == "signed"
            limits = (-top, top) if signed else (0.0, top)
            colour = Colour(mix, "signed" if signed else "error", "ω − Σ" if signed else "|ω − Σ|", limits=limits)
        else:
            colour = Colour(mix, picture.kind, picture.name, **scale)
        drawn = None
        if arrows and picture.arrows is not None and title != "Difference":
            drawn = Arrows(picture.glyphs, Mix(picture.arrows, weights, cut=cuts, always=1), picture.name)
        panel = panel_with(surface, colour, drawn, layers, title)
        panels.append(panel if clip is None else replace(panel, clip=Clip(CLIP_NORMAL, "clip")))
    if clip is not None:
        controls.append(Control("clip", "Cut at", 0.0, 1.0, clip, 0.01, report=True))
    return Scene(tuple(panels), tuple(controls), theme=theme, caption=caption, columns_of_panels=3)
