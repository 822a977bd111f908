"""Router of the app: page configuration and navigation.  Start it with ``streamlit run app.py``."""

import streamlit as st

st.set_page_config(page_title="Hodge explorer", layout="wide")
st.navigation([st.Page("pages/mesh.py", title="Mesh", default=True)]).run()
