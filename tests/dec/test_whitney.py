"""Whitney forms, sharp, flat and the de Rham map: identities, exactness, laws, convergence, refusals."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from hsd.dec.boundary import derivative
from hsd.dec.de_rham import de_rham
from hsd.dec.flat import top_signs
from hsd.dec.quadrature import simplex_rule, symmetric_rule
from hsd.dec.stars import hodge_star
from hsd.dec.whitney import (
    barycentric_gradients,
    cells_to_vertices,
    evaluation_matrix,
    flat,
    flat_cell_vectors,
    flat_flux,
    flat_vertex_vectors,
    sharp,
    sharp_matrix,
    vertices_to_cells,
    whitney_at,
    whitney_quadrature,
)
from hsd.errors import HsdError, InputError, MetricError, TopologyError, UnknownNameError
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import mean_edge_length, measures
from hsd.mesh.primitives import gallery


def jittered_square(n: int = 6, seed: int = 0) -> Mesh:
    """Triangles of the unit square in two coordinates, inner vertices moved at random."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij")
    p = np.column_stack([x.ravel(), y.ravel()])
    inner = ((p > 0) & (p < 1)).all(axis=1)
    p[inner] += rng.uniform(-0.25, 0.25, (inner.sum(), 2)) / n
    i = np.arange(n * (n + 1)).reshape(n, n + 1)[:, :-1].ravel()
    cells = np.concatenate([np.column_stack([i, i + n + 1, i + n + 2]), np.column_stack([i, i + n + 2, i + 1])])
    return Mesh.from_cells(p, rng.permuted(cells, axis=1), name="jittered square")


def tilted_square(n: int = 6) -> Mesh:
    """The jittered square in a tilted plane in space."""
    flat_mesh = jittered_square(n)
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    return Mesh(flat_mesh.complex, flat_mesh.points @ axes[:2], winding=flat_mesh.winding, name="tilted square")


def polygon_graph() -> Mesh:
    t = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    cells = np.column_stack([np.arange(12), (np.arange(12) + 1) % 12])
    return Mesh.from_cells(np.column_stack([np.cos(t), 0.7 * np.sin(t)]), cells, name="polygon")


def jittered_cube() -> Mesh:
    mesh = gallery("cube", 60)
    p = mesh.points.copy()
    inner = ~mesh.complex.on_boundary(0)
    p[inner] += 0.1 * mean_edge_length(mesh) * np.random.default_rng(1).normal(size=(inner.sum(), 3))
    return Mesh(mesh.complex, p, winding=mesh.winding, name="jittered cube")


MESHES = {
    "polygon": polygon_graph(),
    "jittered square": jittered_square(),
    "tilted square": tilted_square(),
    "torus": gallery("torus", 300),
    "sphere": gallery("sphere", 300),
    "annulus": gallery("annulus", 300),
    "jittered cube": jittered_cube(),
    "ball with cavity": gallery("ball_with_cavity", 500),
}
PAIRS = [(name, k) for name, mesh in MESHES.items() for k in range(mesh.dim + 1)]
FLAT_SPACE = ("jittered square", "tilted square", "jittered cube", "ball with cavity")
VECTOR_PAIRS = [(name, k) for name, k in PAIRS if k == 1 or (k == 2 and MESHES[name].dim == 3)]


def plane_axes(mesh: Mesh) -> np.ndarray:
    """Two orthonormal vectors along a flat mesh, (2, D)."""
    return np.linalg.svd(mesh.points - mesh.points.mean(axis=0), full_matrices=False)[2][:2]


def random_cochain(mesh: Mesh, k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=mesh.complex.n(k))


def integral_over_face(mesh: Mesh, k: int, omega: np.ndarray, cells: np.ndarray, face: tuple[int, ...]) -> np.ndarray:
    """∫ of the Whitney field over one k-face of each given top simplex, by quadrature inside that top simplex."""
    n = mesh.dim
    rule, weights = simplex_rule(k, 3)
    corners = mesh.points[mesh.complex.simplices(n)[cells][:, face]]
    total = 0.0
    for point, weight in zip(rule, weights):
        bary = np.zeros((len(cells), n + 1))
        bary[:, face] = point
        total = total + weight * whitney_at(mesh, k, omega, cells, bary)
    if k == 0:
        return total
    edges = corners[:, 1:] - corners[:, :1]
    if k == 1:
        return (total * edges[:, 0]).sum(axis=1)
    if k == 2 and n == 3:
        return 0.5 * (total * np.cross(edges[:, 0], edges[:, 1])).sum(axis=1)
    return total * measures(mesh, k)[cells] * top_signs(mesh, "test")[cells]


