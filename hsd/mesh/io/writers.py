"""Writers: OBJ, PLY, OFF, STL, VTK, VTU, VTP, MSH (2.2) and NPZ, by own code; decimal text is exact (17 digits).

All maximal simplices are written, with the winding of the source: vertices and edges that hang on too, where the
format can hold them; what it cannot hold is refused, never dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.provenance import field_data, text_arrays, title
from hsd.mesh.mesh import Mesh

VTK_TYPE = {0: 1, 1: 3, 2: 5, 3: 10}
GMSH_TYPE = {0: 15, 1: 1, 2: 2, 3: 4}
WORDS = {0: "isolated vertices", 1: "edges", 2: "faces", 3: "tetrahedra"}


@dataclass(frozen=True)
class Export:
    """What is written: points (n, 3), cells per degree, fields on points and on cells (rows in the order of cells)."""

    points: np.ndarray
    cells: dict[int, np.ndarray]
    point_data: dict[str, np.ndarray]
    cell_data: dict[str, np.ndarray]
    name: str
    provenance: Mapping[str, object] = field(default_factory=dict)

    @property
    def rows(self) -> list[tuple[int, np.ndarray]]:
        return [(k, rows) for k, rows in sorted(self.cells.items()) if len(rows)]


def cells_to_write(mesh: Mesh) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Maximal simplices per degree, wound as in the source, and the number of each in the complex.

    Top cells come in the order of the file cells that they came from, where that is known.
    """
    cx = mesh.complex
    cells, numbers = {}, {}
    for k in range(mesh.dim + 1):
        number = np.flatnonzero(cx.is_maximal(k))
        rows = cx.simplices(k)[number].copy()
        if k == mesh.dim and k >= 1:
            sign = mesh.winding if mesh.winding is not None else mesh.orientation
            if sign is not None:
                flip = sign[number] < 0
                rows[flip, -2], rows[flip, -1] = rows[flip, -1].copy(), rows[flip, -2].copy()
            if mesh.cell_of_simplex is not None and len(mesh.cell_of_simplex[k]) == cx.n(k):
                order = np.argsort(mesh.cell_of_simplex[k][number], kind="stable")
                rows, number = rows[order], number[order]
        cells[k], numbers[k] = rows, number
    return cells, numbers


def _fields(mesh: Mesh, point_data: Mapping | None, cell_data: Mapping | None, numbers: dict[int, np.ndarray]) -> tuple:
    """Point and cell fields in the order of writing."""
    cx = mesh.complex
    if point_data is None:
        point_data = {name: mesh.vertex_field(name) for name in mesh.point_fields}
    points = {}
    for name, values in point_data.items():
        values = np.asarray(values)
        if values.ndim not in (1, 2) or len(values) != cx.n_vertices:
            raise InputError(
                f"Point field {name!r} has shape {values.shape}; {cx.n_vertices} rows are needed, one a vertex.",
                "shape",
            )
        points[str(name)] = values
    cells = {}
    written = [(k, number) for k, number in sorted(numbers.items()) if len(number)]
    if cell_data is None:
        if mesh.cell_of_simplex is not None:
            origin = np.concatenate([mesh.cell_of_simplex[k][number] for k, number in written])
        else:
            origin = np.concatenate([number if k == mesh.dim else np.full(len(number), -1) for k, number in written])
        for name, values in mesh.cell_fields.items():
            values = np.asarray(values, np.float64)
            if values.ndim in (1, 2) and (origin < len(values)).all():
                out = values[np.maximum(origin, 0)]
                out[origin < 0] = np.nan
                cells[str(name)] = out
    else:
        for name, values in cell_data.items():
            values = np.asarray(values)
            if values.ndim not in (1, 2) or len(values) != cx.n(mesh.dim):
                raise InputError(
                    f"Cell field {name!r} has shape {values.shape}; {cx.n(mesh.dim)} rows are needed, one a "
                    "top simplex.",
                    "shape",
                )
            parts = [
                values[number] if k == mesh.dim else np.full((len(number), *values.shape[1:]), np.nan)
                for k, number in written
            ]
            cells[str(name)] = np.concatenate(parts)
    return points, cells


