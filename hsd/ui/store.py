"""Uploads and composed fields on disk, addressed by their content, under a size limit.

The URL carries only the key, so that a link and a reload find the same data again.  Folder: ``$HSD_STORE``, else
``store`` beside the cache of bases.  The longest unused go first; what is gone raises StoreError (expired).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hsd.errors import HsdError
from hsd.hodge.cache import cache_folder, evict_oldest, write_atomically

SUFFIX = ".item"
DEFAULT_LIMIT = 2 * 2**30
"""Bytes kept at most; ``$HSD_STORE_LIMIT`` overrides."""
KEY = re.compile(r"[0-9a-f]{32}")


class StoreError(HsdError):
    """Stored data cannot be read or written (kinds: expired, store_full)."""

    default_kind = "expired"


@dataclass(frozen=True)
class Item:
    """One stored file: its key, the name it came under (without folders) and its bytes."""

    key: str
    name: str
    data: bytes


def store_folder() -> Path:
    """The folder in use; not created here."""
    return Path(os.environ["HSD_STORE"]) if os.environ.get("HSD_STORE") else cache_folder() / "store"


def put(data: bytes, name: str) -> str:
    """Store bytes under the name they came with; the key depends on content and name only.

    Raises StoreError (store_full) where the disk does not take them.
    """
    name = Path(name.replace("\\", "/")).name[-200:] or "file"
    key = hashlib.sha256(name.encode() + b"\0" + data).hexdigest()[:32]
    path = store_folder() / f"{key}{SUFFIX}"
    if path.is_file():
        os.utime(path)
        return key
    try:
        write_atomically(path, json.dumps({"name": name}).encode() + b"\n" + data)
    except OSError as error:
        raise StoreError(
            f"{name} could not be kept on the server's disk ({error.strerror or error}); free space and try again.",
            "store_full",
        ) from error
    limit = int(os.environ.get("HSD_STORE_LIMIT", DEFAULT_LIMIT))
    evict_oldest(path.parent.glob(f"*{SUFFIX}"), limit, path)
    return key


def get(key: str) -> Item:
    """What is stored under a key.  Raises StoreError (expired) when there is nothing."""
    path = store_folder() / f"{key}{SUFFIX}"
    try:
        if not KEY.fullmatch(key):
            raise FileNotFoundError
        content = path.read_bytes()
        os.utime(path)
    except OSError as error:
        raise StoreError("This link's file is no longer kept on this server; upload it again.") from error
    head, _, data = content.partition(b"\n")
    return Item(key, json.loads(head)["name"], data)


def put_files(folder: str, files: Mapping[str, bytes]) -> str:
    """Keep files that are read by path, under their own names, in ``store_folder()/folder/KEY``; returns the key.

    The key depends on names and contents.  Raises StoreError (store_full).
    """
    named = {re.sub(r"[^\w.+-]", "_", Path(n.replace("\\", "/")).name)[-100:] or "file": d for n, d in files.items()}
    digest = hashlib.sha256()
    for name, data in sorted(named.items()):
        digest.update(name.encode() + b"\0" + data)
    key = digest.hexdigest()[:32]
    place = store_folder() / folder
    paths = [place / key / name for name in named]
    for path, data in zip(paths, named.values()):
        if path.is_file():
            os.utime(path)
            continue
        try:
            write_atomically(path, data)
        except OSError as error:
            raise StoreError(
                f"{path.name} could not be kept on the server's disk ({error.strerror or error}); free space and try "
                "again.",
                "store_full",
            ) from error
    evict_oldest(place.glob("*/*"), int(os.environ.get("HSD_STORE_LIMIT", DEFAULT_LIMIT)), paths[-1])
    return key


def files_of(folder: str, key: str) -> list[Path]:
    """What :func:`put_files` keeps under a key, by name; empty where it is gone."""
    place = store_folder() / folder / key
    return sorted(place.glob("*")) if KEY.fullmatch(key) and place.is_dir() else []


def put_json(record: object, name: str = "composition.json") -> str:
    """Store a record of plain values."""
    return put(json.dumps(record, sort_keys=True, separators=(",", ":")).encode(), name)


def get_json(key: str) -> object:
    """A record stored by :func:`put_json`.  Raises StoreError (expired), also for what is no JSON."""
    try:
        return json.loads(get(key).data)
    except ValueError as error:
        raise StoreError("This link's field cannot be read; compose it again.") from error


def put_arrays(arrays: Mapping[str, np.ndarray], name: str = "arrays.npz") -> str:
    """Store arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, **{k: np.ascontiguousarray(v) for k, v in sorted(arrays.items())})
    return put(buffer.getvalue(), name)


def get_arrays(key: str) -> dict[str, np.ndarray]:
    """Arrays stored by :func:`put_arrays`.  Raises StoreError (expired), also for what is no archive."""
    try:
        with np.load(io.BytesIO(get(key).data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise StoreError("This link's field cannot be read; upload it again.") from error
