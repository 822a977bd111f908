"""Garbage collection of the server: what modules made when they were imported is looked through once only."""

from __future__ import annotations

import gc
import sys
from functools import cache


def freeze_imports() -> None:
    """Take what lives now out of later collections, when modules have been imported since the last call.

    Streamlit collects after every run of a page before its last messages go out.  With torch loaded that is half a
    million objects, most of them of modules, and 0.15 s to each answer of the app.
    """
    _freeze(len(sys.modules))


@cache
def _freeze(n_modules: int) -> None:
    gc.collect()
    gc.freeze()
