"""Numbers printed in the HSD paper, for the eye beside ours; other data, other training, another machine.

The paper's data is not at hand: fields, amplitudes, units and meshes differ from those made here, so that values are
not comparable one by one.  What can be compared is the order of models and the margin of HSD within each table.
"""

from __future__ import annotations

from collections.abc import Mapping

from hsd.metrics.definitions import DEFINITIONS

COLUMNS = (
    "parameters", "mse", "gradient_fidelity", "enstrophy_fidelity", "energy_fidelity", "spectral_fidelity", "s_beta0",
    "iou",
)  # fmt: skip
PROTOCOL = (
    "3000 samples (2040 trained on), about 3000 nodes, batch 64, AdamW from 10⁻³ with cosine decay, 100 epochs (50 for "
    "transport), 207k to 310k parameters; one NVIDIA RTX PRO 6000 Blackwell"
)

TABLE_1: dict[str, dict[str, tuple[float | None, ...]]] = {
    "external_aerodynamics": {
        "gno": (231e3, 5.40e-2, 0.8203, 0.6025, 0.4328, 0.3004, 0.4941, 0.2910),
        "meshgraphnet": (247e3, 5.63e-2, 0.8599, 0.4671, 0.5138, 0.4209, 0.3982, 0.2720),
        "deeponet": (239e3, 2.54e-2, 0.9448, 0.3698, 0.7431, 0.6731, 0.3625, 0.0908),
        "geo_fno": (253e3, 3.20e-2, 0.9263, 0.2131, 0.6438, 0.5728, 0.2261, 0.0551),
        "fno3d": (227e3, 1.80e-2, 0.9663, 0.6638, 0.7779, 0.7110, 0.5584, 0.3010),
        "hsd": (207e3, 1.08e-2, 0.9742, 0.7658, 0.8906, 0.8423, 0.6112, 0.3398),
    },
    "magnetostatics": {
        "gno": (231e3, 4.33e-2, 0.5337, 0.2392, 0.3708, 0.2373, 0.2491, 0.1415),
        "meshgraphnet": (247e3, 3.31e-3, 0.9713, 0.7016, 0.8692, 0.7561, 0.5400, 0.5653),
        "deeponet": (239e3, 2.89e-4, 0.9978, 0.8246, 0.9646, 0.9468, 0.7877, 0.7834),
        "geo_fno": (253e3, 8.97e-4, 0.9930, 0.8666, 0.9044, 0.8555, 0.6703, 0.7085),
        "fno3d": (227e3, 8.51e-4, 0.9940, 0.8731, 0.9054, 0.8660, 0.7041, 0.7236),
        "hsd": (212e3, 1.84e-4, 0.9982, 0.9444, 0.9662, 0.9492, 0.8176, 0.8110),
    },
    "toroidal_transport": {
        "gno": (286e3, 3.14e-2, 0.5056, None, 0.3082, 0.0788, 0.3795, 0.3011),
        "meshgraphnet": (303e3, 5.23e-4, 0.7485, None, 0.5232, 0.7712, 0.5457, 0.5758),
        "deeponet": (273e3, 2.48e-3, 0.5700, None, 0.2074, 0.7044, 0.3871, 0.4433),
        "geo_fno": (284e3, 1.55e-3, 0.7182, None, 0.4104, 0.7278, 0.4631, 0.5494),
        "fno3d": (309e3, 5.55e-4, 0.8006, None, 0.6365, 0.9079, 0.6721, 0.7515),
        "hsd": (246e3, 3.56e-4, 0.8578, None, 0.6968, 0.9115, 0.7829, 0.8131),
    },
}
"""Its Table 1 (main results): task → model → values in the order of COLUMNS; parameters as printed, to the thousand."""

