"""A forced Helmholtz problem between two resonances on a torus, with a flow round its two loops.

(Δ₀ − κ²)ψ = g,  f = dψ + Σ_i c_i γ_i,  c_i = s tanh(2 m_i / σ_i),  m_1 = ∫ g x dA, m_2 = ∫ g z dA,
with γ_1 = dθ/‖dθ‖ and γ_2 in the class of dφ, ⋆-orthonormal.  κ² lies in the middle of the relatively widest gap of
the spectrum beyond the 20th eigenvalue (23 lie below it on meshes of 1500 to 7000 vertices), so that ψ oscillates, no
low mode dominates, and the field depends on the mesh as little as it can between resonances.
Exact: d f = 0, the harmonic coefficients are c, and (Δ₀ − κ²)ψ = g to the solver's precision.
Source: Helmholtz equation on closed surfaces, Courant and Hilbert, volume I, chapter V; the coupling is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hsd.data.gaussians import gaussian_fields
from hsd.data.ground import Ground, square_norms
from hsd.data.harmonic_frames import torus_frame
from hsd.data.smooth_shapes import Torus, partners
from hsd.data.tasks._stream import first_moments, gradients
from hsd.data.tasks._vortices import rounded
from hsd.data.tasks.base import FieldSpec, NamedFields, Realisation, Record, Task, TaskConfig
from hsd.errors import InputError, SolverError
from hsd.linalg import Factor
from hsd.mesh.mesh import Mesh
from hsd.mesh.primitives import gallery

EDGE = 0.1104
"""Mean edge length of the coarsest mesh in use (1500 nodes), for the distances of pairs."""
AXES = (0, 2)
"""Coordinates of the two moments."""
LARGEST_RESIDUAL = 1e-8


@dataclass(frozen=True)
class HelmholtzConfig(TaskConfig):
    """n_broad, n_sharp, n_pairs : numbers of blobs and of opposite pairs; the rest as in the module's equation.

    known_circulations : hand the coefficients c to models as references; by default they must be learnt from g
    """

    n_nodes: int = 1800
    kappa2: float = 19.24
    n_broad: tuple[int, int] = (3, 6)
    broad: tuple[float, float] = (0.2, 0.5)
    n_sharp: tuple[int, int] = (5, 10)
    sharp: tuple[float, float] = (0.1325, 0.2)
    n_pairs: tuple[int, int] = (1, 3)
    pair_distance: tuple[float, float] = (2.0, 4.0)
    strengths: tuple[float, float] = (0.5, 2.0)
    amplitude: float = 1.08
    moment_scale: tuple[float, float] = (1.83, 0.369)
    known_circulations: bool = False
    loss_weights: Mapping[str, float] = field(default_factory=lambda: {"relative_l2": 1.0, "divergence": 0.1})

    def __post_init__(self):
        for what in ("n_broad", "broad", "n_sharp", "sharp", "n_pairs", "pair_distance", "strengths"):
            low, high = getattr(self, what)
            if not 0 <= low <= high:
                raise InputError(
                    f"{what} is a range of non-negative numbers, low ≤ high; got {(low, high)}.", "bad_option"
                )
        if min(self.broad[0], self.sharp[0]) <= 0:
            raise InputError("Widths of blobs must be positive.", "bad_option")
        if not self.kappa2 > 0:
            raise InputError(f"κ² must be positive; got {self.kappa2}.", "bad_option")
        if len(self.moment_scale) != 2 or not min(self.moment_scale) > 0:
            raise InputError(f"moment_scale holds two positive numbers; got {tuple(self.moment_scale)}.", "bad_option")


class TorusHelmholtz(Task):
    """Forcing → velocity on the torus R = 1, r = 0.4."""

    name = "torus_helmholtz"
    title = "Helmholtz on the torus"
    equation = "(Δ₀ − κ²)ψ = g, f = dψ + Σ s tanh(2mᵢ/σᵢ) γᵢ"
    place = "the torus R = 1, r = 0.4 round the z axis"
    dim = 2
    Config = HelmholtzConfig
    inputs = (FieldSpec("forcing", 0, "scalar", "Forcing g"),)
    target = FieldSpec("velocity", 1, "flux", "Velocity (flux 1-form)")
    shape = Torus(1.0, 0.4)

    def mesh(self, n_nodes: int | None = None) -> Mesh:
        return gallery("torus", n_nodes or self.config.n_nodes, R=self.shape.R, r=self.shape.r)

    def frame(self, ground: Ground) -> np.ndarray:
        """γ_1, γ_2: (N_1, 2)."""
        return torus_frame(ground, self.shape.R)

    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        if not self.config.known_circulations:
            return {}
        return {"harmonic": NamedFields(1, "flux", self.frame(ground), reference=True)}

    def draw(self, rng: np.random.Generator) -> Record:
        """Broad blobs, sharper ones, then pairs of opposite sharper ones; signs at random."""
        config = self.config
        broad, sharp, pairs = (int(rng.integers(low, high + 1)) for low, high in _numbers(config))
        n = broad + sharp + pairs
        centres = self.shape.points(rng, n)
        widths = np.concatenate([rng.uniform(*config.broad, broad), rng.uniform(*config.sharp, sharp + pairs)])
        strengths = rng.choice([-1.0, 1.0], n) * rng.uniform(*config.strengths, n)
        low, high = (EDGE * d for d in config.pair_distance)
        other = partners(rng, self.shape, centres[n - pairs :], low, high)
        return {
            "centres": np.concatenate([centres, other]),
            "widths": np.concatenate([widths, widths[n - pairs :]]),
            "strengths": np.concatenate([strengths, -strengths[n - pairs :]]),
        }

    def circulations(self, forcing: np.ndarray, ground: Ground) -> np.ndarray:
        """c of forcings (B, N), (B, 2)."""
        m = first_moments(ground, forcing)[:, list(AXES)]
        return self.config.amplitude * np.tanh(2.0 * m / np.array(self.config.moment_scale))

    def stream_function(self, forcing: np.ndarray, ground: Ground) -> np.ndarray:
        """ψ of forcings (B, N), (B, N).  Raises SolverError (resonance) when κ² is an eigenvalue of the mesh."""
        matrix = ground.dec.upper_stiffness(0) - self.config.kappa2 * ground.dec.star(0)
        rhs = (forcing * ground.vertex_measure).T
        factor = Factor(matrix, "columns")
        psi = factor.solve(rhs)
        psi += factor.solve(rhs - matrix @ psi)
        rest = np.abs(rhs - matrix @ psi).sum(axis=0)
        worst = float((rest / np.maximum(np.abs(rhs).sum(axis=0), 1e-300)).max(initial=0.0))
        if not worst < LARGEST_RESIDUAL:
            raise SolverError(
                f"(Δ₀ − κ²)ψ = g was solved to {worst:.1e} only, {LARGEST_RESIDUAL:.0e} is needed: κ² = "
                f"{self.config.kappa2} is too near to an eigenvalue of {ground.mesh.name}.",
                "resonance",
            )
        return psi.T

    def realise(self, records: Sequence[Record], ground: Ground) -> Realisation:
        forcing = gaussian_fields(ground.mesh.points, records)
        c = self.circulations(forcing, ground)
        parts = {
            "local": gradients(ground, self.stream_function(forcing, ground)),
            "global": c @ self.frame(ground).T,
        }
        coefficients = {"harmonic": c} if self.config.known_circulations else {}
        return Realisation({"forcing": forcing}, parts["local"] + parts["global"], coefficients, parts=parts)

    @classmethod
    def calibrate(cls, n_nodes: int = 3000, n_samples: int = 2000, seed: int = 0, **config) -> dict[str, object]:
        """Entries ``amplitude`` and ``moment_scale`` from samples at n_nodes; three digits are kept.

        σ_i is the standard deviation of m_i; s makes the mean energies of both parts equal.
        """
        probe = cls(**{**config, "amplitude": 1.0, "moment_scale": (1.0, 1.0)})
        ground = Ground(probe.mesh(n_nodes))
        records = probe.samples(seed, 0, n_samples)
        moments = first_moments(ground, gaussian_fields(ground.mesh.points, records))[:, list(AXES)]
        found: dict[str, object] = {"moment_scale": tuple(rounded(x) for x in moments.std(axis=0))}
        parts = cls(**{**config, **found, "amplitude": 1.0}).realise(records, ground).parts
        local, far = (square_norms(ground.dec.star(1), parts[name]).mean() for name in ("local", "global"))
        found["amplitude"] = rounded(np.sqrt(local / far))
        return found

    @classmethod
    def calibrated(cls, n_nodes: int = 3000, n_samples: int = 2000, seed: int = 0, **config) -> TorusHelmholtz:
        """The task with these entries and the numbers that :meth:`calibrate` finds for them."""
        return cls(**config, **cls.calibrate(n_nodes, n_samples, seed, **config))


def _numbers(config: HelmholtzConfig) -> tuple[tuple[int, int], ...]:
    return config.n_broad, config.n_sharp, config.n_pairs
