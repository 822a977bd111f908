"""Estimates of time and memory of a spectral basis, from the number of simplices; measured on one core.

Factorisations of scalar matrices: fill grows like n log n on surfaces and like n^(4/3) in tets.  Constants are fits to
runs on tori of 5 000 to 60 000 and balls of 3 000 to 8 000 vertices; expect a factor of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from hsd.mesh.mesh import Mesh

ASK_SECONDS = 20.0
ASK_BYTES = 1.5e9
"""Above either of these the app asks first."""


@dataclass(frozen=True)
class Estimate:
    """Seconds, and bytes of memory at the peak."""

    seconds: float
    memory: float

    @property
    def is_long(self) -> bool:
        return self.seconds > ASK_SECONDS or self.memory > ASK_BYTES

    def words(self) -> str:
        """ "about 40 s and 0.9 GB"."""
        s = self.seconds
        time = f"{max(1, round(s))} s" if s < 90 else f"{s / 60:.0f} min" if s < 5400 else f"{s / 3600:.1f} h"
        return f"about {time} and {max(self.memory / 1e9, 0.1):.1f} GB of memory"


def basis_estimate(mesh: Mesh, k: int, n_modes: int) -> Estimate:
    """Of ``lowest_modes(mesh, k, n_modes)`` on an empty cache."""
    cx, modes = mesh.complex, max(n_modes, 8)
    stored = 32.0 * modes * max(cx.counts)
    if mesh.dim <= 2:
        sizes = [cx.n(0)] if k == 0 else [cx.n(0), cx.n(2)] if k == 1 else [cx.n(2)]
        fill = [12.0 * n * log(n + 2) for n in sizes if n]
        return Estimate(0.3 + 1.8e-7 * sum(fill) * (1 + modes / 30), 1e8 + 24.0 * max(fill, default=0.0) + stored)
    seconds = 1.0 + 5.5 * (cx.n(3) / 43_200) ** 1.5 * (10 + modes) / 42
    memory = 1e8 + 1.2e8 * (cx.n(3) / 43_200) ** (4 / 3) + stored
    if k in (1, 2):
        seconds += 6.8 * (cx.n(1) / 18_258) ** 1.9 * (10 + modes) / 42
        memory += 2.9e8 * (cx.n(1) / 18_258) ** (4 / 3)
    return Estimate(seconds, memory)
