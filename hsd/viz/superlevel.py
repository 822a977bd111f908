"""Components of superlevel sets as layers of the viewer: each in a colour of its own, at a level that a slider moves.

On a triangle the part {u ≥ t} of the linear interpolant belongs to the one component that its vertices ≥ t are in, so
the picture has exactly the components of the vertex-induced subcomplex: {u ≥ t} of the interpolant retracts onto it.
Source: Kühnel 1990 (piecewise linear functions and their subcomplexes); Carr, Snoeyink, Axen 2003 (merge trees).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hsd.viz.palettes import COMPONENTS, FILTERED

if TYPE_CHECKING:
    from hsd.metrics.levels import MergeTree

    Other = tuple[MergeTree, np.ndarray, np.ndarray]
    """Another field's tree, values and colours of its peaks."""


@dataclass(frozen=True, eq=False)
class Superlevel:
    """The set {u ≥ t} drawn over a surface, every component in the colour of one peak, as the tree says.

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


def own_colours(tree: MergeTree, least: float, like: Other | None = None) -> np.ndarray:
    """(m,) number of a colour of COMPONENTS for each peak, the last number (grey) for bars shorter than ``least``.

    Peaks by length of their bars take colours in turn.  ``like``: another field, whose colours the peaks that have a
    partner there take first (:func:`partners`).
    """
    n = len(COMPONENTS)
    out, kept = np.full(len(tree.birth), n), _longest_first(tree, least)
    for j, there in partners(tree, least, like).items() if like is not None else ():
        out[j] = like[2][there]
    free = [c for c in range(n) if c not in set(out[kept].tolist())] or list(range(n))
    waiting = [j for j in kept if out[j] == n]
    for i, j in enumerate(waiting):
        out[j] = free[i] if i < len(free) else i % n
    return out


def _longest_first(tree: MergeTree, least: float) -> list[int]:
    length = tree.birth - tree.death
    kept = np.flatnonzero(length >= least)
    return kept[np.argsort(-length[kept], kind="stable")].tolist()


def partners(tree: MergeTree, least: float, like: Other) -> dict[int, int]:
    """Peak → the eldest peak of the other field's component around it, at the middle of its bar or as high as the other
    is there; of peaks with the same partner the one with the longest bar has it."""
    other, values, colours = like
    out: dict[int, int] = {}
    taken: set[int] = set()
    for j in _longest_first(tree, least):
        vertex, end = tree.peak[j], tree.death[j] if np.isfinite(tree.death[j]) else values.min()
        level = min(float(values[vertex]), (tree.birth[j] + end) / 2)
        there = int(other.roots(level)[other.basin[vertex]])
        if colours[there] < len(COMPONENTS) and there not in taken:
            taken.add(there)
            out[j] = there
    return out


def ranked_like(tree: MergeTree, least: float, like: Other) -> MergeTree:
    """The same components at every level, each named by the peak whose partner in the other field is the eldest.

    Where two peaks are nearly equal, the field and the other may disagree on which is the higher one; named after its
    own eldest peak, the component of both would have another colour than the other field's.  Peaks without a partner
    come after those with one, short bars last; births stay, ``death`` is where a peak joins one of higher rank.
    """
    elder, length = like[0].birth, tree.birth - tree.death
    found = partners(tree, least, like)
    rank = [
        (j not in found, length[j] < least, -elder[found[j]] if j in found else -tree.birth[j], j)
        for j in range(len(tree.birth))
    ]
    parent, death = np.arange(len(rank)), np.full(len(rank), -np.inf)

    def root(j: int) -> int:
        while parent[j] != j:
            j = parent[j]
        return j

    for j in np.argsort(-tree.death, kind="stable").tolist():
        if not np.isfinite(tree.death[j]):
            break
        a, b = root(j), root(int(tree.parent[j]))
        loser, winner = (a, b) if rank[b] < rank[a] else (b, a)
        parent[loser], death[loser] = winner, tree.death[j]
    return replace(tree, parent=parent, death=death)


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
