"""Curves of training runs: raw and smoothed errors against epochs, the learning rate, and what is read off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.viz.palettes import CATEGORICAL
from hsd.viz.style import DARK, Ink, log_ticks, styled

Entry = Mapping[str, Any]
KINDS = {"train": ("train_loss", "dash", "training loss"), "validation": ("validation", "solid", "validation error")}
"""Name → entry of the log, dash, words."""
ON_DARK = (CATEGORICAL[4], *CATEGORICAL[1:4], CATEGORICAL[0], *CATEGORICAL[5:])
"""The same colours with the lighter blue first."""
PAUSE = 10.0
"""Gaps between entries that are so many times the usual one are pauses, not training."""


@dataclass(frozen=True)
class Curve:
    """One run.  log : entries of its epochs;  steps: entries between them (hsd.training.step_log)."""

    name: str
    log: Sequence[Entry]
    steps: Sequence[Entry] = field(default=())

    def epochs(self) -> np.ndarray:
        """Epochs finished, (n,)."""
        return np.array([e["epoch"] + 1 for e in self.log], float)

    def step_epochs(self) -> np.ndarray:
        """Where the entries between epochs lie on the axis of epochs, (m,); empty where no epoch's length is known."""
        each = steps_an_epoch(self.log, self.steps)
        return np.array([s["step"] / each for s in self.steps], float) if each else np.zeros(0)


def steps_an_epoch(log: Sequence[Entry], steps: Sequence[Entry]) -> float:
    """Optimiser steps of an epoch; before the first one has ended as many as are done, at least."""
    if log:
        return log[0]["step"] / (log[0]["epoch"] + 1)
    return float(max((s["step"] for s in steps), default=0))


def smoothed(values: Sequence[float], weight: float) -> np.ndarray:
    """s_i = Σ_j w^(i−j) x_j / Σ_j w^(i−j) over j ≤ i: exponential average with weight w of the past, no start bias."""
    out, total, norm = [], 0.0, 0.0
    for value in values:
        total, norm = weight * total + value, weight * norm + 1.0
        out.append(total / norm)
    return np.array(out)


