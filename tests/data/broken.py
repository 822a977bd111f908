"""Ways to break a dataset file, and the finding that each must have."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hsd.data.archive import Archive, write_archive
from hsd.mesh.primitives import gallery
from tests.data.datasets import N


def rewrite(path: Path, **changes) -> None:
    """Write the file again with arrays replaced (None: left out); ``schema`` may be a dict of entries to replace."""
    archive = Archive(path)
    arrays = {name: np.array(archive[name]) for name in archive.names}
    if isinstance(changes.get("schema"), dict):
        changes["schema"] = np.array(json.dumps({**json.loads(str(arrays["schema"])), **changes["schema"]}))
    arrays |= {name.replace("__", "/"): value for name, value in changes.items()}
    write_archive(path, {name: value for name, value in arrays.items() if value is not None})


def change(name: str, f: Callable[[np.ndarray], object]) -> Callable[[Path], None]:
    """Replace an array by f of it, in place or returned."""

    def apply(path: Path) -> None:
        values = np.array(Archive(path)[name])
        result = f(values)
        rewrite(path, **{name.replace("/", "__"): values if result is None else np.asarray(result)})

    return apply


def put(index, value) -> Callable[[np.ndarray], None]:
    return lambda values: values.__setitem__(index, value)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pickled(path: Path) -> None:
    archive = Archive(path)
    arrays = {name: np.array(archive[name]) for name in archive.names}
    np.savez(path, **{**arrays, "target": np.array([{"a": 1}, None], dtype=object)}, allow_pickle=True)


def cut(share: float) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[Archive(path)["target"].offset + 100] ^= 16
    path.write_bytes(data)


def oversize_header(path: Path) -> None:
    data = path.read_bytes()
    shape = str(Archive(path).shape("target")).encode()
    larger = shape.replace(b"(20, ", b"(99, ")
    assert data.count(shape) >= 1
    path.write_bytes(data.replace(shape, larger))


def bomb(path: Path) -> None:
    """A deflated member that claims 3 GiB in the directory."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("target.npy", bytes(1000))
    data = bytearray(buffer.getvalue())
    directory = data.index(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, 3 * 2**30)
    path.write_bytes(data)


def twice(path: Path) -> None:
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("target.npy", archive.read("target.npy"))


def add_member(name: str) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, b"hello")

    return apply


def other_mesh(path: Path) -> None:
    mesh = gallery("torus", 90)
    rewrite(path, mesh__points=mesh.points, mesh__cells=mesh.oriented_cells())


def moved_mesh(path: Path) -> None:
    rewrite(path, mesh__points=1.01 * np.array(Archive(path)["mesh/points"]))


