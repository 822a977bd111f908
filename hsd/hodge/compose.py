"""Fields composed of sources, sinks, vortices and circulations: the cochain that a composition means on a mesh.

A point carries a blob ρ of integral 1: the heat kernel of the scalar Laplacian after the time σ²/2, computed on the
mesh itself, so that it never leaks through thin walls and needs no positions.  What a point means, by degree:

=======  =======================================================  ================================================
k        source (sink: −s)                                        vortex
=======  =======================================================  ================================================
0        s (ρ − mean), coexact                                    –
1        dα with −Δα = s (ρ − mean), exact: outflow s              surfaces: the coexact u with du = s (ρ − mean) vol;
                                                                  tets: δβ, β the flux of s σ² ρ a, a the axis
2 of 3   the coexact u with du = s (ρ − mean) vol                 dα, α the circulation of s σ² ρ a
n        s (ρ − mean) vol, exact                                  –
=======  =======================================================  ================================================

"mean" is the harmonic part in force: nothing is taken away where the boundary condition leaves no harmonic form.
Harmonic directions are dialled by their periods, so that the circulation around generator i is the number given.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from hsd.dec.flat import flat, flat_flux, top_signs
from hsd.dec.operators import DEC
from hsd.errors import InputError, check_choice
from hsd.hodge.composition import KINDS, WIDTHS, Composition, Point, kinds_of, part_of
from hsd.hodge.solver import HodgeSolver
from hsd.linalg import Factor
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import length_scale, measures

HEAT_STEPS = 4
"""Implicit Euler steps that make a blob; its variance is exact for any number of them."""
KEPT_FORMS, KEPT_WIDTHS = 32, 4
"""Results and factorisations that a Composer keeps."""

__all__ = [
    "KINDS", "WIDTHS", "Composer", "Composition", "Point", "kinds_of", "length_of", "local_signs", "part_of",
    "place_cells", "place_degree",
]  # fmt: skip


def length_of(solver: HodgeSolver) -> float:
    """L with L² = measure^(2/n) / 4π, in which widths and times are counted; under the unit star edges count as 1."""
    if solver.dec.kind == "unit":
        return float(np.sqrt(solver.mesh.complex.n_vertices ** (2 / max(solver.mesh.dim, 1)) / (4 * np.pi)))
    return length_scale(solver.mesh)


def place_degree(mesh: Mesh) -> int:
    """Dimension of the simplices that points lie in: 2, or less on graphs."""
    return min(mesh.dim, 2)


def place_cells(mesh: Mesh) -> np.ndarray:
    """Simplices on which points may be placed: all triangles of a surface, the boundary of tets, edges of a graph."""
    if mesh.dim == 3:
        return np.flatnonzero(mesh.complex.on_boundary(2))
    return np.arange(mesh.complex.n(place_degree(mesh)))


class Composer:
    """Turns compositions into k-cochains of one mesh, star and boundary condition; factorisations are kept."""

    def __init__(self, solver: HodgeSolver):
        self.solver = solver
        self._heat: dict[float, Factor] = {}
        self._forms: dict[tuple, np.ndarray] = {}

    @property
    def mesh(self) -> Mesh:
        return self.solver.mesh

    @cached_property
    def _free(self) -> DEC:
        """The same star without boundary condition: blobs belong to the shape, not to the condition."""
        own = self.solver.dec
        if own.bc == "absolute" and not own.consistent_mass:
            return own
        return DEC(self.mesh, own.kind, "absolute")

    @cached_property
    def length(self) -> float:
        """L, see :func:`length_of`."""
        return length_of(self.solver)

    def located(self, composition: Composition) -> Composition:
        """The composition with its points on this mesh: found by their positions where it was made on another one.

        Raises InputError (other_mesh) where that is impossible.
        """
        mesh = self.mesh
        if composition.mesh == mesh.content_hash:
            return composition
        here = replace(composition, mesh=mesh.content_hash)
        if not composition.points:
            return here
        d = 0 if mesh.points is None else mesh.points.shape[1]
        if not d or any(len(p.position) != d for p in composition.points):
            raise InputError(
                f"The points of this field lie on another mesh and cannot be found on {mesh.name}; place them again.",
                "other_mesh",
            )
        cells = place_cells(mesh)
        corners = mesh.points[mesh.complex.simplices(place_degree(mesh))[cells]]  # (m, c, D)
        points = []
        for p in composition.points:
            near = np.argsort(((corners.mean(axis=1) - p.position) ** 2).sum(axis=1))[:16]
            bary, distance = _closest_in(corners[near], np.asarray(p.position))
            best = int(np.argmin(distance))
            points.append(replace(p, cell=int(cells[near[best]]), bary=tuple(bary[best])))
        return replace(here, points=tuple(points))

    def blob(self, point: Point) -> np.ndarray:
        """ρ at vertices, (n_vertices,), with Σ ⋆₀ρ = 1: (I + τΔ)^{−m} δ_p, m τ = σ²/2."""
        mesh, cx = self.mesh, self.mesh.complex
        corners = cx.simplices(place_degree(mesh))
        if not 0 <= point.cell < len(corners) or len(point.bary) != corners.shape[1]:
            raise InputError(f"Point {point.id} lies in no simplex of {mesh.name}; place it again.", "other_mesh")
        weight = np.clip(np.asarray(point.bary), 0.0, None)
        load = np.zeros(cx.n_vertices)
        if mesh.dim == 3 and point.depth > 0:
            inside = weight @ mesh.points[corners[point.cell]] - point.depth * self.length * self.axis(point)
            load[int(np.argmin(((mesh.points - inside) ** 2).sum(axis=1)))] = 1.0
        else:
            np.add.at(load, corners[point.cell], weight / weight.sum())
        if point.width not in self._heat:
            tau = (point.width * self.length) ** 2 / (2 * HEAT_STEPS)
            matrix = self._free.star(0) + tau * self._free.upper_stiffness(0)
            while len(self._heat) >= KEPT_WIDTHS:
                self._heat.pop(next(iter(self._heat)))
            self._heat[point.width] = Factor(matrix, "minimum_degree" if mesh.dim < 3 else "nested_dissection")
        factor, mass = self._heat[point.width], self._free.star(0)
        rho = factor.solve(load)
        for _ in range(HEAT_STEPS - 1):
            rho = factor.solve(mass @ rho)
        return rho

    def axis(self, point: Point) -> np.ndarray:
        """Unit outward normal (3,) of the boundary triangle that a point of a tet mesh lies on."""
        mesh, cx = self.mesh, self.mesh.complex
        corners = cx.simplices(2)[point.cell]
        tet = int(np.flatnonzero((cx.faces(3) == point.cell).any(axis=1))[0])
        inner = np.setdiff1d(cx.simplices(3)[tet], corners)[0]
        p = mesh.points[corners]
        normal = np.cross(p[1] - p[0], p[2] - p[0])
        normal = normal / np.linalg.norm(normal)
        return -normal if normal @ (mesh.points[inner] - p[0]) > 0 else normal

    def point_form(self, k: int, point: Point) -> np.ndarray:
        """The k-cochain of one point, free entries (n_k,)."""
        solver, dec, n = self.solver, self.solver.dec, self.mesh.dim
        check_choice("kind of point", point.kind, kinds_of(n, k))
        s = -point.strength if point.kind == "sink" else point.strength
        rho = s * self.blob(point)
        if k == 0 or (k == 1 and point.kind != "vortex"):
            rho = rho[dec.free(0)]
            rho = rho - solver.project_harmonic(0, rho)
            return rho if k == 0 else -(dec.d(0) @ solver.solve_scalar(dec.star(0) @ rho))  # Δ is positive
        if point.kind == "vortex" and n == 3:
            flow = (point.width * self.length) ** 2 * rho[:, None] * self.axis(point)
            if k == 1:
                return dec.codifferential(2) @ dec.restrict(2, flat_flux(self.mesh, flow))
            return dec.d(1) @ dec.restrict(1, flat(self.mesh, flow))
        top = self._density(rho, point.cell)
        top = top - solver.project_harmonic(n, top)
        return top if k == n else solver.coexact_primitive(n - 1, top)

    def _density(self, rho: np.ndarray, cell: int) -> np.ndarray:
        """∫ρ over each top simplex, signed by the orientation (by one that spreads from ``cell`` if there is none)."""
        mesh = self.mesh
        mean = rho[mesh.complex.simplices(mesh.dim)].mean(axis=1)
        size = measures(mesh, mesh.dim) if mesh.has_metric else 1.0
        return mean * size * self._signs(cell)

    def _signs(self, cell: int) -> np.ndarray:
        mesh = self.mesh
        if mesh.points is not None and mesh.points.shape[1] == mesh.dim:
            return top_signs(mesh, "A density")
        return mesh.orientation if mesh.orientation is not None else local_signs(mesh, cell)

    def _unit_form(self, k: int, point: Point) -> np.ndarray:
        """The form of a point of strength 1, kept: moving one point leaves the others' work alone."""
        if (k, point) not in self._forms:
            made = self.point_form(k, point)
            while len(self._forms) >= KEPT_FORMS:
                self._forms.pop(next(iter(self._forms)))
            self._forms[k, point] = made
        return self._forms[k, point]

    def form(self, composition: Composition) -> np.ndarray:
        """The k-cochain (N_k,) of a composition made on this mesh (:meth:`located`); linear in strengths."""
        dec, k = self.solver.dec, composition.k
        if not 0 <= k <= self.mesh.dim:
            raise InputError(f"{self.mesh.name} has forms of degree 0 to {self.mesh.dim}; got degree {k}.", "degree")
        omega = np.zeros(dec.n(k))
        for point in composition.points:
            if point.kind in kinds_of(self.mesh.dim, k):
                omega = omega + point.strength * self._unit_form(k, replace(point, id="", strength=1.0, position=()))
        dual = self.solver.harmonic(k).dual
        periods = np.zeros(dual.shape[1])
        given = np.asarray(composition.circulations[: len(periods)])
        periods[: len(given)] = given
        return dec.extend(k, omega + dual @ periods)


