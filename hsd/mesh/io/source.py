"""A file or an upload as readers see it: name, size, head, bytes; and what its head looks like.

The head (64 KiB) decides before anything else is read: a wrong kind of content is refused in one sentence.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

from hsd.errors import InputError

HEAD = 65536

SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"PK", "a zip archive"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"\x89HDF", "an HDF5 file"),
    (b"CDF\x01", "a NetCDF file"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a single NumPy array (.npy)"),
    (b"version https://git-lfs", "a Git LFS pointer instead of the file itself"),
)

MESH_SIGNATURES: tuple[tuple[re.Pattern, str], ...] = (
    (re.compile(rb"ply\s*\r?\n"), "ply"),
    (re.compile(rb"# vtk DataFile", re.I), "vtk"),
    (re.compile(rb"<VTKFile[^>]*UnstructuredGrid"), "vtu"),
    (re.compile(rb"<VTKFile[^>]*PolyData"), "vtp"),
    (re.compile(rb"\$MeshFormat"), "msh"),
    (re.compile(rb"glTF"), "glb"),
    (re.compile(rb"(ST)?(C)?(N)?4?n?OFF\b"), "off"),
)


class Source:
    """Content behind a file name: ``path`` on disk, or ``data`` in memory (an upload)."""

    def __init__(self, name: str, path: Path | None = None, data: bytes | None = None):
        self.name = Path(name).name
        self.path = path
        self._data = data

    @cached_property
    def size(self) -> int:
        return len(self._data) if self._data is not None else self.path.stat().st_size

    @cached_property
    def head(self) -> bytes:
        if self._data is not None:
            return bytes(self._data[:HEAD])
        with self.path.open("rb") as handle:
            return handle.read(HEAD)

    def read(self) -> bytes:
        """All bytes; call only after the head has been judged."""
        if self._data is not None:
            return self._data
        with self.path.open("rb") as handle:
            return handle.read()

    def refuse(self, format_: str, found: str, kind: str = "not_this_format") -> InputError:
        """The error for content that is not what the name says."""
        return InputError(
            f"{self.name} should be {format_}, but {found}; give the right file or rename it to its real type.",
            kind,
        )


def looks_like(head: bytes) -> str | None:
    """What foreign content a head shows, in words, or None."""
    for magic, words in SIGNATURES:
        if head.startswith(magic):
            return words
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    start = text[:512].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<script")) or b"<html" in start:
        return "an HTML page (a failed download?)"
    if re.match(rb"[\[{]\s*(\"|\{|\[|\}|\]|-?\d)", text):
        return "a JSON document"
    return None


def mesh_format(head: bytes) -> str | None:
    """The mesh format that a head announces by its own signature, or None."""
    text = head[:2048].lstrip(b"\xef\xbb\xbf \t\r\n")
    for pattern, name in MESH_SIGNATURES:
        if (pattern.search(text[:1024]) if name in ("vtu", "vtp") else pattern.match(text)) is not None:
            return name
    return None


def is_binary(head: bytes) -> bool:
    """True when a head cannot be text: NUL bytes or many control characters."""
    if not head:
        return False
    if b"\0" in head:
        return True
    control = sum(head.count(bytes([c])) for c in range(32) if c not in (9, 10, 11, 12, 13))
    high = len(head) - len(head.translate(None, bytes(range(128, 256))))
    return control > 0.02 * len(head) or high > 0.6 * len(head)


def require_text(source: Source, format_: str) -> None:
    """Refuse binary content where ``format_`` is a text format."""
    if source.head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise source.refuse(format_, "it is UTF-16 text; save it as plain UTF-8 text", "not_this_format")
    if is_binary(source.head):
        raise source.refuse(format_, "its content is binary, not text")
