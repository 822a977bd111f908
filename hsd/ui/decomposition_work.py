"""A decomposition when it is quickly had; else an estimate, a question, a job with progress, and Cancel.

    ready = ready_decomposition(state, mesh, field)
    if ready is None:
        ...                                     # a panel was shown; draw the rest of the page without it
    field, parts = ready

The job is ``python -m hsd decompose`` and leaves ω and its parts in its folder, where they are found after a reload.
"""

from __future__ import annotations

import io
import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import streamlit as st

from hsd.cli_output import load_decomposition
from hsd.hodge.decomposition import Decomposition
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, eigenwork, jobs
from hsd.ui.compose_state import Field
from hsd.ui.estimate import DECOMPOSITION_SECONDS, decomposition_estimate, heat_estimate
from hsd.ui.export import parts_stem
from hsd.ui.space import command_source
from hsd.ui.state import AppState

RESULT = "parts.npz"


def ready_decomposition(state: AppState, mesh: Mesh, field: Field) -> tuple[Field, Decomposition] | None:
    """The field with its cochain, and its parts; None while the user has not said yes or the job still runs."""
    estimate = decomposition_estimate(mesh, state.k)
    if not estimate.is_long:
        return field, _in_process(field.key, state, mesh, field)
    job = jobs.status(job_name(field))
    if job.state == "done":
        omega, parts = _result(job.name)
        return replace(field, omega=omega), parts
    eigenwork.ask(
        job,
        estimate,
        f"Making this {state.k}-form and splitting it ({state.bc}, star {state.star}) on {mesh.complex.n_vertices} "
        "vertices takes",
        lambda source: start(state, mesh, field, source),
        "The decomposition is computed and kept.",
    )
    return None


@st.cache_resource(max_entries=24, show_spinner="Decomposing")
def _in_process(key: tuple, _state: AppState, _mesh: Mesh, _field: Field) -> Decomposition:
    with cached.HEAVY:
        return cached.decomposer_of(_mesh, _state.k, _state.bc, _state.star)(_field.omega)


@st.cache_resource(max_entries=4, show_spinner="Reading the decomposition")
def _result(name: str) -> tuple[np.ndarray, Decomposition]:
    return load_decomposition(jobs.job_folder(name) / RESULT)


def job_name(field: Field) -> str:
    """Name of the job that decomposes a field."""
    return sha256(repr(("decompose", field.key)).encode()).hexdigest()[:16]


def start(state: AppState, mesh: Mesh, field: Field, source: str = "") -> str:
    """Start the job; its name.  Raises JobError, InputError (no_positions)."""
    if field.composition is not None:
        files = {"field.json": json.dumps(field.composition.to_record()).encode()}
    else:
        stream = io.BytesIO()
        np.savez(stream, omega=field.omega)
        files = {"field.npz": stream.getvalue()}
    words = ["--degree", str(state.k), "--bc", state.bc, "--star", state.star, "--field", *files]
    if field.composition is not None and field.via_vectors:
        words.append("--via-vectors")
    return jobs.start_command(job_name(field), "decompose", words, mesh, source, files, RESULT)


def heat_is_open(mesh: Mesh, k: int) -> bool:
    """Whether the heat flow may be computed: it is short, or was asked for in this session."""
    quick = heat_estimate(mesh, k).seconds <= 2 * DECOMPOSITION_SECONDS and not decomposition_estimate(mesh, k).is_long
    return quick or _heat_key(mesh, k) in st.session_state


def ask_for_heat(mesh: Mesh, k: int) -> None:
    """Estimate and question."""
    with st.container(border=True):
        st.write(
            f"The heat flow of a {k}-form on {mesh.complex.n_vertices} vertices takes "
            f"{heat_estimate(mesh, k).words()} (a rough guess). It is computed in the app itself: other computations "
            "wait meanwhile, and it cannot be cancelled."
        )
        answer = {_heat_key(mesh, k): True}
        st.button("Compute the heat flow", type="primary", on_click=st.session_state.update, args=(answer,))


def _heat_key(mesh: Mesh, k: int) -> str:
    return f"decomposition/heat-asked/{mesh.content_hash}/{k}"


def figure_command(state: AppState, mesh: Mesh, field: Field) -> str:
    """The command that draws the four panels without a browser."""
    name = field.origin["field"] if field.composition is None or not state.field else parts_stem(mesh, state) + ".json"
    flags = f"--parts --degree {state.k} --field {repr(name) if ' ' in name else name}"
    flags += "" if state.bc == "absolute" else f" --bc {state.bc}"
    flags += "" if state.star == "galerkin" else f" --star {state.star}"
    flags += " --via-vectors" if field.via_vectors and field.composition is not None else ""
    return f"python -m hsd figure {command_source(state, mesh)} {flags} --out parts.png"
