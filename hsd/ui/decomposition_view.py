"""What the page on Hodge decompositions shows, without its layout: cached results, tables, code and exports."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st

from hsd.cli_output import save_decomposition
from hsd.errors import HsdError
from hsd.hodge.checks import Checks, zero_checks
from hsd.hodge.compose import length_of
from hsd.hodge.decomposition import PARTS, Decomposition
from hsd.hodge.eigen import coexact_modes
from hsd.hodge.heat import HeatFlow
from hsd.hodge.singularities import Singularities, TangentFrames
from hsd.hodge.solver import HodgeSolver
from hsd.mesh.mesh import Mesh
from hsd.ui import cached
from hsd.ui import decomposition_tables as tables
from hsd.ui.compose_state import Field
from hsd.ui.export import parts_stem
from hsd.ui.modes_view import glyphs_or_none
from hsd.ui.page import mesh_code
from hsd.ui.state import AppState
from hsd.viz import decomposition_scene as scenes
from hsd.viz.modes import FormPicture

MANY_VERTICES = 20_000
"""Above this the heat slider has fewer steps, so that little travels to the page."""


def parts_picture_of(mesh: Mesh, field: Field, parts: Decomposition) -> FormPicture:
    """The three parts ready to be drawn, one object a field, so that the viewer is sent it once."""
    return _parts_picture(field.key, mesh, parts)


@st.cache_resource(max_entries=12, show_spinner=False)
def _parts_picture(key: tuple, _mesh: Mesh, _parts: Decomposition) -> FormPicture:
    return scenes.parts_picture(_mesh, _parts, glyphs_or_none(_mesh))


def checks_of(solver: HodgeSolver, field: Field, parts: Decomposition, broken: str) -> Checks:
    """The identities, with the operators as they are or broken on purpose."""
    return _checks((*field.key, broken), solver, field, parts, broken)


@st.cache_resource(max_entries=24, show_spinner=False)
def _checks(key: tuple, _solver: HodgeSolver, _field: Field, _parts: Decomposition, broken: str) -> Checks:
    return zero_checks(_solver, _parts, _field.omega, broken)


# ---- heat --------------------------------------------------------------------------------------------------------


def heat_of(solver: HodgeSolver, field: Field, parts: Decomposition) -> tuple[HeatFlow, np.ndarray]:
    """The heat flow of the field, and the times of the slider."""
    return _heat(field.key, solver, parts)


@st.cache_resource(max_entries=6, show_spinner="Computing the heat flow")
def _heat(key: tuple, _solver: HodgeSolver, _parts: Decomposition) -> tuple[HeatFlow, np.ndarray]:
    length2 = length_of(_solver) ** 2
    steps = 25 if _solver.mesh.complex.n_vertices <= MANY_VERTICES else 11
    low, high = scenes.HEAT_RANGE
    with cached.HEAVY:
        flow = HeatFlow(_solver, _parts, low * length2, high * length2)
        times = scenes.heat_times(length2, steps)
        flow.energies(times)  # both parts are projected here, once
    return flow, times


def heat_picture_of(mesh: Mesh, field: Field, flow: HeatFlow, times: np.ndarray) -> FormPicture:
    return _heat_picture(field.key, mesh, flow, times)


@st.cache_resource(max_entries=4, show_spinner="Preparing the heat flow")
def _heat_picture(key: tuple, _mesh: Mesh, _flow: HeatFlow, _times: np.ndarray) -> FormPicture:
    return scenes.heat_picture(_mesh, _flow, _times, glyphs_or_none(_mesh), length_of(_flow.solver) ** 2)


def heat_step(times: np.ndarray, length2: float, wanted: float) -> int:
    """Step of the slider nearest to a time in units of L² (on the log scale)."""
    if wanted <= 0:
        return 0
    return 1 + int(np.argmin(np.abs(np.log(times[1:] / length2) - np.log(wanted))))


def lowest_eigenvalues(state: AppState, mesh: Mesh) -> dict[str, float]:
    """λ of the slowest exact and coexact modes of Δ_k, the rates that any field decays with at last."""
    return _lowest(mesh.content_hash, state.k, state.bc, state.star, mesh)


@st.cache_resource(max_entries=32, show_spinner=False)
def _lowest(key: str, k: int, bc: str, star: str, _mesh: Mesh) -> dict[str, float]:
    solver, out = cached.solver_of(_mesh, star, bc), {}
    with cached.HEAVY:
        for part, degree in (("exact", k - 1), ("coexact", k)):
            if 0 <= degree < solver.dec.dim:
                values = coexact_modes(solver, degree, 1).values
                out |= {part: float(values[0])} if len(values) else {}
    return out


# ---- zeros -------------------------------------------------------------------------------------------------------


def zeros_of(mesh: Mesh, field: Field, parts: Decomposition) -> dict[str, Singularities]:
    """Zeros of ω and of each part that is not zero.  Raises TopologyError where indices have no meaning."""
    return _zeros(field.key, mesh, parts)


@st.cache_resource(max_entries=12, show_spinner="Looking for zeros")
def _zeros(key: tuple, _mesh: Mesh, _parts: Decomposition) -> dict[str, Singularities]:
    frames, out = _frames(_mesh.content_hash, _mesh), {}
    out["ω"] = frames.find(tables.whole(_parts))
    for part in PARTS:
        if _parts.energies[part] > 1e-20 * _parts.energies["total"]:
            out[part] = frames.find(getattr(_parts, part))
    return out


@st.cache_resource(max_entries=8, show_spinner=False)
def _frames(key: str, _mesh: Mesh) -> TangentFrames:
    return TangentFrames(_mesh)


# ---- words, code and files ---------------------------------------------------------------------------------------


def betti_words(mesh: Mesh, k: int, bc: str) -> str:
    """Absolute and relative Betti numbers side by side, the one in force in bold."""
    out = []
    for name, symbol in (("absolute", "b(M)"), ("relative", "b(M, ∂M)")):
        numbers = cached.homology_of(mesh, name).betti("Q")
        text = f"{name} {symbol} = ({', '.join(map(str, numbers))}), b{'₀₁₂₃'[k]} = {numbers[k]}"
        out.append(f"**{text}** (in force)" if name == bc else text)
    return " · ".join(out)


def code(state: AppState, mesh: Mesh, field: Field) -> str:
    """The lines that make the numbers on the page."""
    k, composition = state.k, field.composition
    saved = parts_stem(mesh, state) + ".json"
    lines = [mesh_code(state, mesh), f'solver = hsd.HodgeSolver(mesh, star="{state.star}", bc="{state.bc}")']
    if composition is None:
        from hsd.ui.store import get

        name = get(state.field).name
        lines.append(f"omega, how = hsd.read_field(mesh, {name!r}, {k})")
    else:
        if not state.field:
            lines += [
                "from hsd.hodge.compose import Composer",
                "from hsd.hodge.presets import preset",
                f'field = preset("{state.decomposition.preset}", mesh, {k}, solver.betti[{k}], seed={state.seed})',
            ]
        else:
            lines += [
                "import json",
                "from hsd.hodge.compose import Composer, Composition",
                f'field = Composition.from_record(json.load(open("{saved}")))  # from the tab Export',
            ]
        lines += [
            "composer = Composer(solver)",
            "omega = composer.form(composer.located(field))",
        ]
        if field.key[5] == "vectors":
            lines += [
                "from hsd.dec.whitney import flat, flat_flux, sharp",
                f'vectors = sharp(mesh, omega, {k}, at="vertices")',
                f'omega = {"flat" if k == 1 else "flat_flux"}(mesh, vectors, at="vertices")',
            ]
    lines += [
        f"parts = hsd.Decomposer(mesh, {k}, solver=solver)(omega)",
        "parts.energies, parts.residual, parts.inner, parts.zeros, parts.periods",
    ]
    return "\n".join(lines)


def composition_json(field: Field) -> str:
    """The composition as a file."""
    return json.dumps(field.composition.to_record(), indent=1)


def exporter(mesh: Mesh, field: Field, parts: Decomposition, suffix: str) -> Callable[[], bytes]:
    """A function that writes ω, its parts and potentials in the format of ``suffix``."""

    def make() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"decomposition{suffix}"
            save_decomposition(path, mesh, field.omega, parts, field.origin)
            return path.read_bytes()

    return make


def loop_layers_of(mesh: Mesh, bc: str, k: int, number: int) -> tuple:
    """The generator chosen in the table as a layer of the picture."""
    homology = cached.homology_of(mesh, bc)
    if not 0 <= number < homology.betti("Q")[k]:
        return ()
    return _loop(mesh.content_hash, bc, k, number, mesh)


@st.cache_resource(max_entries=32, show_spinner=False)
def _loop(key: str, bc: str, k: int, number: int, _mesh: Mesh) -> tuple:
    try:
        surface = cached.surface_of(_mesh)
    except HsdError:
        return ()
    cycle = cached.homology_of(_mesh, bc).cycles(k)[:, number]
    closed = bc == "absolute" or not _mesh.complex.has_boundary
    return scenes.loop_layers(_mesh, surface, k, cycle, closed, number)
