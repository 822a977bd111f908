"""One mesh with the factorisations that making and scoring of data share."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import scipy.sparse as sp

from hsd.data.flux_solver import FluxSolver
from hsd.dec.flat import cells_to_vertices, flat_flux_matrix, flat_matrix, top_signs, vertices_to_cells
from hsd.dec.operators import DEC
from hsd.dec.whitney import sharp_matrix
from hsd.errors import InputError, check_choice
from hsd.hodge.solver import HodgeSolver
from hsd.linalg import Factor
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures


def square_norms(star: sp.spmatrix, forms: np.ndarray) -> np.ndarray:
    """‖ω‖²_⋆ of forms, one a row: (B, N_k) → (B,)."""
    return np.einsum("bn,nb->b", forms, star @ forms.T)


class Ground:
    """A mesh with its operators and solvers, each made once at first use.

    star, bc : as in :class:`hsd.dec.operators.DEC`
    """

    def __init__(self, mesh: Mesh, star: str = "galerkin", bc: str = "absolute"):
        self.mesh = mesh
        self.solver = HodgeSolver(mesh, star, bc)
        self._factors: dict[tuple[int, float], Factor] = {}
        self._node_matrix = lru_cache(maxsize=None)(self._make_node_matrix)

    @property
    def dec(self) -> DEC:
        return self.solver.dec

    @cached_property
    def flux_solver(self) -> FluxSolver:
        """Fluxes of charges in tetrahedra."""
        return FluxSolver(self.mesh)

    @cached_property
    def vertex_measure(self) -> np.ndarray:
        """(n_vertices,) lumped ⋆_0: area (volume) of each vertex."""
        return np.asarray(self.dec.star(0).diagonal())

    @cached_property
    def measure(self) -> float:
        """Area or volume of the mesh."""
        return float(self.vertex_measure.sum())

    @cached_property
    def moment_points(self) -> np.ndarray:
        """(n_vertices, D): positions minus the centroid by measure, over the radius of the ball (disc) of equal size.

        The radius is (area/4π)^½ of a sphere on surfaces and (3 volume/4π)^⅓ in tets, so that moments are scale-free.
        """
        x = self.mesh.points - self.vertex_measure @ self.mesh.points / self.measure
        if self.mesh.dim == 2:
            return x / np.sqrt(self.measure / (4 * np.pi))
        return x / np.cbrt(3 * self.measure / (4 * np.pi))

    def values_of_top_or_bottom(self, k: int) -> np.ndarray:
        """(N_k,) factors that make of a 0-form its values (ones), of an n-form its densities (sign / measure)."""
        if k == 0:
            return np.ones(self.mesh.complex.n(0))
        return top_signs(self.mesh, "The density of a top form") / measures(self.mesh, k)

    def flat_matrix(self, degree: int, reading: str) -> sp.csr_matrix:
        """Node values (n_vertices · C) → forms (N_k), the map that :meth:`node_matrix` approximately inverts."""
        check_choice("reading", reading, ("scalar", "circulation", "flux", "density"))
        mesh = self.mesh
        if reading == "scalar":
            return sp.identity(mesh.complex.n(0), format="csr")
        if reading == "density":
            return sp.csr_matrix(sp.diags(1.0 / self.values_of_top_or_bottom(mesh.dim)) @ vertices_to_cells(mesh))
        return flat_matrix(mesh) if reading == "circulation" else flat_flux_matrix(mesh)

    def resolvent(self, k: int, shift: float, forms: np.ndarray) -> np.ndarray:
        """(Δ_k + shift)⁻¹ of forms (N_k, m), shift > 0 in unit⁻², for k = 0 and for k = n; factored once a shift.

        k = n: φ = (x − du)/shift with u = δφ of :meth:`resolvent_codifferential`.  Raises InputError (degree, shift).
        """
        n = self.mesh.dim
        if k not in (0, n):
            raise InputError(f"The resolvent is solved for degrees 0 and {n}; got {k}.", "degree")
        if k == n:
            return (forms - self.dec.d(n - 1) @ self.resolvent_codifferential(shift, forms)) / shift
        return self._resolvent_factor(k, shift).solve(self.dec.star(0) @ forms)

    def resolvent_codifferential(self, shift: float, forms: np.ndarray) -> np.ndarray:
        """u = δ(Δ_n + shift)⁻¹ of n-forms (N_n, m) → (N_{n−1}, m): (⋆_{n−1} + dᵀ⋆_n d / shift) u = dᵀ⋆_n x / shift.

        Raises InputError (shift).
        """
        n = self.mesh.dim
        return self._resolvent_factor(n, shift).solve(self.dec.weak_codifferential(n) @ forms / shift)

    def _resolvent_factor(self, k: int, shift: float) -> Factor:
        if not shift > 0:
            raise InputError(f"The shift of a resolvent must be positive; got {shift}.", "shift")
        if (k, shift) not in self._factors:
            dec, n = self.dec, self.mesh.dim
            if k == 0:
                matrix = dec.upper_stiffness(0) + shift * dec.star(0)
            else:
                matrix = dec.star(n - 1) + dec.upper_stiffness(n - 1) / shift
            self._factors[k, shift] = Factor(matrix, dec.ordering)
        return self._factors[k, shift]

    def node_values(self, degree: int, reading: str, forms: np.ndarray) -> np.ndarray:
        """Node values of forms (…, N_k) → (…, n_vertices, C): C = 1 for "scalar" and "density", D for vectors."""
        matrix = self.node_matrix(degree, reading)
        flat = forms.reshape(-1, forms.shape[-1])
        out = np.asarray((matrix @ flat.T).T)
        return out.reshape(*forms.shape[:-1], self.mesh.complex.n_vertices, -1)

    def node_matrix(self, degree: int, reading: str) -> sp.csr_matrix:
        """(n_vertices · C, N_k), row v · C + c: the map of :meth:`node_values` (see tasks.base.READINGS).

        Raises InputError (choice of the reading; a degree that does not fit it).
        """
        return self._node_matrix(degree, reading)

    def _make_node_matrix(self, degree: int, reading: str) -> sp.csr_matrix:
        check_choice("reading", reading, ("scalar", "circulation", "flux", "density"))
        mesh = self.mesh
        if reading == "scalar":
            return sp.identity(mesh.complex.n(0), format="csr")
        if reading == "density":
            return sp.csr_matrix(cells_to_vertices(mesh) @ sp.diags(self.values_of_top_or_bottom(mesh.dim)))
        return sharp_matrix(mesh, degree, "vertices", rotate=reading == "flux" and mesh.dim == 2)
