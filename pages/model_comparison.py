"""Model Comparison: any set of trained models on one sample, beside the truth, with errors, costs and exports."""

import streamlit as st

from hsd.ui import checkpoint_files
from hsd.ui import comparison_panels as panels
from hsd.ui import comparison_tabs as tabs
from hsd.ui import comparison_view as view
from hsd.ui.comparison_subject import Subject
from hsd.ui.page import page
from hsd.ui.state import get_state


def main(subject: Subject) -> None:
    ready = subject.ready
    panels.sidebar(ready)
    checkpoint_files.show_error()
    if subject.refused():
        return
    state = get_state()
    if not state.present:
        st.markdown(f"**{ready.task.title}** · {ready.task.equation}")
    if ready.note and state.comparison.device == "cuda":
        st.info(ready.note)
    found = subject.outcomes()
    scene = panels.canvas(state, ready, found)
    panels.refusals(state, ready)
    if missing := view.missing_words(state, ready):
        st.info(missing)
    tabs.details(state, ready, found, scene)
    st.caption(view.conditions(ready))
    subject.prepare_next(state, view.board_of)


chosen = Subject("Model Comparison")
with page("Model Comparison", "", chosen.domain, chosen.drawn):
    main(chosen)
