"""The sample and the models that Model Comparison, Level Sets and Spectral Energy of models are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from hsd.errors import HsdError
from hsd.ui import comparison_answers as answers
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_view as view
from hsd.ui import task_files
from hsd.ui.ahead import Wanted, ahead
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_work import Outcome
from hsd.ui.page import Domain
from hsd.ui.state import AppState, changed, get_state
from hsd.ui.task_view import OWN

STEP = "comparison/step"
"""Entry of the session: +1 or −1, the way in which the visitor last went through the samples."""
Draw = Callable[[AppState, Ready, Mapping[Model, Outcome]], object]


class Subject:
    """``ready`` is made by ``domain``, which the page's frame asks before its header, as that names the mesh."""

    def __init__(self, title: str):
        self.title = title
        self.ready: Ready | None = None
        self.error = ""

    def domain(self, state: AppState) -> Domain:
        try:
            with st.spinner("Starting"):
                self.ready = answers.ready_of(state)
        except HsdError as error:
            self.error = error.message
        return view.domain_of(state, self.ready, self.title)

    def refused(self) -> bool:
        """True, with one sentence and a way on, where there is no sample."""
        own = get_state().comparison.task == OWN
        if own:
            task_files.show_found(self.ready is not None)
        if self.ready is not None:
            return False
        if own:
            (st.error if get_state().tasks.file else st.info)(self.error)
            return True
        st.error(self.error)
        st.button("Take the sample that the task draws", key="comparison:drawn", on_click=compose.ended)
        return True

    def outcomes(self) -> Mapping[Model, Outcome]:
        """What every chosen model answers, with progress where it takes time."""
        bar = view.Bar()
        try:
            return answers.outcomes(self.ready, bar)
        finally:
            bar.done()

    def prepare_next(self, state: AppState, draw: Draw) -> None:
        """Have the next sample answered while the server rests; ``draw`` fills the page's caches with it."""
        by = st.session_state.get(STEP, 1)
        if state.comparison.composed or self.ready is None or state.comparison.sample + by < 0:
            return
        after = changed(state, {"comparison.sample": state.comparison.sample + by})

        def job(wanted: Wanted) -> None:
            def check(share: float, words: str) -> None:
                if not wanted():
                    raise Superseded

            ready = answers.ready_of(after)
            draw(after, ready, answers.outcomes(ready, check))

        ahead().wish((self.title, after), job)


class Superseded(Exception):
    """Something else is wanted by now."""
