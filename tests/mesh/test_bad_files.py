"""Bad files end in one sentence: quickly, without a traceback and without taking memory; mutated files never crash.

Big ones are read in a child process whose memory is limited; the time is that of the load, without the import.
"""

from __future__ import annotations

import io
import json
import struct
import subprocess
import sys
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hsd.errors import HsdError, InputError
from hsd.mesh.facts import facts
from hsd.mesh.io import READERS, load_mesh, load_mesh_bytes
from hsd.mesh.validate import validate
from tests.mesh import small_files as small

SECONDS = 5.0
MEGABYTES = 300
CHILD = """
import json, resource, sys, time
from hsd.errors import HsdError
from hsd.mesh.io import load_mesh
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
try:
    load_mesh(sys.argv[1])
    kind, message = "ok", ""
except HsdError as error:
    kind, message = error.kind, error.message
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([kind, message, time.perf_counter() - start, (after - before) / 1024, "vtkmodules" in sys.modules]))
"""


def in_child(path: Path) -> tuple[str, str, float, float]:
    """kind, message, seconds and megabytes of loading a file in a process of its own."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    kind, message, seconds, megabytes, vtk = json.loads(done.stdout)
    assert not vtk
    return kind, message, seconds, megabytes


def refused(content: bytes, name: str) -> InputError:
    with pytest.raises(InputError) as caught:
        load_mesh_bytes(content, name)
    assert "\n" not in caught.value.message and len(caught.value.message) < 500
    return caught.value


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


FOREIGN = {
    "zip archive": zipped(readme=b"hello"),
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(range(200)),
    "HTML": b"<!DOCTYPE html>\n<html><body>404 v 0 0 0</body></html>",
    "JSON": b'{"vertices": [[0, 0, 0]], "faces": []}',
    "PDF": b"%PDF-1.7\n" + b"v 0 0 0\n" * 20,
    "gzip": b"\x1f\x8b\x08\x00" + bytes(100),
    "LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
}


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("what", FOREIGN)
def test_foreign_content_is_named(what, suffix):
    error = refused(FOREIGN[what], f"a.{suffix}")
    assert error.kind == "not_this_format"
    assert what in error.message or "zip" in what


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("content", (b"", b"\n \n", b"\0" * 83))
def test_empty_content_is_empty(content, suffix):
    assert refused(content, f"a.{suffix}").kind == "empty"


@pytest.mark.parametrize("suffix", READERS)
def test_a_mesh_of_another_format_is_named(suffix):
    content, real = (
        (b"OFF\n1 0 0\n0 0 0\n", "off") if suffix != "off" else (b"ply\nformat ascii 1.0\nend_header\n", "ply")
    )
    error = refused(content, f"a.{suffix}")
    assert error.kind == "not_this_format" and ("." + real in error.message or suffix == "npz")


def test_unknown_suffix_lists_the_known_ones():
    error = refused(b"abc", "a.step")
    assert error.kind == "unknown_format" and all("." + s in error.message for s in READERS)
    assert refused(b"abc", "mesh").kind == "unknown_format"


def test_missing_file_and_folder(tmp_path):
    for path in (tmp_path, tmp_path / "no.obj"):
        with pytest.raises(InputError) as caught:
            load_mesh(path)
        assert caught.value.kind == "no_file"


def test_bad_weld_tolerance_is_refused():
    for weld in (-1.0, 2.0, float("nan")):
        with pytest.raises(InputError) as caught:
            load_mesh_bytes(small.OBJ_MANY.encode(), "a.obj", weld=weld)
        assert caught.value.kind == "bad_option"


HUGE = 4_000_000_000
XML = (
    '<VTKFile type="UnstructuredGrid" header_type="UInt32" byte_order="LittleEndian" {more}><UnstructuredGrid>'
    '<Piece NumberOfPoints="{n}" NumberOfCells="{m}"><Points>{points}</Points><Cells>{cells}</Cells></Piece>'
    "</UnstructuredGrid></VTKFile>"
)
NO_CELLS = "".join(
    f'<DataArray type="Int64" Name="{a}" format="ascii">0</DataArray>' for a in ("connectivity", "offsets", "types")
)


def xml_points(form: str, body: str) -> str:
    return f'<DataArray type="Float64" NumberOfComponents="3" Name="Points" format="{form}">{body}</DataArray>'


def compressed_block(size: int) -> str:
    """A zlib header that claims one block of ``size`` bytes."""
    import base64

    head = base64.b64encode(struct.pack("<4I", 1, size, 0, 10)).decode()
    return head + base64.b64encode(bytes(10)).decode()


PROMISES = {
    "faces.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 4000000000\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0 0\n",
    "points.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\n"
    b"property float y\n"
    b"property float z\nend_header\n" + bytes(100),
    "list.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
    b"property float"
    b" z\nelement face 1\nproperty list uint int vertex_indices\nend_header\n" + bytes(12) + struct.pack("<I", HUGE),
    "a.off": b"OFF\n4000000000 4000000000 0\n0 0 0\n",
    "face.off": b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n4000000000 0 1 2\n",
    "a.stl": b"binary".ljust(80) + struct.pack("<I", HUGE) + bytes(50),
    "points.vtk": b"# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 4000000000 float\n0 0 0\n",
    "binary.vtk": b"# vtk DataFile Version 3.0\na\nBINARY\nDATASET POLYDATA\nPOINTS 4000000000 float\n" + bytes(60),
    "cells.vtk": b"# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\n"
    b"POLYGONS 4000000000 16000000000\n3 0 0 0\n",
    "few.vtk": b"# vtk DataFile Version 3.0\na\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n0 0 0\n"
    b"POLYGONS 4000000000 4\n3 0 0 0\n",
    "points.vtu": XML.format(more="", n=HUGE, m=0, points=xml_points("ascii", "0 0 0"), cells=NO_CELLS).encode(),
    "cells.vtu": XML.format(more="", n=1, m=HUGE, points=xml_points("ascii", "0 0 0"), cells=NO_CELLS).encode(),
    "block.vtu": XML.format(
        more='compressor="vtkZLibDataCompressor"', n=1, m=0, cells="",
        points=xml_points("binary", compressed_block(HUGE)),
    ).encode(),
    "nodes.msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4000000000\n1 0 0 0\n$EndNodes\n"
    b"$Elements\n0\n$EndElements\n",
    "elements.msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 0 0\n$EndNodes\n$Elements\n4000000000\n"
    b"1 15 2 0 0 1\n$EndElements\n",
    "four.msh": b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4000000000 1 4000000000\n"
    b"2 1 0 4000000000\n1\n$EndNodes\n",
    "binary4.msh": b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    + struct.pack("<4Q", 1, HUGE, 1, HUGE) + struct.pack("<3iQ", 2, 1, 0, HUGE) + bytes(40),
    "binary2.msh": b"$MeshFormat\n2.2 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    + b"4000000000\n" + bytes(40),
    "chunk.glb": b"glTF" + struct.pack("<IIII", 2, 24, HUGE, 0x4E4F534A) + b"{}  ",
    "total.glb": b"glTF" + struct.pack("<II", 2, HUGE) + bytes(20),
    "accessor.glb": small.glb({
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": HUGE, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 12}], "buffers": [{"byteLength": 12}],
    }, bytes(12)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROMISES)
def test_header_that_promises_too_much_is_refused_before_anything_is_allocated(name):
    error, peak = refused_within(PROMISES[name], name)
    assert error.kind in ("header_too_large", "truncated"), error.message
    assert peak < 20e6


def refused_within(content: bytes, name: str) -> tuple[InputError, int]:
    """The error, and the most bytes that were allocated on the way."""
    tracemalloc.start()
    try:
        return refused(content, name), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_archive_bombs_are_refused_before_unpacking(monkeypatch):
    monkeypatch.setattr("hsd.mesh.io.npz.LIMIT", 50_000_000)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("points.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (2_500_000, 3)})
        for _ in range(6):
            entry.write(bytes(10**7))
    lying = io.BytesIO()
    np.lib.format.write_array_header_1_0(lying, {"descr": "<f8", "fortran_order": False, "shape": (HUGE, 3)})
    for content in (out.getvalue(), zipped(**{"points.npy": lying.getvalue()})):
        error, peak = refused_within(content, "a.npz")
        assert error.kind == "header_too_large" and peak < 5e6


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", points=np.array([{"a": 1}], dtype=object))
    assert refused((tmp_path / "a.npz").read_bytes(), "a.npz").kind == "shape"


BOMB = (
    b'<?xml version="1.0"?>\n<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">'.encode() for i in range(9))
    + b']>\n<VTKFile type="UnstructuredGrid">&j;</VTKFile>'
)


def test_entity_bombs_are_refused_unparsed():
    assert refused(BOMB, "a.vtu").kind == "entities"
    assert refused(BOMB.replace(b"UnstructuredGrid", b"PolyData"), "a.vtp").kind == "entities"
    late = b'<VTKFile type="UnstructuredGrid">' + b" " * 100_000 + b'<!DOCTYPE a [<!ENTITY a "b">]></VTKFile>'
    assert refused(late, "a.vtu").kind == "entities"
    wide = BOMB.decode().encode("utf-16")
    assert refused(wide, "a.vtu").kind == "not_this_format"


def test_deep_json_is_refused():
    text = b"[" * 100_000
    body = b"glTF" + struct.pack("<IIII", 2, 20 + len(text), len(text), 0x4E4F534A) + text
    assert refused(body, "a.glb").kind == "bad_header"


TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
    "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n"
)
VTK = "# vtk DataFile Version 3.0\na\nASCII\nDATASET "
MSH = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n3\n1 0 0 0\n2 1 0 0\n3 0 1 0\n$EndNodes\n$Elements\n1\n"
BAD = [
    ("index_out_of_range", "a.obj", TRIANGLE + "f 1 2 4\n", r"Face 1 .* index 4 of 3"),
    ("index_out_of_range", "a.obj", TRIANGLE + "f 1 2 0\n", r"index 0 of 3"),
    ("index_out_of_range", "a.obj", "v 0 0 0\nf -1 -2 -3\n" + TRIANGLE, r"index -2 of 1 read so far"),
    ("index_out_of_range", "a.ply", PLY + "3 0 1 3\n", r"Face 0 .* index 3 of 3"),
    ("index_out_of_range", "a.ply", PLY + "3 0 1 -1\n", r"index -1 of 3"),
    ("index_out_of_range", "a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", r"Face 0 .* index 7 of 3"),
    ("index_out_of_range", "a.msh", MSH + "1 2 2 0 0 1 2 9\n$EndElements\n", r"element 1 names node tag 9"),
    ("bad_number", "a.obj", TRIANGLE + "f 1 2 x\n", r"Face 1 .* 'x'"),
    ("bad_number", "a.obj", "v 0 0 zero\nf 1 1 1\n", r"'zero'"),
    ("bad_number", "a.obj", "v 0 0\n", r"Vertex 1 .* 2 coordinate"),
    ("bad_number", "a.off", "OFF\nthree 1 0\n0 0 0\n", r"'three'"),
    ("bad_number", "a.off", "OFF\n3 1 0\n0 0 0\n1 0\n0 1 0\n3 0 1 2\n", r"vertex line needs 3"),
    ("bad_number", "a.xyz", "0 0 0\n1 1\n2 2 2\n3 3 3\n", r"2 to 3 columns"),
    ("bad_number", "a.csv", "source,target\n0,0.5\n", r"row 1"),
    ("bad_number", "a.xyz", "0 0 0\n1 1\n2 2 2\n3 3 3\n", r"row 2 has 2"),
    ("bad_number", "a.csv", "x,y,z\n0,0,0\n1,,2\n3,3,3\n", r"row 2 has an empty cell in column 2 \('1,,2'\)"),
    ("bad_number", "a.csv", "source,target,w\n0,1,2\n1,,2\n", r"row 2 has an empty cell in column 2"),
    ("bad_number", "a.csv", "source,target\n0,\n", r"column"),
    ("bad_number", "a.csv", "source,target,w\na,b,2\nb,,2\n", r"row 2 has an empty cell"),
    ("bad_number", "a.csv", "source,target,w\na,b,2\nb,c\n", r"row 2 has 2 columns; 3 columns \(source,target,w\)"),
    ("bad_number", "a.csv", "source,target,w\na,b,2\nb,c,much\n", r"row 2 holds 'much'"),
    ("bad_number", "a.csv", "source,target,w\n0,1,much\n", r"'much'"),
    ("not_this_format", "a.csv", "alice,bob\nbob,carol\ncarol,dave\n", r"source,target.* labels may be text"),
    ("short_cell", "a.obj", TRIANGLE + "f 1 2\n", r"Face 1 has 2 corner"),
    ("short_cell", "a.vtk", VTK + "UNSTRUCTURED_GRID\nPOINTS 3 float\n0 0 0 1 0 0 0 1 0\nCELLS 1 3\n2 0 1\n"
     "CELL_TYPES 1\n5\n", r"2 points; 3"),
    ("truncated", "a.ply", PLY, r"ends inside row 0 of 1"),
    ("truncated", "a.ply", "ply\nformat ascii 1.0\nelement vertex 3\n", r"end_header"),
    ("truncated", "a.stl", "solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n", r"cut"),
    ("truncated", "a.msh", MSH + "1 2 2 0 0 1 2 3\n", r"EndElements"),
    ("truncated", "a.vtu", '<VTKFile type="UnstructuredGrid"><UnstructuredGrid>', r"well-formed"),
    ("bad_header", "a.ply", "ply\nformat ascii 1.0\nelement vertex 3\nproperty real x\nend_header\n",
     r"property real x"),
    ("bad_header", "a.vtk", VTK + "POLYDATA\nPOINTS 1 floaty\n0 0 0\n", r"floaty"),
    ("unsupported", "a.vtk", VTK + "STRUCTURED_POINTS\nDIMENSIONS 2 2 2\n", r"STRUCTURED_POINTS"),
    ("unsupported", "a.msh", "$MeshFormat\n1.0 0 8\n$EndMeshFormat\n", r"version 1"),
    ("unsupported_cells", "a.vtk", VTK + "UNSTRUCTURED_GRID\nPOINTS 8 float\n" + "0 0 0\n" * 8
     + "CELLS 1 9\n8 0 1 2 3 4 5 6 7\nCELL_TYPES 1\n12\n", r"1 hexahedra"),
    ("empty", "a.vtk", "# vtk DataFile Version 3.0\na\nASCII\n", r"nothing else"),
    ("empty", "a.off", "OFF\n0 0 0\n", r"no points"),
    ("empty", "a.csv", "source,target\n", r"without edges"),
    ("empty", "a.obj", TRIANGLE + "f 1 1 1\nf 2 2 3\n", r"No cell .* usable"),
    ("empty", "a.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", r"No cell .* usable"),
    ("empty", "a.obj", "v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n", r"collapse"),
    ("coordinates_too_large", "a.obj", "v 1e200 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", r"Vertex 1"),
    ("bad_offsets", "a.vtu", XML.format(more="", n=1, m=2, points=xml_points("ascii", "0 0 0"), cells=(
        '<DataArray type="Int64" Name="connectivity" format="ascii">0 0</DataArray>'
        '<DataArray type="Int64" Name="offsets" format="ascii">2 1</DataArray>'
        '<DataArray type="UInt8" Name="types" format="ascii">1 1</DataArray>')), r"offsets"),
    ("polygon_too_large", "a.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n30000 " + "0 1 2 " * 10000, r"30000 corners"),
    ("shape", "a.vtk", VTK + "POLYDATA\nPOINTS 1 float\n0 0 0\nPOINT_DATA 2\nSCALARS a float\n"
     "LOOKUP_TABLE default\n1 2\n", r"2 rows"),
]  # fmt: skip


@pytest.mark.parametrize("kind, name, text, says", BAD, ids=[f"{i}-{b[0]}-{b[1]}" for i, b in enumerate(BAD)])
def test_each_kind_of_bad_file_is_caught(kind, name, text, says):
    import re

    error = refused(text.encode(), name)
    assert error.kind == kind, error.message
    assert re.search(says, error.message), error.message


BAD_GLB = {
    "twice": {"nodes": [{"children": [1, 1], "mesh": 0}, {}], "meshes": [{}]},
    "cycle": {"nodes": [{"children": [1]}, {"children": [0]}], "scenes": [{"nodes": [0]}], "meshes": [{}]},
    "no node": {"nodes": [{"children": [5]}], "meshes": [{}]},
    "no mesh": {"nodes": [{"mesh": 3}], "meshes": [{}]},
    "list": {"nodes": [{"mesh": 0, "translation": ["a", 0, 0]}], "meshes": [{"primitives": []}]},
    "primitive": {"meshes": [{"primitives": [3]}]},
    "accessor": {"meshes": [{"primitives": [{"attributes": {"POSITION": True}}]}]},
}


@pytest.mark.parametrize("what", BAD_GLB)
def test_damaged_glb_is_caught(what):
    assert refused(small.glb(BAD_GLB[what]), "a.glb").kind == "bad_header"


def test_glb_that_needs_an_extension_or_another_file_is_refused():
    assert refused(small.glb({"extensionsRequired": ["KHR_draco_mesh_compression"]}), "a.glb").kind == "unsupported"
    outside = {
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 1, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 12}],
        "buffers": [{"byteLength": 12, "uri": "a.bin"}],
    }
    assert refused(small.glb(outside), "a.glb").kind == "unsupported"
    assert refused(small.glb({"meshes": []}), "a.glb").kind == "empty"


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("text", (False, True), ids=("bytes", "letters"))
def test_noise_is_refused_at_once(suffix, text):
    rng = np.random.default_rng(3)
    content = rng.integers(33 if text else 0, 123 if text else 256, 3_000_000).astype(np.uint8).tobytes()
    assert refused(content, f"a.{suffix}").kind in ("not_this_format", "truncated")


@pytest.mark.full
@pytest.mark.parametrize("suffix", READERS)
def test_300_megabytes_of_noise_take_neither_time_nor_memory(suffix, tmp_path):
    path = tmp_path / f"noise.{suffix}"
    block = np.random.default_rng(3).integers(0, 256, 10_000_000).astype(np.uint8).tobytes()
    with path.open("wb") as handle:
        for _ in range(MEGABYTES // 10):
            handle.write(block)
    kind, message, seconds, megabytes = in_child(path)
    path.unlink()
    assert kind == "not_this_format" and message
    assert seconds < SECONDS and megabytes < 100


LURES = {
    "ply": PLY.encode()[:-40] + b"0 0 0\n",
    "obj": b"v 0 0 0\n" * 5,
    "off": b"OFF\n100000000 100000000 0\n",
    "stl": b"binary".ljust(80) + struct.pack("<I", HUGE),
    "vtk": VTK.encode() + b"POLYDATA\nPOINTS 100000000 float\n",
    "vtu": b'<VTKFile type="UnstructuredGrid">',
    "msh": b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n100000000\n",
    "glb": b"glTF" + struct.pack("<II", 2, HUGE),
    "xyz": b"0 0 0\n",
    "csv": b"source,target\n0,1\n",
}


@pytest.mark.parametrize("suffix", LURES)
def test_noise_behind_a_good_beginning_takes_neither_time_nor_memory(suffix, tmp_path):
    path = tmp_path / f"lure.{suffix}"
    block = np.random.default_rng(3).integers(0, 256, 10_000_000).astype(np.uint8).tobytes()
    path.write_bytes(LURES[suffix] + block * 3)
    kind, message, seconds, megabytes = in_child(path)
    path.unlink()
    assert kind != "ok" and message
    assert seconds < SECONDS and megabytes < 400


def mutations(content: bytes, rng: np.random.Generator) -> bytes:
    """One of seven kinds of damage: cut, bytes changed, removed, inserted, digits changed, header, part repeated."""
    out = bytearray(content)
    kind, at = rng.integers(7), int(rng.integers(len(out)))
    if kind == 0:
        del out[at:]
    elif kind == 1:
        for i in rng.integers(0, len(out), rng.integers(1, 6)):
            out[i] = rng.integers(256)
    elif kind == 2:
        del out[at : at + int(rng.integers(1, 20))]
    elif kind == 3:
        out[at:at] = rng.integers(0, 256, rng.integers(1, 8)).astype(np.uint8).tobytes()
    elif kind == 4:
        digits = [i for i, c in enumerate(out) if 48 <= c <= 57] or [0]
        for i in rng.choice(digits, 3):
            out[i] = rng.choice(list(b"0123456789-.e "))
    elif kind == 5:
        out[at % min(len(out), 300)] = rng.integers(256)
    else:
        other = int(rng.integers(len(out)))
        out[at:at] = out[min(at, other) : max(at, other)][:200]
    return bytes(out)


def survive(files: dict[str, bytes], rounds: int, seed: int) -> dict[str, int]:
    rng = np.random.default_rng(seed)
    seen: dict[str, int] = {}
    for name, content in files.items():
        for _ in range(rounds):
            damaged = mutations(content, rng)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    mesh = load_mesh_bytes(damaged, name)
                    facts(mesh)
                    validate(mesh)
                kind = "ok"
            except HsdError as error:
                kind = error.kind
            seen[kind] = seen.get(kind, 0) + 1
    return seen


def test_damaged_files_end_in_a_mesh_or_a_sentence(tmp_path):
    seen = survive(small.small_files(tmp_path), 60, 1)
    assert seen["ok"] > 100 and seen["truncated"] > 100 and seen["bad_number"] > 100 and seen["index_out_of_range"] > 10


@pytest.mark.full
@pytest.mark.parametrize("seed", (11, 12))
def test_many_damaged_files_end_in_a_mesh_or_a_sentence(seed, tmp_path):
    pytest.importorskip("pyvista")
    files = {**small.small_files(tmp_path), **small.by_pyvista(tmp_path)}
    assert sum(survive(files, 500, seed).values()) == 500 * len(files)
