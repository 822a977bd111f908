"""Theorems of the discrete exterior calculus over the whole gallery."""

from __future__ import annotations

from math import comb

import numpy as np
import potpourri3d as pp3d
import pytest
import scipy.linalg

from hsd.dec.boundary import boundary
from hsd.dec.operators import DEC
from hsd.dec.stars import circumcentric_entries, hodge_star
from hsd.errors import InputError, MetricError, UnknownNameError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from tests.meshes import CONDITIONS, MEDIUM, NAMES, SMALL, STARS, cases, mesh_of, star_is_valid


@pytest.mark.parametrize("bc", CONDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_d_d_has_no_nonzero_entry(name, bc):
    dec = DEC(mesh_of(name, MEDIUM), "unit", bc)
    for k in range(dec.dim - 1):
        product = dec.d(k + 1) @ dec.d(k)
        product.eliminate_zeros()
        assert product.nnz == 0


@pytest.mark.parametrize("name", NAMES)
def test_boundary_signs_follow_the_definition(name):
    cx = mesh_of(name, SMALL).complex
    for k in range(1, cx.dim + 1):
        dense = boundary(cx, k).toarray()
        for j, simplex in enumerate(cx.simplices(k)):
            expected = np.zeros(cx.n(k - 1))
            for i in range(k + 1):
                face = np.delete(simplex, i)
                expected[np.flatnonzero((cx.simplices(k - 1) == face).all(axis=1))[0]] = (-1) ** i
            assert np.array_equal(dense[:, j], expected)


@pytest.mark.parametrize(("name", "star", "bc"), cases(MEDIUM))
def test_codifferential_is_the_adjoint_of_d(name, star, bc):
    dec = DEC(mesh_of(name, MEDIUM), star, bc)
    rng = np.random.default_rng(1)
    for k in range(1, dec.dim + 1):
        a, b = rng.standard_normal(dec.n(k - 1)), rng.standard_normal(dec.n(k))
        if len(a) == 0 or len(b) == 0:
            continue
        left = dec.inner(k, dec.d(k - 1) @ a, b)
        right = dec.inner(k - 1, a, dec.codifferential(k) @ b)
        scale = dec.norm(k, dec.d(k - 1) @ a) * dec.norm(k, b)
        assert abs(left - right) <= 1e-11 * scale


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL))
def test_stars_are_symmetric_positive_definite(name, star, bc):
    dec = DEC(mesh_of(name, SMALL), star, bc)
    for k in range(dec.dim + 1):
        dense = dec.star(k).toarray()
        if dense.size:
            assert np.abs(dense - dense.T).max() <= 1e-15 * np.abs(dense).max()
            assert np.linalg.eigvalsh(dense)[0] > 0


@pytest.mark.parametrize(("name", "star", "bc"), cases(SMALL))
def test_laplacian_is_self_adjoint_and_positive(name, star, bc):
    dec = DEC(mesh_of(name, SMALL), star, bc)
    for k in range(dec.dim + 1):
        if dec.n(k) == 0:
            continue
        weak = dec.star(k).toarray() @ dec.laplacian(k).to_dense()
        scale = np.abs(weak).max()
        assert np.abs(weak - weak.T).max() <= 1e-11 * scale
        assert np.abs(weak - dec.stiffness(k).to_dense()).max() <= 1e-11 * scale
        assert np.linalg.eigvalsh(0.5 * (weak + weak.T))[0] >= -1e-11 * scale


EMBEDDED_SURFACES = [
    n
    for n in NAMES
    if mesh_of(n, SMALL).points is not None
    and mesh_of(n, SMALL).points.shape[1] <= 3
    and mesh_of(n, SMALL).dim == 2
    and not len(mesh_of(n, SMALL).complex.nonmanifold_facets)
]


@pytest.mark.parametrize("name", EMBEDDED_SURFACES)
def test_laplacian0_equals_cotan_laplacian(name):
    mesh = mesh_of(name, MEDIUM)
    points, faces = mesh.points3, mesh.complex.simplices(2)
    cotan = pp3d.cotan_laplacian(points, faces)
    ours = DEC(mesh).upper_stiffness(0)
    assert abs(ours - cotan).max() <= 1e-10 * abs(cotan).max()
    areas = pp3d.vertex_areas(points, faces)
    assert np.abs(DEC(mesh).star(0).diagonal() - areas).max() <= 1e-12 * areas.max()


