"""Long computations in threads of their own, which go on when the run of a page that waits for them is broken off.

    found = works().attend(key, job, show)      # what job(progress) returns or raises

A click breaks a run of a page off wherever it draws.  The next run asks for the same key and waits on where the last
one stopped; so do other visitors.  A job draws nothing itself: what it reports is drawn by those who wait.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any

import streamlit as st

Progress = Callable[[float, str], None]
"""Called by a job with the share done and a stage in words.  Raises Unwanted where the job is to end."""
Show = Callable[[float, str, float], None]
"""Called by those who wait, every LOOK seconds, with what the job reported last and its age in seconds."""
LOOK = 0.25
"""Seconds between two looks at a job, and before the first: what is quicker than that draws nothing."""
PATIENCE = 3.0
"""Seconds without anybody waiting for it, after which a job gives way to one that is waited for."""
FORGOTTEN = 600.0
"""The same where it is in nobody's way."""
NAME = "at work"


class Unwanted(Exception):
    """Nobody waits any more for what is being computed."""


class Work:
    """One computation under way.  ``waiting``: how many wait for it;  ``left``: when the last of them went."""

    def __init__(self) -> None:
        self.begun = self.left = monotonic()
        self.waiting = 0
        self.said: tuple[float, str] = (0.0, "")
        self.done = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind, error, trace) -> bool:
        """Whatever ends the job is raised by those who wait."""
        self.error = error
        return True


class Works:
    """The computations under way; one that is done is forgotten, its result lives on with those who waited."""

    def __init__(self, patience: float = PATIENCE, forgotten: float = FORGOTTEN):
        self._patience, self._forgotten = patience, forgotten
        self._works: dict[Hashable, Work] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._works)

    def attend(self, key: Hashable, job: Callable[[Progress], Any], show: Show) -> Any:
        """What the job of this key computes, begun here unless it is under way; raises what it raises.

        key : determines the result; whoever asks with it shares one computation
        show : may raise, which ends the waiting and leaves the job at work
        """
        with self._lock:
            work = self._works.get(key)
            is_new = work is None
            if work is None:
                work = self._works[key] = Work()
            work.waiting += 1
        try:
            if is_new:
                threading.Thread(target=self._do, args=(key, work, job), name=NAME, daemon=True).start()
            while not work.done.wait(LOOK):
                show(*work.said, monotonic() - work.begun)
        finally:
            with self._lock:
                work.waiting -= 1
                work.left = monotonic()
        if work.error is not None:
            raise work.error
        return work.result

    def _do(self, key: Hashable, work: Work, job: Callable[[Progress], Any]) -> None:
        def progress(share: float, words: str) -> None:
            work.said = share, words
            with self._lock:
                if self._is_unwanted(work):
                    self._drop(key, work)  # at once: whoever asks from now on begins anew
                    raise Unwanted

        with work:
            work.result = job(progress)
        with self._lock:
            self._drop(key, work)
        work.done.set()

    def _is_unwanted(self, work: Work) -> bool:
        if work.waiting:
            return False
        in_the_way = any(other.waiting for other in self._works.values())
        return monotonic() - work.left > (self._patience if in_the_way else self._forgotten)

    def _drop(self, key: Hashable, work: Work) -> None:
        if self._works.get(key) is work:
            del self._works[key]


@st.cache_resource(show_spinner=False)
def works() -> Works:
    """One for the server."""
    logger = logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context")
    logger.addFilter(_is_news)  # once, whatever the number of servers: it is the same function
    return Works()


def _is_news(record: logging.LogRecord) -> bool:
    """Streamlit warns of functions cached with a spinner that are called in a thread that can show none."""
    return threading.current_thread().name != NAME
