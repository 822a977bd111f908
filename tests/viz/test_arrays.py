"""Surfaces, creases, decimation, samples and loops, over the gallery."""

from __future__ import annotations

import numpy as np
import pytest

import hsd
from hsd.errors import InputError, MetricError
from hsd.hodge.homology import Homology
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.mesh.primitives import GALLERY
from hsd.viz import arrays, build

DRAWN = [name for name in GALLERY if name not in ("flat_torus", "flat_torus_jittered")]


@pytest.fixture(scope="module", params=DRAWN)
def drawn(request):
    mesh = hsd.gallery(request.param, 400)
    return mesh, build.surface_of(mesh)


def test_what_is_drawn_lies_on_the_mesh(drawn):
    mesh, s = drawn
    assert np.array_equal(s.points, mesh.points3[s.vertex_of])
    assert np.array_equal(s.vertex_of[s.triangles], s.corners)
    assert np.array_equal(np.sort(s.corners, axis=1), mesh.complex.simplices(2)[s.face_of])
    expected = mesh.complex.n(2) if mesh.dim == 2 else int((mesh.complex.n_cofaces(2) == 1).sum())
    assert s.n_faces == len(s.triangles) == expected
    assert np.isin(np.arange(mesh.complex.n_vertices), s.vertex_of).all()


def test_the_unit_ball_holds_everything(drawn):
    _, s = drawn
    unit = np.linalg.norm((s.points - s.centre) * s.scale, axis=1)
    assert unit.max() == pytest.approx(1.0, rel=1e-12)


def test_normals_are_unit_and_lie_within_the_crease_angle_of_their_triangles(drawn):
    _, s = drawn
    assert np.allclose(np.linalg.norm(s.normals, axis=1), 1.0)
    faces, _ = arrays.face_normals(s.points, s.triangles)
    cosine = np.einsum("fcd,fd->fc", s.normals[s.triangles], faces)
    assert (cosine > 0).mean() > 0.995


def test_tet_boundaries_face_outwards():
    mesh = hsd.gallery("ball_with_cavity", 800)
    s = build.surface_of(mesh)
    a, b, c = (s.points[s.triangles[:, i]] for i in range(3))
    volume = (np.cross(a, b) * c).sum() / 6  # divergence theorem: signed volume of the solid, cavity left out
    assert volume == pytest.approx(measures(mesh, 3).sum(), rel=1e-10)


def test_a_cube_keeps_flat_sides_and_a_sphere_is_not_split():
    cube = build.surface_of(hsd.gallery("cube", 300))
    faces, _ = arrays.face_normals(cube.points, cube.triangles)
    assert np.allclose(cube.normals[cube.triangles], faces[:, None], atol=1e-9)
    sphere = hsd.gallery("sphere", 1000)
    assert len(build.surface_of(sphere).points) == sphere.complex.n_vertices


def test_decimation_keeps_shape_area_and_origin_faces():
    mesh = hsd.gallery("torus", 6000)
    s = build.surface_of(mesh, max_triangles=4000)
    assert s.decimated and s.n_faces == mesh.complex.n(2)
    assert 1500 < len(s.triangles) < 6000
    _, area = arrays.face_normals(s.points, s.triangles)
    assert area.sum() == pytest.approx(measures(mesh, 2).sum(), rel=0.03)
    centres = s.points[s.triangles].mean(axis=1)
    origin = mesh.points3[mesh.complex.simplices(2)[s.face_of]].mean(axis=1)
    edge = np.sqrt(area.mean())
    assert np.linalg.norm(centres - origin, axis=1).max() < 3 * edge
    corner = mesh.points3[s.corners]
    assert np.linalg.norm(corner - s.points[s.triangles], axis=2).max() < 3 * edge  # corner by corner
    assert np.array_equal(np.sort(s.corners, axis=1), mesh.complex.simplices(2)[s.face_of])


def test_the_proxy_is_small_and_uses_drawn_vertices():
    s = build.surface_of(hsd.gallery("torus", 20_000))
    used = np.unique(s.proxy)
    assert 1200 < len(used) < 2800 and used.max() < len(s.points)
    assert len(build.surface_of(hsd.gallery("torus", 2000)).proxy) == 0


