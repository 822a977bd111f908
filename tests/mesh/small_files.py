"""Small valid files of every format, written out by hand or by the writers; and a foreign-tool set through pyvista."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np

from hsd.mesh.io import save_mesh
from hsd.mesh.mesh import Mesh

CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], float)
QUADS = np.array([[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]])
TRIANGLES = np.concatenate([QUADS[:, [0, 1, 2]], QUADS[:, [0, 2, 3]]])
TETS = np.array([[0, 1, 3, 4], [1, 2, 3, 6], [1, 4, 5, 6], [3, 4, 6, 7], [1, 3, 4, 6]])


def cube(fields: bool = False) -> Mesh:
    """The surface of the unit cube, 8 vertices, 12 faces; on demand with fields on points and cells."""
    more = {}
    if fields:
        more = {
            "point_fields": {"height": CUBE[:, 2] / 3.0, "normal": CUBE - 0.5},
            "cell_fields": {"tag": np.arange(12) * 10},
        }
    return Mesh.from_cells(CUBE, TRIANGLES, name="cube", **more)


def cube_tets() -> Mesh:
    """The unit cube in five tetrahedra."""
    return Mesh.from_cells(CUBE, TETS, name="cube")


def glb(document: dict, binary: bytes = b"") -> bytes:
    """A GLB file of a JSON document and a binary chunk."""
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text
    if binary:
        body += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


def cube_glb() -> bytes:
    """The cube placed twice, the second time turned by 90° about z, scaled by 2 and moved."""
    points, index = CUBE.astype("<f4").tobytes(), TRIANGLES.astype("<u2").tobytes()
    return glb(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0, 1]}],
            "nodes": [
                {"mesh": 0},
                {"children": [2], "translation": [10, 0, 0]},
                {"mesh": 0, "rotation": [0, 0, 0.5**0.5, 0.5**0.5], "scale": [2, 2, 2]},
            ],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
                {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
            ],
            "bufferViews": [
                {"buffer": 0, "byteOffset": 0, "byteLength": len(points)},
                {"buffer": 0, "byteOffset": len(points), "byteLength": len(index)},
            ],
            "buffers": [{"byteLength": len(points) + len(index)}],
        },
        points + index,
    )


MSH_4 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 1 1 0
1 0 0 0 1 0 0 0 0
1 0 0 0 1 1 0 0 1 1
$EndEntities
$Nodes
2 5 10 90
1 1 0 2
10
20
0 0 0
1 0 0
2 1 0 3
30
50
90
1 1 0
0 1 0
2 1 0
$EndNodes
$Elements
2 4 1 4
1 1 1 1
1 10 20
2 1 2 3
2 10 20 30
3 10 30 50
4 20 90 30
$EndElements
"""

OBJ_MANY = """# comment
mtllib missing.mtl
o thing
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vn 0 0 1
f 1/1/1 2/1/1 3/1/1 -1/1/1
v 2 0 0
v 3 0 0
l 2 5 6
p 6
"""


def msh_binary_2() -> bytes:
    """The cube's surface as binary Gmsh 2.2."""
    out = b"$MeshFormat\n2.2 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n8\n"
    for i, p in enumerate(CUBE):
        out += struct.pack("<i3d", 7 * i + 3, *p)
    out += b"\n$EndNodes\n$Elements\n12\n" + struct.pack("<3i", 2, 12, 2)
    for i, t in enumerate(TRIANGLES):
        out += struct.pack("<6i", i + 1, 5, 1, *(7 * t + 3))
    return out + b"\n$EndElements\n"


def msh_binary_4() -> bytes:
    """The cube's surface as binary Gmsh 4.1."""
    out = b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    out += struct.pack("<4Q", 1, 8, 1, 8) + struct.pack("<3iQ", 2, 1, 0, 8) + np.arange(1, 9).astype("<u8").tobytes()
    out += CUBE.astype("<f8").tobytes() + b"\n$EndNodes\n$Elements\n"
    out += struct.pack("<4Q", 1, 12, 1, 12) + struct.pack("<3iQ", 2, 1, 2, 12)
    rows = np.column_stack([np.arange(1, 13), TRIANGLES + 1])
    return out + rows.astype("<u8").tobytes() + b"\n$EndElements\n"