@pytest.mark.parametrize("name, k", PAIRS)
def test_integrals_of_the_whitney_field_give_the_cochain_back(name, k):
    """R W = identity, from every top simplex around a face: tangential parts (normal for k = 2) are continuous."""
    mesh = MESHES[name]
    omega = random_cochain(mesh, k)
    cells = np.arange(mesh.complex.n(mesh.dim))
    index = mesh.complex.subsimplices(mesh.dim, k)
    for column, face in enumerate(combinations(range(mesh.dim + 1), k + 1)):
        found = integral_over_face(mesh, k, omega, cells, face)
        np.testing.assert_allclose(found, omega[index[:, column]], atol=1e-11)


@pytest.mark.parametrize("name", MESHES)
def test_gradients_are_dual_to_edges_and_sum_to_zero(name):
    mesh = MESHES[name]
    for k in range(1, mesh.dim + 1):
        g = barycentric_gradients(mesh, k)
        p = mesh.points[mesh.complex.simplices(k)]
        scale = np.abs(g).max()
        assert np.abs(g.sum(axis=1)).max() <= 1e-12 * scale
        pairing = np.einsum("mid,mjd->mij", g, p[:, 1:] - p[:, :1])
        expected = np.concatenate([-np.ones((1, k)), np.eye(k)])
        np.testing.assert_allclose(pairing, np.broadcast_to(expected, pairing.shape), atol=1e-10)


FIELD2 = {  # polynomial vector fields with their divergence and curl, two coordinates
    "constant": (lambda x: np.tile([0.3, -1.2], (len(x), 1)), lambda x: 0 * x[:, 0], lambda x: 0 * x[:, 0]),
    "quadratic": (
        lambda x: np.column_stack([x[:, 0] * x[:, 1], x[:, 0] ** 2 - x[:, 1]]),
        lambda x: x[:, 1] - 1,
        lambda x: 2 * x[:, 0] - x[:, 0],
    ),
}


@pytest.mark.parametrize("name, k", [(n, k) for n, k in VECTOR_PAIRS if n in FLAT_SPACE])
def test_constant_fields_in_flat_space_are_reproduced_exactly(name, k):
    mesh = MESHES[name]
    constant = np.random.default_rng(2).normal(size=mesh.points.shape[1])
    if name == "tilted square":
        a, b = plane_axes(mesh)
        constant = (constant @ a) * a + (constant @ b) * b
    omega = de_rham(mesh, k, lambda x: np.tile(constant, (len(x), 1)), order=0)
    for at in ("cells", "vertices"):
        vectors = sharp(mesh, omega, k, at)
        np.testing.assert_allclose(vectors, np.tile(constant, (len(vectors), 1)), atol=1e-11)
        back = flat(mesh, vectors, at) if k == 1 else flat_flux(mesh, vectors, at)
        np.testing.assert_allclose(back, omega, atol=1e-11)


@pytest.mark.parametrize("name", ["jittered square", "tilted square"])
def test_constant_flux_fields_are_reproduced_exactly(name):
    mesh = MESHES[name]
    a, b = plane_axes(mesh)
    constant = 0.4 * a - 1.3 * b
    omega = de_rham(mesh, 1, lambda x: np.tile(constant, (len(x), 1)), order=0, flux=True)
    for at in ("cells", "vertices"):
        vectors = sharp(mesh, omega, 1, at, rotate=True)
        np.testing.assert_allclose(vectors, np.tile(constant, (len(vectors), 1)), atol=1e-11)
        np.testing.assert_allclose(flat_flux(mesh, vectors, at), omega, atol=1e-11)


