"""The identities hold to rounding as they are, and the right ones fail when an operator is broken on purpose."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import UnknownNameError
from hsd.hodge.checks import ZERO, zero_checks
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.solver import HodgeSolver
from tests.meshes import CONDITIONS, NAMES, mesh_of


def _done(name, k, bc, n=60):
    solver = HodgeSolver(mesh_of(name, n), bc=bc)
    omega = solver.dec.extend(k, np.random.default_rng(k).standard_normal(solver.dec.n(k)))
    return solver, Decomposer(solver.mesh, k, solver=solver)(omega), omega


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_all_identities_hold_and_agree_with_the_decomposition(name, bc):
    for k in range(mesh_of(name, 60).dim + 1):
        solver, parts, omega = _done(name, k, bc)
        checks = zero_checks(solver, parts, omega)
        assert checks.hold, [(c.name, c.value) for c in checks.checks]
        np.testing.assert_allclose(checks.inner, parts.inner, atol=1e-12)


@pytest.mark.parametrize("name", ["double_torus", "solid_torus", "disk_three_holes"])
def test_a_wrong_star_breaks_delta_and_orthogonality_but_not_d(name):
    solver, parts, omega = _done(name, 1, "absolute", 200)
    holds = {c.name: c.holds for c in zero_checks(solver, parts, omega, "wrong star").checks}
    checks = zero_checks(solver, parts, omega, "wrong star")
    assert holds == {"d dα": True, "δ δβ": False, "dγ": True, "δγ": False}
    assert checks.orthogonality > 1e-4 and all(c.why for c in checks.checks if not c.holds)


@pytest.mark.parametrize("name", ["double_torus", "solid_torus", "disk_three_holes"])
def test_a_flipped_sign_breaks_d_at_its_own_cofaces_only(name):
    solver, parts, omega = _done(name, 1, "absolute", 200)
    checks = zero_checks(solver, parts, omega, "flipped sign")
    assert {c.name: c.holds for c in checks.checks} == {"d dα": False, "δ δβ": True, "dγ": False, "δγ": True}
    around = np.flatnonzero((solver.mesh.complex.faces(2) == checks.flipped).any(axis=1))
    for check in checks.checks:
        if not check.holds:
            assert check.degree == 2 and set(np.flatnonzero(check.where > 1e-6 * check.where.max())) <= set(around)
    assert checks.pythagoras <= ZERO


def test_unknown_breaks_are_refused():
    with pytest.raises(UnknownNameError):
        zero_checks(*_done("sphere", 1, "absolute"), "hammer")
