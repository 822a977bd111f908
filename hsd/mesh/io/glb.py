"""GLB (glTF 2.0 binary): all meshes of the scene, placed by their nodes; a mesh used twice is there twice.

Accessors are held against the size of their buffer before they are read; node graphs must be trees.
"""

from __future__ import annotations

import json
import struct

import numpy as np

from hsd.errors import InputError, Notice
from hsd.mesh.io.source import Source
from hsd.mesh.io.tokens import short_file, widened
from hsd.mesh.raw import CellBlock, RawMesh

COMPONENT = {5120: "i1", 5121: "u1", 5122: "i2", 5123: "u2", 5125: "u4", 5126: "f4"}
WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
MAX_POINTS = 50_000_000
"""Largest scene after instancing, in points."""


def read_glb(source: Source) -> RawMesh:
    """Raises InputError (not_this_format, empty, truncated, header_too_large, bad_header, unsupported, too_large)."""
    head = source.head
    if not head.startswith(b"glTF") or len(head) < 12:
        raise source.refuse("a GLB file", "it does not begin with glTF")
    version, total = struct.unpack("<II", head[4:12])
    if version != 2:
        raise InputError(f"{source.name} is glTF version {version}; version 2 is read.", "unsupported")
    if total > source.size:
        raise short_file(source.name, total, source.size, "bytes of the file", source.size)
    document, binary = _chunks(source.read()[:total], source.name)
    return _Scene(document, binary, source.name).raw()