@pytest.mark.parametrize("name", [n for n, m in MESHES.items() if m.dim >= 2])
def test_densities_integrate_to_the_cochain(name):
    mesh = MESHES[name]
    omega = de_rham(mesh, mesh.dim, lambda x: np.ones(len(x)), order=0)
    cells = np.arange(len(omega))
    bary = np.full((len(cells), mesh.dim + 1), 1 / (mesh.dim + 1))
    np.testing.assert_allclose(whitney_at(mesh, mesh.dim, omega, cells, bary), 1.0, rtol=1e-12)
    assert (omega * top_signs(mesh, "test")).sum() == pytest.approx(measures(mesh, mesh.dim).sum())


@pytest.mark.parametrize("name, k", [(n, k) for n, k in PAIRS if 0 < k < MESHES[n].dim])
def test_two_point_rules_integrate_whitney_products_exactly(name, k):
    """Eᵀ W E equals the mass matrix of a rule of much higher degree, and the Galerkin star, to rounding."""
    mesh = MESHES[name]
    width, n = mesh.points.shape[1], mesh.dim
    e, w, points = whitney_quadrature(mesh, k)
    mass = (e.T @ e.multiply(np.repeat(w, width)[:, None])).toarray()
    assert w.sum() == pytest.approx(measures(mesh, n).sum()) and len(points) == len(w)
    rule, weights = simplex_rule(n, 7)
    cells = np.repeat(np.arange(mesh.complex.n(n)), len(rule))
    fine = evaluation_matrix(mesh, k, cells, np.tile(rule, (mesh.complex.n(n), 1)))
    fine_w = (measures(mesh, n)[:, None] * weights).ravel()
    other = (fine.T @ fine.multiply(np.repeat(fine_w, width)[:, None])).toarray()
    scale = np.abs(other).max()
    np.testing.assert_allclose(mass, other, atol=1e-13 * scale)
    np.testing.assert_allclose(mass, hodge_star(mesh, k).toarray(), atol=1e-13 * scale)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 5, 8])
def test_rules_are_exact_up_to_their_degree(k, degree):
    """∫ Π λ_i^{a_i} over a simplex of measure 1 is k! Π a_i! / (k + Σ a_i)!."""
    points, weights = simplex_rule(k, degree)
    assert (points >= 0).all() and (weights > 0).all()
    rng = np.random.default_rng(degree)
    for _ in range(8):
        powers = rng.multinomial(degree, np.ones(k + 1) / (k + 1))
        exact = factorial(k) * np.prod([factorial(a) for a in powers]) / factorial(k + degree)
        assert (weights * (points**powers).prod(axis=1)).sum() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_symmetric_rules_are_exact_to_degree_two(n):
    points, weights = symmetric_rule(n)
    np.testing.assert_allclose(points.sum(axis=1), 1.0, rtol=1e-14)
    mean = np.einsum("q,qi,qj->ij", weights, points, points)
    np.testing.assert_allclose(mean, (1 + np.eye(n + 1)) / ((n + 1) * (n + 2)), rtol=1e-13)


# ---- the de Rham map commutes with d -----------------------------------------------------------------------------

PLANE = {  # function or field and what d makes of it, degree of the polynomial
    0: (
        lambda x: x[:, 0] ** 3 - x[:, 0] * x[:, 1] ** 2,
        lambda x: np.stack([3 * x[:, 0] ** 2 - x[:, 1] ** 2, -2 * x[:, 0] * x[:, 1]], 1),
    ),
    1: (
        lambda x: np.stack([x[:, 0] * x[:, 1] ** 2, x[:, 0] ** 3 - x[:, 1]], 1),
        lambda x: 3 * x[:, 0] ** 2 - 2 * x[:, 0] * x[:, 1],
    ),
}
SPACE = {
    0: (
        lambda x: x[:, 0] * x[:, 1] * x[:, 2] + x[:, 2] ** 3,
        lambda x: np.stack([x[:, 1] * x[:, 2], x[:, 0] * x[:, 2], x[:, 0] * x[:, 1] + 3 * x[:, 2] ** 2], 1),
    ),
    1: (
        lambda x: np.stack([x[:, 1] ** 2, x[:, 2] * x[:, 0], x[:, 0] ** 3], 1),
        lambda x: np.stack([-x[:, 0], -3 * x[:, 0] ** 2, x[:, 2] - 2 * x[:, 1]], 1),
    ),
    2: (
        lambda x: np.stack([x[:, 0] ** 3, x[:, 1] * x[:, 2], x[:, 0] + x[:, 2] ** 2], 1),
        lambda x: 3 * x[:, 0] ** 2 + x[:, 2] + 2 * x[:, 2],
    ),
}


