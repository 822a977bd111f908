"""One look for all plotly figures: fonts, grid and colours per theme.  Use with ``st.plotly_chart(…, theme=None)``."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from hsd.errors import check_choice
from hsd.viz.scene import THEMES


@dataclass(frozen=True)
class Ink:
    """Colours and sizes of a figure: paper, text, grid lines, muted text, font size, line width factor."""

    paper: str
    ink: str
    grid: str
    muted: str
    size: int
    thick: float


LIGHT = Ink("#ffffff", "#1f2328", "#e3e6eb", "#667085", 13, 1.0)
DARK = Ink("#11151c", "#f0f2f5", "#2b313b", "#a4acb8", 13, 1.0)
PROJECTOR = Ink("#ffffff", "#000000", "#c4c8cf", "#333333", 18, 1.5)


def ink_of(theme: str, dark: bool = False) -> Ink:
    """The look of a theme; "auto" is the light or the dark one by what the browser shows."""
    check_choice("theme", theme, THEMES)
    if theme == "projector":
        return PROJECTOR
    return DARK if theme == "dark" or (theme == "auto" and dark) else LIGHT


def styled(figure: go.Figure, ink: Ink, height: int = 360, x: str = "", y: str = "") -> go.Figure:
    """Give a figure the common look; x and y are the axis titles.  Returns the figure."""
    axis = {
        "gridcolor": ink.grid,
        "linecolor": ink.muted,
        "zerolinecolor": ink.grid,
        "ticks": "outside",
        "tickcolor": ink.muted,
        "showline": True,
        "automargin": True,
        "title_standoff": 8,
    }
    figure.update_layout(
        template=go.layout.Template(),  # plotly's own weighs 7 KB a figure
        height=height,
        margin={"l": 8, "r": 12, "t": 34, "b": 8},
        paper_bgcolor=ink.paper,
        plot_bgcolor=ink.paper,
        font={"color": ink.ink, "size": ink.size, "family": "Source Sans, Source Sans 3, sans-serif"},
        hoverlabel={"font": {"size": ink.size}},
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"},
        uirevision="keep",
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    if x:
        figure.update_xaxes(title_text=x)
    if y:
        figure.update_yaxes(title_text=y)
    return figure
