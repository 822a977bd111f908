"""Plain tables: points (XYZ, TXT, CSV) and edge lists (CSV with a header such as source,target)."""

from __future__ import annotations

import csv

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.from_graph import number_labels
from hsd.mesh.io.source import Source, require_text
from hsd.mesh.io.tokens import numbers, shown, without_comments
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
    header, rows = _lines(source, "a table of points")
    _require_numbers(source, "a table of points")
    return _points(source, header, _values(source, header, rows))


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
    """An edge list when the first two column names say so (source,target · tail,head · from,to …), else points.

    End points are whole numbers, or text labels, which are numbered in order of first mention.
    Raises InputError (not_this_format, empty, bad_number).
    """
    header, rows = _lines(source, "a CSV table")
    if header is not None and tuple(header[:2]) in EDGE_HEADERS:
        return _edges(source, header, rows)
    if header is not None and not {"x", "y"} <= set(header):
        known = " or ".join(",".join(h) for h in EDGE_HEADERS[:3])
        raise InputError(
            f"{source.name}: columns {', '.join(header[:6])[:80]} are neither an edge list ({known}, whose labels may "
            "be text) nor points (x,y,z).",
            "not_this_format",
        )
    _require_numbers(source, "a CSV table")
    return _points(source, header, _values(source, header, rows))


def _edges(source: Source, header: list[str], rows: list[bytes]) -> RawMesh:
    if not rows:
        raise InputError(f"{source.name} is an edge list without edges.", "empty")
    notices = []
    try:
        values = _values(source, header, rows)
    except InputError as error:
        ends, further = _labelled(source, header, rows, error)
    else:
        ends, further = values[:, :2], values[:, 2:]
        wrong = (
            ~(np.isfinite(ends).all(axis=1)) | (ends != np.floor(ends)).any(axis=1) | (np.abs(ends) > 2**53).any(axis=1)
        )
        bad = np.flatnonzero(wrong)
        if len(bad):
            raise InputError(
                f"{source.name}: row {bad[0] + 1} should hold two whole vertex numbers.", "bad_number", bad[:100]
            )
        ends = ends.astype(np.int64)
    labels, number = number_labels(ends)
    if labels.dtype.kind == "U":
        message = (
            f"{len(labels)} text labels were numbered from 0 in order of first mention ({labels[0]} is 0); "
            "point_fields['label'] keeps them."
        )
        notices.append(Notice("relabelled_vertices", message))
        plain = False
    else:
        plain = labels[0] == 0 and labels[-1] == len(labels) - 1
    block = CellBlock.of_rows("line", number)
    fields = {name: further[:, j] for j, name in enumerate(header[2:])}
    label = {} if plain else {"label": labels}
    return RawMesh(None, [block], label, fields, format="edge list", n_graph=len(labels), notices=notices)


def _labelled(source: Source, header: list[str], rows: list[bytes], error: InputError) -> tuple[np.ndarray, np.ndarray]:
    """Ends (m, 2) as text and further columns of an edge list; raises ``error`` where all ends are numbers."""
    text = [row.decode("utf-8", "replace").strip() for row in rows]
    separator = next((s for s in ",;\t" if s in text[0]), " ")
    cells = [[cell.strip() for cell in row] for row in csv.reader(text, delimiter=separator, skipinitialspace=True)]
    if all(_is_number(cell) for row in cells for cell in row[:2] if cell):
        raise error
    for i, row in enumerate(cells):
        if len(row) != len(header) or not all(row):
            found = "an empty cell" if len(row) == len(header) else f"{len(row)} columns"
            raise InputError(
                f"{source.name}: row {i + 1} has {found}; {len(header)} columns ({','.join(header)}) are needed.",
                "bad_number",
                (i,),
            )
        odd = next((cell for cell in row[2:] if not _is_number(cell)), None)
        if odd is not None:
            raise InputError(f"{source.name}: row {i + 1} holds {odd!r} where a number is needed.", "bad_number", (i,))
    further = np.array([row[2:] for row in cells], np.float64).reshape(len(cells), len(header) - 2)
    return np.array([row[:2] for row in cells]), further


def _lines(source: Source, format_: str) -> tuple[list[str] | None, list[bytes]]:
    """Column names (None: no header) and the rows that are no comment."""
    require_text(source, format_)
    data = without_comments(source.read().lstrip(b"\xef\xbb\xbf").replace(b"\r", b"\n"))
    rows = [line for line in data.split(b"\n") if line.translate(None, b",;").strip()]
    if not rows:
        raise InputError(f"{source.name} holds no rows.", "empty")
    words = _words(rows[0])
    if not all(_is_number(w) for w in words):
        rows = rows[1:]
        if not rows and len(words) < 2:
            raise source.refuse(format_, "it holds no numbers")
        return [w.decode("utf-8", "replace").strip('"').lower() for w in words], rows
    if len(words) == 1 and len(rows) > 1 and len(_words(rows[1])) > 1:
        rows = rows[1:]
        if not _is_number(_words(rows[0])[0]):  # the comment line of an .xyz file
            rows = rows[1:]
    return None, rows


def _words(row: bytes) -> list[bytes]:
    return row.replace(b",", b" ").replace(b";", b" ").split()


def _require_numbers(source: Source, format_: str) -> None:
    """Refuse a head whose rows are mostly no numbers."""
    first = source.head.lstrip(b"\xef\xbb\xbf").split(b"\n")[:20]
    lines = [line for line in first if line.strip() and not line.lstrip().startswith((b"#", b"//"))]
    plausible = sum(bool(set(line) <= set(b"0123456789+-.eEnNaAiIfFtTyY,;\t \r")) for line in lines[1:-1])
    if plausible < 0.5 * len(lines[1:-1]):
        raise source.refuse(format_, "its rows are not numbers")


def _values(source: Source, header: list[str] | None, rows: list[bytes]) -> np.ndarray:
    """The numbers, (n, columns)."""
    widths = np.array([len(_words(row)) for row in rows], np.int64)
    width = len(header or [])
    if len(rows) and width not in widths:
        width = int(np.bincount(widths).argmax())
    other = np.flatnonzero(widths != width)
    if len(other) or (header is not None and len(header) != width):
        first = int(other[0]) if len(other) else 0
        cells = [cell.strip() for cell in rows[first].replace(b";", b",").split(b",")] if rows else []
        if b"" in cells[:-1]:
            what = f"row {first + 1} has an empty cell in column {cells.index(b'') + 1} ({shown(rows[first].strip())})"
        elif len(other):
            what = f"rows have {widths.min()} to {widths.max()} columns, and row {first + 1} has {widths[first]}"
        else:
            what = f"{len(header)} column names for {width} columns"
        raise InputError(
            f"{source.name}: {what}; one number a column is needed in every row.", "bad_number", other[:100]
        )
    text = b"\n".join(rows).replace(b",", b" ").replace(b";", b" ")
    return numbers(text, len(rows) * width, f"rows of {source.name}").reshape(len(rows), width)


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
