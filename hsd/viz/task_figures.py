"""Plots of the Tasks page: what a trajectory keeps and loses, and the energies of a task card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.viz.palettes import CATEGORICAL
from hsd.viz.palettes import PARTS as LOOKS
from hsd.viz.style import Ink, styled

DASHES, STROKES = ("solid", "dash"), ("—", "- -")
PATTERNS = ("", ".", "+", "-")
HARMONIC, LOCAL, FAR = "harmonic", "local", "global"


def history_figure(
    times: np.ndarray,
    curves: Mapping[str, np.ndarray],
    step: int,
    ink: Ink,
    height: int = 430,
    sizes: Mapping[str, float] | None = None,
) -> go.Figure:
    """Curves against time in strips that share the time axis; the present step is marked on each.

    Least and largest value share a strip.  What stays the same to 1e-6 of its size (``sizes``, else its largest value)
    is drawn on a wide range, so that rounding does not look like a change.
    """
    strips: list[list[str]] = []
    for name in curves:
        if name.startswith("max") and strips and strips[-1][0].startswith("min"):
            strips[-1].append(name)
        else:
            strips.append([name])
    heads = [", ".join(f"{name} {STROKES[i]}" if len(s) > 1 else name for i, name in enumerate(s)) for s in strips]
    figure = make_subplots(rows=len(strips), cols=1, shared_xaxes=True, vertical_spacing=0.13, subplot_titles=heads)
    step = int(np.clip(step, 0, len(times) - 1))
    colours = iter(CATEGORICAL)
    for row, names in enumerate(strips, 1):
        for i, name in enumerate(names):
            y, colour = np.asarray(curves[name], float), next(colours)
            figure.add_scatter(
                x=times, y=y, mode="lines", name=name,
                line={"color": colour, "width": 2 * ink.thick, "dash": DASHES[i]},
                hovertemplate=f"{name} = %{{y:.6g}} at t = %{{x:.3g}}<extra></extra>", row=row, col=1,
            )  # fmt: skip
            figure.add_scatter(
                x=[times[step]], y=[y[step]], mode="markers", showlegend=False, hoverinfo="skip",
                marker={"color": colour, "size": 9 * ink.thick, "line": {"color": ink.ink, "width": 1.5}},
                row=row, col=1,
            )  # fmt: skip
        together = np.concatenate([curves[n] for n in names])
        low, high = float(together.min()), float(together.max())
        size = max(abs(low), abs(high), (sizes or {}).get(names[0], 0.0))
        if high - low <= 1e-6 * size:
            figure.update_yaxes(range=[low - 0.1 * size, high + 0.1 * size], row=row, col=1)
    styled(figure, ink, round(height * (ink.size / 13) ** 0.5))
    figure.update_layout(showlegend=False)
    figure.update_annotations(font_size=ink.size, x=0, xanchor="left")
    figure.update_xaxes(range=[times[0], times[-1] + 0.02 * (times[-1] - times[0])])
    figure.update_xaxes(title_text="time t", row=len(strips), col=1)
    figure.update_yaxes(nticks=5 if ink.size < 16 else 4)
    return figure


def change_words(curves: Mapping[str, np.ndarray], sizes: Mapping[str, float]) -> str:
    """How far the conserved curve moves by its size, and whether the others ever grow: a sentence each."""
    out = []
    for name, y in curves.items():
        if name in sizes:
            out.append(f"{name} changes by {float(np.ptp(y)) / (sizes[name] or 1.0):.1e} of ∫|·|.")
        elif "½" in name:
            grows = float(np.diff(y).max(initial=0.0)) > 1e-12 * float(np.abs(y).max())
            kept = float(y[-1] / y[0]) if y[0] else 1.0
            out.append(f"{name}: {100 * kept:.3g} % is left{'' if grows else ', never growing'}.")
    return " ".join(out)


def shares_figure(card: Mapping[str, Any], ink: Ink) -> go.Figure:
    """Energy of the target by Hodge part and by making, one bar each, told apart by colour and pattern."""
    figure = go.Figure()
    rows = {"Hodge": card["shares"]} | ({"making": card["parts"]} if card["parts"] else {})
    shown = set()
    for row, shares in rows.items():
        for i, (part, share) in enumerate(shares.items()):
            if share < 1e-9:
                continue
            look = LOOKS.get(part)
            making = row == "making" and part != HARMONIC
            colour = CATEGORICAL[{LOCAL: 1, FAR: 4}.get(part, i + 3)] if making else look.colour
            pattern = PATTERNS[1 + i % 3] if making else look.pattern
            name = part
            figure.add_bar(
                x=[share], y=[row], orientation="h", name=name, legendgroup=name, showlegend=name not in shown,
                text=[f"{100 * share:.0f} %" if share > 0.1 else ""], textposition="inside", textangle=0,
                insidetextanchor="middle", constraintext="none",
                textfont={"color": "#000000" if making else "#ffffff", "size": ink.size},
                marker={"color": colour, "pattern": {"shape": pattern, "fillmode": "overlay", "solidity": 0.15,
                                                     "fgcolor": "rgba(255,255,255,.4)", "size": 9}},
                hovertemplate=f"{row}, {part}: %{{x:.4g}} of the energy<extra></extra>",
            )  # fmt: skip
            shown.add(name)
    styled(figure, ink, 5 * ink.size + (26 + ink.size) * len(rows))
    legend = {"traceorder": "normal", "entrywidth": 0.5, "entrywidthmode": "fraction", "x": -0.1}
    legend["font"] = {"size": min(ink.size - 1, 14)}
    margin = {"r": 2 * ink.size, "t": 4 * ink.size}
    figure.update_layout(barmode="stack", bargap=0.25, legend=legend, margin=margin)
    figure.update_xaxes(range=[0, 1.004], tickvals=[0, 0.5, 1], tickformat=".0%", fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True, showline=False, ticks="")
    return figure


def predictor_figure(card: Mapping[str, Any], names: Mapping[str, str], ink: Ink) -> go.Figure:
    """Relative L2 of predictors that understand nothing; 1 is as bad as answering zero."""
    known = {names.get(n, n): e for n, e in card["predictors"].items() if e is not None}
    figure = go.Figure(
        go.Bar(
            x=list(known.values()), y=list(known), orientation="h", marker={"color": ink.muted},
            text=[f"{e:.3f}" for e in known.values()], textposition="outside", cliponaxis=False,
            hovertemplate="%{y}: %{x:.5g}<extra></extra>",
        )
    )  # fmt: skip
    styled(figure, ink, 50 + (12 + ink.size) * len(known), "relative L2, test samples")
    top = max(known.values(), default=1.0)
    figure.update_layout(margin={"t": 6, "r": 3 * ink.size})
    figure.update_xaxes(range=[0, 1.15 * top], nticks=4)
    figure.update_yaxes(autorange="reversed", showline=False, ticks="")
    return figure
