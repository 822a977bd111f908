"""Transfer between cochains and a regular grid around the mesh: sampling R, its adjoint lift ι, a soft mask.

R : grid → Ω^k, trilinear sampling at quadrature points of each k-simplex, then de Rham integration: (Ru)(σ) = ∫_σ u.
ι = D⁻¹ Rᵀ ⋆_k : Ω^k → grid, D the splatted measure of each voxel, so that ⟨Ru, ω⟩_⋆ = ⟨u, ιω⟩_D for all u and ω.
Grid fields have one channel for scalars and densities, D components for vectors; axes are (x, y, z) in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from hsd.data.ground import Ground
from hsd.dec.flat import conormals, positions, simplex_vectors, top_signs
from hsd.dec.quadrature import simplex_rule
from hsd.errors import InputError, check_choice
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures

QUADRATURE_DEGREE = 2
MARGIN = 1.0
"""Free cells between the mesh and the faces of the box, so that periodic convolutions do not join opposite sides."""


@dataclass(frozen=True)
class Box:
    """A grid of ``size``³ points: point (i, j, l) lies at low + (i, j, l) · step, row (i · size + j) · size + l."""

    low: np.ndarray
    step: np.ndarray
    size: int

    @classmethod
    def around(cls, mesh: Mesh, size: int = 16) -> Box:
        """The box of the mesh, each axis widened by MARGIN cells at both ends; flat axes get the widest one's cells.

        Raises InputError (grid_size, dimension), MetricError (no_positions).
        """
        p = positions(mesh)
        if p.shape[1] != 3:
            raise InputError(f"A grid lift needs three coordinates; {mesh.name} has {p.shape[1]}.", "dimension")
        if size < 4:
            raise InputError(f"A grid needs at least 4 points an axis; got {size}.", "grid_size")
        low, high = p.min(axis=0), p.max(axis=0)
        extent = high - low
        cells = size - 1 - 2 * MARGIN
        step = np.maximum(extent, 1e-3 * extent.max()) / cells
        return cls((low + high) / 2 - step * (size - 1) / 2, step, size)

    @cached_property
    def points(self) -> np.ndarray:
        """(size³, 3) positions of the grid points."""
        axes = [self.low[a] + self.step[a] * np.arange(self.size) for a in range(3)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)

    def trilinear(self, places: np.ndarray) -> sp.csr_matrix:
        """(m, size³) weights of trilinear sampling at places (m, 3); rows sum to 1, linear functions are exact.

        Raises InputError (outside_grid).
        """
        at = (places - self.low) / self.step
        if at.min(initial=0.0) < -1e-9 or at.max(initial=0.0) > self.size - 1 + 1e-9:
            raise InputError("Some places lie outside the grid's box; build the box around this mesh.", "outside_grid")
        corner = np.clip(np.floor(at).astype(np.int64), 0, self.size - 2)
        t = at - corner
        rows, cols, values = [], [], []
        for i in (0, 1):
            for j in (0, 1):
                for k in (0, 1):
                    offset = np.array([i, j, k])
                    weight = np.prod(np.where(offset == 1, t, 1 - t), axis=1)
                    index = corner + offset
                    rows.append(np.arange(len(at)))
                    cols.append((index[:, 0] * self.size + index[:, 1]) * self.size + index[:, 2])
                    values.append(weight)
        shape = (len(at), self.size**3)
        return sp.csr_matrix((np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))), shape=shape)


class GridTransfer:
    """R and ι between Ω^k and a grid (module docstring).

    ground  : mesh, star and boundary condition
    degree  : k;  reading : one of ``hsd.data.tasks.base.READINGS``, says how the k-form is a field of space
    box     : the grid;  default: around the mesh, 16 points an axis

    sampling : R, (N_k, size³ · C), columns (grid point, component);  lift : ι, (size³ · C, N_k)
    density  : D, (size³,), unit of measure;  mask : (size³,) in [0, 1], 1 where the grid sees the mesh, soft at its rim
    Raises InputError (choice, degree, dimension, grid_size, outside_grid), TopologyError (non_orientable).
    Source: P-2.2, P-D.5; adjoint transfer as in immersed boundary methods, Peskin 2002, section 6.
    """

    def __init__(self, ground: Ground, degree: int, reading: str, box: Box | None = None):
        check_choice("reading", reading, ("scalar", "circulation", "flux", "density"))
        mesh = ground.mesh
        self.box = box or Box.around(mesh)
        self.degree, self.reading = degree, reading
        factors = _integration_factors(mesh, degree, reading)  # (N_k, C)
        self.n_channels = factors.shape[1]
        samples, weights = _samples(mesh, degree, self.box)
        mean = sp.kron(sp.identity(mesh.complex.n(degree), format="csr"), weights[None, :]) @ samples  # (N_k, G)
        blocks = [sp.diags(factors[:, c]) @ mean for c in range(self.n_channels)]
        order = np.arange(self.n_channels * self.box.size**3).reshape(self.n_channels, -1).T.ravel()
        self.sampling = sp.csr_matrix(sp.hstack(blocks, format="csc")[:, order])
        self.density = np.asarray(mean.T @ _share_of_measure(mesh, degree))
        reached = self.density > 0
        inverse = np.divide(1.0, self.density, out=np.zeros_like(self.density), where=reached)
        weighted = sp.diags(np.repeat(inverse, self.n_channels)) @ self.sampling.T
        self.lift = sp.csr_matrix(weighted @ ground.dec.star(degree))

    @cached_property
    def mask(self) -> np.ndarray:
        """Soft occupancy 1 − e^{−4ρ}, ρ the density over its mean, smoothed once by (¼, ½, ¼) along each axis."""
        size = self.box.size
        level = (self.density / self.density[self.density > 0].mean()).reshape(size, size, size)
        for axis in range(3):
            level = 0.5 * level + 0.25 * (np.roll(level, 1, axis) + np.roll(level, -1, axis))
        return 1.0 - np.exp(-4.0 * level.ravel())


def _samples(mesh: Mesh, k: int, box: Box) -> tuple[sp.csr_matrix, np.ndarray]:
    """Trilinear sampling at the quadrature points of all k-simplices, (N_k · q, G), and the rule's weights (q,)."""
    bary, weights = simplex_rule(k, QUADRATURE_DEGREE if k else 0)
    corners = positions(mesh)[mesh.complex.simplices(k)]
    return box.trilinear(np.einsum("qi,mid->mqd", bary, corners).reshape(-1, 3)), weights


def _share_of_measure(mesh: Mesh, k: int) -> np.ndarray:
    """(N_k,): the measure of every top simplex, dealt out evenly to its k-faces; the diagonal of ⋆_0 for k = 0."""
    faces = mesh.complex.subsimplices(mesh.dim, k)
    share = np.repeat(measures(mesh, mesh.dim) / faces.shape[1], faces.shape[1])
    return np.bincount(faces.ravel(), weights=share, minlength=mesh.complex.n(k))


def _integration_factors(mesh: Mesh, k: int, reading: str) -> np.ndarray:
    """(N_k, C): what a mean over a simplex is multiplied with to be the integral of the form over it."""
    n = mesh.dim
    fits = {"scalar": k == 0, "circulation": k == 1, "flux": k == n - 1 and n > 1, "density": k == n}
    if not fits[reading]:
        raise InputError(f"A {k}-form on a mesh of dimension {n} does not read as {reading}.", "degree")
    if reading == "scalar":
        return np.ones((mesh.complex.n(0), 1))
    if reading == "density":
        return (measures(mesh, n) * top_signs(mesh, "The integral of a density"))[:, None]
    if reading == "flux" and n == 2:
        return conormals(mesh)
    return simplex_vectors(mesh, k)
