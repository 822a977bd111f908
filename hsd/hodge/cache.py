"""A disk cache of arrays keyed by content: safe for two processes, and against damaged or half-written entries.

An entry is one file ``<key>.hsd``: a line with the format, the sha256 and the length of the payload, then an
uncompressed ``.npz``.  Files are written beside and renamed; a lock per key makes a second process wait, not compute.
Folder: ``$HSD_CACHE``, else ``$XDG_CACHE_HOME/hsd``, else ``~/.cache/hsd``.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from hsd.errors import naming

FORMAT = "hsd-cache-1"
SUFFIX = ".hsd"
LOCK_SECONDS = 600.0
WAIT_SECONDS = 0.2
DEFAULT_LIMIT = 4 * 2**30
"""Bytes kept at most (``$HSD_CACHE_LIMIT`` overrides); the entries longest unused go first."""


def cache_folder() -> Path:
    """The folder in use; not created here."""
    if os.environ.get("HSD_CACHE"):
        return Path(os.environ["HSD_CACHE"])
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hsd"


def cache_key(*parts: object) -> str:
    """sha256 (hex) of the parts' representations and the cache format."""
    return hashlib.sha256(repr((FORMAT, *parts)).encode()).hexdigest()


def _entries() -> list[Path]:
    folder = cache_folder()
    return sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []


def cache_size() -> tuple[int, int]:
    """(number of entries, bytes)."""
    sizes = []
    for path in _entries():
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return len(sizes), sum(sizes)


def clear_cache() -> tuple[int, int]:
    """Remove all entries and what broken runs have left; returns (number, bytes) removed."""
    count, total = 0, 0
    folder = cache_folder()
    for path in _entries():
        size = path.stat().st_size
        path.unlink(missing_ok=True)
        count, total = count + 1, total + size
    for pattern in ("*.tmp", "*.lock"):
        for path in folder.glob(pattern) if folder.is_dir() else ():
            path.unlink(missing_ok=True)
    return count, total


def read_entry(key: str) -> dict[str, np.ndarray] | None:
    """Arrays of an entry, or None when it is absent or damaged (damaged ones are removed)."""
    path = cache_folder() / f"{key}{SUFFIX}"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, _, payload = data.partition(b"\n")
    words = head.decode("ascii", "replace").split()
    whole = (
        len(words) == 3
        and words[0] == FORMAT
        and words[1] == hashlib.sha256(payload).hexdigest()
        and words[2] == str(len(payload))
    )
    if whole:
        try:
            with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            os.utime(path)
            return arrays
        except (ValueError, zipfile.BadZipFile, OSError):
            whole = False
    path.unlink(missing_ok=True)
    return None


def write_entry(key: str, arrays: dict[str, np.ndarray]) -> bool:
    """Write an entry atomically; False when the disk does not allow it (the cache is an aid, not a need)."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    payload = buffer.getvalue()
    head = f"{FORMAT} {hashlib.sha256(payload).hexdigest()} {len(payload)}\n".encode()
    path = cache_folder() / f"{key}{SUFFIX}"
    try:
        write_atomically(path, head + payload)
        evict_oldest(_entries(), int(os.environ.get("HSD_CACHE_LIMIT", DEFAULT_LIMIT)), path)
    except OSError:
        return False
    return True


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it there, so that no reader sees a part.  Raises OSError, naming it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
            os.chmod(temporary, 0o666 & ~_umask())  # a temporary file is its owner's alone; others may read this
            os.replace(temporary, path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def lock_of(path: Path) -> FileLock | None:
    """A lock, taken; None where another process (or thread) has it.  The system frees it when its process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def made_once(path: Path, make: Callable[[], object], waiting: Callable[[], None]) -> None:
    """``make()`` a file that is not there, one process at a time; the others call ``waiting`` until it is there (what
    that raises ends the wait), and make it themselves where the first one fails or dies."""
    while not path.is_file():
        lock = lock_of(path.with_name(path.name + ".making"))
        if lock is None:
            waiting()
            time.sleep(WAIT_SECONDS)
            continue
        try:
            if not path.is_file():
                make()
        finally:
            lock.release()


def _umask() -> int:
    """The process's mask of file modes, which the system tells without changing it; 0o077 where it does not."""
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Umask:"))
    except (OSError, StopIteration):
        return 0o077
    return int(line.split()[1], 8)


def evict_oldest(paths: Iterable[Path], limit: int, newest: Path) -> None:
    """Remove the files longest unused until the rest has at most ``limit`` bytes; ``newest`` stays."""
    known = []
    for path in paths:
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        known.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in known)
    for _, size, path in sorted(known, key=lambda entry: entry[0]):
        if total <= limit:
            return
        if path != newest:
            path.unlink(missing_ok=True)
            total -= size


def cached(
    key: str,
    good_enough: Callable[[dict[str, np.ndarray]], bool],
    compute: Callable[[], dict[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    """The entry under ``key`` if it satisfies ``good_enough``, else ``compute()``, stored.

    While one process computes a key, another one waits for it and then reads the result.
    """
    entry = read_entry(key)
    if entry is not None and good_enough(entry):
        return entry
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{key}.lock")
        lock.acquire(timeout=LOCK_SECONDS)
    except (OSError, Timeout):  # read-only folder, or the other process hangs: compute without it
        return compute()
    try:
        entry = read_entry(key)
        if entry is None or not good_enough(entry):
            entry = compute()
            write_entry(key, entry)
    finally:
        lock.release()
    return entry
