"""Library calls whose results all pages and visitors share: bounded, keyed by content, arrays read-only.

    mesh = mesh_of(get_state().mesh)
    solver = solver_of(mesh, star, bc)          # factor once; shared by basis, decomposer, homology
    basis = basis_of(mesh, k, bc, star, n)      # the n lowest modes, sorted as HodgeBasis sorts them

One long computation runs at a time; a second visitor waits.  Every function raises HsdError with one sentence.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import streamlit as st

from hsd.errors import MetricError, Notice
from hsd.hodge.decomposition import Decomposer
from hsd.hodge.homology import Homology
from hsd.hodge.report import report
from hsd.hodge.solver import HodgeSolver
from hsd.hodge.spectrum import HodgeBasis, lowest_modes
from hsd.mesh.io import load_mesh_bytes
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery
from hsd.mesh.repair import repair
from hsd.mesh.validate import validate
from hsd.ui import store
from hsd.ui.state import MeshState
from hsd.viz import build
from hsd.viz.embed import drawing_points
from hsd.viz.scene import Columns, Glyphs, Surface

HEAVY = threading.RLock()
"""Held by whatever factorises or solves for more than a moment."""


@dataclass(frozen=True)
class Loaded:
    """A mesh as chosen, what repair did, and the mesh before repair (the same object without repair)."""

    mesh: Mesh
    before: Mesh
    record: tuple[Notice, ...] = ()


def mesh_of(choice: MeshState) -> Mesh:
    """The mesh in force.  Raises StoreError (expired), InputError, UnknownNameError, TopologyError, MetricError."""
    return loaded(choice).mesh


def loaded(choice: MeshState) -> Loaded:
    """The mesh in force with its repair record."""
    source = file_mesh(choice) if choice.upload else gallery_mesh(choice.name, choice.n)
    if not choice.repair and choice.scale == 1.0:
        return Loaded(source, source)
    return _prepared(_mesh_key(source), choice.repair, choice.max_hole, choice.scale, source)


@st.cache_resource(max_entries=16, show_spinner="Making the mesh")
def gallery_mesh(name: str, n_vertices: int) -> Mesh:
    """A shape of the gallery."""
    return gallery(name, n_vertices)


def file_mesh(choice: MeshState) -> Mesh:
    """An uploaded mesh, read again from the store when it is not in memory."""
    radius = choice.radius if choice.radius > 0 else None
    return _file_mesh(choice.upload, choice.fill_triangles, radius)


@st.cache_resource(max_entries=12, show_spinner="Reading the file")
def _file_mesh(key: str, fill_triangles: bool, radius: float | None) -> Mesh:
    file = store.get(key)
    with HEAVY:
        return load_mesh_bytes(file.data, file.name, fill_triangles=fill_triangles, radius=radius)


@st.cache_resource(max_entries=12, show_spinner="Repairing the mesh")
def _prepared(key: str, steps: tuple[str, ...], max_hole: int, scale: float, _mesh: Mesh) -> Loaded:
    before = scaled(_mesh, scale)
    after, record = repair(before, steps, max_hole) if steps else (before, ())
    return Loaded(after, before, record)


def scaled(mesh: Mesh, factor: float) -> Mesh:
    """The mesh with all lengths multiplied by a factor."""
    from dataclasses import replace

    if factor == 1.0 or not mesh.has_metric:
        return mesh
    points = None if mesh.points is None else mesh.points * factor
    lengths2 = None if mesh.lengths2 is None else mesh.lengths2 * factor**2
    return replace(mesh, points=points, lengths2=lengths2)


def _mesh_key(mesh: Mesh) -> tuple:
    """Content, name and notices: what a report or a picture of a mesh depends on."""
    return mesh.content_hash, mesh.name, tuple((n.kind, n.message) for n in mesh.notices)


# ---- facts -------------------------------------------------------------------------------------------------------


def report_of(mesh: Mesh) -> dict:
    """Facts, Betti numbers and warnings (``hsd.report``)."""
    return _report(_mesh_key(mesh), mesh)


@st.cache_resource(max_entries=32, show_spinner="Computing the report")
def _report(key: tuple, _mesh: Mesh) -> dict:
    with HEAVY:
        return report(_mesh)


def notices_of(mesh: Mesh) -> tuple[Notice, ...]:
    """What loading and validation found, with the ids of the elements concerned."""
    return _notices(_mesh_key(mesh), mesh)


@st.cache_resource(max_entries=32, show_spinner=False)
def _notices(key: tuple, _mesh: Mesh) -> tuple[Notice, ...]:
    seen = {}
    for notice in (*_mesh.notices, *validate(_mesh)):
        seen.setdefault((notice.kind, notice.message), notice)
    return tuple(seen.values())


def homology_of(mesh: Mesh, bc: str) -> Homology:
    """Exact homology: Betti numbers, generator cycles, cocycles."""
    return _homology(mesh.content_hash, bc, mesh)


@st.cache_resource(max_entries=32, show_spinner="Counting holes")
def _homology(key: str, bc: str, _mesh: Mesh) -> Homology:
    return Homology(_mesh.complex, bc)


# ---- numerics ----------------------------------------------------------------------------------------------------


def solver_of(mesh: Mesh, star: str, bc: str) -> HodgeSolver:
    """Operators and factorisations."""
    return _solver(mesh.content_hash, star, bc, mesh)


@st.cache_resource(max_entries=8, show_spinner="Setting up the operators")
def _solver(key: str, star: str, bc: str, _mesh: Mesh) -> HodgeSolver:
    with HEAVY:
        return HodgeSolver(_mesh, star, bc)


def basis_of(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> HodgeBasis:
    """The n_modes lowest k-modes whatever their part (all harmonic ones included)."""
    return _basis(mesh.content_hash, k, bc, star, n_modes, mesh)


@st.cache_resource(max_entries=12, show_spinner="Computing the modes")
def _basis(key: str, k: int, bc: str, star: str, n_modes: int, _mesh: Mesh) -> HodgeBasis:
    with HEAVY:
        return lowest_modes(_mesh, k, n_modes, bc, star, solver=solver_of(_mesh, star, bc))


def parts_basis_of(mesh: Mesh, k: int, bc: str, star: str, n_exact: int, n_coexact: int) -> HodgeBasis:
    """All harmonic modes and stated numbers of exact and coexact ones."""
    return _parts_basis(mesh.content_hash, k, bc, star, n_exact, n_coexact, mesh)


@st.cache_resource(max_entries=12, show_spinner="Computing the modes")
def _parts_basis(key: str, k: int, bc: str, star: str, n_exact: int, n_coexact: int, _mesh: Mesh) -> HodgeBasis:
    with HEAVY:
        return HodgeBasis(_mesh, k, n_exact, n_coexact, bc, star, solver=solver_of(_mesh, star, bc))


def decomposer_of(mesh: Mesh, k: int, bc: str, star: str) -> Decomposer:
    """Decomposes k-forms; the solver's factorisations are made once."""
    return Decomposer(mesh, k, bc, star, solver_of(mesh, star, bc))


