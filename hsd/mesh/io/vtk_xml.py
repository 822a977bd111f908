"""VTU and VTP by own code: inline text, base64 and appended data, zlib and LZMA blocks.  vtk is never imported.

Entities and document types are refused before any parser sees them.  Every array's length is bounded by the size of
the file before it is made.
"""

from __future__ import annotations

import base64
import binascii
import lzma
import re
import zlib
from xml.etree import ElementTree

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source
from hsd.mesh.io.tokens import numbers, short_file, widened
from hsd.mesh.io.vtk_cells import cell_blocks
from hsd.mesh.raw import RawMesh

TYPES = {
    "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4", "Int64": "i8",
    "UInt64": "u8", "Float32": "f4", "Float64": "f8",
}  # fmt: skip
SECTIONS = {"Verts": 2, "Lines": 4, "Polys": 7, "Strips": 6}
"""PolyData section → VTK type of its cells, in the order in which cell data counts them."""
RATIO = 1100
"""No deflate or LZMA block of mesh data is trusted to unpack to more than this multiple of the file."""
LIMIT = 2**31


def read_vtu(source: Source) -> RawMesh:
    """An unstructured grid; all pieces joined."""
    return _read(source, "UnstructuredGrid", "a VTU file")


def read_vtp(source: Source) -> RawMesh:
    """Poly data; all pieces joined."""
    return _read(source, "PolyData", "a VTP file")


def _read(source: Source, kind: str, format_: str) -> RawMesh:
    """Raises InputError (not_this_format, entities, empty, truncated, header_too_large, unsupported, bad_offsets …)."""
    if source.head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise source.refuse(format_, "it is UTF-16 text; save it as UTF-8")
    if re.search(rb"<!\s*(DOCTYPE|ENTITY)", source.head, re.I):
        raise _entities(source)
    if b"<VTKFile" not in source.head:
        raise source.refuse(format_, "it has no <VTKFile> element")
    data = source.read()
    cut = re.search(rb"<AppendedData[^>]*>\s*_", data)
    text = data[: cut.start()] + b"</VTKFile>" if cut else data
    if re.search(rb"<!\s*(DOCTYPE|ENTITY)", text, re.I):
        raise _entities(source)
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise InputError(f"{source.name} is no well-formed XML ({error}); it may be cut.", "truncated") from error
    if root.tag != "VTKFile" or root.get("type") != kind:
        raise source.refuse(format_, f"its VTKFile type is {root.get('type')!r}, not {kind!r}")
    appended = data[cut.end() :] if cut else b""
    encoded = bool(cut) and b"base64" in cut.group()
    arrays = _Arrays(root, appended, encoded, source)
    pieces = [_piece(piece, kind, arrays) for piece in root.iter("Piece")]
    if not pieces:
        raise InputError(f"{source.name} holds no piece of a mesh.", "empty")
    return _joined(pieces, source.name, format_[2:5])


def _entities(source: Source) -> InputError:
    return InputError(
        f"{source.name} declares a document type or entities, which no VTK file needs and which can blow up in memory; "
        "it was not parsed.",
        "entities",
    )


