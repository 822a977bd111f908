"""Bound widgets: what the browser sends of values that the program has replaced meanwhile is no wish of the visitor."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hsd.ui import bound
from tests.ui.app_pages import good


def script() -> None:
    import streamlit as st

    from hsd.ui.bound import begin_run, bound_number, end_run
    from hsd.ui.state import get_state, update

    begin_run()
    bound_number("Sample", "comparison.sample", 0, 100, 1)
    st.button("Next", on_click=lambda: update(**{"comparison.sample": get_state().comparison.sample + 1}))
    st.caption(f"sample {get_state().comparison.sample}")
    if not st.session_state.get("broken"):
        end_run()


def opened() -> AppTest:
    return good(AppTest.from_function(script).run())


def shown(app: AppTest) -> str:
    return good(app).caption[0].value


@pytest.mark.parametrize("broken", [False, True])
def test_an_old_value_that_comes_late_changes_nothing(broken):
    app = opened()
    app.session_state["broken"] = broken  # the run is cut off before its end
    first = app.number_input[0].value
    for _ in range(3):
        app.button[0].click().run()
    for late in (first, first + 1, first + 2):
        assert shown(app.number_input[0].set_value(late).run()) == f"sample {first + 3}"
    assert app.number_input[0].value == first + 3


def test_another_value_is_taken_at_once_and_the_old_one_when_the_browser_has_caught_up(monkeypatch):
    app = opened()
    first = app.number_input[0].value
    app.button[0].click().run()
    assert shown(app.number_input[0].set_value(50).run()) == "sample 50"
    app.button[0].click().run()
    monkeypatch.setattr(bound, "SETTLED", 0.0)
    assert shown(app.number_input[0].set_value(50).run()) == "sample 50"
    assert shown(app.number_input[0].set_value(first).run()) == f"sample {first}"
