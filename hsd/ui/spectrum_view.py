"""What the page on spectral energy shows, without its layout: fields to choose from, results, tables and code."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from hsd.dec.preset_fields import PRESETS, preset_field, preset_names
from hsd.dec.read_field import read_field
from hsd.hodge.decomposition import PARTS
from hsd.hodge.spectral_energy import SpectralEnergy, WeylLaw, spectral_energy, weyl_law
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, store
from hsd.ui.export import parts_stem
from hsd.ui.modes_view import basis_key, glyphs_or_none
from hsd.ui.page import mesh_code
from hsd.ui.state import AppState
from hsd.viz.energy_scene import energy_picture
from hsd.viz.modes import FormPicture

FILE = "file:"


@dataclass(frozen=True, eq=False)
class Field:
    """A field to look at: the cochain (N_k,), what it is in words, the lines that make it, and a key for caches."""

    omega: np.ndarray
    sentence: str
    code: str
    key: tuple


def sources(state: AppState, mesh: Mesh) -> dict[str, str]:
    """What can be chosen: presets, the composed or uploaded field of the state, fields of the mesh file; id → words."""
    out = {name: PRESETS[name] for name in preset_names(mesh, min(state.k, mesh.dim))}
    if "coordinate" in out and state.k != 1:
        out["coordinate"] = "a coordinate" if state.k == 0 else "along a coordinate"
    out["composed"] = "field of Hodge Decomposition"
    for name in (*mesh.point_fields, *mesh.cell_fields):
        out[FILE + name] = f"{name} (from the mesh file)"
    return out


def axes(mesh: Mesh) -> tuple[str, ...]:
    """Coordinates that a mesh has."""
    return ("x", "y", "z")[: 3 if mesh.points is None else min(3, mesh.points.shape[1])]


def field_of(state: AppState, mesh: Mesh) -> Field:
    """The field in force.  Raises HsdError where it cannot be had on this mesh and degree."""
    source = state.spectrum.source
    key = (mesh.content_hash, state.k, state.star, state.bc, source, state.spectrum.axis, state.seed)
    if source == "composed":
        key += (state.field, state.decomposition)
    omega, sentence, code = _field(key, state, mesh)
    return Field(omega, sentence, code, key)


@st.cache_resource(max_entries=32, show_spinner="Making the field")
def _field(key: tuple, _state: AppState, _mesh: Mesh) -> tuple[np.ndarray, str, str]:
    state, mesh, source, k = _state, _mesh, _state.spectrum.source, _state.k
    if source == "composed":
        omega, sentence, code = composed(state, mesh)
    elif source.startswith(FILE):
        name = source.removeprefix(FILE)
        omega, sentence = read_field(mesh, name, k)
        code = f"omega, how = hsd.read_field(mesh, {name!r}, {k})"
    else:
        axis = state.spectrum.axis
        omega = preset_field(mesh, k, source, state.seed, axis)
        more = f', axis="{axis}"' if source == "coordinate" else f", seed={state.seed}"
        words = sources(state, mesh).get(source, source)
        sentence = f"Field: {words}, {axis if source == 'coordinate' else f'seed {state.seed}'}."
        code = f'from hsd.dec.preset_fields import preset_field\nomega = preset_field(mesh, {k}, "{source}"{more})'
    omega.flags.writeable = False
    return omega, sentence, code


def composed(state: AppState, mesh: Mesh) -> tuple[np.ndarray, str, str]:
    """The field of the page Hodge Decomposition: composed there, or uploaded."""
    from hsd.ui import compose_state

    field = compose_state.field_of(state, mesh)
    if field.composition is None:
        name = store.get(state.field).name
        code = f"omega, how = hsd.read_field(mesh, {name!r}, {state.k})"
    else:
        code = (
            "from hsd.hodge.compose import Composer, Composition\n"
            f'composition = Composition.from_record(json.load(open("{parts_stem(mesh, state)}.json")))'
            "  # from Hodge Decomposition, tab Export\n"
            "omega = Composer(basis.solver).form(composition)"
        )
    return np.array(field.omega), field.sentence, code


# ---- results -------------------------------------------------------------------------------------------------------


def energy_of(basis: HodgeBasis, field: Field) -> SpectralEnergy:
    """Energies of the field in the basis."""
    return _energy(basis_key(basis), field.key, basis, field)


@st.cache_resource(max_entries=16, show_spinner=False)
def _energy(basis: tuple, field: tuple, _basis: HodgeBasis, _field: Field) -> SpectralEnergy:
    return spectral_energy(_basis, _field.omega)


def picture_of(basis: HodgeBasis, field: Field, energy: SpectralEnergy) -> FormPicture:
    """The field and all modes, ready to be drawn."""
    return _picture(basis_key(basis), field.key, energy, field)


@st.cache_resource(max_entries=6, show_spinner="Preparing the picture")
def _picture(basis: tuple, field: tuple, _energy: SpectralEnergy, _field: Field) -> FormPicture:
    return energy_picture(_energy, _field.omega, glyphs_or_none(_energy.basis.mesh))


def part_totals(basis: HodgeBasis, field: Field) -> dict[str, float]:
    """‖part‖² of the whole field from its Hodge decomposition, not from modes."""
    return _totals(basis_key(basis)[:5], field.key, basis, field)


@st.cache_resource(max_entries=32, show_spinner="Splitting the field")
def _totals(space: tuple, field: tuple, _basis: HodgeBasis, _field: Field) -> dict[str, float]:
    with cached.HEAVY:
        decomposer = cached.decomposer_of(_basis.mesh, _basis.k, _basis.bc, _basis.star)
        return decomposer(_field.omega).energies


def laws_of(basis: HodgeBasis) -> dict[str, WeylLaw]:
    """Weyl's law by part; none for the unit star, which knows no lengths."""
    if basis.star == "unit":
        return {}
    found = {part: weyl_law(basis.mesh, basis.k, part) for part in ("exact", "coexact")}
    return {part: law for part, law in found.items() if law is not None and len(basis.index(part))}