@pytest.mark.parametrize("name", ["jittered square", "jittered cube", "ball with cavity"])
def test_de_rham_commutes_with_d_exactly_for_polynomials_within_the_degree(name):
    mesh = MESHES[name]
    for k, (form, d_form) in (PLANE if mesh.dim == 2 else SPACE).items():
        left = derivative(mesh.complex, k) @ de_rham(mesh, k, form, order=3)
        right = de_rham(mesh, k + 1, d_form, order=3)
        np.testing.assert_allclose(left, right, atol=1e-13 * max(1.0, np.abs(right).max()))


def test_de_rham_commutes_with_d_to_the_order_of_the_rule():
    def function(x):
        return np.sin(2 * x[:, 0] + x[:, 1])

    def gradient(x):
        return np.cos(2 * x[:, 0] + x[:, 1])[:, None] * np.array([2.0, 1.0])

    errors, sizes = [], []
    for n in (6, 12, 24):
        mesh = jittered_square(n)
        left = derivative(mesh.complex, 0) @ de_rham(mesh, 0, function)
        errors.append(np.abs(left - de_rham(mesh, 1, gradient, order=3)).max())
        sizes.append(mean_edge_length(mesh))
    assert 4.5 < np.polyfit(np.log(sizes), np.log(errors), 1)[0] < 5.5  # degree 3 on edges: O(h^5)


def test_flux_of_a_plane_field_has_its_divergence():
    """d of the flux form i_u vol is div u; and dψ is the flux form of ∇ψ × N = (ψ_y, −ψ_x)."""
    mesh = MESHES["jittered square"]
    field, divergence, curl = FIELD2["quadratic"]
    flux = de_rham(mesh, 1, field, order=2, flux=True)
    np.testing.assert_allclose(derivative(mesh.complex, 1) @ flux, de_rham(mesh, 2, divergence, order=2), atol=1e-13)
    circulation = de_rham(mesh, 1, field, order=2)
    np.testing.assert_allclose(derivative(mesh.complex, 1) @ circulation, de_rham(mesh, 2, curl, order=2), atol=1e-13)
    stream = derivative(mesh.complex, 0) @ de_rham(mesh, 0, PLANE[0][0])
    turned = de_rham(mesh, 1, lambda x: PLANE[0][1](x)[:, ::-1] * [1, -1], order=3, flux=True)
    np.testing.assert_allclose(stream, turned, atol=1e-13)


# ---- rotation, linearity and laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in MESHES.items() if m.dim == 2])
def test_rotated_sharp_is_the_sharp_turned_by_the_normal(name):
    mesh = MESHES[name]
    omega = random_cochain(mesh, 1)
    plain, turned = sharp(mesh, omega), sharp(mesh, omega, rotate=True)
    p = mesh.points3[mesh.oriented_cells()]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    if mesh.points.shape[1] == 2:
        normal = np.tile([0, 0, 1.0], (len(p), 1))
        plain = np.column_stack([plain, np.zeros(len(p))])
        turned = np.column_stack([turned, np.zeros(len(p))])
    np.testing.assert_allclose(turned, np.cross(plain, normal), atol=1e-9)


