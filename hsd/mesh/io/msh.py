"""Gmsh files, versions 2.2 and 4.1, text: node tags may have gaps; elements below the top dimension tag boundaries.

Binary files are read by msh_binary.
"""

from __future__ import annotations

import re

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.io.msh_binary import read_binary
from hsd.mesh.io.source import Source, is_binary
from hsd.mesh.io.tokens import Tokens
from hsd.mesh.raw import DEGREE, CellBlock, RawMesh

ELEMENTS = {
    15: ("vertex", 1, 1), 1: ("line", 2, 2), 2: ("polygon", 3, 3), 3: ("polygon", 4, 4), 4: ("tetra", 4, 4),
    8: ("line", 2, 3), 9: ("polygon", 3, 6), 10: ("polygon", 4, 9), 16: ("polygon", 4, 8), 11: ("tetra", 4, 10),
}  # fmt: skip
"""Gmsh element type → kind, corners, nodes."""
REFUSED = {
    5: "hexahedra",
    6: "prisms",
    7: "pyramids",
    12: "hexahedra",
    17: "hexahedra",
    13: "prisms",
    14: "pyramids",
}


def read_msh(source: Source) -> RawMesh:
    """Points, cells of the top dimension, markers below it; cell fields ``physical`` and ``entity``.

    Raises InputError (not_this_format, empty, truncated, header_too_large, unsupported, unsupported_cells,
    index_out_of_range).
    """
    start = source.head.lstrip()
    if not start.startswith(b"$"):
        raise source.refuse("a Gmsh mesh", "it does not begin with $MeshFormat")
    header = re.match(rb"(?:\$Comments.*?\$EndComments\s*)?\$MeshFormat\s+(\d+(?:\.\d+)?)\s+(\d)\s+(\d)", start, re.S)
    if header is None:
        raise source.refuse("a Gmsh mesh", "it has no $MeshFormat section")
    version, binary = float(header.group(1)), header.group(2) == b"1"
    if not (2.0 <= version < 3.0 or 4.1 <= version < 5.0):
        raise InputError(
            f"{source.name} is a Gmsh file of version {version:g}; versions 2.2 and 4.1 are read: save it again so.",
            "unsupported",
        )
    data = source.read()
    if binary:
        return _raw(*read_binary(data, version, source.name, _n_nodes), source.name)
    if is_binary(source.head):
        raise source.refuse("a Gmsh mesh in text form", "its content is binary")
    body = {name: _section(data, name, source.name) for name in (b"Nodes", b"Elements")}
    if all(text is None for text in body.values()):
        raise InputError(f"{source.name} is a Gmsh file without nodes and elements.", "empty")
    nodes = Tokens(body[b"Nodes"] or b"0", source.name)
    elements = Tokens(body[b"Elements"] or b"0", source.name)
    tags, points = (_nodes_4 if version >= 4 else _nodes_2)(nodes)
    rows = (_elements_4 if version >= 4 else _elements_2)(elements)
    return _raw(tags, points, rows, source.name)


def _section(data: bytes, name: bytes, file: str) -> bytes | None:
    begin = data.find(b"$" + name)
    while begin >= 0 and data[begin + len(name) + 1 : begin + len(name) + 2] not in (b"\n", b"\r", b" "):
        begin = data.find(b"$" + name, begin + 1)
    if begin < 0:
        return None
    end = data.find(b"$End" + name, begin)
    if end < 0:
        raise InputError(f"{file} is cut: ${name.decode()} has no $End{name.decode()}.", "truncated")
    return data[begin + len(name) + 1 : end]


def _nodes_2(t: Tokens) -> tuple[np.ndarray, np.ndarray]:
    n = t.count("nodes")
    rows = t.floats(4 * n, "nodes").reshape(n, 4)
    return rows[:, 0].astype(np.int64), rows[:, 1:]


