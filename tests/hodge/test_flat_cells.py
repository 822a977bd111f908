"""Very flat cells and odd units: right numbers or one sentence, never silent nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import Delaunay

from hsd.dec.operators import DEC
from hsd.dec.stars import hodge_star
from hsd.errors import InputError, MetricError, SolverError
from hsd.hodge.decomposition import decompose
from hsd.hodge.eigen import coexact_modes
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis, lowest_modes
from hsd.linalg import Factor
from hsd.mesh.mesh import Mesh
from tests.meshes import MEDIUM, SMALL, mesh_of


def random_tets(flatness):
    points = np.random.default_rng(0).random((11, 3))
    return Mesh.from_cells(points * [1, 1, flatness], Delaunay(points).simplices, name=f"flat {flatness:g}")


def test_eigenvalues_of_a_flattened_mesh_tend_to_a_limit():
    """Low curl eigenvalues hardly depend on the flatness: the one near 63.5 loses no digits at 1e-4."""
    values = [np.sort(lowest_modes(random_tets(z), 1, 6, use_cache=False).eigenvalues) for z in (1e-2, 1e-3, 1e-4)]
    assert np.abs(values[1] / values[2] - 1).max() <= 1e-5
    assert np.abs(values[0] / values[2] - 1).max() <= 1e-3


def test_modes_that_come_out_wrong_are_refused():
    with pytest.raises(SolverError) as caught:
        lowest_modes(random_tets(1e-6), 1, 6, use_cache=False)
    assert caught.value.kind in ("inaccurate_spectrum", "incomplete_spectrum", "singular_matrix")


@pytest.mark.parametrize("flatness", [1e-5, 1e-6, 1e-7])
def test_very_obtuse_triangles_end_in_numbers_or_a_sentence(flatness):
    points = np.random.default_rng(1).random((14, 2))
    mesh = Mesh.from_cells(points * [1, flatness], Delaunay(points).simplices)
    for k in (0, 1):
        try:
            basis = lowest_modes(mesh, k, 6, use_cache=False)
        except (SolverError, MetricError) as error:
            assert error.kind in ("inaccurate_spectrum", "incomplete_spectrum", "zero_measure", "singular_matrix")
            continue
        gram = basis.modes.T @ basis.star_modes
        assert np.abs(gram - np.eye(basis.n_modes)).max() <= 1e-5


def test_whitney_star_from_lengths_equals_that_from_positions():
    for name in ("torus", "solid_torus"):
        mesh = mesh_of(name, SMALL)
        other = Mesh(mesh.complex, lengths2=mesh.squared_lengths)
        for k in range(mesh.dim + 1):
            a, b = hodge_star(mesh, k), hodge_star(other, k)
            assert abs(a - b).max() <= 1e-10 * abs(a).max()


@pytest.mark.parametrize("scale", [1e-90, 1e-60, 1e60, 1e100])
def test_units_whose_volumes_overflow_are_refused_by_name(scale):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]) * scale
    with pytest.raises(MetricError) as caught:
        lowest_modes(Mesh.from_cells(points, [[0, 1, 2, 3]]), 1, 3)
    assert caught.value.kind == "scale"


def test_fields_that_are_no_real_numbers_in_range_are_refused():
    mesh = mesh_of("torus", SMALL)
    n = mesh.complex.n(1)
    for field, kind in (
        (np.ones(n) * (2 + 5j), "not_numeric"),
        (np.array(["a"] * n), "not_numeric"),
        (np.full(n, 1e300), "scale"),
        (np.full(n, 1e-300), "scale"),
        (np.ones((n, 4)), "shape"),
    ):
        with pytest.raises(InputError) as caught:
            decompose(mesh, field, 1)
        assert caught.value.kind == kind
    for dtype in (np.float32, np.int64, bool):
        assert decompose(mesh, np.ones(n, dtype), 1).residual <= 1e-10


def test_numbers_and_coefficients_are_checked():
    mesh = mesh_of("torus", SMALL)
    for bad in (1.5, "a", None, True):
        for call in (lambda b: lowest_modes(mesh, b, 5), lambda b: lowest_modes(mesh, 1, b)):
            with pytest.raises(InputError) as caught:
                call(bad)
            assert caught.value.kind == "not_whole"
    with pytest.raises(InputError, match="whole number"):
        HodgeBasis(mesh, 1, 2.5, 3)
    basis = HodgeBasis(mesh, 1, 2, 2)
    for wrong in (np.ones(3), np.full(mesh.complex.n(1), np.nan)):
        with pytest.raises(InputError):
            basis.coefficients(wrong)
    with pytest.raises(InputError, match="coefficients"):
        basis.synthesise(np.ones(99))
    with pytest.raises(InputError, match="vertex -1"):
        Mesh.from_cells(np.zeros((3, 2)), [[0, 1, -1]])


def test_a_dense_spectrum_that_disagrees_with_the_inertia_count_is_refused(monkeypatch):
    monkeypatch.setattr(Factor, "n_negative", lambda self: 0)
    with pytest.raises(SolverError) as caught:
        coexact_modes(HodgeSolver(mesh_of("torus", SMALL)), 0, 10, use_cache=False)
    assert caught.value.kind == "incomplete_spectrum"


def test_progress_tells_stages_and_fractions():
    seen = []
    HodgeBasis(mesh_of("torus", MEDIUM), 1, 20, 20, use_cache=False, progress=lambda s, f=None: seen.append((s, f)))
    assert {"harmonic forms", "coexact 0-modes", "coexact 1-modes", "checking completeness"} <= {s for s, _ in seen}
    fractions = [f for _, f in seen if f is not None]
    assert fractions and 0 < min(fractions) <= max(fractions) < 1


def test_long_thin_plate_has_the_eigenvalues_of_the_square():
    from hsd.mesh.primitives import gallery

    cube = gallery("cube", 216)
    plate = Mesh(cube.complex, cube.points * [1, 1, 1e-3])
    values = np.sort(lowest_modes(plate, 0, 4, use_cache=False).eigenvalues)
    span = np.ptp(cube.points, axis=0)[0]
    assert np.allclose(values * span**2 / np.pi**2, [0, 1, 1, 2], rtol=0.08, atol=1e-6)
    assert DEC(plate).star(1).shape[0] == cube.complex.n(1)