@pytest.mark.parametrize("name, k", VECTOR_PAIRS)
@pytest.mark.parametrize("at", ["cells", "vertices"])
def test_maps_scale_and_move_with_the_mesh(name, k, at):
    mesh = MESHES[name]
    dim = mesh.points.shape[1]
    omega = random_cochain(mesh, k)
    axes = np.linalg.qr(np.random.default_rng(5).normal(size=(dim, dim)))[0]
    axes[:, 0] *= np.sign(np.linalg.det(axes))
    vectors = sharp(mesh, omega, k, at)
    for scale in (1e-3, 1.0, 1e5):
        moved = Mesh(mesh.complex, scale * mesh.points @ axes.T + 3.0 * scale, winding=mesh.winding)
        np.testing.assert_allclose(
            sharp(moved, omega, k, at) * scale**k, vectors @ axes.T, atol=1e-9 * np.abs(vectors).max()
        )
        back = flat if k == 1 else flat_flux
        expected = back(mesh, vectors, at)
        found = back(moved, vectors @ axes.T, at) / scale**k
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name, k", VECTOR_PAIRS)
def test_relabelling_permutes_vectors(name, k):
    mesh = MESHES[name]
    new = np.random.default_rng(6).permutation(mesh.complex.n_vertices)
    points = np.empty_like(mesh.points)
    points[new] = mesh.points
    other = Mesh.from_cells(points, new[mesh.complex.simplices(mesh.dim)])
    where, sign = other.complex.find(new[mesh.complex.simplices(k)])
    omega = random_cochain(mesh, k)
    renamed = np.empty_like(omega)
    renamed[where] = sign * omega
    expected = sharp(mesh, omega, k, "vertices")
    found = sharp(other, renamed, k, "vertices")[new]
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", MESHES)
def test_flat_names_and_matrices_agree_and_averages_keep_constants(name):
    mesh = MESHES[name]
    rng = np.random.default_rng(7)
    n_top, dim = mesh.complex.n(mesh.dim), mesh.points.shape[1]
    at_vertices, at_cells = rng.normal(size=(mesh.complex.n_vertices, dim)), rng.normal(size=(n_top, dim))
    np.testing.assert_array_equal(flat_vertex_vectors(mesh, at_vertices), flat(mesh, at_vertices, "vertices"))
    np.testing.assert_array_equal(flat_cell_vectors(mesh, at_cells), flat(mesh, at_cells, "cells"))
    np.testing.assert_allclose(vertices_to_cells(mesh) @ np.ones(mesh.complex.n_vertices), 1.0)
    np.testing.assert_allclose(cells_to_vertices(mesh) @ np.ones(n_top), 1.0)
    barycentres = mesh.points[mesh.complex.simplices(mesh.dim)].mean(axis=1)
    np.testing.assert_allclose(vertices_to_cells(mesh) @ mesh.points, barycentres, atol=1e-14)
    omega = random_cochain(mesh, 1)
    np.testing.assert_array_equal((sharp_matrix(mesh) @ omega).reshape(-1, dim), sharp(mesh, omega))


def test_flat_of_vertex_vectors_is_the_exact_integral_of_the_linear_field():
    mesh = MESHES["jittered cube"]
    a = np.random.default_rng(8).normal(size=(3, 3))
    vectors = mesh.points @ a.T + [1.0, 2.0, 3.0]

    def field(x):
        return x @ a.T + [1.0, 2.0, 3.0]

    np.testing.assert_allclose(flat(mesh, vectors), de_rham(mesh, 1, field, order=1), atol=1e-13)
    np.testing.assert_allclose(flat_flux(mesh, vectors), de_rham(mesh, 2, field, order=1), atol=1e-13)


def test_a_closed_surface_has_no_flux_of_a_solenoidal_field():
    """Signs of faces: the flux of the position field out of every tetrahedron is three times its volume."""
    mesh = MESHES["ball with cavity"]
    flux = flat_flux(mesh, mesh.points)
    out = (derivative(mesh.complex, 2) @ flux) * top_signs(mesh, "test")
    np.testing.assert_allclose(out, 3 * measures(mesh, 3), rtol=1e-9)


# ---- convergence -------------------------------------------------------------------------------------------------


def ambient(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sin(x[:, 1]) + x[:, 2] * x[:, 0], np.cos(x[:, 0] + x[:, 2]), x[:, 0] * x[:, 1]])


def on_sphere(x: np.ndarray) -> np.ndarray:
    normal = x / np.linalg.norm(x, axis=1)[:, None]
    u = ambient(x) + [0.3, 0, 0]
    return u - (u * normal).sum(axis=1)[:, None] * normal


def on_torus(x: np.ndarray) -> np.ndarray:
    r = np.hypot(x[:, 0], x[:, 1])
    normal = x - np.column_stack([x[:, 0] / r, x[:, 1] / r, np.zeros(len(x))])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    u = ambient(x)
    return u - (u * normal).sum(axis=1)[:, None] * normal


def in_plane(x: np.ndarray) -> np.ndarray:
    return ambient(x * [1, 1, 0]) * [1, 1, 0]


