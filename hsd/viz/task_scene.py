"""Scenes of a task's sample: input, target and its parts in linked panels, a plane cut of tets, a trajectory player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hsd.data.schema import VECTORS
from hsd.mesh.mesh import Mesh
from hsd.mesh.plane_cut import PlaneCut, plane_cut
from hsd.viz import build
from hsd.viz.scene import Arrows, Clip, Colour, Columns, Control, Glyphs, Mix, Panel, Scene, Surface
from hsd.viz.task_sample import Sample, Shown, node_values

PLANE = (0.0, 0.0, 1.0)
STEP = "step"
CUT_GLYPHS = 200
QUANTILE, SPIKE = 0.98, 1.5
"""Colours of lengths end at this quantile over the nodes where the largest length is SPIKE times as large."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where fields are drawn: the mesh itself, or a plane cut of tets as a surface of its own.

    cut : the plane cut, whose points ``used`` are the vertices of the drawn mesh ``drawn``;  None: the mesh itself
    """

    mesh: Mesh
    surface: Surface
    glyphs: Glyphs | None
    cut: PlaneCut | None = None
    drawn: Mesh | None = None
    used: np.ndarray | None = None

    @cached_property
    def weights(self):
        """(drawn vertices, n_vertices) interpolation of the cut."""
        return self.cut.weights[self.used]


def slice_place(mesh: Mesh, n_glyphs: int = CUT_GLYPHS) -> Place:
    """The cut z = 0 of a tet mesh as a flat surface.  Raises InputError (dimension)."""
    cut = plane_cut(mesh, PLANE)
    used, triangles = np.unique(cut.triangles, return_inverse=True)
    drawn = Mesh.from_cells(cut.points[used], triangles.reshape(cut.triangles.shape), f"{mesh.name}, z = 0")
    surface = build.surface_of(drawn)
    return Place(mesh, surface, build.glyphs_of(drawn, surface, n_glyphs), cut, drawn, used)


def steady_columns(place: Place, nodes: np.ndarray, labels: Sequence[str] = ()) -> Columns:
    """Node values (T, n_vertices, C) as colour columns on the place; vectors are coloured by their length."""
    values = np.moveaxis(nodes, 0, -1)  # (n_vertices, C, T)
    if place.cut is not None:
        values = np.asarray(place.weights @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
    if values.shape[1] == 1:
        return Columns(values[:, 0], "vertex", tuple(labels))
    return Columns(build.vectors3(values), "vertex", tuple(labels))


def arrow_columns(place: Place, shown: Shown, nodes: np.ndarray, labels: Sequence[str] = ()) -> Columns | None:
    """Arrows of a vector field on the place: Whitney evaluation of forms, interpolated node vectors otherwise.

    On a plane cut the arrows are the in-plane part of the interpolated node vectors.
    """
    glyphs = place.glyphs
    if glyphs is None or not shown.is_vector:
        return None
    labels = tuple(labels)
    if place.cut is None and shown.reading != VECTORS:
        rotate = shown.reading == "flux" and place.mesh.dim == 2
        return build.glyph_columns(place.mesh, glyphs, shown.degree, shown.values.T, labels, rotate=rotate)
    values = build.vectors3(np.moveaxis(nodes, 0, -1))  # (n_vertices, 3, T)
    mesh = place.mesh
    if place.cut is not None:
        values = np.asarray(place.weights @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
        values[:, 2] = 0.0
        mesh = place.drawn
    corners = mesh.complex.simplices(mesh.dim)[glyphs.cell]  # (g, dim + 1)
    return Columns(np.einsum("gc,gcdt->gdt", glyphs.bary, values[corners]), "glyph", labels)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A field ready to be drawn.

    columns, arrows : for each time;  top : largest size over all times;  end : where its colours should end
    symbol, arrow   : names of the colour and of the arrows
    """

    shown: Shown
    columns: Columns
    arrows: Columns | None
    top: float
    end: float
    symbol: str
    arrow: str


def drawn(
    place: Place,
    sample: Sample,
    shown: Shown,
    labels: Sequence[str] = (),
    carrier: Shown | None = None,
    like: Shown | None = None,
) -> Drawn:
    """A field on a place; ``carrier`` gives the arrows where the field has none itself, ``like`` the letter."""
    nodes = node_values(sample, shown)
    columns = steady_columns(place, nodes, labels)
    other = carrier if carrier is not None and not shown.is_vector else None
    if other is None:
        arrows = arrow_columns(place, shown, nodes, labels)
    else:
        arrows = arrow_columns(place, other, node_values(sample, other))
    values = columns.values
    size = np.linalg.norm(values, axis=1) if columns.is_vector else np.abs(values)
    symbol = symbol_of(like or shown)
    symbol = f"|{symbol}|" if columns.is_vector else symbol
    top, end = float(size.max(initial=0.0)) or 1.0, float(np.quantile(size, QUANTILE)) if size.size else 1.0
    end = end if columns.is_vector and top > SPIKE * end > 0 else top
    return Drawn(shown, columns, arrows, top, end, symbol, symbol if other is None else f"|{symbol_of(other)}|")


def symbol_of(shown: Shown) -> str:
    """The letter that a title ends with (ζ, g, ρ, B, u …), else "u" for velocities and vectors, "value" otherwise."""
    last = shown.title.split()[-1].partition("(")[0] if shown.title else ""
    if len(last) == 1 and not last.isdigit():
        return last
    if "elocity" in shown.title or "elocity" in shown.name:
        return "u"
    return "v" if shown.is_vector else "value"


