"""What the pages share: cached calls, state and widgets.  Only this layer, the pages and app.py know Streamlit."""
