"""Taking an uploaded mesh: size limit, content key, and the previous mesh kept while the new one is bad."""

from __future__ import annotations

import os

import streamlit as st

from hsd.errors import HsdError
from hsd.mesh.io import READERS
from hsd.ui import cached, store
from hsd.ui.state import MeshState, get_state, update

_SEEN, _ERROR = "upload:seen", "upload:error"


def limit_mb() -> int:
    """Largest file taken, MB (``$HSD_MAX_UPLOAD_MB``, else the server's own limit)."""
    server = int(st.get_option("server.maxUploadSize"))
    return min(server, int(os.environ.get("HSD_MAX_UPLOAD_MB", server)))


def upload_box() -> None:
    """The file field; a good file becomes the mesh in force, a bad one leaves a sentence; both run the script again."""
    limit = limit_mb()
    file = st.file_uploader(
        f"Your own mesh, point cloud or graph, up to {limit} MB",
        key="upload:file",
        max_upload_size=limit,
        help="Formats: " + ", ".join(f".{suffix}" for suffix in READERS),
    )
    if file is not None and st.session_state.get(_SEEN) != file.file_id:
        st.session_state[_SEEN] = file.file_id
        st.session_state[_ERROR] = take(file.name, file.getvalue())
        st.rerun()


def upload_error() -> None:
    """The sentence on the last upload, if it was bad."""
    if st.session_state.get(_ERROR):
        st.error(st.session_state[_ERROR])
        st.caption("The previous mesh stays on screen.")


def take(name: str, data: bytes) -> str | None:
    """Make a file the mesh in force; None, or the sentence that says why not."""
    limit = limit_mb()
    if len(data) > limit * 1_000_000:
        return (
            f"{name} has {len(data) / 1e6:.1f} MB; files up to {limit} MB are taken. Simplify the mesh, or raise the "
            "limit with HSD_MAX_UPLOAD_MB."
        )
    try:
        choice = MeshState(upload=store.put(data, name), n=get_state().mesh.n)
        mesh = cached.mesh_of(choice)
        cached.report_of(mesh)
    except HsdError as error:
        return error.message
    except MemoryError:
        return f"There is not enough memory to read {name}; simplify the mesh."
    update(mesh=choice)
    return None


def forget_error() -> None:
    """Drop the sentence on a bad upload, e.g. when another mesh is chosen."""
    st.session_state.pop(_ERROR, None)
