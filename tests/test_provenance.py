"""Files of results say what they were made from, to other programs too, and still load as meshes."""

from __future__ import annotations

import numpy as np
import pytest

import hsd
from hsd.cli_output import load_decomposition, save_decomposition, save_modes
from hsd.errors import InputError
from hsd.hodge.decomposition import decompose
from hsd.mesh.io.provenance import TITLE, read_provenance, title


@pytest.fixture(autouse=True)
def _private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))


def expected(mesh, k, **more):
    out = {"degree": str(k), "boundary_condition": "absolute", "star": "galerkin", "mesh_name": mesh.name}
    return out | {"mesh_hash": mesh.content_hash, "version": hsd.__version__} | more


@pytest.mark.parametrize("suffix", ["vtp", "vtu", "vtk"])
@pytest.mark.parametrize("k", [0, 1])
def test_modes_carry_their_provenance_and_load_as_the_same_mesh(suffix, k, tmp_path):
    mesh, path = hsd.gallery("torus", 200), tmp_path / f"x.{suffix}"
    save_modes(path, mesh, hsd.lowest_modes(mesh, k, 4))
    assert read_provenance(path) == expected(mesh, k)
    again = hsd.load_mesh(path)
    assert again.content_hash == mesh.content_hash and not again.notices
    assert not [name for name in (*again.point_fields, *again.cell_fields) if "provenance" in name]


@pytest.mark.parametrize("suffix", ["vtp", "vtu"])
def test_other_programs_read_the_provenance_as_text(suffix, tmp_path):
    import pyvista as pv

    mesh, path = hsd.gallery("torus", 200), tmp_path / f"x.{suffix}"
    omega = np.linspace(-1, 1, mesh.complex.n(1))
    save_decomposition(path, mesh, omega, decompose(mesh, omega, 1), {"field": "a ramp ∇φ <&>", "seed": 7})
    data = pv.read(path)
    for name, value in expected(mesh, 1, field="a ramp ∇φ <&>", seed="7").items():
        assert str(data.field_data[f"provenance/{name}"][0]) == value
    assert "omega" in data.cell_data and read_provenance(path)["seed"] == "7"


@pytest.mark.parametrize("name", ["torus", "ball", "annulus"])
def test_archives_are_complete(name, tmp_path):
    mesh, path = hsd.gallery(name, 200), tmp_path / "x.npz"
    omega = np.linspace(-1, 1, mesh.complex.n(1))
    parts = decompose(mesh, omega, 1)
    save_decomposition(path, mesh, omega, parts, {"seed": 3})
    again = hsd.load_mesh(path, weld=0, keep_loose=True)
    assert again.content_hash == mesh.content_hash
    with np.load(path, allow_pickle=False) as data:
        assert str(data["mesh_hash"]) == mesh.content_hash and int(data["seed"]) == 3
    field, back = load_decomposition(path)
    assert np.array_equal(field, omega) and (back.k, back.bc, back.star) == (1, "absolute", "galerkin")
    for key, value in vars(parts).items():
        other = getattr(back, key)
        assert np.array_equal(value, other) if isinstance(value, np.ndarray) else value == other, key
    save_modes(path, mesh, hsd.lowest_modes(mesh, 1, 4))
    assert hsd.load_mesh(path, weld=0, keep_loose=True).content_hash == mesh.content_hash


def test_mesh_archives_keep_provenance_as_text(tmp_path):
    mesh, path = hsd.gallery("torus", 100), tmp_path / "x.npz"
    hsd.save_mesh(mesh, path, provenance={"mesh_hash": mesh.content_hash})
    assert read_provenance(path) == {"mesh_hash": mesh.content_hash}
    assert hsd.load_mesh(path).content_hash == mesh.content_hash


def test_files_without_provenance_have_none(tmp_path):
    mesh = hsd.gallery("torus", 100)
    for suffix in ("vtp", "vtu", "vtk", "npz", "obj"):
        hsd.save_mesh(mesh, tmp_path / f"x.{suffix}")
        assert read_provenance(tmp_path / f"x.{suffix}") == {}
    with pytest.raises(InputError) as caught:
        read_provenance(tmp_path / "nothing.vtu")
    assert caught.value.kind == "no_file"


def test_titles_keep_to_the_length_that_the_format_allows():
    line = title("é" * 300, {"a": "b" * 300, "c": "d e\nf"})
    assert len(line.encode()) <= TITLE and "\n" not in line
    assert title("m", {"a": "d e\nf"}) == "m a=d_e_f"


def test_what_is_no_decomposition_is_one_sentence(tmp_path):
    path = tmp_path / "x.npz"
    for data in (b"", b"PK\x03\x04 broken"):
        path.write_bytes(data)
        with pytest.raises(InputError) as caught:
            load_decomposition(path)
        assert caught.value.kind == "not_a_decomposition"
