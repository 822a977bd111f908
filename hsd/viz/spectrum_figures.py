"""Plots of spectra: eigenvalues with multiplicities, counting functions with Weyl's law, energies, truncation errors.

Parts have their fixed colour, and a symbol or dash each, so that no meaning hangs on colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from hsd.hodge.spectral_energy import SpectralEnergy, WeylLaw
from hsd.hodge.spectrum import PARTS_IN_ORDER
from hsd.viz.palettes import PARTS
from hsd.viz.style import Ink, log_ticks, styled

FLOOR = 1e-16
"""Energies below this share of the total are rounding; log axes end here."""
N_CURVE = 48


def eigenvalue_figure(
    values: np.ndarray,
    parts: Sequence[str],
    blocks: Sequence[np.ndarray],
    current: int,
    ink: Ink,
    cut: Sequence[str] = (),
    hover: Sequence[str] = (),
    unit: str = "",
) -> go.Figure:
    """λ of each mode against its number, by part, with a bracket ×m over each block of equal eigenvalues.

    values, parts : (n,) by eigenvalue;  blocks : mode numbers of each block;  current : the mode that is shown
    cut           : parts whose last block goes on beyond the modes computed
    hover         : more text a mode.  Clicks carry the mode's number in ``customdata``.
    """
    values, parts = np.asarray(values, float), np.asarray(parts)
    figure = go.Figure()
    top = float(values.max(initial=0.0)) or 1.0
    for part in PARTS_IN_ORDER:
        at = np.flatnonzero(parts == part)
        if len(at) == 0:
            continue
        look = PARTS[part]
        text = [hover[i] if len(hover) else "" for i in at]
        figure.add_scatter(
            x=at,
            y=values[at],
            mode="markers",
            name=look.name,
            customdata=at.tolist(),
            text=text,
            marker={"color": look.colour, "symbol": look.symbol, "size": 6 + 2 * ink.thick},
            hovertemplate="mode %{x}: λ = %{y:.6g}<br>%{text}<extra></extra>",
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
        )
    for part in PARTS_IN_ORDER:
        _brackets(figure, values, parts, [b for b in blocks if len(b) > 1 and parts[b[0]] == part], part, top, ink, cut)
    if 0 <= current < len(values):
        figure.add_scatter(
            x=[current],
            y=[values[current]],
            mode="markers",
            name="shown",
            hoverinfo="skip",
            showlegend=False,
            marker={
                "symbol": "circle-open",
                "size": 11 + 6 * ink.thick,
                "color": ink.ink,
                "line": {"width": 2.2 * ink.thick},
            },
        )
    styled(figure, ink, 340, "mode number, by eigenvalue", f"eigenvalue λ{unit}")
    figure.update_layout(clickmode="event+select", dragmode="pan", hovermode="closest")
    figure.update_xaxes(range=[-0.7, len(values) - 0.3])
    figure.update_yaxes(range=[-0.1 * top, 1.14 * top])
    return figure


def _brackets(figure, values, parts, blocks, part, top, ink: Ink, cut) -> None:
    """Brackets of one part: exact (and harmonic) above their marks, coexact below, so that equal ones stay apart."""
    look, sign = PARTS[part], -1 if part == "coexact" else 1
    xs: list[float | None] = []
    ys: list[float | None] = []
    label_x, label_y, labels = [], [], []
    last = int(np.flatnonzero(parts == part)[-1]) if (parts == part).any() else -1
    for block in blocks:
        a, b = float(block[0]) - 0.32, float(block[-1]) + 0.32
        middle = float(values[block].max() if sign > 0 else values[block].min())
        y0, y1 = middle + sign * (0.01 + 0.015 * ink.thick) * top, middle + sign * (0.027 + 0.015 * ink.thick) * top
        xs += [a, a, b, b, None]
        ys += [y0, y1, y1, y0, None]
        more = "+" if part in cut and int(block[-1]) == last else ""
        label_x.append((a + b) / 2)
        label_y.append(y1)
        labels.append(f"×{len(block)}{more}")
    if not blocks:
        return
    line = {"color": look.colour, "width": 1.4 * ink.thick}
    figure.add_scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False, name=f"{part} blocks")
    figure.add_scatter(
        x=label_x,
        y=label_y,
        mode="text",
        text=labels,
        textposition="top center" if sign > 0 else "bottom center",
        textfont={"color": look.colour, "size": ink.size - 2},
        hoverinfo="skip",
        showlegend=False,
        name=f"{part} multiplicities",
    )


def counting_figure(
    values: np.ndarray, parts: Sequence[str], laws: Mapping[str, WeylLaw], ink: Ink, unit: str = "", log: bool = False
) -> go.Figure:
    """N(λ), the number of modes of each part up to λ, as steps, and Weyl's law of the part beside it.

    Steps end where the modes computed end: beyond the last eigenvalue of a part nothing is known.
    """
    values, parts = np.asarray(values, float), np.asarray(parts)
    figure = go.Figure()
    for part in PARTS_IN_ORDER:
        look, lam = PARTS[part], np.sort(values[parts == part])
        if len(lam) == 0 or (log and lam[-1] <= 0):
            continue
        start = [] if log else [0.0]
        x = np.concatenate([start, lam, [values.max()] if part == "harmonic" else []])
        y = np.concatenate([start, np.arange(1, len(lam) + 1), [len(lam)] if part == "harmonic" else []])
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name=f"N(λ), {look.name}",
            line={"shape": "hv", "color": look.colour, "dash": look.dash, "width": 2 * ink.thick},
            hovertemplate="λ = %{x:.5g}: %{y} modes<extra></extra>",
        )
        law = laws.get(part)
        if law is not None:
            grid = np.geomspace(lam[lam > 0][0], lam[-1], N_CURVE) if log else np.linspace(0, lam[-1], N_CURVE)
            figure.add_scatter(
                x=grid,
                y=law(grid),
                mode="lines",
                name=f"Weyl, {part}",
                opacity=0.55,
                line={"color": look.colour, "width": 4.5 * ink.thick},
                hovertemplate="Weyl: %{y:.1f} at λ = %{x:.5g}<extra></extra>",
            )
    styled(figure, ink, 360, f"eigenvalue λ{unit}", "number of modes N(λ)")
    positive = values[values > 0]
    if log and len(positive):
        figure.update_xaxes(**log_ticks(positive.min(), positive.max()))
        figure.update_yaxes(**log_ticks(1.0, float(len(values))))
    return figure


def power_figure(energy: SpectralEnergy, ink: Ink, cut: int, per_block: bool, log: bool, unit: str = "") -> go.Figure:
    """|cᵢ|² against λ by part; harmonic modes (λ = 0) in a strip of their own at the left.

    cut : modes kept; those left out are drawn hollow.  per_block : sums over blocks of equal eigenvalues
    """
    strip = bool((energy.part == "harmonic").any())
    figure = make_subplots(
        cols=2 if strip else 1,
        shared_yaxes=True,
        horizontal_spacing=0.02,
        column_widths=[0.14, 0.86] if strip else [1.0],
    )
    groups = energy.blocks if per_block else [np.array([i]) for i in range(len(energy.columns))]
    total = energy.total or 1.0
    for part in PARTS_IN_ORDER:
        mine = [g for g in groups if energy.part[g[0]] == part]
        if not mine:
            continue
        look, column = PARTS[part], 1 if part == "harmonic" or not strip else 2
        y = np.array([energy.energies[g].sum() for g in mine])
        if log:
            y = np.maximum(y, FLOOR * total)
        x = (
            np.arange(1, len(mine) + 1)
            if part == "harmonic"
            else np.array([energy.eigenvalues[g].mean() for g in mine])
        )
        symbol = [look.symbol if int(g[-1]) < cut else f"{look.symbol}-open" for g in mine]
        names = [f"mode {g[0]}" if len(g) == 1 else f"modes {g[0]}–{g[-1]} ({len(g)})" for g in mine]
        figure.add_scatter(
            x=x,
            y=y,
            mode="markers",
            name=look.name,
            text=names,
            marker={"color": look.colour, "symbol": symbol, "size": 8 * ink.thick, "line": {"width": 1.5}},
            hovertemplate="%{text}, λ = %{x:.5g}<br>energy %{y:.4g}<extra></extra>"
            if part != "harmonic"
            else "%{text}, λ = 0<br>energy %{y:.4g}<extra></extra>",
            row=1,
            col=column,
        )
    styled(figure, ink, 360)
    main = 2 if strip else 1
    positive = energy.eigenvalues[energy.eigenvalues > 0]
    scale = log_ticks(positive.min(), positive.max()) if log and len(positive) else {}
    figure.update_xaxes(title_text=f"eigenvalue λ{unit}", **scale, row=1, col=main)
    if strip:
        n = sum(energy.part[g[0]] == "harmonic" for g in groups)
        figure.update_xaxes(title_text="λ = 0", range=[0.3, n + 0.7], dtick=max(1, n // 2), row=1, col=1)
    figure.update_yaxes(title_text="energy |cᵢ|²", row=1, col=1)
    if log:
        seen = energy.energies[energy.energies > FLOOR * total]
        low, high = max(float(seen.min(initial=total)), FLOOR * total) * 0.5, total * 1.6
        figure.update_yaxes(**log_ticks(low, high), range=[np.log10(low), np.log10(high)])
    return figure


def error_figure(energy: SpectralEnergy, ink: Ink, cut: int, log: bool) -> go.Figure:
    """Relative L2 error against the number of modes kept, the projection floor, and the truncation in force."""
    errors = energy.errors
    figure = go.Figure()
    figure.add_scatter(
        x=np.arange(len(errors)),
        y=errors,
        mode="lines",
        name="relative L2 error",
        line={"color": ink.ink, "width": 2 * ink.thick, "shape": "hv"},
        hovertemplate="%{x} modes: %{y:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=[0, len(errors) - 1],
        y=[energy.floor] * 2,
        mode="lines",
        name=f"floor of these {len(errors) - 1} modes: {energy.floor:.3g}",
        line={"color": ink.muted, "width": 2 * ink.thick, "dash": "dash"},
        hoverinfo="skip",
    )
    cut = max(0, min(cut, len(errors) - 1))
    figure.add_scatter(
        x=[cut],
        y=[errors[cut]],
        mode="markers",
        name=f"{cut} modes kept: {errors[cut]:.3g}",
        marker={"symbol": "diamond", "size": 12 * ink.thick, "color": "#D00000"},
        hoverinfo="skip",
    )
    styled(figure, ink, 360, "number of modes kept, by eigenvalue", "‖ω − Σ cᵢφᵢ‖ / ‖ω‖")
    if log and errors.min() > 0:
        low, high = float(errors.min()) * 0.8, 1.25
        figure.update_yaxes(**log_ticks(low, high), range=[np.log10(low), np.log10(high)])
    else:
        figure.update_yaxes(range=[0, 1.05])
    return figure


def period_figure(periods: np.ndarray, ink: Ink) -> go.Figure:
    """The period matrix, ∮ over zᵢ of γⱼ, as coloured cells with their numbers."""
    from hsd.viz.palettes import plotly_scale

    b = len(periods)
    top = float(np.abs(periods).max(initial=0.0)) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=periods,
            x=[f"γ{_sub(j)}" for j in range(b)],
            y=[f"z{_sub(i)}" for i in range(b)],
            colorscale=plotly_scale("signed"),
            zmin=-top,
            zmax=top,
            text=[[f"{v:.3g}" if abs(v) > 1e-12 * top else "0" for v in row] for row in periods],
            texttemplate="%{text}" if b <= 12 else None,
            showscale=b > 12,
            hovertemplate="∮ over %{y} of %{x} = %{z:.8g}<extra></extra>",
        )
    )
    styled(figure, ink, min(460, 110 + 44 * b))
    figure.update_layout(width=min(900, 90 + 110 * b))  # cells of a matrix, not bars
    figure.update_xaxes(side="top", showgrid=False, ticks="", showline=False)
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="", showline=False)
    return figure


def _sub(i: int) -> str:
    return str(i + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
