"""Benchmarks: results of all recorded runs, the paper's numbers beside them, ablations, cost, transfer, formulas."""

import streamlit as st

from hsd.ui import benchmarks_panels as panels
from hsd.ui import benchmarks_view as view_of
from hsd.ui.benchmarks_record import open_record
from hsd.ui.bound import bound_tabs
from hsd.ui.page import page
from hsd.ui.state import get_state

TABS = {
    "Results": panels.results,
    "Beside the paper": panels.beside,
    "Ablations": panels.ablations,
    "Cost": panels.cost,
    "Resolution": panels.resolution,
    "Task card": panels.card,
    "Formulas": panels.formulas,
    "Export": panels.exports,
}
memory = {}


def domain(state):
    """What is recorded is read before the header, which counts it."""
    memory["found"] = view_of.found()
    return view_of.domain_of(memory["found"])


def main() -> None:
    found = memory["found"]
    view = view_of.sidebar(found)
    for sentence in found.broken:
        st.warning(sentence)
    if not get_state().present:
        st.markdown(f"**{view.task.title}** · {view.task.equation}")
    for tab, make in zip(bound_tabs("benchmarks.tab", list(TABS)), TABS.values()):
        if tab.open:
            with tab:
                make(view)
    open_record(found)


with page("Benchmarks", "", domain):
    main()
