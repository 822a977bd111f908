"""Heat flow of decomposed fields against dense matrix exponentials and eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from hsd.errors import InputError
from hsd.hodge.compose import Composer, length_of
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.heat import HeatFlow
from hsd.hodge.presets import preset
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis
from tests.meshes import CONDITIONS, mesh_of

TIMES = np.array([1e-4, 3e-3, 0.1, 1.0, 10.0])


def _flow(name, n, k, bc, seed=0):
    solver = HodgeSolver(mesh_of(name, n), bc=bc)
    omega = np.random.default_rng(seed).standard_normal(solver.dec.n(k))
    parts = Decomposer(solver.mesh, k, solver=solver)(solver.dec.extend(k, omega))
    return solver, omega, parts, HeatFlow(solver, parts, 1e-4 * length_of(solver) ** 2, 10 * length_of(solver) ** 2)


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize(
    "name,k",
    [
        ("torus", 0), ("torus", 1), ("torus", 2), ("annulus", 1), ("moebius", 1), ("book", 1), ("solid_torus", 1),
        ("solid_torus", 2), ("ball_with_cavity", 3),
    ],
)  # fmt: skip
def test_heat_flow_equals_the_dense_exponential(name, k, bc):
    solver, omega, _, flow = _flow(name, 40, k, bc)
    laplacian = solver.dec.laplacian(k).to_dense()
    for t in TIMES * length_of(solver) ** 2:
        expected = solver.dec.extend(k, scipy.linalg.expm(-t * laplacian) @ omega)
        assert np.linalg.norm(flow.field(t) - expected) < 1e-8 * np.linalg.norm(omega)


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", ["double_torus", "annulus", "ball_with_cavity"])
def test_gamma_stays_and_the_other_energies_decay(name, bc):
    solver, _, parts, flow = _flow(name, 150, 1, bc)
    times = TIMES * length_of(solver) ** 2
    energies = flow.energies(times)
    assert (energies["harmonic"] == parts.energies["harmonic"]).all()
    for part in ("exact", "coexact"):
        assert (np.diff(energies[part]) < 0).all() and (energies[part] >= 0).all()
        assert energies[part][0] < parts.energies[part] * (1 + 1e-9)
    dec = solver.dec
    for i, t in enumerate(times):
        for part, field in (("exact", flow.exact(t)), ("coexact", flow.coexact(t))):
            field = dec.restrict(1, field)
            assert abs(dec.inner(1, field, field) - energies[part][i]) < 1e-9 * parts.energies[part]
    late = dec.restrict(1, flow.field(200 * length_of(solver) ** 2) - parts.harmonic)
    assert dec.norm(1, late) < 1e-6 * np.sqrt(parts.energies["total"])


@pytest.mark.parametrize("name,tolerance", [("sphere", 1e-6), ("torus", 1e-6), ("solid_torus", 0.05)])
def test_the_last_rates_are_the_lowest_eigenvalues_of_each_part_from_above(name, tolerance):
    solver, _, _, flow = _flow(name, 150, 1, "absolute")
    basis = HodgeBasis(solver.mesh, 1, 1, 1, solver=solver, complete_blocks=False, use_cache=False)
    for part, rate in (("exact", flow.rates.exact), ("coexact", flow.rates.coexact)):
        lowest = basis.eigenvalues[basis.part == part][0]
        assert lowest * (1 - 1e-9) <= rate <= lowest * (1 + tolerance)


def test_many_times_at_once_equal_one_at_a_time():
    solver = HodgeSolver(mesh_of("torus", 300))
    parts = Decomposer(solver.mesh, 1, solver=solver)(Composer(solver).form(preset("mixture", solver.mesh, 1, 2)))
    flow = HeatFlow(solver, parts, 1e-4, 10.0)
    times = np.array([0.0, 0.01, 0.5])
    together = flow.field(times)
    for i, t in enumerate(times):
        np.testing.assert_allclose(together[:, i], flow.field(t), atol=1e-12)
    np.testing.assert_allclose(together[:, 0], parts.exact + parts.coexact + parts.harmonic, atol=1e-10)


def test_a_zero_field_stays_zero_and_times_must_be_ordered():
    solver = HodgeSolver(mesh_of("sphere", 60))
    parts = Decomposer(solver.mesh, 1, solver=solver)(np.zeros(solver.mesh.complex.n(1)))
    flow = HeatFlow(solver, parts, 0.1, 1.0)
    assert (flow.field(0.5) == 0).all() and flow.rates.exact == np.inf
    with pytest.raises(InputError, match="low"):
        HeatFlow(solver, parts, 1.0, 0.1)
