"""Metrics and losses: field errors, physics, topology of level sets; batched, on surfaces and in tetrahedra.

    yardstick = Yardstick.of(Ground(mesh), 1, "flux")          # once a mesh
    scores = score(yardstick, prediction, truth)               # (B, n_vertices, 3) each
    scores.mean["relative_l2"], scores.samples["s_beta0"]

``METRICS`` lists every metric with its formula, ``LOSSES`` the losses.  Names are loaded at first use, so that
``hsd.metrics.definitions`` can be read without torch.
"""

from __future__ import annotations

from importlib import import_module

_HOME_OF = {
    "COCHAIN_METRICS": "registry",
    "LOSSES": "losses",
    "METRICS": "registry",
    "LevelRule": "levels",
    "MergeTree": "levels",
    "Metric": "registry",
    "Pair": "pair",
    "Scores": "scoring",
    "Yardstick": "yardstick",
    "merge_tree": "levels",
    "metrics_of": "scoring",
    "score": "scoring",
    "superlevel_bars": "levels",
    "total_loss": "losses",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hsd.metrics' has no attribute {name!r}")
    value = getattr(import_module(f"hsd.metrics.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