def _elements_2(t: Tokens) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(type, (m, 3) number, physical, entity; (m, nodes)) per type, from rows ``number type n_tags tags… nodes…``."""
    m = t.count("elements")
    values = t.ints(t.left, "elements")
    if 4 * m > len(values):
        raise t.short(4 * m, "elements")
    starts: dict[tuple[int, int], list[tuple[int, int]]] = {}
    at = 0
    for i in range(m):
        if at + 3 > len(values):
            raise InputError(f"{t.what} ends inside element {i} of {m}; the file is cut.", "truncated")
        type_, n_tags = int(values[at + 1]), int(values[at + 2])
        step = 3 + n_tags + _n_nodes(type_, t.what)
        if n_tags < 0 or at + step > len(values):
            raise InputError(f"{t.what} ends inside element {i} of {m}; the file is cut.", "truncated")
        starts.setdefault((type_, n_tags), []).append((at, i))
        at += step
    out = []
    for (type_, n_tags), found in starts.items():
        begin, order = np.array(found).T
        info = np.stack(
            [order, values[begin + 3] if n_tags else order * 0, values[begin + 4] if n_tags > 1 else order * 0]
        )
        nodes = values[begin[:, None] + 3 + n_tags + np.arange(_n_nodes(type_, t.what))]
        out.append((type_, info.T, nodes))
    return out


def _nodes_4(t: Tokens) -> tuple[np.ndarray, np.ndarray]:
    blocks = t.count("node blocks")
    total = t.count("nodes") if t.left else 0
    t.need(4 * total, "nodes")
    t.ints(2 if t.left >= 2 else 0, "node tag limits")
    tags, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dim, _, parametric, n = t.ints(4, "a node block").tolist()
        if n < 0:
            raise InputError(f"{t.what}: a node block has {n} nodes.", "bad_number")
        width = 3 + (max(min(dim, 3), 0) if parametric else 0)
        tags.append(t.ints(n, "node tags"))
        points.append(t.floats(n * width, "nodes").reshape(n, width)[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _elements_4(t: Tokens) -> list[tuple[int, np.ndarray, np.ndarray]]:
    blocks = t.count("element blocks")
    total = t.count("elements") if t.left else 0
    t.need(2 * total, "elements")
    t.ints(2 if t.left >= 2 else 0, "element tag limits")
    out, first = [], 0
    for _ in range(blocks):
        dim, entity, type_, m = t.ints(4, "an element block").tolist()
        if m < 0:
            raise InputError(f"{t.what}: an element block has {m} elements.", "bad_number")
        nodes = _n_nodes(type_, t.what)
        rows = t.ints(m * (1 + nodes), f"elements of dimension {dim}").reshape(m, 1 + nodes)
        info = np.stack([np.arange(first, first + m), np.zeros(m, np.int64), np.full(m, entity)], axis=1)
        out.append((type_, info, rows[:, 1:]))
        first += m
    return out


def _n_nodes(type_: int, name: str) -> int:
    if type_ not in ELEMENTS:
        word = REFUSED.get(type_, f"elements of Gmsh type {type_}")
        raise InputError(
            f"{name} holds {word}; points, lines, triangles, quadrangles and tetrahedra (also of second "
            "order) are read.",
            "unsupported_cells",
        )
    return ELEMENTS[type_][2]


def _raw(tags: np.ndarray, points: np.ndarray, rows: list, name: str) -> RawMesh:
    top = max((DEGREE[ELEMENTS[type_][0]] for type_, _, _ in rows), default=0)
    order = np.argsort(tags, kind="stable")
    ordered = tags[order]
    if (ordered[1:] == ordered[:-1]).any():
        raise InputError(f"{name}: node tag {ordered[1:][ordered[1:] == ordered[:-1]][0]} occurs twice.", "bad_number")
    total = sum(len(info) for _, info, _ in rows)
    fields = {"physical": np.zeros(total, np.int64), "entity": np.zeros(total, np.int64)}
    blocks, notices = [], []
    for type_, info, nodes in rows:
        kind, corners, n_nodes = ELEMENTS[type_]
        if n_nodes != corners:
            notices.append(Notice("higher_order_cells", f"{len(nodes)} curved cell(s) are used by their corners."))
        used = nodes[:, :corners]
        where = np.minimum(np.searchsorted(ordered, used), max(len(ordered) - 1, 0))
        known = ordered[where] == used if len(ordered) else np.zeros(used.shape, bool)
        if not known.all():
            i = int(np.flatnonzero(~known.all(axis=1))[0])
            raise InputError(
                f"{name}: element {info[i, 0] + 1} names node tag {used[i][~known[i]][0]}, which no node has.",
                "index_out_of_range",
                [int(info[i, 0])],
            )
        fields["physical"][info[:, 0]], fields["entity"][info[:, 0]] = info[:, 1], info[:, 2]
        blocks.append(
            CellBlock.of_rows(
                kind, order[where], file_cells=info[:, 0], is_marker=DEGREE[kind] < top and DEGREE[kind] < 3
            )
        )
    return RawMesh(points, blocks, {}, fields, format="MSH", index_base=0, notices=notices)
