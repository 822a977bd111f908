"""The car: closed, one component, handles counted, well-shaped triangles, sharp edges, the size of a car."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from hsd.errors import UnknownNameError
from hsd.mesh import metric
from hsd.mesh.primitives.car import STYLES, car
from hsd.mesh.primitives.car_shape import AXLES, WHEEL_RADIUS, WHEEL_Z
from tests.mesh import oracles

car_of = cache(car)
QUICK = {("fastback", 60), ("notchback", 500), ("estate", 1500)}


def cases():
    """Every style in every size, bare, with wing, and with wing and rails; each style in one of the sizes quickly."""
    for style, n in product(STYLES, (60, 500, 1500)):
        for wing, rails in ((False, False), (True, False), (True, True)):
            name = f"{style}-{n}{'-wing' * wing}{'-rails' * rails}"
            yield pytest.param((style, n, wing, rails), id=name, marks=() if (style, n) in QUICK else pytest.mark.full)


@pytest.fixture(params=cases())
def case(request):
    return request.param, car_of(*request.param)


def test_each_closed_handle_adds_two_loops(case):
    (_, _, wing, rails), mesh = case
    assert oracles.betti(mesh, 11) == (1, 2 * wing + 4 * rails, 1)


def test_closed_orientable_manifold(case):
    _, mesh = case
    cx = mesh.complex
    assert not cx.has_boundary and cx.orientation is not None and len(cx.nonmanifold_facets) == 0
    assert oracles.vertex_stars_are_connected(mesh)


def test_count_and_triangle_shape(case):
    (_, n, _, _), mesh = case
    assert abs(mesh.complex.n_vertices / n - 1) <= 0.05
    assert len(metric.zero_measure(mesh, 2)) == 0
    if n >= 500:
        assert oracles.angles(mesh).min() >= 15.0


@pytest.mark.parametrize("style", STYLES)
def test_size_and_axes_of_a_car(style):
    mesh = car_of(style, 1500, mirrors=False)
    length, width, height = np.ptp(mesh.points, axis=0)
    assert 4.4 < length < 4.8 and 1.7 < width < 1.9
    assert 1.35 < mesh.points[:, 2].max() < 1.5 and 0.1 < mesh.points[:, 2].min() < 0.2
    p = mesh.points[mesh.oriented_cells()]
    volume = np.einsum("ij,ij->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6
    assert 0.5 * length * width * height < volume < 0.9 * length * width * height


def test_styles_differ_at_the_rear_and_agree_at_the_front():
    def roof(style, x):
        p = car_of(style, 1500, mirrors=False).points
        near = (abs(p[:, 0] - x) < 0.12) & (abs(p[:, 1]) < 0.5)
        return p[near, 2].max()

    assert roof("estate", 1.6) > roof("fastback", 1.6) + 0.1 > roof("notchback", 1.6) + 0.15
    front = [roof(s, -1.3) for s in STYLES]
    assert np.ptp(front) < 0.03


def test_mirrors_stand_out():
    with_mirrors, without = (np.ptp(car_of("fastback", 1500, mirrors=m).points[:, 1]) for m in (True, False))
    assert with_mirrors > without + 0.2


def test_wheel_arches_are_sharp_edges():
    mesh = car_of("fastback", 3000)
    p, e = mesh.points, mesh.complex.simplices(1)
    cells = mesh.oriented_cells()
    normal = np.cross(p[cells[:, 1]] - p[cells[:, 0]], p[cells[:, 2]] - p[cells[:, 0]])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    order = np.argsort(mesh.complex.faces(2).ravel(), kind="stable")
    pair = (np.arange(len(cells)).repeat(3))[order].reshape(-1, 2)
    sharp = np.einsum("ij,ij->i", normal[pair[:, 0]], normal[pair[:, 1]]) < np.cos(np.radians(50))
    middle = p[e].mean(axis=1)
    for x in AXLES:
        for side in (-1, 1):
            rho = np.hypot(middle[:, 0] - x, middle[:, 2] - WHEEL_Z)
            here = sharp & (abs(rho - WHEEL_RADIUS) < 0.03) & (side * middle[:, 1] > 0.7)
            assert here.sum() >= 12


def test_unknown_style_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="fastback, notchback, estate"):
        car("coupe")


@pytest.mark.full
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize("n", [700, 3000, 10_000, 30_000, 100_000])
def test_every_size(style, parts, n):
    mesh = car(style, n, wing=parts, roof_rails=parts)
    assert mesh.complex.euler_characteristic == 2 - 6 * parts and mesh.complex.n_components == 1
    assert abs(mesh.complex.n_vertices / n - 1) <= 0.05
    assert oracles.angles(mesh).min() >= 15.0