def vtk_binary() -> bytes:
    """The cube's quads as binary legacy VTK with a point and a cell field."""
    return (
        b"# vtk DataFile Version 3.0\ncube\nBINARY\nDATASET POLYDATA\nPOINTS 8 float\n"
        + CUBE.astype(">f4").tobytes()
        + b"\nPOLYGONS 6 30\n"
        + np.column_stack([np.full(6, 4), QUADS]).astype(">i4").tobytes()
        + b"\nPOINT_DATA 8\nSCALARS p double 1\nLOOKUP_TABLE default\n"
        + np.arange(8).astype(">f8").tobytes()
        + b"\nCELL_DATA 6\nFIELD FieldData 1\nc 1 6 int\n"
        + np.arange(6).astype(">i4").tobytes()
        + b"\n"
    )


def by_pyvista(folder: Path) -> dict[str, bytes]:
    """The cube as pyvista writes it: appended and compressed XML, both legacy forms, PLY, STL."""
    pyvista = __import__("pyvista")
    faces = np.column_stack([np.full(12, 3), TRIANGLES]).ravel()
    surface = pyvista.PolyData(CUBE, faces)
    surface.point_data["height"] = CUBE[:, 2]
    surface.cell_data["tag"] = np.arange(12)
    solid = pyvista.UnstructuredGrid({10: TETS}, CUBE)
    solid.cell_data["tag"] = np.arange(5)
    out = {}
    for name, mesh, binary in (
        ("pv_binary.vtk", surface, True), ("pv_text.vtk", surface, False), ("pv.vtp", surface, True),
        ("pv_text.vtp", surface, False), ("pv.vtu", solid, True), ("pv_solid.vtk", solid, True),
        ("pv_solid_text.vtk", solid, False), ("pv.ply", surface, True), ("pv_text.ply", surface, False),
        ("pv.stl", surface, True), ("pv_text.stl", surface, False),
    ):  # fmt: skip
        mesh.save(folder / name, binary=binary)
        out[name] = (folder / name).read_bytes()
    return out


def small_files(folder: Path) -> dict[str, bytes]:
    """Name → content of a small valid file, at least one of every format and form."""
    out = {}
    for suffix in ("obj", "ply", "off", "stl", "vtk", "vtu", "vtp", "msh", "npz"):
        path = folder / f"cube.{suffix}"
        save_mesh(cube(fields=suffix not in ("obj", "off", "stl", "msh")), path)
        out[path.name] = path.read_bytes()
        if suffix in ("vtk", "vtu", "msh", "npz"):
            path = folder / f"tets.{suffix}"
            save_mesh(cube_tets(), path)
            out[path.name] = path.read_bytes()
    out["many.obj"] = OBJ_MANY.encode()
    out["four.msh"] = MSH_4.encode()
    out["binary2.msh"], out["binary4.msh"] = msh_binary_2(), msh_binary_4()
    out["binary.vtk"] = vtk_binary()
    out["cube.glb"] = cube_glb()
    text = "solid a\n" + "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CUBE[t])
        + "endloop\nendfacet\n"
        for t in TRIANGLES
    )
    out["text.stl"] = (text + "endsolid a\n").encode()
    out["text.ply"] = (
        "ply\nformat ascii 1.0\ncomment hello\nelement vertex 8\nproperty double x\n"
        "property double y\nproperty double z\n"
        "property uchar red\nelement face 6\nproperty list uint8 int32 vertex_index\nproperty float q\nend_header\n"
        + "".join(f"{x} {y} {z} {i}\n" for i, (x, y, z) in enumerate(CUBE))
        + "".join("4 " + " ".join(map(str, q)) + " 0.5\n" for q in QUADS)
    ).encode()
    out["color.off"] = ("COFF\n8 6 0\n" + "".join(f"{x} {y} {z} 1 0 0 1\n" for x, y, z in CUBE) + "".join(
        "4 " + " ".join(map(str, q)) + " 255 0 0\n" for q in QUADS)).encode()  # fmt: skip
    out["graph.csv"] = b"source,target,w\n0,1,0.5\n1,2,1.5\n2,0,2.5\n2,3,1\n"
    out["points.xyz"] = "".join(f"{x} {y} {z}\n" for x, y, z in CUBE).encode()
    out["points.csv"] = b"x,y,z,p\n0,0,0,1\n1,0,0,2\n0,1,0,3\n0,0,1,4\n1,1,1,5\n"
    return out
