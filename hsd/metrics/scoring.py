"""All metrics of a batch of predictions in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from hsd.errors import InputError, check_choice
from hsd.metrics.levels import LevelRule
from hsd.metrics.pair import DEFAULT, Pair, node_values
from hsd.metrics.registry import COCHAIN_METRICS, METRICS, Metric
from hsd.metrics.yardstick import Yardstick

CHUNK = 64
"""Samples scored at once; bounds memory and changes no value beyond rounding."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Metrics by name, (B,) each, on the device of the prediction; a metric that is not defined here is absent.

    NaN marks samples whose prediction is not finite.
    """

    samples: Mapping[str, Tensor]

    @cached_property
    def mean(self) -> dict[str, float]:
        """Plain means over the samples."""
        return {name: float(values.double().mean()) for name, values in self.samples.items()}

    @cached_property
    def std(self) -> dict[str, float]:
        """Standard deviations over the samples (divided by their number)."""
        return {name: float(values.double().std(correction=0)) for name, values in self.samples.items()}


def metrics_of(yardstick: Yardstick, cochains: bool = False) -> dict[str, Metric]:
    """The metrics defined on a yardstick, in table order; with ``cochains`` also the extra columns of forms."""
    table = METRICS | (COCHAIN_METRICS if cochains and yardstick.flat is not None else {})
    out = {name: metric for name, metric in table.items() if metric.fits(yardstick)}
    if yardstick.vorticity is None:  # level sets are then of the node values, the same in both columns
        out.pop("cochain_s_beta0", None)
        out.pop("cochain_iou", None)
    return out


def score(
    yardstick: Yardstick,
    prediction: Any = None,
    truth: Any = None,
    *,
    prediction_form: Any = None,
    truth_form: Any = None,
    unit: Any = 1.0,
    rule: LevelRule = DEFAULT,
    names: Iterable[str] | None = None,
    chunk: int = CHUNK,
) -> Scores:
    """Score B predictions on one mesh, arrays or tensors; in the yardstick's floating type, on the input's device.

    prediction, truth           : (B, N_0, C) node values, or (B, N_0) where C = 1; those missing are the yardstick's
                                  sharp of the forms
    prediction_form, truth_form : (B, N_k) cochains; where both are given the columns of COCHAIN_METRICS are added
    unit                        : standard deviation of the normaliser (of the training set), for the MSE
    rule                        : levels and persistence filter of the topological metrics
    names                       : only these metrics (default: all that are defined here)
    Raises InputError (missing, shape, chunk, unit, non_finite_field of the truth, not_numeric), UnknownNameError.
    """
    inputs = [None if x is None else torch.as_tensor(x) for x in (prediction, truth, prediction_form, truth_form)]
    nodes_p, nodes_g, form_p, form_g = inputs
    for value, form, what in ((nodes_p, form_p, "prediction"), (nodes_g, form_g, "truth")):
        if value is None and form is None:
            raise InputError(f"Scoring needs node values or a form of the {what}; got neither.", "missing")
    if chunk < 1:
        raise InputError(f"At least one sample is scored at once; got chunk={chunk}.", "chunk")
    sizes = {len(x) if x.ndim else 0 for x in inputs if x is not None}
    if len(sizes) != 1 or 0 in sizes:
        raise InputError(f"Prediction and truth hold one number of samples, 1 or more; got {sorted(sizes)}.", "shape")
    yardstick = yardstick.to((nodes_p if form_p is None else form_p).device)
    table = metrics_of(yardstick, form_p is not None and form_g is not None)
    if names is not None:
        table = {name: table[check_choice("metric on this yardstick", name, table)] for name in names}
    rows = []
    with torch.no_grad():
        for start in range(0, sizes.pop(), chunk):
            cut = (None if x is None else x[start : start + chunk] for x in inputs)
            rows.append(_score_rows(yardstick, table, *cut, unit, rule))
    return Scores({name: torch.cat([row[name] for row in rows]) for name in table})


def _score_rows(
    yardstick: Yardstick,
    table: dict[str, Metric],
    nodes_p: Tensor | None,
    nodes_g: Tensor | None,
    form_p: Tensor | None,
    form_g: Tensor | None,
    unit: Any,
    rule: LevelRule,
) -> dict[str, Tensor]:
    forms = Pair.of_forms(yardstick, form_p, form_g, unit, rule) if form_p is not None and form_g is not None else None
    nodes_p = node_values(yardstick, form_p, "prediction") if nodes_p is None else nodes_p
    nodes_g = node_values(yardstick, form_g, "truth") if nodes_g is None else nodes_g
    nodes = Pair.of_nodes(yardstick, nodes_p, nodes_g, unit, rule)
    finite = torch.isfinite(nodes.nodes_p).flatten(1).all(dim=1)
    if forms is not None:
        finite = finite & torch.isfinite(forms.forms_p).all(dim=1)
    out = {}
    for name, metric in table.items():
        values = metric.function(forms if name in COCHAIN_METRICS else nodes)
        out[name] = torch.where(finite, values, torch.full_like(values, torch.nan))
    return out
