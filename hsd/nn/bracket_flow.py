"""A quadratic layer that is a flow: steps of z' = {κ_1 z, z} + κ_3 z in coefficient space, with learned filters κ."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.domain import Domain
from hsd.nn.filters import Filter

STAGES = ((0.5, 1.0 / 6), (0.5, 1.0 / 3), (1.0, 1.0 / 3), (0.0, 1.0 / 6))
"""Classical Runge–Kutta of order four: step to the next stage and weight of this one."""

REACH = 2.5
"""Largest step × rate; Runge–Kutta is stable to 2.8 on the imaginary axis."""


class BracketFlow(nn.Module):
    """z ↦ z(1) of z' = J(κ_1 z) z + κ_3 z by ``steps`` Runge–Kutta steps, J(a) the bracket with Φa made skew.

    J(a)_ij = ½ Σ_x ⋆_x (φ_i {Φa, φ_j} − φ_j {Φa, φ_i}),  {a, b} = N·(∇a × ∇b), summed over the vertices: the sum keeps
    |z|² whatever the quadrature errs.  κ_1 makes the function whose rotated gradient carries the field, κ_3 spreads it;
    both are filters of λ, learned, one set for all steps, near zero at first: the layer starts as the identity.  The
    constant is not moved.  Both rates are bounded by what the steps can follow (speed × √λ_K and −κ_3, times the step,
    at most 2.5; κ_3 < 1), so that no weights make it blow up.
    (B, K) → (B, K), only on oriented surfaces;  Source: Orszag, J. Fluid Mech. 41, 1970 (pseudo-spectral methods);
    Arakawa, J. Comput. Phys. 1, 1966 (skew brackets).
    """

    def __init__(self, steps: int, n_parts: int):
        super().__init__()
        self.steps = steps
        self.carrier = Filter(1, 1, n_parts, noise=1e-3)
        self.spread = Filter(1, 1, n_parts, noise=1e-3)

    def forward(self, z: torch.Tensor, features: torch.Tensor, domain: Domain) -> torch.Tensor:
        gradients, n = tangent_gradients(domain), domain.n_vertices
        modes, measure = domain.source.modes, domain.tensor("vertex_measure")
        rows = torch.cat([modes, gradients])  # (3 N, K)
        everything = domain.cached("modes_and_gradients", lambda: rows.T.contiguous())
        back = domain.cached("bracket_weights", lambda: 0.5 * measure.repeat(3)[:, None] * rows)
        moving = (~domain.source.harmonic).to(z.dtype)
        h, top = 1.0 / self.steps, (domain.source.eigenvalues.max() * domain.scale2).sqrt()
        limit = REACH / h
        spread = self.spread(features)[0, 0]
        spread = torch.where(spread < 0, limit * torch.tanh(spread / limit), torch.tanh(spread))
        carrier = self.carrier(features)[0, 0]
        speed = (z * carrier) @ gradients.T
        speed = (speed[:, :n].square() + speed[:, n:].square()).amax(dim=1, keepdim=True).clamp(min=1e-20).sqrt()
        carrier = carrier / (1 + (speed * top / limit).pow(4)).pow(0.25)  # (B, K)

        def rate(z: torch.Tensor) -> torch.Tensor:
            a1, a2 = ((z * carrier) @ gradients.T).split(n, dim=1)
            b, b1, b2 = (z @ everything).split(n, dim=1)
            pulled = torch.cat([a1 * b2 - a2 * b1, a2 * b, -a1 * b], dim=1) @ back
            return (pulled + spread * z) * moving

        for _ in range(self.steps):
            at, total = z, torch.zeros_like(z)
            for ahead, weight in STAGES:
                k = rate(at)
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
