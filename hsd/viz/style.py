"""One look for all plotly figures: fonts, grid and colours per theme.  Use with ``st.plotly_chart(…, theme=None)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from hsd.errors import check_choice
from hsd.viz.palettes import ON_DARK, Look
from hsd.viz.scene import THEMES

FONT = '"Source Sans", sans-serif'
"""The app's own font, so that text in plots has the width that plotly reckons with."""


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
DARK = Ink("#14171c", "#f0f2f5", "#2b313b", "#a4acb8", 13, 1.0)
PROJECTOR = Ink("#ffffff", "#000000", "#c4c8cf", "#333333", 18, 1.5)


def ink_of(theme: str, dark: bool = False) -> Ink:
    """The look of a theme; "auto" is the light or the dark one by what the browser shows."""
    check_choice("theme", theme, THEMES)
    if theme == "projector":
        return PROJECTOR
    return DARK if theme == "dark" or (theme == "auto" and dark) else LIGHT


def colour_on(look: Look, ink: Ink) -> str:
    """The colour of a model or of the truth, lighter where it would drown in dark paper."""
    return ON_DARK.get(look.colour, look.colour) if ink.paper == DARK.paper else look.colour


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
        "title": {"standoff": 8, "font": {"size": ink.size}},
        "tickfont": {"size": ink.size - 1},
    }
    figure.update_layout(
        template=go.layout.Template(),  # plotly's own weighs 7 KB a figure
        height=height,
        margin={"l": 8, "r": 12, "t": 34, "b": 8},
        paper_bgcolor=ink.paper,
        plot_bgcolor=ink.paper,
        font={"color": ink.ink, "size": ink.size, "family": FONT},
        modebar={"orientation": "v", "bgcolor": "rgba(0,0,0,0)"},
        hoverlabel={"font": {"size": ink.size}},
        legend={
            "orientation": "h",
            "x": 0,
            "y": 1.01,
            "yanchor": "bottom",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": ink.size - 1},
        },
        uirevision="keep",
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    if x:
        figure.update_xaxes(title_text=x)
    if y:
        figure.update_yaxes(title_text=y)
    return figure


def log_ticks(low: float, high: float) -> dict:
    """A logarithmic axis from low to high (both > 0): ticks at 1, 2, 5 up to three decades, powers of ten beyond."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    decades = np.log10(high / low)
    digits = (1, 2, 5) if decades < 3 else (1,)
    values = np.array([d * 10.0**p for p in powers for d in digits])
    values = values[(values > low * 0.7) & (values < high * 1.4)]
    if len(values) < 3:
        step = 10.0 ** np.floor(np.log10((high - low) / 2))
        step *= next(d for d in (5, 2, 1) if d * step <= (high - low) / 2)
        values = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    if decades >= 6:
        values = values[:: int(np.ceil(decades / 6))]
    texts = [f"{v:g}" if 1e-3 <= v < 1e4 else _power(v) for v in values]
    return {"type": "log", "tickmode": "array", "tickvals": values.tolist(), "ticktext": texts}


def _power(value: float) -> str:
    power = int(np.floor(np.log10(value) + 1e-9))
    digit = round(value / 10.0**power)
    return f"10<sup>{power}</sup>" if digit == 1 else f"{digit}·10<sup>{power}</sup>"
