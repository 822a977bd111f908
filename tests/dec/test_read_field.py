"""Fields from files: every accepted form gives the cochain that it means, every bad file is refused by kind."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from hsd.dec.read_field import cochain_of, read_field
from hsd.errors import HsdError
from hsd.mesh.mesh import Mesh

# Two triangles on five file points: point 2 is dropped, points 4 and 0 are one vertex.
POINTS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
MESH = Mesh.from_cells(
    POINTS,
    np.array([[0, 1, 2], [1, 3, 2]]),
    point_fields={"height": np.array([1.0, 2, 99, 3, 1, 4])},
    vertex_of_file_point=np.array([0, 1, -1, 2, 0, 3]),
)
EDGES = MESH.complex.simplices(1)


def _save(tmp_path, suffix, values):
    path = tmp_path / f"field{suffix}"
    if suffix == ".npy":
        np.save(path, values)
    elif suffix == ".npz":
        np.savez(path, omega=values)
    else:
        np.savetxt(path, values, delimiter=",")
    return str(path)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_cochain_in_stored_order_is_read_as_it_is(tmp_path, suffix, k):
    omega = np.arange(MESH.complex.n(k)) + 0.5
    read, sentence = read_field(MESH, _save(tmp_path, suffix, omega), k)
    assert np.array_equal(read, omega)
    assert "stored order" in sentence


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_node_values_are_taken_in_file_order(tmp_path, suffix):
    read, sentence = read_field(MESH, _save(tmp_path, suffix, MESH.point_fields["height"]), 0)
    assert read.tolist() == [1, 2, 3, 4]
    assert "file order" in sentence
    assert read_field(MESH, "height", 0)[0].tolist() == [1, 2, 3, 4]


def test_reversing_an_edge_reverses_the_sign(tmp_path):
    forth, back = tmp_path / "forth.csv", tmp_path / "back.csv"
    file_point = np.array([4, 1, 3, 5])  # one file point of each vertex
    tails, heads = file_point[EDGES].T
    values = np.arange(1.0, len(EDGES) + 1)
    for path, columns in ((forth, (tails, heads, values)), (back, (heads, tails, -values))):
        np.savetxt(path, np.column_stack(columns), delimiter=",", header="Tail, Head, value", comments="")
    for path in (forth, back):
        read, sentence = read_field(MESH, str(path), 1)
        assert np.array_equal(read, values)
        assert "positive from tail to head" in sentence


def test_edges_that_are_not_listed_are_zero_and_said_so(tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("tail,head,value\n1,0,2.5\n")
    read, sentence = read_field(MESH, str(path), 1)
    assert read.tolist() == [-2.5, 0, 0, 0, 0]
    assert "the other 4 are zero" in sentence


def test_an_odd_permutation_reverses_a_face(tmp_path):
    path = tmp_path / "faces.csv"
    path.write_text("v0,v1,v2,value\n1,0,3,2\n3,5,1,1\n")
    assert read_field(MESH, str(path), 2)[0].tolist() == [-2, 1]


def test_an_array_of_an_archive_is_found_by_name(tmp_path):
    path = tmp_path / "many.npz"
    np.savez(path, a=np.zeros(5), b=np.ones(5))
    assert read_field(MESH, f"{path}:b", 1)[0].tolist() == [1] * 5


def _zip_with_header(promised: str) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {promised}, }}".ljust(117) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("omega.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    return out.getvalue()


def _npy_with_header(promised: str) -> bytes:
    return zipfile.ZipFile(io.BytesIO(_zip_with_header(promised))).read("omega.npy")


def _npz(**arrays) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _npy(values, pickled=False) -> bytes:
    out = io.BytesIO()
    np.save(out, values, allow_pickle=pickled)
    return out.getvalue()


BAD = {
    "noise.npy": (b"\x00" * 100, "not_this_format"),
    "empty.npy": (b"", "not_this_format"),
    "pickle.npy": (_npy(np.array([{}], object), pickled=True), "not_this_format"),
    "promise.npy": (_npy_with_header("(4000000000, 5)"), "not_this_format"),
    "text.npy": (_npy(np.array(["a"] * 5)), "not_numeric"),
    "complex.npy": (_npy(np.ones(5) * 1j), "not_numeric"),
    "short.npy": (_npy(np.ones(4)), "shape"),
    "deep.npy": (_npy(np.ones((5, 2, 2))), "shape"),
    "nan.npy": (_npy(np.array([1, 2, np.nan, 4, 5])), "non_finite_field"),
    "noise.npz": (b"PK" + b"\x00" * 100, "not_this_format"),
    "promise.npz": (_zip_with_header("(4000000000, 5)"), "not_this_format"),
    "large.npz": (_npz(omega=np.zeros(100_000)), "size_mismatch"),
    "pickle.npz": (_npz(omega=np.array([{}], object)), "not_this_format"),
    "which.npz": (_npz(a=np.zeros(5), b=np.zeros(5)), "unknown_name"),
    "none.npz": (_npz(), "empty"),
    "words.csv": (b"tail,head,value\n0,one,2\n", "not_this_format"),
    "binary.csv": (b"\xff\xfe\x00\x81", "not_this_format"),
    "head.csv": (b"tail,head\n0,1,2\n", "shape"),
    "far.csv": (b"tail,head,value\n0,77,2\n", "index_out_of_range"),
    "half.csv": (b"tail,head,value\n0,0.5,2\n", "index_out_of_range"),
    "dropped.csv": (b"tail,head,value\n0,2,2\n", "not_in_mesh"),
    "no_edge.csv": (b"tail,head,value\n0,5,2\n", "not_in_mesh"),
    "loop.csv": (b"tail,head,value\n0,4,2\n", "not_in_mesh"),
    "twice.csv": (b"tail,head,value\n0,1,2\n1,0,2\n", "repeated_simplex"),
    "inf.csv": (b"tail,head,value\n0,1,inf\n", "non_finite_field"),
    "gone.csv": (None, "no_file"),
    "gone.npz": (None, "no_file"),
    "cut.npy": (_npy(np.ones(5))[:-8], "not_this_format"),
    "no_rows.csv": (b"tail,head,value\n", "empty"),
    "nothing.csv": (b"", "empty"),
    "comment.csv": (b"# nothing\n\n", "empty"),
}

SAID = {  # content, what the sentence must say
    "gap.csv": (b"tail,head,value\n0,1,2\n1,0,\n", r"column 3 of row 2 is empty\.$"),
    "word.csv": (b"0,1,2\n1,one,3\n", r"column 2 of row 2 holds 'one'\.$"),
    "wide.csv": (b"tail,head,value\n0,1,2\n1,0,2,5\n", r"3 column names, but 4 columns in row 2\.$"),
    "ragged.csv": (b"0,1,2\n1,0\n", r"3 columns in row 1, but 2 columns in row 2\.$"),
    "binary.csv": (b"\xff\xfe\x00\x81", r"no UTF-8 text\.$"),
    "swapped.csv": (b"head,tail,value\n0,1,2\n", r"columns head,tail,value; .* header tail,head,value\.$"),
    "graph.csv": (b"source,target,w\n0,1,2\n", r"header tail,head,value\.$"),
    "bare.csv": (b"0,1,2\n1,3,2\n3,5,1\n", r"expected .*; .* header tail,head,value\.$"),
    "objects.npy": (_npy(np.array([{}], object), pickled=True), r"Python objects, which are never unpickled"),
    "objects.npz": (_npz(omega=np.array([{}], object)), r"Python objects, which are never unpickled"),
    "two.npz": (_npz(a=np.zeros(5), b=np.zeros(5)), r"2 arrays \(a, b\); name one, like two.npz:a\.$"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SAID)
def test_a_bad_field_says_where_and_what(tmp_path, name):
    content, says = SAID[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HsdError, match=says) as caught:
        read_field(MESH, str(tmp_path / name), 1)
    assert ".." not in caught.value.message and "''" not in caught.value.message


def test_an_unknown_array_of_an_archive_lists_the_known_ones(tmp_path):
    np.savez(tmp_path / "many.npz", a=np.zeros(5), b=np.ones(5))
    with pytest.raises(HsdError, match="'c'; known: a, b") as caught:
        read_field(MESH, f"{tmp_path / 'many.npz'}:c", 1)
    assert caught.value.kind == "unknown_name"


@pytest.mark.parametrize("head", ["u,v\n", "vx,vy\n", "# made, in, May\nu,v\n", "# plain\n", "# u,v\n", ""])
def test_a_header_of_components_leaves_vectors_vectors(tmp_path, head):
    path = tmp_path / "wind.csv"
    path.write_text(head + "0,1\n" * 6)
    planar = replace(MESH, points=POINTS[:, :2])
    omega, sentence = read_field(planar, str(path), 1)
    assert np.allclose(omega, np.diff(POINTS[EDGES, 1], axis=1)[:, 0]) and "node vectors" in sentence


@pytest.mark.parametrize("mark", ["", "# "])
def test_a_column_of_several_is_found_by_name(tmp_path, mark):
    (tmp_path / "flow.csv").write_text(f"{mark}tail,head,april,may\n0,1,2,3\n")
    assert read_field(MESH, f"{tmp_path / 'flow.csv'}:may", 1)[0].tolist() == [3, 0, 0, 0, 0]
    with pytest.raises(HsdError, match=r"flow\.csv:april") as caught:
        read_field(MESH, str(tmp_path / "flow.csv"), 1)
    assert caught.value.kind == "which_column"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BAD)
def test_a_bad_field_is_refused_by_kind(tmp_path, name):
    content, kind = BAD[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(HsdError) as caught:
        read_field(MESH, str(tmp_path / name), 1)
    assert caught.value.kind == kind
    assert "\n" not in caught.value.message and caught.value.message.endswith(".")


def test_an_unknown_name_lists_the_fields_of_the_mesh():
    with pytest.raises(HsdError, match="height") as caught:
        read_field(MESH, "weight", 0)
    assert caught.value.kind == "unknown_name"


def test_a_degree_beyond_the_mesh_is_refused(tmp_path):
    for source, k in ((_save(tmp_path, ".npy", np.ones(2)), 3), (_save(tmp_path, ".npy", np.ones(2)), -1)):
        with pytest.raises(HsdError) as caught:
            read_field(MESH, source, k)
        assert caught.value.kind == "degree"
    path = tmp_path / "edge.csv"
    path.write_text("tail,head,value\n0,1,2\n")
    with pytest.raises(HsdError) as caught:
        read_field(MESH, str(path), 2)
    assert caught.value.kind == "degree"


def test_the_flux_of_a_constant_field_is_its_flux_through_each_face():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    mesh = Mesh.from_cells(points, np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))
    corners = points[mesh.complex.simplices(2)]
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    for values, word in (
        (np.tile([1.0, 2, 3], (5, 1)), "node vectors"),
        (np.tile([1.0, 2, 3], (2, 1)), "cell vectors"),
    ):
        omega, sentence = cochain_of(mesh, values, 2)
        assert np.allclose(omega, areas @ [1.0, 2, 3], rtol=0, atol=1e-14)
        assert word in sentence and "flux" in sentence


@pytest.mark.parametrize("vector", [(1.0, 0, 0), (0.0, 2, 0), (-1.0, 3, 0)])
def test_the_flat_of_a_constant_field_is_its_work_along_each_edge(vector):
    along = np.diff(POINTS[EDGES], axis=1)[:, 0] @ vector
    at_nodes = np.tile(vector, (6, 1))
    omega, sentence = cochain_of(MESH, at_nodes, 1)
    assert np.allclose(omega, along, rtol=0, atol=1e-14) and "node vectors" in sentence
    omega, sentence = cochain_of(replace(MESH, vertex_of_file_point=None), np.tile(vector, (2, 1)), 1)
    assert np.allclose(omega, along, rtol=0, atol=1e-14) and "cell vectors" in sentence
