"""Model Comparison: any set of trained models on one sample, beside the truth, with errors, costs and exports."""

import streamlit as st

from hsd.errors import HsdError
from hsd.ui import comparison_answers as answers
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_panels as panels
from hsd.ui import comparison_tabs as tabs
from hsd.ui import comparison_view as view
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
    return view.domain_of(state, memory["ready"])


def main() -> None:
    ready = memory["ready"]
    panels.sidebar(ready)
    state = get_state()
    if ready is None:
        st.error(memory["error"])
        st.button("Take the sample that the task draws", key="comparison:drawn", on_click=compose.ended)
        return
    if not state.present:
        st.markdown(f"**{ready.task.title}** · {ready.task.equation}")
    if ready.note and state.comparison.device == "cuda":
        st.info(ready.note)
    bar = view.Bar()
    found = answers.outcomes(ready, bar)
    bar.done()
    scene = panels.canvas(state, ready, found)
    panels.refusals(state, ready)
    if missing := view.missing_words(state, ready):
        st.info(missing)
    tabs.details(state, ready, found, scene)
    st.caption(view.conditions(ready))


with page("Model Comparison", "", domain):
    main()
