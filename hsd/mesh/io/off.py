"""OFF and its relatives COFF, NOFF, STOFF, 4OFF …: comments, counts on the header line, colours and normals."""

from __future__ import annotations

import re

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source, require_text
from hsd.mesh.io.tokens import Tokens, numbers, whole, without_comments
from hsd.mesh.raw import CellBlock, RawMesh

HEADER = re.compile(rb"(ST)?(C)?(N)?(4)?(n)?OFF\b")


def read_off(source: Source) -> RawMesh:
    """Points and polygons; colours after the coordinates (COFF) and normals (NOFF) become point fields.

    Raises InputError (not_this_format, empty, truncated, header_too_large, bad_number).
    """
    require_text(source, "an OFF mesh")
    start = source.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    while start.startswith(b"#"):
        start = start.partition(b"\n")[2].lstrip()
    header = HEADER.match(start)
    if header is None and not re.match(rb"\d+\s+\d+", start):
        raise source.refuse("an OFF mesh", "it does not begin with OFF and three counts")
    data = without_comments(source.read().replace(b"\r", b"\n")).lstrip(b"\xef\xbb\xbf")
    if header is not None:
        if re.match(rb"\S*OFF[ \t]+BINARY", start):
            raise InputError(f"{source.name} is a binary OFF file, which is not read; save it as text.", "unsupported")
        data = data[data.index(header.group()) + len(header.group()) :]
    textured, coloured, with_normals, homogeneous, any_dim = (
        (g is not None for g in header.groups()) if header else (False,) * 5
    )
    lines = [line for line in data.split(b"\n") if line.strip()]
    if not lines:
        raise InputError(f"{source.name} holds an OFF header and nothing else.", "empty")
    dim = 3
    if any_dim:
        first = lines[0].split()
        dim = whole(first[0], "dimension", source.name)
        lines = ([b" ".join(first[1:])] if len(first) > 1 else []) + lines[1:]
    if not 2 <= dim <= 16:
        raise InputError(f"{source.name}: dimension {dim} is not supported (2 to 16 are).", "bad_number")
    counts = lines[0].split() if lines else []
    if len(counts) < 2:
        raise InputError(f"{source.name}: the counts of vertices and faces are missing.", "truncated")
    n, m = (whole(c, "count of vertices or faces", source.name) for c in counts[:2])
    lines = lines[1:]
    width = dim + bool(homogeneous) + 3 * bool(with_normals)
    if n + m > len(lines):  # perhaps several rows a line: only legal without colours
        return _from_stream(b"\n".join(lines), n, m, width, dim, source.name)
    point_lines, face_lines = lines[:n], lines[n : n + m]
    widths = {len(line.split()) for line in point_lines}
    if n and (len(widths) != 1 or min(widths) < width):
        if len(widths) > 1 and min(widths) >= width:
            point_lines = [b" ".join(line.split()[:width]) for line in point_lines]
            widths = {width}
        else:
            raise InputError(
                f"{source.name}: every vertex line needs {width} numbers; found {sorted(widths)}.", "bad_number"
            )
    width = max(widths, default=width)
    rows = numbers(b"\n".join(point_lines), n * width, f"vertices of {source.name}") if n else np.zeros(0)
    rows = rows.reshape(n, width)
    lengths = np.array(
        [whole(line.split(None, 1)[0], "number of corners of a face", source.name) for line in face_lines]
    )
    split = [line.split() for line in face_lines]
    for i, (row, length) in enumerate(zip(split, lengths)):
        if len(row) <= length:
            raise InputError(
                f"{source.name}: face {i} announces {length} corners, but its line has {len(row) - 1} numbers.",
                "truncated",
            )
    flat = [token for row, length in zip(split, lengths) for token in row[1 : length + 1]]
    corners = (
        numbers(b" ".join(flat), len(flat), f"faces of {source.name}", np.int64) if flat else np.zeros(0, np.int64)
    )
    return _raw(rows, corners, lengths, dim, bool(homogeneous), bool(with_normals), bool(coloured), bool(textured))


def _from_stream(data: bytes, n: int, m: int, width: int, dim: int, name: str) -> RawMesh:
    tokens = Tokens(data, name)
    tokens.need(n * width + m, f"{n} vertices and {m} faces")
    rows = tokens.floats(n * width, "vertices").reshape(n, width)
    rest = tokens.ints(tokens.left, "faces")
    lengths, at = np.zeros(m, np.int64), 0
    keep = np.ones(len(rest), bool)
    for i in range(m):
        if at >= len(rest) or rest[at] < 0 or at + 1 + rest[at] > len(rest):
            raise InputError(f"{name} ends inside face {i} of {m}; the file is cut.", "truncated")
        lengths[i], keep[at] = rest[at], False
        at += 1 + int(rest[at])
    keep[at:] = False
    return _raw(rows, rest[keep], lengths, dim, False, False, False, False)


def _raw(
    rows: np.ndarray,
    corners: np.ndarray,
    lengths: np.ndarray,
    dim: int,
    homogeneous: bool,
    with_normals: bool,
    coloured: bool,
    textured: bool,
) -> RawMesh:
    points, at, fields = rows[:, :dim], dim, {}
    if homogeneous:
        weight = rows[:, dim : dim + 1]
        points = np.divide(points, weight, out=np.full_like(points, np.nan), where=weight != 0)
        at += 1
    if with_normals:
        fields["normal"] = rows[:, at : at + dim]
        at += dim
    if coloured and rows.shape[1] >= at + 3:
        fields["color"] = rows[:, at : rows.shape[1] - 2 * textured] if textured else rows[:, at:]
    lengths = np.asarray(lengths, np.int64)
    row = np.repeat(np.arange(len(lengths)), lengths)
    blocks, number = [], np.arange(len(lengths))
    for kind, chosen in (("polygon", lengths >= 3), ("line", lengths == 2), ("vertex", lengths == 1)):
        if chosen.any():
            blocks.append(CellBlock.of_lengths(kind, corners[chosen[row]], lengths[chosen], file_cells=number[chosen]))
    if (lengths == 0).any():
        raise InputError(f"Face {int(np.flatnonzero(lengths == 0)[0])} has no corners.", "short_cell")
    return RawMesh(points, blocks, point_fields=fields, format="OFF")
