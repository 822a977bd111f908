"""The harmonic constraint: harmonic coefficients that are known are set, never learned."""

from __future__ import annotations

import torch

from hsd.data.domain import Basis


def constrained(
    c: torch.Tensor, basis: Basis, reference: torch.Tensor | None, holds: torch.Tensor | None = None
) -> torch.Tensor:
    """c (B, n) with its harmonic entries := ``reference`` (B, b); all of c where there is no reference.

    holds : a boolean, whether the reference is in force (None: it is), as a tensor so that no device waits for it
    """
    if reference is None:
        return c
    columns = torch.nonzero(basis.harmonic)[:, 0]
    c, value = c.to(reference.dtype), reference
    if holds is not None:
        value = torch.where(holds, value, c[:, columns])
    return c.index_copy(1, columns, value)