def _chunks(data: bytes, name: str) -> tuple[dict, bytes]:
    at, parts = 12, {}
    while at + 8 <= len(data):
        length, kind = struct.unpack("<I4s", data[at : at + 8])
        if at + 8 + length > len(data):
            raise short_file(name, length, len(data) - at - 8, "bytes of a chunk", len(data))
        parts.setdefault(kind, data[at + 8 : at + 8 + length])
        at += 8 + length
    if b"JSON" not in parts:
        raise InputError(f"{name} is a GLB file without its JSON chunk.", "empty")
    try:
        document = json.loads(parts[b"JSON"].decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: the JSON chunk cannot be read ({type(error).__name__}).", "bad_header") from error
    if not isinstance(document, dict):
        raise InputError(f"{name}: the JSON chunk is no object.", "bad_header")
    return document, parts.get(b"BIN\0", b"")


class _Scene:
    def __init__(self, document: dict, binary: bytes, name: str):
        self.document, self.binary, self.name = document, binary, name
        needed = document.get("extensionsRequired", [])
        if needed:
            raise InputError(f"{name} needs the extension(s) {str(needed)[:80]}, which are not read.", "unsupported")

    def item(self, kind: str, index: object) -> dict:
        """Entry ``index`` of a top list of the document."""
        items = self.document.get(kind, [])
        if (
            not isinstance(index, int)
            or isinstance(index, bool)
            or not isinstance(items, list)
            or not 0 <= index < len(items)
        ):
            raise self.bad(f"{kind} has no entry {str(index)[:20]}")
        if not isinstance(items[index], dict):
            raise self.bad(f"entry {index} of {kind} is no object")
        return items[index]

    def bad(self, what: str) -> InputError:
        return InputError(f"{self.name} is a damaged GLB file: {what}.", "bad_header")

    def number(self, holder: dict, key: str, default: int | None = None) -> int:
        value = holder.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.bad(f"{key} should be a whole number, found {str(value)[:20]}")
        return value

    def accessor(self, index: object) -> np.ndarray:
        """(count, width) values of an accessor, float64 or int64."""
        a = self.item("accessors", index)
        if "sparse" in a:
            raise InputError(f"{self.name} uses sparse accessors, which are not read.", "unsupported")
        kind, type_, count = a.get("componentType"), a.get("type"), self.number(a, "count")
        if kind not in COMPONENT or type_ not in WIDTH:
            raise self.bad(f"accessor {index} has the unknown type {str(kind)[:20]} {str(type_)[:20]}")
        if "bufferView" not in a:
            raise self.bad(f"accessor {index} has no data")
        view = self.item("bufferViews", a["bufferView"])
        buffer = self.item("buffers", view.get("buffer"))
        if view.get("buffer") != 0 or "uri" in buffer:
            raise InputError(f"{self.name} keeps data outside the file, which is not read.", "unsupported")
        dtype, width = np.dtype("<" + COMPONENT[kind]), WIDTH[type_]
        row = dtype.itemsize * width
        stride = self.number(view, "byteStride", row)
        start, length = self.number(view, "byteOffset", 0), self.number(view, "byteLength")
        offset = self.number(a, "byteOffset", 0)
        need = offset + (count - 1) * stride + row if count else 0
        if stride < row or need > length or start + length > len(self.binary):
            raise short_file(
                self.name,
                need,
                min(length, max(len(self.binary) - start, 0)),
                f"accessor {index}",
                len(self.binary),
            )
        values = np.ndarray((count, width), dtype, self.binary, start + offset, (stride, dtype.itemsize))
        out = widened(values, kind == 5126)
        if a.get("normalized") and kind != 5126:
            out = np.maximum(out / np.iinfo(dtype).max, -1.0)
        return out

    def placed(self) -> list[tuple[int, np.ndarray]]:
        """Mesh number and 4×4 matrix of each use of a mesh in the scene."""
        nodes = self.document.get("nodes", [])
        if not isinstance(nodes, list) or not nodes:
            return [(i, np.eye(4)) for i in range(len(self.document.get("meshes", [])))]
        parents = np.zeros(len(nodes), np.int64)
        children = []
        for i in range(len(nodes)):
            own = self.item("nodes", i).get("children", [])
            if not isinstance(own, list):
                raise self.bad(f"the children of node {i} are no list")
            for child in own:
                self.item("nodes", child)
                parents[child] += 1
            children.append(own)
        if (parents > 1).any():
            raise self.bad(f"node {int(np.flatnonzero(parents > 1)[0])} has more than one parent")
        scenes = self.document.get("scenes", [])
        roots = np.flatnonzero(parents == 0).tolist()
        if isinstance(scenes, list) and scenes:
            roots = self.item("scenes", self.document.get("scene", 0)).get("nodes", [])
            if not isinstance(roots, list):
                raise self.bad("the nodes of the scene are no list")
        out, seen = [], set()
        stack = [(r, np.eye(4)) for r in reversed(roots)]
        while stack:
            index, above = stack.pop()
            node = self.item("nodes", index)
            if index in seen:
                raise self.bad(f"node {index} is reached twice")
            seen.add(index)
            matrix = above @ self.local(node, index)
            if "mesh" in node:
                self.item("meshes", node["mesh"])
                out.append((node["mesh"], matrix))
            stack += [(c, matrix) for c in reversed(children[index])]
        return out

    def local(self, node: dict, index: int) -> np.ndarray:
        def vector(key: str, default: list[float]) -> np.ndarray:
            value = node.get(key, default)
            ok = (
                isinstance(value, list)
                and len(value) == len(default)
                and all(isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e100 for x in value)
            )
            if not ok:
                raise self.bad(f"{key} of node {index} should be {len(default)} numbers")
            return np.array(value, np.float64)

        if "matrix" in node:
            return vector("matrix", [0.0] * 16).reshape(4, 4).T
        x, y, z, w = vector("rotation", [0.0, 0.0, 0.0, 1.0])
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )
        out = np.eye(4)
        out[:3, :3] = rotation * vector("scale", [1.0, 1.0, 1.0])
        out[:3, 3] = vector("translation", [0.0, 0.0, 0.0])
        return out

    def raw(self) -> RawMesh:
        points, blocks, shift, first, notices = [np.zeros((0, 3))], [], 0, 0, []
        loaded: dict[int, list] = {}
        for mesh, matrix in self.placed():
            if mesh not in loaded:
                loaded[mesh] = self.mesh(mesh)
            for own, block in loaded[mesh]:
                shift_to = shift + len(own)
                if shift_to > MAX_POINTS:
                    raise InputError(f"{self.name} places more than {MAX_POINTS} points.", "too_large")
                points.append(own @ matrix[:3, :3].T + matrix[:3, 3])
                blocks.append(CellBlock(block.kind, block.flat + shift, block.offsets, block.file_cells + first))
                shift, first = shift_to, first + len(block)
        if not blocks:
            raise InputError(f"{self.name} places no mesh in its scene.", "empty")
        if any("skin" in n or "weights" in n for n in self.document.get("nodes", []) if isinstance(n, dict)):
            notices.append(Notice("pose_ignored", "Skins and morph weights were ignored; the rest pose is used."))
        return RawMesh(np.concatenate(points), blocks, format="GLB", notices=notices)

    def mesh(self, index: int) -> list[tuple[np.ndarray, CellBlock]]:
        """Points and one block of each primitive; parts of one mesh that share their positions stay separate."""
        primitives = self.item("meshes", index).get("primitives", [])
        if not isinstance(primitives, list):
            raise self.bad(f"the primitives of mesh {index} are no list")
        out = []
        for p in primitives:
            attributes = p.get("attributes", {}) if isinstance(p, dict) else None
            if not isinstance(attributes, dict):
                raise self.bad(f"a primitive of mesh {index} is no object")
            if "POSITION" not in attributes:
                continue
            points = self.accessor(attributes["POSITION"]).astype(np.float64)
            if points.shape[1] != 3:
                raise self.bad(f"positions of mesh {index} are no 3-vectors")
            corners = self.accessor(p["indices"])[:, 0] if "indices" in p else np.arange(len(points))
            if corners.dtype.kind != "i":
                raise self.bad(f"the indices of mesh {index} are no whole numbers")
            bad = np.flatnonzero((corners < 0) | (corners >= len(points)))
            if len(bad):
                raise InputError(
                    f"{self.name}: entry {bad[0]} of mesh {index} names vertex index {corners[bad[0]]} of "
                    f"{len(points)}.",
                    "index_out_of_range",
                )
            out.append((points, self.block(p.get("mode", 4), corners, index)))
        return out

    def block(self, mode: object, corners: np.ndarray, index: int) -> CellBlock:
        n = len(corners)
        if mode == 4:
            return CellBlock.of_rows("polygon", corners[: n // 3 * 3].reshape(-1, 3))
        if mode == 5 and n >= 3:
            return CellBlock.of_lengths("strip", corners, [n])
        if mode == 6 and n >= 3:
            fan = np.stack([np.full(n - 2, corners[0]), corners[1:-1], corners[2:]], axis=1)
            return CellBlock.of_rows("polygon", fan)
        if mode == 1:
            return CellBlock.of_rows("line", corners[: n // 2 * 2].reshape(-1, 2))
        if mode in (2, 3) and n >= 2:
            return CellBlock.of_lengths(
                "line", np.append(corners, corners[0]) if mode == 2 else corners, [n + (mode == 2)]
            )
        if mode == 0:
            return CellBlock.of_rows("vertex", corners[:, None])
        raise self.bad(f"a primitive of mesh {index} has mode {str(mode)[:20]} with {n} corners")
