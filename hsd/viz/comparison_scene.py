"""Scenes of Model Comparison: truth and predictions over error maps, two models blinked and wiped, repeated steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hsd.data.ground import Ground
from hsd.data.schema import VECTORS
from hsd.errors import check_choice
from hsd.viz.arrays import unit_ball
from hsd.viz.scene import Arrows, Clip, Colour, Columns, Control, Half, Marker, Mix, Panel, Scene, Tool
from hsd.viz.task_sample import Sample, Shown
from hsd.viz.task_scene import QUANTILE, SPIKE, Drawn, Place, arrow_columns, steady_columns, symbol_of, time_labels

QUANTITIES = ("vectors", "magnitude", "component", "vorticity")
AXES = ("x", "y", "z")
BAND = 6
"""Columns of panels at most before the models go on in a second band of two rows."""


@dataclass(frozen=True)
class Quantity:
    """What of a field is coloured: one of QUANTITIES of vectors, the value itself of numbers.

    axis : of the component;  letter : of the field
    """

    name: str
    axis: str = "x"
    letter: str = "u"

    def __post_init__(self):
        check_choice("quantity", self.name, (*QUANTITIES, "value"))

    @property
    def kind(self) -> str:
        return "unsigned" if self.name in ("vectors", "magnitude") else "signed"

    @property
    def symbol(self) -> str:
        """Name on the colour bar."""
        return {
            "vectors": f"|{self.letter}|",
            "magnitude": f"|{self.letter}|",
            "component": f"{self.letter}_{self.axis}",
            "vorticity": "ω",
            "value": self.letter,
        }[self.name]

    @property
    def error_symbol(self) -> str:
        inner = self.letter if self.kind == "unsigned" else self.symbol
        return f"|{inner}ₚ − {inner}|"

    def values(self, ground: Ground, target: Shown, nodes: np.ndarray) -> np.ndarray:
        """(n_vertices, C) node values → (n_vertices, 3 or 1): vectors kept, component or vorticity of them.

        Vorticity is δ of the flux 1-form that one flat map makes of the node values, the same for truth and models.
        """
        if self.name == "component":
            return nodes[:, AXES.index(self.axis), None]
        if self.name == "vorticity":
            form = ground.flat_matrix(target.degree, target.reading) @ nodes.ravel()
            return (ground.dec.weak_codifferential(1) @ form / ground.vertex_measure)[:, None]
        return nodes


def quantity_of(target: Shown, dim: int, name: str, axis: str) -> Quantity:
    """The quantity of that name where the target has it, else its first one."""
    known = quantities_of(target, dim)
    return Quantity(name if name in known else known[0], axis, symbol_of(target))


def quantities_of(target: Shown, dim: int) -> tuple[str, ...]:
    """Quantities that make sense of a target."""
    if not target.is_vector:
        return ("value",)
    return QUANTITIES if dim == 2 and target.reading == "flux" else QUANTITIES[:3]


@dataclass(frozen=True, eq=False)
class Layer:
    """A field ready to be drawn: colour columns, arrows (or None), largest size, and where colours should end."""

    columns: Columns
    arrows: Columns | None
    top: float
    end: float


def layer(place: Place, ground: Ground, target: Shown, quantity: Quantity, nodes: np.ndarray, labels=()) -> Layer:
    """Node values (T, n_vertices, C) as columns on a place; arrows only for the quantity "vectors"."""
    values = np.stack([quantity.values(ground, target, n) for n in nodes])
    columns = steady_columns(place, values, labels)
    arrows = None
    if quantity.name == "vectors":
        arrows = arrow_columns(place, Shown("", "", 0, VECTORS, nodes), nodes, labels)
    return _sized(columns, arrows)


def error_layer(
    place: Place, ground: Ground, target: Shown, quantity: Quantity, nodes: np.ndarray, truth: np.ndarray, labels=()
) -> Layer:
    """Length of the difference of the quantity at every vertex; node values (T, n_vertices, C) of model and truth."""
    pairs = zip(nodes, truth, strict=True)
    wrong = [quantity.values(ground, target, n) - quantity.values(ground, target, t) for n, t in pairs]
    size = np.linalg.norm(np.stack(wrong), axis=2)[..., None]
    return _sized(steady_columns(place, size, labels), None)


def relative_error(ground: Ground, target: Shown, quantity: Quantity, nodes: np.ndarray, truth: np.ndarray) -> float:
    """‖q_p − q_g‖ / ‖q_g‖ of the quantity q at the vertices, weighted by areas or volumes, for (n_vertices, C)."""
    wrong, right = (quantity.values(ground, target, field) for field in (nodes - truth, truth))
    sizes = [float(ground.vertex_measure @ (values**2).sum(axis=1)) for values in (wrong, right)]
    return float(np.sqrt(sizes[0] / max(sizes[1], np.finfo(float).tiny)))


def _sized(columns: Columns, arrows: Columns | None) -> Layer:
    size = np.linalg.norm(columns.values, axis=1) if columns.is_vector else np.abs(columns.values)
    size = size[np.isfinite(size)]
    top = float(size.max(initial=0.0)) or 1.0
    end = float(np.quantile(size, QUANTILE)) if size.size else 1.0
    return Layer(columns, arrows, top, end if top > SPIKE * end > 0 else top)


def input_layer(one: Drawn) -> Layer:
    """An input as the Tasks page draws it."""
    return Layer(one.columns, one.arrows, one.top, one.end)


@dataclass(frozen=True, eq=False)
class Shot:
    """One model's panels: short title, relative error in words, value and error."""

    key: str
    title: str
    error_words: str
    value: Layer
    error: Layer


