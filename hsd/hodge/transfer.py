"""Transfer of cochains between two meshes of one shape in one place: interpolation, classes and Hodge parts.

T = R_target ∘ π* ∘ W_source: the Whitney interpolant of the source, read at the closest point π of each quadrature
point of the target, integrated over the target's simplices; where π lies on a face of several top simplices their mean
is taken.  For k = 0 that is barycentric interpolation.  Per k-simplex with edge vectors v_1 … v_k the entry of the
source face I is Σ_q w_q Σ_j (−1)^j λ_{i_j} det[∇λ_{i_m}·v_l]_{m≠j}; no orientation is needed, and non-orientable and
non-manifold meshes are transferred like any other.

T maps smooth functions with error O(h²) and smooth forms of degree k ≥ 1 with O(h) in L2.  Quadrature does not see
where a target simplex crosses from one source simplex to the next, so d T = T d holds to O(h) for k = 0, and for k ≥ 1
only as well as that quadrature resolves the crossings (10 to 30 % at default ``order``, not falling with h).  Structure
is exact where it is imposed: the map of cohomology classes is an integer matrix, and :meth:`Transfer.parts` gives each
Hodge part as the same part of the target, with the derivative of the coexact part converging too.
Source: Whitney 1957; Arnold, Falk, Winther 2006, section 5 (projection by interpolation of Whitney forms).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from hsd.dec.flat import positions
from hsd.dec.quadrature import simplex_rule
from hsd.dec.whitney import barycentric_gradients
from hsd.errors import InputError, TopologyError, check_choice
from hsd.hodge.decomposition import PARTS, Decomposer
from hsd.hodge.solver import HodgeSolver
from hsd.linalg import one_blas_thread
from hsd.mesh.closest import ClosestPoint
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import mean_edge_length

TOLERANCE = 0.05
"""Two meshes have one shape when no vertex of either is farther from the other than this part of the source's box."""
MAX_PERIOD_ERROR = 0.25
"""Periods of transferred harmonic forms must be whole numbers to this, or their classes cannot be told apart."""
MOST_POINTS = 6


@dataclass(frozen=True, eq=False)
class TransferredParts:
    """Hodge parts of a transferred cochain on the target, (N_k, …) each: exact, coexact and harmonic to rounding."""

    exact: np.ndarray
    coexact: np.ndarray
    harmonic: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.exact + self.coexact + self.harmonic


