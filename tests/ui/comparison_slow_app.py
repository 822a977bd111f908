"""Model Comparison on which no model is made ready on a mesh before a file is there; says how often that was begun."""

from __future__ import annotations

import os
import runpy
import time
from pathlib import Path

import streamlit as st

from hsd.ui import comparison_models
from hsd.ui.viewer.assets import ensure_static

st.set_page_config(layout="wide")


@st.cache_resource
def slow_down() -> None:
    """Once a server: the module is shared by all runs of the page."""
    prepare, begun = comparison_models.prepare, []

    def slowly(model, task, ground, device, progress) -> None:
        begun.append(model.title)
        n, gate = begun.count(model.title), Path(os.environ["GATE"])
        while not gate.exists():
            progress(f"begun {n} times", 0.5)
            time.sleep(0.05)
        prepare(model, task, ground, device, progress)

    comparison_models.prepare = slowly


ensure_static(Path(__file__).parent)  # Streamlit serves the folder beside the script
slow_down()
runpy.run_path(str(Path(__file__).parents[2] / "pages" / "model_comparison.py"))
