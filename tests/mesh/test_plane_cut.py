"""Plane cuts: areas, closedness, exactness for linear functions, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import InputError
from hsd.mesh.plane_cut import plane_cut
from hsd.mesh.primitives import gallery
from tests.meshes import mesh_of

PLANES = [((0, 0, 1), 0.0), ((1, 0, 0), 0.1), ((1, 2, -2), 0.05), ((-3, 1, 0.5), 0.0), ((0, 1, 0), -0.2)]
SOLIDS = ("ball_with_cavity", "ball", "solid_torus", "cube")


def area_and_normal(cut):
    corners = cut.points[cut.triangles]
    return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("normal, offset", PLANES)
def test_cuts_lie_in_the_plane_are_wound_about_its_normal_and_read_linear_functions_exactly(name, normal, offset):
    mesh = mesh_of(name, 500)
    offset += float(np.mean(mesh.points, axis=0) @ normal) / np.linalg.norm(normal)
    cut = plane_cut(mesh, normal, offset)
    n = np.asarray(normal, float) / np.linalg.norm(normal)
    assert len(cut.triangles) > 20
    assert np.abs(cut.points @ n - offset).max() < 1e-13
    areas = area_and_normal(cut)
    assert (areas @ n > 0).all()
    values = mesh.points @ [[1.0, 2.0], [-0.5, 0.3], [0.2, 4.0]] + [1.0, -2.0]
    expected = cut.points @ [[1.0, 2.0], [-0.5, 0.3], [0.2, 4.0]] + [1.0, -2.0]
    assert np.abs(cut.of_vertices(values) - expected).max() < 1e-12
    corners = mesh.points[mesh.complex.simplices(3)]
    heights = cut.of_cells(corners @ n - offset)
    assert (heights.min(axis=1) <= 1e-12).all() and (heights.max(axis=1) >= -1e-12).all()


@pytest.mark.parametrize("name", SOLIDS)
def test_area_integrates_over_the_offset_to_the_volume(name):
    mesh = mesh_of(name, 500)
    low, high = mesh.points[:, 2].min(), mesh.points[:, 2].max()
    ends = np.linspace(low, high, 1201)
    mids = 0.5 * (ends[1:] + ends[:-1]) + 1e-9
    total = sum(np.linalg.norm(area_and_normal(plane_cut(mesh, offset=z)), axis=1).sum() for z in mids[::4])
    corners = mesh.points[mesh.complex.simplices(3)]
    volume = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / 6
    assert total * 4 * (ends[1] - ends[0]) == pytest.approx(volume, rel=2e-3)


def test_a_cube_is_cut_in_a_square_also_through_its_vertices():
    cube = gallery("cube", 200)
    low, high = cube.points.min(axis=0), cube.points.max(axis=0)
    square = float(np.prod((high - low)[:2]))
    for z in np.unique(np.round(cube.points[:, 2], 12))[1:]:  # the lowest layer has no tet below it
        assert np.linalg.norm(area_and_normal(plane_cut(cube, offset=z)), axis=1).sum() == pytest.approx(square)


def test_the_cut_of_a_ball_with_cavity_is_a_ring():
    cut = plane_cut(mesh_of("ball_with_cavity", 3000))
    area = np.linalg.norm(area_and_normal(cut), axis=1).sum()
    assert area == pytest.approx(np.pi * (2.0**2 - 0.4**2), rel=0.03)


def test_a_plane_off_the_mesh_cuts_nothing():
    cut = plane_cut(mesh_of("ball", 60), offset=99.0)
    assert cut.triangles.shape == (0, 3) and cut.points.shape == (0, 3)
    assert cut.of_vertices(np.zeros((60 + 1000, 2))[: cut.weights.shape[1]]).shape == (0, 2)


@pytest.mark.parametrize(
    "normal, offset", [((0, 0, 0), 0.0), ((1, 0), 0.0), ((np.nan, 0, 1), 0.0), ((0, 0, 1), np.inf)]
)
def test_bad_planes_are_refused(normal, offset):
    with pytest.raises(InputError) as caught:
        plane_cut(mesh_of("ball", 60), normal, offset)
    assert caught.value.kind == "bad_plane"


def test_surfaces_are_refused():
    with pytest.raises(InputError) as caught:
        plane_cut(mesh_of("torus", 60))
    assert caught.value.kind == "dimension"