STRESS: dict[str, dict[str, float]] = {
    "ellipsoid_aerodynamics": {
        "hsd": 0.037, "gnot": 0.144, "ono": 0.155, "hamlet": 0.159, "deeponet": 0.221, "geo_fno": 0.240, "fno3d": 0.246,
    },
    "torus_helmholtz": {
        "hsd": 0.058, "gnot": 0.277, "ono": 0.262, "hamlet": 0.250, "deeponet": 0.652, "geo_fno": 0.449, "fno3d": 0.418,
    },
}  # fmt: skip
"""Its stress tests: task → model → relative L²."""

COST: dict[str, dict[str, tuple[float, float]]] = {
    "magnetostatics": {
        "deeponet": (6.7, 369.5), "fno3d": (177.0, 382.7), "geo_fno": (49.6, 383.9), "hsd": (215.5, 364.5),
        "gno": (477.4, 385.3), "meshgraphnet": (3983.0, 382.7),
    },
    "external_aerodynamics": {
        "deeponet": (7.5, 369.8), "fno3d": (29.5, 382.7), "geo_fno": (49.6, 384.0), "hsd": (34.6, 383.3),
        "gno": (426.5, 385.4), "meshgraphnet": (1865.0, 383.0),
    },
    "toroidal_transport": {
        "deeponet": (4.5, 171.1), "fno3d": (36.2, 194.4), "geo_fno": (35.6, 173.5), "hsd": (372.2, 173.0),
        "gno": (195.1, 183.1), "meshgraphnet": (1129.3, 174.4),
    },
}  # fmt: skip
"""Its cost table: task → model → seconds of training (HSD's with its preparation), MB of GPU memory."""
PREPARATION = {"magnetostatics": 57.1, "external_aerodynamics": 1.6, "toroidal_transport": 3.8}
"""Seconds of HSD's preparation within COST."""

ABLATION: dict[str, dict[str, float]] = {
    "magnetostatics": {
        "full": 1.84e-4, "without commutator": 2.18e-4, "without projection": 2.20e-4, "128 modes": 1.64e-4,
        "256 modes": 1.58e-4,
    },
    "external_aerodynamics": {
        "full": 1.08e-2, "without commutator": 1.17e-2, "without projection": 1.45e-2, "128 modes": 9.32e-3,
        "256 modes": 8.99e-3,
    },
    "toroidal_transport": {
        "full": 3.56e-4, "without commutator": 3.79e-4, "without projection": 3.72e-4, "128 modes": 2.80e-4,
        "256 modes": 2.73e-4,
    },
}  # fmt: skip
"""Its ablations (components, numbers of modes): task → variant → MSE; "full" has 64 modes in these tables."""


def published_metrics(task: str) -> dict[str, dict[str, float]]:
    """Model → metric → the paper's value for a task, models in its order; {} for a task that is not in it."""
    if task in STRESS:
        return {model: {"relative_l2": value} for model, value in STRESS[task].items()}
    return {
        model: {name: value for name, value in zip(COLUMNS[1:], row[1:]) if value is not None}
        for model, row in TABLE_1.get(task, {}).items()
    }


def published_standing(task: str) -> dict[str, tuple[int, int]]:
    """Metric → (HSD's rank, models) in the paper's table, the nearest to the metric's best value first."""
    models = published_metrics(task)
    if "hsd" not in models:
        return {}
    return {
        name: _rank(name, value, [m[name] for m in models.values() if name in m])
        for name, value in models["hsd"].items()
    }


def _rank(name: str, own: float, values: list[float]) -> tuple[int, int]:
    best = DEFINITIONS[name].best
    return 1 + sum(abs(v - best) < abs(own - best) for v in values), len(values)


def published_margin(task: str, metric: str) -> tuple[str, float] | None:
    """(best baseline, 1 − e_hsd / e_baseline) of an error in the paper's table; None where it is not printed."""
    models: Mapping[str, Mapping[str, float]] = published_metrics(task)
    errors = {name: found[metric] for name, found in models.items() if metric in found}
    if "hsd" not in errors or DEFINITIONS[metric].best != 0:
        return None
    own = errors.pop("hsd")
    best = min(errors, key=errors.__getitem__)
    return best, 1 - own / errors[best]
