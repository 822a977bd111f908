"""Random points on smooth shapes: on the surface, uniform by area; partners at the wished distance."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data import kept
from hsd.data.ground import Ground
from hsd.data.smooth_shapes import CAR_FRAME, Ellipsoid, PointTable, Torus, WingedCar, partners
from hsd.data.tasks import task
from hsd.errors import InputError, UnknownNameError
from hsd.mesh.primitives import car, gallery

SHAPES = {"ellipsoid": Ellipsoid((1.0, 2 / 3, 0.5)), "torus": Torus(), "car": WingedCar()}


def off_surface(name: str, p: np.ndarray) -> np.ndarray:
    if name == "ellipsoid":
        return (p**2 / np.array([1.0, 2 / 3, 0.5]) ** 2).sum(axis=1) - 1
    if name == "torus":
        return np.hypot(np.hypot(p[:, 0], p[:, 1]) - 1, p[:, 2]) - 0.4
    shape = SHAPES["car"]
    return np.max([f(shape.to_metres(p)) for f in shape.car.functions], axis=0)


@pytest.mark.parametrize("name", SHAPES)
def test_points_lie_on_the_surface(name):
    p = SHAPES[name].points(np.random.default_rng(0), 3000)
    assert p.shape == (3000, 3)
    assert np.abs(off_surface(name, p)).max() < (1e-12 if name != "car" else 3e-3)


@pytest.mark.parametrize(
    "name, mesh", [("ellipsoid", "ellipsoid"), ("torus", "torus"), ("car", "external_aerodynamics")]
)
def test_points_are_uniform_by_area(name, mesh):
    """Mean and second moments of many points are those of the surface by area, within four standard errors."""
    if name == "car":
        ground = Ground(task(mesh).mesh(3000))
    else:
        ground = Ground(gallery(mesh, 3000, **({"axes": (1.0, 2 / 3, 0.5)} if mesh == "ellipsoid" else {})))
    n = 20000
    p = SHAPES[name].points(np.random.default_rng(1), n)
    x = ground.mesh.points
    weight = ground.vertex_measure / ground.measure
    for power in (1, 2):
        expected, spread = weight @ x**power, (x**power).std(axis=0)
        allowed = 4 * spread / np.sqrt(n) + (0.01 if name == "car" else 0.003)
        assert (np.abs((p**power).mean(axis=0) - expected) < allowed).all()


@pytest.mark.parametrize("name", ["ellipsoid", "torus"])
def test_partners_are_on_the_surface_at_the_wished_distance(name):
    rng = np.random.default_rng(0)
    centres = SHAPES[name].points(rng, 2000)
    other = partners(rng, SHAPES[name], centres, 0.15, 0.4)
    distance = np.linalg.norm(other - centres, axis=1)
    assert np.abs(off_surface(name, other)).max() < 1e-12
    assert distance.min() > 0.15 - 1e-3
    assert distance.max() < 0.4 + 1e-3


@pytest.mark.parametrize(
    "style", [s if s == "fastback" else pytest.param(s, marks=pytest.mark.full) for s in CAR_FRAME]
)
def test_frame_of_the_car_is_centroid_and_farthest_point(style):
    shape = WingedCar(style)
    mesh = car(n_vertices=3000, **shape.options)
    ground = Ground(mesh)
    points = shape.from_metres(mesh.points)
    centroid = ground.vertex_measure @ points / ground.measure
    assert np.abs(centroid).max() < 3e-3
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1.0, abs=3e-3)
    assert np.allclose(shape.to_metres(points), mesh.points, atol=1e-12)


def test_point_table_of_a_mesh_is_fixed_and_on_its_triangles():
    mesh = gallery("torus", 300)
    one, two = PointTable.of_mesh(mesh, 500), PointTable.of_mesh(mesh, 500)
    assert np.array_equal(one.table, two.table)
    away = np.abs(off_surface("torus", one.table))
    assert away.max() < 0.02  # sagitta of the triangles


def test_unknown_style_and_thickness_are_refused():
    with pytest.raises(UnknownNameError):
        WingedCar("coupe")
    with pytest.raises(InputError) as error:
        car(n_vertices=1000, wing=True, thickness=1.0)
    assert error.value.kind == "bad_option"


@pytest.mark.full
def test_kept_shapes_equal_made_ones_to_the_last_bit_and_are_made_again_for_another_text(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path))
    made = []

    def make():
        made.append(car(n_vertices=500))
        return made[-1]

    first, again = kept.kept_mesh(make, "car", 500), kept.kept_mesh(make, "car", 500)
    assert len(made) == 1 and again.name == made[0].name
    for mesh in (first, again):
        assert mesh.content_hash == made[0].content_hash and np.array_equal(mesh.winding, made[0].winding)
    points = [kept.kept_array(lambda: np.arange(3.0) / 7, "points") for _ in range(2)]
    assert points[0].tobytes() == points[1].tobytes() == (np.arange(3.0) / 7).tobytes()
    monkeypatch.setattr(kept, "sources", lambda: "another text")
    kept.kept_mesh(make, "car", 500)
    assert len(made) == 2
