"""Plots of the Benchmarks page: scores by model, over test samples, against cost, against the mesh; learning curves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from hsd.viz.palettes import Look
from hsd.viz.style import Ink, colour_on, log_ticks, styled


@dataclass(frozen=True)
class Score:
    """One model: title, look, mean, standard deviation over samples (None: not known), values a sample ((): none)."""

    title: str
    look: Look
    mean: float
    std: float | None = None
    samples: Sequence[float] = ()


def box_figure(scores: Sequence[Score], title: str, ink: Ink, log: bool) -> go.Figure:
    """Boxes over test samples, one row a model, best median first; whiskers end at 1.5 interquartile ranges."""
    figure = go.Figure()
    for score in scores:
        colour = colour_on(score.look, ink)
        figure.add_box(
            x=list(score.samples), name=score.title, orientation="h", line={"color": colour, "width": 1.6 * ink.thick},
            fillcolor=_pale(colour), boxmean=True, boxpoints="outliers", jitter=0.4, showlegend=False,
            marker={"size": 3 * ink.thick, "symbol": "circle", "color": colour},
            hovertemplate=f"{score.title}: %{{x:.4g}}<extra></extra>",
        )  # fmt: skip
    values = [v for score in scores for v in score.samples if np.isfinite(v)]
    return _rows(figure, len(scores), values, f"{title}, one value a test sample", ink, log)


def dot_figure(
    scores: Sequence[Score], title: str, ink: Ink, log: bool, lines: Mapping[str, float] | None = None
) -> go.Figure:
    """Means, one row a model, with the standard deviation over samples where it is known.

    lines : name → value of predictors that understand nothing, dashed through all rows
    """
    figure = go.Figure()
    for score in scores:
        colour = colour_on(score.look, ink)
        spread = None
        if score.std is not None:
            low = min(score.std, score.mean * 0.99) if log else score.std
            spread = {"type": "data", "symmetric": False, "array": [score.std], "arrayminus": [low], "color": colour}
        figure.add_scatter(
            x=[score.mean], y=[score.title], mode="markers", showlegend=False, error_x=spread,
            marker={"symbol": score.look.symbol, "size": 11 * ink.thick, "color": colour},
            hovertemplate=f"{score.title}: %{{x:.4g}}<extra></extra>",
        )  # fmt: skip
    values = [s.mean for s in scores] + list((lines or {}).values())
    _rows(figure, len(scores), values, title, ink, log)
    for i, (name, value) in enumerate((lines or {}).items()):
        if log and value <= 0:
            continue
        figure.add_vline(x=value, line={"color": ink.muted, "dash": "dash", "width": ink.thick})
        figure.add_annotation(
            x=np.log10(value) if log else value, y=1.0, yref="paper", text=name, showarrow=False, yanchor="bottom",
            yshift=2 + (i % 2) * (ink.size + 1), font={"size": ink.size - 2, "color": ink.muted},
        )  # fmt: skip
    figure.update_layout(margin={"t": 10 + (2 * ink.size + 8 if lines else 0)})
    return figure


def _rows(figure: go.Figure, n: int, values: Sequence[float], title: str, ink: Ink, log: bool) -> go.Figure:
    styled(figure, ink, 70 + round((15 + ink.size) * max(n, 1)) + 2 * ink.size, title)
    positive = [v for v in values if v > 0]
    if log and positive:
        low, high = min(positive) * 0.8, max(positive) * 1.25
        figure.update_xaxes(range=[np.log10(low), np.log10(high)], **log_ticks(low, high))
    figure.update_yaxes(autorange="reversed", ticks="", type="category")
    figure.update_layout(margin={"t": 14, "r": 20})
    return figure


def _pale(colour: str) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},0.22)"


def trade_figure(points: Sequence[tuple[str, Look, float, float]], x: str, y: str, ink: Ink) -> go.Figure:
    """Error against cost, both logarithmic: (title, look, cost, error); lower left is better."""
    figure = go.Figure()
    for title, look, cost, error in points:
        figure.add_scatter(
            x=[cost], y=[error], mode="markers", name=title,
            marker={"symbol": look.symbol, "size": 12 * ink.thick, "color": colour_on(look, ink)},
            hovertemplate=f"{title}: %{{x:.4g}}, %{{y:.4g}}<extra></extra>",
        )  # fmt: skip
    styled(figure, ink, round(360 * (ink.size / 13) ** 0.5), x, y)
    if points:
        costs, errors = [p[2] for p in points], [p[3] for p in points]
        for update, values in ((figure.update_xaxes, costs), (figure.update_yaxes, errors)):
            low, high = min(values) * 0.7, max(values) * 1.4
            update(range=[np.log10(low), np.log10(high)], **log_ticks(low, high))
    return _legend_beside(figure, ink)


def ratio_figure(of: Mapping[str, float], title: str, ink: Ink) -> go.Figure:
    """Ratios of errors to the full model's on a logarithmic axis, worse to the right."""
    names, ratios = list(of), [max(v, 1e-3) for v in of.values()]
    figure = go.Figure(
        go.Bar(
            x=[r - 1.0 for r in ratios], base=1.0, y=names, orientation="h",
            marker={"color": [_side(r - 1.0) for r in ratios]}, customdata=ratios,
            text=[change_words(r) for r in ratios], textposition="outside", cliponaxis=False,
            hovertemplate="%{y}: ×%{customdata:.4g}<extra></extra>",
        )
    )  # fmt: skip
    styled(figure, ink, 60 + (14 + ink.size) * max(len(names), 1), title)
    low, high = min([*ratios, 0.8]), max([*ratios, 1.25])
    room = (high / low) ** 0.1
    axis = [math.log10(low / room**1.6), math.log10(high * room)]
    figure.update_xaxes(**log_ticks(low, high), range=axis)
    figure.add_vline(x=1.0, line={"color": ink.ink, "width": 1})
    figure.update_yaxes(autorange="reversed", ticks="", type="category")
    figure.update_layout(margin={"t": 8, "r": 40})
    return figure


