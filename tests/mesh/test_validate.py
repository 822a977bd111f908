"""Each validator finds its own defect, is silent on a sound mesh, and answers alike at every scale; facts of solids."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import Notice, UnknownNameError
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.cotan import cotan_weights
from hsd.mesh.facts import facts
from hsd.mesh.manifold import nonmanifold_edges, nonmanifold_vertices
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import GALLERY, gallery
from hsd.mesh.quality import dihedral_angles, face_angles, mean_ratios
from hsd.mesh.validate import VALIDATORS, validate
from tests.mesh.small_files import CUBE, TRIANGLES, cube, cube_tets

ALL = {name: gallery(name, 60) for name in GALLERY if not name.startswith("car")}
SMALL = {name: mesh for name, mesh in ALL.items() if mesh.dim > 1 and len(mesh.complex.nonmanifold_facets) == 0}
OCTA = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1.0]])
OCTA_FACES = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
PLANE = np.random.default_rng(0).uniform(size=(40, 2)) * [1, 0.5]


def mesh(points, faces, **more) -> Mesh:
    return Mesh.from_cells(np.asarray(points, float), np.asarray(faces), **more)


def flipped() -> Mesh:
    faces = OCTA_FACES.copy()
    faces[3] = faces[3][::-1]
    return mesh(OCTA, faces)


def moebius() -> Mesh:
    t = np.arange(8) * np.pi / 4
    points = [
        ((2 + s * np.cos(a / 2)) * np.cos(a), (2 + s * np.cos(a / 2)) * np.sin(a), s * np.sin(a / 2))
        for a in t
        for s in (-1, 1)
    ]
    faces = []
    for i in range(8):
        a, b = 2 * i, 2 * i + 1
        c, d = (2 * i + 2, 2 * i + 3) if i < 7 else (1, 0)
        faces += [[a, c, b], [b, c, d]]
    return mesh(points, faces)


def pinched_tets() -> Mesh:
    """Two tetrahedra that share one edge only: every face has one tet, but the link of the edge is not connected."""
    points = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0], [-1, 0, 0], [-1, -1, 0]]
    return mesh(points, [[0, 1, 2, 3], [0, 1, 4, 5]])


def mixed(cells: dict[int, list], n: int) -> Mesh:
    cx = SimplicialComplex.from_simplices(n, {k: np.array(rows) for k, rows in cells.items()})
    return Mesh(cx, np.random.default_rng(3).standard_normal((n, 3)))


FAN = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, -1, 0], [3, 3, 3]]
FLAT_TETS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
BAD = {
    "nonmanifold_edge": (mesh(FAN[:5], [[0, 1, 2], [0, 1, 3], [0, 1, 4]]), "edge (0, 1), which has 3 faces", (0,)),
    "nonmanifold_facet": (
        mesh(FAN[:3] + FAN[3:] , [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]]), "face (0, 1, 2)", (0,)),
    "nonmanifold_vertex": (mesh(np.concatenate([OCTA, OCTA[1:] + [2, 0, 0]]), np.concatenate(
        [OCTA_FACES, np.where(OCTA_FACES == 1, 0, OCTA_FACES + 5 + (OCTA_FACES == 0))])), "first is vertex 0", (0,)),
    "inconsistent_orientation": (flipped(), "1 of 8 cells", None),
    "non_orientable": (moebius(), "non-orientable", ()),
    "zero_area_face": (mesh([[0, 0], [1, 0], [2, 0], [0, 1]], [[0, 1, 2], [0, 2, 3]]), "vertices (0, 1, 2)", (0,)),
    "zero_volume_tet": (mesh(FLAT_TETS, [[0, 1, 2, 3], [0, 1, 2, 4]]), "vertices (0, 1, 2, 3)", (0,)),
    "zero_length_edge": (mesh([[0, 0], [0, 0], [1, 0]], [[0, 1], [1, 2]]), "edge (0, 1)", (0,)),
    "negative_cotan_weight": (mesh([[0, 0], [4, 0], [2, 1], [2, -1]], [[0, 1, 2], [1, 0, 3]]), "edge (0, 1)", (0,)),
    "zero_cotan_weight": (mesh([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]]), "edge (0, 2)", (1,)),
    "non_finite_field": (mesh(OCTA, OCTA_FACES, cell_fields={"p": [0, 1, np.nan, 3, 4, np.inf, 6, 7.0]}),
                         "2 of 8", (2, 5)),
    "poor_quality": (mesh([[0, 0], [1000, 0], [500, 1]], [[0, 1, 2]]), "first is cell 0", (0,)),
    "several_components": (mesh(np.concatenate([OCTA, OCTA + 5]), np.concatenate([OCTA_FACES, OCTA_FACES + 6])),
                           "2 connected", ()),
    "isolated_vertices": (mixed({2: [[0, 1, 2]]}, 4), "first is vertex 3", (3,)),
    "mixed_dimension": (mixed({2: [[0, 1, 2]], 1: [[2, 3]]}, 4), "1 edge(s) in no face", None),
}  # fmt: skip


def test_every_validator_has_a_bad_input():
    assert set(BAD) == set(VALIDATORS)


@pytest.mark.parametrize("kind", BAD)
def test_validator_catches_its_defect_and_names_it(kind):
    bad, says, ids = BAD[kind]
    found = validate(bad, (kind,))
    assert [type(n) for n in found] == [Notice] and found[0].kind == kind
    assert says in found[0].message and "\n" not in found[0].message
    if ids is not None:
        assert found[0].ids == ids
    assert kind in {n.kind for n in validate(bad)}


@pytest.mark.parametrize("kind", BAD)
def test_validators_do_not_depend_on_the_unit(kind):
    bad = BAD[kind][0]
    for scale in (1e-4, 1e7):
        other = Mesh(bad.complex, bad.points * scale, winding=bad.winding, cell_fields=bad.cell_fields)
        assert [(n.kind, n.ids) for n in validate(other)] == [(n.kind, n.ids) for n in validate(bad)]


def test_sound_meshes_get_no_notice():
    assert validate(mesh(OCTA, OCTA_FACES)) == ()
    assert validate(mesh(OCTA, OCTA_FACES, point_fields={"u": np.arange(6.0)}, cell_fields={"tag": np.arange(8)})) == ()
    assert validate(cube_tets()) == ()


def test_only_meshes_that_are_meant_to_be_are_non_manifold():
    found = {n for n, m in ALL.items() if {"nonmanifold_edge", "nonmanifold_vertex"} & {x.kind for x in validate(m)}}
    assert found == {n for n, m in ALL.items() if len(m.complex.nonmanifold_facets) and m.dim > 1} and len(SMALL) > 12


@pytest.mark.parametrize("name", SMALL)
def test_gallery_has_no_structural_defect(name):
    kinds = {n.kind for n in validate(SMALL[name])}
    known = {"negative_cotan_weight", "zero_cotan_weight", "non_orientable", "several_components"}
    assert kinds <= known
    assert ("non_orientable" in kinds) == (SMALL[name].complex.orientation is None)


def test_unknown_validator_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="nonmanifold_edge"):
        validate(cube(), ("abc",))


def test_several_defects_are_all_found():
    points = np.concatenate([FAN[:5], np.array([[5, 5, 5], [6, 5, 5], [7, 5, 5]])])
    both = mesh(points, [[0, 1, 2], [0, 1, 3], [0, 1, 4], [5, 6, 7]])
    assert {"nonmanifold_edge", "zero_area_face", "several_components"} <= {n.kind for n in validate(both)}


# ---- links ---------------------------------------------------------------------------------------------------------


def test_edge_test_alone_misses_the_bow_tie():
    bow = BAD["nonmanifold_vertex"][0]
    assert len(nonmanifold_edges(bow.complex)) == 0 and nonmanifold_vertices(bow.complex).tolist() == [0]


def test_tets_that_share_an_edge_only_are_caught_by_its_link():
    pinched = pinched_tets()
    assert len(pinched.complex.nonmanifold_facets) == 0
    assert pinched.complex.simplices(1)[nonmanifold_edges(pinched.complex)].tolist() == [[0, 1]]
    assert nonmanifold_vertices(pinched.complex).tolist() == [0, 1]
    assert not facts(pinched)["edge_manifold"]


def cone(surface: Mesh) -> SimplicialComplex:
    """All faces of a surface joined to one new vertex; its link is the surface."""
    n = surface.complex.n_vertices
    faces = surface.complex.simplices(2)
    return SimplicialComplex.from_simplices(n + 1, {3: np.column_stack([faces, np.full(len(faces), n)])})


@pytest.mark.parametrize("name", [n for n, m in SMALL.items() if m.dim == 2])
def test_cone_is_a_manifold_at_its_tip_just_for_spheres_and_disks(name):
    cx = SMALL[name].complex
    good = cx.n_components == 1 and cx.euler_characteristic == (1 if cx.has_boundary else 2)
    bad = nonmanifold_vertices(cone(SMALL[name]))
    assert (cx.n_vertices in bad.tolist()) == (not good)
    assert set(bad.tolist()) <= {cx.n_vertices}


def test_cone_over_the_projective_plane_is_no_manifold():
    plane = [
        [0, 1, 2],
        [0, 2, 3],
        [0, 3, 4],
        [0, 4, 5],
        [0, 1, 5],
        [1, 2, 4],
        [2, 3, 5],
        [1, 3, 4],
        [2, 4, 5],
        [1, 3, 5],
    ]
    surface = mesh(np.random.default_rng(0).standard_normal((6, 3)), plane)
    assert surface.complex.euler_characteristic == 1 and not surface.complex.has_boundary
    assert nonmanifold_vertices(cone(surface)).tolist() == [6]


# ---- facts, cotangents, quality --------------------------------------------------------------------------------------


def test_facts_of_the_cube_and_of_its_solid():
    shell, solid = facts(cube()), facts(cube_tets())
    assert (shell["closed"], shell["genus"], shell["volume"], shell["area"]) == (
        True,
        0,
        pytest.approx(1),
        pytest.approx(6),
    )
    assert (solid["T"], solid["volume"], solid["area"]) == (5, pytest.approx(1), pytest.approx(6))
    assert (solid["closed"], solid["boundary_loops"], solid["boundary_edges"], solid["genus"]) == (False, 1, 18, None)


@pytest.mark.parametrize("name", SMALL)
def test_genus_is_what_chi_and_loops_say(name):
    found = facts(SMALL[name])
    if found["genus"] is not None:
        assert found["chi"] == 2 - 2 * found["genus"] - found["boundary_loops"]
        assert found["orientable"] and found["components"] == 1
    else:
        assert SMALL[name].dim != 2 or found["components"] > 1 or not found["orientable"]


def test_volume_does_not_depend_on_winding_or_place():
    for faces in (TRIANGLES, TRIANGLES[:, ::-1]):
        assert facts(mesh(CUBE + 1e6, faces))["volume"] == pytest.approx(1.0, rel=1e-9)
    assert facts(mesh(PLANE[:3], [[0, 1, 2]]))["volume"] is None


def test_graph_has_no_surface_facts():
    found = facts(mesh(CUBE, [[0, 1], [1, 2], [2, 0]]))
    assert [found[k] for k in ("closed", "orientable", "edge_manifold", "genus", "area", "volume")] == [None] * 6
    assert found["quality"]["edge_max"] == pytest.approx(2**0.5) and found["quality"]["min_angle"] is None
    bare = facts(Mesh(SimplicialComplex.from_simplices(3, {1: np.array([[0, 1]])})))
    assert (bare["V"], bare["quality"]) == (3, None)


def test_angles_of_each_face_sum_to_180_and_cotangents_are_theirs():
    for name in ("sphere", "torus"):
        m = SMALL[name]
        angles = face_angles(m)
        assert np.allclose(angles.sum(axis=1), 180.0, atol=1e-9)
        weight = 0.5 * np.bincount(m.complex.faces(2).ravel(), 1 / np.tan(np.radians(angles)).ravel())
        assert np.allclose(weight, cotan_weights(m), atol=1e-10)


def test_dihedral_angles_and_mean_ratio_of_regular_and_corner_tets():
    regular = mesh([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [[0, 1, 2, 3]])
    assert np.allclose(dihedral_angles(regular), np.degrees(np.arccos(1 / 3)))
    assert mean_ratios(regular, 3)[0] == pytest.approx(1.0)
    corner = mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    tilt = np.degrees(np.arccos(3**-0.5))
    assert np.allclose(np.sort(dihedral_angles(corner)[0]), [tilt] * 3 + [90] * 3)
    assert mean_ratios(corner, 3)[0] == pytest.approx(12 * 0.5 ** (2 / 3) / 9)
    equilateral = mesh([[0, 0], [1, 0], [0.5, 0.75**0.5]], [[0, 1, 2]])
    assert mean_ratios(equilateral, 2)[0] == pytest.approx(1.0)
