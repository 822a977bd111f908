"""What a visitor will probably ask for next, computed in one thread while the server rests."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor

import streamlit as st

Wanted = Callable[[], bool]
PAUSE = 0.4
"""Seconds from a wish to its work, in which the page that wished is drawn."""
BELOW = 10
"""How much less the thread counts than those that answer somebody."""


class Ahead:
    """Does the latest wish; older ones are dropped, also between the parts of their work.

    What a job computes it leaves in caches.  One that fails says nothing: the page says so when it gets there.
    """

    def __init__(self, pause: float = PAUSE):
        self._pause = pause
        self._latest: Hashable = None
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ahead", initializer=_step_back)

    def wish(self, key: Hashable, job: Callable[[Wanted], None]) -> Future | None:
        """Have a job done once the server rests; None where it is the latest wish already.

        key : determines what is computed;  job : called with a function that says whether it is still wanted
        """
        with self._lock:
            if key == self._latest:
                return None
            self._latest = key
        return self._pool.submit(self._do, key, job)

    def _do(self, key: Hashable, job: Callable[[Wanted], None]) -> None:
        def wanted() -> bool:
            return self._latest == key

        if wanted():
            time.sleep(self._pause)
        if wanted():
            _quietly(repr(key), job, wanted)


@st.cache_resource(max_entries=2, show_spinner=False)
def _quietly(key: str, _job: Callable[[Wanted], None], _wanted: Wanted) -> None:
    """Functions cached with a spinner show none inside of another cached one; here nobody would see it."""
    _job(_wanted)


@st.cache_resource(show_spinner=False)
def ahead() -> Ahead:
    """One for the server."""
    return Ahead()


def _step_back() -> None:
    if sys.platform == "linux":  # where a thread has a priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BELOW)
