"""Two-dimensional flow on a closed surface from a vorticity of Gaussian vortices: what both aerodynamic tasks share.

w = ζ − mean ζ + s Σ_i c_i (x_i − mean x_i),  c_i = tanh(2 m_j m_k / (σ_j σ_k)) for (i, j, k) cyclic,  m = ∫ ζ x dA,
Δ₀ψ = w,  f = dψ + γ, with γ harmonic (none on genus 0).

The first part of w is the given vorticity, odd in ζ; the second is a far field that depends on ζ through products of
its moments: it is even in ζ, so that no linear map gives it, and smooth.  Exact: d f = 0 (incompressible), δf = w,
and the ⋆-projection of f on the harmonic forms is γ.
Source: stream functions and harmonic fields on surfaces: Hodge decomposition (de Rham 1931, Hodge 1941); the coupling
of moments is ours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hsd.data.gaussians import gaussian_fields
from hsd.data.ground import Ground, square_norms
from hsd.data.smooth_shapes import Shape
from hsd.data.tasks._stream import (
    coupled_moments,
    first_moments,
    gradients,
    stream_function,
)
from hsd.data.tasks.base import FieldSpec, NamedFields, Realisation, Record, Task, TaskConfig
from hsd.errors import InputError


@dataclass(frozen=True)
class VortexConfig(TaskConfig):
    """Numbers of vortices and their ranges; lengths are in units of the farthest vertex's distance.

    amplitude    : s, so that the far field has as much energy as the vortices, on average
    moment_scale : σ_i, standard deviations of m_i
    """

    n_sources: tuple[int, int] = (10, 30)
    widths: tuple[float, float] = (0.07, 0.12)
    strengths: tuple[float, float] = (0.5, 2.0)
    sided: float = 0.7
    """Probability that a vortex is signed by its side of the sampled coordinate plane, instead of at random."""
    amplitude: float = 1.0
    moment_scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    loss_weights: Mapping[str, float] = field(default_factory=lambda: {"relative_l2": 1.0, "divergence": 0.1})

    def __post_init__(self):
        for what in ("n_sources", "widths", "strengths"):
            low, high = getattr(self, what)
            if not 0 < low <= high:
                raise InputError(f"{what} is a range of positive numbers, low ≤ high; got {(low, high)}.", "bad_option")
        if not 0 <= self.sided <= 1:
            raise InputError(f"sided is a probability; got {self.sided}.", "bad_option")
        if len(self.moment_scale) != 3 or not min(self.moment_scale) > 0:
            raise InputError(
                f"moment_scale holds three positive numbers; got {tuple(self.moment_scale)}.", "bad_option"
            )


class VortexFlow(Task):
    """A task of that equation; subclasses give the shape, the mesh and the harmonic part."""

    equation = "Δ₀ψ = ζ − mean ζ + s Σ cᵢ (xᵢ − mean xᵢ), f = dψ + γ"
    Config = VortexConfig
    inputs = (FieldSpec("vorticity", 0, "scalar", "Vorticity ζ"),)
    target = FieldSpec("velocity", 1, "flux", "Velocity (flux 1-form)")

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The smooth shape on which records live."""

    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        return {}

    def draw_number(self, rng: np.random.Generator) -> int:
        low, high = self.config.n_sources
        return int(rng.integers(low, high + 1))

    def draw_vortices(self, rng: np.random.Generator, n: int) -> Record:
        """Centres by area, widths and strengths uniform, signs by the side of a sampled coordinate plane."""
        config = self.config
        centres = self.shape.points(rng, n)
        axis, level = rng.integers(3), 0.25 * rng.uniform(-1.0, 1.0)
        side = np.where(centres[:, axis] > level, 1.0, -1.0) * rng.choice([-1.0, 1.0])
        sign = np.where(rng.random(n) < config.sided, side, rng.choice([-1.0, 1.0], n))
        return {
            "centres": centres,
            "widths": rng.uniform(*config.widths, n),
            "strengths": sign * rng.uniform(*config.strengths, n),
        }

    def draw(self, rng: np.random.Generator) -> Record:
        return self.draw_vortices(rng, self.draw_number(rng))

    def far_coefficients(self, zeta: np.ndarray, ground: Ground) -> np.ndarray:
        """c_i of vorticities (B, N), (B, 3)."""
        return coupled_moments(first_moments(ground, zeta), np.array(self.config.moment_scale))

    def source(self, zeta: np.ndarray, ground: Ground) -> np.ndarray:
        """w of vorticities (B, N), (B, N), of zero mean; δ of the velocity."""
        mean = zeta @ ground.vertex_measure / ground.measure
        far = self.far_coefficients(zeta, ground) @ ground.moment_points.T
        return zeta - mean[:, None] + self.config.amplitude * far

    def realise(self, records: Sequence[Record], ground: Ground) -> Realisation:
        zeta = gaussian_fields(ground.mesh.points, records)
        return self.flow(zeta, records, ground)

    def flow(self, zeta: np.ndarray, records: Sequence[Record], ground: Ground) -> Realisation:
        """The samples of given vorticities (B, N); records hold the circulations where the shape has any."""
        mean = zeta @ ground.vertex_measure / ground.measure
        near = stream_function(ground, zeta - mean[:, None])
        units = stream_function(ground, np.ascontiguousarray(ground.moment_points.T))  # (3, N)
        far = self.config.amplitude * self.far_coefficients(zeta, ground) @ units
        parts = {"local": gradients(ground, near), "global": gradients(ground, far)}
        coefficients = {}
        for name, fields in self.named_fields(ground).items():
            given = [record["circulations"] for record in records]
            coefficients[name] = np.reshape(given, (len(records), fields.values.shape[1]))
            parts["harmonic"] = coefficients[name] @ fields.values.T
        target = gradients(ground, near + far)
        if "harmonic" in parts:
            target = target + parts["harmonic"]
        return Realisation({"vorticity": zeta}, target, coefficients, parts=parts)

    @classmethod
    def calibrate(cls, n_nodes: int = 3000, n_samples: int = 2000, seed: int = 0, **config) -> dict[str, object]:
        """Entries ``amplitude`` and ``moment_scale`` (``circulation``) from samples at n_nodes; three digits are kept.

        σ_i is the standard deviation of m_i; s makes the mean energies of the far field and of the vortices equal.
        config : other entries, as for the class.  The config's numbers come from the defaults here.
        """
        probe = cls(**{**config, "amplitude": 1.0, "moment_scale": (1.0, 1.0, 1.0)})
        ground = Ground(probe.mesh(n_nodes))
        records = probe.samples(seed, 0, n_samples)
        moments = first_moments(ground, gaussian_fields(ground.mesh.points, records))
        found: dict[str, object] = {"moment_scale": tuple(rounded(x) for x in moments.std(axis=0))}
        parts = cls(**{**config, **found, "amplitude": 1.0}).realise(records, ground).parts
        star = ground.dec.star(1)
        near, far = (square_norms(star, parts[name]).mean() for name in ("local", "global"))
        found["amplitude"] = rounded(np.sqrt(near / far))
        return found | probe.calibrate_more(float(near))

    def calibrate_more(self, near: float) -> dict[str, object]:
        """Further entries, from the mean energy of the vortices' part; here none."""
        return {}

    @classmethod
    def calibrated(cls, n_nodes: int = 3000, n_samples: int = 2000, seed: int = 0, **config) -> VortexFlow:
        """The task with these entries and the numbers that :meth:`calibrate` finds for them."""
        return cls(**config, **cls.calibrate(n_nodes, n_samples, seed, **config))


def rounded(x: float, digits: int = 3) -> float:
    """x to so many significant digits."""
    return float(f"{x:.{digits}g}")
