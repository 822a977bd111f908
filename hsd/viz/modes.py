"""The modes of a Hodge basis as a picture: columns by eigenvalue, arrows, generators, rotations within a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hsd.dec.operators import DEC
from hsd.dec.whitney import reads_as_vector
from hsd.errors import HsdError
from hsd.hodge.spectral_energy import by_eigenvalue
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.viz import build
from hsd.viz.scene import (
    Arrows,
    Clip,
    Colour,
    Columns,
    Control,
    Dots,
    Glyphs,
    Mix,
    Panel,
    Scene,
    Segments,
    Surface,
    Tube,
)

GENERATOR_COLOURS = ("#E69F00", "#CC79A7", "#56B4E9", "#F0E442", "#8C510A", "#7A9A01", "#7B3294", "#999999")
ROTATION_STEP = 5
"""Degrees between two steps of a rotation within a block."""
CLIP_NORMAL = (0.0, 1.0, 0.0)


@dataclass(frozen=True)
class Block:
    """Modes of one (nearly) equal eigenvalue and part, numbered by eigenvalue; cut: more of them lie beyond."""

    part: str
    numbers: tuple[int, ...]
    eigenvalue: float
    spread: float
    cut: bool

    @property
    def label(self) -> str:
        first, last = self.numbers[0], self.numbers[-1]
        return f"λ = {self.eigenvalue:.4g}, {self.part}, ×{len(self.numbers)} (modes {first} to {last})"


def blocks_of(basis: HodgeBasis) -> list[Block]:
    """The blocks of a basis by eigenvalue; ``spread`` is (max − min)/max of the eigenvalues within."""
    number = np.empty(basis.n_modes, np.int64)
    number[by_eigenvalue(basis)] = np.arange(basis.n_modes)
    out = []
    for columns in basis.multiplicity_blocks:
        part, values = str(basis.part[columns[0]]), basis.eigenvalues[columns]
        last = bool(columns[-1] == basis.index(part)[-1]) and basis.is_cut(part)
        spread = float(np.ptp(values) / values.max()) if values.max() > 0 else 0.0
        numbers = tuple(int(i) for i in np.sort(number[columns]))
        out.append(Block(part, numbers, float(values.mean()), spread, last))
    return sorted(out, key=lambda b: b.numbers[0])


def mode_table(basis: HodgeBasis) -> dict[str, list]:
    """One row a mode by eigenvalue: number, part, eigenvalue, size of its block, residual, column of the basis."""
    order = by_eigenvalue(basis)
    size = np.ones(basis.n_modes, int)
    for block in blocks_of(basis):
        size[list(block.numbers)] = len(block.numbers)
    return {
        "mode": list(range(basis.n_modes)),
        "part": [str(p) for p in basis.part[order]],
        "eigenvalue": basis.eigenvalues[order].tolist(),
        "multiplicity": size.tolist(),
        "residual": basis.residuals[order].tolist(),
        "column": order.tolist(),
    }


# ---- pictures ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FormPicture:
    """Cochains ready to be drawn: colour columns and arrows where there are any, and why not where there are none."""

    k: int
    kind: str
    name: str
    columns: Columns | None
    glyphs: Glyphs | None
    arrows: Columns | None
    why_not: str = ""


def picture_of(
    mesh: Mesh,
    k: int,
    cochains: np.ndarray,
    glyphs: Glyphs | None,
    labels: Sequence[str] = (),
    groups: Sequence[str] = (),
    symbol: str = "φ",
) -> FormPicture:
    """Columns and arrows of k-forms (N_k, K); ``glyphs``: None where arrows cannot be drawn."""
    try:
        vector = reads_as_vector(mesh, k)
    except HsdError:
        vector = k == 1
    kind, name = ("unsigned", f"|{symbol}|") if vector else ("signed", symbol)
    try:
        columns = build.form_columns(mesh, k, cochains, labels, groups)
    except HsdError as error:
        return FormPicture(k, kind, name, None, None, None, _no_picture(mesh, k, error))
    if not vector or glyphs is None:
        return FormPicture(k, kind, name, columns, None, None)
    return FormPicture(k, kind, name, columns, glyphs, build.glyph_columns(mesh, glyphs, k, cochains, labels, groups))


def _no_picture(mesh: Mesh, k: int, error: HsdError) -> str:
    """One sentence on what cannot be drawn, and that numbers are not touched by it."""
    reasons = {
        "no_positions": f"{mesh.name} has no positions, so its {k}-forms have no directions in space to draw",
        "shape": f"{mesh.name} lies in more than 3 coordinates, so the vectors of its {k}-forms cannot be drawn",
        "non_orientable": f"{mesh.name} cannot be oriented, so a {k}-form has no sign as a density",
    }
    reason = reasons.get(error.kind, error.message.rstrip("."))
    return f"{reason}; spectra, multiplicities, periods and exports are complete without it."


def modes_picture(basis: HodgeBasis, glyphs: Glyphs | None) -> FormPicture:
    """All modes by eigenvalue, each with its label."""
    order = by_eigenvalue(basis)
    labels = tuple(f"λ = {basis.eigenvalues[i]:.5g}, {basis.part[i]}" for i in order)
    return picture_of(basis.mesh, basis.k, basis.modes[:, order], glyphs, labels, tuple(map(str, basis.part[order])))


def mode_scene(
    picture: FormPicture,
    surface: Surface,
    number: int,
    *,
    arrows: bool = True,
    wireframe: bool = False,
    layers: Sequence[Tube | Segments | Dots] = (),
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
    rev: str = "",
    title: str = "",
    play: bool = True,
    control: str = "mode",
    label: str = "Mode",
) -> Scene:
    """One panel with a slider over the columns of a picture, moved in the page; the value is reported on release."""
    n = picture.columns.n_columns if picture.columns is not None else 1
    labels = picture.columns.labels if picture.columns is not None else ()
    value = max(0, min(number, n - 1))
    controls = []
    if n > 1:
        controls.append(Control(control, label, 0, n - 1, value, labels=labels, play=play, keys=True, report=True))
    mode = control if n > 1 else None
    colour = None if picture.columns is None else Colour(Mix(picture.columns, mode=mode), picture.kind, picture.name)
    drawn = None
    if arrows and picture.arrows is not None:
        drawn = Arrows(picture.glyphs, Mix(picture.arrows, mode=mode), picture.name)
    panel = panel_with(surface, colour, drawn, layers, title, wireframe)
    if clip is not None:
        controls.append(Control("clip", "Cut at", 0.0, 1.0, clip, 0.01, report=True))
        panel = replace(panel, clip=Clip(CLIP_NORMAL, "clip"))
    return Scene((panel,), tuple(controls), theme=theme, caption=caption, rev=rev)


def panel_with(
    surface: Surface,
    colour: Colour | None,
    arrows: Arrows | None,
    layers: Sequence[Tube | Segments | Dots] = (),
    title: str = "",
    wireframe: bool = False,
) -> Panel:
    """A panel with layers sorted by their kind."""
    return Panel(
        surface,
        colour,
        title,
        arrows,
        tubes=tuple(x for x in layers if isinstance(x, Tube)),
        segments=tuple(x for x in layers if isinstance(x, Segments)),
        dots=tuple(x for x in layers if isinstance(x, Dots)),
        wireframe=wireframe,
    )


def generator_layers(
    mesh: Mesh, surface: Surface, k: int, cycles: np.ndarray, bc: str
) -> tuple[tuple[Tube | Segments | Dots, ...], str]:
    """Generator cycles (N_k, b_k) as layers and the sentence for them.

    k = 0: points; k = 1: tubes along closed loops, lines where relative cycles end on the boundary; k = 2 in
    tetrahedra: the edges of the surface; else the whole mesh, of which only the sentence speaks.
    """
    b = cycles.shape[1]
    if b == 0:
        return (), f"b{'₀₁₂₃'[k]} = 0: there are no generators of degree {k}."
    relative = bc == "relative" and mesh.dim >= 1 and mesh.complex.has_boundary
    many, name = "s" if b > 1 else "", f"H{'₀₁₂₃'[k]}{'(M, ∂M)' if relative else ''}"
    sentence = f"{b} generator{many} of {name} drawn{', a colour each' if b > 1 else ''}."
    layers: list[Tube | Segments | Dots] = []
    for i in range(b):
        colour, label = GENERATOR_COLOURS[i % len(GENERATOR_COLOURS)], f"generator {i + 1}"
        on = np.flatnonzero(np.abs(cycles[:, i]) > 1e-12)
        if k == 0:
            layers.append(Dots(surface.mesh_points[on], colour, 11.0, label))
        elif k == 1 and not relative:
            layers += build.loop_tubes(surface, mesh.complex.simplices(1), cycles[:, i], colour, label)
        elif k == 1:
            layers.append(build.edge_segments(mesh, surface, on, colour, width=5.0, label=label))
        elif k == 2 and mesh.dim == 3:
            edges = np.unique(mesh.complex.faces(2)[on])
            layers.append(build.edge_segments(mesh, surface, edges, colour, width=1.0, label=label))
    if not layers:
        sentence = f"{b} generator{many} of {name}: made of all cells of a component, so not drawn."
    return tuple(layers), sentence


# ---- rotation within a block -------------------------------------------------------------------------------------


def rotation_angles(step: int = ROTATION_STEP) -> np.ndarray:
    """Degrees from 0 to 180 (a half turn gives −φ: the same mode)."""
    return np.arange(0, 181, step)


def rotated(basis: HodgeBasis, i: int, j: int, degrees: np.ndarray) -> np.ndarray:
    """cos θ φᵢ + sin θ φⱼ for each angle, (N_k, len(degrees)); i, j are numbers by eigenvalue."""
    order = by_eigenvalue(basis)
    theta = np.radians(np.asarray(degrees, float))
    return basis.modes[:, order[[i, j]]] @ np.stack([np.cos(theta), np.sin(theta)])


def rotated_residuals(basis: HodgeBasis, i: int, j: int, degrees: np.ndarray) -> np.ndarray:
    """‖K x − λ ⋆ x‖ / (‖K x‖ + ‖λ ⋆ x‖) of each rotated mode with λ its Rayleigh quotient; harmonic: ‖Δ-energy‖ alone.

    A mode like any other as long as the two eigenvalues are one.
    """
    dec: DEC = basis.solver.dec
    x = rotated(basis, i, j, degrees)[dec.free(basis.k)]
    if basis.part[by_eigenvalue(basis)[i]] == "harmonic":
        return np.array([max(dec.closedness(basis.k, v), dec.coclosedness(basis.k, v)) for v in x.T])
    energy, mass = dec.stiffness(basis.k) @ x, dec.star(basis.k) @ x
    lam = (x * energy).sum(axis=0) / (x * mass).sum(axis=0)
    size = np.linalg.norm(energy, axis=0) + np.linalg.norm(mass * lam, axis=0)
    return np.linalg.norm(energy - mass * lam, axis=0) / np.maximum(size, np.finfo(float).tiny)


def rotation_picture(basis: HodgeBasis, i: int, j: int, glyphs: Glyphs | None) -> FormPicture:
    """The half turn from mode i to −mode i through mode j, ready to be scrubbed in the page."""
    degrees = rotation_angles()
    labels = tuple(f"θ = {d}°" for d in degrees)
    return picture_of(basis.mesh, basis.k, rotated(basis, i, j, degrees), glyphs, labels, symbol="φ_θ")
