"""Legacy VTK files, text and binary: POLYDATA and UNSTRUCTURED_GRID, both cell layouts (before and after 5.1)."""

from __future__ import annotations

import re

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source
from hsd.mesh.io.tokens import Tokens, short_file, shown, whole, widened
from hsd.mesh.io.vtk_cells import cell_blocks, check_offsets
from hsd.mesh.raw import RawMesh

TYPES = {
    b"bit": None, b"unsigned_char": "u1", b"char": "i1", b"unsigned_short": "u2", b"short": "i2", b"unsigned_int": "u4",
    b"int": "i4", b"unsigned_long": "u8", b"long": "i8", b"float": "f4", b"double": "f8", b"vtktypeint64": "i8",
    b"vtkidtype": "i8", b"vtktypeuint64": "u8", b"vtktypeint32": "i4",
}  # fmt: skip
POLYDATA = {b"VERTICES": 2, b"LINES": 4, b"POLYGONS": 7, b"TRIANGLE_STRIPS": 6}
"""Section → VTK type of its cells; PolyData numbers its cells in this order of sections."""
DATASETS = (b"POLYDATA", b"UNSTRUCTURED_GRID")
COLUMNS = {b"VECTORS": 3, b"NORMALS": 3, b"TENSORS": 9, b"TENSORS6": 6}


class _Text:
    """Values of the text form."""

    def __init__(self, data: bytes, name: str):
        self.tokens = Tokens(data, name)
        self.name = name

    def peek(self) -> bytes:
        return self.tokens.peek()

    def word(self) -> bytes:
        return self.tokens.word()

    def values(self, n: int, type_: bytes, what: str) -> np.ndarray:
        kind = _type(type_, self.name) or "u1"
        return self.tokens.floats(n, what) if kind[0] == "f" else self.tokens.ints(n, what)

    def line(self) -> bytes:
        end = self.tokens.data.find(b"\n", self.tokens.start[self.tokens.at]) if self.tokens.left else -1
        return self.tokens.data[self.tokens.start[self.tokens.at] : end] if end >= 0 else self.peek()

    def skip_metadata(self) -> None:
        """METADATA runs to the next blank line."""
        data, at = self.tokens.data, self.tokens.end[self.tokens.at - 1]
        blank = re.compile(rb"\n[ \t\r]*\n").search(data, at)
        stop = blank.end() if blank else len(data)
        self.tokens.at = int(np.searchsorted(self.tokens.start, stop))


