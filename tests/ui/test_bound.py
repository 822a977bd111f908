"""Bound widgets: what the browser sends of values that the program has replaced meanwhile is no wish of the visitor."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hsd.ui import bound
from tests.ui.app_pages import good, walk


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


def every_kind() -> None:
    from hsd.ui import bound as b

    b.begin_run()
    b.bound_slider("Degree", "k", 0, 3)
    b.bound_slider("Depth", "decomposition.depth", 0.0, 2.0, 0.05)
    b.bound_number("Modes", "n_modes", 1, 2000)
    b.bound_selectbox("Star", "star", ["galerkin", "diagonal", "unit"])
    b.bound_radio("Condition", "bc", ["absolute", "relative"])
    b.bound_segments("Condition", "bc", ["absolute", "relative"], name="segments")
    b.bound_toggle("Logarithmic", "training.log_x")
    b.bound_checkbox("Logarithmic", "training.log_x", name="box")
    b.bound_multiselect("Runs", "own_runs", ["a", "b", "c"])
    b.bound_text("Mesh", "mesh.name")
    b.bound_tabs("benchmarks.tab", ["Results", "Cost"])
    b.end_run()


WANTED = {
    "k": ("k", 2, 2), "decomposition.depth": ("depth", 1.5, 1.5), "n_modes": ("modes", 77, 77),
    "star": ("star", "unit", 2), "bc": ("bc", "relative", 1), "bc:segments": ("bc", "relative", [1]),
    "training.log_x": ("logx", 1, True), "training.log_x:box": ("logx", 1, True), "own_runs": ("runs", "c~a", [2, 0]),
    "mesh.name": ("mesh", "torus", "torus"),
}  # fmt: skip
"""Widget → its name and value in the link, and what a browser that was sent no value draws."""


def defaults_drawn(app: AppTest) -> dict[str, object]:
    """Widget → its default, in a run that sets no value."""
    found = {}
    for element in walk(app.main):
        proto = getattr(element, "proto", None)
        if getattr(element, "key", None) and hasattr(proto, "default") and hasattr(proto, "set_value"):
            assert not proto.set_value, "this run sets no value"
            default = proto.default
            found[element.key] = default if isinstance(default, (int, float, str)) else list(default)
    return found


def test_of_two_runs_close_together_the_second_alone_shows_the_value_of_every_widget():
    """A run that sets no value, as the second one, may be the only one that the browser draws: values are defaults."""
    app = AppTest.from_function(every_kind)
    for name, value, _ in WANTED.values():
        app.query_params[name] = str(value)
    app.query_params["tab"] = "Cost"
    good(good(app.run()).run())
    found = defaults_drawn(app)
    sliders = ("k", "decomposition.depth")
    assert found == {f"state:{k}": [v] if k in sliders else v for k, (_, _, v) in WANTED.items()}
    tabs = [e.proto.tab_container for e in walk(app.main) if str(getattr(e, "proto", "")).startswith("tab_container")]
    assert [t.default_tab_index for t in tabs] == [1]


def composers() -> None:
    import numpy as np

    from hsd.data.tasks import task
    from hsd.hodge.compose import Composition
    from hsd.ui import comparison_compose as compose
    from hsd.ui.bound import begin_run, end_run
    from hsd.ui.compose_panel import dial_widgets, source_widgets
    from hsd.ui.state import get_state, update

    begin_run()
    update(**{"comparison.task": "toroidal_transport", "comparison.selected": 1, "decomposition.preset": "vortices"})
    source_widgets(get_state(), None)
    dial_widgets(Composition(circulations=(0.5, -1.25)), 2, 1)
    problem = task("toroidal_transport")
    record = problem.sample(0, 0) | {"velocity": 0.5 * np.asarray(problem.coefficient_range)}
    compose.panel(get_state(), problem, record)
    end_run()


def test_so_do_the_widgets_of_both_composers():
    from hsd.data.tasks import task
    from hsd.hodge.presets import PRESETS

    found = defaults_drawn(good(good(AppTest.from_function(composers).run()).run()))
    reach = task("toroidal_transport").coefficient_range
    assert found["compose/preset"] == list(PRESETS).index("vortices")
    assert (found["compose/dial0"], found["compose/dial1"]) == ([0.5], [-1.25])
    assert found["comparison:source"] == 2, "after the next one and the first"
    assert [found[f"comparison:dial:velocity:{i}"] for i in range(2)] == [[pytest.approx(r / 2)] for r in reach]


def test_texts_of_options_that_have_changed_meanwhile_become_no_values():
    by_text = {"HSD · mine": "run-a", "FNO-3D": "run-b"}
    assert bound._known(by_text, ["HSD · mine", "run-b", "HSD"]) == ("run-a", "run-b")
    assert bound._known(by_text, ["run-a", "HSD · mine"]) == ("run-a",)
