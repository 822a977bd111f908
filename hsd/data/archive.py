"""NumPy archives (.npz) of any size: arrays mapped from the file instead of loaded, nothing unpickled, atomic writing.

Arrays stored without compression are memory-mapped; compressed ones are unpacked at first use, within LIMIT.
"""

from __future__ import annotations

import errno
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from hsd.errors import HsdError, InputError, naming

LIMIT = 2**31
"""Bytes that the compressed arrays of one archive may hold once unpacked; stored arrays may be of any size."""

ALIGNMENT = 64
_LOCAL = struct.Struct("<4sHHHHHIIIHH")  # local file header of the zip format, APPNOTE 4.3.7
_ZIP64_EXTRA = 20  # bytes of the extra field that zipfile adds to a local header under force_zip64
_PADDING_ID = 0xD935  # extra field for alignment, ignored by readers


@dataclass(frozen=True)
class _Entry:
    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool
    header: int  # bytes of the .npy header
    start: int  # of the entry's data in the file


class Archive:
    """The arrays of an .npz file by name; opening reads headers only.

    Raises InputError (no_file, empty, not_this_format, truncated, header_too_large, pickle_inside, duplicate_array,
    not_an_array); ``archive[name]`` raises InputError (missing_array, truncated).  All arrays are read-only.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self.name = self.path.name
        if not self.path.is_file():
            if self.path.is_dir():
                raise InputError(f"{self.path} is a folder; give the path of a file.", "no_file")
            raise InputError(f"There is no file {self.path}.", "no_file")
        self.size = self.path.stat().st_size
        if self.size == 0:
            raise InputError(f"{self.name} is empty (0 bytes); write it again.", "empty")
        with self.path.open("rb") as stream:
            if stream.read(2) != b"PK":
                raise InputError(f"{self.name} is no NumPy archive (.npz): it is no zip file.", "not_this_format")
            try:
                with zipfile.ZipFile(stream) as archive:
                    self._entries = self._read_entries(archive, stream)
            except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError) as error:
                raise InputError(
                    f"{self.name} is cut or damaged ({str(error).rstrip('.')}); copy or write it again.", "truncated"
                ) from error

    def _read_entries(self, archive: zipfile.ZipFile, stream) -> dict[str, _Entry]:
        entries: dict[str, _Entry] = {}
        packed = sum(i.file_size for i in archive.infolist() if i.compress_type != zipfile.ZIP_STORED)
        if packed > LIMIT:
            raise InputError(
                f"{self.name} unpacks to {packed / 2**30:.1f} GiB, more than the {LIMIT / 2**30:.0f} GiB read from "
                "compressed archives; write it uncompressed (numpy.savez).",
                "header_too_large",
            )
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                raise InputError(
                    f"{self.name} contains {info.filename!r}, which is no NumPy array (.npy); leave it out.",
                    "not_an_array",
                )
            if name in entries:
                raise InputError(f"{self.name} contains the array {name!r} twice; write it once.", "duplicate_array")
            entries[name] = self._read_entry(archive, stream, info, name)
        if not entries:
            raise InputError(f"{self.name} is an archive without arrays; write it again.", "empty")
        return entries

    def _read_entry(self, archive: zipfile.ZipFile, stream, info: zipfile.ZipInfo, name: str) -> _Entry:
        stream.seek(info.header_offset)
        local = _LOCAL.unpack(stream.read(_LOCAL.size))
        start = info.header_offset + _LOCAL.size + local[9] + local[10]
        if start + info.compress_size > self.size:
            raise InputError(f"{self.name} is cut within {name}; copy or write it again.", "truncated")
        stored = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1  # 1: encrypted, zipfile refuses
        if stored:  # not by zipfile, which would judge the checksum of a short array on the way
            stream.seek(start)
        with nullcontext(stream) if stored else archive.open(info) as handle:
            before = handle.tell()
            try:
                version = np.lib.format.read_magic(handle)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, fortran, dtype = read(handle)
            except (ValueError, SyntaxError, TypeError, OverflowError) as error:
                raise InputError(f"{self.name}: {name} is no NumPy array; write it again.", "not_an_array") from error
            header = handle.tell() - before
        if dtype.hasobject:
            raise InputError(
                f"{self.name}: {name} holds pickled Python objects, which are never loaded; store numbers.",
                "pickle_inside",
            )
        bad = any(not isinstance(s, int) or s < 0 for s in shape)
        if bad or math.prod(shape) * dtype.itemsize > info.file_size - header:
            raise InputError(
                f"{self.name}: the header of {name} announces shape {shape}, more than its {info.file_size} bytes "
                "hold; write it again.",
                "header_too_large",
            )
        return _Entry(info, tuple(shape), dtype, fortran, header, start)

    # ---- reading -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise InputError(f"{self.name} has no array {name!r}; it is required.", "missing_array")
        return self._entries[name]

    def shape(self, name: str) -> tuple[int, ...]:
        return self._entry(name).shape

    def dtype(self, name: str) -> np.dtype:
        return self._entry(name).dtype

    def __getitem__(self, name: str) -> np.ndarray:
        entry = self._entry(name)
        count = math.prod(entry.shape)
        if entry.info.compress_type == zipfile.ZIP_STORED and count:
            order = "F" if entry.fortran else "C"
            return np.memmap(self.path, entry.dtype, "r", entry.start + entry.header, entry.shape, order)
        if name not in self._unpacked:
            self._unpacked[name] = self._unpack(entry, count)
        return self._unpacked[name]

    @cached_property
    def _unpacked(self) -> dict[str, np.ndarray]:
        return {}

    def optional(self, name: str) -> np.ndarray | None:
        """The array, or None where there is none of that name."""
        return self[name] if name in self._entries else None

    def _unpack(self, entry: _Entry, count: int) -> np.ndarray:
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(entry.info) as handle:
                handle.read(entry.header)
                data = handle.read(count * entry.dtype.itemsize)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise InputError(f"{self.name} is damaged ({error}); copy or write it again.", "truncated") from error
        if len(data) < count * entry.dtype.itemsize:
            raise InputError(f"{self.name}: {entry.info.filename} is cut; copy or write it again.", "truncated")
        return np.frombuffer(data, entry.dtype, count).reshape(entry.shape, order="F" if entry.fortran else "C")

    def damaged(self) -> list[str]:
        """Names of the arrays whose bytes do not fit their checksum (reads the whole file)."""
        out = []
        with zipfile.ZipFile(self.path) as archive:
            for name, entry in self._entries.items():
                try:
                    with archive.open(entry.info) as handle:
                        while handle.read(2**22):
                            pass
                except (zipfile.BadZipFile, zlib.error, EOFError):
                    out.append(name)
        return out


# ---- writing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blocks:
    """An array given as blocks of rows that are made when they are written."""

    shape: tuple[int, ...]
    dtype: np.dtype | type
    blocks: Iterable[np.ndarray]


def write_archive(path: Path, arrays: Mapping[str, np.ndarray | Blocks], folder: Path | None = None) -> None:
    """Write an uncompressed .npz; a reader sees the old file or the whole new one.  Equal arrays give equal bytes.

    folder : on the same file system, where the file grows before it gets its name (default: beside it)
    Raises InputError (shape) when blocks do not fill the shape, HsdError (disk_full), OSError.
    """
    growing = (folder or path.parent) / f"{path.name}.{os.getpid()}.growing"
    try:
        with naming(path), growing.open("wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for name, array in arrays.items():
                    _write_array(archive, stream, name, array)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(growing, path)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(path, error.strerror) from error
    finally:
        growing.unlink(missing_ok=True)


def disk_full(path: Path, why: str) -> HsdError:
    return HsdError(f"{path} could not be written ({why}); free some space or write to another disk.", "disk_full")


def _write_array(archive: zipfile.ZipFile, stream, name: str, array: np.ndarray | Blocks) -> None:
    if not isinstance(array, Blocks):
        array = np.asarray(array)
        array = Blocks(array.shape, array.dtype, [array])
    dtype = np.dtype(array.dtype)
    info = zipfile.ZipInfo(f"{name}.npy")  # dated 1980, so that equal arrays give equal files
    info.extra = _padding(stream.tell() + _LOCAL.size + len(info.filename.encode()) + _ZIP64_EXTRA)
    rows = 0
    with archive.open(info, "w", force_zip64=True) as handle:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(handle, header)
        for block in array.blocks:
            block = np.ascontiguousarray(block, dtype)
            if block.shape[1:] != array.shape[1:]:
                raise InputError(f"Rows of {name} have shape {block.shape[1:]}; {array.shape[1:]} is needed.", "shape")
            rows += len(block) if block.ndim and array.shape else 1
            handle.write(block.reshape(-1).view(np.uint8).data)
    if rows != (array.shape[0] if array.shape else 1):
        raise InputError(f"{name} got {rows} rows; its shape {array.shape} needs {array.shape[0]}.", "shape")


def _padding(start: int) -> bytes:
    """An extra field after which data that would begin at ``start`` begin at a multiple of ALIGNMENT."""
    lack = -start % ALIGNMENT
    if lack < 4:
        lack += ALIGNMENT
    return struct.pack("<HH", _PADDING_ID, lack - 4) + bytes(lack - 4)
