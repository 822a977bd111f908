"""What is computed before it is asked for: the latest wish only, in silence, and the next sample's answers at hand."""

from __future__ import annotations

import logging
import threading

import pytest
import streamlit as st

from hsd.ui import comparison_answers, comparison_subject
from hsd.ui.ahead import Ahead
from tests.ui.app_pages import good, link_of, page_of, press
from tests.ui.checkpoints import make_checkpoints

WISH = Ahead.wish
LABELS = ("hsd", "fno3d", "deeponet")


def test_only_the_latest_wish_is_done_and_each_once():
    ahead, done = Ahead(pause=0.05), []
    futures = [ahead.wish(i, lambda wanted, i=i: done.append(i)) for i in range(5)]
    for future in futures:
        future.result(10)
    assert done == [4]
    assert ahead.wish(4, lambda wanted: done.append("again")) is None


def test_work_under_way_is_told_when_something_else_is_wanted():
    ahead, begun, go_on, told = Ahead(pause=0.0), threading.Event(), threading.Event(), []

    def job(wanted):
        told.append(wanted())
        begun.set()
        assert go_on.wait(10)
        told.append(wanted())

    first = ahead.wish("first", job)
    assert begun.wait(10)
    second = ahead.wish("second", lambda wanted: told.append("second"))
    go_on.set()
    first.result(10), second.result(10)
    assert told == [True, False, "second"]


def test_a_job_that_fails_ends_nothing():
    ahead, done = Ahead(pause=0.0), []

    def failing(wanted):
        raise MemoryError

    with pytest.raises(MemoryError):
        ahead.wish("bad", failing).result(10)
    ahead.wish("good", lambda wanted: done.append("good")).result(10)
    assert done == ["good"]


def test_nothing_is_drawn_or_logged_for_what_is_done_in_advance(caplog):
    @st.cache_resource(show_spinner="Making it")
    def make(x: int) -> int:
        return x + 1

    found = []
    with caplog.at_level(logging.WARNING):
        Ahead(pause=0.0).wish("quiet", lambda wanted: found.append(make(1))).result(10)
    assert found == [2] and not caplog.records


@pytest.mark.parametrize("page", ["model_comparison", "level_sets", "spectral_energy"])
def test_the_next_sample_is_answered_before_it_is_asked_for(root, model_pages, monkeypatch, page):
    make_checkpoints(root, "toroidal_transport")
    monkeypatch.setattr(Ahead, "wish", WISH)
    ahead, wishes = Ahead(pause=0.0), []
    monkeypatch.setattr(comparison_subject, "ahead", lambda: ahead)
    wish, samples = ahead.wish, []

    def noted(key, job):
        samples.append(key[1].comparison.sample)
        wishes.append(wish(key, job))

    monkeypatch.setattr(ahead, "wish", noted)
    more = {"of": "models"} if page == "spectral_energy" else {}
    app = page_of(page, 300, problem="toroidal_transport", models="~".join(LABELS), case=4, **more)
    good(app.run())
    assert len(wishes) == 1 and wishes[0].result(60) is None
    monkeypatch.setattr(ahead, "wish", lambda key, job: samples.append(key[1].comparison.sample))
    with monkeypatch.context() as patch:

        def never(*_):
            raise AssertionError("predicted again")

        patch.setattr(comparison_answers, "predict", never)
        good(press(app, "comparison:next"))
    assert link_of(app)["case"] == "5"
    good(press(app, "comparison:previous"))
    assert samples == [5, 6, 3]  # shown were 4, 5 and, downwards, 4
