"""Large meshes: a decomposition is estimated, asked for, made by a job, and found again; numbers as in the library."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import hsd
from hsd.hodge.compose import Composer
from hsd.hodge.named_field import through_vectors
from hsd.hodge.presets import preset
from hsd.ui import decomposition_work, estimate, jobs, store
from hsd.ui.estimate import decomposition_estimate, heat_estimate
from tests.ui.test_decomposition_page import opened, said_well, table, text

N = 240


@pytest.fixture(autouse=True)
def _impatient(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(estimate, "DECOMPOSITION_SECONDS", 0.0)


def button(app: AppTest, label: str):
    return next((b for b in app.button if b.label == label), None)


def waited(app: AppTest, seconds: float = 40.0) -> AppTest:
    end = time.monotonic() + seconds
    while button(app, "Cancel") is not None and time.monotonic() < end:
        time.sleep(0.2)
        app = app.run()
    return app


def test_a_job_that_ends_while_the_page_is_drawn_is_shown_and_not_only_announced(monkeypatch):
    parameters = {"mesh": "torus", "n": N, "k": 0, "show": "parts"}
    app = opened(**parameters)
    button(app, "Compute").click()
    waited(app.run())
    true, seen = jobs.status, []

    def late(name: str) -> jobs.Job:
        seen.append(name)
        return jobs.Job(name, "running") if len(seen) == 1 else true(name)

    monkeypatch.setattr(jobs, "status", late)
    app = opened(**parameters)
    said_well(app)
    assert len(table(app, "share")) and len(seen) > 1


@pytest.mark.parametrize("k, entry", [(0, "form"), (1, "form"), (1, "vectors"), (2, "form")])
def test_a_large_field_is_asked_for_then_computed_and_found_again(k, entry):
    parameters = {"mesh": "torus", "n": N, "k": k, "entry": entry, "show": "parts"}
    app = opened(**parameters)
    said_well(app)
    assert "takes about" in text(app) and "GB of memory" in text(app) and not app.dataframe
    button(app, "Compute").click()
    app = waited(app.run())
    said_well(app)
    mesh = hsd.gallery("torus", N)
    solver = hsd.HodgeSolver(mesh)
    omega = Composer(solver).form(preset("mixture", mesh, k, solver.betti[k]))
    omega = through_vectors(mesh, omega, k) if entry == "vectors" else omega
    energies = hsd.Decomposer(mesh, k, solver=solver)(omega).energies
    np.testing.assert_allclose(table(app, "share")["‖·‖²"], [energies[p] for p in energies], rtol=1e-9, atol=1e-20)
    again = opened(**parameters)  # another visit finds the result
    said_well(again)
    assert button(again, "Compute") is None and table(again, "share").equals(table(app, "share"))


def test_an_uploaded_field_goes_through_a_job_too():
    mesh, stream = hsd.gallery("annulus", N), io.BytesIO()
    omega = np.sin(np.arange(mesh.complex.n(1)))
    np.save(stream, omega)
    app = opened(mesh="annulus", n=N, k=1, field=store.put(stream.getvalue(), "wind.npy"))
    said_well(app)
    button(app, "Compute").click()
    app = waited(app.run())
    said_well(app)
    energies = hsd.decompose(mesh, omega, 1).energies
    np.testing.assert_allclose(table(app, "share")["‖·‖²"], [energies[p] for p in energies], rtol=1e-9)


def test_a_cancelled_or_failed_job_is_said_and_may_be_started_again(monkeypatch):
    started = []

    def job(name, command, words, mesh, source, files, result):
        started.append((command, source, tuple(words), result))
        return name

    monkeypatch.setattr(jobs, "start_command", job)
    app = opened(mesh="sphere", n=N, k=1)
    button(app, "Compute").click()
    app.run()
    assert started[0][:2] == ("decompose", f"gallery:sphere:{N}") and started[0][3] == decomposition_work.RESULT
    for state, word in (("cancelled", "cancelled"), ("failed", "Start it again")):
        monkeypatch.setattr(jobs, "status", lambda name, s=state: jobs.Job(name, s, "It was killed. Start it again."))
        app = opened(mesh="sphere", n=N, k=1)
        assert not app.exception and word in text(app) and button(app, "Compute") is not None


def test_the_heat_flow_of_a_large_field_is_asked_for(monkeypatch):
    app = opened(mesh="torus", n=N + 20, k=1, show="heat")
    button(app, "Compute").click()
    app = waited(app.run())
    said_well(app)
    assert "The heat flow of a 1-form" in text(app)
    button(app, "Compute the heat flow").click()
    app = app.run()
    said_well(app)
    assert len(table(app, "t / L²")) > 10


@pytest.mark.parametrize("name", ["torus", "ball"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_estimates_of_decompositions_grow_with_the_mesh(name, k, monkeypatch):
    monkeypatch.undo()
    small, large = hsd.gallery(name, 500), hsd.gallery(name, 2000)
    for of in (decomposition_estimate, heat_estimate):
        assert of(small, k).seconds < of(large, k).seconds and of(small, k).memory < of(large, k).memory
    assert not decomposition_estimate(large, k).is_long
    if name == "ball" and k == 1:
        assert decomposition_estimate(hsd.gallery("ball", 9000), 1).is_long
