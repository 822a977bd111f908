"""Fluxes of charges in tetrahedra: Gauss' law, the mixed system by a direct solve, Hodge parts, convergence."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from hsd.data.blocks import WIDTH
from hsd.data.flux_solver import FluxSolver
from hsd.data.ground import Ground
from hsd.dec.de_rham import de_rham
from hsd.errors import InputError, TopologyError
from hsd.hodge.decomposition import Decomposer
from hsd.mesh.mesh import Mesh
from tests.meshes import mesh_of

SOLIDS = ("ball_with_cavity", "ball", "solid_torus", "cube")
INNER, OUTER = 0.4, 2.0


@cache
def ground_of(name: str, n: int = 300) -> Ground:
    return Ground(mesh_of(name, n))


def random_charges(ground: Ground, m: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(m, ground.mesh.complex.n(3)))


@pytest.mark.parametrize("name", SOLIDS)
def test_every_tet_gives_off_its_charge(name):
    ground = ground_of(name, 500)
    charges = random_charges(ground, WIDTH + 3)
    d = ground.dec.d(2)
    fluxes = ground.flux_solver(charges)
    assert np.abs(d @ fluxes.T - charges.T).max() < 1e-12 * (abs(d) @ np.abs(fluxes.T)).max()


@pytest.mark.parametrize("name", SOLIDS)
def test_equals_the_direct_solve_of_the_mixed_system(name):
    ground = ground_of(name)
    dec, charges = ground.dec, random_charges(ground, 2)
    d, star = dec.d(2), dec.star(2)
    saddle = sp.bmat([[star, -(d.T @ dec.star(3))], [d, None]], format="csc")
    rhs = np.vstack([np.zeros((dec.n(2), 2)), charges.T])
    direct = spsolve(saddle, rhs)[: dec.n(2)]
    fluxes = ground.flux_solver(charges).T
    assert np.abs(fluxes - direct).max() < 1e-11 * np.abs(direct).max()


@pytest.mark.parametrize("name", SOLIDS)
def test_flux_of_charges_is_coexact(name):
    ground = ground_of(name)
    dec = ground.dec
    flux = ground.flux_solver(random_charges(ground, 1))[0]
    parts = Decomposer(ground.mesh, 2, solver=ground.solver)(flux)
    size = dec.norm(2, flux)
    assert dec.norm(2, parts.exact) < 1e-11 * size
    assert dec.norm(2, parts.harmonic) < 1e-11 * size
    assert dec.norm(2, parts.coexact - flux) < 1e-11 * size


@pytest.mark.parametrize("name", SOLIDS)
def test_linear_potentials_on_the_boundary_give_constant_fields_exactly(name):
    mesh = ground_of(name).mesh
    solver = ground_of(name).flux_solver
    slope = np.array([0.3, -1.2, 0.7])
    centres = mesh.points[mesh.complex.simplices(2)[solver.outer]].mean(axis=1)
    flux = solver(np.zeros((1, mesh.complex.n(3))), (centres @ slope + 5.0)[None])[0]
    exact = de_rham(mesh, 2, lambda x: np.broadcast_to(-slope, x.shape), order=1)
    assert np.abs(flux - exact).max() < 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("n", [60, 300, 1000])
def test_harmonic_field_equals_the_one_of_cohomology(n):
    ground = ground_of("ball_with_cavity", n)
    dec, h = ground.dec, ground.flux_solver.harmonic
    other = ground.solver.harmonic(2).orthonormal[:, 0]
    unit = h / dec.norm(2, h)
    assert np.abs(unit - np.sign(other @ dec.star(2) @ unit) * other).max() < 1e-12
    assert dec.closedness(2, h) < 1e-12 and dec.coclosedness(2, h) < 1e-12


def test_harmonic_field_has_unit_flux_out_of_the_cavity_and_out_of_the_ball():
    ground = ground_of("ball_with_cavity", 1000)
    mesh, solver = ground.mesh, ground.flux_solver
    h = solver.harmonic
    assert solver.senses_out_of_cavity @ h[solver.cavity] == pytest.approx(1.0, abs=1e-13)
    corners = mesh.points[mesh.complex.simplices(2)]
    area = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outward = np.sign((area * corners.mean(axis=1)).sum(axis=1))
    assert np.array_equal(outward[solver.cavity], solver.senses_out_of_cavity)
    skin = np.setdiff1d(solver.outer, solver.cavity)
    assert outward[skin] @ h[skin] == pytest.approx(1.0, abs=1e-12)
    coulomb = de_rham(mesh, 2, lambda x: x / (4 * np.pi * np.linalg.norm(x, axis=1)[:, None] ** 3))
    assert ground.dec.norm(2, h - coulomb) < 0.1 * ground.dec.norm(2, h)


def test_radial_solution_converges_at_first_order():
    """φ = sin(π (r − r₀)/(r₁ − r₀)) vanishes on both spheres; B = −φ' x/r, ρ = −φ'' − 2 φ'/r."""
    k = np.pi / (OUTER - INNER)

    def field(x):
        r = np.linalg.norm(x, axis=1)
        return (-k * np.cos(k * (r - INNER)) / r)[:, None] * x

    def density(x):
        r = np.linalg.norm(x, axis=1)
        return k**2 * np.sin(k * (r - INNER)) - 2 * k * np.cos(k * (r - INNER)) / r

    sizes, errors = [], []
    for n in (100, 300, 1000, 3200):
        ground = ground_of("ball_with_cavity", n)
        exact = de_rham(ground.mesh, 2, field)
        flux = ground.flux_solver(de_rham(ground.mesh, 3, density)[None])[0]
        sizes.append(ground.mesh.complex.n(3) ** (-1 / 3))
        errors.append(ground.dec.norm(2, flux - exact) / ground.dec.norm(2, exact))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope > 0.95, (slope, errors)
    assert errors[-1] < 0.06


def test_a_single_tet_sends_a_quarter_through_each_face():
    mesh = Mesh.from_cells(np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0.3, 0.1, 0.5]]), [[0, 1, 2, 3]])
    solver = FluxSolver(mesh)
    outward = solver.signs[0] * np.array([-1, 1, -1, 1])  # faces are stored 012, 013, 023, 123
    assert np.allclose(solver([[2.0 * solver.signs[0]]]) * outward, 0.5)


def test_solutions_do_not_depend_on_their_neighbours_bit_for_bit():
    ground = ground_of("ball_with_cavity")
    charges = random_charges(ground, 2 * WIDTH + 5)
    together = ground.flux_solver(charges)
    alone = np.concatenate([ground.flux_solver(row[None]) for row in charges])
    assert np.array_equal(together, alone)
    assert np.array_equal(together[5:], ground.flux_solver(charges[5:]))


def test_meshes_without_tets_are_refused():
    with pytest.raises(InputError) as caught:
        FluxSolver(mesh_of("torus", 60))
    assert caught.value.kind == "dimension"


def test_closed_manifolds_are_refused():
    sphere = [[j for j in range(5) if j != i] for i in range(5)]  # boundary of the 4-simplex
    with pytest.raises(TopologyError) as caught:
        FluxSolver(Mesh.from_cells(np.random.default_rng(0).normal(size=(5, 3)), sphere))
    assert caught.value.kind == "no_boundary"


@pytest.mark.parametrize("name", ["ball", "cube", "solid_torus"])
def test_solids_without_cavity_are_refused(name):
    with pytest.raises(TopologyError) as caught:
        _ = ground_of(name).flux_solver.harmonic
    assert caught.value.kind == "no_cavity"


@pytest.mark.parametrize(
    "charges, boundary", [((2, 7), None), ((7,), None), ((2, "tets"), (2, 5)), ((2, "tets"), (1, "outer"))]
)
def test_wrong_shapes_are_refused(charges, boundary):
    solver = ground_of("ball_with_cavity", 60).flux_solver
    count = {"tets": solver.mesh.complex.n(3), "outer": len(solver.outer)}
    arrays = [None if s is None else np.zeros([count.get(i, i) for i in s]) for s in (charges, boundary)]
    with pytest.raises(InputError) as caught:
        solver(*arrays)
    assert caught.value.kind == "shape"
