"""The flux of given charges in tetrahedra: B = δφ with dB = ρ on every tet, by one sparse positive definite solve.

The mixed system in the Whitney stars, ⋆₂B = d₂ᵀ⋆₃φ and d₂B = ρ, is the lowest-order Raviart–Thomas method for
B = −∇φ, div B = ρ.  With one multiplier ψ a face (the mean of φ there) it becomes local: with the outward area vectors
N_i of a tet T and S_ij = N_i·N_j/|T|, the flux out of T through its face i is q_T/4 − (S ψ)_i, where q_T is the charge
of T.  The rows of S sum to zero, so each tet gives off exactly its charge; that what leaves one tet enters the next is
the Crouzeix–Raviart system for ψ, factored once.
Source: Fraeijs de Veubeke 1965; Arnold, Brezzi 1985; Marini 1985, SIAM J. Numer. Anal. 22, 493–496.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from hsd.data.blocks import in_blocks
from hsd.dec.flat import top_signs
from hsd.errors import InputError, TopologyError
from hsd.linalg import Factor
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import gradient_products, measures


class FluxSolver:
    """Flux 2-forms of charges and of potentials given on the boundary of a tetrahedral mesh, factored once.

    Raises InputError (dimension) unless the mesh is of tetrahedra in three coordinates, TopologyError (no_boundary)
    where it has no boundary, MetricError (no_positions, zero_measure).
    """

    def __init__(self, mesh: Mesh):
        if mesh.dim != 3 or not mesh.complex.is_pure:
            raise InputError(
                f"Fluxes of charges need a mesh of tetrahedra only; {mesh.name} has dimension {mesh.dim}.", "dimension"
            )
        if not mesh.complex.has_boundary:
            raise TopologyError(
                f"The potential is fixed at the boundary, but {mesh.name} has none; give a mesh with boundary.",
                "no_boundary",
            )
        self.mesh = mesh

    @cached_property
    def signs(self) -> np.ndarray:
        """(n_tets,) ±1: the charge of a tet is sign × the stored 3-cochain."""
        return top_signs(self.mesh, "A charge")

    @cached_property
    def inner(self) -> np.ndarray:
        """Numbers of the faces between two tets."""
        return np.flatnonzero(~self.mesh.complex.on_boundary(2))

    @cached_property
    def outer(self) -> np.ndarray:
        """Numbers of the boundary faces."""
        return np.flatnonzero(self.mesh.complex.on_boundary(2))

    @cached_property
    def _local(self) -> np.ndarray:
        """S of each tet, (n_tets, 4, 4), unit: N_i = −3 |T| ∇λ_i, so S_ij = 9 |T| ⟨∇λ_i, ∇λ_j⟩."""
        return 9.0 * measures(self.mesh, 3)[:, None, None] * gradient_products(self.mesh, 3)

    @cached_property
    def _stiffness(self) -> sp.csr_matrix:
        """Crouzeix–Raviart stiffness on all faces, (n_faces, n_faces)."""
        faces, n = self.mesh.complex.faces(3), self.mesh.complex.n(2)
        rows, columns = np.repeat(faces, 4, axis=1).ravel(), np.tile(faces, (1, 4)).ravel()
        return sp.csr_matrix((self._local.ravel(), (rows, columns)), shape=(n, n))

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self._stiffness[self.inner][:, self.inner], "nested_dissection")

    def _spread(self, values: np.ndarray) -> sp.csr_matrix:
        """(n_faces, n_tets) with the given values (n_tets, 4) at the faces of each tet."""
        faces, n_tets = self.mesh.complex.faces(3), self.mesh.complex.n(3)
        tets = np.repeat(np.arange(n_tets), 4)
        return sp.csr_matrix((values.ravel(), (faces.ravel(), tets)), shape=(self.mesh.complex.n(2), n_tets))

    @cached_property
    def _load(self) -> sp.csr_matrix:
        """(n_faces, n_tets): stored 3-cochain → q_T/4 at the faces of each tet."""
        return self._spread(np.repeat(0.25 * self.signs[:, None], 4, axis=1))

    @cached_property
    def _senses(self) -> np.ndarray:
        """(n_tets, 4): "out of the tet" against the stored order of face i, over the number of tets at the face."""
        out = self.signs[:, None] * np.array([1.0, -1.0, 1.0, -1.0])
        return out / self.mesh.complex.n_cofaces(2)[self.mesh.complex.faces(3)]

    @cached_property
    def _from_charge(self) -> sp.csr_matrix:
        """(n_faces, n_tets): q_T/4 as flux in the stored sense of each face, the mean of its two sides."""
        return self._spread(0.25 * self._senses * self.signs[:, None])

    @cached_property
    def _from_potential(self) -> sp.csr_matrix:
        """(n_faces, n_faces): −(Sψ)_i as flux in the stored sense of each face, the mean of its two sides."""
        faces, n = self.mesh.complex.faces(3), self.mesh.complex.n(2)
        rows, columns = np.repeat(faces, 4, axis=1).ravel(), np.tile(faces, (1, 4)).ravel()
        values = -self._local * self._senses[:, :, None]
        return sp.csr_matrix((values.ravel(), (rows, columns)), shape=(n, n))

    def __call__(self, charges: np.ndarray, boundary: np.ndarray | None = None) -> np.ndarray:
        """Ω³ → Ω²: B with dB = ρ on every tet and φ given on the boundary; without it B = δφ, ⋆-orthogonal to ker d.

        charges  : (m, n_tets) 3-cochains ρ, unit c
        boundary : (m, n_outer) φ on the boundary faces :attr:`outer`, unit c/length; None: the natural condition φ = 0
        Returns (m, n_faces) flux 2-cochains of B = −grad φ, unit c; a row does not depend on the others, bit for bit.
        Raises InputError (shape).
        """
        charges = np.asarray(charges, np.float64)
        n_tets = self.mesh.complex.n(3)
        if charges.ndim != 2 or charges.shape[1] != n_tets:
            raise InputError(f"Charges have shape (m, {n_tets}), one a tet; got {charges.shape}.", "shape")
        if boundary is not None and np.shape(boundary) != (len(charges), len(self.outer)):
            raise InputError(
                f"Boundary potentials have shape ({len(charges)}, {len(self.outer)}); got {np.shape(boundary)}.",
                "shape",
            )
        if boundary is None:
            return in_blocks(self._solve, charges)
        return in_blocks(self._solve, charges, np.asarray(boundary, np.float64))

    def _solve(self, charges: np.ndarray, boundary: np.ndarray | None = None) -> np.ndarray:
        """One block of columns: (n_tets, b) and (n_outer, b) → (n_faces, b)."""
        psi = np.zeros((self.mesh.complex.n(2), charges.shape[1]))
        rhs = self._load @ charges
        if boundary is not None:
            psi[self.outer] = boundary
            rhs -= self._stiffness @ psi
        psi[self.inner] = self._factor.solve(rhs[self.inner])
        return self._from_charge @ charges + self._from_potential @ psi

    @cached_property
    def cavity(self) -> np.ndarray:
        """Numbers of the boundary faces around the one cavity: the boundary piece of smaller extent.

        Raises TopologyError (no_cavity) unless the boundary has two pieces.
        """
        shell = self.mesh.complex
        if shell.n_boundary_pieces != 2:
            raise TopologyError(
                f"A flux out of the cavity needs one cavity, so two pieces of boundary; {self.mesh.name} has "
                f"{shell.n_boundary_pieces}.",
                "no_cavity",
            )
        piece = shell.boundary_complex.component_of_vertex[shell.simplices(2)[self.outer][:, 0]]
        groups = [self.outer[piece == p] for p in np.unique(piece)]
        extents = [np.ptp(self.mesh.points[shell.simplices(2)[g]].reshape(-1, 3), axis=0).max() for g in groups]
        return groups[int(np.argmin(extents))]

    @cached_property
    def senses_out_of_cavity(self) -> np.ndarray:
        """(n_cavity,) ±1: "out of the cavity, into the tets" against the stored order of the faces :attr:`cavity`."""
        d = self._spread(-self._senses)  # on boundary faces: minus the sense out of their only tet
        return np.asarray(d[self.cavity].sum(axis=1)).ravel()

    @cached_property
    def harmonic(self) -> np.ndarray:
        """(n_faces,) h with dh = 0, δh = 0 (absolute) and unit flux out of the cavity.

        h is the flux of a potential that is constant on each piece of the boundary: every α has ⟨h, dα⟩ = 0, because
        dα has no divergence and no flux through a closed surface.  Raises TopologyError (no_cavity).
        """
        boundary = np.isin(self.outer, self.cavity).astype(np.float64)[None]
        raw = self(np.zeros((1, self.mesh.complex.n(3))), boundary)[0]
        return raw / (self.senses_out_of_cavity @ raw[self.cavity])
