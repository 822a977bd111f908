"""Exact homology over the gallery: against known Betti numbers, gudhi, and the theorems that tie them together."""

from __future__ import annotations

import gudhi
import numpy as np
import pytest

from hsd.dec.boundary import boundary
from hsd.hodge.exact import kernel, quotient, rank
from hsd.hodge.homology import Homology, betti_numbers
from hsd.hodge.solver import HodgeSolver
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.primitives import GALLERY
from tests.meshes import CONDITIONS, MEDIUM, NAMES, SMALL, mesh_of

ORIENTABLE = [n for n in NAMES if mesh_of(n, SMALL).complex.orientation is not None]
MANIFOLD = [n for n in NAMES if n not in ("theta_circle", "book")]


def gudhi_betti(cx: SimplicialComplex, prime: int) -> tuple[int, ...]:
    tree = gudhi.SimplexTree()
    for k in range(cx.dim + 1):
        tree.insert_batch(cx.simplices(k).T, np.full(cx.n(k), float(k)))
    tree.compute_persistence(homology_coeff_field=prime, persistence_dim_max=True, min_persistence=-1)
    betti = tree.betti_numbers()
    return tuple([*betti, *[0] * (cx.dim + 1 - len(betti))])


@pytest.mark.parametrize("size", [SMALL, MEDIUM])
@pytest.mark.parametrize("name", NAMES)
def test_betti_numbers_equal_what_the_shape_has_and_what_gudhi_counts(name, size):
    cx, entry = mesh_of(name, size).complex, GALLERY[name]
    assert betti_numbers(cx, "Q") == tuple(entry.betti) == gudhi_betti(cx, 11)
    assert betti_numbers(cx, "GF2") == tuple(entry.betti_gf2) == gudhi_betti(cx, 2)
    assert betti_numbers(cx, "Q", "relative") == tuple(entry.betti_relative)
    assert betti_numbers(cx, "GF2", "relative") == tuple(entry.betti_relative_gf2)


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_alternating_sum_of_betti_numbers_is_the_euler_characteristic(name, bc):
    homology = Homology(mesh_of(name, MEDIUM).complex, bc)
    chi = sum((-1) ** k * len(f) for k, f in enumerate(homology.free))
    for field in ("Q", "GF2"):
        assert sum((-1) ** k * b for k, b in enumerate(homology.betti(field))) == chi


@pytest.mark.parametrize("name", MANIFOLD)
def test_lefschetz_duality(name):
    """b_k(M) = b_{n−k}(M, ∂M): over Q on orientable manifolds, over GF(2) on all of them."""
    cx = mesh_of(name, MEDIUM).complex
    assert betti_numbers(cx, "GF2") == betti_numbers(cx, "GF2", "relative")[::-1]
    if name in ORIENTABLE:
        assert betti_numbers(cx, "Q") == betti_numbers(cx, "Q", "relative")[::-1]


def test_moebius_and_klein_break_duality_over_the_rationals_as_known():
    assert betti_numbers(mesh_of("moebius", MEDIUM).complex, "Q") == (1, 1, 0)
    assert betti_numbers(mesh_of("moebius", MEDIUM).complex, "Q", "relative") == (0, 0, 0)
    assert betti_numbers(mesh_of("klein", MEDIUM).complex, "Q") == (1, 1, 0)
    assert betti_numbers(mesh_of("klein", MEDIUM).complex, "GF2") == (1, 2, 1)


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_generators_are_cycles_and_cocycles_with_identity_pairing(name, bc):
    cx = mesh_of(name, MEDIUM).complex
    homology = Homology(cx, bc)
    for k in range(cx.dim + 1):
        z, w = homology.cycles(k), homology.cocycles(k)
        assert z.shape == w.shape == (cx.n(k), homology.betti()[k])
        assert np.array_equal(z, np.rint(z))
        free = homology.free[k - 1] if k else slice(0, 0)
        assert not (boundary(cx, k) @ z)[free].any()
        assert np.abs(boundary(cx, k + 1).T @ w).max(initial=0) == 0
        assert np.allclose(z.T @ w, np.eye(z.shape[1]), atol=1e-12)


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_gf2_cycles_close_mod_2_and_are_independent_of_boundaries(name, bc):
    cx = mesh_of(name, SMALL).complex
    homology = Homology(cx, bc)
    for k in range(cx.dim + 1):
        z = homology.cycles(k, "GF2").astype(int)
        assert z.shape[1] == homology.betti("GF2")[k]
        free = homology.free
        if k:
            assert not np.mod(boundary(cx, k) @ z, 2)[free[k - 1]].any()
        above = boundary(cx, k + 1).toarray().astype(int)[free[k]]
        if k < cx.dim:
            above = above[:, free[k + 1]]
        together = np.concatenate([above, z[free[k]]], axis=1)
        assert rank(together, "GF2") == rank(above, "GF2") + z.shape[1]


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_ranks_from_counts_and_betti_equal_exact_ranks(name, bc):
    mesh = mesh_of(name, SMALL)
    solver = HodgeSolver(mesh, "unit", bc)
    for k in range(mesh.dim):
        assert solver.rank_d(k) == rank(solver.dec.d(k).toarray().astype(int), "Q")


@pytest.mark.parametrize("name", ["torus", "klein", "solid_torus", "theta_circle"])
def test_relabelling_leaves_betti_numbers(name):
    mesh = mesh_of(name, MEDIUM)
    perm = np.random.default_rng(0).permutation(mesh.complex.n_vertices)
    other = SimplicialComplex.from_simplices(
        mesh.complex.n_vertices, {mesh.dim: perm[mesh.complex.simplices(mesh.dim)]}
    )
    for bc in CONDITIONS:
        assert betti_numbers(other, "Q", bc) == betti_numbers(mesh.complex, "Q", bc)


def test_random_complexes_agree_with_gudhi():
    """Mixed dimension, dangling parts, isolated points, non-manifold edges."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 16))
        generators = {
            k: np.array([rng.choice(n, k + 1, replace=False) for _ in range(rng.integers(1, m))])
            for k, m in ((1, 12), (2, 18), (3, 9))
        }
        cx = SimplicialComplex.from_simplices(n, generators)
        assert betti_numbers(cx, "Q") == gudhi_betti(cx, 10007)
        assert betti_numbers(cx, "GF2") == gudhi_betti(cx, 2)


def test_exact_elimination_sees_torsion():
    assert rank(np.array([[2]]), "Q") == 1 and rank(np.array([[2]]), "GF2") == 0
    assert len(kernel(np.array([[1, 2], [2, 4]]), "Q")) == 1
    assert quotient(np.zeros((0, 1), int), np.array([[2]]), "Q").shape == (1, 0)
    assert quotient(np.zeros((0, 1), int), np.array([[2]]), "GF2").shape == (1, 1)
    big = np.array([[10**15, 1], [1, 0]])
    assert rank(big, "Q") == 2
    singular = np.array([[3, 1, 2], [6, 2, 4], [1, 1, 1]])
    assert rank(singular, "Q") == np.linalg.matrix_rank(singular)
