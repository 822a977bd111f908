"""Plots of models' spectra: |c|² against λ by Hodge part, of one sample or as median and band over many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.viz.palettes import MODELS, PARTS, Look
from hsd.viz.style import Ink, colour_on, log_ticks, styled

FLOOR = 1e-14
"""Energies below this share of the largest are rounding; logarithmic axes end here."""
SHARE = 0.1
"""Width of the harmonic strip."""


@dataclass(frozen=True, eq=False)
class Line:
    """One field: title, look, energies (n,) and those of its error (None: of the truth); bands (n,) low and high."""

    title: str
    look: Look
    energies: np.ndarray
    errors: np.ndarray | None = None
    band: tuple[np.ndarray, np.ndarray] | None = None
    error_band: tuple[np.ndarray, np.ndarray] | None = None


def spectra_figure(
    eigenvalues: np.ndarray,
    part: np.ndarray,
    lines: Sequence[Line],
    ink: Ink,
    *,
    cut: float | None = None,
    log: bool = True,
    unit: str = "",
    height: int = 560,
) -> go.Figure:
    """|c|² of truth and models above, |c_p − c_g|² below; one column a Hodge part, harmonic modes (λ = 0) in a strip.

    eigenvalues, part : (n,) of modes or blocks;  cut: eigenvalue of the last mode kept, marked through all columns
    """
    names = [p for p in ("harmonic", "exact", "coexact") if (part == p).any()]
    errors = any(line.errors is not None for line in lines)
    widths = [SHARE if p == "harmonic" else (1.0 - SHARE * ("harmonic" in names)) for p in names]
    rest = max(sum(p != "harmonic" for p in names), 1)
    widths = [w if p == "harmonic" else w / rest for p, w in zip(names, widths)]
    figure = make_subplots(
        rows=2 if errors else 1, cols=len(names), shared_xaxes="columns", shared_yaxes=True, horizontal_spacing=0.02,
        vertical_spacing=0.06, column_widths=[w / sum(widths) for w in widths],
        subplot_titles=[PARTS[p].name for p in names],
    )  # fmt: skip
    for line in lines:
        for col, name in enumerate(names, 1):
            mine = np.flatnonzero(part == name)
            x = np.arange(1, len(mine) + 1) if name == "harmonic" else eigenvalues[mine]
            _draw(figure, line, line.energies, line.band, x, mine, (1, col), ink, log, name == "harmonic")
            if line.errors is not None:
                _draw(
                    figure, line, line.errors, line.error_band, x, mine, (2, col), ink, log, name == "harmonic", False
                )
    styled(figure, ink, round(height * (ink.size / 13) ** 0.5))
    _axes(figure, eigenvalues, part, names, lines, errors, log, unit, cut, ink)
    figure.update_annotations(font_size=ink.size)
    figure.update_layout(legend={"y": 1.09}, margin={"t": 60 + 2 * ink.size})
    return figure


def _draw(
    figure, line: Line, values, band, x, mine, cell, ink: Ink, log: bool, strip: bool, legend: bool = True
) -> None:
    true = line.look is MODELS["truth"]
    colour = colour_on(line.look, ink)
    row, col = cell
    floor = FLOOR * float(np.nanmax(np.where(np.isfinite(line.energies), line.energies, 0.0), initial=0.0))
    y = np.maximum(values[mine], floor) if log else values[mine]
    if band is not None and not strip:
        low, high = (np.maximum(b[mine], floor) if log else b[mine] for b in band)
        figure.add_scatter(
            x=np.r_[x, x[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="none", fillcolor=_pale(colour),
            hoverinfo="skip", showlegend=False, legendgroup=line.title, name=f"{line.title}: half of the samples",
            row=row, col=col,
        )  # fmt: skip
    style = {"color": colour, "width": (2.6 if true else 1.4) * ink.thick, "dash": line.look.dash}
    error_y = None
    if band is not None and strip:
        low, high = (b[mine] for b in band)
        error_y = {
            "type": "data",
            "symmetric": False,
            "array": high - y,
            "arrayminus": np.maximum(y - low, 0),
            "width": 2,
        }
    figure.add_scatter(
        x=x, y=y, mode="markers" if strip or len(x) == 1 else "lines+markers", name=line.title, line=style,
        marker={"symbol": line.look.symbol, "size": (9 if strip else 4) * ink.thick, "color": colour},
        legendgroup=line.title, showlegend=bool(legend and col == 1), error_y=error_y,
        hovertemplate=f"{line.title}, λ = " + ("0" if strip else "%{x:.5g}") + ": %{y:.4g}<extra></extra>",
        row=row, col=col,
    )  # fmt: skip


def _pale(colour: str) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},0.16)"


def _axes(figure, eigenvalues, part, names, lines, errors: bool, log: bool, unit: str, cut, ink: Ink) -> None:
    rows = 2 if errors else 1
    for col, name in enumerate(names, 1):
        if name == "harmonic":
            n = int((part == name).sum())
            axis = {"range": [0.3, n + 0.7], "showticklabels": False, "ticks": ""}
            figure.update_xaxes(**axis, col=col)
            figure.update_xaxes(title_text="λ = 0", row=rows, col=col)
            continue
        mine = eigenvalues[part == name]
        low, high = float(mine.min()), float(mine.max())
        scale = {"range": [0.0, 1.03 * high]}
        if log:
            scale = log_ticks(low, high) | {"range": [np.log10(0.8 * low), np.log10(1.2 * high)], "tickangle": 0}
        figure.update_xaxes(**scale, col=col)
        figure.update_xaxes(title_text=f"eigenvalue λ{unit}", row=rows, col=col)
        if cut is not None:
            for row in range(1, rows + 1):
                line = {"color": ink.muted, "width": 1.6 * ink.thick, "dash": "dot"}
                figure.add_vline(x=cut, line=line, row=row, col=col)
    titles = ("energy |c|²", "error |cₚ − c|²")
    for row in range(1, rows + 1):
        figure.update_yaxes(title_text=titles[row - 1], row=row, col=1)
        if log:
            shown = [line.energies if row == 1 else line.errors for line in lines]
            low, high = _limits([v for v in shown if v is not None])
            figure.update_yaxes(**log_ticks(low, high), range=[np.log10(low), np.log10(high)], row=row)


def _limits(values: Sequence[np.ndarray]) -> tuple[float, float]:
    """From the smallest energy that matters to the largest; at most ten decades."""
    seen = np.concatenate([v[np.isfinite(v) & (v > 0)] for v in values])
    if not len(seen):
        return 1e-3, 1.0
    high = float(seen.max())
    return max(float(np.quantile(seen, 0.02)) * 0.4, 1e-10 * high), 2.0 * high
