"""Plots of Model Comparison: the error by Hodge part, and what repeated steps keep of mass, energy and enstrophy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.viz.palettes import PARTS, Look
from hsd.viz.style import Ink, colour_on, log_ticks, styled

FLOOR = 1e-6
"""Errors below this are drawn there: rounding of float32 models."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One model's line: title, look, times (T,), values by name of the strip (T,)."""

    title: str
    look: Look
    times: np.ndarray
    values: Mapping[str, np.ndarray]


def parts_figure(rows: Mapping[str, Mapping[str, float]], ink: Ink) -> go.Figure:
    """Bars of ‖π_q(ω_p − ω_g)‖/‖ω_g‖ on a logarithmic axis: title of the model → Hodge part q → value."""
    figure = go.Figure()
    names = [name for name in PARTS if any(name in parts for parts in rows.values())]
    for name in names:
        look = PARTS[name]
        values = [parts.get(name, np.nan) for parts in rows.values()]
        figure.add_bar(
            y=list(rows), x=np.maximum(values, FLOOR), orientation="h", name=look.name,
            marker={"color": look.colour, "pattern": {"shape": look.pattern, "fillmode": "overlay", "solidity": 0.15,
                                                      "fgcolor": "rgba(255,255,255,.4)", "size": 9}},
            customdata=values, hovertemplate=f"%{{y}}, {look.name}: %{{customdata:.4g}}<extra></extra>",
        )  # fmt: skip
    seen = [v for parts in rows.values() for v in parts.values() if np.isfinite(v)]
    low, high = max(min(seen, default=0.01) * 0.6, FLOOR * 0.8), max(max(seen, default=1.0) * 1.6, 2 * FLOOR)
    height = 70 + 2 * ink.size + (8 + (ink.size - 4) * max(len(names), 1)) * max(len(rows), 1)
    styled(figure, ink, height, "error of the part, relative to the whole truth")
    figure.update_layout(barmode="group", bargap=0.25, legend={"traceorder": "normal"})
    figure.update_xaxes(range=[np.log10(low), np.log10(high)], **log_ticks(low, high))
    figure.update_yaxes(autorange="reversed", showline=False, ticks="")
    return figure


def rollout_figure(
    truth: Curve, curves: Sequence[Curve], step: int, sizes: Mapping[str, float], ink: Ink, height: int = 430
) -> go.Figure:
    """Strips of the curves over one time axis: the truth as a thick line, models as marks at the times they know.

    step  : which of the models' times the player stands at, drawn as a line through all strips
    sizes : name of a strip → what a difference is measured by where the truth is a constant, and perhaps zero
    A strip shows the truth's range and as much beyond it again; what runs away further leaves it.
    """
    strips = list(truth.values)
    figure = make_subplots(rows=len(strips), cols=1, shared_xaxes=True, vertical_spacing=0.1, subplot_titles=strips)
    for row, name in enumerate(strips, 1):
        figure.add_scatter(
            x=truth.times, y=truth.values[name], mode="lines", name=truth.title, legendgroup=truth.title,
            showlegend=row == 1, line={"color": colour_on(truth.look, ink), "width": 3 * ink.thick},
            hovertemplate=f"{truth.title}: {name} = %{{y:.5g}} at t = %{{x:.3g}}<extra></extra>", row=row, col=1,
        )  # fmt: skip
        for curve in curves:
            look, colour = curve.look, colour_on(curve.look, ink)
            figure.add_scatter(
                x=curve.times, y=curve.values[name], mode="lines+markers", name=curve.title, legendgroup=curve.title,
                showlegend=row == 1, line={"color": colour, "width": 1.5 * ink.thick, "dash": look.dash},
                marker={"symbol": look.symbol, "size": 8 * ink.thick, "color": colour},
                hovertemplate=f"{curve.title}: {name} = %{{y:.5g}} at t = %{{x:.3g}}<extra></extra>", row=row, col=1,
            )  # fmt: skip
        low, high = _window(truth.values[name], [c.values[name] for c in curves], sizes.get(name, 0.0))
        figure.update_yaxes(range=[low, high], row=row, col=1, nticks=5)
    styled(figure, ink, round(height * (ink.size / 13) ** 0.5))
    if curves:
        at = curves[0].times[min(step, len(curves[0].times) - 1)]
        figure.add_vline(x=float(at), line={"color": ink.muted, "width": ink.thick, "dash": "dot"})
    figure.update_annotations(font_size=ink.size, x=0, xanchor="left")
    figure.update_layout(legend={"y": 1.08}, margin={"t": 60 + 3 * ink.size})
    figure.update_xaxes(title_text="time t", row=len(strips), col=1)
    return figure


def _window(truth: np.ndarray, others: Sequence[np.ndarray], least: float) -> tuple[float, float]:
    low, high = float(truth.min()), float(truth.max())
    size = max(high - low, 0.5 * max(abs(low), abs(high)), least, 1e-12)
    seen = np.concatenate([truth, *others])
    seen = seen[np.isfinite(seen)]
    return max(low - size, float(seen.min())) - 0.1 * size, min(high + size, float(seen.max())) + 0.1 * size