@pytest.mark.parametrize("name", NAMES)
def test_masses_of_constants_are_the_measure(name):
    """1ᵀ ⋆_0 1 is the total measure of maximal cells, for the lumped and the consistent mass alike."""
    mesh = mesh_of(name, MEDIUM)
    total = sum(measures(mesh, k)[mesh.complex.is_maximal(k)].sum() for k in range(1, mesh.dim + 1))
    for consistent in (False, True):
        star = hodge_star(mesh, 0, consistent_mass=consistent)
        assert abs(star.sum() - total) <= 1e-11 * total


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("flat_torus", "flat_torus_jittered")])
def test_whitney_star1_is_exact_on_constant_fields(name):
    """Σ over coordinates of ⟨dx_a, dx_a⟩ is (dimension of the cell) × measure: |∇x|² summed over all axes."""
    mesh = mesh_of(name, MEDIUM)
    d0 = DEC(mesh, "unit").d(0)
    star = hodge_star(mesh, 1)
    energy = sum(float((d0 @ x) @ (star @ (d0 @ x))) for x in mesh.points.T)
    total = sum(k * measures(mesh, k)[mesh.complex.is_maximal(k)].sum() for k in range(1, mesh.dim + 1))
    assert abs(energy - total) <= 1e-10 * total


@pytest.mark.parametrize("name", [n for n in NAMES if mesh_of(n, SMALL).complex.is_pure])
def test_circumcentric_duals_tile_the_mesh(name):
    """Σ_τ |τ||⋆τ| = C(n, k) · measure for the signed circumcentric star of every degree, positive or not."""
    mesh = mesh_of(name, MEDIUM)
    total = measures(mesh, mesh.dim).sum()
    for k in range(mesh.dim + 1):
        entries, _ = circumcentric_entries(mesh, k)
        tiled = (entries * measures(mesh, k) ** 2).sum()
        assert abs(tiled - comb(mesh.dim, k) * total) <= 1e-9 * total


def test_diagonal_star1_is_the_half_sum_of_cotangents():
    rng = np.random.default_rng(3)
    points = rng.standard_normal((4, 2))
    mesh = Mesh.from_cells(points, np.array([[0, 1, 2], [1, 2, 3]]))
    entries, _ = circumcentric_entries(mesh, 1)
    for index, (a, b) in enumerate(mesh.complex.simplices(1)):
        weight = 0.0
        for face in mesh.complex.simplices(2):
            if a in face and b in face:
                c = next(v for v in face if v not in (a, b))
                u, v = points[a] - points[c], points[b] - points[c]
                weight += 0.5 * (u @ v) / abs(u[0] * v[1] - u[1] * v[0])
        assert abs(entries[index] - weight) <= 1e-12 * max(1, abs(weight))


@pytest.mark.parametrize("factor", [1e-3, 1e5])
@pytest.mark.parametrize("name", ["torus", "annulus", "ball_with_cavity", "book"])
def test_eigenvalues_scale_with_inverse_square_of_length(name, factor):
    mesh = mesh_of(name, SMALL)
    scaled = Mesh(mesh.complex, mesh.points * factor)
    for k in range(mesh.dim + 1):
        values = []
        for m in (mesh, scaled):
            dec = DEC(m)
            values.append(scipy.linalg.eigh(dec.stiffness(k).to_dense(), dec.star(k).toarray(), eigvals_only=True))
        assert np.abs(values[1] * factor**2 - values[0]).max() <= 1e-9 * values[0].max()


@pytest.mark.parametrize(
    ("name", "star"),
    [(n, s) for n in ("torus", "moebius", "solid_torus") for s in STARS if star_is_valid(n, SMALL, s)],
)
def test_relabelling_vertices_permutes_operators(name, star):
    """Renumbered vertices give the same stars and Laplacians up to order and sign of simplices."""
    mesh = mesh_of(name, SMALL)
    perm = np.random.default_rng(5).permutation(mesh.complex.n_vertices)  # new number of each vertex
    points = np.empty_like(mesh.points)
    points[perm] = mesh.points
    other = Mesh.from_cells(points, perm[mesh.complex.simplices(mesh.dim)])
    a, b = DEC(mesh, star), DEC(other, star)
    for k in range(mesh.dim + 1):
        index, sign = other.complex.find(perm[mesh.complex.simplices(k)])
        assert (index >= 0).all()
        for left, right in ((a.star(k), b.star(k)), (a.stiffness(k).to_dense(), b.stiffness(k).to_dense())):
            left = left if isinstance(left, np.ndarray) else left.toarray()
            right = right if isinstance(right, np.ndarray) else right.toarray()
            moved = right[np.ix_(index, index)] * np.outer(sign, sign)
            assert np.abs(moved - left).max() <= 1e-10 * np.abs(left).max()


