"""What a picture is: panels with a surface, colours, arrows, tubes and points, and the controls that move them.

Plain frozen records without behaviour.  ``hsd.viz.build`` makes them from a mesh and fields, ``hsd.ui.viewer`` shows
them.  All positions are in the mesh's own unit; all values are float64 on the mesh's own simplices (stored order), also
where the picture draws fewer or other triangles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hsd.errors import InputError, check_choice
from hsd.viz.controls import Camera, Control, Tool
from hsd.viz.superlevel import Superlevel

KINDS = ("signed", "unsigned", "error", "muted", "category")
WHERE = ("vertex", "face")
THEMES = ("auto", "light", "dark", "projector")
MAX_PANELS = 24


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles to draw, and where each comes from.

    points     : (n, 3) drawn vertices, mesh unit;  normals: (n, 3) unit length, split along creases
    triangles  : (m, 3) drawn vertex numbers; counter-clockwise seen from outside where the mesh is oriented
    edges      : (e, 2) edges that lie in no triangle;  dots: (d,) vertices that lie in no edge
    tets       : (t, 4) drawn vertex numbers, for filled cuts; empty on surfaces
    vertex_of  : (n,) mesh vertex of each drawn vertex
    face_of    : (m,) number of the mesh triangle (row of ``mesh.complex.simplices(2)``)
    corners    : (m, 3) its mesh vertices, corner by corner of the drawn triangle
    proxy      : (p, 3) few triangles on the same drawn vertices, shown while dragging; empty: the full ones
    n_faces    : number of boundary or surface triangles before decimation
    mesh_points, mesh_triangles : (n_vertices, 3) and (N_2, 3), what faces in events and markers refer to
    centre, scale : drawn in the page at (points − centre) · scale, which fits the unit ball
    name       : of the mesh
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    edges: np.ndarray
    dots: np.ndarray
    tets: np.ndarray
    vertex_of: np.ndarray
    face_of: np.ndarray
    corners: np.ndarray
    proxy: np.ndarray
    n_faces: int
    mesh_points: np.ndarray
    mesh_triangles: np.ndarray
    centre: np.ndarray
    scale: float
    closed: bool
    name: str = "mesh"

    @property
    def n_mesh_vertices(self) -> int:
        return len(self.mesh_points)

    @property
    def n_mesh_faces(self) -> int:
        return len(self.mesh_triangles)

    def corner_points(self, face: int) -> np.ndarray:
        """(3, 3) positions of the vertices, in stored order, of a mesh triangle."""
        return self.mesh_points[self.mesh_triangles[face]]

    @property
    def decimated(self) -> bool:
        return len(self.triangles) < self.n_faces


@dataclass(frozen=True, eq=False)
class Columns:
    """K scalar or vector fields on the same elements; a picture shows one of them or a weighted sum.

    values : (n, K) scalars or (n, 3, K) vectors; the last axis counts the fields, as in ``HodgeBasis.modes``
    where  : "vertex" (n = mesh vertices), "face" (n = mesh triangles) or "glyph" (n = arrows)
    labels : one caption per field, e.g. "λ = 1.234, exact"
    groups : one group name per field (e.g. its Hodge part); weights are given per group
    """

    values: np.ndarray
    where: str = "vertex"
    labels: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def __post_init__(self):
        check_choice("place of values", self.where, (*WHERE, "glyph"))
        values = np.asarray(self.values, np.float64)
        if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[1] != 3) or values.shape[-1] < 1:
            raise InputError(f"Columns must have shape (n, K) or (n, 3, K) with K ≥ 1; got {values.shape}.", "shape")
        for name in ("labels", "groups"):
            if getattr(self, name) and len(getattr(self, name)) != values.shape[-1]:
                raise InputError(f"{name} must be one a column ({values.shape[-1]}).", "shape")
        object.__setattr__(self, "values", values)

    @property
    def n_columns(self) -> int:
        return self.values.shape[-1]

    @property
    def is_vector(self) -> bool:
        return self.values.ndim == 3


@dataclass(frozen=True, eq=False)
class Mix:
    """A weighted sum Σ_j w_j · column_j whose weights follow controls in the page, without asking the server.

    w_j = [j = mode] or coefficients_j · [j < cut + always] · Π weight of the column's group.
    mode : id of the control that picks one column;  cut: id of the control that counts the columns kept, beside the
           first ``always`` ones, which it never drops
    weights : group → id of the control that holds its weight
    """

    columns: Columns
    coefficients: np.ndarray | None = None
    mode: str | None = None
    cut: str | None = None
    weights: Mapping[str, str] = field(default_factory=dict)
    always: int = 0

    def weights_at(self, controls: Mapping[str, float]) -> np.ndarray:
        """(K,) weights for given values of the controls; what the page computes, in float64."""
        n = self.columns.n_columns
        w = np.ones(n) if self.coefficients is None else np.asarray(self.coefficients, float).copy()
        if self.mode is not None:
            one = np.zeros(n)
            one[int(np.clip(round(controls[self.mode]), 0, n - 1))] = 1.0
            w = w * one
        if self.cut is not None:
            w[max(round(controls[self.cut]), 0) + self.always :] = 0.0
        for group, control in self.weights.items():
            w[np.array(self.columns.groups) == group] *= controls[control]
        return w


@dataclass(frozen=True, eq=False)
class Colour:
    """How a surface is coloured: values, the map that their kind asks for, and the scale.

    source : (n,) or (n, 3) array on the mesh's vertices or triangles, or a :class:`Mix`
    kind   : "signed" diverging centred at zero; "unsigned" sequential from zero; "error" black–red–yellow–white;
             "muted" greys; "category" whole numbers, colour i names ``categories[i]``
    where  : "vertex" or "face"; taken from the columns of a Mix
    limits : (low, high); None: from the values now shown (signed: ±max, unsigned and error: 0…max)
    scale  : panels that name the same scale share limits and one colour bar
    Vectors are coloured by their length.
    """

    source: np.ndarray | Mix
    kind: str = "signed"
    name: str = "value"
    unit: str = ""
    where: str = "vertex"
    limits: tuple[float, float] | None = None
    scale: str | None = None
    categories: tuple[str, ...] = ()
    category_colours: tuple[str, ...] = ()

    def __post_init__(self):
        check_choice("kind of values", self.kind, KINDS)
        check_choice("place of values", self.where, WHERE)
        if isinstance(self.source, Mix):
            object.__setattr__(self, "where", self.source.columns.where)
        if self.kind == "category" and not self.categories:
            raise InputError("Categories need names: categories=(…).", "shape")

    @cached_property
    def mix(self) -> Mix:
        """The source as a Mix (an array becomes one column)."""
        if isinstance(self.source, Mix):
            return self.source
        return Mix(Columns(np.asarray(self.source, float)[..., None], self.where))


@dataclass(frozen=True, eq=False)
class Glyphs:
    """Points that carry arrows: positions and unit normals (g, 3), mesh triangle (or tet) and barycentric weights."""

    points: np.ndarray
    normals: np.ndarray
    cell: np.ndarray
    bary: np.ndarray
    volume: bool = False


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows at glyph points; length proportional to magnitude, one scale for all panels that name the same one.

    source : (g, 3) vectors or a Mix of vector columns with where="glyph"; colour: hex, None = the theme's ink
    """

    glyphs: Glyphs
    source: np.ndarray | Mix
    name: str = ""
    unit: str = ""
    scale: str = "arrows"
    colour: str | None = None

    @cached_property
    def mix(self) -> Mix:
        if isinstance(self.source, Mix):
            return self.source
        return Mix(Columns(np.asarray(self.source, float)[..., None], "glyph"))


