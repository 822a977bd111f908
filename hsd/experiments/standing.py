"""HSD among the baselines of a task, and means over seeds, from the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hsd.experiments.records import rounded
from hsd.metrics.definitions import DEFINITIONS
from hsd.models.registry import BASELINES

SHORT = {
    "mse": "MSE",
    "relative_l2": "rel. L²",
    "gradient_fidelity": "Grad",
    "enstrophy_fidelity": "Enst",
    "energy_fidelity": "Energy",
    "spectral_fidelity": "Spec",
    "s_beta0": "S_β0",
    "iou": "IoU",
    "exact_error": "exact",
    "coexact_error": "coexact",
    "harmonic_error": "harmonic",
    "mass_drift": "mass drift",
    "flux_drift": "flux drift",
    "divergence_residual": "source",
}
"""Columns of metrics and how their heads are written."""
PAPER_MARGIN = {"external_aerodynamics": 0.40, "magnetostatics": 0.36, "toroidal_transport": 0.36}
"""By how much the paper's HSD is below its best baseline in MSE."""
ERRORS = ("mse", "relative_l2")
SAME = ("task", "label", "model", "minutes", "epochs_asked", "n_samples", "n_train")
"""What runs that differ by their seed alone have in common."""


def is_current(row: Mapping[str, Any]) -> bool:
    """Whether a row is of the version that its model has by now."""
    return row["model_version"] >= row.get("newest_version", 1)


def standing(rows: Sequence[dict[str, Any]], task: str, part: str = "test") -> dict[str, Any] | None:
    """HSD among the baselines of a task on a part; None where it or all baselines are missing.

    Of each baseline the best row counts, metric by metric, whatever its budget; of HSD the one with the least budget.
    Rows of older versions of a model do not count.
    ranks   : metric → [rank of HSD, models compared], 1 the nearest to the metric's best value, equal ones share it
    margins : 1 − e_hsd / min e_baseline for MSE and relative L², with the best baseline's name, and its minutes
              where it had more than HSD
    paper   : the paper's margin in MSE, None for tasks that it has no MSE of
    """
    scored = [row for row in rows if row["task"] == task and row.get(part) and row["seed"] == 0]
    scored = [row for row in scored if is_current(row)]
    own = min((row for row in scored if row["label"] == "hsd"), key=lambda row: row["minutes"], default=None)
    others = [row for row in scored if row["model"] in BASELINES]
    if own is None or not others:
        return None
    ranks, margins = {}, {}
    for name in SHORT:
        if own[part].get(name) is None:
            continue
        best = DEFINITIONS[name].best
        mine, nearest = abs(own[part][name] - best), {}
        for row in sorted(others, key=lambda row: row["minutes"]):
            value = row[part].get(name)
            if value is not None and abs(value - best) < nearest.get(row["model"], (np.inf, 0))[0]:
                nearest[row["model"]] = (abs(value - best), row["minutes"])
        ranks[name] = [1 + sum(far < mine for far, _ in nearest.values()), 1 + len(nearest)]
        if name in ERRORS and nearest:
            model = min(nearest, key=nearest.__getitem__)
            far, minutes = nearest[model]
            more = minutes if minutes > own["minutes"] else None
            margins[name] = {"best_baseline": model, "minutes": more, "margin": 1 - mine / far if far else None}
    return {"task": task, "ranks": ranks, "margins": rounded(margins), "paper_mse_margin": PAPER_MARGIN.get(task)}


def over_seeds(rows: Sequence[dict[str, Any]], part: str = "test") -> list[dict[str, Any]]:
    """Means and standard deviations (ddof 1) over seeds, of what was run with more than one; runs that were cut, or of
    an older version of their model, do not count.

    Each has the entries of :data:`SAME`, seeds, mean and std (metric → value, of metrics that all seeds have).
    """
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get(part) and row["cut"] is None and is_current(row):
            groups.setdefault(tuple(row[key] for key in SAME), []).append(row)
    out = []
    for key, group in groups.items():
        if len(group) < 2:
            continue
        names = [n for n in SHORT if all(row[part].get(n) is not None for row in group)]
        values = {n: np.array([row[part][n] for row in group], float) for n in names}
        one = dict(zip(SAME, key)) | {"seeds": sorted(row["seed"] for row in group)}
        mean = {n: float(v.mean()) for n, v in values.items()}
        out.append(one | rounded({"mean": mean, "std": {n: float(v.std(ddof=1)) for n, v in values.items()}}))
    return out
