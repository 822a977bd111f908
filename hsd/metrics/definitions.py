"""What each metric is, in words and formulas; torch-free, so that tables can be shown without computing anything.

u are node values, ω forms, subscripts p and g prediction and ground truth.  Norms of node values are weighted by the
lumped ⋆₀ (areas, volumes), norms of forms by ⋆.  All models are scored on node values of one sharp map; forms come from
them by one flat map, for the truth too.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """title : of the column;  formula: as text;  best: value of a perfect prediction (1: larger is better, 0: smaller)
    latex : the formula for display;  words: what it tells, with its zero cases."""

    title: str
    formula: str
    best: float
    latex: str
    words: str


def _part(name: str, symbol: str) -> Definition:
    at = {"d": "d", "δ": r"\delta", "H": "H"}[symbol]
    return Definition(
        f"{name.capitalize()} part of the error",
        f"‖π_{symbol}(ω_p − ω_g)‖_⋆ / ‖ω_g‖_⋆, π_{symbol} the {name} part",
        0.0,
        rf"\frac{{\lVert \pi_{{{at}}}(\omega_p-\omega_g)\rVert_\star}}{{\lVert\omega_g\rVert_\star}}",
        f"Where the error lies: π projects on the {name} part of the Hodge decomposition. The squares over all parts "
        "sum to the square of the relative L² of the form.",
    )


DEFINITIONS: dict[str, Definition] = {
    "mse": Definition(
        "MSE",
        "N⁻¹ Σ_v |u_p − u_g|², unweighted, normalised units",
        0.0,
        r"\frac1N\sum_v \left|\frac{u_p(v)-u_g(v)}{s}\right|^2",
        "Mean squared error of node values, unweighted; s is the normaliser's unit, taken from the training set.",
    ),
    "relative_l2": Definition(
        "Relative L²",
        "‖u_p − u_g‖ / ‖u_g‖, node values in the lumped ⋆₀",
        0.0,
        r"\frac{\lVert u_p-u_g\rVert}{\lVert u_g\rVert},\qquad \lVert u\rVert^2=\sum_v m_v\,|u(v)|^2",
        "Error relative to the size of the truth; m_v is the area (volume) at vertex v. Answering zero scores 1.",
    ),
    "exact_error": _part("exact", "d"),
    "coexact_error": _part("coexact", "δ"),
    "harmonic_error": _part("harmonic", "H"),
    "gradient_fidelity": Definition(
        "Gradient fidelity",
        "(1 + cos(du_p, du_g)_⋆₁) / 2, scalar products summed over components; cosine with a zero vector: 0",
        1.0,
        r"\frac12\left(1+\frac{\langle du_p,du_g\rangle_{\star_1}}"
        r"{\lVert du_p\rVert_{\star_1}\lVert du_g\rVert_{\star_1}}\right)",
        "Whether gradients point the same way, whatever their size; scalar products are summed over the components of "
        "vectors. The cosine with a zero vector is 0.",
    ),
    "spectral_fidelity": Definition(
        "Spectral fidelity",
        "exp(−2 ‖Λ^−½(ĉ_p − ĉ_g)‖ / ‖Λ^−½ ĉ_g‖), ĉ = Φᵀ⋆ω over the non-harmonic modes of the form's own Hodge basis",
        1.0,
        r"\exp\!\left(-2\,\frac{\lVert\Lambda^{-1/2}(\hat c_p-\hat c_g)\rVert}"
        r"{\lVert\Lambda^{-1/2}\hat c_g\rVert}\right),\qquad \hat c=\Phi^\top\star\,\omega",
        "Agreement of Hodge coefficients, low eigenvalues first; over the non-harmonic modes of the form's own Hodge "
        "basis.",
    ),
    "enstrophy_fidelity": Definition(
        "Enstrophy fidelity",
        "1 / (1 + |log(E_p/E_g)|), E = ∫|vorticity|² in the lumped ⋆₀; one zero: 0, both: 1",
        1.0,
        r"\frac1{1+\lvert\log(E_p/E_g)\rvert},\qquad E=\int|\mathrm{vorticity}|^2",
        "Whether the amount of vorticity is right, wherever it lies; vorticity at the vertices of surfaces. One "
        "enstrophy zero: 0, both: 1. Not defined in tetrahedra, where the field is free of curl.",
    ),
    "energy_fidelity": Definition(
        "Energy fidelity",
        "1 / (1 + |log(E_p/E_g)|), E = Σ_c ‖du_c‖²_⋆₁ over the components of the node values; one zero: 0, both: 1",
        1.0,
        r"\frac1{1+\lvert\log(E_p/E_g)\rvert},\qquad E=\sum_c\lVert du_c\rVert^2_{\star_1}",
        "Whether the Dirichlet energy (roughness) of the components of the node values is right. One energy zero: 0, "
        "both: 1.",
    ),
    "divergence_residual": Definition(
        "Source residual",
        "‖dB_p − ρ‖ / ‖ρ‖ in ⋆₃, ρ = dB_g under the same flat map",
        0.0,
        r"\frac{\lVert dB_p-\rho\rVert_{\star_3}}{\lVert\rho\rVert_{\star_3}},\qquad \rho=dB_g",
        "Whether the predicted flux has its sources where the truth has them, tetrahedron by tetrahedron, both under "
        "the same flat map.",
    ),
    "mass_drift": Definition(
        "Mass drift",
        "|∫u_p − ∫u_g| / ∫|u_g|",
        0.0,
        r"\frac{\left|\int u_p-\int u_g\right|}{\int|u_g|}",
        "How much mass the prediction makes or loses.",
    ),
    "flux_drift": Definition(
        "Flux drift",
        "Σ_i |∫_{z_i}(ω_p − ω_g)| / Σ_i ∫_{z_i}|ω_g| over the generator cycles z_i",
        0.0,
        r"\frac{\sum_i\left|\int_{z_i}(\omega_p-\omega_g)\right|}{\sum_i\int_{z_i}|\omega_g|}",
        "Fluxes through (circulations around) the generator cycles of the mesh.",
    ),
    "harmonic_drift": Definition(
        "Harmonic drift",
        "‖h_p − h_g‖ / ‖h_g‖, h = Γᵀ⋆ω in the orthonormal harmonic fields",
        0.0,
        r"\frac{\lVert h_p-h_g\rVert}{\lVert h_g\rVert},\qquad h=\Gamma^\top\star\,\omega",
        "Whether the coefficients in the orthonormal harmonic fields are kept.",
    ),
    "s_beta0": Definition(
        "S_β0",
        "mean_t exp(−|β0_p(t) − β0_g(t)| / max(β0_g(t), 1)), {u ≥ t} on the vertex-induced subcomplex, "
        "t = 10 % … 90 % of the truth's range",
        1.0,
        r"\frac19\sum_t\exp\!\left(-\frac{\lvert\beta_0^p(t)-\beta_0^g(t)\rvert}{\max(\beta_0^g(t),1)}\right)",
        "Numbers of components of superlevel sets {u ≥ t} on the vertex-induced subcomplex, at nine thresholds, 10 % … "
        "90 % of the truth's range; of the scalar, of |vorticity| of vectors on surfaces, of |B| in tetrahedra.",
    ),
    "iou": Definition(
        "IoU",
        "mean_t |A_p ∩ A_g| / |A_p ∪ A_g|, A = {u ≥ t} measured by the lumped ⋆₀, same t; two empty sets: 1",
        1.0,
        r"\frac19\sum_t\frac{\lvert A_p(t)\cap A_g(t)\rvert}{\lvert A_p(t)\cup A_g(t)\rvert},\qquad A(t)=\{u\ge t\}",
        "Overlap of superlevel sets at the same thresholds, by area (volume). Two empty sets: 1.",
    ),
}
"""Name of a metric → its definition."""
