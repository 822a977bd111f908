"""Defects in a picture: every id of a notice is marked once, at the elements that it names."""

from __future__ import annotations

import numpy as np
import pytest

import hsd
from hsd.errors import Notice
from hsd.mesh.mesh import Mesh
from hsd.mesh.validate import VALIDATORS, validate
from hsd.viz.build import surface_of
from hsd.viz.defects import DEGREE, marked_panel, marks_of

FLAT = Mesh.from_cells(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [1, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))


def test_every_kind_with_ids_of_simplices_can_be_marked():
    without = {"non_orientable", "non_finite_field", "several_components"}  # of the whole mesh, or rows of the file
    assert set(DEGREE) == set(VALIDATORS) - without


def test_edges_of_a_book_are_tubes_and_its_vertices_are_not_drawn_twice():
    mesh = hsd.gallery("book", 300)
    marks = marks_of(mesh, validate(mesh))
    edges = {m.kind: m.edges for m in marks}["nonmanifold_edge"]
    assert (mesh.complex.n_cofaces(1)[edges] == 3).all() and len(edges) == (mesh.complex.n_cofaces(1) == 3).sum()
    panel = marked_panel(mesh, surface_of(mesh), marks)
    assert len(panel.tubes) == len(edges) and not panel.markers and not panel.dots
    only = [m for m in marks if m.kind == "nonmanifold_vertex"]
    assert len(marked_panel(mesh, surface_of(mesh), only).markers) == len(only[0].vertices) == len(edges) + 1


def test_face_without_area_is_coloured_and_outlined():
    (mark,) = marks_of(FLAT, validate(FLAT, ("zero_area_face",)))
    assert mark.faces.tolist() == [0] and len(mark.edges) == 3
    panel = marked_panel(FLAT, surface_of(FLAT), (mark,))
    assert panel.colour.source.tolist() == [1.0, 0.0] and panel.colour.categories == ("none", "no area")


def test_flat_tets_are_marked_by_their_faces():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    mesh = Mesh.from_cells(points, np.array([[0, 1, 2, 3], [0, 1, 2, 4]]))
    (mark,) = marks_of(mesh, validate(mesh, ("zero_volume_tet",)))
    assert len(mark.faces) == 4 and len(mark.edges) == 6


@pytest.mark.parametrize("notice", [Notice("welded", "…", (1, 2)), Notice("non_finite_field", "…", (0,))])
def test_rows_of_the_file_are_not_taken_for_simplices(notice):
    assert marks_of(FLAT, (notice,)) == ()


def test_many_edges_become_lines():
    mesh = hsd.gallery("square", 500)
    notice = Notice("zero_cotan_weight", "…", tuple(range(200)))
    panel = marked_panel(mesh, surface_of(mesh), marks_of(mesh, (notice,)))
    assert not panel.tubes and panel.segments[0].points.shape == (200, 2, 3)
