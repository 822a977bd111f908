"""Long work runs beside the app: started once, found again, cancelled at once, failures told in one sentence."""

from __future__ import annotations

import time

import pytest

import hsd
from hsd.hodge import eigen
from hsd.ui import jobs
from hsd.ui.estimate import basis_estimate


def wait(name: str, seconds: float = 40.0) -> jobs.Job:
    end = time.monotonic() + seconds
    while (job := jobs.status(name)).state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    return job


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HSD_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("source", ["gallery:annulus:300", ""])
def test_result_of_a_job_is_in_the_cache_of_bases(source, monkeypatch):
    mesh = hsd.gallery("annulus", 300)
    name = jobs.start(mesh, 1, "relative", "galerkin", 8, source)
    assert jobs.start(mesh, 1, "relative", "galerkin", 8, source) == name
    assert wait(name).state == "done"

    def never(*_):
        raise AssertionError("computed again")

    monkeypatch.setattr(eigen, "low_spectrum", never)
    basis = hsd.lowest_modes(mesh, 1, 8, "relative")
    assert basis.n_modes == 8 and (basis.part == "harmonic").sum() == 1


def test_cancelled_job_ends_at_once_and_may_start_again():
    mesh = hsd.gallery("ball", 9000)
    name = jobs.start(mesh, 1, "absolute", "galerkin", 64, "gallery:ball:9000")
    assert jobs.status(name).state == "running"
    start = time.monotonic()
    jobs.cancel(name)
    assert time.monotonic() - start < 5 and jobs.status(name).state == "cancelled"
    jobs.start(mesh, 1, "absolute", "galerkin", 64, "gallery:ball:9000")
    assert jobs.status(name).state == "running"
    jobs.cancel(name)


def test_job_is_found_again_by_a_server_that_did_not_start_it(monkeypatch):
    mesh = hsd.gallery("ball", 9000)
    name = jobs.start(mesh, 1, "absolute", "galerkin", 65, "gallery:ball:9000")
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "_children", {})
        assert jobs.status(name).state == "running"
    jobs.cancel(name)


def test_failure_is_one_sentence():
    mesh = hsd.gallery("annulus", 300)
    name = jobs.start(mesh, 1, "absolute", "galerkin", 8, "gallery:teapot:300")
    job = wait(name)
    assert job.state == "failed" and "teapot" in job.text and "\n" not in job.text and "Traceback" not in job.text


def test_no_more_jobs_than_the_limit(monkeypatch):
    monkeypatch.setattr(jobs, "MAX_RUNNING", 0)
    with pytest.raises(jobs.JobError) as caught:
        jobs.start(hsd.gallery("annulus", 300), 1, "absolute", "galerkin", 8)
    assert caught.value.kind == "too_many_jobs"


def test_unknown_job_is_none():
    assert jobs.status("0" * 16).state == "none"


@pytest.mark.parametrize("name, k", [("torus", 0), ("torus", 1), ("ball", 0), ("ball", 1)])
def test_estimate_grows_with_size_and_modes(name, k):
    small, large = hsd.gallery(name, 500), hsd.gallery(name, 2000)
    few, many = basis_estimate(large, k, 8), basis_estimate(large, k, 128)
    assert basis_estimate(small, k, 8).seconds < few.seconds < many.seconds
    assert basis_estimate(small, k, 8).memory < few.memory < many.memory
    assert not basis_estimate(small, k, 32).is_long and basis_estimate(hsd.gallery("ball", 9000), 1, 64).is_long
