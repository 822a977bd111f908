"""Magnetostatics in a ball with a spherical cavity: magnetic charge density → flux of B, local and global at once.

The charge ρ is a 3-form (one value a tet), B a flux 2-form (one value a face):

    B = a B_P + b σ_Q tanh(Q/σ_Q) h,    dB_P = ρ_eff on every tet,  B_P = δφ,    ρ_eff = ρ_s tanh(ρ/ρ_s),    Q = ∫ρ_eff

The material saturates in the *source*, pointwise in the density, so that Gauss' law dB = a ρ_eff holds to rounding on
every tet and the flux through closed surfaces of mesh faces differs by the charge between.  φ is a 3-form with the
natural condition (φ = 0 on both spheres; B is normal there).  h is the absolute harmonic 2-form of unit flux out of the
cavity, dh = δh = 0: the field that no local law sees.  B_P and h are ⋆-orthogonal, so the coefficient of B in
h/‖h‖ is b σ_Q tanh(Q/σ_Q) ‖h‖: nonlinear in the charge, and known from the input.

Lengths are those of the shape: outer radius 2 (the vertex farthest from the centroid), cavity radius 0.4; so are the
positions, widths and wave vectors of the records.  The mean edge of the coarsest mesh in use (1500 nodes) is 0.30: no
Gaussian is narrower than 1.6 of it, no pattern than 1.3, no two centres are nearer than 2.1, no wave is shorter than 5.
Source: Jackson, Classical Electrodynamics, 3rd ed., section 5.9; Arnold, Falk, Winther 2006, section 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from hsd.data.blocks import WIDTH
from hsd.data.gaussians import gaussian_fields
from hsd.data.ground import Ground, square_norms
from hsd.data.tasks.base import FieldSpec, NamedFields, Realisation, Record, Task, TaskConfig, stacked
from hsd.errors import InputError
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures
from hsd.mesh.primitives.volumes import ball_with_cavity

OUTER, INNER = 2.0, 0.4
"""Radii of the ball and of its cavity."""
MORE_VERTICES = 1.07
"""The prism mesh has fewer tets a vertex than a free one; with this many more vertices it has 17 280 tets for 3000."""
N_WAVES = 4
POSITIVE = ("wave_number", "n_blobs", "blob_width", "shell_width")
RANGES = (*POSITIVE, "wave_strength", "blob_strength", "monopole", "dipole", "quadrupole")
"""Entries of the config that are ranges; those in POSITIVE may not begin at 0."""


@dataclass(frozen=True)
class MagnetostaticsConfig(TaskConfig):
    """Ranges are (least, most).  a, b, charge_scale (σ_Q) and saturation (ρ_s) are what ``calibrate`` gave, frozen.

    wave_number, wave_strength : |k| of the plane waves, sum of their weights (softmax times this)
    n_blobs, blob_width, blob_strength, blob_distance : Gaussians, of random sign, and the least distance of two centres
    shell_width, monopole, dipole, quadrupole         : thickness and strengths of the patterns around the cavity
    local_share                                       : share of the energy that ``calibrate`` gives to a B_P
    """

    loss_weights: Mapping[str, float] = field(default_factory=lambda: {"relative_l2": 1.0, "divergence": 0.1})
    wave_number: tuple[float, float] = (2.0, 4.0)
    wave_strength: tuple[float, float] = (1.0, 3.0)
    n_blobs: tuple[int, int] = (4, 10)
    blob_width: tuple[float, float] = (0.5, 1.2)
    blob_strength: tuple[float, float] = (1.0, 2.0)
    blob_distance: float = 0.65
    shell_width: tuple[float, float] = (0.4, 0.7)
    monopole: tuple[float, float] = (0.5, 2.0)
    dipole: tuple[float, float] = (0.5, 2.0)
    quadrupole: tuple[float, float] = (0.5, 2.0)
    local_share: float = 0.5
    a: float = 2.12258
    b: float = 1.00037
    charge_scale: float = 15.4375
    saturation: float = 1.50869

    def __post_init__(self):
        for name in ("a", "b", "charge_scale", "saturation", "blob_distance"):
            if not 0 < getattr(self, name) < np.inf:
                raise InputError(f"{name} must be positive and finite; got {getattr(self, name)}.", "bad_option")
        if not 0 < self.local_share < 1:
            raise InputError(f"local_share must lie between 0 and 1; got {self.local_share}.", "bad_option")
        for name in RANGES:
            least, most = getattr(self, name)
            if not 0 <= least <= most < np.inf or (least == 0 and name in POSITIVE):
                above = "0 <" if name in POSITIVE else "0 ≤"
                raise InputError(
                    f"{name} must be (least, most) with {above} least ≤ most; got {(least, most)}.", "bad_option"
                )
        if self.n_blobs[1] * self.blob_distance**3 > OUTER**3 - INNER**3:
            raise InputError(
                f"{self.n_blobs[1]} centres at distances of {self.blob_distance} may not fit into the shell; lower "
                "n_blobs or blob_distance.",
                "bad_option",
            )


class Magnetostatics(Task):
    name = "magnetostatics"
    title = "Magnetostatics around a cavity"
    equation = "B = a B_P + b σ_Q tanh(Q/σ_Q) h,  dB_P = ρ_eff,  B_P = δφ,  ρ_eff = ρ_s tanh(ρ/ρ_s),  Q = ∫ρ_eff"
    place = "the ball of radius 2 round the origin with a cavity of radius 0.4"
    dim = 3
    Config = MagnetostaticsConfig
    inputs = (FieldSpec("charge", 3, "density", "Magnetic charge density ρ"),)
    target = FieldSpec("B", 2, "flux", "Magnetic flux density B")

    def mesh(self, n_nodes: int | None = None) -> Mesh:
        """Icosphere × layers in geometric progression, radii 0.4 to 2: 3258 vertices and 17 280 tets for 3000."""
        return ball_with_cavity(round(MORE_VERTICES * (n_nodes or self.config.n_nodes)), OUTER, INNER)

    def named_fields(self, ground: Ground) -> dict[str, NamedFields]:
        """The ⋆-orthonormal h/‖h‖, (N_2, 1), out of the cavity, under the name "harmonic"."""
        h, norm = self._harmonic(ground)
        return {"harmonic": NamedFields(2, "flux", (h / norm)[:, None], reference=True)}

    def draw(self, rng: np.random.Generator) -> Record:
        """Waves (4), blobs (4 to 10), and one monopole, dipole and quadrupole pattern; no mesh.

        wave_vectors (4, 3), wave_phases (4,), wave_weights (4,); centres (m, 3), widths (m,), strengths (m,);
        shell_width, monopole (), dipole (3,), quadrupole (3, 3) symmetric and traceless, of largest value ±strength.
        """
        c = self.config
        logits = rng.normal(size=N_WAVES)
        weights = np.exp(logits - logits.max())
        waves = rng.uniform(*c.wave_number, N_WAVES)[:, None] * _directions(rng, N_WAVES)
        n_blobs = int(rng.integers(c.n_blobs[0], c.n_blobs[1] + 1))
        raw = rng.normal(size=(3, 3))
        quadrupole = raw + raw.T - 2 / 3 * np.trace(raw) * np.eye(3)
        quadrupole /= np.abs(np.linalg.eigvalsh(quadrupole)).max()
        return {
            "wave_vectors": waves,
            "wave_phases": rng.uniform(0, 2 * np.pi, N_WAVES),
            "wave_weights": rng.uniform(*c.wave_strength) * weights / weights.sum(),
            "centres": _centres(rng, n_blobs, c.blob_distance),
            "widths": rng.uniform(*c.blob_width, n_blobs),
            "strengths": rng.choice([-1.0, 1.0], n_blobs) * rng.uniform(*c.blob_strength, n_blobs),
            "shell_width": np.array(rng.uniform(*c.shell_width)),
            "monopole": np.array(rng.choice([-1.0, 1.0]) * rng.uniform(*c.monopole)),
            "dipole": rng.uniform(*c.dipole) * _directions(rng, 1)[0],
            "quadrupole": rng.uniform(*c.quadrupole) * quadrupole,
        }

    def density(self, records: Sequence[Record], points: np.ndarray) -> np.ndarray:
        """ρ at points (P, 3) → (B, P):

        Σ w_j cos(k_j·x + θ_j) + Σ s_i exp(−|x − c_i|²/2σ_i²) + exp(−(|x| − 0.4)²/2ℓ²) (m + p·x̂ + x̂ᵀ q x̂)
        """
        out = gaussian_fields(points, records)
        for block, total in _blocks(records, out):
            total += _waves(block, points) + _patterns(block, points)
        return out

    def charges(self, records: Sequence[Record], ground: Ground) -> np.ndarray:
        """ρ as 3-cochains (B, N_3): per tet ∫ρ by the rule with 1/20 at the vertices and 4/5 at the barycentre (exact
        for quadratic densities)."""
        mesh = ground.mesh
        tets, n_tets = mesh.complex.simplices(3), mesh.complex.n(3)
        n_vertices = mesh.complex.n_vertices
        points = np.vstack([mesh.points, mesh.points[tets].mean(axis=1)])
        rows = np.repeat(np.arange(n_tets), 5)
        columns = np.column_stack([tets, n_vertices + np.arange(n_tets)]).ravel()
        weights = (self._charge_signs(ground) * measures(mesh, 3))[:, None] * np.array([0.05, 0.05, 0.05, 0.05, 0.8])
        rule = sp.csr_matrix((weights.ravel(), (rows, columns)), shape=(n_tets, len(points)))
        out = np.empty((len(records), n_tets))
        for block, row in _blocks(records, out):
            row[:] = (rule @ self.density(block, points).T).T
        return out

    def effective(self, charges: np.ndarray, ground: Ground) -> np.ndarray:
        """ρ_eff = ρ_s tanh(ρ/ρ_s), pointwise in the density: 3-cochains (B, N_3) → (B, N_3)."""
        scale = self.config.saturation * measures(ground.mesh, 3)
        return scale * np.tanh(charges / scale)

    def realise(self, records: Sequence[Record], ground: Ground) -> Realisation:
        """Records → charge (B, N_3), B (B, N_2), its harmonic coefficient (B, 1), parts "local" and "global".

        Raises InputError (bad_ground) for another star or boundary condition, TopologyError (no_cavity).
        """
        c = self.config
        h, norm = self._harmonic(ground)
        charges = self.charges(records, ground)
        effective = self.effective(charges, ground)
        total = (effective * self._charge_signs(ground)).sum(axis=1)  # (B,) Q
        flux = c.b * c.charge_scale * np.tanh(total / c.charge_scale)  # (B,) out of the cavity, by the global part
        local = c.a * ground.flux_solver(effective)
        everywhere = flux[:, None] * h
        return Realisation(
            {"charge": charges},
            local + everywhere,
            {"harmonic": (flux * norm)[:, None]},
            parts={"local": local, "global": everywhere},
        )

    def calibrate(self, ground: Ground | None = None, n_samples: int = 512, seed: int = 0) -> dict[str, float]:
        """The amplitudes, measured on samples 0 … n_samples−1 of a seed; to be frozen in the config.

        saturation ρ_s : root mean square of ρ over the volume and the samples
        charge_scale σ_Q : root mean square of Q
        a, b           : mean ‖a B_P‖²_⋆ = local_share · volume and mean ‖global part‖²_⋆ = (1 − local_share) · volume,
                         so that the root mean square of |B| is 1
        """
        ground = ground or Ground(self.mesh())
        _, norm = self._harmonic(ground)
        volumes, star = measures(ground.mesh, 3), ground.dec.star(2)
        charges = self.charges(self.samples(seed, 0, n_samples), ground)
        saturation = float(np.sqrt((charges**2 / volumes).sum() / (len(charges) * ground.measure)))
        effective = type(self)(**{**self.config_dict, "saturation": saturation}).effective(charges, ground)
        total = (effective * self._charge_signs(ground)).sum(axis=1)
        scale = float(np.sqrt((total**2).mean()))
        energy = square_norms(star, ground.flux_solver(effective))
        far = (scale * np.tanh(total / scale) * norm) ** 2
        share = self.config.local_share
        return {
            "a": float(np.sqrt(share * ground.measure / energy.mean())),
            "b": float(np.sqrt((1 - share) * ground.measure / far.mean())),
            "charge_scale": scale,
            "saturation": saturation,
        }

    def _charge_signs(self, ground: Ground) -> np.ndarray:
        return ground.flux_solver.signs

    def _harmonic(self, ground: Ground) -> tuple[np.ndarray, float]:
        """h of unit flux out of the cavity, (N_2,), and ‖h‖_⋆."""
        if ground.dec.kind != "galerkin" or ground.dec.bc != "absolute":
            raise InputError(
                f"Magnetostatics is made with galerkin stars and absolute boundary conditions; got {ground.dec.kind} "
                f"and {ground.dec.bc}.",
                "bad_ground",
            )
        h = ground.flux_solver.harmonic
        return h, ground.dec.norm(2, h)


def _directions(rng: np.random.Generator, n: int) -> np.ndarray:
    """n directions, uniform on the sphere, (n, 3)."""
    raw = rng.normal(size=(n, 3))
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def _centres(rng: np.random.Generator, n: int, distance: float) -> np.ndarray:
    """n points, uniform in the shell and no two nearer than ``distance``, (n, 3): darts thrown until n have stuck."""
    kept = np.zeros((0, 3))
    while len(kept) < n:
        radius = np.cbrt(rng.uniform(INNER**3, OUTER**3))
        dart = radius * _directions(rng, 1)
        if (((kept - dart) ** 2).sum(axis=1) >= distance**2).all():
            kept = np.vstack([kept, dart])
    return kept


def _blocks(records: Sequence[Record], rows: np.ndarray) -> Iterator[tuple[Sequence[Record], np.ndarray]]:
    """WIDTH records at a time with their rows, so that intermediate arrays stay small."""
    for start in range(0, len(records), WIDTH):
        yield records[start : start + WIDTH], rows[start : start + WIDTH]


def _waves(records: Sequence[Record], points: np.ndarray) -> np.ndarray:
    """Σ w_j cos(k_j·x + θ_j), (B, P); elementwise, so that a row does not depend on the others."""
    vectors, phases, weights = (stacked(records, f"wave_{key}") for key in ("vectors", "phases", "weights"))
    out = np.zeros((len(records), len(points)))
    for j in range(N_WAVES):
        phase = np.repeat(phases[:, j, None], len(points), axis=1)
        for axis in range(3):
            phase += vectors[:, j, axis, None] * points[:, axis]
        out += weights[:, j, None] * np.cos(phase, out=phase)
    return out


def _patterns(records: Sequence[Record], points: np.ndarray) -> np.ndarray:
    """exp(−(|x| − 0.4)²/2ℓ²) (m + p·x̂ + x̂ᵀ q x̂), (B, P)."""
    radius = np.linalg.norm(points, axis=1)
    unit = points / np.maximum(radius, np.finfo(float).tiny)[:, None]
    dipole, quadrupole = stacked(records, "dipole"), stacked(records, "quadrupole")
    out = np.repeat(stacked(records, "monopole")[:, None], len(points), axis=1)
    for i in range(3):
        out += dipole[:, i, None] * unit[:, i]
        for j in range(3):
            out += quadrupole[:, i, j, None] * (unit[:, i] * unit[:, j])
    return out * np.exp(-((radius - INNER) ** 2) / (2 * stacked(records, "shell_width")[:, None] ** 2))
