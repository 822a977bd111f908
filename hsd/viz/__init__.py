"""Arrays to figures: plotly and scenes for the viewer.  Nothing here knows the app."""
