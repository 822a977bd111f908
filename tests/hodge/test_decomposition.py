"""The Hodge decomposition: separately solved parts are orthogonal and sum back; harmonic forms are harmonic."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from hsd.errors import InputError
from hsd.hodge.decomposition import PARTS, Decomposer, circulations, decompose, fluxes
from hsd.hodge.solver import HodgeSolver
from hsd.mesh.mesh import Mesh
from tests.meshes import MEDIUM, SMALL, cases, mesh_of

EPS = 1e-10


def check_decomposition(mesh, star, bc):
    solver = HodgeSolver(mesh, star, bc)
    rng = np.random.default_rng(7)
    for k in range(mesh.dim + 1):
        if solver.dec.n(k) == 0:
            continue
        omega = solver.dec.extend(k, rng.standard_normal(solver.dec.n(k)))
        parts = Decomposer(mesh, k, solver=solver)(omega)
        assert parts.residual <= EPS
        off = parts.inner - np.diag(np.diag(parts.inner))
        assert np.abs(off).max() <= EPS
        pythagoras = sum(parts.energies[p] for p in PARTS) / parts.energies["total"] - 1
        assert abs(pythagoras) <= EPS
        assert max(parts.zeros.values()) <= EPS
        # the potentials give the parts, and are in the stated gauge
        dec = solver.dec
        if k:
            alpha = dec.restrict(k - 1, parts.alpha)
            assert np.abs(dec.d(k - 1) @ alpha - dec.restrict(k, parts.exact)).max() <= 1e-9 * np.abs(omega).max()
            assert dec.coclosedness(k - 1, alpha) <= 1e-9 or k == 1
        if k < mesh.dim:
            beta = dec.restrict(k + 1, parts.beta)
            coexact = dec.restrict(k, parts.coexact)
            error = dec.norm(k, dec.codifferential(k + 1) @ beta - coexact)
            assert error <= 1e-9 * max(dec.norm(k, coexact), 1e-30)
            assert dec.closedness(k + 1, beta) <= 1e-9


@pytest.mark.parametrize(("name", "star", "bc"), cases(MEDIUM))
def test_hodge_parts_are_orthogonal_and_sum_back(name, star, bc):
    check_decomposition(mesh_of(name, MEDIUM), star, bc)


@pytest.mark.full
@pytest.mark.parametrize(("name", "star", "bc"), cases(3000))
def test_hodge_parts_are_orthogonal_and_sum_back_at_3000_vertices(name, star, bc):
    check_decomposition(mesh_of(name, 3000), star, bc)


@pytest.mark.parametrize(("name", "star", "bc"), cases(MEDIUM))
def test_harmonic_forms_are_closed_coclosed_and_as_many_as_betti(name, star, bc):
    mesh = mesh_of(name, MEDIUM)
    solver = HodgeSolver(mesh, star, bc)
    for k in range(mesh.dim + 1):
        basis = solver.harmonic(k)
        b = solver.betti[k]
        assert basis.orthonormal.shape[1] == basis.dual.shape[1] == b
        gram = basis.orthonormal.T @ (solver.dec.star(k) @ basis.orthonormal)
        assert np.abs(gram - np.eye(b)).max(initial=0) <= 1e-12
        assert np.abs(basis.cycles.T @ basis.dual - np.eye(b)).max(initial=0) <= 1e-9
        for gamma in basis.dual.T:
            assert solver.dec.closedness(k, gamma) <= EPS
            assert solver.dec.coclosedness(k, gamma) <= EPS


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL))
def test_kernel_dimension_equals_betti(name, star, bc):
    """A dense eigen-solver sees exactly b_k zero eigenvalues, and our harmonic forms span that kernel."""
    mesh = mesh_of(name, SMALL)
    solver = HodgeSolver(mesh, star, bc)
    dec = solver.dec
    for k in range(mesh.dim + 1):
        if dec.n(k) == 0:
            assert solver.betti[k] == 0
            continue
        stiffness = dec.stiffness(k).to_dense()
        values, vectors = scipy.linalg.eigh(0.5 * (stiffness + stiffness.T), dec.star(k).toarray())
        b = solver.betti[k]
        assert np.abs(values[:b]).max(initial=0) <= 1e-9 * values[-1]
        assert b == len(values) or values[b] > 1e-6 * values[-1]
        overlap = vectors[:, :b].T @ (dec.star(k) @ solver.harmonic(k).orthonormal)
        assert np.abs(np.abs(np.linalg.det(overlap)) - 1 if b else 0.0) <= 1e-9


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL))
def test_parts_equal_dense_orthogonal_projections(name, star, bc):
    """Independent route: ⋆-orthogonal projection on the column spaces of d and δ by dense least squares."""
    mesh = mesh_of(name, SMALL)
    solver = HodgeSolver(mesh, star, bc)
    dec = solver.dec
    rng = np.random.default_rng(11)
    for k in range(mesh.dim + 1):
        if dec.n(k) == 0:
            continue
        omega = rng.standard_normal(dec.n(k))
        exact, coexact, gamma, _, _ = Decomposer(mesh, k, solver=solver).parts(omega)
        root = np.linalg.cholesky(dec.star(k).toarray()).T
        images = {"exact": dec.d(k - 1).toarray() if k else np.zeros((dec.n(k), 0))}
        images["coexact"] = dec.codifferential(k + 1).to_dense() if k < mesh.dim else np.zeros((dec.n(k), 0))
        for part, found in (("exact", exact), ("coexact", coexact)):
            a = root @ images[part]
            fit = images[part] @ np.linalg.lstsq(a, root @ omega, rcond=1e-10)[0] if a.size else np.zeros(dec.n(k))
            assert np.abs(fit - found).max() <= 1e-7 * np.abs(omega).max()
        assert np.abs(omega - exact - coexact - gamma).max() <= 1e-9 * np.abs(omega).max()


@pytest.mark.parametrize("name", ["torus", "flat_torus", "annulus", "cylinder"])
def test_harmonic_forms_do_not_depend_on_the_consistent_star(name):
    """Closed forms have one Dirichlet energy under cotan and Whitney ⋆_1, so both give the same harmonic 1-forms."""
    mesh = mesh_of(name, MEDIUM)
    galerkin = HodgeSolver(mesh, "galerkin").harmonic(1).dual
    diagonal = HodgeSolver(mesh, "diagonal").harmonic(1).dual
    assert np.abs(galerkin - diagonal).max() <= 1e-10 * np.abs(galerkin).max()


def test_decomposing_a_part_returns_it():
    mesh = mesh_of("double_torus", MEDIUM)
    decomposer = Decomposer(mesh, 1)
    first = decomposer(np.random.default_rng(0).standard_normal(mesh.complex.n(1)))
    for part in ("exact", "coexact", "harmonic"):
        again = decomposer(getattr(first, part))
        for other in ("exact", "coexact", "harmonic"):
            expected = getattr(first, part) if other == part else 0 * first.exact
            assert np.abs(getattr(again, other) - expected).max() <= 1e-10 * np.abs(getattr(first, part)).max()


def test_circulation_of_an_exact_form_is_zero_and_of_gamma_its_period():
    mesh = mesh_of("double_torus", MEDIUM)
    solver = HodgeSolver(mesh)
    parts = Decomposer(mesh, 1, solver=solver)(np.random.default_rng(1).standard_normal(mesh.complex.n(1)))
    assert np.abs(circulations(solver, 1, parts.exact)).max() <= 1e-10 * np.abs(parts.exact).max()
    assert np.allclose(circulations(solver, 1, parts.harmonic), parts.periods, rtol=1e-12)


def test_flux_of_a_coclosed_form_does_not_see_the_cocycle_chosen():
    mesh = mesh_of("annulus", MEDIUM)
    solver = HodgeSolver(mesh)
    dec = solver.dec
    omega = np.random.default_rng(3).standard_normal(mesh.complex.n(1))
    parts = Decomposer(mesh, 1, solver=solver)(omega)
    coclosed = parts.coexact + parts.harmonic
    base = fluxes(solver, 1, coclosed)
    other = solver.homology.cocycles(1) + (dec.d(0) @ np.random.default_rng(4).standard_normal(dec.n(0)))[:, None]
    assert np.allclose(base, other.T @ (dec.star(1) @ coclosed), rtol=1e-9)


def test_annulus_harmonic_field_is_dtheta():
    """On r ∈ [a, b] the absolute harmonic 1-form with period 2π is dθ: its energy is 2π log(b/a)."""
    errors, sizes = [], []
    for n in (500, 2000, 8000):
        mesh = mesh_of("annulus", n)
        radius = np.linalg.norm(mesh.points, axis=1)
        gamma = HodgeSolver(mesh).harmonic(1).dual[:, 0] * 2 * np.pi
        energy = float(gamma @ (HodgeSolver(mesh).dec.star(1) @ gamma))
        errors.append(abs(energy - 2 * np.pi * np.log(radius.max() / radius.min())))
        sizes.append(n**-0.5)
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope >= 1.8


@pytest.mark.parametrize("factor", [1e-3, 1e5])
def test_scaling_the_mesh_leaves_the_parts_of_a_cochain(factor):
    mesh = mesh_of("torus", MEDIUM)
    omega = np.random.default_rng(5).standard_normal(mesh.complex.n(1))
    one, other = decompose(mesh, omega, 1), decompose(Mesh(mesh.complex, mesh.points * factor), omega, 1)
    for part in ("exact", "coexact", "harmonic"):
        assert np.abs(getattr(one, part) - getattr(other, part)).max() <= 1e-10 * np.abs(omega).max()


def test_relabelling_permutes_the_parts():
    mesh = mesh_of("solid_torus", MEDIUM)
    perm = np.random.default_rng(6).permutation(mesh.complex.n_vertices)
    points = np.empty_like(mesh.points)
    points[perm] = mesh.points
    other = Mesh.from_cells(points, perm[mesh.complex.simplices(3)])
    for k in range(4):
        omega = np.random.default_rng(k).standard_normal(mesh.complex.n(k))
        index, sign = other.complex.find(perm[mesh.complex.simplices(k)])
        moved = np.empty_like(omega)
        moved[index] = sign * omega
        a, b = decompose(mesh, omega, k), decompose(other, moved, k)
        for part in ("exact", "coexact", "harmonic"):
            error = np.abs(sign * getattr(b, part)[index] - getattr(a, part)).max()
            assert error <= 1e-9 * np.abs(omega).max()


def test_batches_equal_single_fields():
    mesh = mesh_of("ball_with_cavity", MEDIUM)
    for k in range(4):
        decomposer = Decomposer(mesh, k)
        omega = np.random.default_rng(k).standard_normal((mesh.complex.n(k), 3))
        batch = decomposer.parts(omega)
        for j in range(3):
            single = decomposer.parts(omega[:, j])
            for a, b in zip(batch, single):
                assert np.abs(a[..., j] - b).max(initial=0) <= 1e-9 * max(np.abs(b).max(initial=0), 1e-12)


def test_zero_field_has_zero_parts():
    mesh = mesh_of("torus", SMALL)
    parts = decompose(mesh, np.zeros(mesh.complex.n(1)), 1)
    assert parts.residual == 0 and parts.energies["total"] == 0 and not parts.exact.any()


def test_bad_degree_is_refused():
    with pytest.raises(InputError, match="degree 5"):
        decompose(mesh_of("torus", SMALL), np.zeros(3), 5)
