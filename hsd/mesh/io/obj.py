"""Wavefront OBJ: positions and the ``v`` index of faces, lines and points; texture seams and normals make no topology.

Negative indices count back from the vertices read so far.  Materials are not looked at.
"""

from __future__ import annotations

import re

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source, require_text
from hsd.mesh.io.tokens import first_bad, numbers
from hsd.mesh.raw import CellBlock, RawMesh

KEYWORDS = frozenset(
    b"v vt vn vp f fo l p o g s mtllib usemtl usemap cstype deg curv curv2 surf parm trim hole scrv sp end con mg "
    b"bevel c_interp d_interp lod shadow_obj trace_obj ctech stech bmat step call csh maplib".split()
)
ELEMENTS = (("polygon", (b"f", b"fo"), 3), ("line", (b"l",), 2), ("vertex", (b"p",), 1))


def read_obj(source: Source) -> RawMesh:
    """Points, faces, then lines, then point elements, each in file order; colours after the coordinates are a field.

    Raises InputError (not_this_format, empty, bad_number, index_out_of_range, short_cell).
    """
    require_text(source, "an OBJ mesh")
    _check_head(source)
    data = source.read().replace(b"\\\r\n", b" ").replace(b"\\\n", b" ").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = [line.strip() for line in data.split(b"\n")]
    words = [line.split(None, 1)[0] if line else b"" for line in lines]
    is_v = np.array([w == b"v" for w in words], bool)
    n_read = np.cumsum(is_v)
    n = int(n_read[-1]) if len(n_read) else 0
    points, fields = _points([line[1:] for line, w in zip(lines, words) if w == b"v"])
    blocks, first = [], 0
    for kind, names, _ in ELEMENTS:
        where = [i for i, w in enumerate(words) if w in names]
        if where:
            blocks.append(_elements([lines[i] for i in where], n_read[where], n, kind, first))
            first += len(where)
    return RawMesh(points, blocks, point_fields=fields, format="OBJ", index_base=1)


def _check_head(source: Source) -> None:
    lines = [line.strip() for line in source.head.replace(b"\r", b"\n").split(b"\n")]
    if len(source.head) < source.size:
        lines = lines[:-1] or lines
    words = [line.split(None, 1)[0] for line in lines if line and not line.startswith(b"#")]
    known = sum(w in KEYWORDS for w in words)
    if words and known < 0.5 * len(words):
        raise source.refuse("an OBJ mesh", "its lines do not begin with OBJ keywords such as v and f")


def _points(texts: list[bytes]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    if not texts:
        return np.zeros((0, 3)), {}
    widths = np.array([len(t.split()) for t in texts])
    short = np.flatnonzero(widths < 3)
    if len(short):
        raise InputError(
            f"Vertex {short[0] + 1} of the OBJ file has {widths[short[0]]} coordinate(s); 3 are needed.",
            "bad_number",
        )
    flat = numbers(b" ".join(texts), int(widths.sum()), "vertex coordinates of the OBJ file")
    start = np.cumsum(widths) - widths
    points = flat[start[:, None] + np.arange(3)]
    fields = {}
    if (widths == widths[0]).all() and widths[0] >= 6:
        fields["color"] = flat.reshape(len(texts), -1)[:, 3:6]
    return points, fields


def _elements(texts: list[bytes], n_read: np.ndarray, n: int, kind: str, first: int) -> CellBlock:
    """A cell block from lines such as ``f 1/2/3 -1//4 7``."""
    word = {"polygon": "face", "line": "line", "vertex": "point"}[kind]
    bodies = [t.split(None, 1)[1] if len(t.split(None, 1)) > 1 else b"" for t in texts]
    bodies = [b.split(b"#", 1)[0] for b in bodies]
    joined = re.sub(rb"/\S*", b"", b"\n".join(bodies))
    lengths = np.array([len(row.split()) for row in joined.split(b"\n")])
    total = int(lengths.sum())
    try:
        flat = numbers(joined, total, f"{word} indices of the OBJ file", np.int64) if total else np.zeros(0, np.int64)
    except InputError:
        for i, body in enumerate(joined.split(b"\n")):
            bad = first_bad(body, np.int64)
            if bad != "a different number of them":
                raise InputError(
                    f"{word.capitalize()} {i + 1} of the OBJ file should list whole vertex numbers; found {bad}.",
                    "bad_number",
                ) from None
        raise
    so_far = np.repeat(n_read, lengths)
    bad = np.flatnonzero((flat == 0) | (flat < -so_far) | (flat > n))
    if len(bad):
        row = int(np.searchsorted(np.cumsum(lengths), bad[0], side="right"))
        index = int(flat[bad[0]])
        known = f"{n}" if index > 0 else f"{int(so_far[bad[0]])} read so far"
        raise InputError(
            f"{word.capitalize()} {row + 1} of the OBJ file names vertex index {index} of {known}; indices run from 1, "
            "negative ones count back. The file is damaged or cut.",
            "index_out_of_range",
            [first + row],
        )
    flat = np.where(flat > 0, flat - 1, so_far + flat)
    return CellBlock.of_lengths(kind, flat, lengths, first)
