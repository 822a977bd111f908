"""Router of the app: page configuration and navigation.  Start it with ``streamlit run app.py``."""

import streamlit as st

from hsd.ui.state import get_state

st.set_page_config(page_title="Hodge explorer", page_icon="⬡", layout="wide")
pages = [
    st.Page("pages/mesh.py", title="Mesh", icon=":material/deployed_code:", default=True),
    st.Page("pages/harmonic_modes.py", title="Harmonic Modes", icon=":material/graphic_eq:"),
    st.Page("pages/hodge_decomposition.py", title="Hodge Decomposition", icon=":material/call_split:"),
    st.Page("pages/spectral_energy.py", title="Spectral Energy", icon=":material/show_chart:"),
    st.Page("pages/tasks.py", title="Tasks", icon=":material/dataset:"),
    st.Page("pages/training.py", title="Training", icon=":material/model_training:"),
    st.Page("pages/model_comparison.py", title="Model Comparison", icon=":material/compare:"),
    st.Page("pages/level_sets.py", title="Level Sets", icon=":material/bubble_chart:"),
    st.Page("pages/benchmarks.py", title="Benchmarks", icon=":material/leaderboard:"),
    st.Page("pages/learn.py", title="Learn", icon=":material/school:"),
]
st.set_option("client.showSidebarNavigation", True)  # off until now: .streamlit/config.toml
st.navigation(pages, position="hidden" if get_state().present else "sidebar").run()
