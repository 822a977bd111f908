"""Resonances in spectral filters: simple poles between the eigenvalues, which fit every mesh."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain

REACH = 0.9
"""Part of its gap that a pole can move through."""
COARSE, FINE = 9, 65
"""Places tried in every gap, and then in the best one."""


class Poles(nn.Module):
    """ρ_j(λ̂) = w_j/(λ̂ − p_j), p_j = m_j + REACH w_j tanh θ_j: (K,) → (n, K).

    A symbol such as 1/(λ − κ²) changes so fast near κ² that no function of the eigenvalue with fixed bands follows it
    on every mesh; with its pole it is one number.  m_j and w_j > 0 are middle and half-width of the gap of the training
    mesh's spectrum in which :meth:`fit` finds the pole, θ_j is learned: no eigenvalue of that mesh is crossed.  Before
    it, all poles stand at −1, left of the spectrum.
    Source: rational approximation by partial fractions, Gustavsen and Semlyen, IEEE Trans. Power Delivery 14, 1999.
    """

    def __init__(self, n: int):
        super().__init__()
        self.register_buffer("middle", torch.full((n,), -1.0))
        self.register_buffer("width", torch.ones(n))
        self.place = nn.Parameter(torch.zeros(n))

    def forward(self, lam: torch.Tensor) -> torch.Tensor:
        poles = self.middle + REACH * self.width * torch.tanh(self.place)
        return self.width[:, None] / (lam - poles[:, None])

    @torch.no_grad()
    def fit(self, lam: torch.Tensor, gain: torch.Tensor, weight: torch.Tensor, smooth: torch.Tensor) -> None:
        """Poles one by one where Σ_i weight_i (gain_i − smooth part − Σ_j a_j ρ_j(λ̂_i))² is least over all a.

        lam, gain, weight : (K,) of the training mesh's modes;  smooth: (F, K) functions that need no pole
        """
        lam, gain, weight, smooth = (x.double() for x in (lam, gain, weight, smooth))
        order = torch.sort(lam).values
        wide = torch.diff(order) > 1e-3 * order[1:].abs()  # copies of one eigenvalue have no gap between them
        low, high = order[:-1][wide], order[1:][wide]
        if not len(low):
            return
        root, found = weight.sqrt(), smooth
        middles, halves = (low + high) / 2, (high - low) / 2
        coarse, fine = (torch.linspace(-REACH, REACH, n, dtype=lam.dtype, device=lam.device) for n in (COARSE, FINE))
        fine = fine[1:-1]  # θ is finite
        for j in range(len(self.middle)):
            gap = _best(middles[:, None] + halves[:, None] * coarse, lam, gain, root, found) // COARSE
            places = middles[gap] + halves[gap] * fine
            at = _best(places, lam, gain, root, found)
            self.middle[j], self.width[j] = middles[gap], halves[gap]
            self.place[j] = torch.atanh(fine[at] / REACH)
            found = torch.cat([found, (halves[gap] / (lam - places[at]))[None]])


def gains(batch: Batch, domain: Domain) -> tuple[torch.Tensor, ...]:
    """λ̂, gain g, weight w and number of each mode of the source that some mode of the target matches, harmonic ones
    left out: t ≈ g s over the samples, s the source's coefficient and t the target's over √λ̂ where the degrees differ,
    g = Σ s t/w, w = Σ s²."""
    s, t = domain.source.coefficients(batch.source), domain.target.coefficients(batch.target)
    lam = domain.source.eigenvalues * domain.scale2
    mode = torch.nonzero(~domain.source.harmonic)[:, 0]
    if domain.spec.source[0] == domain.spec.target[0]:
        s, t = s[:, mode], t[:, mode]
    else:
        mode, matching = domain.pairs.T
        s, t = s[:, mode], t[:, matching] / lam[mode].sqrt()
    weight = s.square().sum(dim=0)
    return lam[mode], (s * t).sum(dim=0) / weight.clamp(min=1e-30), weight, mode


def _best(poles: torch.Tensor, lam: torch.Tensor, gain: torch.Tensor, root: torch.Tensor, smooth: torch.Tensor) -> int:
    """Flat index of the pole with which the weighted least-squares fit leaves least."""
    candidates = 1.0 / (lam - poles.reshape(-1, 1))  # (P, K)
    candidates = candidates / candidates.norm(dim=1, keepdim=True)
    basis = torch.linalg.qr((smooth * root).T).Q  # what smooth functions explain is taken away from both
    rest = gain * root - basis @ (basis.T @ (gain * root))
    c = candidates * root
    c = c - (c @ basis) @ basis.T
    gained = (c @ rest).square() / c.square().sum(dim=1).clamp(min=1e-30)
    return int(gained.argmax())
