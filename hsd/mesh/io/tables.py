"""Plain tables: points (XYZ, TXT, CSV) and edge lists (CSV with a header such as source,target)."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source, require_text
from hsd.mesh.io.tokens import numbers, without_comments
from hsd.mesh.raw import CellBlock, RawMesh

EDGE_HEADERS = (
    ("source", "target"),
    ("tail", "head"),
    ("from", "to"),
    ("u", "v"),
    ("i", "j"),
    ("vertex1", "vertex2"),
)


def read_points(source: Source) -> RawMesh:
    """Rows x y z (further columns are fields c3, c4, … or named by a header); a first line with one count is skipped.

    Raises InputError (not_this_format, empty, bad_number).
    """
    return _points(source, *_table(source, "a table of points"))


def _points(source: Source, header: list[str] | None, rows: np.ndarray) -> RawMesh:
    if rows.shape[1] < 2:
        raise InputError(
            f"{source.name}: a row of a point table needs 2 or 3 numbers; found {rows.shape[1]}.", "bad_number"
        )
    dim = min(rows.shape[1], 3)
    names = header if header is not None else [f"c{j}" for j in range(rows.shape[1])]
    if header is not None and {"x", "y"} <= set(names):
        axes = [names.index(a) for a in ("x", "y", "z") if a in names]
    else:
        axes = list(range(dim))
    fields = {names[j]: rows[:, j] for j in range(rows.shape[1]) if j not in axes}
    return RawMesh(rows[:, axes], [], fields, format="point table")


def read_csv(source: Source) -> RawMesh:
    """An edge list when the first two column names say so (source,target · tail,head · from,to …), else points."""
    header, rows = _table(source, "a CSV table")
    if header is not None and len(header) >= 2 and tuple(header[:2]) in EDGE_HEADERS:
        if not len(rows):
            raise InputError(f"{source.name} is an edge list without edges.", "empty")
        ends = rows[:, :2]
        wrong = (
            ~(np.isfinite(ends).all(axis=1)) | (ends != np.floor(ends)).any(axis=1) | (np.abs(ends) > 2**53).any(axis=1)
        )
        bad = np.flatnonzero(wrong)
        if len(bad):
            raise InputError(
                f"{source.name}: row {bad[0] + 1} should hold two whole vertex numbers.", "bad_number", bad[:100]
            )
        labels, number = np.unique(ends.astype(np.int64), return_inverse=True)
        plain = labels[0] == 0 and labels[-1] == len(labels) - 1
        block = CellBlock.of_rows("line", number.reshape(-1, 2))
        fields = {header[j]: rows[:, j] for j in range(2, rows.shape[1])}
        label = {} if plain else {"label": labels}
        return RawMesh(None, [block], label, fields, format="edge list", n_graph=len(labels))
    if header is not None and not {"x", "y"} <= set(header):
        known = " or ".join(",".join(h) for h in EDGE_HEADERS[:3])
        raise InputError(
            f"{source.name}: columns {', '.join(header[:6])[:80]} are neither an edge list ({known}) nor "
            "points (x,y,z).",
            "not_this_format",
        )
    return _points(source, header, rows)


def _table(source: Source, format_: str) -> tuple[list[str] | None, np.ndarray]:
    """Column names (None: no header) and the numbers, (n, columns)."""
    require_text(source, format_)
    first = source.head.lstrip(b"\xef\xbb\xbf").split(b"\n")[:20]
    lines = [line for line in first if line.strip() and not line.lstrip().startswith((b"#", b"//"))]
    plausible = sum(bool(set(line) <= set(b"0123456789+-.eEnNaAiIfFtTyY,;\t \r")) for line in lines[1:-1])
    if plausible < 0.5 * len(lines[1:-1]):
        raise source.refuse(format_, "its rows are not numbers")
    data = without_comments(source.read().lstrip(b"\xef\xbb\xbf").replace(b"\r", b"\n"))
    rows = [line for line in data.replace(b",", b" ").replace(b";", b" ").split(b"\n") if line.strip()]
    if not rows:
        raise InputError(f"{source.name} holds no rows.", "empty")
    header = None
    words = rows[0].split()
    if not all(_is_number(w) for w in words):
        header = [w.decode("utf-8", "replace").strip('"').lower() for w in words]
        rows = rows[1:]
        if not rows and len(header) < 2:
            raise source.refuse(format_, "it holds no numbers")
    elif len(words) == 1 and len(rows) > 1 and len(rows[1].split()) > 1:
        rows = rows[1:]
        if not _is_number(rows[0].split()[0]):  # the comment line of an .xyz file
            rows = rows[1:]
    widths = {len(row.split()) for row in rows}
    if len(widths) > 1:
        raise InputError(
            f"{source.name}: rows have {min(widths)} to {max(widths)} columns; one number is needed.", "bad_number"
        )
    width = widths.pop() if widths else len(header or [])
    if header is not None and len(header) != width:
        raise InputError(f"{source.name}: {len(header)} column names for {width} columns.", "bad_number")
    return header, numbers(b"\n".join(rows), len(rows) * width, f"rows of {source.name}").reshape(len(rows), width)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
