"""PLY, text and binary of either byte order; ``vertex_index`` and ``vertex_indices``, all type names, extra fields."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source
from hsd.mesh.io.tokens import Tokens, short_file, whole, widened
from hsd.mesh.raw import CellBlock, RawMesh

TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8", "byte"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("long", "int64"), "i8"),
    **dict.fromkeys(("ulong", "uint64"), "u8"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
INDEX_NAMES = ("vertex_indices", "vertex_index")
STRIP_NAMES = ("tristrips",)
MAX_HEADER = 65536


@dataclass
class _Element:
    name: str
    count: int
    properties: list[tuple[str, str, str | None]] = field(default_factory=list)  # name, type, type of the length


@dataclass
class _Table:
    """Columns of one element: plain ones as arrays, list ones as (flat, lengths)."""

    plain: dict[str, np.ndarray] = field(default_factory=dict)
    lists: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def read_ply(source: Source) -> RawMesh:
    """Points, faces (or strips), edges; other vertex and face properties become fields.

    Raises InputError (not_this_format, empty, truncated, header_too_large, bad_number, bad_header).
    """
    head = source.head.lstrip(b"\xef\xbb\xbf")
    if not head.startswith(b"ply") or head[3:4] not in (b"\n", b"\r", b" "):
        raise source.refuse("a PLY mesh", "it does not begin with the line 'ply'")
    data = source.read()
    order, elements, at = _header(data, source.name)
    size = len(data) - at
    for e in elements:
        least = sum(1 if order is None else _width(t if n is None else n) for _, t, n in e.properties)
        if e.count * max(least, 1) > size + 1:
            raise short_file(source.name, e.count, size // max(least, 1), f"element {e.name}", len(data))
    tables = {}
    if order is None:
        tokens = Tokens(data[at:], source.name)
        for e in elements:
            tables[e.name] = _read_ascii(tokens, e)
    else:
        for e in elements:
            tables[e.name], at = _read_binary(data, at, e, order, source.name)
    return _raw(tables, source.name)


def _width(type_: str) -> int:
    return int(type_[1])


def _header(data: bytes, name: str) -> tuple[str | None, list[_Element], int]:
    """Byte order (None: text), elements, and where the body begins."""
    end = data.find(b"end_header", 0, MAX_HEADER)
    if end < 0:
        raise InputError(f"{name}: the PLY header has no end_header line; the file is cut or damaged.", "truncated")
    stop = end + len(b"end_header")
    if data[stop : stop + 2] == b"\r\n":
        stop += 2
    elif data[stop : stop + 1] in (b"\n", b"\r"):
        stop += 1
    order, elements, known = None, [], False
    for line in data[:end].decode("latin-1").splitlines()[1:]:
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        if words[0] == "format" and len(words) >= 2:
            orders = {"ascii": None, "binary_little_endian": "<", "binary_big_endian": ">"}
            if words[1] not in orders:
                raise InputError(f"{name}: unknown PLY format {words[1]!r}; known: {', '.join(orders)}.", "bad_header")
            order, known = orders[words[1]], True
        elif words[0] == "element" and len(words) == 3:
            elements.append(_Element(words[1], whole(words[2].encode(), f"count of element {words[1]}", name)))
        elif words[0] == "property" and elements and len(words) in (3, 5):
            types = words[2:4] if words[1] == "list" and len(words) == 5 else words[1:2]
            if any(t not in TYPES for t in types) or (len(types) == 2) != (len(words) == 5):
                raise InputError(f"{name}: cannot read the PLY header line {line[:60]!r}.", "bad_header")
            length = TYPES[types[0]] if len(types) == 2 else None
            elements[-1].properties.append((words[-1], TYPES[types[-1]], length))
        else:
            raise InputError(f"{name}: cannot read the PLY header line {line[:60]!r}.", "bad_header")
    if not known:
        raise InputError(f"{name}: the PLY header has no format line.", "bad_header")
    return order, elements, stop


def _read_ascii(tokens: Tokens, e: _Element) -> _Table:
    table = _Table()
    lists = [i for i, p in enumerate(e.properties) if p[2] is not None]
    if not lists:
        width = len(e.properties)
        rows = tokens.floats(e.count * width, f"element {e.name}").reshape(e.count, width) if width else None
        for j, (name, type_, _) in enumerate(e.properties):
            table.plain[name] = _typed(rows[:, j], type_)
        return table
    values = tokens.floats(tokens.left, f"element {e.name}") if e.count else np.zeros(0)
    start = tokens.at - len(values)
    columns, lengths, at = _walk(values, e, lambda x: x, tokens.what)
    tokens.at = start + at
    for j, (name, type_, length) in enumerate(e.properties):
        if length is None:
            table.plain[name] = _typed(values[columns[j]], type_)
        else:
            table.lists[name] = (_typed(values[_ranges(columns[j], lengths[j])], type_), lengths[j])
    return table


def _walk(values: np.ndarray, e: _Element, convert: object, name: str) -> tuple[list, list, int]:
    """Positions of each property of each row in a text element with lists, and the list lengths."""
    n, at = e.count, 0
    columns = [np.zeros(n, np.int64) for _ in e.properties]
    lengths = [np.zeros(n, np.int64) for _ in e.properties]
    plan = [p[2] is not None for p in e.properties]
    total = len(values)
    for i in range(n):
        for j, is_list in enumerate(plan):
            if at >= total:
                raise InputError(
                    f"{name} ends inside row {i} of {n} of element {e.name}; the file is cut.", "truncated"
                )
            if is_list:
                length = values[at]
                if not 0 <= length <= total - at - 1 or length != int(length):
                    raise InputError(
                        f"{name}: row {i} of element {e.name} announces a list of {length:g} values, "
                        f"but {total - at - 1} are left.",
                        "truncated",
                    )
                lengths[j][i] = length
                columns[j][i] = at + 1
                at += 1 + int(length)
            else:
                columns[j][i] = at
                at += 1
    return columns, lengths, at


def _ranges(start: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """start[0], start[0]+1, …, start[1], … with the given lengths."""
    total = int(lengths.sum())
    return np.arange(total) + np.repeat(start - (np.cumsum(lengths) - lengths), lengths)


def _typed(values: np.ndarray, type_: str) -> np.ndarray:
    return widened(values, type_[0] == "f")


def _read_binary(data: bytes, at: int, e: _Element, order: str, name: str) -> tuple[_Table, int]:
    table = _Table()
    if all(p[2] is None for p in e.properties):
        record = np.dtype([(f"{j}", order + p[1]) for j, p in enumerate(e.properties)])
        if e.count * record.itemsize > len(data) - at:
            raise short_file(name, e.count, (len(data) - at) // max(record.itemsize, 1), f"element {e.name}", len(data))
        rows = np.frombuffer(data, record, e.count, at) if record.itemsize else None
        for j, (column, type_, _) in enumerate(e.properties):
            table.plain[column] = _typed(rows[f"{j}"], type_)
        return table, at + e.count * record.itemsize
    uniform = _uniform_rows(data, at, e, order)
    if uniform is not None:
        rows = uniform
        for j, (column, type_, length) in enumerate(e.properties):
            values = _typed(rows[f"{j}"], type_)
            if length is None:
                table.plain[column] = values
            else:
                table.lists[column] = (values.reshape(-1), rows[f"n{j}"].astype(np.int64))
        return table, at + rows.nbytes
    columns: list[list[np.ndarray]] = [[] for _ in e.properties]
    lengths: list[list[int]] = [[] for _ in e.properties]
    for i in range(e.count):
        for j, (_, type_, length) in enumerate(e.properties):
            n = 1
            if length is not None:
                head = data[at : at + _width(length)]
                n = int(np.frombuffer(head, order + length)[0]) if len(head) == _width(length) else -1
                at += _width(length)
            if n < 0 or at + n * _width(type_) > len(data):
                raise InputError(
                    f"{name} ends inside row {i} of {e.count} of element {e.name}; the file is cut.", "truncated"
                )
            columns[j].append(np.frombuffer(data, order + type_, n, at))
            lengths[j].append(n)
            at += n * _width(type_)
    for j, (column, type_, length) in enumerate(e.properties):
        flat = _typed(np.concatenate(columns[j]) if columns[j] else np.zeros(0), type_)
        if length is None:
            table.plain[column] = flat
        else:
            table.lists[column] = (flat, np.array(lengths[j], np.int64))
    return table, at


def _uniform_rows(data: bytes, at: int, e: _Element, order: str) -> np.ndarray | None:
    """All rows at once where every list is as long as in the first row, else None."""
    parts, here = [], at
    for j, (_, type_, length) in enumerate(e.properties):
        if length is None:
            parts.append((f"{j}", order + type_))
            here += _width(type_)
        else:
            head = data[here : here + _width(length)]
            if e.count == 0 or len(head) < _width(length):
                return None
            n = int(np.frombuffer(head, order + length)[0])
            here += _width(length) + n * _width(type_)
            if n < 0 or here > len(data):
                return None
            parts += [(f"n{j}", order + length), (f"{j}", order + type_, (n,))]
    record = np.dtype(parts)
    if e.count * record.itemsize > len(data) - at:
        return None
    rows = np.frombuffer(data, record, e.count, at)
    lists = [name for name in record.names if name.startswith("n")]
    return rows if all((rows[name] == rows[name][0]).all() for name in lists) else None


def _raw(tables: dict[str, _Table], name: str) -> RawMesh:
    vertex = tables.get("vertex", _Table()).plain
    if not all(axis in vertex for axis in "xyz"):
        if "x" in vertex and "y" in vertex:
            vertex = {**vertex, "z": np.zeros(len(vertex["x"]))}
        elif not vertex:
            raise InputError(f"{name} is a PLY file without vertices.", "empty")
        else:
            raise InputError(f"{name}: the vertices have no properties x, y, z.", "bad_header")
    points = np.stack([vertex[axis] for axis in "xyz"], axis=1).astype(np.float64)
    fields = {k: v for k, v in vertex.items() if k not in "xyz"}
    blocks, cell_fields, first = [], {}, 0
    faces = tables.get("face", _Table())
    index = next((faces.lists[k] for k in INDEX_NAMES if k in faces.lists), None)
    if index is None and len(faces.lists) == 1:
        index = next(iter(faces.lists.values()))
    if index is not None and len(index[1]):
        flat, lengths = index
        blocks += _faces(flat.astype(np.int64), lengths)
        first = len(lengths)
        cell_fields = dict(faces.plain)
    strips = next((t.lists[k] for t in tables.values() for k in STRIP_NAMES if k in t.lists), None)
    if strips is not None:
        flat, lengths = _split_strips(*strips)
        blocks.append(CellBlock.of_lengths("strip", flat, lengths, first))
        first += len(lengths)
        cell_fields = {}
    edges = tables.get("edge", _Table()).plain
    if "vertex1" in edges and "vertex2" in edges and len(edges["vertex1"]):
        rows = np.stack([edges["vertex1"], edges["vertex2"]], axis=1)
        blocks.append(CellBlock.of_rows("line", rows, first))
        if first:
            cell_fields = {}
        else:
            cell_fields = {k: v for k, v in edges.items() if k not in ("vertex1", "vertex2")}
    return RawMesh(points, blocks, fields, cell_fields, format="PLY")


def _faces(flat: np.ndarray, lengths: np.ndarray) -> list[CellBlock]:
    """Faces with two corners are lines, with one corner vertices; the file's numbering stays."""
    row, number = np.repeat(np.arange(len(lengths)), lengths), np.arange(len(lengths))
    out = []
    for kind, chosen in (("polygon", lengths >= 3), ("line", lengths == 2), ("vertex", lengths < 2)):
        if chosen.any():
            out.append(CellBlock.of_lengths(kind, flat[chosen[row]], lengths[chosen], file_cells=number[chosen]))
    return out


def _split_strips(flat: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Strips cut at −1 entries."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    group = row + np.cumsum(flat < 0)
    keep = flat >= 0
    _, counts = np.unique(group[keep], return_counts=True)
    return flat[keep].astype(np.int64), counts
