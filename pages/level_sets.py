"""Level Sets: components of superlevel sets of truth and models at a moving threshold, and where models disagree."""

import streamlit as st

from hsd.ui import checkpoint_files
from hsd.ui import comparison_view as shared
from hsd.ui import level_sets_panels as panels
from hsd.ui import level_sets_view as view
from hsd.ui.comparison_panels import refusals
from hsd.ui.comparison_subject import Subject
from hsd.ui.page import page
from hsd.ui.state import get_state


def main(subject: Subject) -> None:
    ready = subject.ready
    panels.sidebar(ready)
    checkpoint_files.show_error()
    if subject.refused():
        return
    panels.search(ready)
    state, found = get_state(), subject.outcomes()
    levels = view.levels_of(state, ready, found)
    panels.canvas(state, ready, levels)
    refusals(state, ready)
    if noise := view.noise_words(ready):
        st.info(noise)
    if missing := shared.missing_words(state, ready):
        st.info(missing)
    panels.numbers(state, ready, levels, found)
    panels.details(state, ready, levels, found)
    st.caption(shared.conditions(ready))
    subject.prepare_next(state, view.levels_of)


chosen = Subject("Level Sets")
with page("Level Sets", "", chosen.domain, chosen.drawn):
    main(chosen)
