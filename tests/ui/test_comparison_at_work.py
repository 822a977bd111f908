"""Computations that outlive the run of a page that began them: shared, taken up again, ended when nobody wants them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep

import pytest

from hsd.errors import InputError
from hsd.ui.at_work import Unwanted, Works


class Click(BaseException):
    """Stands for what Streamlit raises in a run that is broken off."""


def silent(share: float, words: str, seconds: float) -> None:
    """Draws nothing."""


def broken(share: float, words: str, seconds: float) -> None:
    raise Click


def until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = monotonic() + seconds
    while not holds() and monotonic() < end:
        sleep(0.01)
    return holds()


class Slow:
    """A job that reports and goes on until ``end`` is set."""

    def __init__(self, result: object = "found"):
        self.begun, self.result, self.end, self.said = 0, result, threading.Event(), []

    def __call__(self, progress) -> object:
        self.begun += 1
        while not self.end.wait(0.02):
            try:
                progress(0.5, f"turn {self.begun}")
            except Unwanted:
                self.said.append("unwanted")
                raise
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def test_a_run_that_is_broken_off_leaves_the_job_at_work_and_the_next_takes_it_up():
    works, job = Works(), Slow()
    for _ in range(2):
        with pytest.raises(Click):
            works.attend("key", job, broken)
        assert len(works) == 1
    seen = []

    def show(share: float, words: str, seconds: float) -> None:
        seen.append((share, words, seconds))
        job.end.set()

    assert works.attend("key", job, show) == "found"
    assert job.begun == 1 and len(works) == 0
    assert seen[0][:2] == (0.5, "turn 1") and seen[0][2] > 0.5  # its age counts from its beginning


@pytest.mark.parametrize("result", ["found", InputError("No.", "no"), MemoryError()])
def test_two_visitors_share_one_computation_its_result_and_its_failure(result):
    works, job, got = Works(), Slow(result), []

    def ask() -> None:
        try:
            got.append(works.attend("key", job, silent))
        except (InputError, MemoryError) as error:
            got.append(error)

    visitors = [threading.Thread(target=ask) for _ in range(2)]
    for visitor in visitors:
        visitor.start()
    assert until(lambda: job.begun == 1)
    sleep(0.1)
    job.end.set()
    for visitor in visitors:
        visitor.join(10)
    assert got == [result, result] and job.begun == 1 and len(works) == 0
    again = Slow()
    again.end.set()
    assert works.attend("key", again, silent) == "found"  # neither result nor failure is kept


def test_what_takes_no_time_draws_nothing():
    assert Works().attend("key", lambda progress: progress(0.0, "stage") or 3, broken) == 3


def test_a_job_that_nobody_waits_for_gives_way_to_one_that_is_waited_for():
    works, old, new = Works(patience=0.2, forgotten=1000.0), Slow(), Slow()
    with pytest.raises(Click):
        works.attend("old", old, broken)
    sleep(0.5)
    assert not old.said and len(works) == 1  # in nobody's way it goes on
    waiting = threading.Thread(target=works.attend, args=("new", new, silent))
    waiting.start()
    assert until(lambda: bool(old.said)) and until(lambda: len(works) == 1)
    assert not new.said
    again = Slow()
    again.end.set()
    assert works.attend("old", again, silent) == "found"  # whoever wants it after all begins anew
    new.end.set()
    waiting.join(10)
    assert len(works) == 0


def test_a_job_that_is_forgotten_for_long_ends_by_itself():
    works, job = Works(forgotten=0.3), Slow()
    with pytest.raises(Click):
        works.attend("key", job, broken)
    assert until(lambda: bool(job.said)) and until(lambda: len(works) == 0)
