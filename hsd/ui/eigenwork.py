"""A basis when it is quickly had; else an estimate, a question, a job with progress, and Cancel.

    basis = ready_basis(mesh, k, bc, star, n_modes)
    if basis is None:
        ...                                     # draw the rest of the page without it
"""

from __future__ import annotations

import streamlit as st

from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, jobs
from hsd.ui.estimate import Estimate, basis_estimate
from hsd.ui.state import get_state

POLL_SECONDS = 1.0


def ready_basis(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> HodgeBasis | None:
    """The lowest modes, or None while the user has not said yes or the job still runs (a panel is shown then)."""
    estimate = basis_estimate(mesh, k, n_modes)
    name = jobs.job_name(mesh, k, bc, star, n_modes)
    if not estimate.is_long or jobs.status(name).state == "done":
        return cached.basis_of(mesh, k, bc, star, n_modes)
    panel(mesh, k, bc, star, n_modes)
    return None


def panel(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> None:
    """Estimate and question, or the progress of the job."""
    job = jobs.status(jobs.job_name(mesh, k, bc, star, n_modes))
    with st.container(border=True):
        if job.state == "running":
            _progress(job.name)
            return
        if job.state == "done":
            st.success(f"The {n_modes} lowest modes of degree {k} are computed and kept.")
            return
        if job.state == "failed":
            st.error(job.text)
        if job.state == "cancelled":
            st.info("The computation was cancelled.")
        estimate: Estimate = basis_estimate(mesh, k, n_modes)
        st.write(
            f"The {n_modes} lowest modes of degree {k} ({bc}, star {star}) on {mesh.complex.n_vertices} vertices take "
            f"{estimate.words()} (a rough guess). The app stays usable meanwhile."
        )
        st.button("Compute", key="eigenwork:start", type="primary", on_click=_start, args=(mesh, k, bc, star, n_modes))
        if message := st.session_state.pop("eigenwork:error", None):
            st.error(message)


def _start(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> None:
    choice = get_state().mesh
    plain = not choice.upload and not choice.repair and choice.scale == 1.0
    try:
        jobs.start(mesh, k, bc, star, n_modes, f"gallery:{choice.name}:{choice.n}" if plain else "")
    except jobs.HsdError as error:
        st.session_state["eigenwork:error"] = error.message


@st.fragment(run_every=POLL_SECONDS)
def _progress(name: str) -> None:
    """The one polling fragment; it stops with the job."""
    job = jobs.status(name)
    if job.state != "running":
        st.rerun(scope="app")
    st.write(f"Computing since {job.seconds:.0f} s. {job.text}")
    st.button("Cancel", key="eigenwork:cancel", on_click=jobs.cancel, args=(name,))
