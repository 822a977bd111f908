"""Scenes of level sets: truth and models side by side, components in colours of their own at a level that moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hsd.viz.scene import Colour, Control, Panel, Scene
from hsd.viz.superlevel import own_colours, ranked_like, superlevel
from hsd.viz.task_scene import Place

if TYPE_CHECKING:
    from hsd.metrics.levels import MergeTree

LEVEL = "level"


@dataclass(frozen=True, eq=False)
class Leveled:
    """One field to draw: title, values (n_vertices,) and tree on the mesh, β0 at each step (n_steps + 1,)."""

    title: str
    values: np.ndarray
    tree: MergeTree
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class Layer:
    """A field on its place: values and basins at the drawn mesh's vertices, colours of its peaks.

    tree : components are named after the peak whose colour they have, which for a model need not be the highest one
           (:func:`hsd.viz.superlevel.ranked_like`)
    """

    field: Leveled
    values: np.ndarray
    tree: MergeTree
    colours: np.ndarray


def layer_of(place: Place, field: Leveled, least: float, like: Layer | None = None) -> Layer:
    """The field on its place.  least: shortest bar that counts, in its unit;  like: whose colours it takes over."""
    other = None if like is None else (like.field.tree, like.field.values, like.colours)
    colours = own_colours(field.tree, least, other)
    ranked = field.tree if other is None else ranked_like(field.tree, least, other)
    values, tree = on_place(place, field.values, ranked)
    return Layer(field, values, tree, colours)


def on_place(place: Place, values: np.ndarray, tree: MergeTree) -> tuple[np.ndarray, MergeTree]:
    """Values and tree at the vertices that are drawn.

    A vertex of a plane cut lies between vertices of tetrahedra; where the interpolated value is ≥ t, its larger end is,
    so that it belongs to the component of that end: components on the cut are those in the volume.
    """
    if place.cut is None:
        return values, tree
    weights = place.weights.tocoo()
    keep = weights.data > 0
    row, column = weights.row[keep], weights.col[keep]
    order = np.lexsort((values[column], row))
    row, column = row[order], column[order]
    last = np.append(np.flatnonzero(np.diff(row)), len(row) - 1)  # the largest value of each row
    return place.weights @ values, replace(tree, basin=tree.basin[column[last]])


def levels_scene(
    place: Place,
    layers: Sequence[Layer],
    limits: tuple[float, float],
    symbol: str,
    step: int,
    *,
    theme: str = "auto",
    caption: str = "",
) -> Scene:
    """Panels of the truth (first) and the models; the slider moves the threshold in the page.

    limits : range of the truth;  symbol: of the field, for the bar
    """
    n = len(layers[0].field.counts) - 1
    low, high = limits
    panels = []
    for one in layers:
        texts = tuple(f"β0 = {c}" for c in one.field.counts.tolist())
        above = superlevel(one.tree, one.values, one.colours, limits, n, LEVEL, texts)
        colour = Colour(one.values, "muted", symbol, limits=limits if high > low else None, scale="level")
        alt = f"{one.field.title}: components of {symbol} ≥ t in colours of their own; β0 = {one.field.counts[step]}."
        panels.append(Panel(place.surface, colour, one.field.title, superlevel=above, alt=alt))
    labels = tuple(f"{symbol} ≥ {low + i / n * (high - low):.4g}" for i in range(n + 1))
    slider = Control(LEVEL, "Threshold, %", 0, n, step, labels=labels, play=True, keys=True, report=True)
    return Scene(tuple(panels), (slider,), columns_of_panels=columns_for(len(panels)), theme=theme, caption=caption)


def columns_for(n: int) -> int:
    """Panels side by side: up to five in a row, then as even rows as can be."""
    return n if n <= 5 else -(-n // -(-n // 5))