def local_signs(mesh: Mesh, cell: int) -> np.ndarray:
    """±1 per triangle, (N_2,): the orientation of ``cell`` carried along shortest paths over edges (1 if unreached)."""
    cx = mesh.complex
    faces = cx.faces(2)  # (N_2, 3) edges, in the order of the vertex that is left out
    order = np.argsort(faces.ravel(), kind="stable")
    edge, owner = faces.ravel()[order], order // 3
    same = np.flatnonzero(edge[1:] == edge[:-1])
    f, g = owner[same], owner[same + 1]
    parity = np.array([1, -1, 1])[order % 3]
    flip = -(parity[same] * parity[same + 1])
    n = cx.n(2)
    graph = sp.coo_matrix((np.ones(2 * len(f)), (np.r_[f, g], np.r_[g, f])), shape=(n, n)).tocsr()
    sign = sp.coo_matrix((np.r_[flip, flip].astype(float), (np.r_[f, g], np.r_[g, f])), shape=(n, n)).tocsr()
    distance, before = dijkstra(graph, indices=cell, return_predecessors=True, unweighted=True)
    out = np.ones(n)
    for step in range(1, int(np.max(distance[np.isfinite(distance)], initial=0)) + 1):
        rows = np.flatnonzero(distance == step)
        step_sign = np.asarray(sign[before[rows], rows]).ravel()
        out[rows] = out[before[rows]] * np.where(step_sign < 0, -1.0, 1.0)
    return out


def _closest_in(corners: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Barycentric coordinates, clipped to the simplex, and distances of a point to m simplices (m, c, D)."""
    edges = corners[:, 1:] - corners[:, :1]  # (m, c-1, D)
    gram = np.einsum("mad,mbd->mab", edges, edges)
    rhs = np.einsum("mad,md->ma", edges, x - corners[:, 0])
    local = np.linalg.solve(gram, rhs[..., None])[..., 0]
    bary = np.concatenate([1 - local.sum(axis=1, keepdims=True), local], axis=1).clip(0.0)
    bary = bary / bary.sum(axis=1, keepdims=True)
    return bary, np.linalg.norm(np.einsum("mc,mcd->md", bary, corners) - x, axis=1)
