"""The direct solver: every ordering solves, one-sided patterns do no harm, inertia counts are right."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hsd.errors import SolverError, UnknownNameError
from hsd.linalg import ORDERINGS, Factor, MassSolver, orthonormalise


def random_definite(n, seed):
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, min(1.0, 4 / n), random_state=rng, format="csr")
    return (a + a.T + 10 * sp.identity(n)).tocsc()


@pytest.mark.parametrize("ordering", [o for o in ORDERINGS if o != "natural"])
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_every_ordering_solves_vectors_and_columns_and_the_transpose(ordering, n):
    a = random_definite(n, n)
    b = np.random.default_rng(0).standard_normal((n, 3))
    factor = Factor(a, ordering)
    assert np.allclose(a @ factor.solve(b), b)
    assert np.allclose(a.T @ factor.solve(b[:, 0], transpose=True), b[:, 0])


def test_natural_order_solves_triangular_matrices():
    a = sp.tril(random_definite(50, 1)).tocsc()
    b = np.arange(50.0)
    assert np.allclose(a @ Factor(a, "natural").solve(b), b)
    assert np.allclose(a.T @ Factor(a, "natural").solve(b, transpose=True), b)


def test_nested_dissection_takes_patterns_that_rounding_made_one_sided():
    """Entries stored on one side only, explicit zeros and empty rows: METIS alone crashes on the first of these."""
    for seed in range(30):
        n = 400
        a = random_definite(n, seed).tolil()
        rng = np.random.default_rng(seed)
        for i, j in rng.integers(0, n, (200, 2)):
            if i != j:
                a[i, j] = 1e-18
        a[5, :] = 0
        a[:, 5] = 0
        a[5, 5] = 1
        a = a.tocsc()
        b = rng.standard_normal(n)
        assert np.allclose(a @ Factor(a, "nested_dissection").solve(b), b, atol=1e-9)


@pytest.mark.parametrize("ordering", ["minimum_degree", "nested_dissection"])
def test_negative_pivots_count_negative_eigenvalues(ordering):
    for seed in range(5):
        a = random_definite(120, seed) - 9.5 * sp.identity(120)
        assert Factor(a, ordering).n_negative() == (np.linalg.eigvalsh(a.toarray()) < 0).sum()


def test_singular_and_unknown_are_refused_by_name():
    with pytest.raises(SolverError) as caught:
        Factor(sp.csc_matrix((3, 3)))
    assert caught.value.kind == "singular_matrix"
    with pytest.raises(UnknownNameError, match="nested_dissection"):
        Factor(sp.identity(3), "metis")


def test_empty_matrices_solve_to_nothing():
    assert Factor(sp.csc_matrix((0, 0))).solve(np.zeros((0, 2))).shape == (0, 2)
    assert MassSolver(sp.identity(4, format="csr") * 2).solve(np.ones(4)).tolist() == [0.5] * 4


def test_orthonormalise_keeps_the_span():
    mass = random_definite(40, 3)
    v = np.random.default_rng(1).standard_normal((40, 5)) * [1, 1e3, 1e-4, 1, 1e6]
    q = orthonormalise(v, mass)
    assert np.allclose(q.T @ (mass @ q), np.eye(5), atol=1e-12)
    assert np.linalg.matrix_rank(np.concatenate([q, v / np.linalg.norm(v, axis=0)], axis=1), tol=1e-8) == 5