@dataclass(frozen=True, eq=False)
class Tube:
    """A polyline (p, 3) drawn as a tube, e.g. a generator of H₁; radius relative to the drawn unit ball."""

    points: np.ndarray
    closed: bool = True
    colour: str = "#E69F00"
    label: str = ""
    radius: float = 0.012


@dataclass(frozen=True, eq=False)
class Segments:
    """Loose line segments (s, 2, 3), e.g. defective edges or a boundary; width in pixels."""

    points: np.ndarray
    colour: str = "#D00000"
    width: float = 2.0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Dots:
    """Many points (d, 3) of one colour, e.g. defective vertices; size in pixels."""

    points: np.ndarray
    colour: str = "#D00000"
    size: float = 7.0
    label: str = ""


@dataclass(frozen=True)
class Marker:
    """A sphere that the user may drag or delete.

    id : given back in events;  face, bary: place on the mesh (triangle of the stored order), or position (mesh unit)
    """

    id: str
    face: int | None = None
    bary: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    position: tuple[float, float, float] | None = None
    kind: str = ""
    colour: str = "#E69F00"
    label: str = ""
    drag: bool = True


@dataclass(frozen=True)
class Isolines:
    """Level lines of the colour's values: ``n`` of them between the limits, or the ``levels`` given.

    level : id of a control that holds one more level, drawn thick (e.g. a β0 threshold)
    """

    n: int = 10
    levels: tuple[float, ...] = ()
    level: str | None = None


