"""Hodge spectral bases: complete, orthonormal, labelled, convergent at order 2, and equal to dense eigen-solvers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from hsd.errors import InputError, SolverError
from hsd.hodge import eigen
from hsd.hodge.eigen import coexact_modes
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis, lowest_modes, spectral_derivative
from hsd.linalg import Factor, blocks, canonical_signs
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import flat_torus, flat_torus_eigenvalues, gallery
from tests.meshes import MEDIUM, SMALL, cases, mesh_of


def dense_spectrum(dec, k):
    stiffness = dec.stiffness(k).to_dense()
    return scipy.linalg.eigh(0.5 * (stiffness + stiffness.T), dec.star(k).toarray(), eigvals_only=True)


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL))
def test_whole_spectrum_equals_dense_eigh(name, star, bc):
    """All modes of every degree: the Hodge isomorphism loses and invents nothing."""
    mesh = mesh_of(name, SMALL)
    solver = HodgeSolver(mesh, star, bc)
    for k in range(mesh.dim + 1):
        n = solver.dec.n(k)
        if n == 0:
            continue
        basis = lowest_modes(mesh, k, n, solver=solver, use_cache=False)
        assert basis.n_modes == n
        ours, dense = np.sort(basis.eigenvalues), dense_spectrum(solver.dec, k)
        assert np.abs(ours - dense).max() <= 1e-9 * dense[-1]
        gram = basis.modes.T @ basis.star_modes
        assert np.abs(gram - np.eye(n)).max() <= 1e-8


UNEVEN = ("moebius", "klein", "solid_torus", "cube")
"""With the unit star nearly all low modes of these are coexact, so that one list is extended several times."""


@pytest.mark.parametrize(
    ("name", "star", "bc"),
    cases(MEDIUM, stars=("galerkin",), others=pytest.mark.full) + cases(MEDIUM, stars=("unit",), names=UNEVEN),
)
def test_low_modes_equal_dense_eigenvalues_with_small_residuals(name, star, bc):
    """The iterative route (n above the dense threshold), degree by degree."""
    mesh = mesh_of(name, MEDIUM)
    solver = HodgeSolver(mesh, star, bc)
    for k in range(mesh.dim + 1):
        if solver.dec.n(k) < 40:
            continue
        basis = lowest_modes(mesh, k, 30, solver=solver, use_cache=False)
        assert basis.residuals.max() <= 1e-8
        gram = basis.modes.T @ basis.star_modes
        assert np.abs(gram - np.eye(basis.n_modes)).max() <= 1e-9
        assert len(basis.index("harmonic")) == solver.betti[k]
        if solver.dec.n(k) <= 700:
            dense = dense_spectrum(solver.dec, k)[: basis.n_modes]
            assert np.abs(np.sort(basis.eigenvalues) - dense).max() <= 1e-9 * dense[-1]


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL, stars=("galerkin",)))
def test_parts_are_what_their_labels_say(name, star, bc):
    mesh = mesh_of(name, SMALL)
    solver = HodgeSolver(mesh, star, bc)
    dec = solver.dec
    for k in range(mesh.dim + 1):
        if dec.n(k) == 0:
            continue
        basis = HodgeBasis(mesh, k, 8, 8, solver=solver, use_cache=False)
        for part in ("harmonic", "exact"):
            for mode in basis.modes[:, basis.index(part)].T:
                assert dec.closedness(k, dec.restrict(k, mode)) <= 1e-9
        for part in ("harmonic", "coexact"):
            for mode in basis.modes[:, basis.index(part)].T:
                assert dec.coclosedness(k, dec.restrict(k, mode)) <= 1e-9


@pytest.mark.parametrize("bc", ["absolute", "relative"])
@pytest.mark.parametrize("name", ["torus", "annulus", "moebius", "ball_with_cavity", "solid_torus"])
def test_spectral_derivative_is_root_lambda_on_matching_pairs(name, bc):
    """M_d = Φᵀ ⋆ d Φ computed in full equals the sparse one; M_δ^(k) = (M_d^(k−1))ᵀ."""
    mesh = mesh_of(name, MEDIUM)
    solver = HodgeSolver(mesh, "galerkin", bc)
    dec = solver.dec
    bases = [HodgeBasis(mesh, k, 12, 12, solver=solver) for k in range(mesh.dim + 1)]
    for k in range(mesh.dim):
        lower, upper = bases[k], bases[k + 1]
        m_d = spectral_derivative(lower, upper).toarray()
        phi = lower.modes[dec.free(k)]
        full = upper.star_modes[dec.free(k + 1)].T @ (dec.d(k) @ phi)
        assert np.abs(full - m_d).max() <= 1e-8 * max(m_d.max(initial=0), 1)
        m_delta = lower.star_modes[dec.free(k)].T @ (dec.codifferential(k + 1) @ upper.modes[dec.free(k + 1)])
        assert np.abs(m_delta - m_d.T).max() <= 1e-8 * max(m_d.max(initial=0), 1)


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


@pytest.mark.parametrize("degree", [0, 1])
def test_sphere_eigenvalues_converge_at_order_2(degree):
    """l(l+1) with multiplicity 2l+1 (twice that for 1-forms, exact and coexact) for l = 1 … 4."""
    errors, sizes = [], []
    for n in (500, 1000, 2500):
        mesh = gallery("sphere", n)
        count = 24 * (1 if degree == 0 else 2)
        basis = lowest_modes(mesh, degree, count + (1 if degree == 0 else 0), use_cache=False)
        values = np.sort(basis.eigenvalues[basis.part != "harmonic"])
        exact = np.repeat([a * (a + 1) for a in range(1, 5)], [2 * a + 1 for a in range(1, 5)])
        exact = np.sort(np.repeat(exact, 1 if degree == 0 else 2))
        errors.append(np.abs(values / exact - 1).max())
        sizes.append(mesh.complex.n_vertices**-0.5)
    assert 1.8 <= slope(sizes, errors) <= 2.3


@pytest.mark.parametrize("kind", ["hex", "jittered"])
@pytest.mark.parametrize("degree", [0, 1])
def test_flat_torus_eigenvalues_converge_at_order_2(degree, kind):
    errors, sizes = [], []
    exact = flat_torus_eigenvalues(13)[1:]
    exact = exact if degree == 0 else np.repeat(exact, 2)
    for nx, ny in ((16, 18), (24, 28), (40, 46)):
        basis = lowest_modes(flat_torus(nx, ny, kind=kind), degree, len(exact) + degree + 1, use_cache=False)
        values = np.sort(basis.eigenvalues[basis.part != "harmonic"])
        errors.append(np.abs(values / exact - 1).max())
        sizes.append(1 / nx)
    assert slope(sizes, errors) >= 1.8


def check_complete(mesh, k, n, seed):
    """Inertia of K − c⋆ counts as many eigenvalues below the end of the basis as the basis has."""
    shuffled = np.random.default_rng(seed).permutation(mesh.complex.n_vertices)
    points = np.empty_like(mesh.points) if mesh.points is not None else None
    if points is not None:
        points[shuffled] = mesh.points
        mesh = Mesh.from_cells(points, shuffled[mesh.complex.simplices(mesh.dim)])
    solver = HodgeSolver(mesh)
    modes = coexact_modes(solver, k, n, use_cache=False)
    groups = blocks(np.append(modes.values, modes.following), 1e-6)
    last = groups[-1].start  # everything below the last, perhaps cut, block
    cut = 0.5 * (modes.values[last - 1] + np.append(modes.values, modes.following)[last])
    dec = solver.dec
    negative = Factor((dec.upper_stiffness(k) - cut * dec.star(k)).tocsc()).n_negative()
    assert negative - (dec.n(k) - solver.rank_d(k)) == last
    return modes.values


@pytest.mark.parametrize("n", [500, 1500])
def test_icosphere_loses_no_copy(n):
    """Blocks 3, 5, 7, … of the sphere are all there, for Δ_0 and for coexact 1-forms."""
    mesh = gallery("sphere", n)
    for k in (0, 1):
        values = check_complete(mesh, k, 48, seed=0)
        groups = blocks(values[:48], 0.08)
        assert [g.stop - g.start for g in groups][:4] == [3, 5, 7, 9]


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("n", [2500, 10000, 20000, 40000])
def test_icosphere_loses_no_copy_at_four_sizes_and_three_seeds(n, seed):
    mesh = gallery("sphere", n)
    for k in (0, 1):
        values = check_complete(mesh, k, 35, seed)
        theory = np.repeat([a * (a + 1) for a in range(1, 6)], [2 * a + 1 for a in range(1, 6)])
        assert np.abs(values[:35] / theory - 1).max() <= 60 / n + 1e-9


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("nx", [32, 64, 128, 180])
def test_hexagonal_flat_torus_loses_no_copy_at_four_sizes_and_three_seeds(nx, seed, monkeypatch):
    """Equilateral triangles on the hexagonal torus: eigenvalues come six and twelve at a time."""
    mesh = flat_torus(nx, nx, kind="hex", lattice="hexagonal")
    theory = flat_torus_eigenvalues(37, "hexagonal")[1:]
    fields = eigen.random_fields
    monkeypatch.setattr(eigen, "random_fields", lambda text, salt, n, m: fields(text, salt + 1000 * seed, n, m))
    for k in (0, 1):
        values = check_complete(mesh, k, 36, seed)
        assert np.abs(values[:36] / theory - 1).max() <= 40 / nx**2


def test_asking_twice_gives_the_same_values_and_spans():
    """Case N07: groups 1, 3, 5, 4, 3 on the 162-vertex icosphere; 6 modes cut the group of five."""
    mesh = gallery("sphere", 162)
    first = lowest_modes(mesh, 0, 16, use_cache=False)
    again = lowest_modes(mesh, 0, 16, use_cache=False)
    assert np.abs(first.eigenvalues - again.eigenvalues).max() <= 1e-8
    assert np.abs(first.modes - again.modes).max() <= 1e-8
    cut = lowest_modes(mesh, 0, 6, use_cache=False)
    assert cut.n_modes == 6 and cut.is_cut("coexact")
    assert any(n.kind == "block_cut" for n in cut.notices)
    whole = HodgeBasis(mesh, 0, 0, 5, use_cache=False)
    assert whole.n_modes == 4 and any(n.kind == "block_completed" for n in whole.notices)


@pytest.mark.parametrize("n", [3, 8])
def test_more_modes_extend_fewer_modes(n):
    """A basis is a prefix of a longer one, whose spectrum has wider blocks: canonical rotation in blocks, and signs."""
    mesh = mesh_of("sphere", MEDIUM)
    short = HodgeBasis(mesh, 1, n, n, use_cache=False)
    long = HodgeBasis(mesh, 1, 24, 24, use_cache=False)
    for part in ("exact", "coexact"):
        a = short.modes[:, short.index(part)]
        b = long.modes[:, long.index(part)][:, : a.shape[1]]
        assert np.abs(a - b).max() <= 1e-6 * np.abs(a).max()


def test_canonical_sign_rule():
    v = np.array([[0.1, -2.0], [-3.0, 2.0 * (1 - 1e-8)], [3.0 * (1 - 1e-9), 0.5]])
    signed = canonical_signs(v)
    assert signed[1, 0] > 0  # first of the entries within 1e-6 of the largest
    assert signed[0, 1] > 0


def test_k_capped_says_how_many_exist():
    tetra = Mesh.from_cells(
        np.array([[1.0, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]),
        np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]]),
    )
    basis = lowest_modes(tetra, 0, 20)
    assert basis.n_modes == 4 and basis.notices[0].kind == "k_capped" and "4 exist" in basis.notices[0].message
    basis = HodgeBasis(tetra, 1, 20, 20)
    assert basis.n_modes == 6 and {n.kind for n in basis.notices} == {"k_capped"}


def test_combinatorial_spectra_of_platonic_solids():
    """Case N05: tetrahedron L1 = {4 ×6}; octahedron L0 = {0, 4 ×3, 6 ×2}, and L1 the union of L0 and L2."""
    octa = Mesh.from_cells(
        np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]),
        np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]),
    )
    spectra = [np.sort(lowest_modes(octa, k, 12, star="unit").eigenvalues) for k in range(3)]
    assert np.allclose(spectra[0], [0, 4, 4, 4, 6, 6])
    assert np.allclose(spectra[1], [2, 2, 2, 4, 4, 4, 4, 4, 4, 6, 6, 6])
    assert np.allclose(spectra[2], [0, 2, 2, 2, 4, 4, 4, 6])


def test_unit_square_has_neumann_and_dirichlet_eigenvalues():
    """Absolute: π²(m² + n²) from 0; relative: from 2π²."""
    mesh = gallery("square", 2500)
    span = np.ptp(mesh.points, axis=0)
    absolute = np.sort(lowest_modes(mesh, 0, 6).eigenvalues) * span[0] ** 2 / np.pi**2
    assert np.allclose(absolute, [0, 1, 1, 2, 4, 4], rtol=0.02, atol=1e-9)
    relative = np.sort(lowest_modes(mesh, 0, 4, bc="relative").eigenvalues) * span[0] ** 2 / np.pi**2
    assert np.allclose(relative, [2, 5, 5, 8], rtol=0.02)


def test_bad_requests_are_refused():
    mesh = mesh_of("torus", SMALL)
    with pytest.raises(InputError, match="degree 3"):
        HodgeBasis(mesh, 3, 4, 4)
    with pytest.raises(InputError, match="negative"):
        HodgeBasis(mesh, 1, -1, 4)
    with pytest.raises(InputError, match="at least 1"):
        lowest_modes(mesh, 1, 0)
    with pytest.raises(InputError) as caught:
        spectral_derivative(HodgeBasis(mesh, 1, 4, 4), HodgeBasis(mesh, 1, 4, 4))
    assert caught.value.kind == "basis_mismatch"
    with pytest.raises(InputError, match="different meshes"):
        spectral_derivative(HodgeBasis(mesh, 0, 4, 4), HodgeBasis(mesh_of("annulus", SMALL), 1, 4, 4))


def test_a_count_that_disagrees_fails_loudly(monkeypatch):
    """If ARPACK returned more pairs below the cut than the inertia count allows, nothing is returned."""
    mesh = mesh_of("torus", MEDIUM)
    monkeypatch.setattr(Factor, "n_negative", lambda self: 0)
    with pytest.raises(SolverError) as caught:
        HodgeBasis(mesh, 0, 0, 20, use_cache=False)
    assert caught.value.kind == "incomplete_spectrum"


def test_dropped_copies_are_found_again(monkeypatch):
    """Plain ARPACK made to lose two pairs: the inertia count notices and the deflated run brings them back."""
    import hsd.linalg as linalg

    mesh = gallery("sphere", 1000)
    honest = HodgeBasis(mesh, 0, 0, 24, use_cache=False).eigenvalues
    plain = linalg._deflated_arpack
    calls = []

    def lossy(pencil, known, ask, *more):
        values, vectors = plain(pencil, known, ask, *more)
        calls.append(ask)
        if len(calls) == 1:
            keep = np.delete(np.arange(len(values)), [4, 9])
            return values[keep], vectors[:, keep]
        return values, vectors

    monkeypatch.setattr(linalg, "_deflated_arpack", lossy)
    again = HodgeBasis(mesh, 0, 0, 24, use_cache=False).eigenvalues
    assert len(calls) >= 2
    assert np.abs(again - honest).max() <= 1e-9 * honest.max()
