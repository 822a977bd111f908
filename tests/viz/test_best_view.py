"""The direction that shows most of given parts of a surface."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.viz.best_view import best_direction, directions, visible
from tests.meshes import mesh_of


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, -1, 0), (0.6, 0.6, 0.5)])
def test_a_patch_of_a_sphere_is_looked_at_from_its_side(axis):
    mesh, axis = mesh_of("sphere", 500), np.array(axis) / np.linalg.norm(axis)
    patch = np.flatnonzero(mesh.points @ axis > 0.8)
    direction = np.array(best_direction(mesh.points, [patch]))
    assert -direction @ axis > 0.5 and np.linalg.norm(direction) == pytest.approx(1.0)
    assert abs(direction[2]) <= 0.9


def test_most_sets_win_and_the_far_side_of_a_torus_hides_what_lies_behind_it():
    mesh = mesh_of("torus", 1500)
    p = mesh.points
    angle = np.arctan2(p[:, 1], p[:, 0])
    outer = np.linalg.norm(p[:, :2], axis=1) > 1.2
    near = [np.flatnonzero(outer & (np.abs(angle - a) < 0.15)) for a in (-0.5, 0.0, 0.5)]
    far = np.flatnonzero(outer & (np.abs(angle) > np.pi - 0.15))
    direction = np.array(best_direction(p, [*near, far]))
    assert direction[0] < -0.3  # three are seen and one is not
    size = np.linalg.norm(p, axis=1).max()
    inner = np.flatnonzero(~outer & (np.abs(angle) < 0.3) & (np.abs(p[:, 2]) < 0.1))
    assert not visible(p / size, np.array([-1.0, 0.0, 0.0]))[inner].any()  # the tube on the other side is before them
    assert len(directions()) > 80