# shape, field, sizes, degree, read as flux form on a surface
CASES = {
    "sphere": ("sphere", on_sphere, (400, 1500, 6000), 1, False),
    "sphere, flux": ("sphere", on_sphere, (400, 1500, 6000), 1, True),
    "torus": ("torus", on_torus, (400, 1500, 6000), 1, False),
    "torus, flux": ("torus", on_torus, (400, 1500, 6000), 1, True),
    "annulus": ("annulus", in_plane, (400, 1500, 6000), 1, False),
    "cube": ("cube", ambient, (300, 1000, 4000), 1, False),
    "cube, flux": ("cube", ambient, (300, 1000, 4000), 2, False),
}


@pytest.mark.parametrize("case", CASES)
def test_sharp_and_flat_converge_at_their_stated_orders(case):
    """Relative L2 errors: sharp at cells 1; sharp at vertices ≥ 1 (1.8–2 on closed shapes, 1.5 with boundary);
    flat of vertex vectors 2; flat of cell vectors ≥ 1 (1.7–2 and 1.2–1.5)."""
    name, field, sizes, k, turned = CASES[case]
    rows = []
    for n_vertices in sizes:
        mesh = gallery(name, n_vertices)
        n, p = mesh.dim, mesh.points
        size = measures(mesh, n)
        around = np.bincount(mesh.complex.simplices(n).ravel(), np.repeat(size, n + 1), len(p))
        truth = {"vertices": field(p), "cells": field(p[mesh.complex.simplices(n)].mean(axis=1))}
        omega = de_rham(mesh, k, field, order=4, flux=turned)
        star = hodge_star(mesh, k)
        row = [mean_edge_length(mesh)]
        for at, weight in (("cells", size), ("vertices", around)):
            difference = sharp(mesh, omega, k, at, rotate=turned) - truth[at]
            row.append(np.sqrt((weight @ difference**2).sum() / (weight @ truth[at] ** 2).sum()))
        back = flat_flux if turned or k == 2 else flat
        for at in ("vertices", "cells"):
            difference = back(mesh, truth[at], at) - omega
            row.append(np.sqrt((difference @ (star @ difference)) / (omega @ (star @ omega))))
        rows.append(row)
    rows = np.log(np.array(rows))
    slopes = np.polyfit(rows[:, 0], rows[:, 1:], 1)[0]
    closed = name in ("sphere", "torus")
    assert 0.9 < slopes[0] < 1.2, slopes
    assert (1.6 if closed else 1.25) < slopes[1] < 2.2, slopes
    assert 1.8 < slopes[2] < 2.3, slopes
    assert (1.6 if closed else 1.1) < slopes[3] < 2.2, slopes


# ---- refusals ----------------------------------------------------------------------------------------------------

TORUS, TETS, MOEBIUS = MESHES["torus"], MESHES["ball with cavity"], gallery("moebius", 200)
LENGTHS = gallery("flat_torus", 300)
MIDDLE = np.full((1, 3), 1 / 3)
FLAT_TRIANGLE = Mesh.from_cells(
    np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 1, 3]])
)
FOUR = Mesh.from_cells(np.eye(4), np.array([[0, 1, 2, 3]]))

