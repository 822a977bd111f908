"""The binary forms of Gmsh 2.2 and 4.1; every count is held against the bytes left before it is used."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd.errors import InputError
from hsd.mesh.io.tokens import short_file, whole


class Bytes:
    """A position in binary content."""

    def __init__(self, data: bytes, order: str, name: str):
        self.data, self.order, self.name, self.at = data, order, name, 0

    def take(self, dtype: object, n: int, what: str) -> np.ndarray:
        """The next n records; dtype: a code such as "i4", or a list of named codes."""
        record = np.dtype(dtype).newbyteorder(self.order)
        left = len(self.data) - self.at
        if n < 0 or n * record.itemsize > left:
            raise short_file(self.name, n, left // max(record.itemsize, 1), what, len(self.data))
        out = np.frombuffer(self.data, record, n, self.at)
        self.at += n * record.itemsize
        return out

    def ints(self, dtype: str, n: int, what: str) -> np.ndarray:
        return self.take(dtype, n, what).astype(np.int64)

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.at, self.at + 200)
        out = self.data[self.at : end] if end >= 0 else b""
        self.at = end + 1 if end >= 0 else len(self.data)
        return out.strip()

    def seek(self, section: bytes) -> bool:
        """Move behind the line ``$section``; False where there is none."""
        found = self.data.find(b"$" + section, self.at)
        if found < 0:
            return False
        self.at = found
        self.line()
        return True


def byte_order(data: bytes, name: str) -> str:
    """From the integer 1 behind the format line."""
    at = data.find(b"\n", data.find(b"$MeshFormat") + 12) + 1
    one = data[at : at + 4]
    for order, byteorder in (("<", "little"), (">", "big")):
        if int.from_bytes(one, byteorder) == 1:
            return order
    raise InputError(f"{name}: the binary Gmsh header lacks the number 1.", "bad_header")


def read_binary(data: bytes, version: float, name: str, n_nodes: Callable[[int, str], int]) -> tuple:
    """Node tags, points, and rows (type, (m, 3) number, physical, entity; (m, nodes))."""
    b = Bytes(data, byte_order(data, name), name)
    nodes = _nodes_4 if version >= 4 else _nodes_2
    elements = _elements_4 if version >= 4 else _elements_2
    if not b.seek(b"Nodes"):
        raise InputError(f"{name} is a Gmsh file without nodes.", "empty")
    tags, points = nodes(b)
    rows = elements(b, n_nodes) if b.seek(b"Elements") else []
    return tags, points, rows


def _nodes_2(b: Bytes) -> tuple[np.ndarray, np.ndarray]:
    n = whole(b.line(), "count of nodes", b.name)
    rows = b.take([("tag", "i4"), ("xyz", "f8", 3)], n, "nodes")
    return rows["tag"].astype(np.int64), rows["xyz"].astype(np.float64)


def _elements_2(b: Bytes, n_nodes: Callable[[int, str], int]) -> list:
    total, done, out = whole(b.line(), "count of elements", b.name), 0, []
    while done < total:
        type_, m, n_tags = b.ints("i4", 3, "an element header").tolist()
        width = n_nodes(type_, b.name)
        if m <= 0 or not 0 <= n_tags <= 1000:
            raise InputError(f"{b.name}: an element header counts {m} elements with {n_tags} tags.", "bad_number")
        rows = b.ints("i4", m * (1 + n_tags + width), "elements").reshape(m, -1)
        zero = np.zeros(m, np.int64)
        info = [np.arange(done, done + m), rows[:, 1] if n_tags else zero, rows[:, 2] if n_tags > 1 else zero]
        out.append((type_, np.stack(info, axis=1), rows[:, 1 + n_tags :]))
        done += m
    return out


def _nodes_4(b: Bytes) -> tuple[np.ndarray, np.ndarray]:
    blocks, _, _, _ = b.ints("u8", 4, "the node header").tolist()
    tags, points = [np.zeros(0, np.int64)], [np.zeros((0, 3))]
    for _ in range(blocks):
        dim, _, parametric = b.ints("i4", 3, "a node block").tolist()
        n = int(b.ints("u8", 1, "a node block")[0])
        width = 3 + (max(min(dim, 3), 0) if parametric else 0)
        tags.append(b.ints("u8", n, "node tags"))
        points.append(b.take("f8", n * width, "nodes").astype(np.float64).reshape(n, width)[:, :3])
    return np.concatenate(tags), np.concatenate(points)


def _elements_4(b: Bytes, n_nodes: Callable[[int, str], int]) -> list:
    blocks, _, _, _ = b.ints("u8", 4, "the element header").tolist()
    out, first = [], 0
    for _ in range(blocks):
        _, entity, type_ = b.ints("i4", 3, "an element block").tolist()
        m = int(b.ints("u8", 1, "an element block")[0])
        width = 1 + n_nodes(type_, b.name)
        rows = b.ints("u8", m * width, "elements").reshape(m, width)
        info = np.stack([np.arange(first, first + m), np.zeros(m, np.int64), np.full(m, entity)], axis=1)
        out.append((type_, info, rows[:, 1:]))
        first += m
    return out
