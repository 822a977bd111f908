"""Estimates of time and memory of bases and decompositions, from the number of simplices; measured on one core.

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
DECOMPOSITION_SECONDS = 8.0
"""The same for a decomposition, which the page makes on its own for every field."""


@dataclass(frozen=True)
class Estimate:
    """Seconds, and bytes of memory at the peak."""

    seconds: float
    memory: float
    patience: float = ASK_SECONDS

    @property
    def is_long(self) -> bool:
        return self.seconds > self.patience or self.memory > ASK_BYTES

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


def decomposition_estimate(mesh: Mesh, k: int) -> Estimate:
    """Of composing one k-form and splitting it, with the factorisations that both need."""
    cx = mesh.complex
    if mesh.dim <= 2:
        n = cx.n(0)
        return Estimate(0.2 + 1.7 * (n / 50_000) ** 1.4, 1e8 + 8.5e3 * n, DECOMPOSITION_SECONDS)
    units, x = (0.0, 2.0, 1.3, 1.1)[k], cx.n(1) / 58_328  # a unit: one factorisation of the size of d₁ᵀ⋆₂d₁ + s⋆₁
    seconds = 0.5 + 1.3 * (cx.n(0) / 8_719) ** 1.5 + 6.0 * units * x**1.93
    return Estimate(seconds, 1.5e8 + (0.3 + 0.45 * units) * 1e9 * x**1.25, DECOMPOSITION_SECONDS)


def heat_estimate(mesh: Mesh, k: int) -> Estimate:
    """Of the heat flow of one k-form and of the slowest rates beside it."""
    one = decomposition_estimate(mesh, k)
    return Estimate(0.5 + 6.0 * one.seconds if mesh.dim <= 2 else 2.5 * one.seconds, 2.0 * one.memory, one.patience)
