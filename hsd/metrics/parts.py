"""Energies ‖π_q ω‖²_⋆ of the Hodge parts q of many k-forms at once: one factored solve a form."""

from __future__ import annotations

import numpy as np

from hsd.data.ground import Ground, square_norms
from hsd.linalg import one_blas_thread


class PartEnergies:
    """‖π_q ω‖²_⋆ for q = exact, coexact, harmonic under absolute conditions and the Galerkin star.

    ω − π_harmonic ω has at most two parts.  One comes from a solve, the other is the rest:

    * k = 1: the exact part dφ with d_0ᵀ⋆_1d_0 φ = d_0ᵀ⋆_1 ω;
    * k = 2 in tetrahedra: the coexact part, the flux of the charges dω under the natural condition;
    * k = 0 and k = n: only one part beside the harmonic one.

    names : the parts that exist in this degree on this mesh
    Raises InputError (dimension) for 2-forms on meshes of mixed dimension.
    """

    def __init__(self, ground: Ground, degree: int):
        solver = ground.solver
        self.solver, self.degree = solver, degree
        dim = ground.mesh.dim
        self._flux = ground.flux_solver if (degree, dim) == (2, 3) else None
        names = [("exact", degree > 0), ("coexact", degree < dim), ("harmonic", solver.betti[degree] > 0)]
        self.names = tuple(name for name, exists in names if exists)

    def __call__(self, omega: np.ndarray) -> dict[str, np.ndarray]:
        """Forms (B, N_k) → part → (B,) energies, unit of ω squared times unit^(n−2k)."""
        with one_blas_thread():
            parts = self._split(np.asarray(omega, np.float64).T)  # (N_k, B)
            star = self.solver.dec.star(self.degree)
            return {name: np.maximum(square_norms(star, parts[name].T), 0.0) for name in self.names}

    def _split(self, x: np.ndarray) -> dict[str, np.ndarray]:
        k, solver, dec = self.degree, self.solver, self.solver.dec
        gamma = solver.project_harmonic(k, x)
        rest = x - gamma
        parts = {"harmonic": gamma}
        if k == 0:
            parts["coexact"] = rest
        elif k == dec.dim:
            parts["exact"] = rest
        elif self._flux is None:
            parts["exact"] = dec.d(0) @ solver.project_gradient(rest)
            parts["coexact"] = rest - parts["exact"]
        else:
            parts["coexact"] = self._flux((dec.d(2) @ rest).T).T
            parts["exact"] = rest - parts["coexact"]
        return parts
