"""Plots of level sets: β0 and overlap against the threshold for truth and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.viz.palettes import Look
from hsd.viz.style import Ink, colour_on, styled


@dataclass(frozen=True, eq=False)
class LevelCurve:
    """One field's curves over the steps (n,): β0, and overlap with the truth (None: of the truth itself)."""

    title: str
    look: Look
    counts: np.ndarray
    overlaps: np.ndarray | None


def levels_figure(
    percent: np.ndarray, curves: Sequence[LevelCurve], step: int, ink: Ink, height: int = 400
) -> go.Figure:
    """β0(t) above IoU(t); the truth first and thick.  step: where the slider stands, marked through both.

    Counts are drawn on a scale that is linear up to about ten and logarithmic beyond, so that a noisy model does not
    flatten the others.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.62, 0.38])
    for curve in curves:
        true, look = curve.overlaps is None, curve.look
        line = {"color": colour_on(look, ink), "width": (3.4 if true else 1.7) * ink.thick, "dash": look.dash}
        figure.add_scatter(
            x=percent, y=_scale(curve.counts), mode="lines", name=curve.title, legendgroup=curve.title,
            line=line | {"shape": "hv"}, customdata=curve.counts,
            hovertemplate=f"{curve.title}: β0 = %{{customdata}} at %{{x}} %<extra></extra>", row=1, col=1,
        )  # fmt: skip
        if not true:
            figure.add_scatter(
                x=percent, y=curve.overlaps, mode="lines", name=f"IoU {curve.title}", legendgroup=curve.title,
                showlegend=False, line=line,
                hovertemplate=f"{curve.title}: IoU = %{{y:.3f}} at %{{x}} %<extra></extra>", row=2, col=1,
            )  # fmt: skip
    figure.add_scatter(
        x=[percent[step]] * len(curves), y=[float(_scale(c.counts)[step]) for c in curves], mode="markers",
        marker={"size": 9 * ink.thick, "color": [colour_on(c.look, ink) for c in curves],
                "symbol": [c.look.symbol for c in curves], "line": {"color": ink.ink, "width": 1}},
        text=[f"{c.title}: β0 = {c.counts[step]}" for c in curves], hovertemplate="%{text}<extra></extra>",
        showlegend=False, name="now", row=1, col=1,
    )  # fmt: skip
    styled(figure, ink, round(height * (ink.size / 13) ** 0.5))
    figure.add_vline(x=float(percent[step]), line={"color": ink.muted, "width": 1.6 * ink.thick, "dash": "dot"})
    top = max(int(c.counts.max(initial=1)) for c in curves)
    marks = [m for m in (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if m <= 1.3 * top]
    figure.update_yaxes(
        title_text="β0(t)", tickvals=_scale(np.array(marks)).tolist(), ticktext=[str(m) for m in marks], row=1, col=1
    )
    if len(curves) > 1:
        figure.update_yaxes(title_text="IoU(t)", range=[-0.03, 1.03], nticks=4, row=2, col=1)
    figure.update_xaxes(title_text="threshold t, % of the truth's range", row=2, col=1)
    figure.update_xaxes(range=[-1, 101])
    return figure


def _scale(counts: np.ndarray) -> np.ndarray:
    """asinh(count / 3): about linear for few, logarithmic for many."""
    return np.arcsinh(np.asarray(counts, float) / 3.0)
