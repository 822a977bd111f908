"""Every shared case of mesh input (I) and numerics (N), and every real mesh: facts, warnings and errors as listed.

Case by case from the manifests; where one case has several files and the facts are those of one of them, or those of a
documented choice, the exception is written out below with its reason.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from hsd.errors import HsdError
from hsd.mesh.facts import facts
from hsd.mesh.io import load_mesh
from hsd.mesh.validate import validate
from tests.conftest import shared_folder

FOLDER = shared_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="no folder of shared cases (set HSD_SHARED)")

FILES = FOLDER / "cases" / "files" / "shareable" if FOLDER else None
MANIFEST = json.loads((FILES / "manifest.json").read_text())["cases"] if FOLDER else []
REAL = FOLDER / "cases" / "real_meshes" if FOLDER else None
TRUTH = json.loads((REAL / "ground_truth.json").read_text()) if FOLDER else {}
CASES = [
    pytest.param(case, name, id=f"{case['id']}-{name}")
    for case in MANIFEST
    if case["group"] in "IN"
    for name in case["files"]
]

ANOTHER_FILES_FACTS = {
    "N02_right_triangles_1x1.off": {"V": 4, "E": 5, "F": 2, "boundary_edges": 4},  # the manifest lists the 8×8 grid
    "I24_torus_mm_as_m.off": {"area": 112.16519657447074e-6},  # the same torus in other units
    "I24_torus_km_as_m.off": {"area": 112.16519657447074e6},
    "I36_points_only.ply": {"V": 162},  # 167 points in the file, 162 distinct
    "I36_points.xyz": {"V": 162},
    "N18_triangle_loop_isolated.vtk": {"V": 5, "chi": 0, "components": 1},  # the isolated point is dropped by default
}
NOT_FACTS_OF_A_MESH = {"betti_Q", "betti_GF2", "betti_filled", "betti_hollow", "V_distinct"}
BETTI_OF_GOOD_RECONSTRUCTION = "betti_of_a_good_reconstruction"


def expected_facts(case: dict, name: str) -> dict:
    listed = {**case["facts"], **ANOTHER_FILES_FACTS.get(name, {})}
    return {k: v for k, v in listed.items() if k not in NOT_FACTS_OF_A_MESH and k != BETTI_OF_GOOD_RECONSTRUCTION}


@pytest.mark.parametrize("case, name", CASES)
def test_case_gives_listed_facts_warning_or_error(case, name):
    expect = case["expect"]
    if name == "N10_flow.csv":  # a field on the edges of N10_annulus.off; as a mesh it is the graph of these edges
        assert load_mesh(FILES / name).complex.counts == (48, 112)
        return
    if expect["status"] == "error":
        with pytest.raises(HsdError) as caught:
            load_mesh(FILES / name)
        assert caught.value.kind == expect["error_kind"]
        assert "\n" not in caught.value.message and len(caught.value.message) < 400
        return
    mesh = load_mesh(FILES / name)
    found, listed = facts(mesh), expected_facts(case, name)
    for key, value in listed.items():
        if isinstance(value, float):
            assert found[key] == pytest.approx(value, rel=1e-6), key
        else:
            assert found[key] == value, key
    kinds = {n.kind for n in (*mesh.notices, *validate(mesh))}
    if "error_kind" in expect and expect["error_kind"] != "k_capped":  # k_capped is for the request, not the mesh
        assert expect["error_kind"] in kinds


def test_case_list_is_complete():
    assert len(CASES) == 64 and len({c.values[0]["id"] for c in CASES}) == 37


@pytest.mark.parametrize("name", TRUTH)
def test_real_mesh_agrees_with_ground_truth(name):
    truth = TRUTH[name]
    listed = truth["welded_1e-6_box"]
    if listed == "same as welded_exact":
        listed = truth["welded_exact"]
    if isinstance(listed, str):
        listed = truth["as_indexed"]
    found = facts(load_mesh(REAL / name))
    listed = {**listed, "boundary_loops": listed["boundary_loops_or_pieces"]}
    common = [k for k in listed if k in found]
    assert len(common) >= 11
    assert {k: found[k] for k in common} == {k: listed[k] for k in common}


def test_glb_as_indexed_agrees_with_ground_truth():
    truth = TRUTH["trimesh_CesiumMilkTruck.glb"]
    mesh = load_mesh(REAL / "trimesh_CesiumMilkTruck.glb", weld=0)
    found, listed = facts(mesh), truth["as_indexed"]
    assert {k: found[k] for k in listed if k in found} == {k: listed[k] for k in listed if k in found}
    box = np.linalg.norm(np.ptp(mesh.points, axis=0))
    assert box == pytest.approx(truth["box_diagonal"], rel=1e-6)


def test_out_of_range_message_names_face_and_index():
    with pytest.raises(HsdError, match=r"Face 4 .* index 8 of 7"):
        load_mesh(FILES / "I09_index_out_of_range.obj")


def test_dropped_point_is_named_and_no_face_is_pointed_elsewhere():
    mesh = load_mesh(FILES / "I12_nan_vertex.ply")
    (notice,) = [n for n in mesh.notices if n.kind == "non_finite_vertex"]
    assert notice.ids == (8,) and "vertex 8" in notice.message and "2 cell(s)" in notice.message
    assert mesh.vertex_of_file_point.tolist() == [*range(8), -1]
    assert mesh.face_of_file_cell[-2:].tolist() == [-1, -1] and (mesh.face_of_file_cell[:-2] >= 0).all()


def test_cell_tag_of_a_quad_reaches_both_halves():
    mesh = load_mesh(FILES / "I28_mixed_cells.vtu")
    tags = mesh.cell_fields["tag"][mesh.cell_of_simplex[2]]
    assert sorted(tags.tolist()) == [10, 10, 20, 30]
    edge = np.flatnonzero(mesh.cell_of_simplex[1] >= 0)
    assert mesh.complex.simplices(1)[edge].tolist() == [[2, 6]] and mesh.cell_of_simplex[1][edge].tolist() == [3]
    assert mesh.vertex_field("p").tolist() == list(range(7))


def test_loose_points_are_kept_on_demand():
    kept = facts(load_mesh(FILES / "I13_unreferenced.off", keep_loose=True))
    assert (kept["V"], kept["components"], kept["vertex_manifold"]) == (7, 4, True)
    kept = facts(load_mesh(FILES / "N18_triangle_loop_isolated.vtk", keep_loose=True))
    listed = next(c for c in MANIFEST if c["id"] == "N18")["facts"]
    assert {k: kept[k] for k in listed if k in kept} == pytest.approx({k: listed[k] for k in listed if k in kept})


def test_soup_is_welded_by_position_even_without_a_tolerance():
    assert load_mesh(FILES / "I01_soup_CUBE.STL", weld=0).complex.counts == (8, 18, 12)


def test_far_from_origin_keeps_every_bit():
    mesh = load_mesh(FILES / "I26_far_from_origin.ply")
    case = next(c for c in MANIFEST if c["id"] == "I26")
    assert np.array_equal(np.unique(mesh.points - case["offset"]), [0.0, 1.0])
    assert facts(mesh)["volume"] == pytest.approx(1.0, abs=1e-9)


def test_kite_weight_is_minus_2_4():
    from hsd.mesh.cotan import cotan_weights

    mesh = load_mesh(FILES / "N01_obtuse_kite.off")
    edge = mesh.complex.find(np.array([[0, 1]]))[0][0]
    assert cotan_weights(mesh)[edge] == pytest.approx(-2.4, rel=1e-12)
    (notice,) = validate(mesh, ("negative_cotan_weight",))
    assert notice.ids == (edge,) and "(0, 1)" in notice.message and "-2.4" in notice.message
