"""One layer of HSD as published (Algorithm 1): gated network on raw coefficients, grid fiber, commutator."""

from __future__ import annotations

import torch
from torch import nn

from hsd.data.batch import Batch
from hsd.data.domain import Domain
from hsd.data.domain_arrays import PART_CODES
from hsd.nn.grid_fiber import Commutator, GridFiber
from hsd.nn.harmonic import constrained


class PaperLayer(nn.Module):
    """ω ↦ Φ c̃ + (I − ΦΦᵀ⋆)(g_fiber · R FNO(ι ω) + C(z)), c̃ = W_out(silu(W_g q) ⊙ W_c q) + c (P-3.2 … P-3.4).

    q = [c, M_d c, M_δ c]: on matching pairs √λ̂ c of coexact (exact) entries.  Harmonic entries of c̃ are set to the
    reference (where it holds).  Depends on the signs and rotations of the modes, so it stays on the mesh that it was
    trained on.
    """

    def __init__(self, domain: Domain, config):
        super().__init__()
        n, hidden = domain.target.n_modes, config.base_hidden
        self.gate, self.value = nn.Linear(3 * n, hidden), nn.Linear(3 * n, hidden)
        self.out = nn.Linear(hidden, n)
        self.grid = GridFiber(domain, config.fiber_width, config.fiber_depth, config.fiber_modes, config.masked)
        self.g_fiber = nn.Parameter(torch.tensor(1.0))
        self.broadcast = nn.Linear(3 * n, 8)
        self.commutator = Commutator(domain, hidden, broadcast=8) if config.commutator else None
        self.project = config.project

    def forward(
        self,
        form: torch.Tensor,
        batch: Batch,
        domain: Domain,
        reference: torch.Tensor | None,
        holds: torch.Tensor | None,
    ) -> torch.Tensor:
        basis = domain.target
        c = basis.coefficients(form)  # (B, n)
        root = (basis.eigenvalues * domain.scale2).sqrt()
        q = torch.cat([c] + [c * root * (basis.part == PART_CODES[part]) for part in ("coexact", "exact")], dim=1)
        c = self.out(nn.functional.silu(self.gate(q)) * self.value(q)) + c
        c = constrained(c, basis, reference, holds)
        base = basis.synthesise(c)
        fiber = self.g_fiber * self.grid(form, base, batch, domain)
        if self.commutator is not None:
            fiber = fiber + self.commutator(form, base, batch, domain, self.broadcast(q))
        return base + (basis.complement(fiber) if self.project else fiber)
