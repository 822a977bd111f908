"""All metrics by name: what computes them, for which readings; their formulas are in :mod:`hsd.metrics.definitions`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from hsd.metrics import field, physics, topology
from hsd.metrics.definitions import DEFINITIONS
from hsd.metrics.pair import Pair
from hsd.metrics.yardstick import Yardstick

ALL = ("scalar", "circulation", "flux", "density")
VECTORS = ("circulation", "flux")


@dataclass(frozen=True)
class Metric:
    """One column of a table of results.

    function : Pair → (B,);  formula: in the notation of the field, for the line beside the table
    readings : how the target must read at the nodes;  dims: dimensions of meshes it is defined on
    best     : value of a perfect prediction, 1 (larger is better) or 0 (smaller is better)
    of_form  : the value depends on the forms, so that models that predict cochains get a column of their own
    applies  : further condition on the mesh and degree
    """

    title: str
    function: Callable[[Pair], Tensor]
    formula: str
    best: float
    readings: tuple[str, ...] = ALL
    dims: tuple[int, ...] = (1, 2, 3)
    of_form: bool = False
    applies: Callable[[Yardstick], bool] = lambda yardstick: True

    def fits(self, yardstick: Yardstick) -> bool:
        """Whether the metric is defined on this yardstick; tables show — where it is not."""
        fits = yardstick.reading in self.readings and yardstick.dim in self.dims
        return fits and self.applies(yardstick)


def _metric(name: str, function: Callable[[Pair], Tensor], **more) -> Metric:
    said = DEFINITIONS[name]
    return Metric(said.title, function, said.formula, said.best, **more)


def _part(name: str) -> Metric:
    return _metric(
        f"{name}_error",
        partial(field.part_error, part=name),
        of_form=True,
        applies=lambda yardstick: name in yardstick.parts.names,
    )


def _has_cycles(yardstick: Yardstick) -> bool:
    return yardstick.betti > 0


METRICS: dict[str, Metric] = {
    "mse": _metric("mse", field.mse),
    "relative_l2": _metric("relative_l2", field.relative_l2),
    "exact_error": _part("exact"),
    "coexact_error": _part("coexact"),
    "harmonic_error": _part("harmonic"),
    "gradient_fidelity": _metric("gradient_fidelity", physics.gradient_fidelity),
    "spectral_fidelity": _metric(
        "spectral_fidelity",
        physics.spectral_fidelity,
        of_form=True,
        applies=lambda yardstick: len(yardstick.eigenvalues) > 0,
    ),
    "enstrophy_fidelity": _metric(
        "enstrophy_fidelity",
        physics.enstrophy_fidelity,
        dims=(2,),
        of_form=True,
        applies=lambda yardstick: yardstick.vorticity is not None,
    ),
    "energy_fidelity": _metric("energy_fidelity", physics.energy_fidelity),
    "divergence_residual": _metric(
        "divergence_residual", physics.divergence_residual, readings=("flux",), dims=(3,), of_form=True
    ),
    "mass_drift": _metric("mass_drift", physics.mass_drift, readings=("scalar", "density")),
    "flux_drift": _metric("flux_drift", physics.flux_drift, readings=VECTORS, of_form=True, applies=_has_cycles),
    "harmonic_drift": _metric(
        "harmonic_drift", physics.harmonic_drift, readings=VECTORS, of_form=True, applies=_has_cycles
    ),
    "s_beta0": _metric("s_beta0", topology.s_beta0, of_form=True),
    "iou": _metric("iou", topology.iou, of_form=True),
}
"""Metrics of node predictions; form-based ones apply the same flat to prediction and truth."""

COCHAIN_METRICS: dict[str, Metric] = {
    "cochain_relative_l2": Metric(
        "Relative L² (cochain)", field.form_relative_l2, "‖ω_p − ω_g‖_⋆ / ‖ω_g‖_⋆", 0.0, of_form=True
    ),
    **{
        f"cochain_{name}": replace(metric, title=f"{metric.title} (cochain)")
        for name, metric in METRICS.items()
        if metric.of_form
    },
}
"""Extra columns of models that predict cochains: the same formulas on the predicted and true forms themselves."""
