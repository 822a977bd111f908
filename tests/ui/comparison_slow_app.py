"""Model Comparison on which every model takes seconds to be made ready on a mesh, and says how often that was begun."""

from __future__ import annotations

import os
import runpy
import time
from pathlib import Path

import streamlit as st

from hsd.ui import comparison_models

st.set_page_config(layout="wide")


@st.cache_resource
def slow_down() -> None:
    """Once a server: the module is shared by all runs of the page."""
    prepare, begun = comparison_models.prepare, []

    def slowly(model, task, ground, device, progress) -> None:
        begun.append(model.title)
        n, seconds = begun.count(model.title), float(os.environ["SLOW_SECONDS"]) if len(begun) > 2 else 1.0
        for i in range(int(10 * seconds)):
            progress(f"begun {n} times", i / (10 * seconds))
            time.sleep(0.1)
        prepare(model, task, ground, device, progress)

    comparison_models.prepare = slowly


slow_down()
runpy.run_path(str(Path(__file__).parents[2] / "pages" / "model_comparison.py"))
