"""Results as files with their provenance."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from hsd.mesh.mesh import Mesh
from hsd.ui.state import AppState

MIME = {".npz": "application/octet-stream", ".vtp": "application/xml", ".vtu": "application/xml"}


def table_csv(columns: Mapping[str, Sequence], provenance: Mapping[str, str]) -> bytes:
    """A table as CSV (UTF-8), provenance as comment lines at its head."""
    out = io.StringIO()
    for name, value in provenance.items():
        out.write(f"# {name}: {value}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def figure_html(figure: go.Figure, provenance: Mapping[str, str]) -> bytes:
    """A plot as one page that needs nothing from outside, provenance below it."""
    text = " · ".join(f"{name} {value}" for name, value in provenance.items())
    page = figure.to_html(include_plotlyjs=True, full_html=True)
    return page.replace("</body>", f"<p style='font: 12px sans-serif; color: #666'>{text}</p></body>").encode()


def download_row(files: Mapping[str, tuple[str, Callable[[], bytes], str]], stem: str, key: str) -> None:
    """Buttons side by side: label → (suffix, function that makes the file when its button is pressed, MIME type)."""
    with st.container(horizontal=True):
        for label, (suffix, make, mime) in files.items():
            st.download_button(label, make, stem + suffix, mime, key=f"{key}/export{suffix}", on_click="ignore")


def mesh_files(dim: int, write: Callable[[str, Path], None]) -> dict[str, tuple[str, Callable[[], bytes], str]]:
    """NPZ and VTU (surfaces: VTP too) as :func:`download_row` takes them; write(suffix, path) makes one file."""

    def maker(suffix: str) -> Callable[[], bytes]:
        def make() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"file{suffix}"
                write(suffix, path)
                return path.read_bytes()

        return make

    suffixes = [s for s in MIME if dim == 2 or s != ".vtp"]
    return {s.upper().lstrip("."): (s, maker(s), MIME[s]) for s in suffixes}


def file_stem(mesh_name: str, content_hash: str, k: int, *conditions: str) -> str:
    """Name of a result's files: mesh, degree, conditions and the beginning of the mesh's hash."""
    return "_".join([mesh_name, f"k{k}", *conditions, content_hash[:8]])


def parts_stem(mesh: Mesh, state: AppState) -> str:
    """Name of the files of a decomposition; the composed field among them is named in the lines of code too."""
    return "parts_" + file_stem(mesh.name, mesh.content_hash, state.k, state.bc, state.star)
