"""STL, text and binary; binary is decided by the size 84 + 50 n, never by the word ``solid``."""

from __future__ import annotations

import re

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.source import Source, is_binary
from hsd.mesh.io.tokens import numbers, short_file, widened
from hsd.mesh.raw import CellBlock, RawMesh

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
KEYWORDS = frozenset(b"solid facet outer vertex endloop endfacet endsolid color".split())


def read_stl(source: Source) -> RawMesh:
    """Triangles as a soup: three points a triangle, to be joined by position.

    Raises InputError (not_this_format, empty, truncated, header_too_large, bad_number).
    """
    head = source.head
    n = int.from_bytes(head[80:84], "little") if source.size >= 84 else -1
    text = head.lstrip()[:6].lower().startswith(b"solid") and not is_binary(head)
    if n >= 0 and source.size == 84 + 50 * n:
        corners = widened(np.frombuffer(source.read(), RECORD, n, 84)["corners"], True)
    elif text:
        corners = _ascii(source)
    elif n >= 0 and is_binary(head) and head[:80].strip(b"\0 ") == head[:80].rstrip(b"\0 ").lstrip(b"\0 ") and n > 0:
        corners = _odd_binary(source, n)
    else:
        raise source.refuse(
            "an STL mesh", "it begins neither with 'solid' nor with a binary header whose count fits the size"
        )
    if not len(corners):
        raise InputError(f"{source.name} is an STL file without a single triangle; export the mesh again.", "empty")
    return RawMesh(
        corners.reshape(-1, 3),
        [CellBlock.of_rows("polygon", np.arange(3 * len(corners)).reshape(-1, 3))],
        format="STL",
        is_soup=True,
    )


def _odd_binary(source: Source, n: int) -> np.ndarray:
    """Binary content whose size does not fit the count: cut, or with a tail, or no STL at all."""
    have = (source.size - 84) // 50
    printable = sum(32 <= c < 127 for c in source.head[:80].rstrip(b"\0"))
    plausible = printable == len(source.head[:80].rstrip(b"\0"))
    if not plausible:
        raise source.refuse(
            "an STL mesh", f"its header counts {n} triangles where the size allows {have}, and is no text"
        )
    if n > have:
        raise short_file(source.name, n, have, "triangles", source.size)
    return widened(np.frombuffer(source.read(), RECORD, n, 84)["corners"], True)


def _ascii(source: Source) -> np.ndarray:
    lines = source.head.split(b"\n")
    words = [line.split(None, 1)[0].lower() for line in lines[1:-1] if line.strip()]
    if words and sum(w in KEYWORDS for w in words) < 0.5 * len(words):
        raise source.refuse("an STL mesh", "its lines do not begin with facet, outer, vertex, endloop or endfacet")
    data = source.read()
    found = re.findall(rb"\bvertex[ \t]+([^\s]+[ \t]+[^\s]+[ \t]+[^\s]+)", data, re.I)
    facets = len(re.findall(rb"\bendfacet\b", data, re.I))
    if len(found) % 3 or facets * 3 != len(found):
        raise InputError(
            f"{source.name} is cut or damaged: {len(found)} vertex lines for {facets} facets; three each are needed.",
            "truncated",
        )
    return numbers(b" ".join(found), 3 * len(found), f"vertices of {source.name}").reshape(-1, 3, 3)
