"""Running the whole page again from within a run, without losing messages that the browser has just thrown away."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def run_again() -> NoReturn:
    """End this run, or the run of a fragment, and run the whole page.

    ``st.rerun`` goes on with the list of messages that the browser had when the run began and names those by their hash
    alone; but at the end of each run the browser drops old ones, and then shows "Cached ForwardMsg MISS" for those that
    come back.  With the list forgotten every message is sent whole, once.
    """
    context = get_script_run_ctx()
    if context is not None:
        context.cached_message_hashes = frozenset()
    st.rerun(scope="app")