def save_mesh(
    mesh: Mesh,
    path: str | os.PathLike,
    point_data: Mapping | None = None,
    cell_data: Mapping | None = None,
    provenance: Mapping[str, object] | None = None,
) -> None:
    """Write a mesh; the suffix names the format.

    point_data : name → (n_vertices, …), in vertex order; cell_data : name → (N_dim, …), in the order of top simplices;
    None: the mesh's own fields, {} : none.  OBJ, OFF, STL and MSH hold no fields: given ones are
    refused, own ones left out.
    provenance : name → value as text within .vtu, .vtp, .vtk and .npz (see :mod:`hsd.mesh.io.provenance`)
    Points, their order, cells and winding survive a round trip exactly, but for STL (32-bit, no index).  PLY has no
    cells for isolated vertices: load them again with keep_loose=True.
    Raises InputError (unknown_format, no_folder, cannot_write, no_positions, shape).
    """
    path = Path(path)
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in WRITERS:
        known = ", ".join("." + s for s in WRITERS)
        found = "." + suffix if suffix else "(no suffix)"
        raise InputError(f"{path.name}: unknown mesh format to write {found}; known: {known}.", "unknown_format")
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} does not exist; make it first.", "no_folder")
    writer, degrees, holds_fields = WRITERS[suffix]
    cells, numbers = cells_to_write(mesh)
    if mesh.points is None and (suffix != "npz" or mesh.dim > 1 or mesh.lengths2 is not None):
        advice = "save it as .npz" if mesh.dim == 1 and mesh.lengths2 is None else "no mesh format holds it"
        raise InputError(f"{mesh.name} has no positions; {advice}.", "no_positions")
    for k, rows in cells.items():
        if len(rows) and k not in degrees:
            raise InputError(
                f"A .{suffix} file holds no {WORDS[k]} ({len(rows)} here); save as .vtu, .vtk, .msh or .npz.",
                "cannot_write",
            )
    if (point_data or cell_data) and not holds_fields:
        raise InputError(f"A .{suffix} file holds no fields; save as .vtu, .vtp, .vtk, .ply or .npz.", "cannot_write")
    points_out, cells_out = _fields(mesh, point_data, cell_data, numbers)
    points = mesh.points if mesh.points is not None else np.zeros((0, 3))
    if suffix != "npz":
        if points.shape[1] > 3:
            raise InputError(
                f"A .{suffix} file holds 3-D positions; these have {points.shape[1]}. Use .npz.", "cannot_write"
            )
        points = np.column_stack([points, np.zeros((len(points), 3 - points.shape[1]))])
    content = writer(Export(points, cells, points_out, cells_out, _word(mesh.name), provenance or {}))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.", "cannot_write") from error


# ---- text helpers ------------------------------------------------------------------------------------------------


def _word(name: str) -> str:
    """A name as one word of printable characters."""
    return "".join(c if c.isprintable() and not c.isspace() else "_" for c in name)[:200] or "mesh"


def _text(values: np.ndarray, before: str = "") -> str:
    """Rows as lines; floats with the 17 digits that make them exact, whole numbers as they are."""
    if not len(values):
        return ""
    rows = values.reshape(len(values), -1).tolist()
    convert: Callable = repr if values.dtype.kind == "f" else str
    return "\n".join(before + " ".join(map(convert, row)) for row in rows) + "\n"


def _numeric(values: np.ndarray) -> np.ndarray:
    """float64 or int64."""
    return values.astype(np.float64) if values.dtype.kind == "f" else values.astype(np.int64)


