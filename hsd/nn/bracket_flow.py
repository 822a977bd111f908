"""A quadratic layer that is a flow: steps of z' = {κ_1 z, z} + κ_3 z in coefficient space, with learned filters κ."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.domain import Domain
from hsd.nn.filters import Filter

STAGES = ((0.5, 1.0 / 6), (0.5, 1.0 / 3), (1.0, 1.0 / 3), (0.0, 1.0 / 6))
"""Classical Runge–Kutta of order four: step to the next stage and weight of this one."""

REACH = 4.0
"""Largest step × speed × √λ_K.  Runge–Kutta is stable to 2.8 on the imaginary axis; the bracket's spectral radius is
well below largest speed × largest wave number (measured: stable at 4, not at 5)."""
CARRIER_GAIN, SPREAD_GAIN = 15.0, 3.0
"""Size of the terms of both filters at λ̂ = 1 for weights of size one: a flow has to reach far within few steps of
training."""


class BracketFlow(nn.Module):
    """z ↦ z(1) of z' = J(κ_1 z) z + κ_3 z by ``steps`` Runge–Kutta steps, J(a) b the weak bracket of Φa and Φb.

    (J(a) b)_i = −Σ_x ⋆_x (Φb) {Φa, φ_i} at the vertices x,  {a, b} = N·(∇a × ∇b).  Whatever the quadrature errs, this
    sum has (J(a) b)·a = 0 and leaves the constant: without κ_3 the flow keeps ∫Φz and zᵀκ_1z (for κ_1 = 1/λ the energy
    of the velocity).  κ_1 makes the function whose rotated gradient carries the field, κ_3 spreads it; both are filters
    of λ, learned, one set for all steps, near zero at first: the layer starts as the identity.  κ_1's weights stand
    before bands/λ̂: what carries is two orders smoother than the field where they are alike.  Both rates are bounded in
    each step by what it can follow, so that no weights make it blow up.
    (B, K) → (B, K), only on oriented surfaces;  Source: Arakawa, J. Comput. Phys. 1, 1966 (brackets with invariants);
    Orszag, J. Fluid Mech. 41, 1970 (pseudo-spectral methods).
    """

    def __init__(self, steps: int):
        super().__init__()
        self.steps = steps
        self.carrier = Filter(1, 1, 1, noise=1e-3)
        self.spread = Filter(1, 1, 1, noise=1e-3)

    def forward(self, z: torch.Tensor, features: torch.Tensor, domain: Domain) -> torch.Tensor:
        gradients, n = tangent_gradients(domain), domain.n_vertices
        modes, measure = domain.source.modes, domain.tensor("vertex_measure")
        back = domain.cached("bracket_weights", lambda: measure.repeat(2)[:, None] * gradients)
        h, top = 1.0 / self.steps, (domain.source.eigenvalues.max() * domain.scale2).sqrt()
        limit = REACH / h
        smooth = (domain.source.eigenvalues * domain.scale2).clamp(min=1.0)
        spread = SPREAD_GAIN * self.spread(features)[0, 0]
        spread = torch.where(spread < 0, limit * torch.tanh(spread / limit), torch.tanh(spread))
        spread = spread * ~domain.source.harmonic
        carrier = self.carrier(CARRIER_GAIN / smooth * features)[0, 0]

        for _ in range(self.steps):
            at, total, slower = z, torch.zeros_like(z), None
            for ahead, weight in STAGES:
                a1, a2 = ((at * carrier) @ gradients.T).split(n, dim=1)
                if slower is None:
                    speed = (a1.square() + a2.square()).amax(dim=1, keepdim=True).clamp(min=1e-20).sqrt()
                    slower = (limit / (speed * top)).clamp(max=1.0)  # (B, 1)
                b = slower * (at @ modes.T)
                k = torch.cat([a2 * b, -a1 * b], dim=1) @ back + spread * at
                total = total + weight * k
                at = z + (h * ahead) * k
            z = z + h * total
        return z


def tangent_gradients(domain: Domain) -> torch.Tensor:
    """Gradients of the scalar modes in an oriented orthonormal frame of each tangent plane, (2 N, K)."""

    def make() -> torch.Tensor:
        normals, gradients = domain.tensor("normals"), domain.gradient_modes  # (N, 3), (3, N, K)
        axis = torch.nn.functional.one_hot(normals.abs().argmin(dim=1), 3).to(normals)
        first = torch.nn.functional.normalize(torch.linalg.cross(normals, axis), dim=1)
        frame = torch.stack([first, torch.linalg.cross(normals, first)])  # (2, N, 3)
        return torch.einsum("tna,ank->tnk", frame, gradients).flatten(0, 1).contiguous()

    return domain.cached("tangent_gradients", make)
