"""Level Sets: components of superlevel sets of truth and models at a moving threshold, and where models disagree."""

import streamlit as st

from hsd.errors import HsdError
from hsd.ui import comparison_answers as answers
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_view as shared
from hsd.ui import level_sets_panels as panels
from hsd.ui import level_sets_view as view
from hsd.ui.comparison_panels import refusals
from hsd.ui.page import page
from hsd.ui.state import get_state

memory = {}


def domain(state):
    """The sample in force is made before the header, which speaks of its mesh."""
    memory["ready"], memory["error"] = None, ""
    try:
        with st.spinner("Starting"):
            memory["ready"] = answers.ready_of(state)
    except HsdError as error:
        memory["error"] = error.message
    return shared.domain_of(state, memory["ready"], "Level Sets")


def main() -> None:
    ready = memory["ready"]
    panels.sidebar(ready)
    if ready is None:
        st.error(memory["error"])
        st.button("Take the sample that the task draws", key="comparison:drawn", on_click=compose.ended)
        return
    panels.search(ready)
    state = get_state()
    bar = shared.Bar()
    found = answers.outcomes(ready, bar)
    bar.done()
    levels = view.levels_of(state, ready, found)
    panels.canvas(state, ready, levels)
    refusals(state, ready)
    if missing := shared.missing_words(state, ready):
        st.info(missing)
    panels.numbers(state, ready, levels, found)
    panels.details(state, ready, levels, found)
    st.caption(shared.conditions(ready))


with page("Level Sets", "", domain):
    main()