REFUSED = {
    "short cochain": (lambda: sharp(TORUS, np.zeros(7)), InputError, "shape"),
    "cochain with columns": (lambda: sharp(TORUS, np.zeros((TORUS.complex.n(1), 2))), InputError, "shape"),
    "degree 4": (lambda: whitney_at(TORUS, 4, np.zeros(3), [0], MIDDLE), InputError, "degree"),
    "degree −1": (lambda: whitney_at(TORUS, -1, np.zeros(3), [0], MIDDLE), InputError, "degree"),
    "2-form of a surface as vector": (lambda: sharp(TORUS, np.zeros(TORUS.complex.n(2)), 2), InputError, "degree"),
    "function as vector": (lambda: sharp_matrix(TORUS, 0), InputError, "degree"),
    "turn in tetrahedra": (lambda: sharp_matrix(TETS, 1, rotate=True), InputError, "degree"),
    "2-form in four coordinates": (lambda: sharp_matrix(FOUR, 2), InputError, "degree"),
    "unknown place": (lambda: sharp_matrix(TORUS, 1, at="edges"), UnknownNameError, "unknown_name"),
    "unknown place of flat": (lambda: flat(TORUS, np.zeros((3, 3)), at="edges"), UnknownNameError, "unknown_name"),
    "vectors of wrong number": (lambda: flat(TORUS, np.zeros((7, 3))), InputError, "shape"),
    "vectors of wrong width": (lambda: flat(TORUS, np.zeros((TORUS.complex.n(0), 2))), InputError, "shape"),
    "flux of a polygon": (lambda: flat_flux(MESHES["polygon"], np.zeros((12, 2))), InputError, "degree"),
    "triangle number too large": (
        lambda: evaluation_matrix(TORUS, 0, [TORUS.complex.n(2)], MIDDLE),
        InputError,
        "index_out_of_range",
    ),
    "triangle number negative": (lambda: evaluation_matrix(TORUS, 0, [-1], MIDDLE), InputError, "index_out_of_range"),
    "four barycentric numbers": (lambda: evaluation_matrix(TORUS, 0, [0], np.full((1, 4), 0.25)), InputError, "shape"),
    "barycentric sum": (lambda: evaluation_matrix(TORUS, 0, [0], np.ones((1, 3))), InputError, "barycentric"),
    "barycentric nan": (lambda: evaluation_matrix(TORUS, 0, [0], MIDDLE * np.nan), InputError, "barycentric"),
    "turn on a Möbius strip": (lambda: sharp_matrix(MOEBIUS, 1, rotate=True), TopologyError, "non_orientable"),
    "flux on a Möbius strip": (
        lambda: flat_flux(MOEBIUS, np.zeros_like(MOEBIUS.points)),
        TopologyError,
        "non_orientable",
    ),
    "density on a Möbius strip": (
        lambda: de_rham(MOEBIUS, 2, lambda x: np.ones(len(x))),
        TopologyError,
        "non_orientable",
    ),
    "no positions": (lambda: sharp_matrix(LENGTHS, 1), MetricError, "no_positions"),
    "triangle of no area": (lambda: sharp_matrix(FLAT_TRIANGLE, 1), MetricError, "zero_measure"),
    "density on a triangle of no area": (
        lambda: whitney_at(FLAT_TRIANGLE, 2, np.ones(2), [1], MIDDLE),
        MetricError,
        "zero_measure",
    ),
    "function of wrong shape": (lambda: de_rham(TORUS, 1, lambda x: x[:, 0]), InputError, "shape"),
    "function not finite": (lambda: de_rham(TORUS, 0, lambda x: np.nan * x[:, 0]), InputError, "non_finite_field"),
    "degree of rule": (lambda: simplex_rule(2, -1), InputError, "quadrature"),
    "degree of rule not whole": (lambda: simplex_rule(2, 1.5), InputError, "quadrature"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused_by_name(case):
    call, error, kind = REFUSED[case]
    with pytest.raises(HsdError) as caught:
        call()
    assert isinstance(caught.value, error) and caught.value.kind == kind
    assert caught.value.message.endswith(".")


def test_a_moebius_strip_still_has_plain_vectors():
    omega = derivative(MOEBIUS.complex, 0) @ MOEBIUS.points[:, 0]
    vectors = sharp(MOEBIUS, omega)
    assert np.isfinite(vectors).all() and np.linalg.norm(vectors, axis=1).max() <= 1 + 1e-12  # |tangential part of e_x|


def test_parts_without_top_simplices_do_not_take_part():
    mixed = Mesh(
        type(TORUS.complex).from_simplices(5, {2: np.array([[0, 1, 2]]), 1: np.array([[2, 3]])}),
        np.array([[0, 0], [1, 0], [0, 1], [2, 2], [5, 5.0]]),
    )
    omega = flat(mixed, np.tile([1.0, 2.0], (5, 1)))
    vectors = sharp(mixed, omega, at="vertices")
    np.testing.assert_allclose(vectors[:3], [[1, 2]] * 3, atol=1e-14)
    np.testing.assert_array_equal(vectors[3:], 0.0)
    assert flat(mixed, np.ones((1, 2)), "cells")[mixed.complex.find(np.array([[2, 3]]))[0][0]] == 0.0
