"""Archives: what is written is read back, mapped, in the same bytes each time, or not written at all."""

from __future__ import annotations

import errno

import numpy as np
import pytest

from hsd.data import archive as module
from hsd.data.archive import ALIGNMENT, Archive, Blocks, write_archive
from hsd.errors import HsdError, InputError

RNG = np.random.default_rng(0)
ARRAYS = {
    "float32": RNG.normal(size=(7, 5)).astype(np.float32),
    "float64": RNG.normal(size=(3, 4, 2)),
    "codes": RNG.integers(0, 3, 11).astype(np.int8),
    "text": np.array("{“ä”: 1}"),
    "number": np.array(2.5),
    "nothing": np.zeros((0, 4), np.float32),
    "folder/inside": np.arange(6).reshape(2, 3),
}


def test_arrays_come_back_equal_and_read_only(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    archive = Archive(tmp_path / "a.npz")
    assert archive.names == list(ARRAYS)
    for name, array in ARRAYS.items():
        got = archive[name]
        assert got.dtype == array.dtype and got.shape == array.shape == archive.shape(name)
        assert np.array_equal(got, array)
        assert not got.flags.writeable


def test_numpy_reads_the_same_without_pickle(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as loaded:
        assert all(np.array_equal(loaded[name], array) for name, array in ARRAYS.items())


def test_stored_arrays_are_mapped_and_aligned(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    archive = Archive(tmp_path / "a.npz")
    for name in ("float32", "float64", "codes", "folder/inside"):
        assert isinstance(archive[name], np.memmap)
        assert archive[name].offset % ALIGNMENT == 0 and archive[name].flags.aligned


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy_are_read(tmp_path, save):
    arrays = {**ARRAYS, "fortran": np.asfortranarray(ARRAYS["float32"])}
    save(tmp_path / "a.npz", **arrays)
    archive = Archive(tmp_path / "a.npz")
    assert all(np.array_equal(archive[name], array) for name, array in arrays.items())
    assert archive.damaged() == []


def test_equal_arrays_give_equal_bytes_also_from_blocks(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    array = ARRAYS["float32"]
    blocks = Blocks(array.shape, array.dtype, (array[i : i + 2] for i in range(0, 7, 2)))
    write_archive(tmp_path / "b.npz", {**ARRAYS, "float32": blocks})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


BAD_BLOCKS = {
    "too few rows": ((7, 5), [np.zeros((6, 5))]),
    "too many rows": ((7, 5), [np.zeros((4, 5)), np.zeros((4, 5))]),
    "other columns": ((7, 5), [np.zeros((7, 4))]),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_blocks_that_do_not_fill_their_shape_leave_no_file(tmp_path, case):
    shape, blocks = BAD_BLOCKS[case]
    with pytest.raises(InputError) as caught:
        write_archive(tmp_path / "a.npz", {"x": Blocks(shape, np.float32, blocks)})
    assert caught.value.kind == "shape"
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_the_old_file(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    before = (tmp_path / "a.npz").read_bytes()
    with pytest.raises(InputError):
        write_archive(tmp_path / "a.npz", {"x": Blocks((2,), np.float32, [np.zeros(1)])})
    assert (tmp_path / "a.npz").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch, code):
    def full(handle):
        raise OSError(code, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(HsdError) as caught:
        write_archive(tmp_path / "a.npz", ARRAYS)
    assert caught.value.kind == "disk_full" and "free some space" in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_flipped_bit_is_found_in_its_array(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[Archive(tmp_path / "a.npz")["float64"].offset + 9] ^= 4
    (tmp_path / "a.npz").write_bytes(data)
    assert Archive(tmp_path / "a.npz").damaged() == ["float64"]


def test_a_name_that_is_not_there_is_refused(tmp_path):
    write_archive(tmp_path / "a.npz", ARRAYS)
    archive = Archive(tmp_path / "a.npz")
    assert "absent" not in archive and archive.optional("absent") is None
    with pytest.raises(InputError) as caught:
        archive["absent"]
    assert caught.value.kind == "missing_array"


def test_a_compressed_bomb_is_refused_before_unpacking(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LIMIT", 2**20)
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(2**18 + 1, np.float32))
    assert (tmp_path / "a.npz").stat().st_size < 2**13
    with pytest.raises(InputError) as caught:
        Archive(tmp_path / "a.npz")
    assert caught.value.kind == "header_too_large" and "uncompressed" in caught.value.message
