"""What the page on harmonic modes shows, without its layout: cached pictures, layers, exports and code."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st

from hsd.cli_output import check_fits, save_modes
from hsd.errors import HsdError
from hsd.hodge.spectral_energy import by_eigenvalue
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.ui import cached
from hsd.ui.page import mesh_code
from hsd.ui.space import command_source
from hsd.ui.state import AppState
from hsd.viz.modes import (
    Block,
    FormPicture,
    blocks_of,
    generator_layers,
    mode_table,
    modes_picture,
    rotation_angles,
    rotation_picture,
)
from hsd.viz.scene import Glyphs

FORMATS = {".npz": "application/octet-stream", ".vtp": "application/xml", ".vtu": "application/xml"}


def basis_key(basis: HodgeBasis) -> tuple:
    """What determines a basis, for caches."""
    numbers = tuple(len(basis.index(part)) for part in ("harmonic", "exact", "coexact"))
    return basis.mesh.content_hash, basis.mesh.name, basis.k, basis.bc, basis.star, numbers


def glyphs_or_none(mesh: Mesh) -> Glyphs | None:
    """Where arrows stand, or None where a mesh has no arrows (no positions, graphs)."""
    try:
        return cached.glyphs_of(mesh)
    except HsdError:
        return None


def modes_picture_of(basis: HodgeBasis) -> FormPicture:
    """All modes by eigenvalue, ready to be drawn; one object a basis, so that the viewer is sent it once."""
    return _picture(basis_key(basis), basis)


@st.cache_resource(max_entries=8, show_spinner="Preparing the modes")
def _picture(key: tuple, _basis: HodgeBasis) -> FormPicture:
    return modes_picture(_basis, glyphs_or_none(_basis.mesh))


def rotation_picture_of(basis: HodgeBasis, i: int, j: int) -> FormPicture:
    """Half a turn from mode i through mode j."""
    return _rotation((*basis_key(basis), i, j), basis, i, j)


@st.cache_resource(max_entries=6, show_spinner="Preparing the rotation")
def _rotation(key: tuple, _basis: HodgeBasis, i: int, j: int) -> FormPicture:
    return rotation_picture(_basis, i, j, glyphs_or_none(_basis.mesh))


def layers_of(basis: HodgeBasis) -> tuple[tuple, str]:
    """Generator cycles as layers of the picture, and the sentence for them."""
    return _layers(basis_key(basis), basis)


@st.cache_resource(max_entries=16, show_spinner=False)
def _layers(key: tuple, _basis: HodgeBasis) -> tuple[tuple, str]:
    mesh, k = _basis.mesh, _basis.k
    return generator_layers(mesh, cached.surface_of(mesh), k, _basis.solver.homology.cycles(k), _basis.bc)


@st.cache_resource(max_entries=16, show_spinner=False)
def _table(key: tuple, _basis: HodgeBasis) -> tuple[dict, list[Block]]:
    with cached.HEAVY:
        return mode_table(_basis), blocks_of(_basis)


def table_of(basis: HodgeBasis) -> tuple[dict[str, list], list[Block]]:
    """One row a mode, with its residual; and the blocks."""
    return _table(basis_key(basis), basis)


def block_with(blocks: list[Block], number: int) -> Block | None:
    """The block that a mode belongs to."""
    return next((b for b in blocks if number in b.numbers), None)


def pair_of(block: Block | None, number: int, partner: int) -> tuple[int, int] | None:
    """The two modes of a rotation: the one shown and another of its block; None where it is alone."""
    if block is None or len(block.numbers) < 2:
        return None
    others = [i for i in block.numbers if i != number]
    return number, partner if partner in others else others[0]


def angle_step(rotation: float) -> int:
    """The column of the rotation picture nearest to an angle in degrees."""
    return int(
        np.argmin(np.abs(rotation_angles() - rotation % 180.0 if rotation != 180.0 else rotation_angles() - 180))
    )


def summary(basis: HodgeBasis, table: dict[str, list]) -> str:
    """Numbers of modes by part and the largest residual, one sentence."""
    counts = {p: len(basis.index(p)) for p in ("harmonic", "exact", "coexact")}
    betti = basis.solver.betti[basis.k]
    worst = max(table["residual"], default=0.0)
    harmonic = f"{counts['harmonic']} harmonic (b{'₀₁₂₃'[basis.k]} = {betti})"
    rest = f"{counts['exact']} exact, {counts['coexact']} coexact"
    return f"{basis.n_modes} modes: {harmonic}, {rest}. Largest residual {worst:.1e}."


def formats_for(mesh: Mesh, k: int) -> list[str]:
    """Files that can hold k-forms of this mesh."""
    out = []
    for suffix in FORMATS:
        try:
            check_fits(Path(f"x{suffix}"), mesh, k)
        except HsdError:
            continue
        if suffix != ".vtp" or mesh.dim == 2:
            out.append(suffix)
    return out


def files_of(mesh: Mesh, k: int, maker: Callable[[str], Callable[[], bytes]]) -> dict[str, tuple]:
    """Files that can hold k-forms as :func:`hsd.ui.export.download_row` takes them; ``maker(suffix)`` writes one."""
    return {s.upper().lstrip("."): (s, maker(s), FORMATS[s]) for s in formats_for(mesh, k)}


def exporter(basis: HodgeBasis, suffix: str) -> Callable[[], bytes]:
    """A function that writes the basis, in the format of ``suffix``, when the button is pressed."""

    def make() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"modes{suffix}"
            save_modes(path, basis.mesh, basis)
            return path.read_bytes()

    return make


def modes_code(state: AppState, mesh: Mesh, basis: HodgeBasis, number: int) -> str:
    """The lines that make what is shown."""
    order = by_eigenvalue(basis)
    column = int(order[number])
    lines = [
        mesh_code(state, mesh),
        f'basis = hsd.lowest_modes(mesh, {state.k}, {state.n_modes}, bc="{state.bc}", star="{state.star}")',
        f'order = basis.eigenvalues.argsort(kind="stable")  # mode {number} is column {column}',
        f"mode = basis.modes[:, order[{number}]]  # {basis.part[column]}, λ = {basis.eigenvalues[column]:.6g}",
    ]
    vector = state.k == 1 or (state.k == 2 and mesh.dim == 3)
    if vector and mesh.points is not None:
        lines.append(f'vectors = hsd.sharp(mesh, mode, {state.k}, at="vertices")  # what the arrows show')
    if basis.solver.betti[state.k]:
        lines.append(f"periods = basis.solver.harmonic({state.k}).periods  # ∮ over generator i of harmonic mode j")
    return "\n".join(lines)


def modes_command(state: AppState, mesh: Mesh, number: int) -> str:
    """The command that draws the same picture without a browser."""
    flags = f"--degree {state.k} --n {state.n_modes} --mode {number}"
    if state.bc != "absolute":
        flags += f" --bc {state.bc}"
    if state.star != "galerkin":
        flags += f" --star {state.star}"
    if state.modes.generators:
        flags += " --generators"
    return f"python -m hsd figure {command_source(state, mesh)} {flags} --out mode_{number}.png"