def curve_figure(
    curves: Sequence[Curve], weight: float, ink: Ink, log_x: bool = False, log_y: bool = True, height: int = 430
) -> go.Figure:
    """Training loss (dashed) and validation error (solid) of runs against epochs, raw faint and smoothed bold.

    The best validation error of each run has a mark; the strip below is the learning rate.  One colour a run.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.8, 0.2], vertical_spacing=0.04)
    several, colours = len(curves) > 1, ON_DARK if ink.paper == DARK.paper else CATEGORICAL
    for i, curve in enumerate(curves):
        colour = colours[i % len(colours)]
        x = curve.epochs()
        if i == 0 and len(curve.steps):
            at = curve.step_epochs()
            figure.add_scatter(
                x=at, y=[s["train_loss"] for s in curve.steps], mode="lines", name="loss of steps", showlegend=False,
                line={"color": colour, "width": 1, "dash": "dot"}, opacity=0.3,
                hovertemplate="steps near epoch %{x:.2f}: loss %{y:.4g}<extra></extra>", row=1, col=1,
            )  # fmt: skip
        for kind, (entry, dash, words) in KINDS.items():
            y = [e[entry] for e in curve.log]
            name = f"{curve.name}, {words}" if several else words
            figure.add_scatter(
                x=x, y=y, mode="lines", name=f"{curve.name}: {kind}, raw", showlegend=False, opacity=0.35,
                line={"color": colour, "width": ink.thick, "dash": dash}, hoverinfo="skip", row=1, col=1,
            )  # fmt: skip
            figure.add_scatter(
                x=x, y=smoothed(y, weight), mode="lines" if len(y) > 1 else "markers", name=name, customdata=y,
                line={"color": colour, "width": 2.6 * ink.thick, "dash": dash}, marker={"color": colour},
                showlegend=not several or kind == "validation",
                hovertemplate=f"{curve.name}<br>epoch %{{x}}: {words} %{{customdata:.5g}}, smoothed %{{y:.5g}}"
                "<extra></extra>",
                row=1, col=1,
            )  # fmt: skip
        if len(x):
            values = [e["validation"] for e in curve.log]
            best = int(np.argmin(values))
            figure.add_scatter(
                x=[x[best]], y=[values[best]], mode="markers", name=f"{curve.name}: best", showlegend=False,
                marker={"symbol": "star", "color": colour, "size": 11 * ink.thick,
                        "line": {"color": ink.ink, "width": 1}},
                hovertemplate=f"{curve.name}<br>best validation error %{{y:.5g}} in epoch %{{x}}<extra></extra>",
                row=1, col=1,
            )  # fmt: skip
        figure.add_scatter(
            x=x, y=[e["lr"] for e in curve.log], mode="lines", name=f"{curve.name}: learning rate", showlegend=False,
            line={"color": colour, "width": 1.6 * ink.thick, "shape": "hv"},
            hovertemplate="epoch %{x}: learning rate %{y:.3g}<extra></extra>", row=2, col=1,
        )  # fmt: skip
    styled(figure, ink, round(height * (ink.size / 13) ** 0.5))
    figure.update_xaxes(title_text="epoch", row=2, col=1)
    figure.update_xaxes(range=_x_range(curves, log_x), type="log" if log_x else "linear")
    figure.update_yaxes(title_text="relative L2", row=1, col=1)
    figure.update_yaxes(title_text="rate", rangemode="tozero", nticks=3, tickformat=".0e", row=2, col=1)
    if log_y:
        low, high = _y_range(curves)
        figure.update_yaxes(**log_ticks(low, high), range=[float(np.log10(low)), float(np.log10(high))], row=1, col=1)
    return figure


def _x_range(curves: Sequence[Curve], log: bool) -> list[float]:
    tops = [curve.epochs().max(initial=1.0) for curve in curves]
    tops += [curve.step_epochs().max(initial=1.0) for curve in curves[:1]]
    top = max([*tops, 2.0])
    return [0.0, float(np.log10(1.05 * top))] if log else [0.0, 1.02 * top]


def _y_range(curves: Sequence[Curve]) -> tuple[float, float]:
    values = [e[key] for c in curves for e in c.log for key in ("train_loss", "validation")]
    values += [s["train_loss"] for c in curves[:1] for s in c.steps]
    values = [v for v in values if v > 0] or [0.1, 1.0]
    return 0.8 * min(values), 1.25 * max(values)


# ---- read off ----------------------------------------------------------------------------------------------------


def seconds_left(steps: Sequence[Entry], last: int = 30) -> float | None:
    """Time to the end of the schedule at the pace of the last entries, pauses left out; None where it is not known.

    The pace counts all that happens between steps, as validation and the saving of states.
    """
    recent = list(steps)[-last:]
    if len(recent) < 3 or not recent[-1]["total_steps"]:
        return None
    gaps = np.diff([s["time"] for s in recent])
    done = np.diff([s["step"] for s in recent])
    usual = np.median(gaps / np.maximum(done, 1))
    running = (done > 0) & (gaps <= PAUSE * np.maximum(usual * done, 0.5))
    if not running.any():
        return None
    pace = gaps[running].sum() / done[running].sum()
    return float(pace * max(recent[-1]["total_steps"] - recent[-1]["step"], 0))


def share_done(log: Sequence[Entry], steps: Sequence[Entry]) -> float:
    """Part of the schedule that is done, 0…1; 0 where its length is not known."""
    last = max([*log[-1:], *steps[-1:]], key=lambda e: e["step"], default=None)
    return min(last["step"] / last["total_steps"], 1.0) if last is not None and last["total_steps"] else 0.0


def differing(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, list]:
    """Table of the entries in which configurations differ: column "entry", and one a run; no rows where none does."""
    names = sorted({key for config in configs.values() for key in config})
    rows = [(n, [config.get(n, "–") for config in configs.values()]) for n in names]
    rows = [(n, values) for n, values in rows if len({repr(v) for v in values}) > 1]
    columns = {run: [str(values[i]) for _, values in rows] for i, run in enumerate(configs)}
    return {"entry": [n for n, _ in rows], **columns}


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested entries under dotted names."""
    out = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            out |= flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out
