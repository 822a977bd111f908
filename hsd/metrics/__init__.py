"""Metrics and losses: field errors, physics, topology of level sets; batched, on surfaces and in tetrahedra.

    yardstick = Yardstick.of(Ground(mesh), 1, "flux")          # once a mesh
    scores = score(yardstick, prediction, truth)               # (B, n_vertices, 3) each
    scores.mean["relative_l2"], scores.samples["s_beta0"]

``METRICS`` lists every metric with its formula, ``LOSSES`` the losses.
"""

from hsd.metrics.levels import LevelRule, MergeTree, merge_tree, superlevel_bars
from hsd.metrics.losses import LOSSES, total_loss
from hsd.metrics.pair import Pair
from hsd.metrics.registry import COCHAIN_METRICS, METRICS, Metric
from hsd.metrics.scoring import Scores, metrics_of, score
from hsd.metrics.yardstick import Yardstick

__all__ = [
    "COCHAIN_METRICS",
    "LOSSES",
    "METRICS",
    "LevelRule",
    "MergeTree",
    "Metric",
    "Pair",
    "Scores",
    "Yardstick",
    "merge_tree",
    "metrics_of",
    "score",
    "superlevel_bars",
    "total_loss",
]
