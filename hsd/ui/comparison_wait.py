"""What a page about models says while it computes, and what of it is hidden meanwhile.

The panel stands between header and content.  While another task or mesh than the one shown is computed, the content is
hidden: Streamlit leaves it in its place, greyed, until something new comes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

from hsd.ui.at_work import Progress, works

SHOWN = "comparison/shown"
"""Entry of the session: page, choice and mesh of what was drawn last."""
Thing = TypeVar("Thing")


class Panel:
    """Progress of what a page waits for; there is none to see where nothing takes time.

    title, choice : of the page, and what its task and mesh are chosen by
    """

    def __init__(self, title: str, choice: Hashable):
        self._about: tuple[Hashable, ...] = (title, choice)
        self._place, self._bar, self._stage = st.empty(), None, ""
        self.share, self.head = 0.0, ""

    def is_of(self, mesh: Hashable) -> None:
        """The mesh is known now."""
        self._about = (*self._about[:2], mesh)

    def attend(self, key: Hashable, job: Callable[[Progress], Thing]) -> Thing:
        """What the job computes, its progress shown.  Raises what the job raises."""
        return works().attend(key, job, self._show)

    def _show(self, share: float, words: str, seconds: float) -> None:
        text = ": ".join(part for part in (self.head, words) if part)
        text, done = f"{text or 'Starting'} ({seconds:.0f} s)", min(max(self.share, share), 1.0)
        stage = self._key()
        if self._bar is None or stage != self._stage:
            self._stage = stage
            self._bar = self._place.container(border=True, key=stage).progress(done, text)
        else:
            self._bar.progress(done, text)

    def _key(self) -> str:
        """Rules in hsd.ui.page hide by it what is of another choice or mesh."""
        shown = st.session_state.get(SHOWN)
        if shown is None or shown[: len(self._about)] == self._about:
            return "waiting"
        return "waiting-mesh" if len(self._about) == 2 else "waiting-answers"

    def done(self, drawn: bool = True) -> None:
        """The page is drawn; whether with its subject, or with a sentence that says why there is none."""
        st.session_state[SHOWN] = self._about if drawn else None
        self._place.empty()
