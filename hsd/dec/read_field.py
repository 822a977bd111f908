"""Fields from files and arrays as cochains of a mesh, with a sentence that says how the numbers were taken.

Edge values are positive from tail to head.  In stored order that is from the smaller to the larger vertex number; in
general a value on (v0, …, vk) changes its sign with an odd permutation.  Point and cell numbers are those of the file.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from hsd.dec.flat import flat, flat_flux
from hsd.errors import InputError, UnknownNameError
from hsd.mesh.mesh import Mesh

SUFFIXES = (".npy", ".npz", ".csv")
NAMES_IN_NPZ = ("omega", "field")
END_NAMES = ({"tail", "head"}, {"source", "target"}, {"from", "to"}, {"vertex1", "vertex2"})
"""First two column names of edge tables that no vector components have (u, v and i, j may be such)."""


def read_field(mesh: Mesh, source: str, k: int) -> tuple[np.ndarray, str]:
    """The k-cochain that ``source`` names, (N_k,) float64, and the sentence that says how it was read.

    source : a .npy file; a .npz file (``file.npz:name`` where it holds several arrays); a .csv file
             (``file.csv:column`` where it has several value columns); or the name of a point or cell field that came
             with the mesh.
    A CSV with the columns ``tail,head,value`` (k = 1) or ``v0,…,vk,value`` lists values on simplices given by file
    point numbers, those not listed are zero; any other table of numbers is taken as the array that it shows.
    Raises InputError (degree, no_file, empty, not_this_format, which_column, shape, not_numeric,
    non_finite_field, not_in_mesh, repeated_simplex, size_mismatch) and UnknownNameError.
    """
    if not 0 <= k <= mesh.dim:
        raise InputError(f"{mesh.name} has forms of degree 0 to {mesh.dim}; got degree {k}.", "degree")
    base, _, inner = source.rpartition(":")
    path = Path(base if Path(base).suffix.lower() in (".npz", ".csv") and inner else source)
    inner = inner if str(path) != source else ""
    if path.suffix.lower() not in SUFFIXES:
        return _named_field(mesh, source, k)
    if not path.is_file():
        raise InputError(f"There is no file {path}.", "no_file")
    if path.suffix.lower() == ".csv":
        header, values = _read_csv(path)
        if header[:2] == ["tail", "head"] and k != 1:
            raise InputError(
                f"{path.name} lists values on edges (tail, head, …), but the degree asked for is {k}.", "degree"
            )
        if header[: k + 1] in (["tail", "head"], [f"v{i}" for i in range(k + 1)]) and len(header) > k + 1:
            column = _column(header[k + 1 :], inner, path.name) + k + 1
            return _from_simplices(mesh, values[:, [*range(k + 1), column]], k, path.name)
        if set(header[:2]) in END_NAMES:
            raise InputError(f"{path.name} has the columns {','.join(header[:6])}; {_listed(k)}.", "shape")
        values = values[:, 0] if values.shape[1] == 1 else values
        if values.ndim == 2 and values.shape[1] == k + 2:
            return _told(mesh, values, k, path.name)
    elif path.suffix.lower() == ".npz":
        values = _read_npz(path, inner, _largest(mesh, k))
    else:
        with path.open("rb") as stream:
            problem = _header_problem(stream, path.stat().st_size)
        if problem:
            raise InputError(f"{path.name} is not a NumPy array file that can be read: {problem}.", "not_this_format")
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    return cochain_of(mesh, values, k, path.name)


def _listed(k: int) -> str:
    names = "tail,head" if k == 1 else ",".join(f"v{i}" for i in range(k + 1))
    return f"values on listed {'edges' if k == 1 else f'{k}-simplices'} need the header {names},value"


def _told(mesh: Mesh, values: np.ndarray, k: int, what: str) -> tuple[np.ndarray, str]:
    """``cochain_of`` of a table as wide as a list of simplices with values: a wrong shape says how to give that."""
    try:
        return cochain_of(mesh, values, k, what)
    except InputError as error:
        if error.kind != "shape":
            raise
        raise InputError(f"{error.message.removesuffix('.')}; {_listed(k)}.", "shape") from None


def _column(names: list[str], wanted: str, what: str) -> int:
    """Place of the value column: the one asked for, else ``value``, else the only one."""
    if wanted and wanted not in names:
        raise UnknownNameError(f"column of {what}", wanted, names)
    if wanted or "value" in names or len(names) == 1:
        return names.index(wanted or ("value" if "value" in names else names[0]))
    raise InputError(
        f"{what} has {len(names)} value columns ({', '.join(names)}); name one, like {what}:{names[0]}.", "which_column"
    )


def cochain_of(mesh: Mesh, values: np.ndarray, k: int, what: str = "the field") -> tuple[np.ndarray, str]:
    """An array as k-cochain (N_k,) and the sentence that says how it was taken.

    (N_k,)             : the cochain itself, in stored order
    (n_file_points,)   : k = 0, node values in file order
    (n_file_points, D) : node vectors in file order, D the number of coordinates (or 3); k = 1: their circulation along
                         edges (flat map), k = 2 in tetrahedra: their flux through faces
    (n_file_cells, D)  : the same for vectors on the file's triangles or tetrahedra
    Raises InputError (shape, not_numeric, non_finite_field).
    """
    values = np.asarray(values)
    if values.dtype.kind not in "fiub":
        raise InputError(f"A field must hold real numbers; {what} holds {values.dtype}.", "not_numeric")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    n_k, n_points, n_cells = mesh.complex.n(k), *_file_sizes(mesh)
    vector = values.ndim == 2 and mesh.points is not None and values.shape[1] in {mesh.points.shape[1], 3}
    reading = {1: "circulation along edges", 2: "flux through faces" if mesh.dim == 3 else None}.get(k)
    at = None
    if values.ndim == 1 and k == 0 and len(values) == n_points:
        how = f"{what}: {n_points} node values in file order."
        at = "nodes"
    elif values.shape == (n_k,):
        sense = ", positive from tail to head" if k == 1 else ""
        how = f"{what}: a {k}-cochain of {n_k} values in stored order{sense}."
    elif vector and reading and len(values) == n_points:
        how = f"{what}: {n_points} node vectors in file order, taken as their {reading}."
        at = "vertices"
    elif vector and reading and len(values) == n_cells:
        how = f"{what}: {n_cells} cell vectors in file order, taken as their {reading}."
        at = "cells"
    else:
        fits = [f"({n_k},) for a {k}-cochain"]
        fits += [f"({n_points},) for node values"] if k == 0 and n_points != n_k else []
        fits += [f"({n_points}, 3) for node vectors", f"({n_cells}, 3) for cell vectors"] if reading else []
        raise InputError(f"{what} has shape {values.shape}; expected {' or '.join(fits)}.", "shape")
    values = np.array(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if len(bad):
        raise InputError(
            f"{what} is not finite in {len(bad)} of {len(values)} rows, the first is row {bad[0]}; mend or drop them.",
            "non_finite_field",
            bad[:100],
        )
    if at == "nodes":
        return _on_vertices(mesh, values), how
    if at is None:
        return values, how
    vectors = _on_vertices(mesh, values) if at == "vertices" else _on_cells(mesh, values)
    vectors = vectors[:, : mesh.points.shape[1]]  # a planar mesh drops the third component
    return (flat if k == 1 else flat_flux)(mesh, vectors, at), how


# ---- file order to the mesh --------------------------------------------------------------------------------------


def _file_sizes(mesh: Mesh) -> tuple[int, int]:
    """Number of points and of cells of the file that the mesh came from."""
    points = mesh.complex.n_vertices if mesh.vertex_of_file_point is None else len(mesh.vertex_of_file_point)
    cells = mesh.complex.n(mesh.dim) if mesh.face_of_file_cell is None else len(mesh.face_of_file_cell)
    return points, cells


def _on_vertices(mesh: Mesh, values: np.ndarray) -> np.ndarray:
    return replace(mesh, point_fields={"values": values}).vertex_field("values")


def _on_cells(mesh: Mesh, values: np.ndarray) -> np.ndarray:
    """Values of file cells on the top simplices made of them, (N_dim, …)."""
    if mesh.cell_of_simplex is None:
        return values
    cell = mesh.cell_of_simplex[mesh.dim]
    out = values[np.maximum(cell, 0)]
    out[cell < 0] = 0.0
    return out


def _named_field(mesh: Mesh, name: str, k: int) -> tuple[np.ndarray, str]:
    if name in mesh.point_fields:
        return cochain_of(mesh, mesh.point_fields[name], k, f"point field {name!r}")
    if name in mesh.cell_fields:
        return cochain_of(mesh, mesh.cell_fields[name], k, f"cell field {name!r}")
    known = [*mesh.point_fields, *mesh.cell_fields]
    raise UnknownNameError("field (a .npy, .npz or .csv file, or a field of the mesh)", name, known or ["none"])


def _from_simplices(mesh: Mesh, table: np.ndarray, k: int, what: str) -> tuple[np.ndarray, str]:
    """Values on listed simplices, (m, k+2): file point numbers and the value."""
    n_points, _ = _file_sizes(mesh)
    rows, values = table[:, :-1], table[:, -1]
    wrong = np.flatnonzero(((rows != np.round(rows)) | ~(rows >= 0) | ~(rows < n_points)).any(axis=1))
    if len(wrong):
        raise InputError(
            f"Row {wrong[0] + 1} of {what} names a point that is no whole number from 0 to {n_points - 1}.",
            "index_out_of_range",
            wrong[:100],
        )
    if not np.isfinite(values).all():
        first = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"Row {first + 1} of {what} has a value that is not finite; mend it.", "non_finite_field")
    rows = rows.astype(np.int64)
    vertices = rows if mesh.vertex_of_file_point is None else mesh.vertex_of_file_point[rows]
    number, sign = mesh.complex.find(vertices)
    missing = np.flatnonzero((number < 0) | (vertices < 0).any(axis=1))
    if len(missing):
        simplex = "–".join(str(v) for v in rows[missing[0]])
        raise InputError(
            f"Row {missing[0] + 1} of {what} names {simplex}, which is no {k}-simplex of {mesh.name} "
            f"({len(missing)} such rows).",
            "not_in_mesh",
            missing[:100],
        )
    omega = np.zeros(mesh.complex.n(k))
    omega[number] = sign * values
    clash = np.flatnonzero(omega[number] != sign * values)
    if len(clash):
        raise InputError(
            f"Row {clash[0] + 1} of {what} names a simplex that another row gives a different value.",
            "repeated_simplex",
            clash[:100],
        )
    listed = len(np.unique(number))
    rest = f"; the other {len(omega) - listed} are zero" if listed < len(omega) else ""
    names = "edges, positive from tail to head" if k == 1 else f"{k}-simplices in the order given"
    return omega, f"{what}: values on {listed} of {len(omega)} {names}{rest}."


# ---- files -------------------------------------------------------------------------------------------------------


def _read_csv(path: Path) -> tuple[list[str], np.ndarray]:
    """Header (lower case, empty where there is none) and the numbers, (m, columns)."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(
            f"{path.name} is not a table of numbers separated by commas: it is no UTF-8 text.", "not_this_format"
        ) from None
    while len(lines) > 1 and lines[0].startswith("#") and lines[0].count(",") != lines[1].count(","):
        lines = lines[1:]  # a comment, no header
    first = [cell.strip().lower() for cell in lines[0][:10_000].lstrip("# ").split(",")] if lines else [""]
    header = first if any(first) and any(not _is_number(cell) for cell in first if cell) else []
    rows = [row for row in (line.split("#", 1)[0] for line in lines[bool(header) :]) if row.strip()]
    if not rows:
        raise InputError(f"{path.name} holds no rows of numbers.", "empty")
    width = len(header) or rows[0].count(",") + 1
    for i, row in enumerate(rows):
        if row.count(",") + 1 != width:
            need = f"{width} column names" if header else f"{width} columns in row 1"
            raise InputError(f"{path.name} has {need}, but {row.count(',') + 1} columns in row {i + 1}.", "shape", (i,))
    try:
        return header, np.loadtxt(rows, delimiter=",", ndmin=2)
    except ValueError:
        i, j, cell = next(_bad_cells(rows), (0, 0, rows[0][:30]))
        found = f"holds {cell[:30]!r}" if cell else "is empty"
        raise InputError(
            f"{path.name} is not a table of numbers separated by commas: column {j + 1} of row {i + 1} {found}.",
            "not_this_format",
            (i,),
        ) from None


