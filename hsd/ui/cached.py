"""Library calls whose results the pages share; every cache is bounded and keyed by what determines the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

import hsd
from hsd.cli_text import report_rows


@dataclass(frozen=True)
class ModePicture:
    """One mode as colours: a value a vertex or a triangle, how to read it, and what the mode is."""

    values: np.ndarray
    signed: bool
    label: str
    part: str
    eigenvalue: float


@st.cache_resource(max_entries=8, show_spinner="Making the mesh")
def gallery_mesh(name: str, n_vertices: int):
    """The mesh of the gallery; shared by all visitors, its arrays are read-only."""
    return hsd.gallery(name, n_vertices)


@st.cache_data(max_entries=32, show_spinner="Computing the report")
def gallery_report(name: str, n_vertices: int) -> dict:
    return hsd.report(gallery_mesh(name, n_vertices))


def report_table(name: str, n_vertices: int) -> dict[str, list[str]]:
    """The report as two columns of text."""
    rows = report_rows(gallery_report(name, n_vertices))
    return {"Fact": [label for label, _ in rows], "Value": [value for _, value in rows]}


@st.cache_resource(max_entries=8, show_spinner="Computing the modes")
def gallery_basis(name: str, n_vertices: int, k: int, n_modes: int):
    """The n_modes lowest modes of Δ_k, absolute boundary conditions, Galerkin star."""
    return hsd.lowest_modes(gallery_mesh(name, n_vertices), k, n_modes, bc="absolute", star="galerkin")


def gallery_mode(name: str, n_vertices: int, k: int, n_modes: int, number: int) -> ModePicture:
    """Mode ``number`` by eigenvalue, for drawing: its values for k = 0, the length of its vectors for k = 1."""
    basis = gallery_basis(name, n_vertices, k, n_modes)
    column = np.argsort(basis.eigenvalues, kind="stable")[number]
    part, value, mode = str(basis.part[column]), float(basis.eigenvalues[column]), basis.modes[:, column]
    if k == 0:
        return ModePicture(mode, True, "value of the mode", part, value)
    from hsd.dec.whitney import sharp

    vectors = sharp(basis.mesh, mode, k, at="vertices")  # (n_vertices, 3)
    return ModePicture(np.linalg.norm(vectors, axis=1), False, "length of the mode's vector", part, value)