@dataclass(frozen=True, eq=False)
class Picture:
    """All fields of a view on one place: those of the input, the state over time, the target, and parts."""

    place: Place
    inputs: tuple[Drawn, ...]
    state: Drawn | None
    target: Drawn
    parts: tuple[Drawn, ...]
    times: np.ndarray | None

    @property
    def n_steps(self) -> int:
        return 0 if self.times is None else len(self.times)

    def is_state(self, one: Drawn) -> bool:
        """Whether an input is the initial state of the target's field."""
        kind = (self.target.shown.degree, self.target.shown.reading)
        return self.state is not None and (one.shown.degree, one.shown.reading) == kind

    @cached_property
    def alike(self) -> tuple[Drawn, ...]:
        """The fields that share the target's scale."""
        states = [*([self.state] if self.state else []), *filter(self.is_state, self.inputs)]
        return self.target, *self.parts, *states

    @property
    def end(self) -> float:
        """Where the colours of the target's scale end: for vectors as the target asks, for numbers at the largest."""
        return self.target.end if self.target.columns.is_vector else self.top

    @property
    def top(self) -> float:
        """The largest size on the target's scale."""
        return max(one.top for one in self.alike)


def picture_of(place: Place, sample: Sample, parts: Sequence[Shown] = ()) -> Picture:
    """Everything that a scene needs, arrays included; parts with several times follow the player."""
    labels = () if sample.times is None else time_labels(sample.times)
    carrier = sample.carrier
    first = carrier and replace(carrier, values=carrier.values[:1])
    last = carrier and replace(carrier, values=carrier.values[-1:])
    states = None
    if sample.states is not None:
        states = drawn(place, sample, sample.states, labels, carrier)
    return Picture(
        place,
        tuple(drawn(place, sample, shown, (), first) for shown in sample.inputs),
        states,
        drawn(place, sample, sample.target, (), last),
        tuple(drawn(place, sample, part, labels if len(part.values) > 1 else (), like=sample.target) for part in parts),
        sample.times,
    )


def time_labels(times: np.ndarray) -> tuple[str, ...]:
    """ "t = 0.5" for each step."""
    return tuple(f"t = {t:.3g}" for t in times)


def scene_of(
    picture: Picture,
    *,
    step: int = -1,
    arrows: bool = True,
    clip: float | None = None,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """Linked panels; one scale for target, states and parts, and one for each input that is another quantity.

    step : of the player (−1: the middle), moved in the page;  clip : where tets are cut, None for no cut
    """
    panels, controls = [], []
    place, target, top = picture.place, picture.target, picture.end
    for i, one in enumerate(picture.inputs):
        same = picture.is_state(one)
        scale, end = ("target", top) if same else (f"input {i}", one.end)
        panels.append(draw_panel(place, one, scale, end, arrows))
    if picture.state is not None:
        panels.append(draw_panel(place, picture.state, "target", top, arrows, STEP))
        start = picture.n_steps // 2 if step < 0 else min(step, picture.n_steps - 1)
        labels = time_labels(picture.times)
        controls.append(
            Control(STEP, "Time", 0, picture.n_steps - 1, start, labels=labels, play=True, keys=True, report=True)
        )
    panels.append(draw_panel(place, target, "target", top, arrows))
    for part in picture.parts:
        mode = STEP if part.columns.n_columns > 1 else None
        panels.append(draw_panel(place, part, "target", top, arrows, mode))
    if clip is not None:
        controls.append(Control("clip", "Cut at z", 0.0, 1.0, clip, 0.01, report=True))
        panels = [replace(panel, clip=Clip(PLANE, "clip")) for panel in panels]
    n = len(panels)
    return Scene(
        tuple(panels),
        tuple(controls),
        theme=theme,
        caption=caption,
        columns_of_panels=3 if n in (3, 5, 6) or n > 8 else 2 if n <= 4 else 4,
    )


def draw_panel(place: Place, one: Drawn, scale: str, top: float, arrows: bool = True, mode: str | None = None) -> Panel:
    """A field as a panel, its colours up to ``top`` on the scale of that name; ``mode``: the control of its times."""
    kind = "unsigned" if one.columns.is_vector else "signed"
    limits = (0.0, top) if kind == "unsigned" else (-top, top)
    colour = Colour(Mix(one.columns, mode=mode), kind, one.symbol, limits=limits, scale=scale)
    layer = None
    if arrows and one.arrows is not None:
        follows = mode if one.arrows.n_columns > 1 else None
        own = one.shown.is_vector
        scale = "target" if own else "carrier"
        layer = Arrows(place.glyphs, Mix(one.arrows, mode=follows), one.arrow, scale=scale)
    what = "vector field, length coloured" if kind == "unsigned" else "values, blue negative, red positive"
    alt = f"{one.shown.title} on {place.surface.name}: {what}; largest size {one.top:.3g}."
    return Panel(place.surface, colour, title_of(one), layer, alt=alt)


def title_of(one: Drawn) -> str:
    """Short title of a panel: first word and letter of initial and final states, else without what is in brackets."""
    words, letter = one.shown.title.split(), one.symbol.strip("|")
    if len(words) > 2 and words[-1].endswith(")") and "(" in words[-1][1:]:
        return f"{words[0]} {words[-1]}"
    title = one.shown.title.partition(" (")[0]
    return f"{title} {letter}" if title == "Velocity" else title