BROKEN = {  # name → (dataset it is made of, how it is broken, kind of the finding, words of its sentence)
    "empty file": ("one", lambda p: p.write_bytes(b""), "empty", ("0 bytes", "write it again")),
    "no file": ("one", lambda p: p.unlink(), "no_file", ("no file",)),
    "a folder": ("one", folder, "no_file", ("is a folder",)),
    "not a zip": ("one", lambda p: p.write_text("x,y\n1,2\n"), "not_this_format", ("no NumPy archive",)),
    "zip without arrays": ("one", lambda p: zipfile.ZipFile(p, "w").close(), "empty", ("without arrays",)),
    "cut at 90 %": ("one", cut(0.9), "truncated", ("cut or damaged",)),
    "cut at 20 %": ("one", cut(0.2), "truncated", ("cut or damaged",)),
    "a bit flipped": ("one", flip_a_bit, "damaged", ("target", "checksum")),
    "pickle inside": ("one", pickled, "pickle_inside", ("target", "never loaded")),
    "header larger than the file": ("one", oversize_header, "header_too_large", ("target", "99")),
    "zip bomb": ("one", bomb, "header_too_large", ("3.0 GiB", "uncompressed")),
    "an array twice": ("one", twice, "duplicate_array", ("'target'", "twice")),
    "a text file inside": ("one", add_member("readme.txt"), "not_an_array", ("readme.txt",)),
    "an entry that is no array": ("one", add_member("extra/x.npy"), "not_an_array", ("extra/x",)),
    "no schema": ("one", lambda p: rewrite(p, schema=None), "missing_array", ("'schema'", "no dataset file")),
    "schema is no text": ("one", lambda p: rewrite(p, schema=np.arange(3)), "bad_schema", ("text", "int64")),
    "schema is no JSON": ("one", lambda p: rewrite(p, schema=np.array("{")), "bad_schema", ("no JSON",)),
    "newer version": (
        "one",
        lambda p: rewrite(p, schema={"version": 2}),
        "newer_version",
        ("version 2", "newer program"),
    ),
    "no target": ("one", lambda p: rewrite(p, target=None), "missing_array", ("'target'", "add it")),
    "no input": ("one", lambda p: rewrite(p, input__g=None), "missing_array", ("'input/g'",)),
    "no fields": ("one", lambda p: rewrite(p, field__harmonic=None), "missing_array", ("'field/harmonic'",)),
    "no points": ("one", lambda p: rewrite(p, mesh__points=None), "missing_array", ("'mesh/points'",)),
    "an array nobody names": ("one", lambda p: rewrite(p, splits=np.zeros(N)), "unknown_array", ("'splits'", "extra/")),
    "target too short": (
        "one",
        change("target", lambda t: t[:, :-1]),
        "shape",
        ("target", "(20, 179)", "(20, 180)", "1-forms"),
    ),
    "input of fewer samples": (
        "one",
        change("input/g", lambda x: x[:-2]),
        "shape",
        ("input/g", "(18, 60)", "(20, 60)"),
    ),
    "coefficients of other length": (
        "one",
        change("coefficient/harmonic", lambda c: c[:, :1]),
        "shape",
        ("field/harmonic", "(180, 1)"),
    ),
    "split too long": ("one", change("split", lambda s: np.append(s, 0)), "shape", ("split", "(20,)")),
    "vectors of two components": (
        "vectors",
        change("target", lambda t: t[..., :2]),
        "shape",
        ("(20, 60, 3)", "vectors"),
    ),
    "trajectory of another mesh": ("steps", change("trajectory", lambda t: t[..., :-3]), "shape", ("trajectory", "60")),
    "samples fewer than stated": (
        "vectors",
        lambda p: rewrite(p, schema={"n_samples": 21}, split=None, input__g=np.zeros((21, 60), np.float32)),
        "shape",
        ("target", "21"),
    ),
    "target of whole numbers": (
        "one",
        change("target", lambda t: t.astype(int)),
        "wrong_dtype",
        ("target", "int64", "float32"),
    ),
    "target of half precision": ("one", change("target", lambda t: t.astype(np.float16)), "wrong_dtype", ("float16",)),
    "complex input": ("one", change("input/g", lambda x: x.astype(complex)), "wrong_dtype", ("complex128",)),
    "split of reals": ("one", change("split", lambda s: s.astype(float)), "wrong_dtype", ("split", "whole numbers")),
    "cells of reals": ("one", change("mesh/cells", lambda c: c.astype(float)), "wrong_dtype", ("mesh/cells", "whole")),
    "cells of five": (
        "one",
        lambda p: rewrite(p, mesh__cells=np.zeros((4, 5), int)),
        "shape",
        ("mesh/cells", "(4, 5)"),
    ),
    "a cell names a vertex that is not there": (
        "one",
        change("mesh/cells", put((3, 1), 60)),
        "index_out_of_range",
        ("vertex 60", "60 vertices"),
    ),
    "a point that is not finite": (
        "one",
        change("mesh/points", put((7, 2), np.inf)),
        "non_finite_vertex",
        ("Vertex 7",),
    ),
    "another mesh": ("one", other_mesh, "other_mesh", ("hash", "put the mesh back")),
    "moved mesh": ("one", moved_mesh, "other_mesh", ("hash",)),
    "two meshes, one hash": (
        "several",
        lambda p: rewrite(p, schema={"mesh_hashes": ["abc"]}),
        "other_mesh",
        ("1 mesh hash", "3 mesh"),
    ),
    "degree that does not exist": (
        "one",
        lambda p: rewrite(p, schema={"target": {"name": "v", "degree": 3, "reading": "density"}}),
        "degree",
        ("degree 3", "0 to 2"),
    ),
    "reading of another degree": (
        "one",
        lambda p: rewrite(p, schema={"target": {"name": "v", "degree": 1, "reading": "density"}}),
        "reading",
        ("density", "degree 2"),
    ),
    "state of another kind": (
        "one",
        lambda p: rewrite(p, schema={"state": "g"}),
        "degree",
        ("state 'g'", "like the target"),
    ),
    "mesh_of_sample out of range": (
        "several",
        change("mesh_of_sample", put(4, 3)),
        "mesh_of_sample",
        ("sample 4 is 3", "0 to 2"),
    ),
    "mesh_of_sample negative": ("several", change("mesh_of_sample", put(0, -1)), "mesh_of_sample", ("sample 0 is -1",)),
    "mesh_of_sample of reals": (
        "several",
        change("mesh_of_sample", lambda m: m + 0.5),
        "wrong_dtype",
        ("mesh_of_sample",),
    ),
    "mesh_of_sample too short": ("several", change("mesh_of_sample", lambda m: m[:5]), "shape", ("(5,)", "(20,)")),
    "no mesh_of_sample": ("several", lambda p: rewrite(p, mesh_of_sample=None), "missing_array", ("'mesh_of_sample'",)),
    "a mesh number left out": (
        "several",
        lambda p: rewrite(p, mesh1__points=None, mesh1__cells=None),
        "missing_array",
        ("0 to 1",),
    ),
    "one mesh and a list": (
        "several",
        lambda p: rewrite(
            p, mesh__points=np.array(Archive(p)["mesh0/points"]), mesh__cells=np.array(Archive(p)["mesh0/cells"])
        ),
        "several_meshes",
        ("both",),
    ),
    "meshes of two dimensions": (
        "several",
        lambda p: rewrite(
            p,
            mesh1__points=gallery("solid_torus", 80).points,
            mesh1__cells=gallery("solid_torus", 80).oriented_cells(),
            schema={"mesh_hashes": None},
        ),
        "dimension",
        ("[2, 3]",),
    ),
    "values beyond the smaller mesh": (
        "several",
        change("target", lambda t: t.__iadd__(1.0)),
        "padding",
        ("target", "zeros"),
    ),
    "NaN in the target": (
        "one",
        change("target", put((5, 17), np.nan)),
        "non_finite",
        ("target", "1 of 20", "sample 5"),
    ),
    "infinity in an input": (
        "one",
        change("input/g", put((slice(3, 6), 0), np.inf)),
        "non_finite",
        ("input/g", "3 of 20"),
    ),
    "NaN in coefficients": ("one", change("coefficient/harmonic", put((19, 1), np.nan)), "non_finite", ("sample 19",)),
    "NaN in a field": ("one", change("field/harmonic", put((2, 1), np.nan)), "non_finite", ("field/harmonic", "row 2")),
    "NaN in a trajectory": (
        "steps",
        change("trajectory", put((1, 1, 1), np.nan)),
        "non_finite",
        ("trajectory", "sample 1"),
    ),
    "trajectory of another initial state": (
        "steps",
        change("trajectory", lambda t: t[:, ::-1].copy()),
        "trajectory",
        ("does not begin with input/", "20 of 20", "sample 0"),
    ),
    "unknown code in the split": ("one", change("split", put(2, 7)), "split", ("code 7", "sample 2", "0 train")),
    "nothing to train on": ("one", change("split", lambda s: np.ones_like(s)), "split", ("no sample for training",)),
    "reference that is not harmonic": (
        "one",
        change("field/harmonic", put((slice(None), 1), 1.0)),
        "not_harmonic",
        ("column 1", "reference to false"),
    ),
    "reference that is not orthonormal": (
        "one",
        change("field/harmonic", lambda f: 2 * f),
        "not_harmonic",
        ("orthonormal",),
    ),
}
