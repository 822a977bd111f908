"""The flow made by its own vorticity: conservation laws, exact solutions on the sphere, independence of company."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import eval_legendre

import hsd.data.vorticity as vorticity
from hsd.data.blocks import WIDTH
from hsd.data.ground import Ground
from hsd.data.vorticity import VorticityFlow
from hsd.errors import InputError, TopologyError
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

SURFACES = ("sphere", "ellipsoid", "torus", "double_torus")
SIZES = (642, 1442, 2562)


@cache
def ground_of(name: str, n: int) -> Ground:
    return Ground(gallery(name, n))


def noise(flow: VorticityFlow, count: int, seed: int) -> np.ndarray:
    """White noise of zero mean, (n_vertices, count)."""
    w = np.random.default_rng(seed).standard_normal((flow.area.size, count))
    return w - flow.area @ w / flow.area.sum()


def vortices(ground: Ground, count: int, seed: int) -> np.ndarray:
    """Sums of Gaussians of both signs and zero mean, (count, n_vertices)."""
    rng, p, area = np.random.default_rng(seed), ground.mesh.points, ground.vertex_measure
    out = np.zeros((count, len(p)))
    for row in out:
        for _ in range(10):
            d2 = ((p - p[rng.integers(len(p))]) ** 2).sum(axis=1)
            row += rng.uniform(-2, 2) * np.exp(-d2 / (2 * rng.uniform(0.15, 0.4) ** 2))
    return out - (out @ area / area.sum())[:, None]


def of_degree(points: np.ndarray, degree: int, seed: int, turn: float = 0.0) -> np.ndarray:
    """A random spherical harmonic of one degree at unit vectors, turned about z: Σ_k c_k P_l(x·a_k), (n,); its mean
    square is 1, by the addition theorem ∫ P_l(x·a) P_l(x·b) dA = 4π P_l(a·b)/(2l + 1)."""
    rng = np.random.default_rng(seed)
    axes = rng.standard_normal((4, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    weights = rng.uniform(0.3, 1.0, 4)
    weights /= np.sqrt(weights @ eval_legendre(degree, axes @ axes.T) @ weights / (2 * degree + 1))
    c, s = np.cos(turn), np.sin(turn)
    axes = axes @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]])
    return eval_legendre(degree, points @ axes.T) @ weights


def centred(w: np.ndarray, area: np.ndarray) -> np.ndarray:
    return w - w @ area / area.sum()


def norm(w: np.ndarray, area: np.ndarray) -> float:
    return float(np.sqrt(w**2 @ area))


def slope(sizes, errors) -> float:
    return float(-2 * np.polyfit(np.log(sizes), np.log(errors), 1)[0])


# ---- the semi-discrete system ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURFACES)
def test_flux_out_of_every_control_volume_is_exactly_zero(name):
    """Differences of ψ along a closed rim: for ψ of whole multiples of 3 not even rounding is left."""
    flow = VorticityFlow(ground_of(name, 600), 0.0)
    whole = 3.0 * np.random.default_rng(0).integers(-1000, 1000, (flow.area.size, 2))
    assert (flow.gain @ flow.dual_fluxes(whole) == 0).all()
    psi = np.random.default_rng(1).standard_normal((flow.area.size, 2))
    assert np.abs(flow.gain @ flow.dual_fluxes(psi)).max() <= 1e-14


@pytest.mark.parametrize("name", SURFACES)
def test_advection_equals_the_finite_element_jacobian(name):
    """Second route: ∫ φ_i u·∇ω with u = ∇ψ × N, gradients of linear functions triangle by triangle."""
    ground = ground_of(name, 600)
    flow = VorticityFlow(ground, 0.0)
    omega, psi = noise(flow, 1, 2)[:, 0], noise(flow, 1, 3)[:, 0]
    p, cells = ground.mesh.points, ground.mesh.oriented_cells()
    x = p[cells]
    normal = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    double = np.linalg.norm(normal, axis=1)
    normal /= double[:, None]

    def gradient(u):
        sides = [x[:, (i + 2) % 3] - x[:, (i + 1) % 3] for i in range(3)]
        return sum(u[cells[:, i], None] * np.cross(normal, sides[i]) for i in range(3)) / double[:, None]

    advection = (np.cross(gradient(psi), normal) * gradient(omega)).sum(axis=1) * double / 2
    expected = -np.bincount(cells.ravel(), np.repeat(advection / 3, 3))
    found = flow.tendency(omega[:, None], psi[:, None])[:, 0] * flow.area
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("nu", [0.0, 0.01])
@pytest.mark.parametrize("name", SURFACES)
def test_energy_and_enstrophy_change_by_viscosity_alone(name, nu):
    """dE/dt = −2νZ, dZ/dt = −ν ωᵀKω and d∫ω/dt = 0 for white noise, where nothing is smooth."""
    flow = VorticityFlow(ground_of(name, 600), nu)
    omega = noise(flow, 5, 4)
    psi = flow.stream_function(omega)
    rate = flow.area[:, None] * flow.tendency(omega, psi)
    size = np.abs(rate).sum(axis=0)
    assert (np.abs(rate.sum(axis=0)) <= 1e-14 * size).all()
    energy, enstrophy = (psi * rate).sum(axis=0), (omega * rate).sum(axis=0)
    of_energy = -2 * nu * flow.enstrophy(omega)
    of_enstrophy = -nu * (omega * (flow.stiffness @ omega)).sum(axis=0)
    assert (np.abs(energy - of_energy) <= 1e-12 * (np.abs(psi) * np.abs(rate)).sum(axis=0)).all()
    assert (np.abs(enstrophy - of_enstrophy) <= 1e-12 * (np.abs(omega) * np.abs(rate)).sum(axis=0)).all()


def test_stream_function_solves_the_laplace_equation():
    ground = ground_of("ellipsoid", 600)
    flow = VorticityFlow(ground, 0.0)
    omega = noise(flow, 3, 5)
    psi = flow.stream_function(omega)
    assert np.abs(ground.dec.laplacian(0) @ psi - omega).max() <= 1e-9 * np.abs(omega).max()
    speed2 = np.array([ground.dec.inner(1, f, f) for f in (ground.dec.d(0) @ psi).T])
    assert np.allclose(flow.energy(omega, psi), 0.5 * speed2, rtol=1e-10)


# ---- in time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nu", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("name", SURFACES)
def test_energy_and_enstrophy_never_grow_and_vorticity_is_kept(name, nu):
    """Vortices and white noise, several turns."""
    ground = ground_of(name, 600)
    flow = VorticityFlow(ground, nu)
    start = np.concatenate([vortices(ground, 6, 6), noise(flow, 2, 7).T])
    states = flow.trajectory(start, np.linspace(0.0, 10.0, 9))
    drift = np.abs(states @ flow.area) / (np.abs(start) @ flow.area)[:, None]
    assert drift.max() <= 1e-10
    columns = states.transpose(2, 1, 0).reshape(flow.area.size, -1)  # (n, 9 · 8), snapshots outermost
    energy = flow.energy(columns, flow.stream_function(columns)).reshape(9, -1)
    enstrophy = flow.enstrophy(columns).reshape(9, -1)
    assert (np.diff(energy, axis=0) <= 1e-12 * energy[:1]).all()
    assert (np.diff(enstrophy, axis=0) <= 1e-12 * enstrophy[:1]).all()
    assert np.linalg.norm(states[:6, -1] - start[:6]) > 0.1 * np.linalg.norm(start[:6])


def test_runge_kutta_alone_conserves_to_its_order():
    """Without viscosity and without the correction: the energy of a flow of vortices errs by less than 1e-5."""
    ground = ground_of("ellipsoid", 600)
    flow = VorticityFlow(ground, 0.0)
    omega = vortices(ground, 4, 8).T.copy()
    psi = flow.stream_function(omega)
    before, rate = (flow.energy(omega, psi), flow.enstrophy(omega)), flow.rate(psi).max()
    for _ in range(int(np.ceil(10.0 * rate))):
        omega = flow.step(omega, psi, 1.0 / rate)
        psi = flow.stream_function(omega)
    after = flow.energy(omega, psi), flow.enstrophy(omega)
    assert np.abs(after[0] / before[0] - 1).max() <= 1e-5
    assert np.abs(after[1] / before[1] - 1).max() <= 1e-4


def test_time_steps_converge_at_order_4(monkeypatch):
    ground = ground_of("ellipsoid", 600)
    flow = VorticityFlow(ground, 1e-3)
    start, errors, ends = vortices(ground, 4, 9), [], {}
    monkeypatch.setattr(vorticity, "_ladder", lambda least: np.full(len(least), flow_steps))
    for flow_steps in (20, 28, 40, 160):
        ends[flow_steps] = flow.trajectory(start, np.array([0.0, 3.0]))[:, -1]
    errors = [np.abs(ends[n] - ends[160]).max() for n in (20, 28, 40)]
    assert -np.polyfit(np.log([20, 28, 40]), np.log(errors), 1)[0] >= 3.6, errors


def test_steps_come_from_the_ladder_and_suffice():
    least = np.array([0.0, 0.4, 1.0, 1.2, 2.5, 3.0, 3.2, 4.5, 6.1, 9.0, 13.0])
    steps = vorticity._ladder(least)
    assert steps.tolist() == [1, 1, 1, 2, 3, 3, 4, 6, 8, 12, 16]


def test_samples_do_not_depend_on_their_company():
    """Bit for bit, though each sample chooses its own number of steps."""
    ground = ground_of("ellipsoid", 600)
    flow = VorticityFlow(ground, 1e-3)
    start = vortices(ground, 2 * WIDTH + 3, 10) * np.linspace(0.2, 4.0, 2 * WIDTH + 3)[:, None]
    times = np.array([0.0, 0.5, 1.0])
    whole = flow.trajectory(start, times)
    order = np.random.default_rng(11).permutation(len(start))
    assert np.array_equal(flow.trajectory(start[order], times), whole[order])
    for a, b in ((0, 1), (5, 6), (30, 35), (0, 17)):
        assert np.array_equal(flow.trajectory(start[a:b], times), whole[a:b])


# ---- exact solutions on the sphere ----------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_one_degree_of_harmonics_is_steady_without_viscosity_at_order_2(degree):
    """ψ = ω/λ, so J(ψ, ω) = 0."""
    errors = []
    for n in SIZES:
        flow = VorticityFlow(ground_of("sphere", n), 0.0)
        start = centred(of_degree(ground_of("sphere", n).mesh.points, degree, 0), flow.area)
        end = flow.trajectory(start[None], np.array([0.0, 2.0]))[0, -1]
        errors.append(norm(end - start, flow.area) / norm(start, flow.area))
    assert slope(SIZES, errors) >= 1.8, errors
    assert errors[-1] < 0.05


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_viscous_decay_of_one_degree_is_that_of_its_eigenvalue(degree):
    """e^{−νλt} with λ = l(l + 1), to 1 %."""
    nu = 0.03
    flow = VorticityFlow(ground_of("sphere", 2562), nu)
    start = centred(of_degree(ground_of("sphere", 2562).mesh.points, degree, 1), flow.area)
    times = np.linspace(0.0, 1 / (nu * degree * (degree + 1)), 3)
    states = flow.trajectory(start[None], times)[0]
    amplitude = states @ (flow.area * start) / (start @ (flow.area * start))
    assert np.abs(amplitude * np.exp(nu * degree * (degree + 1) * times) - 1).max() <= 0.01


@pytest.mark.parametrize("spin", [0.7, -0.5])
@pytest.mark.parametrize("nu", [0.0, 0.005])
def test_rossby_haurwitz_waves_move_as_they_should_at_order_2(spin, nu):
    """ω = 2Ωz + Y_l solves the equation exactly with Y_l turning by ∫Ω(1 − 2/λ)dt about z, Ω ~ e^{−2νt}: sign and
    speed of the nonlinear term (Haurwitz 1940; Craig 1945)."""
    degree, time = 3, 2.0
    eigenvalue = degree * (degree + 1)
    errors = []
    for n in SIZES:
        points = ground_of("sphere", n).mesh.points
        flow = VorticityFlow(ground_of("sphere", n), nu)
        start = centred(2 * spin * points[:, 2] + of_degree(points, degree, 2), flow.area)
        mean_time = time if nu == 0 else (1 - np.exp(-2 * nu * time)) / (2 * nu)
        turn = spin * (1 - 2 / eigenvalue) * mean_time
        exact = 2 * spin * np.exp(-2 * nu * time) * points[:, 2]
        exact = exact + np.exp(-eigenvalue * nu * time) * of_degree(points, degree, 2, turn)
        end = flow.trajectory(start[None], np.array([0.0, time]))[0, -1]
        errors.append(norm(end - exact, flow.area) / norm(exact, flow.area))
    assert slope(SIZES, errors) >= 1.8, errors
    assert errors[-1] < 0.05


# ---- refusals -------------------------------------------------------------------------------------------------------


def test_bad_input_is_refused_by_name():
    ground = ground_of("ellipsoid", 600)

    def kind(call, error=InputError) -> str:
        with pytest.raises(error) as caught:
            call()
        return caught.value.kind

    assert kind(lambda: VorticityFlow(ground_of("disk", 60), 0.1)) == "not_closed"
    assert kind(lambda: VorticityFlow(ground_of("klein", 200), 0.1), TopologyError) == "non_orientable"
    one = gallery("sphere", 42)
    two = Mesh.from_cells(
        np.vstack([one.points, one.points + 5]),
        np.vstack([one.complex.simplices(2), one.complex.simplices(2) + one.complex.n_vertices]),
    )
    assert kind(lambda: VorticityFlow(Ground(two), 0.1)) == "not_closed"
    assert kind(lambda: VorticityFlow(ground, -0.1)) == "bad_option"
    assert kind(lambda: VorticityFlow(Ground(ground.mesh, "diagonal"), 0.1)) == "bad_option"
    flow = VorticityFlow(ground, 0.1)
    w, t = np.zeros((2, flow.area.size)), [0.0, 1.0]
    assert kind(lambda: flow.trajectory(w[:, 1:], t)) == "shape"
    assert kind(lambda: flow.trajectory(w, [0.0, 0.0])) == "bad_option"
    assert kind(lambda: flow.trajectory(w + np.nan, t)) == "non_finite_field"
    assert kind(lambda: flow.trajectory(w + 1.0, t)) == "mean"
