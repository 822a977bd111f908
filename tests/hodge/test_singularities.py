"""Poincaré–Hopf: indices of any field are whole numbers that sum to χ, with the boundary's turns where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.dec.de_rham import de_rham
from hsd.errors import InputError, TopologyError
from hsd.hodge.compose import Composer, Composition, Point
from hsd.hodge.presets import preset
from hsd.hodge.singularities import TangentFrames, singularities
from hsd.hodge.solver import HodgeSolver
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import GALLERY
from tests.meshes import CONDITIONS, mesh_of, variants_last

SURFACES = [n for n, e in GALLERY.items() if e.dim == 2 and e.manifold]


@pytest.mark.parametrize("name", variants_last(SURFACES))
def test_indices_and_boundary_turns_sum_to_the_euler_characteristic(name):
    mesh = mesh_of(name, 200)
    frames = TangentFrames(mesh)
    solver = HodgeSolver(mesh)
    fields = [np.random.default_rng(i).standard_normal(mesh.complex.n(1)) for i in range(3)]
    fields += [np.zeros(mesh.complex.n(1)), Composer(solver).form(preset("mixture", mesh, 1, solver.betti[1]))]
    fields += list(solver.harmonic(1).orthonormal.T)
    for omega in fields:
        found = frames.find(omega)
        assert found.holds and found.chi == GALLERY[name].euler_characteristic
        assert found.index.sum() == found.total and (found.index != 0).all()
        if GALLERY[name].closed:
            assert found.boundary == 0


@pytest.mark.parametrize("name", variants_last(SURFACES))
def test_the_turns_before_rounding_are_whole_numbers(name):
    mesh = mesh_of(name, 200)
    frames = TangentFrames(mesh)
    turn = frames.turns(np.random.default_rng(0).standard_normal(mesh.complex.n(1))).reshape(-1, 3).sum(axis=1)
    angles = frames.corner_angles[: frames.n_faces].sum(axis=1) - np.pi
    exact = (turn + angles) / (2 * np.pi)
    assert np.abs(exact - np.rint(exact)).max() < 1e-9
    curvature = angles.sum()
    assert abs(curvature / (2 * np.pi) - mesh.complex.euler_characteristic) < 1e-9


@pytest.mark.parametrize("name", ["torus", "flat_torus"])
def test_a_harmonic_field_of_the_torus_has_no_zeros(name):
    solver = HodgeSolver(mesh_of(name, 500))
    for gamma in solver.harmonic(1).orthonormal.T:
        assert len(singularities(solver.mesh, gamma).face) == 0


@pytest.mark.parametrize("kind,words", [("vortex", {"vortex ↺", "vortex ↻"}), ("source", {"source", "sink"})])
def test_one_point_on_the_sphere_and_its_counterpart_are_the_only_zeros(kind, words):
    mesh = mesh_of("sphere", 500)
    point = Point("p1", kind, 40, (0.3, 0.3, 0.4))
    found = singularities(mesh, Composer(HodgeSolver(mesh)).form(Composition(1, mesh.content_hash, (point,))))
    assert set(found.word) == words and found.index.tolist() == [1, 1]
    middle = mesh.points[mesh.complex.simplices(2)].mean(axis=1)
    distance = np.linalg.norm(middle[found.face] - middle[40], axis=1)
    assert distance.min() < 0.2 and distance.max() > 1.8
    near = found.word[int(np.argmin(distance))]
    assert near in ("vortex ↺", "source")


@pytest.mark.parametrize("power,word", [(-1, "saddle"), (-2, ""), (2, ""), (1, "source")])
def test_polynomial_fields_on_the_square_have_their_index(power, word):
    """u = z^p (z̄^|p| for negative p) has one zero of index p; its boundary turns make up for it."""
    mesh = mesh_of("square", 500)
    centre = mesh.points.mean(axis=0) + np.array([0.0131, -0.0083, 0.0])[: mesh.points.shape[1]]

    def u(p):
        z = (p - centre)[:, :2] @ np.array([1, 1j])
        w = (z if power > 0 else z.conj()) ** abs(power)
        return np.column_stack([w.real, w.imag, 0 * w.real])[:, : p.shape[1]]

    found = singularities(mesh, de_rham(mesh, 1, u))
    assert found.total == power and found.boundary == 1 - power and found.holds
    if abs(power) == 1:
        assert found.word == (word,)


@pytest.mark.parametrize("bc", CONDITIONS)
def test_tangential_and_normal_fields_have_no_boundary_term(bc):
    solver = HodgeSolver(mesh_of("disk_three_holes", 800), bc=bc)
    gamma = solver.harmonic(1).dual @ np.ones(3)
    found = singularities(solver.mesh, solver.dec.extend(1, gamma))
    assert found.holds
    assert found.boundary == 0 and found.total == -2


def test_a_component_without_field_gives_no_single_zeros():
    solver = HodgeSolver(mesh_of("two_components", 300))
    found = singularities(solver.mesh, solver.harmonic(1).orthonormal[:, 0])
    assert found.holds and set(found.word) == {"field vanishes"} and found.total == 2


@pytest.mark.parametrize("name,kind", [("book", "non_manifold"), ("ball", "dimension")])
def test_other_meshes_are_refused_by_name(name, kind):
    with pytest.raises(TopologyError) as caught:
        TangentFrames(mesh_of(name, 60))
    assert caught.value.kind in (kind, "non_orientable")


def test_wrong_shapes_are_refused():
    with pytest.raises(InputError, match="1-form"):
        singularities(mesh_of("sphere", 60), np.zeros(3))


@pytest.mark.parametrize("name", ["klein", "rp2", "moebius"])
def test_frames_of_a_non_orientable_surface_stand_on_its_connected_double_cover(name):
    mesh = mesh_of(name, 200)
    frames = TangentFrames(mesh)
    assert frames.n_vertices == 2 * mesh.complex.n_vertices and not frames.oriented
    cover = Mesh.from_cells(None, frames.faces, lengths2=np.ones(frames.edge.max() + 1))
    assert cover.orientation is not None and cover.complex.n_components == 1
    assert cover.complex.euler_characteristic == 2 * mesh.complex.euler_characteristic
    half = {tuple(e) for e in np.column_stack([frames.tail, frames.head]).tolist()}
    assert len(half) == 6 * mesh.complex.n(2)  # no two triangles run an edge the same way: consistently oriented
    assert (np.sort(frames.base_vertex[frames.faces], axis=1) == np.tile(mesh.complex.simplices(2), (2, 1))).all()


@pytest.mark.parametrize("n", [200, 800])
def test_a_quadratic_form_on_the_projective_plane_has_one_source_one_saddle_and_one_sink(n):
    """A quadratic form on the sphere is even; its critical points are its three axes: 1 − 1 + 1 = χ(RP²)."""
    mesh = mesh_of("rp2", n)
    values = mesh.points @ [1.0, 2.0, 4.0, 0.3, 0.2, 0.5]  # the embedding is by the products of two coordinates
    found = singularities(mesh, HodgeSolver(mesh).dec.d(0) @ values)
    assert sorted(found.word) == ["saddle", "sink", "source"] and found.total == found.chi == 1


@pytest.mark.parametrize("name", ["torus", "sphere", "annulus"])
def test_the_cover_gives_the_indices_of_the_orientation(name, monkeypatch):
    mesh = mesh_of(name, 200)
    fields = [np.random.default_rng(i).standard_normal(mesh.complex.n(1)) for i in range(3)]
    wanted = [singularities(mesh, omega) for omega in fields]
    monkeypatch.setitem(vars(mesh), "orientation", None)
    frames = TangentFrames(mesh)
    assert not frames.oriented
    for omega, one in zip(fields, wanted, strict=True):
        found = frames.find(omega)
        assert np.array_equal(found.face, one.face) and np.array_equal(found.index, one.index)
        assert found.boundary == one.boundary
        assert found.word == tuple(w.removesuffix(" ↺").removesuffix(" ↻") for w in one.word)


def test_a_harmonic_field_of_the_klein_bottle_has_no_zeros():
    solver = HodgeSolver(mesh_of("klein", 500))
    found = singularities(solver.mesh, solver.harmonic(1).orthonormal[:, 0])
    assert found.holds and found.total == 0
