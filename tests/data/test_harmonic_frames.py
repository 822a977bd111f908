"""Harmonic frames: orthonormal, harmonic, and the same on every mesh of a shape."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.ground import Ground
from hsd.data.harmonic_frames import (
    angle_forms,
    crossing_cocycle,
    handle_frame,
    orthonormal_frame,
    period_frame,
    torus_frame,
    wedge,
)
from hsd.data.smooth_shapes import WingedCar
from hsd.data.tasks import task
from hsd.errors import InputError, TopologyError
from hsd.hodge.homology import Homology
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery
from tests.meshes import mesh_of

R, r = 1.0, 0.4
ROOT = np.sqrt(R * R - r * r)


@pytest.fixture(scope="module")
def cars() -> dict[int, Ground]:
    car = task("external_aerodynamics")
    return {n: Ground(car.mesh(n)) for n in (1000, 2000)}


def car_frame(ground: Ground) -> np.ndarray:
    return task("external_aerodynamics").frame(ground)


def frames_of(cars) -> list[tuple[Ground, np.ndarray]]:
    torus, double = Ground(mesh_of("torus", 600)), Ground(mesh_of("double_torus", 900))
    return [
        (torus, torus_frame(torus)),
        (torus, period_frame(torus)),
        (double, period_frame(double)),
        (cars[1000], car_frame(cars[1000])),
        (cars[1000], period_frame(cars[1000])),
    ]


def test_frames_are_orthonormal_and_harmonic(cars):
    for ground, frame in frames_of(cars):
        dec = ground.dec
        assert frame.shape == (dec.n(1), ground.solver.betti[1])
        assert np.allclose(frame.T @ (dec.star(1) @ frame), np.eye(frame.shape[1]), atol=1e-12)
        size = np.abs(frame)
        assert np.abs(dec.d(1) @ frame).sum() <= 1e-10 * (abs(dec.d(1)) @ size).sum()
        codiff = dec.weak_codifferential(1) @ frame
        assert np.abs(codiff).sum() <= 1e-10 * (abs(dec.boundary(1)) @ np.abs(dec.star(1) @ frame)).sum()


def smooth_harmonic(ground: Ground, a: float, b: float) -> np.ndarray:
    """De Rham cochain of a dθ + b √(R²−r²)/ρ dφ, ρ = R + r cos φ: exact integrals over arcs between the vertices."""
    d_theta = angle_forms(ground.mesh)[:, 0]
    x, y, z = ground.mesh.points.T
    phi = np.arctan2(z, np.hypot(x, y) - R)
    primitive = 2 * np.arctan(np.sqrt((R - r) / (R + r)) * np.tan(phi / 2))
    edges = ground.mesh.complex.simplices(1)
    d_phi = (primitive[edges[:, 1]] - primitive[edges[:, 0]] + np.pi) % (2 * np.pi) - np.pi
    return a * d_theta + b * d_phi


def test_coefficients_of_a_smooth_harmonic_field_on_the_torus_converge_to_the_exact_ones():
    """‖dθ‖² = 4π² r/√(R²−r²); the harmonic form in the class of dφ is √(R²−r²)/ρ dφ, its norm² 4π² √(R²−r²)/r."""
    a, b = 0.7, -1.3
    exact = np.array([a * np.sqrt(4 * np.pi**2 * r / ROOT), b * np.sqrt(4 * np.pi**2 * ROOT / r)])
    sizes, errors = (1500, 3000, 7000), []
    for n in sizes:
        ground = Ground(gallery("torus", n))
        found = torus_frame(ground).T @ (ground.dec.star(1) @ smooth_harmonic(ground, a, b))
        errors.append(np.abs(found - exact).max() / np.abs(exact).max())
    assert errors[-1] < 1e-3
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] < -0.9  # h² is 1/n


def circulation_of_smooth_form(ground: Ground, frame: np.ndarray) -> np.ndarray:
    """Coefficients of the smooth form y dz in the frame, trapezoidal along edges."""
    x, edges = ground.mesh.points, ground.mesh.complex.simplices(1)
    middle, way = x[edges].mean(axis=1), x[edges[:, 1]] - x[edges[:, 0]]
    forms = np.stack([middle[:, 1] * way[:, 2], middle[:, 2] * way[:, 0], middle[:, 1] * way[:, 0]], axis=1)
    return (frame.T @ (ground.dec.star(1) @ forms)).ravel()


@pytest.mark.full
def test_coefficients_of_a_smooth_field_on_the_car_agree_across_meshes():
    car = task("external_aerodynamics")
    values = {}
    for n in (1500, 3000, 7000, 16000):
        ground = Ground(car.mesh(n))
        values[n] = circulation_of_smooth_form(ground, car.frame(ground))
    scale = np.abs(values[16000]).max()
    errors = [np.abs(values[n] - values[16000]).max() / scale for n in (1500, 3000, 7000)]
    assert errors[0] < 0.1
    assert errors[2] < 0.03
    assert errors[0] > errors[1] > errors[2]


def test_frame_of_the_car_is_the_same_on_two_meshes(cars):
    coarse, fine = (circulation_of_smooth_form(g, car_frame(g)) for g in cars.values())
    assert np.abs(coarse - fine).max() < 0.12 * np.abs(fine).max()


def test_relabelling_vertices_changes_no_coefficient(cars):
    """The frame is a function of the shape: order, signs and rotation do not come from the numbering."""
    mesh = cars[1000].mesh
    order = np.random.default_rng(0).permutation(mesh.complex.n_vertices)
    points = np.empty_like(mesh.points)
    points[order] = mesh.points
    other = Ground(Mesh.from_cells(points, order[mesh.oriented_cells()][::-1]))
    same = circulation_of_smooth_form(cars[1000], car_frame(cars[1000]))
    assert np.allclose(circulation_of_smooth_form(other, car_frame(other)), same, atol=1e-12)


def test_crossings_are_an_integer_cocycle_that_counts_turns_round_the_handle(cars):
    shape = WingedCar()
    for ground in cars.values():
        mesh = ground.mesh
        cocycle = crossing_cocycle(mesh, 1, 0.0, shape.on_wing)
        assert set(np.unique(cocycle)) == {-1.0, 0.0, 1.0}
        assert not (ground.dec.d(1) @ cocycle).any()
        periods = Homology(mesh.complex).cycles(1).T @ cocycle
        assert np.array_equal(periods, np.rint(periods))
        assert np.gcd.reduce(np.rint(periods).astype(int)) == 1  # a primitive class of the handle


def test_second_vector_of_a_handle_is_the_turn_of_the_first(cars):
    """⟨h₂, ⋆h₁⟩ = ∫ h₁∧h₂ > 0, and on the torus the turn of dθ is the class of dφ up to sign."""
    for ground in cars.values():
        frame = car_frame(ground)
        area_form = wedge(ground.mesh, frame, frame)
        assert area_form[0, 1] > 0.8  # 1 in the limit: |⋆h₁| = 1
        assert np.allclose(area_form, -area_form.T, atol=1e-12)
    torus = Ground(mesh_of("torus", 600))
    forms = angle_forms(torus.mesh)
    turned = handle_frame(torus, forms[:, 0])
    assert np.allclose(np.abs(turned.T @ (torus.dec.star(1) @ torus_frame(torus))), np.eye(2), atol=1e-3)


def test_wedge_of_angles_is_the_area_of_the_flat_square():
    """∫ dθ∧dφ = ±4π² whatever the mesh, and adding exact forms changes nothing."""
    rng = np.random.default_rng(0)
    for n in (200, 900):
        ground = Ground(mesh_of("torus", n))
        forms = angle_forms(ground.mesh)
        assert abs(wedge(ground.mesh, forms, forms)[0, 1]) == pytest.approx(4 * np.pi**2, rel=1e-12)
        moved = forms + ground.dec.d(0) @ rng.standard_normal((ground.dec.n(0), 2))
        assert np.allclose(wedge(ground.mesh, moved, moved), wedge(ground.mesh, forms, forms), atol=1e-9)


def test_genus_zero_has_an_empty_frame():
    ground = Ground(mesh_of("sphere", 200))
    assert period_frame(ground).shape == (ground.dec.n(1), 0)


def test_frames_refuse_what_they_do_not_fit():
    sphere, torus = Ground(mesh_of("sphere", 200)), Ground(mesh_of("torus", 200))
    ball = Ground(mesh_of("ball_with_cavity", 300))
    forms = angle_forms(torus.mesh)
    with pytest.raises(TopologyError) as error:
        torus_frame(sphere)
    assert error.value.kind == "betti"
    with pytest.raises(InputError) as error:
        torus_frame(ball)
    assert error.value.kind == "degree"
    with pytest.raises(TopologyError) as error:
        orthonormal_frame(torus, forms[:, [0, 0]])
    assert error.value.kind == "dependent_classes"
    with pytest.raises(TopologyError) as error:
        orthonormal_frame(torus, (torus.dec.d(0) @ torus.mesh.points[:, 0])[:, None])
    assert error.value.kind == "dependent_classes"
    with pytest.raises(TopologyError) as error:
        crossing_cocycle(torus.mesh, 1, 0.0, lambda p: (p[:, 0] > 0) & (p[:, 2] > 0))
    assert error.value.kind == "open_curve"
    with pytest.raises(TopologyError) as error:
        klein = Ground(mesh_of("klein", 300))
        wedge(klein.mesh, np.zeros((klein.dec.n(1), 1)), np.zeros((klein.dec.n(1), 1)))
    assert error.value.kind == "non_orientable"
