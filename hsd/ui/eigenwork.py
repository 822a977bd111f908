"""A basis when it is quickly had; else an estimate, a question, a job with progress, and Cancel.

basis = ready_basis(mesh, k, bc, star, n_modes)
if basis is None:
    ...                                     # draw the rest of the page without it
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from hsd.errors import HsdError
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.mesh import Mesh
from hsd.ui import cached, jobs
from hsd.ui.estimate import Estimate, basis_estimate
from hsd.ui.rerun import run_again
from hsd.ui.state import get_state

POLL_SECONDS = 1.0


def ready_basis(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> HodgeBasis | None:
    """The lowest modes, or None while the user has not said yes or the job still runs (a panel is shown then)."""
    estimate = basis_estimate(mesh, k, n_modes)
    job = jobs.status(jobs.job_name(mesh, k, bc, star, n_modes))
    if not estimate.is_long or job.state == "done":
        return cached.basis_of(mesh, k, bc, star, n_modes)
    _ask_for_basis(job, mesh, k, bc, star, n_modes)
    return None


def panel(mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> None:
    """Estimate and question, or the progress of the job."""
    _ask_for_basis(jobs.status(jobs.job_name(mesh, k, bc, star, n_modes)), mesh, k, bc, star, n_modes)


def _ask_for_basis(job: jobs.Job, mesh: Mesh, k: int, bc: str, star: str, n_modes: int) -> None:
    what = f"The {n_modes} lowest modes of degree {k}"
    ask(
        job,
        basis_estimate(mesh, k, n_modes),
        f"{what} ({bc}, star {star}) on {mesh.complex.n_vertices} vertices take",
        lambda source: jobs.start(mesh, k, bc, star, n_modes, source),
        f"{what} are computed and kept.",
    )


def ask(job: jobs.Job, estimate: Estimate, question: str, start: Callable[[str], str], done: str) -> None:
    """Estimate and question, or the progress of a job.

    job      : as the caller has seen it; seen again, it might be done now, and the caller's result not be shown
    question : ends before the estimate ("… take");  start : called with the mesh's source (see jobs.start)
    done     : sentence on a finished job
    """
    with st.container(border=True, key="eigenwork"):
        if job.state == "running":
            _progress(job.name, estimate)
            return
        if job.state == "done":
            st.success(done)
            return
        if job.state == "failed":
            st.error(job.text)
        if job.state == "cancelled":
            st.info("The computation was cancelled.")
        st.write(f"{question} {estimate.words()} (a rough guess). The app stays usable meanwhile.")
        st.button("Compute", key="eigenwork:start", type="primary", on_click=_start, args=(start,))
        if message := st.session_state.pop("eigenwork:error", None):
            st.error(message)


def _start(start: Callable[[str], str]) -> None:
    choice = get_state().mesh
    plain = not choice.upload and not choice.repair and choice.scale == 1.0
    try:
        start(f"gallery:{choice.name}:{choice.n}" if plain else "")
    except HsdError as error:
        st.session_state["eigenwork:error"] = error.message


@st.fragment(run_every=POLL_SECONDS)
def _progress(name: str, estimate: Estimate) -> None:
    """The one polling fragment; it stops with the job."""
    job = jobs.status(name)
    if job.state != "running":
        run_again()
    share = job.seconds / max(estimate.seconds, 1.0)
    words = f"{job.text[:1].upper()}{job.text[1:]}. " if job.text else ""
    st.progress(min(share, 0.95), f"{words}{job.seconds:.0f} s of {estimate.words()} (a rough guess).")
    st.button("Cancel", key="eigenwork:cancel", on_click=jobs.cancel, args=(name,))
