"""Scenes of a Hodge decomposition: parts with live weights, potentials, heat flow, zeros and failed identities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hsd.dec.whitney import cells_to_vertices
from hsd.hodge.checks import Checks
from hsd.hodge.compose import Composition
from hsd.hodge.decomposition import PARTS, Decomposition
from hsd.hodge.heat import HeatFlow
from hsd.hodge.singularities import Singularities
from hsd.mesh.mesh import Mesh
from hsd.viz import build
from hsd.viz.modes import CLIP_NORMAL, FormPicture, panel_with, picture_of
from hsd.viz.palettes import PARTS as LOOKS
from hsd.viz.scene import (
    Arrows,
    Clip,
    Colour,
    Control,
    Dots,
    Glyphs,
    Isolines,
    Marker,
    Mix,
    Panel,
    Scene,
    Segments,
    Surface,
    Tool,
)

SYMBOLS = {"exact": "dα", "coexact": "δβ", "harmonic": "γ"}
WEIGHTS = {"exact": "w_d", "coexact": "w_δ", "harmonic": "w_γ"}
POINT_COLOURS = {"source": "#D00000", "sink": "#0072B2", "vortex": "#E69F00"}
ZERO_COLOURS = {
    "source": "#D00000",
    "sink": "#0072B2",
    "vortex ↺": "#E69F00",
    "vortex ↻": "#CC79A7",
    "vortex": "#E69F00",
    "saddle": "#111111",
}
LOOP = "#FF4FD8"
ISOLINES = 14
HEAT_STEPS = 25
HEAT_RANGE = (1e-4, 10.0)
"""Times in units of L² that the heat slider spans, evenly in log t."""


def parts_picture(mesh: Mesh, parts: Decomposition, glyphs: Glyphs | None) -> FormPicture:
    """dα, δβ and γ as columns, each in its own group."""
    cochains = np.column_stack([getattr(parts, name) for name in PARTS])
    return picture_of(mesh, parts.k, cochains, glyphs, [SYMBOLS[p] for p in PARTS], PARTS, symbol="ω")


def markers_of(composition: Composition) -> tuple[Marker, ...]:
    """The placed points, draggable."""
    sign = {"source": "+", "sink": "−"}
    out = []
    for p in composition.points:
        symbol = sign.get(p.kind, "↺" if p.strength >= 0 else "↻")
        bary = tuple(p.bary) if len(p.bary) == 3 else (1 / 3, 1 / 3, 1 / 3)
        out.append(Marker(p.id, p.cell, bary, kind=p.kind, colour=POINT_COLOURS[p.kind], label=f"{p.id} {symbol}"))
    return tuple(out)


def parts_scene(
    picture: FormPicture,
    surface: Surface,
    weights: Mapping[str, float],
    *,
    energies: Mapping[str, float],
    arrows: bool = True,
    markers: Sequence[Marker] = (),
    tool: Tool | None = None,
    layers: Sequence = (),
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """Four linked panels: w_d dα + w_δ δβ + w_γ γ and its three terms; the weights are moved in the page.

    energies : part → ‖part‖², a part without energy (rounding) is drawn as zero
    layers   : tubes of a chosen loop, over all panels
    """
    total = energies["total"] or 1.0
    alive = np.array([float(energies[p] > 1e-24 * total) for p in PARTS])
    panels = []
    for i, part in enumerate((None, *PARTS)):
        coefficients = alive if part is None else alive * (np.arange(3) == i - 1)
        follows = dict(WEIGHTS) if part is None else {part: WEIGHTS[part]}
        colour = Colour(Mix(picture.columns, coefficients, weights=follows), picture.kind, picture.name, scale="parts")
        drawn = None
        if arrows and picture.arrows is not None:
            drawn = Arrows(picture.glyphs, Mix(picture.arrows, coefficients, weights=follows), picture.name)
        title = "ω, weighted" if part is None else LOOKS[part].name
        panels.append(replace(panel_with(surface, colour, drawn, layers, title), markers=tuple(markers)))
    controls = [Control(WEIGHTS[p], f"{WEIGHTS[p]} ({SYMBOLS[p]})", -2, 2, weights[p], 0.01) for p in PARTS]
    return _scene(panels, controls, clip, theme, caption, tool or Tool())


def potentials_scene(
    mesh: Mesh,
    surface: Surface,
    parts: Decomposition,
    glyphs: Glyphs | None,
    *,
    arrows: bool = True,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> tuple[Scene | None, list[str]]:
    """α and β side by side, with isolines where they are numbers; and sentences on what cannot be drawn."""
    panels, notes = [], []
    for name, degree, values, part in (
        ("α", parts.k - 1, parts.alpha, "exact"),
        ("β", parts.k + 1, parts.beta, "coexact"),
    ):
        if not 0 <= degree <= mesh.dim:
            notes.append(f"{parts.k}-forms have no potential {name} here: their {part} part is zero.")
            continue
        picture = picture_of(mesh, degree, np.asarray(values)[:, None], glyphs, symbol=name)
        if picture.columns is None:
            notes.append(f"{name}: {picture.why_not}")
            continue
        columns = picture.columns
        lines = None
        if not columns.is_vector:
            numbers = columns.values[:, 0]
            if columns.where == "face":
                numbers = cells_to_vertices(mesh) @ numbers
            colour = Colour(numbers, "signed", name)
            lines = Isolines(ISOLINES)
        else:
            colour = Colour(Mix(columns), picture.kind, picture.name)
        drawn = None
        if arrows and picture.arrows is not None:
            drawn = Arrows(picture.glyphs, Mix(picture.arrows), picture.name, scale=f"arrows {name}")
        words = f"{name}, a {degree}-form" + (", as a density" if columns.where == "face" else "")
        panels.append(replace(panel_with(surface, colour, drawn, (), words), isolines=lines))
    scene = _scene(panels, [], clip, theme, caption, Tool()) if panels else None
    return scene, notes


def heat_times(length2: float, steps: int = HEAT_STEPS) -> np.ndarray:
    """t = 0 and then times evenly in log t, (steps,), unit²."""
    return np.concatenate([[0.0], np.geomspace(*HEAT_RANGE, steps - 1)]) * length2


def heat_picture(mesh: Mesh, flow: HeatFlow, times: np.ndarray, glyphs: Glyphs | None, length2: float) -> FormPicture:
    """e^{−tΔ}ω at all times as columns, then γ as the last one."""
    cochains = np.column_stack([flow.field(times), flow.parts.harmonic])
    labels = [f"t = {t / length2:.3g} L²" for t in times] + ["t → ∞"]
    return picture_of(mesh, flow.k, cochains, glyphs, labels, ["flow"] * len(times) + ["end"], symbol="ω")


def heat_scene(
    picture: FormPicture,
    surface: Surface,
    step: int,
    *,
    arrows: bool = True,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """e^{−tΔ}ω with t on a logarithmic slider, moved in the page, beside the γ that stays."""
    n = picture.columns.n_columns
    last = np.eye(n)[n - 1]
    panels = []
    for title, options in (("e^(−tΔ) ω", {"mode": "t"}), ("harmonic γ, t → ∞", {"coefficients": last})):
        colour = Colour(Mix(picture.columns, **options), picture.kind, picture.name, scale="heat")
        drawn = None
        if arrows and picture.arrows is not None:
            drawn = Arrows(picture.glyphs, Mix(picture.arrows, **options), picture.name)
        panels.append(panel_with(surface, colour, drawn, (), title))
    labels = picture.columns.labels
    controls = [Control("t", "Time", 0, n - 1, min(step, n - 1), labels=labels, play=True, keys=True, report=True)]
    return _scene(panels, controls, clip, theme, caption, Tool())


def zeros_scene(
    picture: FormPicture,
    surface: Surface,
    found: Mapping[str, Singularities],
    *,
    arrows: bool = True,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """ω and its parts with their zeros as dots, coloured by what the field does there."""
    panels = []
    for name in ("ω", *PARTS):
        if name not in found:
            continue
        coefficients = np.ones(3) if name == "ω" else (np.array(PARTS) == name).astype(float)
        colour = Colour(Mix(picture.columns, coefficients), picture.kind, picture.name, scale="zeros")
        drawn = None
        if arrows and picture.arrows is not None:
            drawn = Arrows(picture.glyphs, Mix(picture.arrows, coefficients), picture.name)
        one = found[name]
        title = f"{'ω' if name == 'ω' else LOOKS[name].name}: Σ index = {one.total}"
        panels.append(panel_with(surface, colour, drawn, zero_dots(surface, one), title))
    return _scene(panels, [], None, theme, caption, Tool())


def zero_dots(surface: Surface, found: Singularities) -> tuple[Dots, ...]:
    """Dots at triangles of non-zero index, one layer a kind; places where the field vanishes are left out."""
    words = np.array(found.word, dtype=object)
    out = []
    for word in dict.fromkeys(found.word):
        if word != "field vanishes":
            at = surface.mesh_points[surface.mesh_triangles[found.face[words == word]]].mean(axis=1)
            out.append(Dots(at, ZERO_COLOURS.get(word, "#7B3294"), 13.0, word))
    return tuple(out)


def checks_scene(
    mesh: Mesh,
    surface: Surface,
    checks: Checks,
    k: int,
    *,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """Where each of the four expressions is not zero, relative to its terms; one error scale for all."""
    values = [vertex_maximum(mesh, check.degree, check.where) for check in checks.checks]
    top = max((float(v.max(initial=0.0)) for v in values), default=0.0)
    layers: list = []
    if checks.flipped >= 0:
        corners = surface.mesh_points[mesh.complex.simplices(k)[checks.flipped]]
        word = "simplex with the wrong sign"
        if k == 0:
            layers.append(Dots(corners, "#00A0FF", 11.0, word))
        else:
            sides = np.array([[a, b] for i, a in enumerate(corners) for b in corners[i + 1 :]])
            layers.append(Segments(sides, "#00A0FF", 4.0, word))
    panels = []
    for check, value in zip(checks.checks, values):
        colour = Colour(value, "error", "relative size", limits=(0.0, max(top, 1e-6)), scale="checks")
        title = f"{check.name} = 0 {'✓' if check.holds else '✗'} ({check.value:.1e})"
        panels.append(panel_with(surface, colour, None, layers, title))
    return _scene(panels, [], clip, theme, caption, Tool())


def vertex_maximum(mesh: Mesh, degree: int, values: np.ndarray) -> np.ndarray:
    """The largest value among the simplices around each vertex, (N_j,) → (n_vertices,)."""
    out = np.zeros(mesh.complex.n_vertices)
    if 0 <= degree <= mesh.dim and len(values):
        corners = mesh.complex.simplices(degree)
        np.maximum.at(out, corners.ravel(), np.repeat(values, corners.shape[1]))
    return out


def _scene(
    panels: Sequence[Panel], controls: Sequence[Control], clip: float | None, theme: str, caption: str, tool: Tool
) -> Scene:
    controls = list(controls)
    if clip is not None:
        controls.append(Control("clip", "Cut at", 0.0, 1.0, clip, 0.01, report=True))
        panels = [replace(panel, clip=Clip(CLIP_NORMAL, "clip")) for panel in panels]
    columns = 2 if len(panels) > 2 else None
    return Scene(tuple(panels), tuple(controls), tool, theme=theme, caption=caption, columns_of_panels=columns)


def loop_layers(mesh: Mesh, surface: Surface, k: int, cycle: np.ndarray, closed: bool, number: int) -> tuple:
    """One generator as a thick tube (k = 1) or as lines where it ends on the boundary or is no curve."""
    on = np.flatnonzero(np.abs(cycle) > 1e-12)
    label = f"loop {number + 1}"
    if k == 1 and closed:
        tubes = build.loop_tubes(surface, mesh.complex.simplices(1), cycle, LOOP, label)
        return tuple(replace(tube, radius=0.02) for tube in tubes)
    if k == 1:
        return (build.edge_segments(mesh, surface, on, LOOP, width=6.0, label=label),)
    if k == 0:
        return (Dots(surface.mesh_points[on], LOOP, 13.0, label),)
    if k == 2 and mesh.dim == 3:
        return (build.edge_segments(mesh, surface, np.unique(mesh.complex.faces(2)[on]), LOOP, width=2.0),)
    return ()
