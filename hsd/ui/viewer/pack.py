"""Arrays → one block of bytes that the page reads without copying: header length, JSON header, aligned arrays.

Layout: ``u32 header length | header, padded with spaces | arrays``; everything little endian, every array starts at a
multiple of 8.  The header is ``{v, kind, hash, arrays: {name: {t, shape, off}}, …}``, ``off`` counted from the start of
the block.  The hash is of the arrays and the rest of the header, so equal content has an equal name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from hsd.errors import InputError

VERSION = 1
TYPES = {"f4": "<f4", "u4": "<u4", "i2": "<i2", "i1": "i1", "u1": "u1"}
LEVELS = 32767
"""Quantised values run from −LEVELS to LEVELS; NAN_LEVEL marks "not a number"."""
NAN_LEVEL = -32768


@dataclass(frozen=True)
class Asset:
    """A packed block and its name."""

    hash: str
    data: bytes

    def __len__(self) -> int:
        return len(self.data)


def pack(kind: str, arrays: dict[str, np.ndarray], **more) -> Asset:
    """Pack arrays (float32, uint32, int16, int8, uint8) with further JSON header entries."""
    entries, blocks, offset = {}, [], 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        code = f"{array.dtype.kind}{array.dtype.itemsize}"
        if code not in TYPES:
            raise InputError(f"Array {name} has type {array.dtype}; the page reads {', '.join(TYPES)}.", "shape")
        raw = array.astype(TYPES[code]).tobytes()
        entries[name] = {"t": code, "shape": list(array.shape), "off": offset}
        blocks.append(raw + b"\0" * (-len(raw) % 8))
        offset += len(blocks[-1])
    digest = hashlib.blake2b(json.dumps([VERSION, kind, entries, more], sort_keys=True).encode(), digest_size=8)
    for block in blocks:
        digest.update(block)
    head = {"v": VERSION, "kind": kind, "hash": digest.hexdigest(), "arrays": entries, **more}
    start, text = 0, ""
    while True:  # offsets grow with the header that states them; two or three rounds settle it
        for entry, size in zip(entries.values(), np.cumsum([0, *map(len, blocks)])):
            entry["off"] = start + int(size)
        text = json.dumps(head, separators=(",", ":"))
        needed = 4 + len(text.encode())
        needed += -needed % 8
        if needed == start:
            break
        start = needed
    encoded = text.encode()
    encoded += b" " * (start - 4 - len(encoded))
    return Asset(head["hash"], np.uint32(len(encoded)).astype("<u4").tobytes() + encoded + b"".join(blocks))


def unpack(data: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of a block: the inverse of :func:`pack`, as the page does it."""
    size = int(np.frombuffer(data, "<u4", 1)[0])
    head = json.loads(data[4 : 4 + size])
    arrays = {}
    for name, entry in head["arrays"].items():
        n = int(np.prod(entry["shape"]))
        arrays[name] = np.frombuffer(data, TYPES[entry["t"]], n, entry["off"]).reshape(entry["shape"])
    return head, arrays


def quantise(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, K) or (n, 3, K) float → (K, n) or (K, n, 3) int16 and one float32 scale a column: value ≈ scale · level.

    The error is at most half a level, max|column| / 65534 (and the rounding of the scale).  NaN keeps its place;
    infinite values are shown as NaN too.
    """
    columns = np.moveaxis(np.asarray(values, np.float64), -1, 0)
    finite = np.isfinite(columns)
    safe = np.where(finite, columns, 0.0)
    top = np.abs(safe).max(axis=tuple(range(1, safe.ndim)), initial=0.0)
    scale = np.where(top > 0, top / LEVELS, 1.0)
    level = np.rint(safe / scale.reshape(-1, *[1] * (safe.ndim - 1))).astype(np.int16)
    level[~finite] = NAN_LEVEL
    return level, scale.astype(np.float32)