def change_words(ratio: float) -> str:
    """A ratio up to two as change (+12 %, −34 %), a larger one as factor (×31)."""
    if ratio > 2.0:
        return f"×{ratio:.3g}" if ratio < 100 else f"×{ratio:.0f}"
    change = round(100 * (ratio - 1.0))
    return "±0 %" if change == 0 else f"{change:+d} %".replace("-", "−")


def _side(value: float) -> str:
    return "#B2182B" if value > 0 else "#2166AC"


def mesh_figure(
    lines: Sequence[tuple[str, Look, Sequence[float], Sequence[float]]],
    gap: tuple[Sequence[float], Sequence[float]],
    ink: Ink,
) -> go.Figure:
    """Relative L² against vertices: (title, look, vertices, errors) of each model; ``gap`` is that of the truth,
    which is 0 on the mesh of training and not drawn there."""
    figure = go.Figure()
    for title, look, x, y in lines:
        figure.add_scatter(
            x=list(x), y=list(y), mode="lines+markers", name=title,
            line={"color": colour_on(look, ink), "dash": look.dash, "width": 2 * ink.thick},
            marker={"symbol": look.symbol, "size": 9 * ink.thick},
            hovertemplate=f"{title}, %{{x}} vertices: %{{y:.4g}}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=list(gap[0]), y=[v if v > 0 else None for v in gap[1]], connectgaps=True, mode="lines+markers",
        name="own truth to fine",
        line={"color": ink.muted, "dash": "dot", "width": 2 * ink.thick}, marker={"symbol": "line-ew-open"},
        hovertemplate="own truth to fine %{y:.4g}<extra></extra>",
    )  # fmt: skip
    styled(figure, ink, round(400 * (ink.size / 13) ** 0.5), "vertices", "relative L²")
    values = [v for _, _, _, y in lines for v in y if v > 0] + [v for v in gap[1] if v > 0]
    if values:
        low, high = min(values) * 0.8, max(values) * 1.25
        figure.update_yaxes(range=[np.log10(low), np.log10(high)], **log_ticks(low, high))
    return _legend_beside(figure, ink)


def learning_figure(curve: Mapping[str, Sequence[float]], look: Look, ink: Ink) -> go.Figure:
    """Training loss (dashed) and validation error of a record against epochs, logarithmic."""
    figure, colour = go.Figure(), colour_on(look, ink)
    for key, name, dash in (
        ("train_loss", "training loss", "dash"),
        ("validation", "validation, relative L²", "solid"),
    ):
        y = [np.nan if v is None else v for v in curve[key]]
        figure.add_scatter(
            x=[e + 1 for e in curve["epoch"]], y=y, mode="lines", name=name,
            line={"color": colour, "dash": dash, "width": 2 * ink.thick},
            hovertemplate=f"{name}, epoch %{{x}}: %{{y:.4g}}<extra></extra>",
        )  # fmt: skip
    styled(figure, ink, 250, "epoch")
    values = [v for key in ("train_loss", "validation") for v in curve[key] if v is not None and v > 0]
    if values:
        low, high = min(values) * 0.8, max(values) * 1.25
        figure.update_yaxes(range=[np.log10(low), np.log10(high)], **log_ticks(low, high))
    return figure


def _legend_beside(figure: go.Figure, ink: Ink) -> go.Figure:
    legend = {"orientation": "v", "x": 1.01, "y": 1.0, "yanchor": "top", "font": {"size": ink.size - 1}}
    figure.update_layout(legend=legend, margin={"t": 14})
    return figure
