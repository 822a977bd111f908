"""Topology of superlevel sets: numbers of components and overlap at levels of the truth's range.

Fields: the scalar; |vorticity| at vertices of vectors on surfaces; the length at vertices of vectors in tetrahedra.
Levels: nine, at 10 % … 90 % of the truth's range (see :class:`hsd.metrics.levels.LevelRule`), in float64.
Deviation from the published reference code: no square root over the IoU, no factor 1.5 inside S_β0.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hsd.metrics.levels import SuperlevelBars, superlevel_bars
from hsd.metrics.pair import Pair


def thresholds(pair: Pair) -> np.ndarray:
    """min + fraction · (max − min) of the truth's field, (B, T) float64."""
    truth = pair.level_arrays[1]
    low, high = truth.min(axis=1, keepdims=True), truth.max(axis=1, keepdims=True)
    return low + np.array(pair.rule.fractions) * (high - low)


def betti0_counts(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """β0 of prediction and truth at all thresholds, (B, T) int each."""
    levels = thresholds(pair)
    least = pair.rule.min_persistence * np.ptp(pair.level_arrays[1], axis=1)
    edges = pair.yardstick.edges.cpu().numpy()
    p, g = (_bars(x, edges).betti0(levels, least) for x in pair.level_arrays)
    return p, g


def _bars(values: np.ndarray, edges: np.ndarray) -> SuperlevelBars:
    return superlevel_bars(np.where(np.isfinite(values), values, 0.0), edges)  # such samples become NaN afterwards


def s_beta0(pair: Pair) -> Tensor:
    """mean_t exp(−|β0_p(t) − β0_g(t)| / max(β0_g(t), 1)), (B,); counted on the CPU, not differentiable."""
    p, g = betti0_counts(pair)
    score = np.exp(-np.abs(p - g) / np.maximum(g, 1)).mean(axis=1)
    return _result(pair, score)


def iou(pair: Pair) -> Tensor:
    """mean_t |A_p ∩ A_g| / |A_p ∪ A_g| of A(t) = {u ≥ t}, measured by the lumped ⋆_0; two empty sets → 1; (B,)."""
    mass = pair.yardstick.vertex_measure.cpu().double().numpy()
    p, g = pair.level_arrays
    total = np.zeros(len(g))
    for t in thresholds(pair).T:  # (B,)
        a, b = p >= t[:, None], g >= t[:, None]
        common, either = (a & b) @ mass, (a | b) @ mass
        total += np.where(either > 0, common / np.where(either > 0, either, 1.0), 1.0)
    return _result(pair, total / len(pair.rule.fractions))


def _result(pair: Pair, values: np.ndarray) -> Tensor:
    bad = ~np.isfinite(pair.level_arrays[0]).all(axis=1)
    return torch.from_numpy(np.where(bad, np.nan, values)).to(pair.nodes_g)
