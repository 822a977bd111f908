"""Repair: each step does what it says, topology changes only as stated, and the maps to the file still hold."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import MetricError, TopologyError, UnknownNameError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.facts import facts
from hsd.mesh.io import load_mesh_bytes
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import GALLERY, gallery
from hsd.mesh.repair import STEPS, boundary_cycles, repair
from tests.mesh.small_files import CUBE, TRIANGLES, cube, cube_tets
from tests.mesh.test_validate import BAD, OCTA, OCTA_FACES, flipped

TOPOLOGY = ("chi", "components", "boundary_loops", "closed", "orientable", "edge_manifold", "vertex_manifold", "genus")
SURFACES = {
    n: m
    for n in GALLERY
    if not n.startswith("car") and (m := gallery(n, 60)).dim == 2 and m.points is not None and facts(m)["edge_manifold"]
}
INNER = {  # a face without boundary vertices
    n: int(inner[0])
    for n, m in SURFACES.items()
    if len(inner := np.flatnonzero(~m.complex.on_boundary(0)[m.complex.simplices(2)].any(axis=1)))
}


def topology(mesh: Mesh) -> dict:
    found = facts(mesh)
    return {k: found[k] for k in TOPOLOGY}


def assert_maps_hold(before: Mesh, after: Mesh):
    """Every file point that is still there has the vertex that stands where it stood, up to the step's own moves."""
    old, new = before.vertex_of_file_point, after.vertex_of_file_point
    old = np.arange(before.complex.n_vertices) if old is None else old
    assert new.shape == old.shape and new.max() < after.complex.n_vertices
    same = np.flatnonzero((new >= 0) & (old >= 0))
    assert np.allclose(after.points[new[same]], before.points[old[same]], atol=1e-6)
    assert [len(c) for c in after.cell_of_simplex] == list(after.complex.counts)
    tops = np.flatnonzero(after.face_of_file_cell >= 0)
    assert (after.cell_of_simplex[after.dim][after.face_of_file_cell[tops]] >= 0).all()


def with_flat_faces(mesh: Mesh, seed: int, kind: str) -> Mesh:
    """A surface with some faces split so that a new face has no area; same topology."""
    rng = np.random.default_rng(seed)
    points, faces = mesh.points.tolist(), mesh.oriented_cells().tolist()
    used: set[int] = set()
    for i in rng.permutation(len(faces))[: max(len(faces) // 8, 1)]:
        a, b, c = faces[i]
        if used & {a, b, c}:
            continue
        used |= {a, b, c}
        new = len(points)
        if kind == "cap":  # a point on edge bc, whose other face keeps the whole edge
            points.append(((np.array(points[b]) + np.array(points[c])) / 2).tolist())
        else:  # a point on top of corner a
            points.append(list(points[a]))
        faces[i] = [a, b, new]
        faces += [[b, c, new], [c, a, new]]
    return Mesh.from_cells(np.array(points), np.array(faces), name=mesh.name)


@pytest.mark.parametrize("kind", ("cap", "needle"))
@pytest.mark.parametrize("name", SURFACES)
def test_collapse_removes_flat_faces_and_keeps_topology(name, kind):
    bad = with_flat_faces(SURFACES[name], 1, kind)
    assert facts(bad)["zero_area_faces"] > 0
    mended, (notice,) = repair(bad, ("collapse",))
    assert facts(mended)["zero_area_faces"] == 0 and "0 such faces remain" in notice.message
    assert topology(mended) == topology(bad)
    assert facts(mended)["area"] == pytest.approx(facts(bad)["area"], rel=1e-6)
    assert facts(mended)["consistently_oriented"] == facts(bad)["consistently_oriented"]
    assert_maps_hold(bad, mended)


def test_collapse_refuses_what_would_change_topology():
    """A tetrahedron whose four faces are flat: no collapse or flip keeps a sphere."""
    flat = Mesh.from_cells(
        np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0.0]]), np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    )
    same, (notice,) = repair(flat, ("collapse",))
    assert topology(same) == topology(flat) and "4 such faces remain" in notice.message


def test_orient_agrees_everywhere_and_changes_nothing_else():
    bad = flipped()
    mended, (notice,) = repair(bad, ("orient",))
    assert notice.kind == "oriented" and len(notice.ids) == 1
    assert facts(mended)["consistently_oriented"] and not facts(bad)["consistently_oriented"]
    assert topology(mended) == topology(bad) and mended.content_hash == bad.content_hash
    with pytest.raises(TopologyError) as caught:
        repair(BAD["non_orientable"][0], ("orient",))
    assert caught.value.kind == "non_orientable"


