"""What a prediction keeps of the physics: gradients, spectra, energies, masses, fluxes, harmonic coefficients.

Zero cases: one of two energies zero → fidelity 0, both zero → 1; the cosine with a zero vector is 0; errors relative
to a truth of size zero are 0 where the error is zero too, else ∞ (a fidelity of 0).
"""

from __future__ import annotations

import torch
from torch import Tensor

from hsd.metrics.field import form_norm, ratio
from hsd.metrics.pair import Pair
from hsd.metrics.yardstick import apply

ALPHA = 2.0
"""Factor in the exponent of the spectral fidelity."""
ROUNDING = 1e-6
"""Harmonic parts below this share of a field's size are rounding of single precision."""


def gradient_fidelity(pair: Pair) -> Tensor:
    """(1 + cos(du_p, du_g)_⋆1) / 2, scalar products summed over the components of the node values, (B,)."""
    pp, gg, pg = pair.dirichlet
    nothing = (pp <= 0) | (gg <= 0)
    pp, gg = (torch.where(nothing, torch.ones_like(x), x) for x in (pp, gg))
    cosine = (pg / gg) / (pp / gg).sqrt()  # exactly 1 for equal fields, no overflow
    return (1 + torch.where(nothing, torch.zeros_like(cosine), cosine.clamp(-1, 1))) / 2


def spectral_fidelity(pair: Pair) -> Tensor:
    """exp(−2 ‖Λ^−½(ĉ_p − ĉ_g)‖ / ‖Λ^−½ ĉ_g‖) over the non-harmonic modes of the form's own Hodge basis, (B,)."""
    weight = pair.yardstick.eigenvalues.rsqrt()
    error = torch.linalg.vector_norm(weight * pair.coefficient_error, dim=1)
    return torch.exp(-ALPHA * ratio(error, torch.linalg.vector_norm(weight * pair.coefficients, dim=1)))


def log_fidelity(energy_p: Tensor, energy_g: Tensor) -> Tensor:
    """1 / (1 + |log(E_p/E_g)|); one of them zero → 0, both → 1."""
    none_p, none_g = energy_p <= 0, energy_g <= 0
    nothing = none_p | none_g
    p, g = (torch.where(nothing, torch.ones_like(x), x) for x in (energy_p, energy_g))
    value = 1 / (1 + (p / g).log().abs())
    return torch.where(nothing, (none_p & none_g).to(value), value)


def enstrophy_fidelity(pair: Pair) -> Tensor:
    """Log fidelity of ∫|vorticity|², vorticity at the vertices in the lumped ⋆_0, (B,)."""
    mass = pair.yardstick.vertex_measure
    return log_fidelity(*(x**2 @ mass for x in pair.vorticities))


def energy_fidelity(pair: Pair) -> Tensor:
    """Log fidelity of the Dirichlet energy Σ_c ‖du_c‖²_⋆1 of the components of the node values, (B,)."""
    return log_fidelity(*pair.dirichlet[:2])


def mass_drift(pair: Pair) -> Tensor:
    """|∫u_p − ∫u_g| / ∫|u_g| of a scalar or density, node values in the lumped ⋆_0, (B,)."""
    mass = pair.yardstick.vertex_measure
    return ratio((pair.node_error[..., 0] @ mass).abs(), pair.nodes_g[..., 0].abs() @ mass)


def flux_drift(pair: Pair) -> Tensor:
    """Σ_i |∫_{z_i}(ω_p − ω_g)| / Σ_i ∫_{z_i} |ω_g| over the generator k-cycles z_i, (B,).

    Fluxes through the generators for flux forms, circulations around them for circulation forms.
    """
    cycles = pair.yardstick.cycles
    drift = (pair.form_error @ cycles).abs().sum(dim=1)
    return ratio(drift, (pair.forms_g.abs() @ cycles.abs()).sum(dim=1))


def harmonic_drift(pair: Pair) -> Tensor:
    """‖h_p − h_g‖ / ‖h_g‖ of the coefficients h = Γᵀ⋆ω in the orthonormal harmonic fields, (B,).

    Sizes below ROUNDING ‖ω_g‖_⋆ are those of data in single precision and count as zero.
    """
    harmonic = pair.yardstick.harmonic
    least = ROUNDING * form_norm(pair.yardstick, pair.forms_g)
    sizes = (torch.linalg.vector_norm(x @ harmonic, dim=1) for x in (pair.form_error, pair.forms_g))
    return ratio(*(torch.where(size < least, torch.zeros_like(size), size) for size in sizes))


def divergence_residual(pair: Pair) -> Tensor:
    """‖dB_p − ρ‖ / ‖ρ‖ in ⋆_n with ρ := dB_g, the truth's own source under the same flat map, (B,)."""
    yardstick = pair.yardstick
    weight = yardstick.star_up.sqrt()
    error, source = (weight * apply(yardstick.d, x) for x in (pair.form_error, pair.forms_g))
    return ratio(torch.linalg.vector_norm(error, dim=1), torch.linalg.vector_norm(source, dim=1))
