"""Flow on an ellipsoid from close pairs of vortices: genus 0, uneven curvature, no harmonic part.

Equation and exact properties: :mod:`hsd.data.tasks._vortices` with γ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.data.smooth_shapes import Ellipsoid, partners
from hsd.data.tasks._vortices import VortexConfig, VortexFlow
from hsd.data.tasks.base import Record
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

EDGE = 0.0724
"""Mean edge length of the coarsest mesh in use (1500 nodes), for the distances of pairs."""


@dataclass(frozen=True)
class EllipsoidConfig(VortexConfig):
    """paired : share of the vortices that make up opposite pairs; pair_distance : range, in mean edge lengths EDGE."""

    n_nodes: int = 2560
    widths: tuple[float, float] = (0.087, 0.12)
    paired: float = 0.7
    pair_distance: tuple[float, float] = (2.0, 5.0)
    amplitude: float = 0.176
    moment_scale: tuple[float, float, float] = (0.218, 0.157, 0.128)


class EllipsoidAerodynamics(VortexFlow):
    """Vorticity → velocity on the ellipsoid with axes 3 : 2 : 1.5, its longest half axis 1."""

    name = "ellipsoid_aerodynamics"
    title = "Ellipsoid aerodynamics"
    equation = "Δ₀ψ = ζ − mean ζ + s Σ cᵢ (xᵢ − mean xᵢ), f = dψ"
    place = "the ellipsoid with half axes 1, 2/3 and 1/2 round the origin"
    dim = 2
    Config = EllipsoidConfig
    shape = Ellipsoid((1.0, 2.0 / 3.0, 0.5))

    def mesh(self, n_nodes: int | None = None) -> Mesh:
        return gallery("ellipsoid", n_nodes or self.config.n_nodes, axes=self.shape.axes)

    def draw(self, rng: np.random.Generator) -> Record:
        """n vortices, of which a share ``paired`` are opposite partners of the same width."""
        config = self.config
        n = self.draw_number(rng)
        n_pairs = round(0.5 * config.paired * n)
        record = self.draw_vortices(rng, n - n_pairs)
        first = slice(0, n_pairs)
        low, high = (EDGE * d for d in config.pair_distance)
        other = partners(rng, self.shape, record["centres"][first], low, high)
        return {
            "centres": np.concatenate([record["centres"], other]),
            "widths": np.concatenate([record["widths"], record["widths"][first]]),
            "strengths": np.concatenate([record["strengths"], -record["strengths"][first]]),
        }
