"""Alpha complexes: against gudhi, against known shapes, and on bad clouds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from hsd.errors import InputError
from hsd.mesh import from_points
from hsd.mesh.alpha import AlphaFiltration, circumballs
from hsd.mesh.from_points import mesh_from_points
from hsd.mesh.persistence import reduce_columns
from hsd.mesh.point_laplacian import point_cloud_laplacian


def unit(n: int, d: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def noisy_torus(n: int, seed: int, noise: float = 0.01) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t, p = rng.uniform(0, 2 * np.pi, (2, n))
    r = 0.4 + noise * rng.normal(size=n)
    return np.column_stack([(1 + r * np.cos(p)) * np.cos(t), (1 + r * np.cos(p)) * np.sin(t), r * np.sin(p)])


def lattice(n: int, d: int) -> np.ndarray:
    return np.stack(np.meshgrid(*[np.arange(float(n))] * d), -1).reshape(-1, d)


def latitude_sphere(n: int) -> np.ndarray:
    t, u = np.linspace(0, 2 * np.pi, n, endpoint=False), np.linspace(-np.pi / 2, np.pi / 2, n // 2 + 1)[1:-1]
    ring = [[np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)] for a in t for b in u]
    return np.array([*ring, [0, 0, 1.0], [0, 0, -1.0]])


CLOUDS = {
    "plane": np.random.default_rng(0).normal(size=(150, 2)),
    "space": np.random.default_rng(1).normal(size=(200, 3)),
    "circle": unit(40, 2, 2),
    "sphere": unit(200, 3, 3),
    "large sphere": unit(1200, 3, 4),
    "torus": noisy_torus(400, 5),
    "square lattice": lattice(9, 2),
    "cube lattice": lattice(6, 3),
    "body-centred lattice": np.concatenate([lattice(5, 3), lattice(4, 3) + 0.5]),
    "latitude sphere": latitude_sphere(24),
    "cube": lattice(2, 3),
    "far away": unit(150, 3, 6) * 1e-3 + 5.0,
}


def long_bars(bars: np.ndarray) -> np.ndarray:
    bars = bars[bars[:, 1] > 1.00001 * bars[:, 0]]
    return bars[np.lexsort(np.round(bars.T, 8))]


@pytest.mark.parametrize("name", CLOUDS)
def test_barcode_equals_gudhi(name):
    gudhi = pytest.importorskip("gudhi")
    cloud = CLOUDS[name]
    tree = gudhi.AlphaComplex(points=cloud).create_simplex_tree()
    tree.persistence(homology_coeff_field=2, min_persistence=-1, persistence_dim_max=True)
    ours = AlphaFiltration(cloud).barcode
    scale = np.abs(cloud - cloud.mean(axis=0)).max()
    for k in range(cloud.shape[1]):
        theirs = tree.persistence_intervals_in_dimension(k).reshape(-1, 2)
        theirs = long_bars(np.sqrt(np.maximum(theirs, 0.0))) / scale
        mine = long_bars(ours.of_degree(k)) / scale
        assert len(mine) == len(theirs), f"degree {k}"
        finite = np.isfinite(theirs)
        assert (np.isfinite(mine) == finite).all()
        np.testing.assert_allclose(np.sort(mine[finite]), np.sort(theirs[finite]), atol=1e-6)


@pytest.mark.parametrize("name", ["plane", "space", "torus"])
def test_filtration_values_equal_gudhi(name):
    gudhi = pytest.importorskip("gudhi")
    cloud = CLOUDS[name]
    tree = gudhi.AlphaComplex(points=cloud).create_simplex_tree()
    theirs = {tuple(sorted(s)): v for s, v in tree.get_filtration()}
    ours = AlphaFiltration(cloud)
    assert sum(ours.complex.counts) == len(theirs)
    for k in range(1, ours.complex.dim + 1):
        expected = np.array([theirs[tuple(s)] for s in ours.complex.simplices(k).tolist()])
        np.testing.assert_allclose(ours.radii[k] ** 2, expected, rtol=1e-6)


@pytest.mark.parametrize("name", CLOUDS)
def test_no_simplex_enters_before_its_faces_and_euler_agrees_with_the_bars(name):
    f = AlphaFiltration(CLOUDS[name])
    for k in range(1, f.complex.dim + 1):
        assert (f.radii[k][:, None] >= f.radii[k - 1][f.complex.faces(k)]).all()
    top = max(r.max() for r in f.radii)
    for a, b, betti in f.intervals[:: max(1, len(f.intervals) // 7)]:
        r = min(np.sqrt(a * b) if a > 0 else 0.5 * b, 2.0 * top)
        assert f.betti_at(r) == betti
        cx = f.complex_at(r)
        assert cx.euler_characteristic == sum((-1) ** k * n for k, n in enumerate(betti))
        assert cx.n_components == betti[0]


SHAPES = {
    "sphere of 642 random points": (unit(642, 3, 7), (1, 0, 1)),
    "noisy torus": (noisy_torus(2000, 8), (1, 2, 1)),
    "latitude sphere": (latitude_sphere(24), (1, 0, 1)),
    "circle": (unit(60, 2, 9), (1, 1)),
    "circle in space": (np.column_stack([unit(60, 2, 9), np.full(60, 3.0)]) @ np.linalg.qr(unit(3, 3, 1))[0], (1, 1)),
    "pentagon": (np.array([[np.cos(a), np.sin(a)] for a in np.arange(5) * 0.4 * np.pi]), (1, 1)),
    "two circles": (np.concatenate([unit(60, 2, 10), unit(60, 2, 11) + 3]), (2, 2)),
    "two clusters": (
        np.random.default_rng(12).normal(size=(300, 2)) * 0.2 + np.repeat([[0, 0], [4, 4]], 150, 0),
        (2, 0),
    ),
    "filled square": (np.random.default_rng(13).uniform(size=(500, 2)), (1, 0)),
    "filled cube": (np.random.default_rng(14).uniform(size=(500, 3)), (1, 0, 0)),
    "lattice": (lattice(10, 2), (1, 0)),
    "long straight line": (np.outer(np.arange(50.0), [1, 2, 3]), (1,)),
    "five points on a line": (np.outer(np.arange(5.0), [1, 0, 0]), (5,)),
}


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e5])
@pytest.mark.parametrize("name", SHAPES)
def test_suggested_radius_shows_the_shape_at_any_scale(name, scale):
    cloud, betti = SHAPES[name]
    f = AlphaFiltration(cloud * scale)
    assert f.betti_at(f.suggested_radius) == betti
    assert f.suggestion[3] == betti
    assert f.suggested_radius == pytest.approx(AlphaFiltration(cloud).suggested_radius * scale, rel=1e-6)


def test_the_complex_of_a_sphere_is_a_closed_orientable_surface():
    mesh = mesh_from_points(unit(642, 3, 7))
    cx = mesh.complex
    assert cx.dim == 2 and cx.euler_characteristic == 2 and not cx.has_boundary and cx.orientation is not None
    assert [n.kind for n in mesh.notices] == ["alpha_complex"]
    assert "(1, 0, 1)" in mesh.notices[0].message


def test_complex_is_of_mixed_dimension_and_grows_with_the_radius():
    cloud = CLOUDS["space"]
    f = AlphaFiltration(cloud)
    last = (0, 0, 0, 0)
    for radius in (0.0, 0.2, 0.5, 1.0, np.inf):
        cx = f.complex_at(radius)
        counts = tuple(cx.n(k) for k in range(4))
        assert all(a <= b for a, b in zip(last, counts))
        last = counts
    assert last == f.complex.counts
    assert not f.complex_at(0.5).is_pure
    assert mesh_from_points(cloud, radius=0.0).complex.counts == (200,)
    assert mesh_from_points(cloud, radius=np.inf).complex.counts == f.complex.counts


def test_repeated_points_are_merged_and_the_map_to_file_order_is_kept(shared):
    points = np.loadtxt(shared / "cases" / "files" / "shareable" / "I36_points.xyz")
    mesh = mesh_from_points(points)
    assert len(points) == 167 and mesh.complex.counts == (162, 480, 320)
    assert {n.kind for n in mesh.notices} == {"duplicate_points", "alpha_complex"}
    np.testing.assert_array_equal(mesh.points[mesh.vertex_of_file_point], points)
    copies = next(n for n in mesh.notices if n.kind == "duplicate_points").ids
    assert len(copies) == 5
    f = AlphaFiltration(mesh.points)
    assert f.betti_at(f.suggested_radius) == (1, 0, 1)


def test_five_isolated_points_have_five_components(shared):
    mesh = mesh_from_points(np.loadtxt(shared / "cases" / "files" / "shareable" / "T10_five_points_only.xyz"))
    assert mesh.complex.counts == (5,) and mesh.complex.n_components == 5


@pytest.mark.parametrize(
    "points", [np.zeros((1, 3)), np.ones((4, 2)), np.array([[0, 0], [1, 0.0]]), np.eye(3), np.eye(3, 2)]
)
def test_tiny_clouds_give_isolated_points(points):
    mesh = mesh_from_points(points)
    assert mesh.complex.counts == (len(np.unique(points, axis=0)),)


def test_circumball_passes_through_all_vertices_and_is_the_smallest():
    p = np.random.default_rng(3).normal(size=(50, 3, 3))
    centre, square, flat = circumballs(p)
    assert not flat.any()
    np.testing.assert_allclose(((p - centre[:, None]) ** 2).sum(axis=2), np.repeat(square[:, None], 3, 1), rtol=1e-9)
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    assert np.abs(((centre - p[:, 0]) * normal).sum(axis=1)).max() < 1e-9
    square_cell = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]])
    centre, square, flat = circumballs(square_cell)
    assert flat.all() and square[0] == pytest.approx(0.5)
    np.testing.assert_allclose(centre[0], [0.5, 0.5, 0])


def test_column_reduction_has_the_rank_of_the_matrix_over_gf2():
    rng = np.random.default_rng(4)
    rows = np.array([rng.choice(12, 3, replace=False) for _ in range(30)])
    dense = np.zeros((12, 30), np.uint8)
    dense[rows.ravel(), np.repeat(np.arange(30), 3)] = 1
    rank = 0
    for column in range(30):  # plain elimination
        pivot = next((r for r in range(rank, 12) if dense[r, column]), None)
        if pivot is None:
            continue
        dense[[rank, pivot]] = dense[[pivot, rank]]
        others = [r for r in range(12) if r != rank and dense[r, column]]
        dense[others] ^= dense[rank]
        rank += 1
    pivots = reduce_columns(rows, np.ones(12, bool))
    assert (pivots >= 0).sum() == rank and len(np.unique(pivots[pivots >= 0])) == rank


BAD_CLOUDS = {
    "empty": (np.zeros((0, 3)), "empty"),
    "one dimension": (np.zeros((4, 1)), "shape"),
    "four dimensions": (np.zeros((4, 4)), "shape"),
    "flat list": (np.zeros(6), "shape"),
    "text": (np.array([["a", "b"]]), "shape"),
    "nan": (np.array([[0, 0], [np.nan, 1.0]]), "non_finite_vertex"),
    "infinite": (np.array([[0, 0], [np.inf, 1.0]]), "non_finite_vertex"),
}


@pytest.mark.parametrize("name", BAD_CLOUDS)
def test_bad_clouds_are_refused(name):
    points, kind = BAD_CLOUDS[name]
    with pytest.raises(InputError) as caught:
        mesh_from_points(points)
    assert caught.value.kind == kind


@pytest.mark.parametrize("radius", [-1.0, np.nan])
def test_bad_radius_is_refused(radius):
    with pytest.raises(InputError) as caught:
        mesh_from_points(np.eye(3), radius=radius)
    assert caught.value.kind == "radius"


def test_a_cloud_above_the_stated_size_is_refused(monkeypatch):
    monkeypatch.setattr(from_points, "MAX_POINTS", 10)
    with pytest.raises(InputError) as caught:
        mesh_from_points(unit(11, 3, 0))
    assert caught.value.kind == "too_many_points"


def test_points_that_nearly_coincide_throughout_are_refused_or_triangulated():
    cloud = np.repeat(unit(30, 3, 1), 3, axis=0) + 1e-15 * np.random.default_rng(0).normal(size=(90, 3))
    try:
        mesh = mesh_from_points(cloud)
    except InputError as error:
        assert error.kind == "degenerate_points"
    else:
        assert mesh.complex.n_components == 1


def test_point_cloud_laplacian_has_the_spectrum_of_the_sphere():
    pytest.importorskip("potpourri3d")
    stiffness, mass = point_cloud_laplacian(unit(2562, 3, 5))
    assert abs(stiffness - stiffness.T).max() < 1e-12
    assert np.abs(stiffness @ np.ones(2562)).max() < 1e-9
    assert mass.sum() == pytest.approx(4 * np.pi, rel=0.02)
    values = eigsh(stiffness, 9, mass, sigma=-0.1, v0=np.ones(2562))[0]
    np.testing.assert_allclose(values, [0, 2, 2, 2, 6, 6, 6, 6, 6], atol=0.15)


@pytest.mark.parametrize(
    "points, kind",
    [
        (unit(40, 2, 0), "shape"),
        (unit(5, 3, 0), "too_few_points"),
        (np.repeat(unit(20, 3, 0), 2, 0), "duplicate_points"),
    ],
)
def test_point_cloud_laplacian_refuses_what_it_cannot_use(points, kind):
    with pytest.raises(InputError) as caught:
        point_cloud_laplacian(points)
    assert caught.value.kind == kind


@pytest.mark.full
def test_five_thousand_points_take_seconds():
    import time

    start = time.perf_counter()
    f = AlphaFiltration(np.random.default_rng(0).uniform(size=(5000, 3)))
    assert f.suggestion[3] == (1, 0, 0)
    assert time.perf_counter() - start < 10.0