@dataclass(frozen=True)
class Clip:
    """Cut away what lies beyond a plane: normal, and position along it as a fraction 0…1 or the id of a control.

    Tet meshes show the filled cut, coloured by the vertex values.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    position: float | str = 0.5


@dataclass(frozen=True)
class Half:
    """Part of a panel: left or right of an upright edge, which stays where it is while the camera moves.

    Two panels in one cell, a left and a right half of one edge, share their camera.
    control : id of the control that holds the edge, 0 … 1 of the panel's width
    """

    control: str
    right: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """One view of a scene.  ``alt`` says in words what is to be seen (a sentence is made when it is empty)."""

    surface: Surface
    colour: Colour | None = None
    title: str = ""
    arrows: Arrows | None = None
    tubes: tuple[Tube, ...] = ()
    segments: tuple[Segments, ...] = ()
    dots: tuple[Dots, ...] = ()
    markers: tuple[Marker, ...] = ()
    isolines: Isolines | None = None
    superlevel: Superlevel | None = None
    clip: Clip | None = None
    half: Half | None = None
    opacity: float = 1.0
    wireframe: bool = False
    plain: str = "#c9cdd3"
    alt: str = ""


@dataclass(frozen=True, eq=False)
class Scene:
    """Panels that share one canvas, one camera (unless unlinked) and one set of controls.

    columns_of_panels : panels side by side (None: as fits);  theme: "auto" follows the app
    cells   : place of each panel, counted row by row, where some are left empty or shared by two halves (none: one
              after the other)
    caption : the sentence under the picture;  rev: free text that comes back with every event
    """

    panels: tuple[Panel, ...]
    controls: tuple[Control, ...] = ()
    tool: Tool = field(default_factory=Tool)
    linked: bool = True
    columns_of_panels: int | None = None
    cells: tuple[int, ...] = ()
    theme: str = "auto"
    caption: str = ""
    rev: str = ""
    camera: Camera | None = None

    def __post_init__(self):
        check_choice("theme", self.theme, THEMES)
        if not 1 <= len(self.panels) <= MAX_PANELS:
            raise InputError(f"A scene has 1 to {MAX_PANELS} panels; got {len(self.panels)}.", "shape")
        if self.cells and (len(self.cells) != len(self.panels) or self.columns_of_panels is None):
            raise InputError("cells are one place a panel, in a stated number of columns.", "shape")
        ids = [c.id for c in self.controls]
        if len(set(ids)) < len(ids):
            raise InputError("Two controls of one scene have the same id.", "shape")
        for wanted in sorted(self._control_names() - set(ids)):
            raise InputError(f"The scene refers to a control {wanted!r} that it does not have.", "unknown_control")

    def cell_of(self, i: int) -> int:
        """Place of panel i, counted row by row."""
        return self.cells[i] if self.cells else i

    def _control_names(self) -> set[str]:
        names: list[str | None] = []
        for panel in self.panels:
            mixes = [layer.mix for layer in (panel.colour, panel.arrows) if layer is not None]
            for mix in mixes:
                names += [mix.mode, mix.cut, *mix.weights.values()]
            names.append(panel.isolines.level if panel.isolines else None)
            names.append(panel.superlevel.control if panel.superlevel else None)
            names.append(panel.clip.position if panel.clip and isinstance(panel.clip.position, str) else None)
            names.append(panel.half.control if panel.half else None)
        return {n for n in names if n is not None}
