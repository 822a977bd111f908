"""Components of superlevel sets as layers of the viewer: each in a colour of its own, at a level that a slider moves.

On a triangle the part {u ≥ t} of the linear interpolant belongs to the one component that its vertices ≥ t are in, so
the picture has exactly the components of the vertex-induced subcomplex: {u ≥ t} of the interpolant retracts onto it.
Source: Kühnel 1990 (piecewise linear functions and their subcomplexes); Carr, Snoeyink, Axen 2003 (merge trees).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hsd.viz.palettes import COMPONENTS, FILTERED

if TYPE_CHECKING:
    from hsd.metrics.levels import MergeTree


@dataclass(frozen=True, eq=False)
class Superlevel:
    """The set {u ≥ t} drawn over a surface, every component in the colour of its eldest peak.

    values : (n,) field on the mesh's vertices;  basin: (n,) peak that each vertex belongs to
    parent, death : (m,) of the peaks, as in :class:`hsd.metrics.levels.MergeTree`;  colour: (m,) rows of ``colours``
    control : id of an index control 0 … n_steps;  t = low + step/n_steps · (high − low)
    texts   : what stands beside the panel's title at each step, e.g. "β0 = 5"
    """

    values: np.ndarray
    basin: np.ndarray
    parent: np.ndarray
    death: np.ndarray
    colour: np.ndarray
    colours: tuple[str, ...]
    control: str
    low: float
    high: float
    n_steps: int
    texts: tuple[str, ...] = ()


def own_colours(
    tree: MergeTree, least: float, like: tuple[MergeTree, np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    """(m,) number of a colour of COMPONENTS for each peak, the last number (grey) for bars shorter than ``least``.

    Peaks by length of their bars take colours in turn.  ``like``: another field's tree, values and colours.  A peak
    then first takes the colour of the other's component around it, at the middle of its bar or as high as the other
    is there, unless a longer bar has it, so that what is in the same place has the same colour.
    """
    length = tree.birth - tree.death
    kept = np.flatnonzero(length >= least)
    kept = kept[np.argsort(-length[kept], kind="stable")]
    n = len(COMPONENTS)
    out = np.full(len(length), n)
    if like is not None:
        other, values, colours = like
        taken: set[int] = set()
        for j in kept.tolist():
            vertex, end = tree.peak[j], tree.death[j] if np.isfinite(tree.death[j]) else values.min()
            level = min(float(values[vertex]), (tree.birth[j] + end) / 2)
            there = int(other.roots(level)[other.basin[vertex]])
            if colours[there] < n and there not in taken:
                taken.add(there)
                out[j] = colours[there]
    free = [c for c in range(n) if c not in set(out[kept].tolist())] or list(range(n))
    waiting = [j for j in kept.tolist() if out[j] == n]
    for i, j in enumerate(waiting):
        out[j] = free[i] if i < len(free) else i % n
    return out


def superlevel(
    tree: MergeTree,
    values: np.ndarray,
    colour: np.ndarray,
    limits: tuple[float, float],
    n_steps: int,
    control: str = "level",
    texts: Sequence[str] = (),
) -> Superlevel:
    """The layer of one field.  limits: of the truth, where step 0 and step ``n_steps`` are."""
    colours = (*COMPONENTS, FILTERED)
    return Superlevel(
        np.asarray(values, float), tree.basin, tree.parent, tree.death, colour, colours, control, *limits, n_steps,
        tuple(texts),
    )  # fmt: skip