def part_table(basis: HodgeBasis, field: Field, energy: SpectralEnergy, cut: int) -> dict[str, list]:
    """By part: share of the field, modes in the basis, share that the basis and the truncation reach (of the part)."""
    totals, n = part_totals(basis, field), len(energy.columns)
    whole = totals["total"] or 1.0
    rows: dict[str, list] = {
        "part": [],
        "share": [],
        "modes": [],
        "in the basis": [],
        "kept": [],
    }
    for part in PARTS:
        mine = energy.part == part
        size = totals[part]
        reach = [float(energy.energies[mine & (np.arange(n) < m)].sum()) for m in (n, cut)]
        empty = not size > 1e-14 * whole
        rows["part"].append(part)
        rows["share"].append(size / whole)
        rows["modes"].append(int(mine.sum()))
        rows["in the basis"].append(None if empty else min(reach[0] / size, 1.0))
        rows["kept"].append(None if empty else min(reach[1] / size, 1.0))
    return rows


def mode_rows(energy: SpectralEnergy) -> dict[str, list]:
    """The data of all plots: one row a mode."""
    return {
        "mode": list(range(len(energy.columns))),
        "part": [str(p) for p in energy.part],
        "eigenvalue": energy.eigenvalues.tolist(),
        "coefficient": energy.coefficients.tolist(),
        "energy": energy.energies.tolist(),
        "error with modes up to this": energy.errors[1:].tolist(),
    }


def energy_npz(energy: SpectralEnergy, field: Field, cut: int, provenance: Mapping[str, str]) -> bytes:
    """Field, coefficients, eigenvalues, parts, errors and the truncated sum as an archive."""
    out = io.BytesIO()
    np.savez_compressed(
        out,
        omega=field.omega,
        truncated=energy.reconstruct(cut),
        kept=cut,
        coefficients=energy.coefficients,
        eigenvalues=energy.eigenvalues,
        part=energy.part,
        errors=energy.errors,
        **provenance,
    )
    return out.getvalue()


def cut_of(state: AppState, n: int) -> int:
    """Modes kept: half of them unless chosen."""
    return max(1, min(state.spectrum.cut or (n + 1) // 2, n))


def energy_code(state: AppState, mesh: Mesh, field: Field, cut: int) -> str:
    """The lines that make what is shown."""
    first = "import json\n" if "json." in field.code else ""
    return "\n".join(
        [
            first + mesh_code(state, mesh),
            "from hsd.hodge.spectral_energy import spectral_energy, weyl_law",
            f'basis = hsd.lowest_modes(mesh, {state.k}, {state.n_modes}, bc="{state.bc}", star="{state.star}")',
            field.code,
            "energy = spectral_energy(basis, omega)  # .coefficients, .energies, .errors, .floor, .parseval",
            f"truncated = energy.reconstruct({cut})  # relative error energy.errors[{cut}]",
            f'weyl = weyl_law(mesh, {state.k}, "coexact")  # weyl(λ) modes are expected up to λ',
        ]
    )