class _Binary:
    """Values of the binary form: keyword lines in text, arrays big-endian."""

    def __init__(self, data: bytes, name: str):
        self.data = data
        self.name = name
        self.at = 0

    def _find(self) -> tuple[int, int]:
        found = re.compile(rb"\s*(\S+)").match(self.data, self.at)
        return found.span(1) if found else (len(self.data), len(self.data))

    def peek(self) -> bytes:
        start, end = self._find()
        return self.data[start : min(end, start + 200)]

    def word(self) -> bytes:
        start, end = self._find()
        if start >= len(self.data):
            raise short_file(self.name, 1, 0, "a word", len(self.data))
        self.at = end
        return self.data[start : min(end, start + 200)]

    def line(self) -> bytes:
        start, _ = self._find()
        end = self.data.find(b"\n", start)
        return self.data[start : end if end >= 0 else len(self.data)][:500]

    def values(self, n: int, type_: bytes, what: str) -> np.ndarray:
        kind = _type(type_, self.name)
        end = self.data.find(b"\n", self.at)
        begin = end + 1 if end >= 0 else len(self.data)
        size = (n + 7) // 8 if kind is None else n * int(kind[1])
        if size > len(self.data) - begin:
            raise short_file(self.name, n, (len(self.data) - begin) // max(size // max(n, 1), 1), what, len(self.data))
        self.at = begin + size
        if kind is None:
            return np.unpackbits(np.frombuffer(self.data, np.uint8, size, begin))[:n].astype(np.int64)
        out = np.frombuffer(self.data, ">" + kind, n, begin)
        return widened(out, kind[0] == "f")

    def skip_metadata(self) -> None:
        blank = re.compile(rb"\n[ \t\r]*\n").search(self.data, self.at)
        self.at = blank.end() if blank else len(self.data)


def _type(word: bytes, name: str) -> str | None:
    if word.lower() not in TYPES:
        raise InputError(f"{name}: unknown VTK number type {shown(word)}.", "bad_header")
    return TYPES[word.lower()]


def read_vtk(source: Source) -> RawMesh:
    """Points, cells and fields.

    Raises InputError (not_this_format, empty, truncated, header_too_large, unsupported, unsupported_cells, bad_header).
    """
    if not re.match(rb"# vtk DataFile", source.head, re.I):
        raise source.refuse("a legacy VTK file", "it does not begin with '# vtk DataFile'")
    parts = source.read().split(b"\n", 3)
    if len(parts) < 4:
        raise InputError(f"{source.name} holds a VTK header and nothing else.", "empty")
    form = parts[2].strip().upper()
    if form not in (b"ASCII", b"BINARY"):
        raise InputError(
            f"{source.name}: the third line of a VTK file is ASCII or BINARY, found {shown(form)}.", "bad_header"
        )
    cursor = (_Text if form == b"ASCII" else _Binary)(parts[3], source.name)
    if not cursor.peek():
        raise InputError(f"{source.name} holds a VTK header and nothing else.", "empty")
    word, kind = cursor.word().upper(), cursor.word().upper()
    if word != b"DATASET" or kind not in DATASETS:
        raise InputError(
            f"{source.name}: dataset {shown(kind)} is not read; POLYDATA and UNSTRUCTURED_GRID are. Extract "
            "the surface first.",
            "unsupported",
        )
    return _Reader(cursor, source.name).read()


class _Reader:
    def __init__(self, cursor: _Text | _Binary, name: str):
        self.c = cursor
        self.name = name
        self.points = np.zeros((0, 3))
        self.sections: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.types = np.zeros(0, np.int64)
        self.fields: dict[str, dict[str, np.ndarray]] = {"point": {}, "cell": {}}

    def read(self) -> RawMesh:
        place, rows = "", 0
        while self.c.peek():
            key = self.c.word().upper()
            if key == b"POINTS":
                n, type_ = self.count("points"), self.c.word()
                self.points = self.c.values(3 * n, type_, "points").reshape(n, 3).astype(np.float64)
            elif key in POLYDATA or key == b"CELLS":
                self.sections[key] = self.cells(key)
            elif key == b"CELL_TYPES":
                self.types = self.c.values(self.count("cell types"), b"int", "cell types")
            elif key in (b"POINT_DATA", b"CELL_DATA"):
                place, rows = ("point" if key == b"POINT_DATA" else "cell"), self.count("rows of data")
            elif key == b"METADATA":
                self.c.skip_metadata()
            elif key == b"FIELD":
                self.field(place)
            elif place and self.attribute(key, place, rows):
                continue
            else:
                raise InputError(f"{self.name}: unexpected {shown(key)} in a VTK file.", "bad_header")
        return self.raw()

    def count(self, what: str) -> int:
        return whole(self.c.word(), f"count of {what}", self.name)

    def cells(self, key: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Connectivity and offsets of one section, in either layout."""
        n, size = self.count("cells"), self.count("cell entries")
        word = key.decode().lower()
        if self.c.peek().upper() == b"OFFSETS":
            self.c.word()
            offsets = self.c.values(n, self.c.word(), f"{word} offsets") if n else np.zeros(1, np.int64)
            if self.c.word().upper() != b"CONNECTIVITY":
                raise InputError(f"{self.name}: CONNECTIVITY should follow the offsets of {word}.", "bad_header")
            flat = self.c.values(size, self.c.word(), f"{word} connectivity")
            return flat, check_offsets(offsets, len(flat), self.name)
        values = self.c.values(size, b"int", word)
        if n > size:
            raise short_file(self.name, n, size, word, size)
        lengths = np.zeros(n, np.int64)
        keep, at = np.ones(size, bool), 0
        for i in range(n):
            if at >= size or not 0 <= values[at] <= size - at - 1:
                raise InputError(f"{self.name}: the {word} entries end inside cell {i} of {n}.", "truncated")
            lengths[i], keep[at] = values[at], False
            at += 1 + int(values[at])
        keep[at:] = False
        return values[keep], np.concatenate([[0], np.cumsum(lengths)])

    def field(self, place: str) -> None:
        self.c.word()  # the name of the group
        for _ in range(self.count("arrays")):
            if not self.c.peek():
                break
            if self.c.peek().upper() == b"METADATA":
                self.c.word()
                self.c.skip_metadata()
            name, width, rows = self.c.word(), self.count("components"), self.count("rows")
            type_ = self.c.word()
            if type_.lower() in (b"string", b"variant"):
                raise InputError(
                    f"{self.name}: field {shown(name)} holds text, which is not read; remove it.", "unsupported"
                )
            values = self.c.values(width * rows, type_, f"field {shown(name)}").reshape(rows, width)
            if place:
                self.keep(place, name, values)

    def attribute(self, key: bytes, place: str, rows: int) -> bool:
        """One data attribute of the old layout; False when the keyword is none."""
        if key == b"SCALARS":
            line = self.c.line().split()
            name, type_ = self.c.word(), self.c.word()
            width = whole(self.c.word(), "components", self.name) if len(line) > 2 else 1
            if self.c.peek().upper() == b"LOOKUP_TABLE":
                self.c.word()
                self.c.word()
            self.keep(place, name, self.c.values(rows * width, type_, f"field {shown(name)}").reshape(rows, width))
        elif key in COLUMNS:
            name, type_ = self.c.word(), self.c.word()
            self.keep(place, name, self.c.values(rows * COLUMNS[key], type_, "data").reshape(rows, COLUMNS[key]))
        elif key == b"TEXTURE_COORDINATES":
            name, width, type_ = self.c.word(), self.count("components"), self.c.word()
            self.keep(place, name, self.c.values(rows * width, type_, "data").reshape(rows, width))
        elif key == b"COLOR_SCALARS":
            name, width = self.c.word(), self.count("components")
            text = isinstance(self.c, _Text)
            values = self.c.values(rows * width, b"float" if text else b"unsigned_char", "data").reshape(rows, width)
            self.keep(place, name, values if text else values / 255.0)
        elif key == b"LOOKUP_TABLE":
            _, n = self.c.word(), self.count("colours")
            self.c.values(4 * n, b"float" if isinstance(self.c, _Text) else b"unsigned_char", "lookup table")
        elif key in (b"GLOBAL_IDS", b"PEDIGREE_IDS"):
            name, type_ = self.c.word(), self.c.word()
            self.keep(place, name, self.c.values(rows, type_, "ids").reshape(rows, 1))
        else:
            return False
        return True

    def keep(self, place: str, name: bytes, values: np.ndarray) -> None:
        self.fields[place][name.decode("utf-8", "replace")] = values[:, 0] if values.shape[1] == 1 else values

    def raw(self) -> RawMesh:
        if b"CELLS" in self.sections:
            flat, offsets = self.sections[b"CELLS"]
            if len(self.types) != len(offsets) - 1:
                raise InputError(
                    f"{self.name}: {len(offsets) - 1} cells, but {len(self.types)} cell types.", "truncated"
                )
            types = self.types
        else:
            own = [(key, self.sections[key]) for key in POLYDATA if key in self.sections]
            flat = np.concatenate([s[0][: s[1][-1]] for _, s in own]) if own else np.zeros(0, np.int64)
            lengths = np.concatenate([np.diff(s[1]) for _, s in own]) if own else np.zeros(0, np.int64)
            types = np.concatenate([np.full(len(s[1]) - 1, POLYDATA[k]) for k, s in own]) if own else lengths
            offsets = np.concatenate([[0], np.cumsum(lengths)])
        blocks, notices = cell_blocks(flat, offsets, types, self.name)
        fields = self.fields["point"], self.fields["cell"]
        return RawMesh(self.points, blocks, *fields, format="VTK", notices=notices, n_file_cells=len(types))