class Transfer:
    """Linear maps Ω^k(source) → Ω^k(target), k = 0 … dim, between two meshes of one shape, both with positions.

    bc, star       : as in :class:`hsd.dec.operators.DEC`; under relative conditions images are zero on the boundary
    order          : polynomial degree of the quadrature on target simplices; None: 2 to 6 points a direction, more the
                     coarser the target is against the source
    tolerance      : largest distance of a vertex from the other mesh, relative to the diagonal of the source's box
    source_solver, target_solver : share factorisations; their bc and star are then in force

    distance       : the largest such distance found, unit
    Raises InputError (different_dimension, different_shape, solver_mismatch), TopologyError (different_topology),
    MetricError (no_positions).
    """

    def __init__(
        self,
        source: Mesh,
        target: Mesh,
        bc: str = "absolute",
        star: str = "galerkin",
        *,
        order: int | None = None,
        tolerance: float = TOLERANCE,
        source_solver: HodgeSolver | None = None,
        target_solver: HodgeSolver | None = None,
    ):
        given = source_solver or target_solver
        bc, star = (given.dec.bc, given.dec.kind) if given else (bc, star)
        self.source, self.target = source, target
        self.source_solver = source_solver or HodgeSolver(source, star, bc)
        self.target_solver = target_solver or HodgeSolver(target, star, bc)
        self._check_solvers()
        p, q = positions(source), positions(target)
        if source.dim != target.dim or p.shape[1] != q.shape[1]:
            raise InputError(
                f"Fields go between meshes of one dimension in one space; {source.name} has dimension {source.dim} in "
                f"R^{p.shape[1]}, {target.name} has dimension {target.dim} in R^{q.shape[1]}.",
                "different_dimension",
            )
        one, other = self.source_solver.betti, self.target_solver.betti
        if one != other:
            raise TopologyError(
                f"Two meshes of one shape have equal Betti numbers; {source.name} has {one} and {target.name} {other} "
                f"({bc} conditions): mend the mesh that has wrong holes, pieces or handles.",
                "different_topology",
            )
        self.locator = ClosestPoint(source)
        self.distance = self._check_distance(p, q, tolerance)
        if order is None:
            ratio = mean_edge_length(target) / mean_edge_length(source) if source.dim else 1.0
            order = 2 * int(np.clip(1 + np.ceil(ratio - 0.05), 2, MOST_POINTS)) - 1
        self.order = order
        self.matrix = cache(self._matrix)
        self.class_map = cache(self._class_map)

    def _check_solvers(self) -> None:
        a, b = self.source_solver, self.target_solver
        same = a.dec.bc == b.dec.bc and a.dec.kind == b.dec.kind
        own = all(s.mesh is m or s.mesh.content_hash == m.content_hash for s, m in ((a, self.source), (b, self.target)))
        if not (same and own):
            raise InputError(
                "The two solvers must belong to the source and the target and share star and boundary condition; got "
                f"{a.mesh.name} ({a.dec.kind}, {a.dec.bc}) and {b.mesh.name} ({b.dec.kind}, {b.dec.bc}).",
                "solver_mismatch",
            )

    def _check_distance(self, p: np.ndarray, q: np.ndarray, tolerance: float) -> float:
        size = float(np.linalg.norm(np.ptp(p, axis=0)))
        there, back = self.locator(q).distance, ClosestPoint(self.target)(p).distance
        for mesh, distance in ((self.target, there), (self.source, back)):
            far = np.flatnonzero(distance > tolerance * size)
            if len(far):
                raise InputError(
                    f"{len(far)} vertices of {mesh.name} are up to {distance.max() / size:.3g} of the source's size "
                    f"from the other mesh, more than {tolerance:g}; bring both meshes to one shape, place and unit.",
                    "different_shape",
                    far[:100],
                )
        return float(max(there.max(), back.max()))

    # ---- plain transfer ----------------------------------------------------------------------------------------

    def _matrix(self, k: int) -> sp.csr_matrix:
        """T_k, (N_k target, N_k source) CSR without units.  Raises InputError (degree), MetricError (zero_measure)."""
        self._require_degree(k)
        source, target, n = self.source, self.target, self.source.dim
        bary, weights = simplex_rule(k, self.order)
        corners = positions(target)[target.complex.simplices(k)]  # (N_k, k+1, D)
        at = self.locator(np.einsum("qi,mid->mqd", bary, corners).reshape(-1, corners.shape[2]))
        if k == 0:  # continuous: all sides agree
            point, cell, bary, share = np.arange(len(at.cell)), at.cell, at.bary, np.ones(len(at.cell))
        else:
            point, cell, bary, share = self.locator.sides(at)
        row = point // len(weights)
        edges = (corners[:, 1:] - corners[:, :1])[row]
        slopes = np.einsum("mid,mld->mil", barycentric_gradients(source, n)[cell], edges)  # ∇λ_i · v_l, (m, n+1, k)
        faces = list(combinations(range(n + 1), k + 1))
        value = np.zeros((len(row), len(faces)))
        for column, face in enumerate(faces):
            for j, corner in enumerate(face):
                minor = slopes[:, [i for i in face if i != corner], :]
                value[:, column] += (-1) ** j * bary[:, corner] * np.linalg.det(minor)
        value *= (share * weights[point % len(weights)])[:, None]
        index = source.complex.subsimplices(n, k)[cell]
        rows = np.broadcast_to(row[:, None], index.shape)
        shape = (len(corners), source.complex.n(k))
        return sp.csr_matrix((value.ravel(), (rows.ravel(), index.ravel())), shape=shape)

    def __call__(self, k: int, omega: np.ndarray, structure_preserving: bool = False) -> np.ndarray:
        """A k-cochain (N_k,) or batch (N_k, m) of the source on the target; a node field is a batch with k = 0.

        structure_preserving: the sum of :meth:`parts`.  Raises InputError (degree, shape, non_finite_field).
        """
        self._require_degree(k)
        if structure_preserving:
            return self.parts(k, omega).total
        dec = self.target_solver.dec
        omega = self.source_solver.dec.extend(k, self.source_solver.dec.restrict(k, omega))
        return dec.extend(k, dec.restrict(k, self.matrix(k) @ omega))

    def commutator(self, k: int, omega: np.ndarray) -> float:
        """‖d T ω − T d ω‖_⋆ / ‖T d ω‖_⋆ of a k-cochain (N_k,); 0 where both vanish."""
        one, other = self.source_solver.dec, self.target_solver.dec
        moved = other.d(k) @ other.restrict(k, self(k, omega))
        expected = other.restrict(k + 1, self(k + 1, one.extend(k + 1, one.d(k) @ one.restrict(k, omega))))
        gap, size = other.norm(k + 1, moved - expected), other.norm(k + 1, expected)
        return gap / size if size > 0 else gap

    # ---- classes and Hodge parts -------------------------------------------------------------------------------

    def _class_map(self, k: int) -> np.ndarray:
        """M, (b_k, b_k) whole numbers: the periods of a closed form over the target's generators are M times those
        over the source's.

        Entry (i, j) is the period of T γ_j over target generator i, rounded, where γ_j has period 1 over source
        generator j and 0 over the others.  Raises TopologyError (classes_unmatched) where a period is farther than
        MAX_PERIOD_ERROR from a whole number, or M is singular.
        """
        self._require_degree(k)
        dual = self.source_solver.dec.extend(k, self.source_solver.harmonic(k).dual)
        periods = self.target_solver.homology.cycles(k).T @ self(k, dual)
        rounded = np.rint(periods) + 0.0  # no negative zeros
        error = float(np.abs(periods - rounded).max(initial=0.0))
        if error > MAX_PERIOD_ERROR or (rounded.size and np.rint(np.linalg.det(rounded)) == 0):
            raise TopologyError(
                f"Generators of degree {k} of {self.target.name} were not recognised on {self.source.name}: periods "
                f"of transferred forms are dependent or {error:.2g} from whole numbers; use finer meshes that lie "
                "closer to each other.",
                "classes_unmatched",
            )
        return rounded

    def transfer_harmonic(self, k: int, omega: np.ndarray) -> np.ndarray:
        """The harmonic k-form of the target with the class of a closed form ω of the source, (N_k, …).

        Its periods over the target's generators are ``class_map(k)`` times those of ω, to rounding.  Only the periods
        of ω are read.
        """
        omega = self.source_solver.dec.restrict(k, omega)
        one, other = self.source_solver.harmonic(k), self.target_solver.harmonic(k)
        return self.target_solver.dec.extend(k, other.dual @ (self.class_map(k) @ (one.cycles.T @ omega)))

    def parts(self, k: int, omega: np.ndarray) -> TransferredParts:
        """ω = dα + δβ + γ on the source, each part transferred on its own (:meth:`transfer_part`) as such.

        The first part is then exact, the second coexact and γ harmonic with the class of the source's, to rounding.
        """
        self._require_degree(k)
        dec = self.source_solver.dec
        with one_blas_thread():
            exact, coexact, gamma, _, _ = self._decomposer(k).parts(dec.restrict(k, omega), potentials=False)
            pieces = dict(zip(PARTS, (dec.extend(k, x) for x in (exact, coexact, gamma))))
            return TransferredParts(**{part: self.transfer_part(k, part, x) for part, x in pieces.items()})

    def transfer_part(self, k: int, part: str, omega: np.ndarray) -> np.ndarray:
        """A k-form that is purely "exact", "coexact" or "harmonic" on the source, as such on the target, (N_k, …).

        Exact: the ⋆-projection of Tω on exact forms.  Coexact: the coexact u with du the ⋆-projection of T dω on exact
        forms (k ≥ 1), so that u and du both have error O(h).  Harmonic: :meth:`transfer_harmonic`.
        Raises UnknownNameError, TopologyError (classes_unmatched).
        """
        check_choice("Hodge part", part, PARTS)
        solver, dec = self.target_solver, self.target_solver.dec
        if part == "harmonic":
            return self.transfer_harmonic(k, omega)
        if (part == "exact" and k == 0) or (part == "coexact" and k == dec.dim):
            return np.zeros((self.target.complex.n(k), *np.shape(omega)[1:]))
        if part == "exact":
            return dec.extend(k, dec.d(k - 1) @ solver.exact_potential(k, dec.restrict(k, self(k, omega))))
        if k == 0:
            moved = dec.restrict(0, self(0, omega))
            return dec.extend(0, moved - solver.project_harmonic(0, moved))
        one = self.source_solver.dec
        derivative = self(k + 1, one.extend(k + 1, one.d(k) @ one.restrict(k, omega)))
        return dec.extend(k, solver.exact_potential(k + 1, dec.restrict(k + 1, derivative)))

    @cached_property
    def _decomposer(self):
        return cache(lambda k: Decomposer(self.source, k, solver=self.source_solver))

    def _require_degree(self, k: int) -> None:
        if not 0 <= k <= self.source.dim:
            raise InputError(
                f"{self.source.name} has forms of degree 0 to {self.source.dim}; got degree {k}.", "degree"
            )
