"""Energy shares of the parts of a set of samples, apart from the card's own route."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from hsd.data.ground import square_norms


def part_shares(parts: Mapping[str, np.ndarray], star: sp.spmatrix) -> dict[str, float]:
    """Share of part p: mean of ‖f_p‖²_⋆ over the mean of Σ_q ‖f_q‖²_⋆.

    "cross"           : |mean of Σ_{p≠q} ⟨f_p, f_q⟩_⋆| over the same, what the shares miss of the mean of ‖f‖²_⋆
    "cross_of_sample" : the mean of |Σ_{p≠q} ⟨f_p, f_q⟩_⋆| over the same; signs of single samples do not cancel
    """
    own = {name: square_norms(star, f) for name, f in parts.items()}
    apart = sum(own.values())
    cross = square_norms(star, sum(parts.values())) - apart
    total = apart.mean()
    shares = {name: float(e.mean() / total) for name, e in own.items()}
    return shares | {
        "cross": float(abs(cross.mean()) / total),
        "cross_of_sample": float(np.abs(cross).mean() / total),
    }
