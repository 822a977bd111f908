"""Harmonic modes."""

import streamlit as st

from hsd.ui.page import page, space_sentence

with page("Harmonic modes") as p:
    st.write(space_sentence(p.state, p.mesh))
