"""All metrics by name: what is computed, as a formula, for which readings, and which value is best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from hsd.metrics import field, physics, topology
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


def _part(name: str, symbol: str) -> Metric:
    return Metric(
        f"{name.capitalize()} part of the error",
        partial(field.part_error, part=name),
        f"‖π_{symbol}(ω_p − ω_g)‖_⋆ / ‖ω_g‖_⋆, π_{symbol} the {name} part",
        0.0,
        of_form=True,
        applies=lambda yardstick: name in yardstick.parts.names,
    )


def _has_cycles(yardstick: Yardstick) -> bool:
    return yardstick.betti > 0


METRICS: dict[str, Metric] = {
    "mse": Metric("MSE", field.mse, "N⁻¹ Σ_v |u_p − u_g|², unweighted, normalised units", 0.0),
    "relative_l2": Metric("Relative L²", field.relative_l2, "‖u_p − u_g‖ / ‖u_g‖, node values in the lumped ⋆₀", 0.0),
    "exact_error": _part("exact", "d"),
    "coexact_error": _part("coexact", "δ"),
    "harmonic_error": _part("harmonic", "H"),
    "gradient_fidelity": Metric(
        "Gradient fidelity",
        physics.gradient_fidelity,
        "(1 + cos(du_p, du_g)_⋆₁) / 2, scalar products summed over components; cosine with a zero vector: 0",
        1.0,
    ),
    "spectral_fidelity": Metric(
        "Spectral fidelity",
        physics.spectral_fidelity,
        "exp(−2 ‖Λ^−½(ĉ_p − ĉ_g)‖ / ‖Λ^−½ ĉ_g‖), ĉ = Φᵀ⋆ω over the non-harmonic modes of the form's own Hodge basis",
        1.0,
        of_form=True,
        applies=lambda yardstick: len(yardstick.eigenvalues) > 0,
    ),
    "enstrophy_fidelity": Metric(
        "Enstrophy fidelity",
        physics.enstrophy_fidelity,
        "1 / (1 + |log(E_p/E_g)|), E = ∫|vorticity|² in the lumped ⋆₀; one zero: 0, both: 1",
        1.0,
        dims=(2,),
        of_form=True,
        applies=lambda yardstick: yardstick.vorticity is not None,
    ),
    "energy_fidelity": Metric(
        "Energy fidelity",
        physics.energy_fidelity,
        "1 / (1 + |log(E_p/E_g)|), E = Σ_c ‖du_c‖²_⋆₁ over the components of the node values; one zero: 0, both: 1",
        1.0,
    ),
    "divergence_residual": Metric(
        "Source residual",
        physics.divergence_residual,
        "‖dB_p − ρ‖ / ‖ρ‖ in ⋆₃, ρ = dB_g under the same flat map",
        0.0,
        readings=("flux",),
        dims=(3,),
        of_form=True,
    ),
    "mass_drift": Metric(
        "Mass drift", physics.mass_drift, "|∫u_p − ∫u_g| / ∫|u_g|", 0.0, readings=("scalar", "density")
    ),
    "flux_drift": Metric(
        "Flux drift",
        physics.flux_drift,
        "Σ_i |∫_{z_i}(ω_p − ω_g)| / Σ_i ∫_{z_i}|ω_g| over the generator cycles z_i",
        0.0,
        readings=VECTORS,
        of_form=True,
        applies=_has_cycles,
    ),
    "harmonic_drift": Metric(
        "Harmonic drift",
        physics.harmonic_drift,
        "‖h_p − h_g‖ / ‖h_g‖, h = Γᵀ⋆ω in the orthonormal harmonic fields",
        0.0,
        readings=VECTORS,
        of_form=True,
        applies=_has_cycles,
    ),
    "s_beta0": Metric(
        "S_β0",
        topology.s_beta0,
        "mean_t exp(−|β0_p(t) − β0_g(t)| / max(β0_g(t), 1)), {u ≥ t} on the vertex-induced subcomplex, "
        "t = 10 % … 90 % of the truth's range",
        1.0,
        of_form=True,
    ),
    "iou": Metric(
        "IoU",
        topology.iou,
        "mean_t |A_p ∩ A_g| / |A_p ∪ A_g|, A = {u ≥ t} measured by the lumped ⋆₀, same t; two empty sets: 1",
        1.0,
        of_form=True,
    ),
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