# ---- pictures ----------------------------------------------------------------------------------------------------


def surface_of(mesh: Mesh) -> Surface:
    """What is drawn of the mesh.  Raises MetricError (no_positions) where it has no shape in space."""
    return _surface(mesh.content_hash, mesh.name, mesh)


@st.cache_resource(max_entries=16, show_spinner="Preparing the picture")
def _surface(key: str, name: str, _mesh: Mesh) -> Surface:
    return build.surface_of(_mesh, drawing_points(_mesh))


def glyphs_of(mesh: Mesh) -> Glyphs:
    """Where arrows stand.  Raises MetricError (no_positions) for meshes that have edge lengths alone."""
    if mesh.points is None:
        raise MetricError(
            f"{mesh.name} has edge lengths alone, so its vectors have no directions in space.", "no_positions"
        )
    return _glyphs(mesh.content_hash, mesh)


@st.cache_resource(max_entries=16, show_spinner=False)
def _glyphs(key: str, _mesh: Mesh) -> Glyphs:
    return build.glyphs_of(_mesh, surface_of(_mesh))


def mode_columns_of(basis: HodgeBasis) -> Columns:
    """All modes of a basis for colouring, one object per basis (the viewer sends it once)."""
    return _columns(*_basis_key(basis), basis)


@st.cache_resource(max_entries=8, show_spinner="Preparing the modes")
def _columns(mesh: str, k: int, bc: str, star: str, numbers: tuple, _basis: HodgeBasis) -> Columns:
    return build.mode_columns(_basis)


def mode_arrows_of(basis: HodgeBasis) -> Columns:
    """All modes of a basis of vectors at the points of :func:`glyphs_of`."""
    return _arrows(*_basis_key(basis), basis)


@st.cache_resource(max_entries=8, show_spinner="Preparing the arrows")
def _arrows(mesh: str, k: int, bc: str, star: str, numbers: tuple, _basis: HodgeBasis) -> Columns:
    return build.mode_arrows(_basis, glyphs_of(_basis.mesh))


def _basis_key(basis: HodgeBasis) -> tuple:
    numbers = tuple(int((basis.part == part).sum()) for part in np.unique(basis.part))
    return basis.mesh.content_hash, basis.k, basis.bc, basis.star, (*numbers, *np.unique(basis.part).tolist())