def test_split_takes_a_bow_tie_apart():
    bow = BAD["nonmanifold_vertex"][0]
    mended, (notice,) = repair(bow, ("split",))
    found = facts(mended)
    assert (found["components"], found["chi"], found["vertex_manifold"]) == (2, 4, True)
    assert notice.ids == (0,) and found["F"] == 16 and found["area"] == pytest.approx(facts(bow)["area"])
    assert_maps_hold(bow, mended)


def test_split_takes_the_pages_of_a_book_apart():
    book = BAD["nonmanifold_edge"][0]
    mended, _ = repair(book, ("split",))
    found = facts(mended)
    assert (found["components"], found["nonmanifold_edges"], found["nonmanifold_vertices"]) == (3, 0, 0)


@pytest.mark.parametrize("name", INNER)
def test_filling_a_hole_adds_one_to_chi(name):
    whole = SURFACES[name]
    keep = np.ones(whole.complex.n(2), bool)
    keep[INNER[name]] = False
    holed = Mesh.from_cells(whole.points, whole.oriented_cells()[keep])
    assert topology(holed)["boundary_loops"] == topology(whole)["boundary_loops"] + 1
    mended, (notice, *left) = repair(holed, ("fill_holes",), max_hole=3)
    assert notice.kind == "filled_holes" and topology(mended) == topology(whole)
    assert [n.kind for n in left] == ["holes_left"] * bool(boundary_cycles(whole))  # its own boundary stays
    assert np.array_equal(mended.complex.simplices(2), whole.complex.simplices(2))
    assert facts(mended)["consistently_oriented"] == facts(whole)["consistently_oriented"]
    assert_maps_hold(holed, mended)


def test_large_holes_and_occupied_ones_stay_open():
    annulus = SURFACES["annulus"]
    same, (notice,) = repair(annulus, ("fill_holes",), max_hole=3)
    assert same.complex.counts == annulus.complex.counts
    longest = max(len(loop) for loop in boundary_cycles(annulus))
    assert notice.kind == "holes_left" and f"2 holes with more than 3 edges stayed open; the longest has {longest}" in (
        notice.message
    )
    open_cube = Mesh.from_cells(CUBE, TRIANGLES[1:])
    mended, _ = repair(open_cube, ("fill_holes",))
    assert facts(mended)["closed"] and facts(mended)["volume"] == pytest.approx(1.0)


def test_largest_keeps_the_piece_with_most_faces():
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\n" + b"".join(b"v %g %g %g\n" % tuple(p + 5) for p in OCTA)
    text += b"f 1 2 3\n" + b"".join(b"f %d %d %d\n" % tuple(f + 4) for f in OCTA_FACES)
    both = load_mesh_bytes(text, "two.obj")
    mended, (notice,) = repair(both, ("largest",))
    assert mended.complex.counts == (6, 12, 8) and notice.kind == "largest_component"
    assert mended.vertex_of_file_point.tolist() == [-1, -1, -1, *range(6)]
    assert mended.face_of_file_cell[0] == -1 and sorted(mended.face_of_file_cell[1:]) == list(range(8))
    assert_maps_hold(both, mended)


def test_steps_compose_and_are_recorded_in_order():
    bow = BAD["nonmanifold_vertex"][0]
    mended, record = repair(bow, ("split", "largest", "orient"))
    assert [n.kind for n in record][:2] == ["split", "largest_component"]
    assert mended.notices == bow.notices + record and topology(mended)["genus"] == 0


@pytest.mark.parametrize("step", STEPS)
def test_a_sound_mesh_is_left_as_it_is(step):
    sound = cube()
    same, record = repair(sound, (step,))
    assert same is sound and record == ()


def test_non_manifold_edges_are_to_be_split_before_faces_are_turned():
    book = BAD["nonmanifold_edge"][0]
    with pytest.raises(TopologyError, match="'split' before 'orient'") as caught:
        repair(book, ("orient",))
    assert caught.value.kind == "nonmanifold"
    mended, _ = repair(book, ("split", "orient"))
    assert facts(mended)["consistently_oriented"]


def test_repair_refuses_what_it_cannot_do():
    with pytest.raises(UnknownNameError, match="fill_holes"):
        repair(cube(), ("magic",))
    with pytest.raises(TopologyError) as caught:
        repair(cube_tets(), ("orient",))
    assert caught.value.kind == "not_a_surface"
    with pytest.raises(MetricError) as caught:
        repair(Mesh(SimplicialComplex.from_simplices(3, {2: np.array([[0, 1, 2]])})), ("collapse",))
    assert caught.value.kind == "no_positions"
