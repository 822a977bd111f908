"""Plots of a Hodge decomposition: the energy bar, and the energies of its parts along the heat flow."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from hsd.hodge.decomposition import PARTS
from hsd.viz.palettes import PARTS as LOOKS
from hsd.viz.style import Ink, styled


def energy_bar(energies: Mapping[str, float], ink: Ink) -> go.Figure:
    """Shares ‖part‖² / ‖ω‖² as one bar of three pieces, told apart by colour and pattern."""
    total = energies["total"] or 1.0
    figure = go.Figure()
    for part in PARTS:
        look, share = LOOKS[part], energies[part] / total
        figure.add_bar(
            x=[share],
            y=["‖ω‖²"],
            orientation="h",
            name=look.name.split()[-1],  # the symbol: the legend stays in one line in big type
            text=[f"{100 * share:.3g} %" if share > 0.009 * ink.size else ""],
            constraintext="none",
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            marker={
                "color": look.colour,
                "pattern": {
                    "shape": look.pattern,
                    "fillmode": "overlay",
                    "fgcolor": "rgba(255,255,255,.4)",
                    "size": 9,
                    "solidity": 0.15,
                },
            },
            textfont={"color": "#ffffff", "size": ink.size + 1},
            hovertemplate=f"{look.name}: %{{x:.6g}} of ‖ω‖²<extra></extra>",
        )
    styled(figure, ink, 60 + 5 * ink.size)
    margin = {"l": 1.3 * ink.size, "r": 2 * ink.size}  # the ticks 0 % and 100 % stand out on both sides
    figure.update_layout(barmode="stack", bargap=0.1, legend_traceorder="normal", margin=margin)
    figure.update_xaxes(range=[0, 1.004], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%", fixedrange=True)
    figure.update_yaxes(showticklabels=False, fixedrange=True, showline=False, ticks="")
    return figure


def heat_figure(
    times: np.ndarray,
    energies: Mapping[str, np.ndarray],
    now: float,
    eigenvalues: Mapping[str, float],
    ink: Ink,
    length2: float,
) -> go.Figure:
    """‖part(t)‖² against t / L² on log axes, the present time as a line, and e^{−2λt} of the lowest eigenvalues.

    times : (T,) > 0;  energies : part → (T,);  eigenvalues : part → λ (only those known)
    """
    figure = go.Figure()
    top = max(float(np.max(energies[p], initial=0.0)) for p in PARTS) or 1.0
    floor = top * 1e-12
    for part in PARTS:
        look, values = LOOKS[part], np.asarray(energies[part])
        if not (values > floor).any():
            continue
        figure.add_scatter(
            x=times / length2,
            y=np.where(values > floor, values, np.nan),
            mode="lines",
            name=look.name,
            line={"color": look.colour, "dash": look.dash, "width": 2.5 * ink.thick},
            hovertemplate=f"t = %{{x:.3g}} L²: {look.name} %{{y:.4g}}<extra></extra>",
        )
        lam = eigenvalues.get(part)
        seen = np.flatnonzero(values > floor)
        if lam and np.isfinite(lam) and len(seen):
            anchor = seen[-1]
            guide = values[anchor] * np.exp(-2 * lam * (times - times[anchor]))
            guide = np.where((guide > floor) & (guide < 30 * top), guide, np.nan)
            figure.add_scatter(
                x=times / length2,
                y=guide,
                mode="lines",
                name=f"e^(−2λt), λ = {lam:.4g}",
                line={"color": look.colour, "dash": "dot", "width": 1.2 * ink.thick},
                hoverinfo="skip",
            )
    styled(figure, ink, 300, "time t / L²", "‖part‖²")
    figure.update_xaxes(type="log", exponentformat="power", dtick=1)
    figure.update_yaxes(type="log", range=[np.log10(floor), np.log10(top * 3)], exponentformat="power")
    if now > 0:
        figure.add_vline(x=now / length2, line={"color": ink.ink, "width": 1.5 * ink.thick})
    return figure