def _bad_cells(rows: list[str]) -> Iterator[tuple[int, int, str]]:
    for i, row in enumerate(rows):
        for j, cell in enumerate(row.split(",")):
            if not _is_number(cell):
                yield i, j, cell.strip()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _largest(mesh: Mesh, k: int) -> int:
    """Bytes of the largest array that can be a field of this mesh."""
    return 4096 + 16 * max(mesh.complex.n(k), 3 * max(_file_sizes(mesh)))


def _read_npz(path: Path, name: str, limit: int) -> np.ndarray:
    """One array of an archive; members larger than any field of the mesh are refused before they are unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {m.filename.removesuffix(".npy"): m for m in archive.infolist() if m.filename.endswith(".npy")}
            name = name or _likely(list(members), path.name)
            if name not in members:
                raise UnknownNameError(f"array of {path.name}", name, members or ["none"])
            member = members[name]
            if member.file_size > limit:
                raise InputError(
                    f"Array {name!r} of {path.name} has {member.file_size} bytes, too many for this mesh.",
                    "size_mismatch",
                )
            with archive.open(member) as stream:
                problem = _header_problem(stream, member.file_size)
            if problem:
                raise InputError(f"Array {name!r} of {path.name} cannot be read: {problem}.", "not_this_format")
            with archive.open(member) as stream:
                return np.lib.format.read_array(stream, allow_pickle=False)
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, RuntimeError):
        raise InputError(
            f"{path.name} is not an archive of NumPy arrays: it is no zip archive, or a damaged one.", "not_this_format"
        ) from None


def _likely(names: list[str], what: str) -> str:
    """The array meant where none is named: the only one, else one with a usual name."""
    usual = [n for n in NAMES_IN_NPZ if n in names] or (names if len(names) == 1 else [])
    if usual:
        return usual[0]
    if not names:
        raise InputError(f"{what} holds no arrays.", "empty")
    raise InputError(
        f"{what} holds {len(names)} arrays ({', '.join(names[:10])}); name one, like {what}:{names[0]}.", "unknown_name"
    )


def _header_problem(stream, size: int) -> str | None:
    """What keeps an array file from being read safely, in words, or None."""
    try:
        version = np.lib.format.read_magic(stream)
        old = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    except (ValueError, SyntaxError, TypeError, OverflowError):
        return "it does not begin with the header of one"
    if dtype.hasobject:
        return "it holds Python objects, which are never unpickled; save plain numbers"
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > size - stream.tell():
        return f"its header promises shape {shape} of {dtype}, but it has {size} bytes"
    return None
