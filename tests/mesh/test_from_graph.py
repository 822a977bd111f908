"""Graphs as 1-complexes and clique complexes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hsd.errors import InputError
from hsd.mesh import from_graph
from hsd.mesh.from_graph import clique_triangles, mesh_from_edges, number_labels


def kinds(mesh) -> list[str]:
    return [n.kind for n in mesh.notices]


def test_a_clean_graph_is_taken_as_given():
    mesh = mesh_from_edges(np.array([[0, 1], [2, 1], [0, 2]]))
    assert mesh.complex.counts == (3, 3) and mesh.points is None and not mesh.has_metric and kinds(mesh) == []
    np.testing.assert_array_equal(mesh.complex.simplices(1), [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(mesh.face_of_file_cell, [0, 2, 1])


def test_repeated_edges_and_loops_are_noted_with_their_rows():
    mesh = mesh_from_edges(np.array([[0, 1], [1, 0], [2, 2], [0, 1], [1, 2]]))
    assert mesh.complex.counts == (3, 2)
    assert kinds(mesh) == ["self_loops", "duplicate_edges"]
    assert mesh.notices[0].ids == (2,) and mesh.notices[1].ids == (1, 3)
    np.testing.assert_array_equal(mesh.face_of_file_cell, [0, 0, -1, 0, 1])


@pytest.mark.parametrize("shift", [1, -5, 10**12])
def test_other_labels_are_numbered_in_order_and_kept(shift):
    mesh = mesh_from_edges(np.array([[0, 4], [4, 9]]) + shift)
    assert mesh.complex.counts == (3, 2) and kinds(mesh) == ["relabelled_vertices"]
    np.testing.assert_array_equal(mesh.point_fields["label"], np.array([0, 4, 9]) + shift)


def test_text_labels_are_numbered_in_order_of_first_mention_and_kept():
    mesh = mesh_from_edges(np.array([["b", "a"], ["c", "b"]]))
    assert mesh.point_fields["label"].tolist() == ["b", "a", "c"]
    assert "first mention" in mesh.notices[0].message
    np.testing.assert_array_equal(mesh.complex.simplices(1), [[0, 1], [0, 2]])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("text", [False, True])
def test_labels_come_back_from_their_numbers(seed, text):
    ends = np.random.default_rng(seed).integers(-9, 9, (30, 2))
    ends = ends.astype(str) if text else ends
    labels, number = number_labels(ends)
    np.testing.assert_array_equal(labels[number], ends)
    firsts = list(dict.fromkeys(ends.ravel().tolist()))
    assert labels.tolist() == (firsts if text else sorted(firsts))


def test_stated_vertices_without_edges_are_components():
    assert mesh_from_edges(np.array([[0, 1]]), n_vertices=5).complex.n_components == 4
    assert mesh_from_edges(np.zeros((0, 2)), n_vertices=5).complex.counts == (5,)
    mesh = mesh_from_edges(np.array([[0, 1.0]]), points=np.eye(3))
    assert mesh.complex.counts == (3, 1) and mesh.squared_lengths[0] == pytest.approx(2.0)


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_clique_triangles_equal_brute_force(seed, density):
    n = 25
    upper = np.triu(np.random.default_rng(seed).uniform(size=(n, n)) < density, 1)
    edges = np.argwhere(upper)
    brute = [t for t in combinations(range(n), 3) if upper[t[0], t[1]] and upper[t[1], t[2]] and upper[t[0], t[2]]]
    np.testing.assert_array_equal(clique_triangles(n, edges), np.array(brute, np.int64).reshape(-1, 3))


def test_filling_says_how_many_triangles_and_keeps_edge_numbers():
    edges = np.array([[2, 3], [0, 1], [1, 2], [0, 2]])
    plain, filled = mesh_from_edges(edges), mesh_from_edges(edges, fill_triangles=True)
    assert filled.complex.counts == (4, 4, 1) and kinds(filled) == ["clique_complex"]
    assert "1 triangle(s)" in filled.notices[0].message
    np.testing.assert_array_equal(plain.complex.simplices(1), filled.complex.simplices(1))
    square = mesh_from_edges(np.array([[0, 1], [1, 2], [2, 3], [3, 0]]), fill_triangles=True)
    assert square.complex.dim == 1 and "0 triangle(s)" in square.notices[0].message


def test_case_graphs_have_their_stated_sizes(shared):
    folder = shared / "cases" / "files" / "shareable"
    for name, counts, components in [
        ("N03_cycle10.csv", (10, 10), 1),
        ("I08_edges.csv", (7, 7), 2),
        ("T10_hollow_square_edges.csv", (4, 4), 1),
    ]:
        mesh = mesh_from_edges(np.loadtxt(folder / name, delimiter=",", skiprows=1))
        assert mesh.complex.counts == counts and mesh.complex.n_components == components and kinds(mesh) == []


BAD = {
    "empty": (dict(edges=np.zeros((0, 2))), "empty"),
    "three columns": (dict(edges=np.zeros((2, 3), int)), "shape"),
    "fractions": (dict(edges=np.array([[0, 1.5]])), "not_integers"),
    "nan": (dict(edges=np.array([[0, np.nan]])), "not_integers"),
    "complex numbers": (dict(edges=np.array([[0, 1j]])), "not_integers"),
    "text with points": (dict(edges=np.array([["a", "b"]]), points=np.eye(2)), "not_integers"),
    "outside": (dict(edges=np.array([[0, 7]]), n_vertices=7), "index_out_of_range"),
    "negative": (dict(edges=np.array([[-1, 2]]), points=np.eye(3)), "index_out_of_range"),
    "two sizes": (dict(edges=np.array([[0, 1]]), points=np.eye(3), n_vertices=4), "shape"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs_are_refused(name):
    arguments, kind = BAD[name]
    with pytest.raises(InputError) as caught:
        mesh_from_edges(**arguments)
    assert caught.value.kind == kind


def test_a_clique_complex_above_the_stated_size_is_refused(monkeypatch):
    monkeypatch.setattr(from_graph, "MAX_TRIANGLES", 100)
    with pytest.raises(InputError) as caught:
        mesh_from_edges(np.argwhere(np.triu(np.ones((20, 20)), 1)), fill_triangles=True)
    assert caught.value.kind == "too_many_triangles"
