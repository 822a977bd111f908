"""Defects of a mesh as marks in a picture: spheres at vertices, tubes (or lines) along edges, coloured faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hsd.errors import Notice
from hsd.mesh.mesh import Mesh
from hsd.mesh.validate import VALIDATORS
from hsd.viz.build import highlight
from hsd.viz.scene import Colour, Dots, Marker, Panel, Segments, Surface, Tube

DEGREE = {
    "nonmanifold_vertex": 0,
    "isolated_vertices": 0,
    "nonmanifold_edge": 1,
    "zero_length_edge": 1,
    "negative_cotan_weight": 1,
    "zero_cotan_weight": 1,
    "zero_area_face": 2,
    "nonmanifold_facet": 2,
    "zero_volume_tet": 3,
    "inconsistent_orientation": -1,
    "poor_quality": -1,
    "mixed_dimension": -2,
}
"""Kind of notice → degree of the simplices that its ids count; −1: top simplices, −2: the lowest maximal ones."""
COLOURS = ("#D55E00", "#CC79A7", "#E69F00", "#0072B2", "#009E73", "#56B4E9", "#F0E442")
MAX_TUBES = 60
"""More marked edges or vertices than this are drawn as lines or flat dots."""
NO_FACE = "#c9cdd3"
SHORT = {
    "nonmanifold_vertex": "non-manifold vertex",
    "nonmanifold_edge": "non-manifold edge",
    "nonmanifold_facet": "non-manifold face",
    "negative_cotan_weight": "negative cotan",
    "zero_cotan_weight": "zero cotan",
    "inconsistent_orientation": "wound otherwise",
    "zero_volume_tet": "flat tetrahedron",
    "zero_area_face": "no area",
    "poor_quality": "thin cell",
    "mixed_dimension": "other dimension",
}
"""Names for legends; other kinds are their own words."""


def short(kind: str) -> str:
    """A kind of notice as a legend says it."""
    return SHORT.get(kind, kind.replace("_", " "))


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of one notice: mesh elements by degree, and a colour."""

    kind: str
    colour: str
    vertices: np.ndarray
    edges: np.ndarray
    faces: np.ndarray


def degree_of(mesh: Mesh, notice: Notice) -> int | None:
    """Degree of the simplices that a notice's ids count, or None where they count rows of the file."""
    if notice.kind not in VALIDATORS or notice.kind not in DEGREE or not notice.ids:
        return None
    degree = DEGREE[notice.kind]
    if degree == -1:
        return mesh.dim
    if degree == -2:
        return min(k for k in range(mesh.dim + 1) if mesh.complex.is_maximal(k).any())
    return degree


def marks_of(mesh: Mesh, notices: Sequence[Notice]) -> tuple[Marks, ...]:
    """What can be marked of the notices.  Faces without area get their edges marked too; tets their edges and faces."""
    cx, out, none = mesh.complex, [], np.zeros(0, np.int64)
    for notice in notices:
        degree = degree_of(mesh, notice)
        if degree is None:
            continue
        ids = np.asarray(notice.ids, np.int64)
        ids = ids[(ids >= 0) & (ids < cx.n(degree))]
        vertices = ids if degree == 0 else none
        edges = ids if degree == 1 else none
        faces = ids if degree == 2 else none
        if degree == 3:
            faces = np.unique(cx.faces(3)[ids])
        if notice.kind in ("zero_area_face", "zero_volume_tet", "poor_quality"):
            edges = np.unique(cx.faces(2)[faces])
        out.append(Marks(notice.kind, COLOURS[len(out) % len(COLOURS)], vertices, edges, faces))
    return tuple(out)


def marked_panel(
    mesh: Mesh, surface: Surface, marks: Sequence[Marks], wireframe: bool = False, title: str = ""
) -> Panel:
    """A panel with the marks; faces as a category colour, one colour a kind; vertices at marked edges are not drawn."""
    p, e = surface.mesh_points, mesh.complex.simplices(1) if mesh.dim else np.zeros((0, 2), np.int64)
    tubes: list[Tube] = []
    markers: list[Marker] = []
    segments, dots = [], []
    covered = np.unique(e[np.concatenate([mark.edges for mark in marks])]) if marks else np.zeros(0, np.int64)
    for mark in marks:
        vertices = np.setdiff1d(mark.vertices, covered)  # ends of marked edges are seen already
        if len(vertices) > MAX_TUBES:
            dots.append(Dots(p[vertices], mark.colour, 11.0, short(mark.kind)))
        else:
            markers += [
                Marker(
                    f"{mark.kind}/{v}", position=tuple(p[v].tolist()), kind=mark.kind, colour=mark.colour, drag=False
                )
                for v in vertices.tolist()
            ]
        lines = p[e[mark.edges]]
        if len(lines) > MAX_TUBES:
            segments.append(Segments(lines, mark.colour, 3.0, short(mark.kind)))
        else:
            tubes += [Tube(line, False, mark.colour, short(mark.kind)) for line in lines]
    colour = None
    with_faces = {short(mark.kind): mark.faces for mark in marks if len(mark.faces)}
    if with_faces:
        values, names = highlight(mesh.complex.n(2), with_faces)
        colours = (NO_FACE, *(mark.colour for mark in marks if len(mark.faces)))
        colour = Colour(values, "category", "defect", where="face", categories=names, category_colours=colours)
    return Panel(
        surface,
        colour,
        title,
        tubes=tuple(tubes),
        segments=tuple(segments),
        dots=tuple(dots),
        markers=tuple(markers),
        wireframe=wireframe,
    )