def test_samples_are_spread_by_area_and_repeatable():
    measure = np.array([1.0, 0.0, 3.0, 6.0])
    cell, bary = arrays.area_samples(measure, 1000, 3, seed=5)
    assert np.abs(np.bincount(cell, minlength=4) / 1000 - measure / 10).max() <= 0.002
    assert np.allclose(bary.sum(axis=1), 1) and (bary >= 0).all()
    assert np.abs(bary.mean(axis=0) - 1 / 3).max() < 0.03
    again = arrays.area_samples(measure, 1000, 3, seed=5)
    assert np.array_equal(again[0], cell) and np.array_equal(again[1], bary)
    with pytest.raises(InputError):
        arrays.area_samples(np.zeros(3), 10, 3, 0)


@pytest.mark.parametrize("name", ["torus", "double_torus", "annulus", "car"])
def test_glyphs_are_evenly_spread_and_equal_for_equal_meshes(name):
    mesh = hsd.gallery(name, 1000)
    s = build.surface_of(mesh)
    g = build.glyphs_of(mesh, s, 200)
    again = build.glyphs_of(mesh, s, 200)
    assert np.array_equal(g.points, again.points) and len(g.points) == 200
    distance = np.linalg.norm(g.points[:, None] - g.points[None], axis=2) + np.eye(200) * 1e9
    typical = np.sqrt(measures(mesh, 2).sum() / 200)
    assert distance.min() > 0.35 * typical  # random points would come as near as 0.05
    expected = np.einsum("gc,gcd->gd", g.bary, s.mesh_points[mesh.complex.simplices(2)[g.cell]])
    assert np.allclose(g.points, expected)


@pytest.mark.parametrize("name", ["torus", "double_torus", "annulus", "klein", "moebius", "theta_circle"])
def test_generators_become_closed_walks_that_sum_to_the_cycle(name):
    mesh = hsd.gallery(name, 400)
    cx = mesh.complex
    cycles = Homology(cx).cycles(1)
    assert cycles.shape[1] > 0
    for j in range(cycles.shape[1]):
        total = np.zeros(cx.n(1))
        for loop in arrays.loops_of_chain(cx.simplices(1), cycles[:, j]):
            edges, sign = cx.find(np.column_stack([loop, np.roll(loop, -1)]))
            assert (edges >= 0).all() and len(set(loop.tolist())) == len(loop)
            np.add.at(total, edges, sign)
        assert np.array_equal(total, np.rint(cycles[:, j]))


def test_a_chain_with_a_boundary_is_refused():
    with pytest.raises(InputError) as caught:
        arrays.loops_of_chain(np.array([[0, 1], [1, 2]]), np.array([1, 1]))
    assert caught.value.kind == "not_a_cycle"


@pytest.mark.parametrize("name", ["torus", "sphere", "disk"])
def test_arrows_of_an_exact_form_are_the_gradient(name):
    mesh = hsd.gallery(name, 1500)
    s = build.surface_of(mesh)
    g = build.glyphs_of(mesh, s, 150)
    edges = mesh.complex.simplices(1)
    u = mesh.points3 @ [0.3, -0.5, 0.8]
    form = (u[edges[:, 1]] - u[edges[:, 0]])[:, None]
    found = build.glyph_columns(mesh, g, 1, form).values[:, :, 0]
    direction = np.array([0.3, -0.5, 0.8])
    expected = direction - (g.normals @ direction)[:, None] * g.normals  # its tangential part
    assert np.allclose(found, expected, atol=1e-10)


def test_densities_are_coloured_by_face_and_vectors_by_vertex():
    mesh = hsd.gallery("sphere", 500)
    area = measures(mesh, 2) * mesh.orientation
    assert np.allclose(build.form_columns(mesh, 2, area[:, None]).values, 1.0)
    assert build.form_columns(mesh, 2, area[:, None]).where == "face"
    assert build.form_columns(mesh, 1, np.zeros((mesh.complex.n(1), 2))).values.shape == (mesh.complex.n(0), 3, 2)


def test_graphs_and_points_are_drawn_and_meshes_without_positions_refused():
    graph = Mesh.from_cells(np.random.default_rng(0).random((5, 3)), np.array([[0, 1], [1, 2], [2, 0]]))
    s = build.surface_of(graph)
    assert len(s.triangles) == 0 and len(s.edges) == 3 and len(s.dots) == 2
    flat = hsd.gallery("flat_torus", 200)
    if flat.points is None:
        with pytest.raises(MetricError):
            build.surface_of(flat)
    assert len(build.surface_of(flat, points=np.random.default_rng(0).random((flat.complex.n_vertices, 3))).triangles)


def test_highlight_numbers_the_lists():
    values, names = build.highlight(5, {"a": [0, 1], "b": [1, 4]})
    assert list(values) == [1, 2, 0, 0, 2] and names == ("none", "a", "b")
