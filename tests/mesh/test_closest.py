"""Closest points are the minimum over all simplices, and those of points on the mesh are the points themselves."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import InputError, MetricError
from hsd.mesh.closest import ClosestPoint, closest_on_simplices, locate
from hsd.mesh.mesh import Mesh
from tests.meshes import MEDIUM, mesh_of

SHAPES = ("torus", "annulus", "car", "rp2", "book", "theta_circle", "ball_with_cavity", "solid_torus", "cube")


def projected_by_active_set(corners: np.ndarray, x: np.ndarray) -> float:
    """Independent route: squared distance to one simplex by projected gradient steps on the barycentric simplex."""
    bary = np.full(len(corners), 1.0 / len(corners))
    gram = corners @ corners.T
    step = 1.0 / np.linalg.eigvalsh(gram)[-1]
    for _ in range(4000):
        bary = bary - step * (gram @ bary - corners @ x)
        ordered = np.sort(bary)[::-1]
        excess = (np.cumsum(ordered) - 1) / np.arange(1, len(bary) + 1)
        bary = np.maximum(bary - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)
    return float(np.linalg.norm(bary @ corners - x))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_distance_to_a_simplex_equals_an_independent_minimisation(size):
    rng = np.random.default_rng(size)
    corners, points = rng.standard_normal((12, size, 3)), 1.5 * rng.standard_normal((12, 3))
    bary, distance = closest_on_simplices(corners, points)
    assert (bary >= 0).all() and np.abs(bary.sum(axis=1) - 1).max() <= 1e-14
    expected = [projected_by_active_set(c, x) for c, x in zip(corners, points)]
    assert np.abs(distance - expected).max() <= 1e-6


@pytest.mark.parametrize("name", SHAPES)
def test_the_closest_simplex_is_the_minimum_over_all(name):
    mesh = mesh_of(name, MEDIUM)
    finder = ClosestPoint(mesh)
    rng = np.random.default_rng(1)
    size = np.ptp(mesh.points, axis=0).max()
    base = mesh.points[rng.integers(len(mesh.points), size=40)]
    noise = rng.standard_normal(base.shape) * np.repeat([0.01, 0.1, 3.0, 30.0], 10)[:, None]
    points = base + size * noise
    found = finder(points)
    for x, cell, bary, distance in zip(points, found.cell, found.bary, found.distance):
        _, every = closest_on_simplices(finder.corners, np.broadcast_to(x, (len(finder.corners), len(x))))
        assert abs(distance - every.min()) <= 1e-12 * (size + distance)
        there = bary @ finder.corners[cell]
        assert abs(np.linalg.norm(there - x) - distance) <= 1e-12 * (size + np.linalg.norm(x))


@pytest.mark.parametrize("name", SHAPES)
def test_points_of_the_mesh_are_found_where_they_are(name):
    mesh = mesh_of(name, MEDIUM)
    rng = np.random.default_rng(2)
    cells = rng.integers(mesh.complex.n(mesh.dim), size=300)
    bary = rng.dirichlet(np.ones(mesh.dim + 1), size=300)
    points = np.einsum("mi,mid->md", bary, mesh.points[mesh.complex.simplices(mesh.dim)[cells]])
    cell, found, distance = locate(mesh, points)
    assert distance.max() <= 1e-13 * np.ptp(mesh.points, axis=0).max()
    assert (cell == cells).all()
    assert np.abs(found - bary).max() <= 1e-10


def test_no_candidate_is_lost_among_centroids_at_one_distance():
    """Points of one regular grid lie inside another, many centroids at equal distance from each."""
    mesh, points = mesh_of("cube", MEDIUM), mesh_of("cube", 800).points
    assert locate(mesh, points)[2].max() <= 1e-15


def test_a_point_on_a_face_lies_in_all_simplices_around_it():
    mesh = mesh_of("solid_torus", MEDIUM)
    finder = ClosestPoint(mesh)
    for f in range(4):
        middle = mesh.points[mesh.complex.simplices(f)].mean(axis=1)
        point, cell, bary, share = finder.sides(finder(middle))
        around = np.bincount(mesh.complex.subsimplices(3, f).ravel(), minlength=mesh.complex.n(f))
        assert np.array_equal(np.bincount(point), around)
        assert np.abs(np.bincount(point, share) - 1).max() <= 1e-12
        assert np.abs(np.einsum("mi,mid->md", bary, finder.corners[cell]) - middle[point]).max() <= 1e-12


def test_simplices_of_very_different_size_and_flat_ones_are_all_seen():
    """One huge triangle, many tiny ones beside its far corner, and one of zero area."""
    rng = np.random.default_rng(3)
    tiny = np.array([[1000.0, 0.0, 0.0]]) + rng.random((300, 3))
    points = np.concatenate([[[0, 0, 0], [1000, 0, 0], [0, 1000, 0], [5, 5, 5], [6, 6, 6], [8, 8, 8]], tiny])
    cells = np.concatenate([[[0, 1, 2], [3, 4, 5]], 6 + np.arange(300).reshape(-1, 3)])
    finder = ClosestPoint(Mesh.from_cells(points, cells))
    x = np.array([[990.0, 1.0, 0.25], [7.0, 7.0, 7.1], [300.0, 300.0, -2.0], [1000.5, 0.5, 0.5]])
    found = finder(x)
    for i, y in enumerate(x):
        _, every = closest_on_simplices(finder.corners, np.broadcast_to(y, (len(finder.corners), 3)))
        assert abs(found.distance[i] - every.min()) <= 1e-10
    assert abs(found.distance[2] - 2.0) <= 1e-9


def test_bad_points_and_meshes_without_positions_are_refused():
    mesh = mesh_of("torus", MEDIUM)
    with pytest.raises(InputError) as caught:
        locate(mesh, np.zeros((3, 2)))
    assert caught.value.kind == "shape"
    with pytest.raises(InputError) as caught:
        locate(mesh, np.array([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]))
    assert caught.value.kind == "non_finite_vertex" and caught.value.ids == (1,)
    with pytest.raises(MetricError) as caught:
        ClosestPoint(mesh_of("flat_torus", MEDIUM))
    assert caught.value.kind == "no_positions"
    with pytest.raises(InputError) as caught:
        ClosestPoint(Mesh.from_cells(np.zeros((0, 3)), np.zeros((0, 3), int)))
    assert caught.value.kind == "empty"
