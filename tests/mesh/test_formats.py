"""Formats: exact round trips through every writer, other programs' files, and what each format can and cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.errors import HsdError
from hsd.mesh.facts import facts
from hsd.mesh.io import READERS, WRITERS, load_mesh, load_mesh_bytes, save_mesh
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import GALLERY, gallery
from tests.conftest import shared_folder
from tests.mesh import small_files as small

EXACT = ("obj", "ply", "off", "vtk", "vtu", "vtp", "msh", "npz")
WITH_FIELDS = ("ply", "vtk", "vtu", "vtp", "npz")
SMALL = {name: gallery(name, 60) for name in GALLERY if not name.startswith("car")}
SURFACES = [n for n, m in SMALL.items() if m.dim == 2 and m.points is not None and m.points.shape[1] <= 3]
SOLIDS = [n for n, m in SMALL.items() if m.dim == 3 and m.points is not None]


def wiggled(name: str) -> Mesh:
    """A gallery mesh with positions that need all 53 bits, and fields."""
    mesh = SMALL[name]
    rng = np.random.default_rng(7)
    points = mesh.points * (1 + 1e-9 * rng.standard_normal(mesh.points.shape)) + np.pi
    return Mesh.from_cells(
        points,
        mesh.oriented_cells(),
        name=name,
        point_fields={"u": rng.standard_normal(len(points)), "v": rng.standard_normal((len(points), 3))},
        cell_fields={"c": rng.standard_normal(mesh.complex.n(mesh.dim))},
    )


def assert_same(mesh: Mesh, back: Mesh):
    points = mesh.points
    if points.shape[1] == 2 and back.points.shape[1] == 3:
        points = np.column_stack([points, np.zeros(len(points))])
    assert np.array_equal(points, back.points)
    assert back.complex.counts == mesh.complex.counts
    for k in range(1, mesh.dim + 1):
        assert np.array_equal(mesh.complex.simplices(k), back.complex.simplices(k))
    assert np.array_equal(mesh.winding, back.winding)


def test_lists_cover_the_gallery():
    assert len(SURFACES) >= 10 and len(SOLIDS) >= 3


@pytest.mark.parametrize("suffix", EXACT)
@pytest.mark.parametrize("name", SURFACES)
def test_surface_round_trip_is_exact(suffix, name, tmp_path):
    mesh = wiggled(name)
    save_mesh(mesh, tmp_path / f"a.{suffix}")
    assert_same(mesh, load_mesh(tmp_path / f"a.{suffix}"))


@pytest.mark.parametrize("suffix", ("vtk", "vtu", "msh", "npz"))
@pytest.mark.parametrize("name", SOLIDS)
def test_tet_round_trip_is_exact(suffix, name, tmp_path):
    mesh = wiggled(name)
    save_mesh(mesh, tmp_path / f"a.{suffix}")
    assert_same(mesh, load_mesh(tmp_path / f"a.{suffix}"))


@pytest.mark.parametrize("suffix", WITH_FIELDS)
def test_field_round_trip_is_exact(suffix, tmp_path):
    mesh = wiggled("sphere")
    save_mesh(mesh, tmp_path / f"a.{suffix}")
    back = load_mesh(tmp_path / f"a.{suffix}")
    assert np.array_equal(back.vertex_field("u"), mesh.point_fields["u"])
    vector = back.vertex_field("v") if suffix != "ply" else np.stack([back.vertex_field(f"v_{i}") for i in range(3)], 1)
    assert np.array_equal(vector, mesh.point_fields["v"])
    assert np.array_equal(back.cell_fields["c"][back.cell_of_simplex[2]], mesh.cell_fields["c"])


@pytest.mark.parametrize("suffix", WITH_FIELDS)
def test_given_fields_replace_own_ones(suffix, tmp_path):
    mesh = small.cube(fields=True)
    save_mesh(mesh, tmp_path / f"a.{suffix}", point_data={"x": np.arange(8)}, cell_data={})
    back = load_mesh(tmp_path / f"a.{suffix}")
    name = "field_x" if suffix == "ply" else "x"  # x is a coordinate in PLY
    assert set(back.point_fields) == {name} and back.vertex_field(name).tolist() == list(range(8))
    assert not back.cell_fields


def test_stl_round_trip_is_exact_to_32_bits(tmp_path):
    mesh = wiggled("torus")
    save_mesh(mesh, tmp_path / "a.stl")
    back = load_mesh(tmp_path / "a.stl")
    assert facts(back)["V"] == facts(mesh)["V"] and facts(back)["F"] == facts(mesh)["F"]
    a = np.sort(mesh.points.astype(np.float32).astype(float).view("f8,f8,f8").ravel())
    assert np.array_equal(a, np.sort(back.points.copy().view("f8,f8,f8").ravel()))


@pytest.mark.skipif(shared_folder() is None, reason="no folder of shared cases")
@pytest.mark.parametrize("suffix", ("vtp", "ply", "vtu", "npz"))
@pytest.mark.parametrize("name", ("I16_flipped_faces.ply", "T06_two_bumps.vtk", "N10_annulus.off"))
def test_export_and_import_keep_points_order_faces_and_fields(suffix, name, tmp_path):
    mesh = load_mesh(shared_folder() / "cases" / "files" / "shareable" / name)
    save_mesh(mesh, tmp_path / f"a.{suffix}")
    back = load_mesh(tmp_path / f"a.{suffix}")
    assert_same(mesh, back)
    for field in mesh.point_fields:
        assert np.allclose(back.vertex_field(field), mesh.vertex_field(field), rtol=0, atol=1e-7)


@pytest.mark.parametrize("suffix", ("vtk", "vtu", "vtp", "npz", "obj"))
def test_wires_and_isolated_vertices_survive(suffix, tmp_path):
    text = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 2 0\nv 9 9 9\nf 1 2 3\nl 2 4\np 5\n"
    mesh = load_mesh_bytes(text, "mixed.obj")
    assert mesh.complex.counts == (5, 4, 1)
    save_mesh(mesh, tmp_path / f"a.{suffix}")
    assert_same(mesh, load_mesh(tmp_path / f"a.{suffix}"))


def test_graph_without_positions_round_trips_through_npz(tmp_path):
    mesh = load_mesh_bytes(b"source,target,w\n0,1,5\n1,2,6\n0,2,7\n", "g.csv")
    save_mesh(mesh, tmp_path / "g.npz")
    back = load_mesh(tmp_path / "g.npz")
    assert back.points is None and back.complex.counts == (3, 3)
    assert (
        back.cell_fields["w"][back.cell_of_simplex[1]].tolist()
        == mesh.cell_fields["w"][mesh.cell_of_simplex[1]].tolist()
    )


@pytest.mark.parametrize(
    "text",
    [
        "source,target,w\ncarol,alice,5\nalice,New York,6\n",
        'source;target;w\n"carol"; alice;5\nalice;"New York";6\r\n',
        "# people\nfrom\tto\tw\ncarol\talice\t5\n\nalice\tNew York\t6\n",
    ],
)
def test_a_graph_with_text_labels_keeps_them(text, tmp_path):
    mesh = load_mesh_bytes(text.encode(), "g.csv")
    assert mesh.point_fields["label"].tolist() == ["carol", "alice", "New York"]
    assert mesh.complex.simplices(1).tolist() == [[0, 1], [1, 2]] and mesh.cell_fields["w"].tolist() == [5, 6]
    assert [n.kind for n in mesh.notices] == ["relabelled_vertices"] and "carol is 0" in mesh.notices[0].message
    save_mesh(mesh, tmp_path / "g.npz")
    assert load_mesh(tmp_path / "g.npz").point_fields["label"].tolist() == ["carol", "alice", "New York"]


def test_labels_may_mix_numbers_and_text():
    mesh = load_mesh_bytes(b"u,v\n7,a\n7,8\n", "g.csv")
    assert mesh.point_fields["label"].tolist() == ["7", "a", "8"]


def test_fill_triangles_makes_the_clique_complex():
    text = b"source,target\n0,1\n1,2\n2,0\n2,3\n"
    assert load_mesh_bytes(text, "g.csv").complex.counts == (4, 4)
    assert load_mesh_bytes(text, "g.csv", fill_triangles=True).complex.counts == (4, 4, 1)


def test_planar_positions_stay_planar(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.array([[0, 0], [1, 0], [0, 1.0]]), faces=np.array([[0, 1, 2]]))
    mesh = load_mesh(tmp_path / "a.npz")
    assert mesh.points.shape == (3, 2) and facts(mesh)["area"] == 0.5


def test_files_of_another_program_are_read(tmp_path):
    pytest.importorskip("pyvista")
    for name, content in small.by_pyvista(tmp_path).items():
        mesh = load_mesh_bytes(content, name)
        solid = mesh.dim == 3
        assert mesh.complex.counts == ((8, 18, 16, 5) if solid else (8, 18, 12)), name
        assert facts(mesh)["volume"] == pytest.approx(1.0, abs=1e-6), name
        if name.startswith("pv") and name.split(".")[1] in ("vtk", "vtp", "vtu"):
            count = mesh.complex.n(mesh.dim)
            tags = mesh.cell_fields["tag"][mesh.cell_of_simplex[mesh.dim]]
            assert sorted(tags.tolist()) == list(range(count)), name
            if not solid:
                assert np.array_equal(mesh.vertex_field("height"), mesh.points[:, 2]), name


def test_our_files_are_read_by_another_program(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    for suffix in ("ply", "stl", "vtk", "vtu", "vtp", "obj"):
        save_mesh(small.cube(fields=suffix in WITH_FIELDS), tmp_path / f"a.{suffix}")
        other = pyvista.read(tmp_path / f"a.{suffix}")
        assert other.n_cells == 12, suffix
        surface = other.extract_surface(algorithm=None).clean()
        assert (surface.n_points, surface.volume) == (8, pytest.approx(1.0)), suffix
        if suffix in ("vtk", "vtu", "vtp"):
            assert np.array_equal(np.sort(other.cell_data["tag"]), np.arange(12) * 10), suffix


def test_meshes_that_ship_with_another_package_are_read():
    examples = pytest.importorskip("pyvista.examples")
    pyvista = pytest.importorskip("pyvista")
    for path in (examples.planefile, examples.antfile, examples.nutfile, examples.globefile):
        mesh = load_mesh(path, weld=0)
        other = pyvista.read(path).triangulate()
        flat = int((other.compute_cell_sizes()["Area"] == 0).sum())
        assert mesh.complex.n(0) == other.n_points, path
        assert mesh.complex.n(2) in (other.n_cells, other.n_cells - flat), path
        assert facts(mesh)["area"] == pytest.approx(other.area, rel=1e-5), path
    globe = facts(load_mesh(examples.globefile))  # cut open along a meridian and at the poles in the file
    assert (globe["closed"], globe["genus"]) == (True, 0)


@pytest.mark.parametrize("name", ("binary.vtk", "text.ply", "color.off", "binary2.msh", "binary4.msh", "text.stl"))
def test_handwritten_cube_is_a_cube(name, tmp_path):
    mesh = load_mesh_bytes(small.small_files(tmp_path)[name], name)
    found = facts(mesh)
    assert (found["V"], found["E"], found["F"], found["chi"]) == (8, 18, 12, 2)
    assert found["volume"] == pytest.approx(1.0) and found["area"] == pytest.approx(6.0)
    assert found["consistently_oriented"]


def test_glb_nodes_place_their_mesh_each_time():
    mesh = load_mesh_bytes(small.cube_glb(), "cube.glb")
    found = facts(mesh)
    assert (found["components"], found["F"]) == (2, 24)
    assert found["volume"] == pytest.approx(1 + 8)
    second = mesh.points[mesh.complex.component_of_vertex == 1]
    assert np.allclose(second.min(axis=0), [8, 0, 0]) and np.allclose(second.max(axis=0), [10, 2, 2])


@pytest.mark.parametrize(
    "mode, corners, n_faces", ((4, [0, 1, 2, 2, 1, 3], 2), (5, [0, 1, 2, 3], 2), (6, [0, 1, 3, 2], 2))
)
def test_glb_strips_and_fans_agree_with_triangles(mode, corners, n_faces):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<f4")
    index = np.array(corners, "u1")
    mesh = load_mesh_bytes(
        small.glb(
            {
                "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "mode": mode}]}],
                "accessors": [
                    {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
                    {"bufferView": 1, "componentType": 5121, "count": len(index), "type": "SCALAR"},
                ],
                "bufferViews": [
                    {"buffer": 0, "byteLength": 48},
                    {"buffer": 0, "byteOffset": 48, "byteLength": len(index)},
                ],
                "buffers": [{"byteLength": 48 + len(index)}],
            },
            points.tobytes() + index.tobytes(),
        ),
        "a.glb",
    )
    found = facts(mesh)
    assert (found["F"], found["area"], found["consistently_oriented"]) == (n_faces, pytest.approx(1.0), True)


def test_gmsh_4_tags_and_markers():
    mesh = load_mesh_bytes(small.MSH_4.encode(), "a.msh")
    assert mesh.complex.counts == (5, 7, 3)
    marker = mesh.face_of_file_cell[0]
    assert mesh.complex.simplices(1)[marker].tolist() == [0, 1] and mesh.cell_of_simplex[1][marker] == 0


def test_obj_elements_of_all_kinds():
    mesh = load_mesh_bytes(small.OBJ_MANY.encode(), "a.obj")
    assert mesh.complex.counts == (6, 7, 2)
    windows = small.OBJ_MANY.replace("\n", "\r\n").encode()
    assert load_mesh_bytes(windows, "A.OBJ").content_hash == mesh.content_hash


def test_compressed_xml_with_lzma_and_two_pieces_is_read(tmp_path):
    pyvista = pytest.importorskip("pyvista")
    vtk = pytest.importorskip("vtkmodules.vtkIOXML")
    grid = pyvista.UnstructuredGrid({10: small.TETS}, small.CUBE)
    writer = vtk.vtkXMLUnstructuredGridWriter()
    for compressor in ("SetCompressorTypeToLZMA", "SetCompressorTypeToZLib", "SetCompressorTypeToNone"):
        for mode in ("SetDataModeToBinary", "SetDataModeToAppended", "SetDataModeToAscii"):
            getattr(writer, compressor)()
            getattr(writer, mode)()
            writer.SetHeaderTypeToUInt64()
            writer.SetInputData(grid)
            writer.SetFileName(str(tmp_path / "a.vtu"))
            assert writer.Write() == 1
            found = facts(load_mesh(tmp_path / "a.vtu"))
            assert (found["T"], found["volume"]) == (5, pytest.approx(1.0)), (compressor, mode)


def test_two_pieces_are_joined():
    save = small.cube()
    from hsd.mesh.io.writers import Export, write_vtp

    cells = {0: np.zeros((0, 1), int), 1: np.zeros((0, 2), int), 2: save.oriented_cells()}
    text = write_vtp(Export(save.points, cells, {}, {}, "a")).decode()
    start, end = text.index("<Piece"), text.index("</Piece>") + len("</Piece>")
    double = text[:end] + text[start:end].replace("0.0", "5.0") + text[end:]
    mesh = load_mesh_bytes(double.encode(), "a.vtp", weld=0)
    assert mesh.complex.counts == (16, 36, 24)


@pytest.mark.parametrize("suffix", sorted(set(WRITERS) - {"npz", "vtu", "vtk", "msh"}))
def test_tets_are_refused_where_the_format_has_none(suffix, tmp_path):
    with pytest.raises(HsdError) as caught:
        save_mesh(small.cube_tets(), tmp_path / f"a.{suffix}")
    assert caught.value.kind == "cannot_write"


def test_writing_refuses_what_it_cannot_keep(tmp_path):
    mesh = small.cube()
    for path, arguments, kind in (
        ("a.stl", {"point_data": {"a": np.zeros(8)}}, "cannot_write"),
        ("a.vtu", {"point_data": {"a": np.zeros(7)}}, "shape"),
        ("a.vtu", {"cell_data": {"a": np.zeros(7)}}, "shape"),
        ("a.abc", {}, "unknown_format"),
        ("no/such/folder/a.obj", {}, "no_folder"),
    ):
        with pytest.raises(HsdError) as caught:
            save_mesh(mesh, tmp_path / path, **arguments)
        assert caught.value.kind == kind, path
    graph = load_mesh_bytes(b"source,target\n0,1\n", "g.csv")
    with pytest.raises(HsdError) as caught:
        save_mesh(graph, tmp_path / "g.vtk")
    assert caught.value.kind == "no_positions"
    with pytest.raises(HsdError) as caught:
        save_mesh(gallery("flat_torus", 60) if "flat_torus" in GALLERY else graph, tmp_path / "g.obj")
    assert caught.value.kind == "no_positions"
    mixed = load_mesh_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 2 2 0\nf 1 2 3\nl 2 4\n", "mixed.obj")
    with pytest.raises(HsdError) as caught:
        save_mesh(mixed, tmp_path / "a.msh")
    assert caught.value.kind == "cannot_write"


def test_every_reader_and_writer_is_exercised(tmp_path):
    suffixes = {name.rsplit(".", 1)[1] for name in small.small_files(tmp_path)}
    assert suffixes >= set(READERS) - {"txt"} and set(WRITERS) <= suffixes
