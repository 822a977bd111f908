"""All constants of an operator on one mesh, as plain arrays: what ``Domain`` turns into tensors, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from hsd.data.grid import Box, GridTransfer
from hsd.data.ground import Ground
from hsd.data.scales import Scales
from hsd.data.tasks.base import NamedFields, Task
from hsd.dec.de_rham import de_rham
from hsd.dec.whitney import whitney_quadrature
from hsd.errors import InputError
from hsd.hodge.spectrum import HodgeBasis
from hsd.linalg import Progress, silent
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import length_scale

PART_CODES = {"harmonic": 0, "exact": 1, "coexact": 2}
MATCHED = {1: ("coexact", "exact"), -1: ("exact", "coexact")}
"""t − s → the part of degree s and the part of degree t that d (δ) makes of it."""
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class DomainSpec:
    """Which forms an operator maps on a domain, and the sizes of its constants.

    source, target : (degree, reading) of the form that is read and of the form that is predicted; degrees differ by
                     at most one
    n_modes        : modes asked for in each degree, divided evenly over its parts, lowered to a complete block
    grid_size      : points an axis of the grid
    """

    source: tuple[int, str]
    target: tuple[int, str]
    n_modes: int = 128
    grid_size: int = 16
    star: str = "galerkin"
    bc: str = "absolute"

    @classmethod
    def of(cls, task: Task, n_modes: int = 128, grid_size: int = 16) -> DomainSpec:
        first = task.inputs[0]
        target = task.target
        source = (first.degree, first.reading)
        return cls(source, (target.degree, target.reading), n_modes, grid_size, task.star, task.bc)


@dataclass
class Builder:
    """Makes the arrays of a domain step by step (:meth:`run`), and features of samples (:meth:`fiber`)."""

    ground: Ground
    spec: DomainSpec
    fields: dict[str, NamedFields]
    frame: np.ndarray | None = None
    progress: Progress = silent
    arrays: Arrays = field(default_factory=dict)
    scales: Scales | None = None

    def run(self) -> Arrays:
        self._geometry()
        self._bases()
        self._maps()
        self._moments()
        self._named_fields()
        if self.spec.source[0] == 0:
            self._gradients()
        self._grid()
        return self.arrays

    def _put_sparse(self, name: str, matrix: sp.spmatrix) -> None:
        csr = sp.csr_matrix(matrix)
        csr.sort_indices()
        self.arrays |= {
            f"{name}/indptr": csr.indptr.astype(np.int64),
            f"{name}/indices": csr.indices.astype(np.int64),
            f"{name}/data": csr.data,
            f"{name}/shape": np.array(csr.shape),
        }

    def _geometry(self) -> None:
        self.progress("geometry", None)
        mesh, ground = self.ground.mesh, self.ground
        self.arrays |= {
            "points": mesh.points,
            "moment_points": ground.moment_points,
            "vertex_measure": ground.vertex_measure,
            "edges": mesh.complex.simplices(1),
            "scale2": np.array(length_scale(mesh) ** 2),
        }

    def _bases(self) -> None:
        (s, _), (t, _) = self.spec.source, self.spec.target
        self.prepare_features()
        for name, basis in (("source", self.source), ("target", self.target)):
            self.arrays |= {
                f"{name}/modes": basis.modes,
                f"{name}/star_modes": basis.star_modes,
                f"{name}/eigenvalues": basis.eigenvalues,
                f"{name}/part": np.array([PART_CODES[p] for p in basis.part], dtype=np.int64),
            }
        if s == t:
            pairs = np.repeat(np.arange(self.source.n_modes)[:, None], 2, axis=1)
        else:
            of_source, of_target = MATCHED[t - s]
            pairs = np.column_stack([self.source.index(of_source), self.target.index(of_target)])
        self.arrays["pairs"] = pairs
        harmonic = self.target.star_modes[:, self.target.index("harmonic")]
        self.arrays["harmonic_frame"] = np.eye(harmonic.shape[1]) if self.frame is None else harmonic.T @ self.frame

    def prepare_features(self) -> None:
        """Make the bases only, which is all that :meth:`fiber` needs.

        Raises InputError (degree; n_modes, where the source would have harmonic modes alone).
        """
        (s, _), (t, _) = self.spec.source, self.spec.target
        dim = self.ground.mesh.dim
        if abs(s - t) > 1 or not 0 <= s <= dim or not 0 <= t <= dim:
            raise InputError(
                f"Operators map a form to one of the same or a neighbouring degree; got {s} to {t} in dimension {dim}.",
                "degree",
            )
        of_source, of_target = MATCHED.get(t - s, (None, None))
        self.source = self._basis(s, of_source)
        if self.source.n_modes == len(self.source.index("harmonic")):
            self._refuse_few_modes(s, of_source)
        self.target = self.source if s == t else self._basis(t, of_target, n_of=self.source, part_of=of_source)

    def _refuse_few_modes(self, k: int, part: str | None) -> None:
        """Raise InputError (n_modes): how many are the fewest, of which one is not harmonic, and no block is cut."""
        parts, harmonic = self._parts(k, part), self.source.n_modes
        there = self._basis_of(k, dict.fromkeys(parts, 1), False).n_modes > harmonic
        if not there:
            raise InputError(
                f"All {k}-forms on {self.ground.mesh.name} are harmonic: there are no modes to learn on.", "n_modes"
            )
        block = 1
        while self._basis_of(k, dict.fromkeys(parts, block), True).n_modes == harmonic:
            block += 1
        harmonics = f"1 harmonic {k}-form" if harmonic == 1 else f"{harmonic} harmonic {k}-forms"
        raise InputError(
            f"n_modes must be at least {block * len(parts)} on this mesh; got {self.spec.n_modes}: beside its "
            f"{harmonics} the lowest modes come in blocks of up to {block} equal eigenvalues, which are never cut.",
            "n_modes",
        )

    def _parts(self, k: int, part: str | None) -> list[str]:
        dim = self.ground.mesh.dim
        return [p for p, there in (("exact", k > 0), ("coexact", k < dim)) if there and part in (None, p)]

    def _basis(self, k: int, part: str | None, n_of: HodgeBasis | None = None, part_of: str = "") -> HodgeBasis:
        parts = self._parts(k, part)
        count = self.spec.n_modes // len(parts) if n_of is None else len(n_of.index(part_of))
        return self._basis_of(k, dict.fromkeys(parts, count), n_of is None)

    def _basis_of(self, k: int, asked: dict[str, int], complete_blocks: bool) -> HodgeBasis:
        return HodgeBasis(
            self.ground.mesh,
            k,
            asked.get("exact", 0),
            asked.get("coexact", 0),
            self.spec.bc,
            self.spec.star,
            complete_blocks=complete_blocks,
            solver=self.ground.solver,
            progress=self.progress,
        )

    def _maps(self) -> None:
        """Maps to node values and back, and the stars."""
        self.progress("maps", None)
        ground, (s, s_reading), (t, t_reading) = self.ground, self.spec.source, self.spec.target
        self._put_sparse("source_nodes", ground.node_matrix(s, s_reading))
        self._put_sparse("target_nodes", ground.node_matrix(t, t_reading))
        self._put_sparse("source_star", ground.dec.star(s))
        self._put_sparse("target_star", ground.dec.star(t))
        if t < ground.mesh.dim:
            self._put_sparse("target_d", ground.dec.d(t))
        self._put_sparse("target_flat", ground.flat_matrix(t, t_reading))
        if s in (0, ground.mesh.dim):  # a cochain times this is its value (0-form) or density (n-form)
            self.arrays["source_value"] = ground.values_of_top_or_bottom(s)

    def raise_or_lower(self, forms: np.ndarray) -> np.ndarray:
        """Ω^s → Ω^t: d, δ or the identity, (N_s, m) → (N_t, m)."""
        s, t = self.spec.source[0], self.spec.target[0]
        if s == t:
            return forms
        return self.ground.dec.d(s) @ forms if t > s else self.ground.dec.codifferential(s) @ forms

    def _moments(self) -> None:
        """χ ∈ {1, x, x xᵀ} as s-forms for s = 0 and s = n, their coefficients and their remainders beyond the modes."""
        ground, s = self.ground, self.spec.source[0]
        mesh = ground.mesh
        if s not in (0, mesh.dim):
            chi = np.zeros((mesh.complex.n(s), 0))
        else:
            centre = ground.vertex_measure @ mesh.points / ground.measure
            radius = np.ptp(mesh.points[:, 0]) / np.ptp(ground.moment_points[:, 0])
            chi = np.column_stack([
                de_rham(mesh, s, lambda x, j=j: monomials((x - centre) / radius)[:, j], order=2)
                for j in range(n_monomials(mesh.points.shape[1]))
            ])  # fmt: skip
        self.arrays |= {"chi": chi, "chi_hat": self.source.coefficients(chi), "chi_fiber": self.chi_fiber(chi)}

    def chi_fiber(self, chi: np.ndarray) -> np.ndarray:
        """What is left of χ beyond the modes, itself and its resolvents as forms of the target, (N_t, 4, m)."""
        rest = chi - self.source.modes @ self.source.coefficients(chi)
        return self._beyond([self._scaled(rest)] + [self._solved(j, rest) for j in range(self.n_resolvents)])

    def in_scales(self, scales: Scales) -> Builder:
        """The same builder, its bases made, with resolvents in other scales."""
        out = replace(self, scales=scales)
        out.source, out.target = self.source, self.target
        return out

    @property
    def n_resolvents(self) -> int:
        return len(RESOLVENT_SHIFTS) if self.spec.source[0] in (0, self.ground.mesh.dim) else 0

    @property
    def cutoff(self) -> float:
        """λ_K, the largest eigenvalue among the source's modes, of this mesh or as the scales say."""
        return float(self.source.eigenvalues.max()) if self.scales is None else self.scales.cutoff

    def resolvent(self, j: int, forms: np.ndarray) -> np.ndarray:
        """(1 + s_j) λ_K (Δ_s + s_j λ_K)⁻¹ of forms (N_s, m), s_j of RESOLVENT_SHIFTS, for s = 0 and s = n.

        It has no unit and takes a form of eigenvalue λ_K to itself, whatever the unit of length.
        """
        shift = RESOLVENT_SHIFTS[j]
        solved = self.ground.resolvent(self.spec.source[0], shift * self.cutoff, forms)
        return (1 + shift) * self.cutoff * solved

    def _scaled(self, forms: np.ndarray) -> np.ndarray:
        """Forms of the source as forms of the target: d/√λ_K, δ/√λ_K or the identity."""
        if self.spec.source[0] == self.spec.target[0]:
            return forms
        return self.raise_or_lower(forms) / np.sqrt(self.cutoff)

    def _solved(self, j: int, forms: np.ndarray) -> np.ndarray:
        """:meth:`resolvent` j of forms of the source as forms of the target; where that takes δ of an n-form, the solve
        gives it by itself."""
        if self.spec.source[0] == self.ground.mesh.dim == self.spec.target[0] + 1:
            shift = RESOLVENT_SHIFTS[j]
            lowered = self.ground.resolvent_codifferential(shift * self.cutoff, forms)
            return (1 + shift) * np.sqrt(self.cutoff) * lowered
        return self._scaled(self.resolvent(j, forms))

    def _beyond(self, every: list[np.ndarray]) -> np.ndarray:
        """Forms of the target (N_t, m) each → (N_t, n, m), beyond its modes: (I − ΦΦᵀ⋆) of all at once."""
        forms = np.concatenate(every, axis=1)
        forms -= self.target.modes @ self.target.coefficients(forms)
        return forms.reshape(len(forms), len(every), -1)

    def fiber(self, forms: np.ndarray) -> np.ndarray:
        """Resolvent features of source forms (N_s, B) → (N_t, 3, B), ⋆-orthogonal to the target's modes.

        There are none, (N_t, 0, B), for sources of degree 0 < s < n.
        """
        rest = forms - self.source.modes @ self.source.coefficients(forms)
        solved = [self._solved(j, rest) for j in range(self.n_resolvents)]
        return self._beyond(solved) if solved else np.zeros((self.target.modes.shape[0], 0, forms.shape[1]))

    def fiber_sum(self, forms: Sequence[np.ndarray]) -> np.ndarray:
        """Σ_j (resolvent j of forms[j], as :meth:`fiber` makes it), one solve a resolvent: (N_s, B) each → (N_t, B)."""
        every = np.concatenate(forms, axis=1)
        every = every - self.source.modes @ self.source.coefficients(every)
        rests = np.split(every, len(forms), axis=1)
        return self._beyond([sum(self._solved(j, rest) for j, rest in enumerate(rests))])[:, 0]

    def _named_fields(self) -> None:
        for name, fields in self.fields.items():
            vectors = self.ground.node_values(fields.degree, fields.reading, fields.values.T)  # (m, N_0, C)
            self.arrays |= {f"field/{name}": fields.values, f"field_nodes/{name}": vectors}
            if fields.reference:
                harmonic = self.target.star_modes[:, self.target.index("harmonic")]
                self.arrays[f"harmonic_of/{name}"] = harmonic.T @ fields.values
            if fields.degree == 1 and self.spec.source[0] == 0:
                self.arrays[f"contraction/{name}"] = self._contraction(fields)

    def _contraction(self, fields: NamedFields) -> np.ndarray:
        """A_i = G^(-1/2) skew(∫ φ_j v_i·∇φ_k) G^(-1/2), G = ∫ φ_j φ_k, (m, K, K): coefficients of v_i·∇ on the modes.

        Integrals are exact for Whitney fields (degree-2 rule).  The modes are orthonormal in the lumped ⋆_0; with G, by
        which the lumped mass differs from the exact one, the speed at which A carries a mode is of fourth order in the
        edge length instead of second, so that one set of weights fits coarse and fine meshes.
        """
        mesh = self.ground.mesh
        turned = fields.reading == "flux"
        at_points, weights, _ = whitney_quadrature(mesh, 1, rotate=turned)
        plain = at_points if not turned else whitney_quadrature(mesh, 1)[0]
        d_modes = self.ground.dec.d(0) @ self.source.modes
        gradients = (plain @ d_modes).reshape(len(weights), -1, d_modes.shape[1])  # (Q, D, K)
        values = _vertex_values(mesh, len(weights)) @ self.source.modes  # (Q, K)
        vectors = (at_points @ fields.values).reshape(len(weights), gradients.shape[1], -1)  # (Q, D, m)
        weighted = values.T * weights
        exact, turn = np.linalg.eigh(weighted @ values)
        root = (turn / np.sqrt(exact)) @ turn.T
        out = []
        for i in range(vectors.shape[2]):
            a = root @ weighted @ np.einsum("qd,qdk->qk", vectors[:, :, i], gradients) @ root
            out.append((a - a.T) / 2)
        return np.array(out)

    def _gradients(self) -> None:
        """Gradients of 0-forms at the vertices, and the unit normals of a surface, for product layers."""
        mesh, ground = self.ground.mesh, self.ground
        self._put_sparse("gradient", ground.node_matrix(1, "circulation") @ ground.dec.d(0))
        if mesh.dim == 2 and mesh.orientation is not None:
            p = mesh.points[mesh.oriented_cells()]
            normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
            sums = np.zeros((mesh.complex.n_vertices, 3))
            for corner in range(3):
                np.add.at(sums, mesh.oriented_cells()[:, corner], normal)
            self.arrays["normals"] = sums / np.linalg.norm(sums, axis=1, keepdims=True)

    def _grid(self) -> None:
        self.progress("grid transfer", None)
        box = Box.around(self.ground.mesh, self.spec.grid_size)
        nodes = GridTransfer(self.ground, 0, "scalar", box)
        self._put_sparse("grid/node_sampling", nodes.sampling)
        self._put_sparse("grid/node_lift", nodes.lift)
        degree, reading = self.spec.target
        target = nodes if degree == 0 else GridTransfer(self.ground, degree, reading, box)
        self._put_sparse("grid/target_sampling", target.sampling)
        self._put_sparse("grid/target_lift", target.lift)
        self.arrays |= {"grid/mask": nodes.mask, "grid/points": box.points, "grid/low": box.low, "grid/step": box.step}


RESOLVENT_SHIFTS = (0.25, 1.0, 4.0)
"""s_j / λ_K of the resolvent fiber."""


def n_monomials(dim: int) -> int:
    return 1 + dim + dim * (dim + 1) // 2


def monomials(x: np.ndarray) -> np.ndarray:
    """1, x_a, x_a x_b (a ≤ b) of centred, scaled positions (m, D) → (m, n_monomials(D))."""
    a, b = np.triu_indices(x.shape[1])
    return np.column_stack([np.ones(len(x)), x, x[:, a] * x[:, b]])


def _vertex_values(mesh: Mesh, n_points: int) -> sp.csr_matrix:
    """Evaluation of 0-forms at the points of :func:`whitney_quadrature`, (Q, N_0)."""
    values, weights, _ = whitney_quadrature(mesh, 0)
    if len(weights) != n_points:
        raise InputError("The quadrature rules of 0-forms and 1-forms differ.", "quadrature")
    return values
