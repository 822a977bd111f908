"""From raw files to meshes: welding and its guard, maps back to the file, notices, graphs and clouds."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import InputError
from hsd.mesh.build import build_mesh
from hsd.mesh.facts import facts
from hsd.mesh.raw import CellBlock, RawMesh
from hsd.mesh.weld import equal_positions, find_weld
from tests.mesh.small_files import CUBE, QUADS, TETS, TRIANGLES


def surface(points, faces, **more) -> RawMesh:
    return RawMesh(np.asarray(points, float), [CellBlock.of_rows("polygon", np.asarray(faces))], **more)


def kinds(mesh) -> list[str]:
    return [n.kind for n in mesh.notices]


def seamed(shift: float = 0.0) -> RawMesh:
    """The cube with a point of its own for each corner of each quad, displaced by up to ``shift``."""
    noise = np.random.default_rng(0).uniform(-shift, shift, (24, 3))
    return surface(CUBE[QUADS.ravel()] + noise, np.arange(24).reshape(6, 4))


@pytest.mark.parametrize("scale", (1e-6, 1.0, 1e6))
def test_weld_tolerance_is_relative_to_the_box(scale):
    for shift, counts in ((1e-9, (8, 18, 12)), (1e-4, (24, 30, 12))):
        raw = seamed(shift)
        raw.points = raw.points * scale
        assert build_mesh(raw).complex.counts == counts
    raw = seamed(1e-4)
    raw.points = raw.points * scale
    assert build_mesh(raw, weld=1e-3).complex.counts == (8, 18, 12)


def test_weld_says_how_many_points_were_joined_and_how_many_moved():
    (notice,) = build_mesh(seamed()).notices
    assert (
        notice.kind == "welded"
        and notice.message.startswith("16 points were joined")
        and "0 of them moved" in notice.message
    )
    raw = seamed()
    raw.points[23] += [1e-9, 0, 0]
    (notice,) = build_mesh(raw).notices
    assert "1 of them moved, by at most 1e-09" in notice.message


def test_weld_zero_leaves_seams_open():
    mesh = build_mesh(seamed(), weld=0)
    assert mesh.complex.counts == (24, 30, 12) and not mesh.notices


def two_sheets_that_touch(gap: float) -> RawMesh:
    """Two cubes above each other, a corner of one at a distance ``gap`` from a corner of the other."""
    return surface(np.concatenate([CUBE, CUBE + [1, 1, 1 + gap]]), np.concatenate([TRIANGLES, TRIANGLES + 8]))


def test_weld_that_would_break_manifoldness_is_not_done():
    for gap in (0.0, 1e-8):
        mesh = build_mesh(two_sheets_that_touch(gap))
        assert kinds(mesh) == ["weld_breaks_manifold"]
        assert mesh.complex.counts == (16, 36, 24) and facts(mesh)["vertex_manifold"]


def test_seams_are_still_closed_exactly_where_only_the_tolerance_breaks_manifoldness():
    raw = seamed()
    other = CUBE + [1, 1, 1 + 1e-8]
    raw = surface(np.concatenate([raw.points, other]), np.concatenate([raw.blocks[0].flat.reshape(6, 4), QUADS + 24]))
    mesh = build_mesh(raw)
    assert kinds(mesh) == ["weld_breaks_manifold", "welded"] and mesh.complex.counts == (16, 36, 24)


def test_weld_is_done_where_the_unwelded_mesh_is_no_better():
    raw = two_sheets_that_touch(0.0)
    bow = raw.blocks[0].flat.reshape(-1, 3)
    bow = np.where(bow == 8, 6, bow)  # the corner shared by index already
    mesh = build_mesh(surface(np.concatenate([raw.points, [[0, 0, 0]]]), np.concatenate([bow[1:], [[16, 2, 1]]])))
    assert "welded" in kinds(mesh)


def test_soup_is_identified_by_position_whatever_follows():
    points = np.concatenate([CUBE[TRIANGLES].reshape(-1, 3), (CUBE + 1)[TRIANGLES].reshape(-1, 3)])
    mesh = build_mesh(surface(points, np.arange(72).reshape(-1, 3)), weld=0)
    assert mesh.complex.counts == (15, 36, 24) and facts(mesh)["nonmanifold_vertices"] == 1


def test_stray_point_does_not_collapse_the_mesh():
    points = np.concatenate([CUBE * 1e-9, [[1e3, 0, 0], [1e3, 1, 0], [1e3, 0, 1]]])
    mesh = build_mesh(surface(points, np.concatenate([TRIANGLES, [[8, 9, 10]]])), weld=1e-6)
    assert facts(mesh)["F"] == 13 and kinds(mesh) == ["weld_too_wide"]
    points = np.concatenate([CUBE[QUADS.ravel()] * 1e-9, [[1e3, 0, 0], [1e3, 1, 0], [1e3, 0, 1]]])
    faces = np.concatenate([np.arange(24).reshape(6, 4)[:, [0, 1, 2]], np.arange(24).reshape(6, 4)[:, [0, 2, 3]]])
    mesh = build_mesh(surface(points, np.concatenate([faces, [[24, 25, 26]]])))
    assert facts(mesh)["F"] == 13 and facts(mesh)["V"] == 11 and kinds(mesh) == ["weld_too_wide", "welded"]


def test_crowded_tolerance_falls_back_to_equal_positions():
    points = np.random.default_rng(0).uniform(0, 1, (500, 3))
    found = find_weld(points, np.ones(500, bool), 0.9)
    assert found.crowded and found.n_merged == 0
    assert not find_weld(points, np.ones(500, bool), 1e-3).crowded


def test_weld_stands_for_the_first_point_and_joins_chains():
    points = np.array([[0.9, 0, 0], [0, 0, 0], [0.05, 0, 0], [0.1, 0, 0], [0.9, 0, 0], [-0.0, 0, 0]])
    assert find_weld(points, np.ones(6, bool), 0.06).label.tolist() == [0, 1, 1, 1, 0, 1]
    assert equal_positions(points).tolist() == [0, 1, 2, 3, 0, 1]


def test_cells_that_collapse_in_a_weld_are_counted():
    points = np.concatenate([CUBE, [CUBE[1] + 1e-9]])
    faces = np.concatenate([np.where(TRIANGLES == 1, 1, TRIANGLES), [[1, 8, 6]]])
    mesh = build_mesh(surface(points, faces))
    assert mesh.complex.counts == (8, 18, 12)
    (notice,) = mesh.notices
    assert "1 cell(s) collapsed" in notice.message and notice.ids == (12,)
    assert mesh.face_of_file_cell[12] == -1 and mesh.vertex_of_file_point[8] == 1


def test_maps_lead_from_file_to_mesh_and_back():
    raw = RawMesh(
        np.concatenate([[[9, 9, 9]], CUBE[QUADS.ravel()]]),
        [CellBlock.of_rows("polygon", np.arange(1, 25).reshape(6, 4))],
        {"id": np.arange(25)},
        {"tag": np.arange(6) * 10},
    )
    mesh = build_mesh(raw)
    assert kinds(mesh) == ["welded", "unreferenced_vertices"]
    assert mesh.vertex_of_file_point[0] == -1 and np.allclose(
        mesh.points[mesh.vertex_of_file_point[1:]], raw.points[1:]
    )
    assert np.array_equal(mesh.points, raw.points[mesh.vertex_field("id")])
    assert np.bincount(mesh.cell_of_simplex[2]).tolist() == [2] * 6
    assert (mesh.cell_of_simplex[2][mesh.face_of_file_cell] == np.arange(6)).all()


def test_duplicates_count_once_and_are_named():
    faces = np.concatenate([TRIANGLES, TRIANGLES[[0]], TRIANGLES[[3]][:, [1, 0, 2]]])
    mesh = build_mesh(surface(CUBE, faces, index_base=1))
    (notice,) = mesh.notices
    assert (notice.kind, notice.ids) == ("duplicate_faces", (12, 13)) and "first is cell 13" in notice.message
    assert facts(mesh)["consistently_oriented"]  # the first mention gives the winding
    tets = RawMesh(CUBE, [CellBlock.of_rows("tetra", TETS[[0, 1, 2, 3, 4, 4]])])
    assert kinds(build_mesh(tets)) == ["duplicate_tets"]
    lines = RawMesh(CUBE, [CellBlock.of_rows("line", [[0, 1], [1, 2], [2, 0], [0, 2]])])
    assert "duplicate_edges" in kinds(build_mesh(lines))


def test_all_cells_at_points_that_are_not_finite_leave_nothing():
    raw = surface(np.where(np.arange(8)[:, None] % 2, CUBE, np.nan), TRIANGLES)
    with pytest.raises(InputError) as caught:
        build_mesh(raw)
    assert caught.value.kind == "empty" and "4 point(s)" in caught.value.message


def test_markers_give_no_geometry():
    raw = RawMesh(
        CUBE,
        [
            CellBlock.of_rows("line", [[0, 6], [0, 1]], 0, is_marker=True),
            CellBlock.of_rows("polygon", QUADS, 2),
        ],
    )
    mesh = build_mesh(raw)
    assert mesh.complex.counts == (8, 18, 12)
    edge = mesh.face_of_file_cell[1]
    assert mesh.complex.simplices(1)[edge].tolist() == [0, 1] and mesh.cell_of_simplex[1][edge] == 1


def test_graphs_are_never_welded():
    lines = RawMesh(
        np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 0, 0.0]]), [CellBlock.of_rows("line", [[0, 1], [2, 3]])]
    )
    assert build_mesh(lines).complex.counts == (4, 2)


def test_points_alone_become_a_cloud_with_all_maps():
    points = np.concatenate([np.random.default_rng(0).standard_normal((30, 3)), np.full((1, 3), np.nan)])
    points[7] = points[3]
    mesh = build_mesh(RawMesh(points, [], {"u": np.arange(31)}))
    assert {"non_finite_vertex", "duplicate_points"} <= set(kinds(mesh))
    assert mesh.vertex_of_file_point[30] == -1 and mesh.vertex_of_file_point[7] == mesh.vertex_of_file_point[3]
    assert np.array_equal(mesh.points[mesh.vertex_of_file_point[:30]], points[:30])


def test_mixed_dimensions_are_one_complex():
    raw = RawMesh(
        np.concatenate([CUBE, [[2, 0, 0], [3, 0, 0], [2, 1, 0], [5, 5, 5]]]),
        [
            CellBlock.of_rows("tetra", TETS, 0),
            CellBlock.of_rows("polygon", [[1, 8, 10]], 5),
            CellBlock.of_lengths("line", [8, 9, 10], [3], 6),
            CellBlock.of_rows("vertex", [[11]], 7),
        ],
    )
    mesh = build_mesh(raw)
    assert mesh.complex.counts == (12, 23, 17, 5) and mesh.complex.n_components == 2
    assert mesh.face_of_file_cell[7] == 11
    found = facts(mesh)
    assert found["volume"] == pytest.approx(1.0) and found["edge_manifold"] and found["vertex_manifold"]