@dataclass(frozen=True, eq=False)
class Board:
    """All that the canvas shows: place, quantity, input (name on its bar, whether it has the target's scale), truth,
    and the models."""

    place: Place
    quantity: Quantity
    source: Layer
    source_title: str
    source_symbol: str
    same_scale: bool
    truth: Layer
    truth_title: str
    shots: tuple[Shot, ...]

    @property
    def end(self) -> float:
        """Where the colours of truth and predictions end: as the truth asks, for numbers at its largest."""
        return max(self.truth.top, self._source_top) if self.quantity.name == "value" else self.truth.end

    @property
    def _source_top(self) -> float:
        return self.source.top if self.same_scale else 0.0

    @property
    def error_end(self) -> float:
        """Where the one scale of all error maps ends: as the errors ask, but not beyond the size of the truth."""
        return min(max((s.error.end for s in self.shots), default=1.0), self.truth.top)

    @property
    def error_top(self) -> float:
        return max((s.error.top for s in self.shots), default=1.0)


@dataclass(frozen=True)
class Drawing:
    """How a board is drawn.  clip : position of the free slice and its normal, or None;  tool, markers : for composing;
    step : of the player"""

    theme: str = "auto"
    caption: str = ""
    clip: float | None = None
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    tool: Tool | None = None
    markers: tuple[Marker, ...] = ()
    step: int = 0


def maps_scene(board: Board, drawing: Drawing) -> Scene:
    """Truth and predictions in one row, input and error maps below; many models go on in a second band."""
    panels = [_truth(board), *(_value(board, s) for s in board.shots)]
    below = [_source(board, drawing.markers), *(_error(board, s) for s in board.shots)]
    return _banded(board, panels, below, (), drawing)


def time_scene(board: Board, times: Sequence[float], drawing: Drawing) -> Scene:
    """The same with a player over repeated steps: the layers of truth and models hold one column a time."""
    panels = [_truth(board, "step"), *(_value(board, s, "step") for s in board.shots)]
    below = [_source(board, drawing.markers), *(_error(board, s, "step") for s in board.shots)]
    labels = time_labels(np.asarray(times))
    last = len(times) - 1
    player = Control("step", "Time", 0, last, min(drawing.step, last), labels=labels, play=True, keys=True, report=True)
    return _banded(board, panels, below, (player,), drawing)


def pair_scene(board: Board, a: Shot, b: Shot, drawing: Drawing) -> Scene:
    """Two models: blinked in place, and wiped by an upright edge in the window, over values and over errors."""
    names = (f"A: {a.title}", f"B: {b.title}")
    blink = Control("blink", "A / B", 0, 1, 0, labels=names, play=True, keys=True)
    wipe = Control("wipe", "Edge", 0.0, 1.0, 0.5, 0.01)
    both = _joined((a.value.columns, b.value.columns), names)
    arrows = None
    if a.value.arrows is not None and b.value.arrows is not None:
        arrows = _joined((a.value.arrows, b.value.arrows), names)
    wrong = _joined((a.error.columns, b.error.columns), names)
    value = {"kind": board.quantity.kind, "name": board.quantity.symbol, "limits": _limits(board), "scale": "target"}
    error = {"kind": "error", "name": board.quantity.error_symbol, "limits": (0.0, board.error_end), "scale": "error"}
    surface = board.place.surface
    words = f"A is {a.title}, B is {b.title}."
    values = Panel(
        surface,
        Colour(Mix(both, mode="blink"), **value),
        "A / B",
        _arrows(board, arrows, "blink"),
        alt=f"Predictions in turn. {words}",
    )
    errors = Panel(surface, Colour(Mix(wrong, mode="blink"), **error), "error A / B", alt=f"Errors in turn. {words}")
    halves = ((a, names[0], Half("wipe")), (b, names[1], Half("wipe", right=True)))
    panels = (
        _truth(board),
        values,
        *(replace(_value(board, shot), title=title, half=half) for shot, title, half in halves),
        _source(board, drawing.markers),
        errors,
        *(replace(_error(board, shot), half=half) for shot, _, half in halves),
    )
    return _scene(board, panels, (0, 1, 2, 2, 3, 4, 5, 5), 3, (blink, wipe), drawing)


def _joined(columns: Sequence[Columns], labels: Sequence[str]) -> Columns:
    values = np.concatenate([c.values[..., :1] for c in columns], axis=-1)
    return Columns(values, columns[0].where, tuple(labels))


# ---- panels ------------------------------------------------------------------------------------------------------