def _counted(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([np.full(len(rows), rows.shape[1]), rows])


# ---- formats -----------------------------------------------------------------------------------------------------


def write_obj(e: Export) -> bytes:
    letter = {0: "p ", 1: "l ", 2: "f "}
    return (_text(e.points, "v ") + "".join(_text(rows + 1, letter[k]) for k, rows in reversed(e.rows))).encode()


def write_off(e: Export) -> bytes:
    n_cells = sum(len(rows) for _, rows in e.rows)
    body = "".join(_text(_counted(rows)) for _, rows in reversed(e.rows))
    return f"OFF\n{len(e.points)} {n_cells} 0\n{_text(e.points)}{body}".encode()


def write_stl(e: Export) -> bytes:
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    corners = e.points[e.cells[2]]
    with np.errstate(over="ignore"):
        small = corners.astype(np.float32)
    if not np.isfinite(small).all():
        raise InputError("Coordinates beyond 3e38 do not fit an STL file.", "cannot_write")
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    out = np.zeros(len(corners), record)
    out["corners"], out["normal"] = small, np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    return b"binary".ljust(80, b" ") + len(out).to_bytes(4, "little") + out.tobytes()


PLY_TYPE = {"f": ("double", "<f8"), "i": ("int", "<i4")}


def write_ply(e: Export) -> bytes:
    """Binary, little-endian; vector fields as one property a component (name_0, name_1, …)."""
    columns = [(axis, e.points[:, i]) for i, axis in enumerate("xyz")]
    columns += [c for name, values in e.point_data.items() for c in _columns(name, values)]
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(e.points)}"]
    header += [f"property {_ply(v)[0]} {name}" for name, v in columns]
    body = _records([(v, _ply(v)[1]) for _, v in columns], len(e.points))
    at = len(e.cells.get(0, ()))  # isolated vertices are points that no element uses
    data = [c for name, values in e.cell_data.items() for c in _columns(name, values)]
    for k, element in ((1, "edge"), (2, "face")):
        rows = e.cells.get(k, np.zeros((0, k + 1), np.int64))
        if k == 1:
            at_edges = slice(at, at + len(rows))
            if not len(rows):
                continue
            own = [(name, v[at_edges]) for name, v in data] if not len(e.cells.get(2, ())) else []
            header += [f"element edge {len(rows)}", "property int vertex1", "property int vertex2"]
            parts = [(rows[:, 0], "<i4"), (rows[:, 1], "<i4")]
        else:
            own = [(name, v[at : at + len(rows)]) for name, v in data]
            header += [f"element {element} {len(rows)}", "property list uchar int vertex_indices"]
            parts = [(np.full(len(rows), 3), "u1"), (rows, "<i4")]
        header += [f"property {_ply(v)[0]} {name}" for name, v in own]
        body += _records(parts + [(v, _ply(v)[1]) for _, v in own], len(rows))
        at += len(rows)
    return ("\n".join([*header, "end_header"]) + "\n").encode() + body


def _ply(values: np.ndarray) -> tuple[str, str]:
    return PLY_TYPE["i" if values.dtype.kind in "iub" and np.abs(values).max(initial=0) < 2**31 else "f"]


def _columns(name: str, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    word = f"field_{name}" if name in ("x", "y", "z", "vertex1", "vertex2") else _word(name)
    return [(word, values)] if values.ndim == 1 else [(f"{word}_{j}", values[:, j]) for j in range(values.shape[1])]


def _records(parts: list[tuple[np.ndarray, str]], n: int) -> bytes:
    record = np.dtype([(f"{i}", code, values.shape[1:]) for i, (values, code) in enumerate(parts)])
    out = np.empty(n, record)
    for i, (values, _) in enumerate(parts):
        out[f"{i}"] = values
    return out.tobytes()


def write_vtk(e: Export) -> bytes:
    n_cells = sum(len(rows) for _, rows in e.rows)
    entries = sum(rows.size + len(rows) for _, rows in e.rows)
    text = [
        f"# vtk DataFile Version 3.0\n{title(e.name, e.provenance)}\n",
        f"ASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {len(e.points)} double\n",
        _text(e.points),
        f"CELLS {n_cells} {entries}\n",
        *(_text(_counted(rows)) for _, rows in e.rows),
        f"CELL_TYPES {n_cells}\n",
        *(_text(np.full(len(rows), VTK_TYPE[k])) for k, rows in e.rows),
    ]
    for key, n, data in (("POINT_DATA", len(e.points), e.point_data), ("CELL_DATA", n_cells, e.cell_data)):
        if data:
            text.append(f"{key} {n}\nFIELD FieldData {len(data)}\n")
            for name, values in data.items():
                values = _numeric(values)
                width = 1 if values.ndim == 1 else values.shape[1]
                type_ = "double" if values.dtype.kind == "f" else "vtktypeint64"
                text.append(f"{_word(name)} {width} {n} {type_}\n{_text(values)}")
    return "".join(text).encode()


def _array(name: str, values: np.ndarray, type_: str | None = None) -> str:
    values = _numeric(values)
    type_ = type_ or ("Float64" if values.dtype.kind == "f" else "Int64")
    width = f' NumberOfComponents="{values.shape[1]}"' if values.ndim == 2 else ""
    return f'<DataArray type="{type_}" Name={quoteattr(name)}{width} format="ascii">\n{_text(values)}</DataArray>\n'


def _xml(kind: str, counts: str, e: Export, body: Iterable[str]) -> bytes:
    data = "".join(
        f"<{tag}>\n" + "".join(_array(name, values) for name, values in fields.items()) + f"</{tag}>\n"
        for tag, fields in (("PointData", e.point_data), ("CellData", e.cell_data))
        if fields
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<VTKFile type="{kind}" version="1.0" byte_order="LittleEndian" '
        f'header_type="UInt64">\n<{kind}>\n{field_data(e.provenance)}'
        f'<Piece NumberOfPoints="{len(e.points)}" {counts}>\n'
        f"<Points>\n{_array('Points', e.points)}</Points>\n{''.join(body)}{data}</Piece>\n</{kind}>\n</VTKFile>\n"
    ).encode()


def write_vtu(e: Export) -> bytes:
    none = np.zeros(0, np.int64)
    flat = np.concatenate([rows.ravel() for _, rows in e.rows] or [none])
    lengths = np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in e.rows] or [none])
    types = np.concatenate([np.full(len(rows), VTK_TYPE[k]) for k, rows in e.rows] or [none])
    arrays = (("connectivity", flat, None), ("offsets", np.cumsum(lengths), None), ("types", types, "UInt8"))
    body = ["<Cells>\n", *(_array(*a) for a in arrays), "</Cells>\n"]
    return _xml("UnstructuredGrid", f'NumberOfCells="{len(types)}"', e, body)


