"""Mesh files: load_mesh, load_mesh_bytes, save_mesh, and the registries of readers and writers."""

from __future__ import annotations

import os
from collections.abc import Callable
from numbers import Real
from pathlib import Path

from hsd.errors import InputError, Notice
from hsd.mesh.build import build_mesh
from hsd.mesh.io.glb import read_glb
from hsd.mesh.io.msh import read_msh
from hsd.mesh.io.npz import read_npz
from hsd.mesh.io.obj import read_obj
from hsd.mesh.io.off import read_off
from hsd.mesh.io.ply import read_ply
from hsd.mesh.io.source import Source, looks_like, mesh_format
from hsd.mesh.io.stl import read_stl
from hsd.mesh.io.tables import read_csv, read_points
from hsd.mesh.io.vtk_legacy import read_vtk
from hsd.mesh.io.vtk_xml import read_vtp, read_vtu
from hsd.mesh.io.writers import WRITERS, save_mesh
from hsd.mesh.mesh import Mesh
from hsd.mesh.raw import RawMesh

READERS: dict[str, Callable[[Source], RawMesh]] = {
    "obj": read_obj,
    "ply": read_ply,
    "stl": read_stl,
    "off": read_off,
    "vtk": read_vtk,
    "vtu": read_vtu,
    "vtp": read_vtp,
    "msh": read_msh,
    "glb": read_glb,
    "npz": read_npz,
    "xyz": read_points,
    "txt": read_points,
    "csv": read_csv,
}
"""Suffix → reader."""


def load_mesh(
    path: str | os.PathLike,
    weld: float = 1e-6,
    keep_loose: bool = False,
    fill_triangles: bool = False,
    radius: float | None = None,
) -> Mesh:
    """A mesh from a file; the suffix (upper or lower case) names the format, the content must agree.

    weld : tolerance relative to the box diagonal, 0 = off;  keep_loose : keep points that no cell uses;
    fill_triangles : a graph becomes its clique complex up to triangles;  radius : of the alpha complex of points.
    What was changed on the way is in ``mesh.notices``, and which option changed nothing (``ignored_option``).
    Raises InputError: no_file, bad_option, radius, unknown_format, not_this_format, empty, truncated,
    header_too_large …
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"The path of a mesh file is a text or a pathlib.Path; got {path!r}.", "bad_option")
    if not os.fspath(path):
        raise InputError("The path is empty; give the path of a mesh file.", "no_file")
    _check_options(weld, radius)
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is no regular file" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}; give the path of a mesh file.", "no_file")
    try:
        return _load(Source(path.name, path=path), weld, keep_loose, fill_triangles, radius)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "no_file") from error


def load_mesh_bytes(
    data: bytes,
    filename: str,
    weld: float = 1e-6,
    keep_loose: bool = False,
    fill_triangles: bool = False,
    radius: float | None = None,
) -> Mesh:
    """A mesh from the content of a file, such as an upload; ``filename`` names the format.  See :func:`load_mesh`."""
    if not isinstance(data, (bytes, bytearray, memoryview)) or not isinstance(filename, str):
        found = f"{type(data).__name__} and {filename!r}"
        raise InputError(f"The content of a file as bytes and its name are needed; got {found}.", "bad_option")
    _check_options(weld, radius)
    return _load(Source(filename, data=bytes(data)), weld, keep_loose, fill_triangles, radius)


def read_raw(source: Source) -> RawMesh:
    """The content of a source, uncleaned, after its head has been judged."""
    suffix = Path(source.name).suffix.lower().lstrip(".")
    if suffix not in READERS:
        known = ", ".join("." + s for s in READERS)
        found = "." + suffix if suffix else "(no suffix)"
        raise InputError(f"{source.name}: unknown mesh format {found}; known: {known}.", "unknown_format")
    if not source.head.strip(b" \t\r\n\0"):
        what = "is empty (0 bytes)" if source.size == 0 else "holds only blanks or zero bytes"
        raise InputError(f"{source.name} {what}; export or download it again.", "empty")
    fitting_stl = (
        suffix == "stl" and source.size >= 84 and source.size == 84 + 50 * int.from_bytes(source.head[80:84], "little")
    )
    if not fitting_stl:
        foreign = looks_like(source.head)
        if foreign and not (suffix == "npz" and "zip" in foreign):
            raise source.refuse(f"a mesh in {suffix.upper()} format", f"it looks like {foreign}")
        other = mesh_format(source.head)
        if other and other != suffix:
            raise source.refuse(f"a mesh in {suffix.upper()} format", f"its content is that of a .{other} file")
    return READERS[suffix](source)


def _load(source: Source, weld: float, keep_loose: bool, fill_triangles: bool, radius: float | None) -> Mesh:
    mesh = build_mesh(read_raw(source), Path(source.name).stem, weld, keep_loose, fill_triangles, radius)
    kinds = {notice.kind for notice in mesh.notices}
    ignored = []
    if radius is not None and "alpha_complex" not in kinds:
        ignored.append("radius is for point clouds")
    if fill_triangles and "clique_complex" not in kinds:
        ignored.append("fill_triangles is for graphs")
    if not ignored:
        return mesh
    return mesh.with_notices(Notice("ignored_option", f"{source.name}: {' and '.join(ignored)}; it changed nothing."))


def _check_options(weld: float, radius: float | None) -> None:
    """Refuse what is no number, and a negative radius, whatever the file holds."""
    for name, value in (("weld tolerance", weld), ("radius", 0.0 if radius is None else radius)):
        if not isinstance(value, Real) or isinstance(value, bool):
            raise InputError(f"The {name} must be a number; got {value!r}.", "bad_option")
    if radius is not None and not radius >= 0:
        raise InputError(f"The radius of an alpha complex must be 0 or more; got {radius}.", "radius")


__all__ = ["READERS", "WRITERS", "load_mesh", "load_mesh_bytes", "read_raw", "save_mesh"]
