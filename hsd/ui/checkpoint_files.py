"""Checkpoints that visitors bring: weights and manifest, checked before they are offered, kept by content."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from hsd.errors import HsdError, InputError
from hsd.ui.state import get_state, update
from hsd.ui.store import StoreError, files_of, put_files, store_folder
from hsd.ui.upload import limit_mb

FOLDER = "checkpoints"
WEIGHTS, MANIFEST = ".safetensors", ".json"
_SEEN, _ERROR, _TAKEN = "checkpoint:seen", "checkpoint:error", "checkpoint:taken"


def kept() -> list[Path]:
    """The weights of all checkpoints that are kept, the newest first."""
    found = []
    for path in (store_folder() / FOLDER).glob(f"*/*{WEIGHTS}"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:
            continue  # just evicted
    return [path for _, path in sorted(found, reverse=True)]


def path_of(key: str) -> Path:
    """The weights under a key.  Raises StoreError (expired)."""
    found = files_of(FOLDER, key)
    weights = [path for path in found if path.suffix == WEIGHTS and path.with_suffix(MANIFEST) in found]
    if not weights:
        raise StoreError("This link's checkpoint is no longer kept on this server; upload both of its files again.")
    return weights[0]


def put(files: Mapping[str, bytes]) -> tuple[str, str | None]:
    """Keep a checkpoint of two files, name → bytes; its key, and the task that it was trained on.

    Raises InputError (not_a_pair, and those of hsd.training.checkpoint.read_checkpoint), StoreError (store_full).
    """
    from hsd.training.checkpoint import read_checkpoint

    by_suffix = {suffix: [name for name in files if name.endswith(suffix)] for suffix in (WEIGHTS, MANIFEST)}
    if any(len(names) != 1 for names in by_suffix.values()):
        raise InputError(
            f"A checkpoint is two files, its weights ({WEIGHTS}) and its manifest ({MANIFEST}); give both at once, and "
            f"no others. Got {', '.join(files)}.",
            "not_a_pair",
        )
    (weights,), (manifest,) = by_suffix.values()
    stem = Path(weights.replace("\\", "/")).stem[:60]
    pair = {stem + WEIGHTS: files[weights], stem + MANIFEST: files[manifest]}
    with TemporaryDirectory() as folder:
        for name, data in pair.items():
            (Path(folder) / name).write_bytes(data)
        task = read_checkpoint(Path(folder) / (stem + WEIGHTS)).manifest["task"]
    return put_files(FOLDER, pair), task


def box() -> None:
    """The field for both files; a good checkpoint takes part at once, a bad one leaves a word (:func:`show_error`)."""
    limit = limit_mb()
    times = st.session_state.setdefault(_TAKEN, 0)  # a field that was read is empty for the next two files
    files = st.file_uploader(
        f"Checkpoint of your own: {WEIGHTS} and {MANIFEST}, up to {limit} MB", key=f"checkpoint:files{times}",
        accept_multiple_files=True, max_upload_size=limit,
        help="Written by `python -m hsd train` and on the page Training; both files at once.",
    )  # fmt: skip
    ids = tuple(file.file_id for file in files or ())
    if ids and st.session_state.get(_SEEN) != ids:
        st.session_state[_SEEN] = ids
        st.session_state[_ERROR] = take({file.name: file.getvalue() for file in files})
        st.session_state[_TAKEN] += st.session_state[_ERROR] is None
        st.rerun()
    if not ids:
        st.session_state.pop(_ERROR, None)


def show_error() -> None:
    """The sentence on the checkpoint that was brought last, where it is in view whatever of the sidebar is."""
    if message := st.session_state.get(_ERROR):
        st.error(message)


def take(files: Mapping[str, bytes]) -> str | None:
    """Let a checkpoint take part, on its own task; None, or the sentence that says why not."""
    from hsd.data.file_task import OWN
    from hsd.data.tasks import TASKS
    from hsd.data.tasks import task as make_task

    try:
        key, task = put(files)
    except HsdError as error:
        return error.message
    state = get_state()
    changes: dict[str, object] = {"own_runs": (*(k for k in state.own_runs if k != key), key)}
    if task is None and state.comparison.task != OWN:
        changes |= {"comparison.task": OWN, "comparison.show": "maps"}
        st.toast("This checkpoint was trained on a dataset file of one's own; such a file is asked for now.")
    if task in TASKS and task != state.comparison.task:
        changes |= {"comparison.task": task, "comparison.composed": "", "comparison.show": "maps"}
        st.toast(f"This checkpoint is of another task, which is shown now: {make_task(task).title}.")
    update(**changes)
    return None
