"""Long work runs beside the app: started once, found again, cancelled at once, failures told in one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import hsd
from hsd.hodge import eigen
from hsd.hodge.cache import clear_cache
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


@pytest.mark.parametrize("known", [True, False], ids=["by its server", "by a later server"])
def test_a_killed_job_has_failed_and_is_never_done(known, monkeypatch):
    mesh = hsd.gallery("ball", 9000)
    name = jobs.start(mesh, 1, "absolute", "galerkin", 66, "gallery:ball:9000")
    children = dict(jobs._children)
    if not known:
        monkeypatch.setattr(jobs, "_children", {})
    os.kill(pid_of(name), signal.SIGKILL)
    job = wait(name, 10)
    assert job.state == "failed" and "interrupted" in job.text and "Start it again" in job.text and "\n" not in job.text
    assert ("SIGKILL" in job.text) == known
    children[name].wait(5)
    assert jobs.status(name).state == "failed" and jobs.n_running() == 0


SERVER = """
import sys, time, hsd
from hsd.ui import jobs
n = int(sys.argv[1])
print(jobs.start(hsd.gallery("ball", n), 1, "absolute", "galerkin", 8, f"gallery:ball:{n}"), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("job_too", [True, False], ids=["and the job", "alone"])
def test_killing_the_server_leaves_the_truth_about_its_job(job_too):
    command = [sys.executable, "-c", SERVER, "9000" if job_too else "300"]
    with subprocess.Popen(command, cwd=jobs.ROOT, stdout=subprocess.PIPE, text=True) as server:
        name = server.stdout.readline().strip()
        server.kill()
    if job_too:
        assert jobs.status(name).state == "running"  # it lives on, and this process finds it
        os.kill(pid_of(name), signal.SIGKILL)
        job = wait(name, 10)
        assert job.state == "failed" and "Start it again" in job.text
    else:
        assert wait(name).state == "done"


def test_result_that_is_gone_is_not_done():
    mesh = hsd.gallery("annulus", 300)
    name = jobs.start(mesh, 1, "absolute", "galerkin", 8, "gallery:annulus:300")
    assert wait(name).state == "done"
    clear_cache()
    assert jobs.status(name).state == "none"


def pid_of(name: str) -> int:
    return json.loads((jobs.job_folder(name) / "job.json").read_text())["pid"]


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