class _Arrays:
    """Decodes DataArray elements."""

    def __init__(self, root: ElementTree.Element, appended: bytes, encoded: bool, source: Source):
        self.order = ">" if root.get("byte_order") == "BigEndian" else "<"
        self.head = self.order + ("u8" if root.get("header_type") == "UInt64" else "u4")
        self.appended, self.encoded, self.source = appended, encoded, source
        compressor = root.get("compressor")
        known = {None: None, "vtkZLibDataCompressor": "zlib", "vtkLZMADataCompressor": "lzma"}
        if compressor not in known:
            raise InputError(
                f"{source.name} is compressed with {compressor!r}, which is not read; save it with zlib or "
                "uncompressed.",
                "unsupported",
            )
        self.codec = known[compressor]

    def read(self, element: ElementTree.Element, rows: int | None, what: str) -> np.ndarray:
        """The values, (rows,) or (rows, components); rows None: as many as there are."""
        type_ = TYPES.get(element.get("type", ""))
        name = self.source.name
        if type_ is None:
            raise InputError(f"{name}: {what} has the type {element.get('type')!r}, which is no number.", "unsupported")
        width = _whole(element.get("NumberOfComponents", "1"), f"components of {what}", name) or 1
        n = None if rows is None else rows * width
        if n is not None and n > max(self.source.size * RATIO, 1):
            raise short_file(name, n, 0, what, self.source.size)
        form = element.get("format", "ascii")
        if form == "ascii":
            text = (element.text or "").encode("ascii", "replace")
            if n is not None and n > len(text):
                raise short_file(name, n, len(text.split()), what, self.source.size)
            count = len(text.split()) if n is None else n
            dtype = np.float64 if type_[0] == "f" else np.int64
            values = numbers(text, count, f"values of {what} in {name}", dtype) if count else np.zeros(0, dtype)
        elif form == "binary":
            values = self._decode(
                b"".join((element.text or "").encode("ascii", "replace").split()), True, type_, what, n
            )
        elif form == "appended":
            offset = _whole(element.get("offset", ""), f"offset of {what}", name)
            if offset >= len(self.appended):
                raise short_file(name, offset, len(self.appended), f"appended data of {what}", self.source.size)
            values = self._decode(self.appended[offset:], self.encoded, type_, what, n)
        else:
            raise InputError(f"{name}: {what} has the unknown format {form!r}.", "unsupported")
        if n is not None and len(values) != n:
            raise short_file(name, n, len(values), what, self.source.size)
        values = widened(values, type_[0] == "f")
        return values.reshape(-1, width) if width > 1 else values

    def _decode(self, blob: bytes, encoded: bool, type_: str, what: str, n: int | None) -> np.ndarray:
        """Values behind a block header of one length, or of block counts and sizes when compressed."""
        word = int(self.head[2])
        first = self._take(blob, 0, word if not self.codec else 3 * word, encoded, what)
        if not self.codec:
            size = int(np.frombuffer(first, self.head)[0])
            body = self._take(blob, 0, word + size, encoded, what)[word:] if encoded else blob[word : word + size]
            if len(body) < size:
                raise short_file(self.source.name, size, len(body), what, self.source.size)
        else:
            body = self._unpack(blob, first, encoded, type_, what, n)
        item = int(type_[1])
        return np.frombuffer(body, self.order + type_, len(body) // item)

    def _unpack(self, blob: bytes, first: bytes, encoded: bool, type_: str, what: str, n: int | None) -> bytes:
        word = int(self.head[2])
        blocks, size, last = (int(x) for x in np.frombuffer(first, self.head))
        total = (blocks - 1) * size + (last or size) if blocks else 0
        bound = min(LIMIT, self.source.size * RATIO if n is None else n * int(type_[1]) + size)
        if blocks > len(blob) or total > bound:
            raise InputError(
                f"{self.source.name}: {what} claims to unpack to {total} bytes, too many.", "header_too_large"
            )
        head_size = (3 + blocks) * word
        sizes = np.frombuffer(self._take(blob, 0, head_size, encoded, what), self.head)[3:]
        start = -(-head_size // 3) * 4 if encoded else head_size
        packed = int(sizes.sum())
        body = self._take(blob, start, packed, encoded, what)
        out, at = [], 0
        for i, length in enumerate(sizes.tolist()):
            want = last if (i == blocks - 1 and last) else size
            try:
                if self.codec == "zlib":
                    part = zlib.decompressobj().decompress(body[at : at + length], want + 1)
                else:
                    part = lzma.LZMADecompressor().decompress(body[at : at + length], want + 1)
            except (zlib.error, lzma.LZMAError, EOFError) as error:
                raise InputError(f"{self.source.name}: {what} is damaged ({error}).", "truncated") from error
            if len(part) != want:
                raise short_file(self.source.name, want, len(part), f"a block of {what}", self.source.size)
            out.append(part)
            at += length
        return b"".join(out)

    def _take(self, blob: bytes, start: int, size: int, encoded: bool, what: str) -> bytes:
        """``size`` bytes, from a base64 run that begins at ``start`` or as they are."""
        if not encoded:
            part = blob[start : start + size]
        else:
            text = blob[start : start + -(-size // 3) * 4]
            try:
                part = base64.b64decode(text, validate=True)[:size]
            except binascii.Error:
                part = b""
        if len(part) < size:
            raise short_file(self.source.name, size, len(part), what, self.source.size)
        return part


def _whole(text: str, what: str, name: str) -> int:
    if not text.strip().isdigit() or len(text) > 18 or not text.isascii():
        raise InputError(f"{name}: the {what} should be a whole number, found {text[:30]!r}.", "bad_number")
    return int(text)


def _piece(piece: ElementTree.Element, kind: str, arrays: _Arrays) -> dict:
    """Points, connectivity, offsets, types and fields of one piece."""
    name = arrays.source.name
    n = _whole(piece.get("NumberOfPoints", "0"), "NumberOfPoints", name)
    holder = piece.find("Points/DataArray")
    points = np.zeros((0, 3)) if holder is None or n == 0 else arrays.read(holder, n, "points").astype(np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or len(points) != n:
        raise InputError(f"{name}: points need 3 components a point.", "shape")
    groups = []
    if kind == "UnstructuredGrid":
        m = _whole(piece.get("NumberOfCells", "0"), "NumberOfCells", name)
        groups.append(("Cells", m, None))
    else:
        groups += [
            (tag, _whole(piece.get(f"NumberOf{tag}", "0"), f"NumberOf{tag}", name), t) for tag, t in SECTIONS.items()
        ]
    flat, lengths, types = [], [], []
    for tag, m, type_ in groups:
        own = {a.get("Name", "").lower(): a for a in piece.findall(f"{tag}/DataArray")}
        if m == 0:
            continue
        if not {"connectivity", "offsets"} <= set(own) or (type_ is None and "types" not in own):
            raise InputError(f"{name}: the {tag} lack connectivity, offsets or types.", "truncated")
        ends = arrays.read(own["offsets"], m, f"{tag} offsets")
        if ends.ndim != 1 or (np.diff(ends, prepend=0) < 0).any():
            raise InputError(f"{name}: the {tag} offsets do not rise.", "bad_offsets")
        entries = arrays.read(own["connectivity"], None, f"{tag} connectivity").reshape(-1)
        if len(entries) < int(ends[-1]):
            raise short_file(name, int(ends[-1]), len(entries), f"{tag} connectivity", arrays.source.size)
        flat.append(entries[: int(ends[-1])].astype(np.int64))
        lengths.append(np.diff(ends, prepend=0))
        types.append(arrays.read(own["types"], m, "types") if type_ is None else np.full(m, type_))
    none = np.zeros(0, np.int64)
    out = {
        "points": points,
        "flat": np.concatenate(flat) if flat else none,
        "lengths": np.concatenate(lengths).astype(np.int64) if flat else none,
        "types": np.concatenate(types).astype(np.int64) if flat else none,
    }
    for key, tag, rows in (("point", "PointData", n), ("cell", "CellData", len(out["lengths"]))):
        own = [a for a in piece.findall(f"{tag}/DataArray") if a.get("type") in TYPES]
        out[key] = {a.get("Name", "field"): arrays.read(a, rows, f"field {a.get('Name')!r}") for a in own}
    return out


def _joined(pieces: list[dict], name: str, format_: str) -> RawMesh:
    shift = np.cumsum([0] + [len(p["points"]) for p in pieces[:-1]])
    for p in pieces:
        bad = np.flatnonzero((p["flat"] < 0) | (p["flat"] >= len(p["points"]))) if len(pieces) > 1 else []
        if len(bad):
            raise InputError(
                f"{name}: a cell names vertex index {p['flat'][bad[0]]} of {len(p['points'])} in its piece.",
                "index_out_of_range",
            )
    flat = np.concatenate([p["flat"] + s for p, s in zip(pieces, shift)])
    lengths = np.concatenate([p["lengths"] for p in pieces])
    blocks, notices = cell_blocks(
        flat, np.concatenate([[0], np.cumsum(lengths)]), np.concatenate([p["types"] for p in pieces]), name
    )
    fields = []
    for key in ("point", "cell"):
        common = [
            f for f in pieces[0][key] if all(f in p[key] and p[key][f].ndim == pieces[0][key][f].ndim for p in pieces)
        ]
        fields.append({f: np.concatenate([p[key][f] for p in pieces]) for f in common})
    points = np.concatenate([p["points"] for p in pieces])
    return RawMesh(points, blocks, *fields, format=format_, notices=notices, n_file_cells=len(lengths))