def write_vtp(e: Export) -> bytes:
    body, counts = [], []
    for k, tag in ((0, "Verts"), (1, "Lines"), (2, "Polys")):
        rows = e.cells.get(k, np.zeros((0, k + 1), np.int64))
        counts.append(f'NumberOf{tag}="{len(rows)}"')
        offsets = np.arange(1, len(rows) + 1) * (k + 1)
        body += [f"<{tag}>\n", _array("connectivity", rows.ravel()), _array("offsets", offsets), f"</{tag}>\n"]
    return _xml("PolyData", " ".join(counts), e, body)


def write_msh(e: Export) -> bytes:
    """Gmsh 2.2."""
    top = max((k for k, _ in e.rows), default=0)
    if any(k < top for k, _ in e.rows):
        raise InputError(
            "In a .msh file elements below the top dimension would read as boundary markers; save as .vtu or .npz.",
            "cannot_write",
        )
    text = ["$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n", f"{len(e.points)}\n"]
    tags = np.arange(1, len(e.points) + 1).tolist()
    text += [f"{tag} {x!r} {y!r} {z!r}\n" for tag, (x, y, z) in zip(tags, e.points.tolist())]
    n_cells = sum(len(rows) for _, rows in e.rows)
    text.append(f"$EndNodes\n$Elements\n{n_cells}\n")
    for k, rows in e.rows:
        head = np.column_stack(
            [np.arange(1, len(rows) + 1), np.tile([GMSH_TYPE[k], 2, 0, 1], (len(rows), 1)), rows + 1]
        )
        text.append(_text(head))
    text.append("$EndElements\n")
    return "".join(text).encode()


def write_npz(e: Export) -> bytes:
    import io

    keys = {0: "vertices", 1: "edges", 2: "faces", 3: "tets"}
    arrays = {keys[k]: rows[:, 0] if k == 0 else rows for k, rows in e.rows}
    if len(e.points):
        arrays["points"] = e.points
    arrays |= {f"point/{name}": values for name, values in e.point_data.items()}
    arrays |= {f"cell/{name}": values for name, values in e.cell_data.items()}
    out = io.BytesIO()
    np.savez_compressed(out, **arrays, **text_arrays(e.provenance))
    return out.getvalue()


WRITERS: dict[str, tuple[Callable[[Export], bytes], tuple[int, ...], bool]] = {
    "obj": (write_obj, (0, 1, 2), False),
    "ply": (write_ply, (0, 1, 2), True),
    "off": (write_off, (0, 1, 2), False),
    "stl": (write_stl, (2,), False),
    "vtk": (write_vtk, (0, 1, 2, 3), True),
    "vtu": (write_vtu, (0, 1, 2, 3), True),
    "vtp": (write_vtp, (0, 1, 2), True),
    "msh": (write_msh, (0, 1, 2, 3), False),
    "npz": (write_npz, (0, 1, 2, 3), True),
}
"""Suffix → writer, degrees of the cells that the format holds, whether it holds fields."""
