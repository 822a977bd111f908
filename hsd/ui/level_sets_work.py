"""Level sets of the truth and of models on one sample: fields, merge trees, β0 at every step, scores.  No Streamlit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hsd.errors import InputError

if TYPE_CHECKING:
    from hsd.metrics.levels import MergeTree
    from hsd.metrics.yardstick import Yardstick

N_STEPS = 100
STEPS = tuple(i / N_STEPS for i in range(N_STEPS + 1))
"""Fractions of the truth's range at which the slider stops; the nine of the metrics are among them."""


@dataclass(frozen=True, eq=False)
class LevelField:
    """One field whose level sets are compared.

    values : (n_vertices,) the scalar, |vorticity| or length;  tree: its components
    counts : (N_STEPS + 1,) β0 at the steps;  overlaps: IoU with the truth at the steps
    s_beta0, iou : as in the tables, means over nine levels
    """

    values: np.ndarray
    tree: MergeTree
    counts: np.ndarray
    overlaps: np.ndarray
    s_beta0: float
    iou: float


def level_field(yardstick: Yardstick, nodes: np.ndarray, truth: np.ndarray, least: float) -> LevelField:
    """Level sets of node values (n_vertices, C) against the truth's; bars shorter than ``least`` of the range left out.

    Raises InputError (not_finite).
    """
    from hsd.metrics.levels import LevelRule, merge_tree
    from hsd.metrics.pair import Pair
    from hsd.metrics.topology import betti0_counts, iou, s_beta0

    pair = Pair.of_nodes(yardstick, np.array(nodes)[None], np.array(truth)[None], rule=LevelRule(min_persistence=least))
    values, true = (x[0] for x in pair.level_arrays)
    if not np.isfinite(values).all():
        raise InputError("A field that is not finite has no level sets.", "not_finite")
    fine = replace(pair, rule=LevelRule(STEPS, least))
    mass = yardstick.vertex_measure.cpu().double().numpy()
    low, high = limits_of(true)
    return LevelField(
        values,
        merge_tree(values, yardstick.edges.cpu().numpy()),
        betti0_counts(fine)[0][0],
        np.array([overlap(values, true, mass, low + q * (high - low)) for q in STEPS]),
        float(s_beta0(pair)[0]),
        float(iou(pair)[0]),
    )


def limits_of(values: np.ndarray) -> tuple[float, float]:
    """Range of a field."""
    return float(values.min()), float(values.max())


def overlap(p: np.ndarray, g: np.ndarray, mass: np.ndarray, level: float) -> float:
    """Intersection over union of {p ≥ level} and {g ≥ level} by measure; 1 where both are empty."""
    a, b = p >= level, g >= level
    either = float(mass[a | b].sum())
    return float(mass[a & b].sum()) / either if either > 0 else 1.0


def likeness(counts: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """exp(−|β0_p − β0_g| / max(β0_g, 1)), level by level."""
    return np.exp(-np.abs(counts - truth) / np.maximum(truth, 1))


def level_rows(
    truth: LevelField, found: Mapping[str, LevelField], errors: Mapping[str, float], step: int
) -> dict[str, list]:
    """The table at a step: β0, likeness to the truth's, overlap; means over nine levels; relative L2 error."""
    names = ("field", "β0(t)", "S(t)", "IoU(t)", "S_β0", "IoU", "Rel. L²")
    rows: dict[str, list] = {name: [] for name in names}
    for title, one in {"truth": truth, **found}.items():
        mine = title != "truth"
        values = (
            title,
            int(one.counts[step]),
            float(likeness(one.counts, truth.counts)[step]) if mine else None,
            float(one.overlaps[step]) if mine else None,
            one.s_beta0 if mine else None,
            one.iou if mine else None,
            errors[title] if mine else None,
        )
        for column, value in zip(rows.values(), values):
            column.append(value)
    return rows


def curve_rows(truth: LevelField, found: Mapping[str, LevelField]) -> dict[str, list]:
    """The data of the curves: one row a step, one column β0 and one IoU a field."""
    low, high = limits_of(truth.values)
    rows: dict[str, list] = {"fraction": list(STEPS), "t": [low + q * (high - low) for q in STEPS]}
    rows["β0 truth"] = truth.counts.tolist()
    for title, one in found.items():
        rows[f"β0 {title}"] = one.counts.tolist()
        rows[f"IoU {title}"] = one.overlaps.tolist()
    return rows


def component_rows(
    field: LevelField, step_level: float, mass: np.ndarray, least: float, colours: Sequence[str]
) -> dict[str, list]:
    """Components of {u ≥ level} by measure: share of the domain, maximum, length of its bar, whether it counts."""
    labels = field.tree.labels(field.values, step_level)
    found = np.unique(labels[labels >= 0])
    size = np.array([mass[labels == j].sum() for j in found]) / mass.sum()
    length = field.tree.birth[found] - field.tree.death[found]
    order = np.argsort(-size, kind="stable")
    return {
        "colour": [colours[j] for j in found[order]],
        "share of the domain": size[order].tolist(),
        "maximum": field.tree.birth[found[order]].tolist(),
        "persistence": [float(x) if np.isfinite(x) else None for x in length[order]],
        "counts": (length[order] >= least).tolist(),
    }
