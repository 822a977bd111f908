"""Decimation: closed manifolds stay closed manifolds of the same genus, near the surface, with triangles alike."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import HsdError
from hsd.hodge.homology import betti_numbers
from hsd.mesh.closest import locate
from hsd.mesh.decimate import contract, decimate, plane_quadrics
from hsd.mesh.manifold import n_defects
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import mean_edge_length, measures, total_measure
from hsd.mesh.primitives import gallery
from tests.meshes import mesh_of

CLOSED = ("sphere", "ellipsoid", "torus", "double_torus", "car_wing")


def quality(mesh: Mesh) -> np.ndarray:
    """4√3 area / Σ edge²: 1 for equilateral triangles."""
    p = mesh.points[mesh.complex.simplices(2)]
    return 4 * np.sqrt(3) * measures(mesh, 2) / ((p - p[:, [1, 2, 0]]) ** 2).sum(axis=(1, 2))


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("share", [0.6, 0.25])
def test_topology_stays_and_the_count_is_met(name, share):
    mesh = gallery(name, 2000)
    n = round(share * mesh.complex.n_vertices)
    few = decimate(mesh, n)
    assert few.complex.n_vertices == n
    assert n_defects(few.complex) == (0, 0, 0)
    assert not few.complex.has_boundary
    assert betti_numbers(few.complex) == betti_numbers(mesh.complex)
    assert few.complex.euler_characteristic == mesh.complex.euler_characteristic
    assert few.notices[-1].kind == "decimated"


@pytest.mark.parametrize("name", CLOSED)
def test_surface_stays_near_and_triangles_alike(name):
    mesh = gallery(name, 2000)
    few = decimate(mesh, 700)
    _, _, away = locate(mesh, few.points)
    assert away.max() < 0.5 * mean_edge_length(few)
    assert np.sqrt((away**2).mean()) < 0.06 * mean_edge_length(few)
    assert total_measure(few) == pytest.approx(total_measure(mesh), rel=0.02)
    assert quality(few).min() > 0.3
    assert np.sqrt(few.squared_lengths).max() < 3.5 * mean_edge_length(few)


def test_normals_keep_their_side():
    for name in CLOSED:
        mesh = gallery(name, 1500)
        volumes = []
        for m in (mesh, decimate(mesh, 600)):
            a, b, c = m.points[m.oriented_cells()].transpose(1, 0, 2)
            volumes.append(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)
        assert volumes[1] == pytest.approx(volumes[0], rel=0.03)


def test_a_cube_keeps_its_corners_and_edges():
    """Quadrics place vertices on sharp edges: the volume of a finely meshed cube survives to a part in a thousand."""
    k = 12
    grid = np.stack(np.meshgrid(np.arange(k + 1), np.arange(k + 1), indexing="ij"), axis=-1).reshape(-1, 2)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(k), np.arange(k), indexing="ij"))
    at = i * (k + 1) + j
    square = np.concatenate([np.stack([at, at + k + 1, at + k + 2], 1), np.stack([at, at + k + 2, at + 1], 1)])
    points, faces = [], []
    for axis in range(3):
        for level in (0, k):
            p = np.insert(grid, axis, level, axis=1)
            faces.append((square if (level == k) != (axis == 1) else square[:, ::-1]) + len(grid) * len(points))
            points.append(p)
    points, inverse = np.unique(np.concatenate(points), axis=0, return_inverse=True)
    mesh = Mesh.from_cells(points.astype(float), inverse.ravel()[np.concatenate(faces)])
    assert mesh.complex.euler_characteristic == 2
    few = decimate(mesh, 250)
    a, b, c = few.points[few.oriented_cells()].transpose(1, 0, 2)
    assert np.einsum("ij,ij->", a, np.cross(b, c)) / 6 == pytest.approx(k**3, rel=2e-3)


def test_quadrics_vanish_on_their_planes_and_measure_squared_distance():
    mesh = mesh_of("torus", 300)
    cells = mesh.oriented_cells()
    q = plane_quadrics(mesh.points, cells)
    upper = np.triu_indices(4)
    rng = np.random.default_rng(0)
    for v in rng.choice(mesh.complex.n_vertices, 20, replace=False):
        full = np.zeros((4, 4))
        full[upper] = q[v, :10]
        full = full + np.triu(full, 1).T
        x = mesh.points[v] + 0.1 * rng.standard_normal(3)
        expected = 0.0
        for face in cells[(cells == v).any(axis=1)]:
            p = mesh.points[face]
            normal = np.cross(p[1] - p[0], p[2] - p[0])
            area = np.linalg.norm(normal) / 2
            expected += area / 3 * ((x - p[0]) @ normal / (2 * area)) ** 2
        h = np.append(x, 1.0)
        assert h @ full @ h == pytest.approx(expected, rel=1e-9)


def test_nothing_happens_where_nothing_may():
    """The smallest tori and spheres cannot lose a vertex; a coarse mesh is used as it is and says so."""
    tetrahedron = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1.0]])
    faces = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    points, left = contract(tetrahedron, faces, 3)
    assert np.array_equal(points, tetrahedron)
    assert np.array_equal(left, faces)
    small = mesh_of("torus", 200)
    assert decimate(small, 5000).notices[-1].kind == "coarse"
    assert decimate(small, small.complex.n_vertices) is small
    seven = decimate(small, 4)
    assert seven.complex.euler_characteristic == 0
    assert seven.complex.n_vertices >= 7  # Möbius: no triangulated torus has fewer


def test_same_mesh_gives_the_same_result():
    mesh = mesh_of("double_torus", 900)
    assert decimate(mesh, 300).content_hash == decimate(mesh, 300).content_hash


BAD = {
    "degree": lambda: decimate(mesh_of("ball_with_cavity", 300), 100),
    "not_closed": lambda: decimate(mesh_of("disk", 300), 100),
    "non_manifold": lambda: decimate(mesh_of("book", 300), 100),
    "non_orientable": lambda: decimate(Mesh(mesh_of("klein", 300).complex, mesh_of("klein", 300).points), 100),
    "bad_option": lambda: decimate(mesh_of("torus", 300), 3),
    "not_whole": lambda: decimate(mesh_of("torus", 300), 30.5),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_in_one_sentence(kind):
    with pytest.raises(HsdError) as error:
        BAD[kind]()
    assert error.value.kind == kind
    assert error.value.message.endswith(".")


@pytest.mark.full
def test_a_hundred_thousand_faces_become_six_thousand():
    mesh = gallery("sphere", 50000)
    few = decimate(mesh, 3000)
    assert few.complex.counts[2] == 5996
    assert total_measure(few) == pytest.approx(4 * np.pi, rel=2e-3)
