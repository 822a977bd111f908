"""Dataset files that visitors bring: kept on disk by content, checked, and found again through the link.

``TasksState.file`` is the key of an uploaded file, or the path of a file on the server's own disk.  Paths are taken
unless ``$HSD_LOCAL_FILES`` is 0, which a server open to strangers should set.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from hsd.data.check import check_dataset
from hsd.data.dataset import Dataset
from hsd.errors import HsdError, InputError, Notice
from hsd.ui.state import update
from hsd.ui.store import KEY, StoreError, files_of, put_files
from hsd.ui.upload import limit_mb

FOLDER = "datasets"
_SEEN, _FOUND = "tasks:seen", "tasks:found"


@dataclass(frozen=True)
class Found:
    """What the check of a file said: its name and one sentence for each defect."""

    name: str
    sentences: tuple[str, ...]


def paths_allowed() -> bool:
    """Whether files on the server's disk may be named."""
    return os.environ.get("HSD_LOCAL_FILES", "1") != "0"


def put(data: bytes, name: str) -> str:
    """Keep an uploaded file under its own name; the key depends on content and name.  Raises StoreError."""
    return put_files(FOLDER, {name: data})


def path_of(reference: str) -> Path:
    """The file of a key or a path.  Raises StoreError (expired), InputError (no_file, no_paths)."""
    if KEY.fullmatch(reference):
        kept = files_of(FOLDER, reference)
        if not kept:
            raise StoreError("This link's dataset file is no longer kept on this server; upload it again.")
        return kept[0]
    if not paths_allowed():
        raise InputError("This server takes uploaded dataset files only, no paths.", "no_paths")
    path = Path(reference).expanduser()
    if not path.is_file():
        what = f"{path} is a folder" if path.is_dir() else f"There is no file {path}"
        raise InputError(f"{what}; give the path of a dataset file (.npz).", "no_file")
    return path


def reference_of(path: str | Path) -> str:
    """The key of a file that was uploaded, else its path: what :func:`path_of` finds it by."""
    key = Path(path).parent.name
    return key if KEY.fullmatch(key) else str(path)


def stamp(path: Path) -> tuple[str, int, int]:
    """What tells one version of a file from another."""
    stat = path.stat()
    return str(path), stat.st_mtime_ns, stat.st_size


def findings_of(path: Path) -> tuple[Notice, ...]:
    """All defects of a file (hsd.data.check)."""
    return _findings(stamp(path))


@st.cache_resource(max_entries=32, show_spinner="Checking the dataset file")
def _findings(version: tuple[str, int, int]) -> tuple[Notice, ...]:
    return tuple(check_dataset(version[0]))


def dataset_of(path: Path) -> Dataset:
    """The file, its arrays mapped when they are asked for.  Raises InputError with its first defect."""
    return _dataset(stamp(path))


@st.cache_resource(max_entries=8, show_spinner="Opening the dataset file")
def _dataset(version: tuple[str, int, int]) -> Dataset:
    return Dataset(version[0])


# ---- widgets -----------------------------------------------------------------------------------------------------


def file_box() -> None:
    """File field and path field; a good file becomes the one in force, a bad one leaves its sentences."""
    limit = limit_mb()
    file = st.file_uploader(f"Dataset file (.npz), up to {limit} MB", key="tasks:upload", max_upload_size=limit)
    if file is not None and st.session_state.get(_SEEN) != file.file_id:
        st.session_state[_SEEN] = file.file_id
        take_upload(file.name, file.getvalue())
        st.rerun()
    if file is None and st.session_state.pop(_SEEN, None) is not None and refused():
        del st.session_state[_FOUND]  # it was taken out of the field
        st.rerun()
    if paths_allowed():
        st.text_input("or its path on the server", key="tasks:path", on_change=_take_path, placeholder="runs/data.npz")


def take_upload(name: str, data: bytes) -> None:
    """Keep and check an uploaded file; it is put in force when nothing is wrong with it."""
    try:
        _take(put(data, name), name)
    except HsdError as error:
        st.session_state[_FOUND] = Found(name, (error.message,))


def _take_path() -> None:
    text = st.session_state["tasks:path"].strip()
    if not text and refused():
        del st.session_state[_FOUND]
    elif text:
        try:
            _take(text, Path(text).name)
        except HsdError as error:
            st.session_state[_FOUND] = Found(Path(text).name, (error.message,))


def _take(reference: str, name: str) -> None:
    found = findings_of(path_of(reference))
    st.session_state[_FOUND] = Found(name, tuple(f.message for f in found))
    if not found:
        update(**{"tasks.file": reference, "tasks.sample": 0, "tasks.step": -1})


def refused() -> str:
    """Name of the last file given, where it has defects and is not the one in force; else ""."""
    found = st.session_state.get(_FOUND)
    return found.name if found is not None and found.sentences else ""


def show_found(shown: bool) -> None:
    """The sentences on the last file; ``shown``: another file is in force and kept."""
    found = st.session_state.get(_FOUND)
    if found is None:
        return
    if not found.sentences:
        st.success(f"`data check` found no defects in {found.name}.")
        return
    for sentence in found.sentences[:10]:
        st.error(sentence)
    more = len(found.sentences) - 10
    rest = f"{more} more defects; `python -m hsd data check FILE` lists all. " if more > 0 else ""
    st.caption(rest + ("The file before it is kept." if shown else "Mend the file and give it again."))
