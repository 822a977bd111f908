"""NumPy archives: points with faces, tets, edges or cells, fields beside them.  Sizes are judged before loading.

Arrays: ``points`` (n, D); ``faces`` (m, ≥3), ``tets`` (m, 4), ``edges`` (m, 2), ``vertices`` (m,), or ``cells``
(m, 2 | 3 | 4).  Of further arrays those with n rows are point fields and those with one row a cell are cell fields;
the prefixes ``point/`` and ``cell/`` say it outright.  Text that is no part of the mesh (provenance, labels) is passed
over.
"""

from __future__ import annotations

import io
import math
import struct
import zipfile
import zlib

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source
from hsd.mesh.io.tokens import widened
from hsd.mesh.raw import CellBlock, RawMesh

LIMIT = 2**31
"""Bytes of all arrays together that an archive may hold once unpacked."""

CELLS = (("tets", "tetra", 4), ("faces", "polygon", None), ("edges", "line", 2), ("vertices", "vertex", 1))

MESH = ("points", "pos", "cells", *(key for key, _, _ in CELLS))


def read_npz(source: Source) -> RawMesh:
    """Raises InputError (not_this_format, empty, header_too_large, truncated, shape)."""
    if not source.head.startswith(b"PK"):
        raise source.refuse("a NumPy archive (.npz)", "it is no zip archive")
    try:
        with zipfile.ZipFile(io.BytesIO(source.read())) as archive:
            arrays = {
                info.filename.removesuffix(".npy"): _array(archive, info, source) for info in _entries(archive, source)
            }
            arrays = {name: values for name, values in arrays.items() if values is not None}
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        ValueError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise InputError(f"{source.name} is a damaged zip archive ({error}).", "truncated") from error
    return _raw(arrays, source.name)


def _entries(archive: zipfile.ZipFile, source: Source) -> list[zipfile.ZipInfo]:
    entries = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    if not entries:
        raise source.refuse("a NumPy archive (.npz)", "it is a zip archive without .npy arrays")
    total = sum(info.file_size for info in entries)
    if total > LIMIT:
        raise InputError(
            f"{source.name} unpacks to {total / 2**30:.1f} GiB; up to {LIMIT / 2**30:.0f} GiB are read.",
            "header_too_large",
        )
    return entries


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source) -> np.ndarray | None:
    """One array, after its own header has been held against the size of its entry; None for text beside the mesh."""
    name = info.filename
    with archive.open(info) as handle:
        try:
            version = np.lib.format.read_magic(handle)
            reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = reader(handle)
        except (ValueError, SyntaxError, TypeError, OverflowError) as error:
            raise InputError(f"{source.name}: {name} is no NumPy array.", "not_this_format") from error
        if dtype.kind in "US" and not name.startswith("point/") and name.removesuffix(".npy") not in MESH:
            return None
        if dtype.kind not in ("biufU" if name.startswith("point/") else "biuf"):  # labels of a graph may be text
            raise InputError(f"{source.name}: {name} holds {dtype}, not numbers; objects are never unpickled.", "shape")
        if any(not isinstance(s, int) or s < 0 for s in shape) or math.prod(shape) * dtype.itemsize > info.file_size:
            raise InputError(
                f"{source.name}: {name} announces shape {shape}, more than its {info.file_size} bytes hold.",
                "header_too_large",
            )
        data = handle.read(math.prod(shape) * dtype.itemsize)
    if len(data) < math.prod(shape) * dtype.itemsize:
        raise InputError(f"{source.name}: {name} is cut.", "truncated")
    return np.frombuffer(data, dtype, math.prod(shape)).reshape(shape, order="F" if fortran else "C")


def _raw(arrays: dict[str, np.ndarray], name: str) -> RawMesh:
    points = arrays.pop("points", arrays.pop("pos", None))
    if "cells" in arrays:
        cells = arrays.pop("cells")
        width = cells.shape[1] if cells.ndim == 2 else 0
        if width not in (2, 3, 4):
            raise InputError(f"{name}: cells must have shape (m, 2), (m, 3) or (m, 4); found {cells.shape}.", "shape")
        arrays.setdefault({2: "edges", 3: "faces", 4: "tets"}[width], cells)
    blocks, first = [], 0
    for key, kind, width in CELLS:
        rows = arrays.pop(key, None)
        if rows is None or not rows.size:
            continue
        rows = rows[:, None] if key == "vertices" and rows.ndim == 1 else rows
        if rows.ndim != 2 or rows.dtype.kind not in "iu" or (width or rows.shape[1]) != rows.shape[1]:
            need = "≥3" if width is None else width
            raise InputError(
                f"{name}: {key} must be whole numbers of shape (m, {need}); found {rows.dtype} {rows.shape}.",
                "shape",
            )
        blocks.append(CellBlock.of_rows(kind, rows, first))
        first += len(rows)
    n = 0
    if points is None:
        if not blocks or any(b.kind not in ("line", "vertex") for b in blocks):
            raise InputError(f"{name} has no array 'points' (only a graph, with 'edges', may lack it).", "empty")
        n = int(max(b.flat.max() for b in blocks)) + 1
        if n > 10 * first + 1_000_000:
            raise InputError(
                f"{name}: vertex number {n - 1} for {first} edges; number vertices from 0 without gaps.", "shape"
            )
    elif points.ndim != 2 or points.shape[1] < 2:
        raise InputError(f"{name}: points must have shape (n, D) with D ≥ 2; found {points.shape}.", "shape")
    else:
        points, n = widened(points, True), len(points)
    fields: dict[str, dict[str, np.ndarray]] = {"point": {}, "cell": {}}
    for key, values in arrays.items():
        where, _, rest = key.partition("/")
        if where in fields and rest:
            fields[where][rest] = values
        elif values.ndim and len(values) in (n, first):
            fields["point" if len(values) == n else "cell"][key] = values
    return RawMesh(
        points, blocks, fields["point"], fields["cell"], format="NPZ", n_graph=0 if points is not None else n
    )
