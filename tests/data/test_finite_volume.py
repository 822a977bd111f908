"""Finite volumes: conservation, the maximum principle, order, direction, diffusion."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.spatial import Delaunay

from hsd.data.blocks import WIDTH, in_blocks
from hsd.data.finite_volume import Transport, divergence_free
from hsd.data.ground import Ground
from hsd.data.harmonic_frames import angle_forms
from hsd.data.reconstruction import limited, upstream_increments
from hsd.dec.de_rham import de_rham
from hsd.dec.whitney import whitney_at
from hsd.errors import InputError, MetricError, TopologyError
from hsd.hodge.eigen import coexact_modes
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

R, r = 1.0, 0.4
SIZES = (750, 1500, 3000, 6000)


@cache
def torus(n: int) -> Ground:
    return Ground(gallery("torus", n))


def angles(ground: Ground) -> np.ndarray:
    x, y, z = ground.mesh.points.T
    return np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y) - R)])


@cache
def harmonic(n: int) -> np.ndarray:
    return divergence_free(torus(n), angle_forms(torus(n).mesh))


@cache
def rotation(n: int) -> np.ndarray:
    around = de_rham(torus(n).mesh, 1, lambda p: np.stack([-p[:, 1], p[:, 0], 0 * p[:, 2]], axis=1))
    return divergence_free(torus(n), around[:, None])


def some_fields(n: int, count: int, seed: int) -> np.ndarray:
    """Blobs, noise and a step: rough data is what makes overshoots."""
    rng, p = np.random.default_rng(seed), torus(n).mesh.points
    rows = []
    for i in range(count):
        centre = p[rng.integers(len(p))]
        blob = np.exp(-((p - centre) ** 2).sum(axis=1) / (2 * rng.uniform(0.05, 0.3) ** 2))
        rows.append((blob, rng.standard_normal(len(p)), (blob > 0.5) - 0.5)[i % 3] + rng.uniform(-1, 1))
    return np.array(rows)


def some_velocities(count: int, seed: int) -> np.ndarray:
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    return np.stack([np.cos(angle), 0.15 * np.sin(angle)], axis=1)


def slope(sizes: list[int], errors: list[float]) -> float:
    """Order in the mesh width h ~ n^(−1/2), by a fit."""
    return float(-2 * np.polyfit(np.log(sizes), np.log(errors), 1)[0])


RADIUS = np.array([1.0, 0.15])


# ---- the fluxes -----------------------------------------------------------------------------------------------------


def test_star_of_a_closed_form_is_the_flux_of_its_whitney_field_across_median_duals():
    """(⋆₁v)_e against ∫ v·n over the two segments from the edge's midpoint to the barycentres, by Simpson's rule."""
    mesh = torus(750).mesh
    u = np.random.default_rng(0).standard_normal(mesh.complex.n(0))
    v = torus(750).dec.d(0) @ u + harmonic(750).sum(axis=1)
    cells, faces, p = mesh.complex.simplices(2), mesh.complex.faces(2), mesh.points
    normal = np.cross(p[cells[:, 1]] - p[cells[:, 0]], p[cells[:, 2]] - p[cells[:, 0]])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    flux = np.zeros(mesh.complex.n(1))
    for opposite in range(3):
        a, b = (k for k in range(3) if k != opposite)
        middle, centre = 0.5 * (np.eye(3)[a] + np.eye(3)[b]), np.full(3, 1 / 3)
        start, end = (np.einsum("k,fkd->fd", w, p[cells]) for w in (middle, centre))
        across = np.cross(end - start, normal)  # length × normal of the segment in the triangle's plane
        across *= np.sign((across * (p[cells[:, b]] - p[cells[:, a]])).sum(axis=1))[:, None]
        for weight, t in ((1, 0.0), (4, 0.5), (1, 1.0)):
            bary = np.tile((1 - t) * middle + t * centre, (len(cells), 1))
            field = whitney_at(mesh, 1, v, np.arange(len(cells)), bary)
            np.add.at(flux, faces[:, opposite], weight / 6 * (field * across).sum(axis=1))
    expected = torus(750).dec.star(1) @ v
    assert np.abs(flux - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("n", [750, 3000])
def test_control_volumes_gain_nothing_of_a_divergence_free_flow(n):
    gain, star = torus(n).dec.boundary(1), torus(n).dec.star(1)
    for v in (harmonic(n), rotation(n)):
        flux = star @ v
        assert np.abs(gain @ flux).max() <= 1e-12 * (abs(gain) @ np.abs(flux)).max()


def test_harmonic_representatives_keep_the_periods_of_the_angles():
    """h − dθ is exact: its integrals over closed curves of edges are those of the angles."""
    ground = torus(750)
    cycles = ground.solver.homology.cycles(1)
    assert np.abs(cycles.T @ (harmonic(750) - angle_forms(ground.mesh))).max() <= 1e-12
    assert all(ground.dec.closedness(1, h) <= 1e-14 for h in harmonic(750).T)


def test_harmonic_representatives_converge_to_those_of_the_smooth_torus():
    """dθ to rounding (the mesh is a surface of revolution), √(R² − r²) dφ / (R + r cos φ) at order 2 in ⋆₁."""
    errors = []
    for n in SIZES:
        ground = torus(n)
        phi = angles(ground)[1]
        c = np.sqrt(R**2 - r**2)
        primitive = 2 * np.arctan2((R - r) * np.tan(phi / 2), c)  # ∫ c dφ / (R + r cos φ)
        e = ground.mesh.complex.simplices(1)
        step = (primitive[e[:, 1]] - primitive[e[:, 0]] + np.pi) % (2 * np.pi) - np.pi
        h = harmonic(n)
        assert np.abs(h[:, 0] - angle_forms(ground.mesh)[:, 0]).max() <= 1e-13
        errors.append(ground.dec.norm(1, step - h[:, 1]) / ground.dec.norm(1, step))
    assert slope(SIZES, errors) >= 1.8, errors


# ---- the reconstruction ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["torus", "ellipsoid", "sphere", "double_torus"])
def test_upstream_increments_are_positive_combinations(name):
    """Row i → j: Σ_k α_k (u_i − u_k) with α ≥ 0, no other entries."""
    mesh = gallery(name, 600)
    a = upstream_increments(mesh)
    edges = mesh.complex.simplices(1)
    own = np.asarray(a[np.arange(a.shape[0]), np.concatenate([edges[:, 0], edges[:, 1]])]).ravel()
    assert own.min() > 0
    rest = a.copy()
    rest.data[rest.data > 0] = 0
    assert np.abs(np.asarray(rest.sum(axis=1)).ravel() + own).max() <= 1e-12 * own.max()
    assert (a.data > 0).sum() == a.shape[0]


def test_upstream_increments_are_exact_on_flat_linear_fields():
    """On an irregular flat patch a = u_i − u(x_i − e) = e·∇u for every linear u."""
    plane = np.column_stack([np.random.default_rng(1).uniform(-1, 1, (400, 2)), np.zeros(400)])
    flat = Delaunay(plane[:, :2]).simplices
    apex = np.array([[0.0, 0.0, -5.0]])  # closes the rim; only vertices off the rim are looked at
    edges, count = np.unique(np.sort(flat[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)
    rim = edges[count == 1]
    closed = Mesh.from_cells(
        np.vstack([plane, apex]), np.vstack([flat, np.column_stack([rim, np.full(len(rim), len(plane))])])
    )
    a = upstream_increments(closed)
    inner = np.setdiff1d(np.arange(len(plane)), rim)
    tail, head = np.concatenate([closed.complex.simplices(1), closed.complex.simplices(1)[:, ::-1]]).T
    use = np.isin(tail, inner)
    u = closed.points @ np.array([0.7, -1.3, 0.0])
    assert np.abs((a @ u - (u[head] - u[tail]))[use]).max() <= 1e-11


def test_limited_increment_lies_between_nothing_and_twice_each():
    a, b = np.random.default_rng(2).standard_normal((2, 4000))
    phi = limited(a, b)
    same = a * b > 0
    assert (phi[~same] == 0).all()
    assert (phi[same] / a[same] > 0).all() and (phi[same] / a[same] <= 2 + 1e-15).all()
    assert (phi[same] / b[same] > 0).all() and (phi[same] / b[same] <= 2 + 1e-15).all()
    assert np.abs(limited(a, a) - a).max() <= 1e-15
    near = b * (1 + 1e-3)
    assert np.allclose(limited(near, b), (near + 2 * b) / 3, rtol=1e-12)


# ---- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.0, 0.01])
@pytest.mark.parametrize("n", [750, pytest.param(3000, marks=pytest.mark.full)])
def test_mass_is_constant_and_no_new_extremum_appears_over_100_steps(n, nu):
    ground = torus(n)
    flow = Transport(ground, harmonic(n), nu)
    u = some_fields(n, 24, 3)
    times = np.linspace(0, 100 / flow.rate(RADIUS), 6)
    states = flow.trajectory(u, some_velocities(24, 4), times, RADIUS)
    area = ground.vertex_measure
    drift = np.abs((states - u[:, None]) @ area) / (np.abs(u) @ area)[:, None]
    assert drift.max() <= 1e-10
    low, high = u.min(axis=1), u.max(axis=1)
    beyond = np.maximum(states.max(axis=(1, 2)) - high, low - states.min(axis=(1, 2))) / (high - low)
    assert beyond.max() <= 1e-8
    assert np.abs(states[:, -1] - u).max() > 0.1


@pytest.mark.parametrize("nu", [0.0, 0.01])
def test_constants_stay(nu):
    flow = Transport(torus(750), harmonic(750), nu)
    u = np.full((1, flow.area.size), 3.0)
    end = flow.trajectory(u, some_velocities(1, 0), np.array([0.0, 1.0]), RADIUS)[:, -1]
    assert np.abs(end - 3.0).max() <= 1e-11


def test_the_bound_of_the_step_holds_for_every_admissible_velocity():
    flow = Transport(torus(750), harmonic(750))
    angle = np.linspace(0, 2 * np.pi, 1000)
    rates = [flow.advective_rate(np.array([[np.cos(t), np.sin(t)]]) * RADIUS) for t in angle]
    assert max(rates) <= flow.rate(RADIUS) <= 1.01 * max(rates)


def test_samples_do_not_depend_on_their_company():
    """Bit for bit: alone, in another order, in batches of any size."""
    flow = Transport(torus(750), harmonic(750), 0.01)
    u, a, times = some_fields(750, 2 * WIDTH + 5, 5), some_velocities(2 * WIDTH + 5, 6), np.array([0.0, 0.1])
    whole = flow.trajectory(u, a, times, RADIUS)
    order = np.random.default_rng(7).permutation(len(u))
    assert np.array_equal(flow.trajectory(u[order], a[order], times, RADIUS), whole[order])
    for start, stop in ((0, 1), (3, 4), (0, 17), (20, 37)):
        assert np.array_equal(flow.trajectory(u[start:stop], a[start:stop], times, RADIUS), whole[start:stop])
    assert flow.trajectory(u[:0], a[:0], times, RADIUS).shape == (0, 2, flow.area.size)


def test_blocks_hand_over_every_sample_once():
    x = np.arange(3.0 * (WIDTH + 3)).reshape(-1, 3)
    assert np.array_equal(in_blocks(lambda c: 2 * c, x), 2 * x)
    assert in_blocks(lambda c: c[None], x[:0]).shape == (0, 1, 3)


# ---- exact solutions ------------------------------------------------------------------------------------------------


def smooth_data(theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return np.cos(theta + 0.5 * np.sin(phi))


def error_of(ground: Ground, v: np.ndarray, a: float, shift: np.ndarray) -> float:
    """Relative L² error at t = 1 against u₀(θ − shift, φ), where |u| is below 0.7 of its maximum (no extrema there)."""
    flow = Transport(ground, v)
    theta, phi = angles(ground)
    coefficients = np.zeros((1, v.shape[1]))
    coefficients[0, 0] = a
    radius = np.full(v.shape[1], 1e-9)
    radius[0] = abs(a)
    end = flow.trajectory(smooth_data(theta, phi)[None], coefficients, np.array([0.0, 1.0]), radius)[0, -1]
    exact = smooth_data(theta - shift, phi)
    away = np.abs(exact) < 0.7
    w = flow.area * away
    return float(np.sqrt((w * (end - exact) ** 2).sum() / (w * exact**2).sum()))


@pytest.mark.parametrize("a", [0.7, -0.9])
def test_harmonic_flow_converges_to_the_exact_solution_at_order_2(a):
    """u₀(θ − aT/(R + r cos φ)², φ): the flow shears, it is no rigid motion."""
    found = []
    for n in SIZES:
        phi = angles(torus(n))[1]
        found.append(error_of(torus(n), harmonic(n), a, a / (R + r * np.cos(phi)) ** 2))
    assert slope(SIZES, found) >= 1.8, found
    assert found[-1] < 0.01


@pytest.mark.parametrize("a", [0.75, -0.4])
def test_rotation_converges_to_the_rigid_motion_at_order_2(a):
    found = [error_of(torus(n), rotation(n), a, np.array(a)) for n in SIZES]
    assert slope(SIZES, found) >= 1.8, found
    assert found[-1] < 0.01


def test_flow_round_the_tube_converges_to_its_characteristics_at_order_2():
    """φ̇ = a √(R² − r²)/(r² (R + r cos φ)): s = R φ + r sin φ grows at a constant rate."""
    found = []
    a = 0.15
    for n in SIZES:
        ground = torus(n)
        flow = Transport(ground, harmonic(n))
        theta, phi = angles(ground)
        s = R * phi + r * np.sin(phi) - a * np.sqrt(R**2 - r**2) / r**2
        foot = s.copy()
        for _ in range(60):  # Newton for R φ₀ + r sin φ₀ = s
            foot -= (R * foot + r * np.sin(foot) - s) / (R + r * np.cos(foot))

        def start(t, f):
            return np.cos(f + 0.5 * np.cos(t))

        end = flow.trajectory(start(theta, phi)[None], np.array([[0.0, a]]), np.array([0.0, 1.0]), [1e-9, a])[0, -1]
        exact = start(theta, foot)
        w = flow.area * (np.abs(exact) < 0.7)
        found.append(float(np.sqrt((w * (end - exact) ** 2).sum() / (w * exact**2).sum())))
    assert slope(SIZES, found) >= 1.8, found


@pytest.mark.parametrize("nu", [0.0, 0.01])
@pytest.mark.parametrize("a", [0.3, -0.3])
def test_a_blob_moves_in_the_direction_of_the_velocity(a, nu):
    """The angle of the centroid of a blob on the outer equator grows by about aT/(R + r)² with the sign of a."""
    ground = torus(1500)
    theta, phi = angles(ground)
    u = np.exp(-((theta - 0.2) ** 2 + 0.16 * phi**2) / (2 * 0.15**2))[None]
    flow = Transport(ground, harmonic(1500), nu)
    end = flow.trajectory(u, np.array([[a, 0.0]]), np.array([0.0, 1.0]), [0.3, 1e-9])[0, -1]
    w, z = flow.area, np.exp(1j * theta)
    moved = np.angle((w * end * z).sum() / (w * u[0] * z).sum())
    expected = a / (R + r) ** 2
    assert np.sign(moved) == np.sign(a) and abs(moved - expected) <= 0.1 * abs(expected)


@pytest.mark.parametrize("n", [750, pytest.param(3000, marks=pytest.mark.full)])
def test_diffusion_alone_decays_the_64_lowest_modes_as_it_should(n):
    """Each mode by e^{−νλT}, to 1 %, and it stays that mode."""
    nu, ground = 0.01, torus(n)
    modes = coexact_modes(ground.solver, 0, 63)
    values = np.concatenate([[0.0], modes.values[:63]])
    constant = np.full((ground.vertex_measure.size, 1), ground.measure**-0.5)
    phi = np.concatenate([constant, modes.vectors[:, :63]], axis=1)
    flow = Transport(ground, harmonic(n), nu)
    end = flow.trajectory(phi.T, np.zeros((64, 2)), np.array([0.0, 1.0]), RADIUS)[:, -1]
    decay = np.exp(-nu * values)
    amplitude = np.einsum("bn,n,nb->b", end, ground.vertex_measure, phi)
    assert np.abs(amplitude / decay - 1).max() <= 0.01
    rest = np.sqrt((end - amplitude[:, None] * phi.T) ** 2 @ ground.vertex_measure)
    assert rest.max() <= 1e-8


def test_advection_and_diffusion_together_are_of_second_order_in_time():
    """Against many small steps, on one mesh, smooth data: splitting and both pieces."""
    flow = Transport(torus(750), harmonic(750), 0.02)
    theta, phi = angles(torus(750))
    u, a = smooth_data(theta, phi)[None], np.array([[0.7, 0.05]])

    def end(factor: float) -> np.ndarray:
        flow.rate = lambda radius: factor * Transport.rate(flow, radius)
        return flow.trajectory(u, a, np.array([0.0, 1.0]), RADIUS)[0, -1]

    fine = end(16.0)
    errors = [np.abs(end(f) - fine).mean() for f in (1.0, 2.0, 4.0)]
    assert errors[0] <= 1e-3
    assert -np.polyfit(np.log([1.0, 2.0, 4.0]), np.log(errors), 1)[0] >= 1.8, errors


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_bad_input_is_refused_by_name():
    ground, v = torus(750), harmonic(750)

    def kind(call, error=InputError) -> str:
        with pytest.raises(error) as caught:
            call()
        return caught.value.kind

    assert kind(lambda: Transport(ground, v[:5])) == "shape"
    assert kind(lambda: Transport(ground, v, -1.0)) == "bad_option"
    assert kind(lambda: Transport(Ground(ground.mesh, "diagonal"), v)) == "bad_option"
    gradient = ground.dec.d(0) @ ground.mesh.points
    assert kind(lambda: Transport(ground, gradient)) == "not_divergence_free"
    disk = Ground(gallery("disk", 60))
    assert kind(lambda: Transport(disk, np.zeros((disk.mesh.complex.n(1), 1)))) == "not_closed"
    klein = Ground(gallery("klein", 200))
    flat = np.zeros((klein.mesh.complex.n(1), 1))
    assert kind(lambda: Transport(klein, flat), TopologyError) == "non_orientable"
    thin = gallery("torus", 750)
    stretched = Ground(Mesh(thin.complex, thin.points * [5.0, 1.0, 1.0]))
    still = np.zeros((thin.complex.n(1), 1))
    assert kind(lambda: Transport(stretched, still, 0.01), MetricError) == "negative_cotan"
    flow = Transport(ground, v)
    u, a = np.zeros((2, flow.area.size)), np.zeros((2, 2))
    assert kind(lambda: flow.trajectory(u[:, 1:], a, [0.0, 1.0], RADIUS)) == "shape"
    assert kind(lambda: flow.trajectory(u, a[:1], [0.0, 1.0], RADIUS)) == "shape"
    assert kind(lambda: flow.trajectory(u, a, [1.0, 1.0], RADIUS)) == "bad_option"
    assert kind(lambda: flow.trajectory(u, a + 9, [0.0, 1.0], RADIUS)) == "bad_option"
