"""What scoring on one mesh needs, as tensors: made once, moved to any device and floating type."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from hsd.data.ground import Ground
from hsd.data.sparse import tensor_of
from hsd.data.tasks.base import READINGS
from hsd.dec.flat import cells_to_vertices, positions, top_signs
from hsd.errors import InputError, TopologyError, check_choice, require_whole
from hsd.hodge.spectrum import HodgeBasis
from hsd.mesh.metric import length_scale, measures
from hsd.metrics.parts import PartEnergies

N_MODES = 128
"""Non-harmonic modes of the spectral metrics unless a basis is given; half exact, half coexact where both exist."""


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Measures, operators and modes of one mesh for one kind of field; made by :meth:`of`.

    dim, degree, reading : n of the mesh, k of the form, one of READINGS;  n_components: C of the node values
    betti                : b_k, number of harmonic k-forms
    length               : L with L² = measure^(2/n)/4π, unit
    vertex_measure       : (N_0,) lumped ⋆_0, unit^n
    edges, cotan         : (N_1, 2), (N_1,) with ⟨du, dv⟩_⋆1 = Σ_e cotan_e (du)_e (dv)_e for 0-forms (d_0ᵀ⋆_1d_0 has
                           the off-diagonal entries −cotan), unit^(n−2)
    sharp, flat          : sparse (N_0·C, N_k), (N_k, N_0·C) between node values and the form; None: both are the same
    star                 : sparse ⋆_k, (N_k, N_k)
    d, star_up           : sparse d_k, (N_n, N_k), and the diagonal of ⋆_n for fluxes (k = n−1); None for others
    vorticity            : sparse (N_0, N_k), form → vorticity at the vertices; None where there is none
    harmonic             : (N_k, b_k) ⋆Γ of the ⋆-orthonormal harmonic basis;  cycles: (N_k, b_k) generator cycles
    modes, eigenvalues   : (N_k, n) ⋆Φ of the non-harmonic modes, (n,) unit⁻²
    ring                 : (N_0,) bool, vertices on the boundary and their neighbours
    parts                : energies of Hodge parts (CPU, factored once)
    All tensors share one device and floating type (float64 as made).
    """

    dim: int
    degree: int
    reading: str
    n_components: int
    betti: int
    length: float
    vertex_measure: Tensor
    edges: Tensor
    cotan: Tensor
    sharp: Tensor | None
    flat: Tensor | None
    star: Tensor
    d: Tensor | None
    star_up: Tensor | None
    vorticity: Tensor | None
    harmonic: Tensor
    cycles: Tensor
    modes: Tensor
    eigenvalues: Tensor
    ring: Tensor
    parts: PartEnergies

    @classmethod
    def of(
        cls,
        ground: Ground,
        degree: int,
        reading: str,
        basis: HodgeBasis | None = None,
        *,
        n_modes: int = N_MODES,
        is_vorticity: bool = False,
    ) -> Yardstick:
        """The yardstick of k-forms that read as ``reading`` on a ground with Galerkin star, absolute conditions.

        basis        : its non-harmonic modes serve the spectral metrics; None: ``n_modes`` of them, half exact and
                       half coexact where both exist, each list cut at a gap
        is_vorticity : a scalar on a surface that is itself a vorticity, so that it has an enstrophy
        Raises InputError (reading, star, boundary_condition, basis_mismatch, not_whole, n_modes), MetricError,
        TopologyError (non_orientable), UnknownNameError.
        """
        check_choice("reading", reading, READINGS)
        mesh, solver, dec = ground.mesh, ground.solver, ground.dec
        _check(ground, degree, reading, is_vorticity)
        basis = basis or default_basis(ground, degree, n_modes)
        if basis.k != degree or basis.mesh.content_hash != mesh.content_hash or basis.star != "galerkin":
            raise InputError(
                f"The basis must hold {degree}-forms of {mesh.name} with Galerkin star; got degree {basis.k} on "
                f"{basis.mesh.name} with star {basis.star!r}.",
                "basis_mismatch",
            )
        edges = mesh.complex.simplices(1)
        stiffness = dec.upper_stiffness(0)
        same = reading == "scalar"
        top = reading == "flux"
        columns = np.flatnonzero(basis.part != "harmonic")
        star_harmonic = dec.star(degree) @ solver.harmonic(degree).orthonormal
        return cls(
            dim=dec.dim,
            degree=degree,
            reading=reading,
            n_components=1 if reading in ("scalar", "density") else positions(mesh).shape[1],
            betti=star_harmonic.shape[1],
            length=length_scale(mesh),
            vertex_measure=_dense(ground.vertex_measure),
            edges=torch.from_numpy(np.array(edges)),
            cotan=_dense(-np.asarray(stiffness[edges[:, 0], edges[:, 1]]).ravel()),
            sharp=None if same else tensor_of(ground.node_matrix(degree, reading)),
            flat=None if same else tensor_of(ground.flat_matrix(degree, reading)),
            star=tensor_of(dec.star(degree)),
            d=tensor_of(dec.d(degree)) if top else None,
            star_up=_dense(dec.star(degree + 1).diagonal()) if top else None,
            vorticity=_vorticity(ground, reading, is_vorticity),
            harmonic=_dense(star_harmonic),
            cycles=_dense(solver.homology.cycles(degree)),
            modes=_dense(basis.star_modes[:, columns]),
            eigenvalues=_dense(basis.eigenvalues[columns]),
            ring=torch.from_numpy(boundary_ring(ground)),
            parts=PartEnergies(ground, degree),
        )

    @property
    def n_vertices(self) -> int:
        return len(self.vertex_measure)

    @property
    def n_simplices(self) -> int:
        """N_k."""
        return self.star.shape[0]

    @property
    def is_vector(self) -> bool:
        return self.reading in ("circulation", "flux")

    @property
    def dtype(self) -> torch.dtype:
        return self.vertex_measure.dtype

    @property
    def device(self) -> torch.device:
        return self.vertex_measure.device

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Yardstick:
        """The same on another device or in another floating type; itself where nothing changes."""
        device, dtype = torch.device(device or self.device), dtype or self.dtype
        if (device, dtype) == (self.device, self.dtype):
            return self
        moved = {
            f.name: value.to(device=device, dtype=dtype if value.is_floating_point() else value.dtype)
            for f in fields(self)
            if isinstance(value := getattr(self, f.name), Tensor)
        }
        return replace(self, **moved)