def _limits(board: Board) -> tuple[float, float]:
    return (0.0, board.end) if board.quantity.kind == "unsigned" else (-board.end, board.end)


def _coloured(board: Board, one: Layer, mode: str | None) -> Colour:
    quantity = board.quantity
    return Colour(Mix(one.columns, mode=mode), quantity.kind, quantity.symbol, limits=_limits(board), scale="target")


def _arrows(board: Board, arrows: Columns | None, mode: str | None) -> Arrows | None:
    if arrows is None or board.place.glyphs is None:
        return None
    follows = mode if arrows.n_columns > 1 else None
    return Arrows(board.place.glyphs, Mix(arrows, mode=follows), board.quantity.symbol, scale="target")


def _truth(board: Board, mode: str | None = None) -> Panel:
    alt = f"Truth: {board.truth_title} on {board.place.surface.name}; largest size {board.truth.top:.3g}."
    colour = _coloured(board, board.truth, mode)
    return Panel(
        board.place.surface, colour, f"Truth {board.truth_title}", _arrows(board, board.truth.arrows, mode), alt=alt
    )


def _value(board: Board, shot: Shot, mode: str | None = None) -> Panel:
    alt = f"Prediction of {shot.title}, {shot.error_words}."
    arrows = _arrows(board, shot.value.arrows, mode)
    return Panel(board.place.surface, _coloured(board, shot.value, mode), shot.title, arrows, alt=alt)


def _error(board: Board, shot: Shot, mode: str | None = None) -> Panel:
    colour = Colour(
        Mix(shot.error.columns, mode=mode), "error", board.quantity.error_symbol, limits=(0.0, board.error_end),
        scale="error",
    )  # fmt: skip
    alt = f"Error map of {shot.title}: {shot.error_words}; largest {shot.error.top:.3g}; black none, white large."
    return Panel(board.place.surface, colour, shot.error_words, alt=alt)


def _source(board: Board, markers: tuple[Marker, ...]) -> Panel:
    top = board.end if board.same_scale else board.source.end
    kind = "unsigned" if board.source.columns.is_vector else "signed"
    limits = (0.0, top) if kind == "unsigned" else (-top, top)
    scale = "target" if board.same_scale else "input"
    colour = Colour(Mix(board.source.columns), kind, board.source_symbol, limits=limits, scale=scale)
    arrows = None
    if board.source.arrows is not None and board.place.glyphs is not None:
        arrows = Arrows(board.place.glyphs, Mix(board.source.arrows), "|v|", scale="carrier")
    alt = f"Input: {board.source_title}; largest size {board.source.top:.3g}."
    return Panel(board.place.surface, colour, f"Input {board.source_symbol}", arrows, markers=markers, alt=alt)


def _banded(board: Board, above: list[Panel], below: list[Panel], controls, drawing: Drawing) -> Scene:
    """Two rows; beyond BAND columns two bands of two rows each."""
    n = len(above)
    if n == 1:
        return _scene(board, (*above, *below), (), 2, controls, drawing)
    across = n if n <= BAND else -(-n // 2)
    cells = [(2 * (i // across) + row) * across + i % across for row in (0, 1) for i in range(n)]
    return _scene(board, (*above, *below), tuple(cells), across, controls, drawing)


def _scene(board: Board, panels, cells, columns: int, controls, drawing: Drawing) -> Scene:
    if drawing.clip is not None:
        slider = Control("clip", "Position of the slice", 0.0, 1.0, drawing.clip, 0.01, report=True)
        controls = (*controls, slider)
        panels = tuple(replace(panel, clip=Clip(drawing.normal, "clip")) for panel in panels)
    return Scene(
        tuple(panels),
        tuple(controls),
        tool=drawing.tool or Tool(),
        columns_of_panels=columns,
        cells=cells,
        theme=drawing.theme,
        caption=drawing.caption,
    )


def plane_normal(turn: float, tilt: float) -> tuple[float, float, float]:
    """Normal of a plane by its angle about z and its height above the xy-plane, degrees."""
    a, b = np.radians([turn, tilt])
    return float(np.cos(a) * np.cos(b)), float(np.sin(a) * np.cos(b)), float(np.sin(b))


def markers_of(record: Mapping[str, np.ndarray], place: Place, selected: int) -> tuple[Marker, ...]:
    """The sources of a record as points to drag, red positive, blue negative; on a cut those near it."""
    _, scale = unit_ball(place.surface.mesh_points)
    out = []
    for i, (x, s) in enumerate(zip(record["centres"], record["strengths"])):
        if place.cut is not None and abs(x[2]) * scale > 0.25:
            continue
        position = (float(x[0]), float(x[1]), 0.0 if place.cut is not None else float(x[2]))
        chosen = "●" if i == selected else ""
        out.append(
            Marker(str(i), position=position, kind="source", colour="#b2182b" if s >= 0 else "#2166ac", label=chosen)
        )
    return tuple(out)


def node_values_of(sample: Sample) -> np.ndarray:
    """Node values of the target, (n_vertices, C)."""
    target = sample.target
    return sample.ground.node_values(target.degree, target.reading, target.values)[0]