@pytest.mark.parametrize("name", ["torus", "disk_three_holes", "ball_with_cavity"])
def test_rigid_motion_changes_nothing(name):
    mesh = mesh_of(name, MEDIUM)
    q, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))
    moved = Mesh(mesh.complex, mesh.points3 @ q.T + [10.0, -20.0, 5.0])
    for k in range(mesh.dim + 1):
        a, b = hodge_star(mesh, k), hodge_star(moved, k)
        assert abs(a - b).max() <= 1e-10 * abs(a).max()


@pytest.mark.parametrize("name", NAMES)
def test_operators_on_arrays_of_columns_equal_columns_one_by_one(name):
    dec = DEC(mesh_of(name, SMALL))
    rng = np.random.default_rng(0)
    for k in range(dec.dim + 1):
        x = rng.standard_normal((dec.n(k), 3))
        both = dec.laplacian(k) @ x
        for j in range(3):
            assert np.allclose(both[:, j], dec.laplacian(k) @ x[:, j], rtol=1e-9, atol=1e-9 * np.abs(both).max())


def test_extend_after_restrict_is_zero_on_the_boundary_and_the_identity_inside():
    mesh = mesh_of("annulus", SMALL)
    dec = DEC(mesh, bc="relative")
    omega = np.arange(1.0, mesh.complex.n(1) + 1)
    back = dec.extend(1, dec.restrict(1, omega))
    on = mesh.complex.on_boundary(1)
    assert (back[on] == 0).all() and np.array_equal(back[~on], omega[~on])


def test_mixed_dimension_adds_the_mass_of_each_maximal_simplex():
    """A triangle with a tail: vertex masses are a third of the area and half of the length."""
    points = np.array([[0, 0], [1, 0], [0, 1], [-2.0, 0]])
    mesh = Mesh(SimplicialComplex.from_simplices(4, {2: [[0, 1, 2]], 1: [[0, 3]]}), points)
    assert np.allclose(hodge_star(mesh, 0).diagonal(), [1 / 6 + 1, 1 / 6, 1 / 6, 1])
    tail = np.flatnonzero((mesh.complex.simplices(1) == [0, 3]).all(axis=1))[0]
    assert hodge_star(mesh, 1)[tail, tail] == pytest.approx(1 / 2)


def test_bad_requests_are_refused_by_name():
    mesh = mesh_of("torus", SMALL)
    with pytest.raises(UnknownNameError, match="galerkin"):
        DEC(mesh, "cotan")
    with pytest.raises(UnknownNameError, match="absolute"):
        DEC(mesh, bc="neumann")
    with pytest.raises(InputError, match="outside 0"):
        hodge_star(mesh, 3)
    with pytest.raises(InputError) as caught:
        DEC(mesh).restrict(1, np.zeros(3))
    assert caught.value.kind == "shape"
    field = np.zeros(mesh.complex.n(1))
    field[7] = np.nan
    with pytest.raises(InputError) as caught:
        DEC(mesh).restrict(1, field)
    assert caught.value.kind == "non_finite_field" and caught.value.ids == (7,)
    with pytest.raises(MetricError) as caught:
        DEC(Mesh(mesh.complex)).star(1)
    assert caught.value.kind == "no_metric"


def test_zero_measure_is_refused_for_metric_work_but_not_for_unit_stars():
    flat = Mesh.from_cells(np.array([[0.0, 0], [1, 0], [2, 0], [1, 1]]), np.array([[0, 1, 2], [0, 2, 3]]))
    with pytest.raises(MetricError) as caught:
        DEC(flat).star(1)
    assert caught.value.kind == "zero_measure" and caught.value.ids == (0,)
    assert DEC(flat, "unit").star(1).shape == (5, 5)


def test_obtuse_kite_and_right_triangles_refuse_the_diagonal_star_with_the_count():
    kite = Mesh.from_cells(np.array([[-5.0, 0], [5, 0], [0, 1], [0, -1]]), np.array([[0, 1, 2], [0, 1, 3]]))
    with pytest.raises(MetricError, match="1 of 5 edges"):
        DEC(kite, "diagonal").star(1)
    square = Mesh.from_cells(np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]), np.array([[0, 1, 2], [0, 2, 3]]))
    with pytest.raises(MetricError, match="1 of 5 edges"):
        DEC(square, "diagonal").star(1)
    for mesh in (kite, square):
        assert np.linalg.eigvalsh(DEC(mesh).star(1).toarray())[0] > 0