def boundary_ring(ground: Ground, width: int = 1) -> np.ndarray:
    """(N_0,) bool: vertices on the boundary and those within ``width`` edges of it; all False on closed meshes."""
    complex_ = ground.mesh.complex
    ring = complex_.on_boundary(0).copy()
    edges = complex_.simplices(1)
    for _ in range(width):
        touched = ring[edges].any(axis=1)
        ring[edges[touched].ravel()] = True
    return ring


def apply(matrix: Tensor, x: Tensor) -> Tensor:
    """A x for each row x of a batch: (m, n) sparse, (B, n) → (B, m); differentiable in x."""
    return torch.sparse.mm(matrix, x.T).T


def _dense(array: np.ndarray | sp.spmatrix) -> Tensor:
    array = array.toarray() if sp.issparse(array) else array
    return torch.from_numpy(np.array(array, dtype=np.float64))


def _check(ground: Ground, degree: int, reading: str, is_vorticity: bool) -> None:
    dim, dec = ground.mesh.dim, ground.dec
    require_whole("degree", degree)
    fitting = {"scalar": 0, "circulation": 1, "flux": dim - 1, "density": dim}[reading]
    if degree != fitting or (reading == "flux" and dim not in (2, 3)) or dim < 1:
        raise InputError(
            f"On a mesh of dimension {dim} the reading {reading!r} belongs to degree {fitting} (fluxes: surfaces and "
            f"tetrahedra); got degree {degree}.",
            "reading",
        )
    if dec.kind != "galerkin":
        raise InputError(f"Metrics are defined with the Galerkin star; got star={dec.kind!r}.", "star")
    if dec.bc != "absolute":
        raise InputError(
            f"Metrics are defined under absolute conditions, on all simplices; got bc={dec.bc!r}.", "boundary_condition"
        )
    if is_vorticity and (reading != "scalar" or dim != 2):
        raise InputError(
            f"is_vorticity=True belongs to scalars on surfaces; got {reading!r} in dimension {dim}.", "reading"
        )


def default_basis(ground: Ground, degree: int, n_modes: int) -> HodgeBasis:
    """n_modes non-harmonic modes, half exact and half coexact where both exist, and all harmonic ones."""
    require_whole("number of modes", n_modes)
    n_exact = 0 if degree == 0 else n_modes if degree == ground.mesh.dim else n_modes // 2
    return HodgeBasis(ground.mesh, degree, n_exact, n_modes - n_exact, solver=ground.solver)


def _vorticity(ground: Ground, reading: str, is_vorticity: bool) -> Tensor | None:
    """Vorticity at vertices: δf of a flux form, the vertex mean of the density of du of a circulation form."""
    mesh, dec = ground.mesh, ground.dec
    if is_vorticity:
        return tensor_of(sp.identity(mesh.complex.n_vertices))
    if mesh.dim != 2 or reading not in ("circulation", "flux"):
        return None
    if reading == "flux":
        return tensor_of(sp.diags(1.0 / ground.vertex_measure) @ dec.weak_codifferential(1))
    try:
        signs = top_signs(mesh, "A vorticity")
    except TopologyError:
        return None
    return tensor_of(cells_to_vertices(mesh) @ sp.diags(signs / measures(mesh, 2)) @ dec.d(1))
