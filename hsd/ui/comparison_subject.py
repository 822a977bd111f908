"""The sample and the models that Model Comparison, Level Sets and Spectral Energy of models are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from hsd.errors import HsdError
from hsd.ui import comparison_answers as answers
from hsd.ui import comparison_compose as compose
from hsd.ui import comparison_view as view
from hsd.ui import task_files, task_view
from hsd.ui.ahead import Wanted, ahead
from hsd.ui.comparison_answers import Ready
from hsd.ui.comparison_models import Model
from hsd.ui.comparison_wait import Panel
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
        self._panel: Panel | None = None

    def domain(self, state: AppState) -> Domain:
        choice = state.comparison
        file = state.tasks.file if choice.task == OWN else ""
        self._panel = Panel(self.title, (choice.task, choice.nodes, file))
        self._panel.head = task_view.titles().get(choice.task, "")
        key = answers.ready_key(state)
        try:
            found = self._panel.attend(("sample", *key), partial(answers.ready_of, state))
            self.ready = replace(found, refused=dict(found.refused))  # others may have the same
            self._panel.is_of(found.mesh.content_hash)
        except HsdError as error:
            self.error = error.message
        return view.domain_of(state, self.ready, self.title)

    def drawn(self) -> None:
        """The page is drawn to its end."""
        self._panel.done(self.ready is not None)

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
        panel = self._panel

        def head(share: float, words: str) -> None:
            panel.share, panel.head = share, words

        return answers.outcomes(self.ready, head, panel.attend)

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
