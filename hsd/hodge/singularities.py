"""Zeros of a 1-form read as a tangent field on a surface, each with its index, so that Poincaré–Hopf holds exactly.

At each vertex v the fan of triangles is laid flat, its corner angles scaled to the sum 2π (π on the boundary), and
the vector u_v ∈ ℂ that fits the edge values best is taken.  Along an edge a frame is carried over by the two angles at
which the edge leaves; ω_e ∈ (−π, π] is the turn of the field against it.  With the curvature of a triangle
Ω_f = Σ scaled angles − π the index (Σ_{e ∈ ∂f} ω_e + Ω_f) / 2π is a whole number for any field, and

    Σ_f index = χ − (turns of the field against the tangent along the boundary),

because inner edges cancel and Σ_f Ω_f = 2πχ.  Only squared edge lengths enter.
Source: Knöppel, Crane, Pinkall, Schröder 2013, section 5 (frames, indices); Morse 1929 (boundary term).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from hsd.dec.whitney import check_cochain
from hsd.errors import TopologyError
from hsd.mesh.manifold import nonmanifold_vertices
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures

VANISHING = 1e-9


@dataclass(frozen=True, eq=False)
class Singularities:
    """Triangles of non-zero index.

    face     : (s,) triangle numbers;  index : (s,) whole numbers
    word     : (s,) "source", "sink", "vortex ↺", "vortex ↻", "saddle", "zero of index i", or "field vanishes" where
               it is below 1e-9 of its largest value, so that single indices mean nothing (their sum still counts)
    total    : Σ index;  boundary : turns of the field against the tangent along the boundary;  chi : χ
    total + boundary = χ exactly; boundary is 0 where there is none
    """

    face: np.ndarray
    index: np.ndarray
    word: tuple[str, ...]
    total: int
    boundary: int
    chi: int

    @property
    def holds(self) -> bool:
        """Poincaré–Hopf."""
        return self.total + self.boundary == self.chi


class TangentFrames:
    """Frames at the vertices of an oriented manifold surface, made once for many fields.

    Raises TopologyError (dimension, non_orientable, non_manifold).
    """

    def __init__(self, mesh: Mesh):
        if mesh.dim != 2 or not mesh.complex.is_pure:
            raise TopologyError(f"Indices of zeros need a surface made of triangles; {mesh.name} is none.", "dimension")
        mesh.require_orientation("The index of a zero")
        bad = nonmanifold_vertices(mesh.complex)
        if len(mesh.complex.nonmanifold_facets) or len(bad):
            raise TopologyError(
                f"Indices of zeros need a manifold surface; {mesh.name} has vertices whose neighbourhood is no disk.",
                "non_manifold",
            )
        self.mesh = mesh
        self.faces = mesh.oriented_cells()  # (F, 3)
        tail, head = self.faces.ravel(), self.faces[:, [1, 2, 0]].ravel()  # half-edge 3f+i: corner i → corner i+1
        self.tail, self.head = tail, head
        self.edge, self.sign = mesh.complex.find(np.column_stack([tail, head]))

    @cached_property
    def corner_angles(self) -> np.ndarray:
        """(F, 3) scaled angles, radians: they sum to 2π at inner vertices and π at boundary vertices."""
        l2 = self.mesh.squared_lengths[self.edge].reshape(-1, 3)  # of corner i → i+1
        after, before, opposite = l2, l2[:, [2, 0, 1]], l2[:, [1, 2, 0]]
        area = np.maximum(measures(self.mesh, 2), np.finfo(float).tiny)[:, None]
        angle = np.arctan2(4 * area, after + before - opposite)
        n = self.mesh.complex.n_vertices
        total = np.bincount(self.tail, weights=angle.ravel(), minlength=n)
        target = np.where(self.mesh.complex.on_boundary(0), np.pi, 2 * np.pi)
        return angle * (target / np.maximum(total, np.finfo(float).tiny))[self.faces]

    @cached_property
    def leaving(self) -> tuple[np.ndarray, np.ndarray]:
        """Angles at which each half-edge leaves its tail, and at which its reverse leaves its head, (3F,) each.

        The half-edge of corner i and the edge back to corner i−1 bound the corner: angle(back) = angle(out) + corner.
        Round a fan the out-edge of the next triangle is the back-edge of this one.
        """
        n_half = len(self.tail)
        corner = self.corner_angles.ravel()
        previous = np.arange(n_half).reshape(-1, 3)[:, [2, 0, 1]].ravel()  # half-edge that ends in the same corner
        twin = np.full(n_half, -1)
        order = np.argsort(self.edge, kind="stable")
        same = np.flatnonzero(self.edge[order][1:] == self.edge[order][:-1])
        a, b = order[same], order[same + 1]
        twin[a], twin[b] = b, a
        following = twin[previous]  # half-edge out of the same vertex, counter-clockwise after this one; −1 at its end
        start = self._fan_starts(following)
        out = np.zeros(n_half)
        here = start
        while True:
            ahead = following[here]
            go = (ahead >= 0) & ~np.isin(ahead, start)
            if not go.any():
                break
            out[ahead[go]] = out[here[go]] + corner[here[go]]
            here = ahead[go]
        back = out + corner  # at the tail of h, the direction to the corner before it
        nxt = np.arange(n_half).reshape(-1, 3)[:, [1, 2, 0]].ravel()
        return out, back[nxt]

    def _fan_starts(self, following: np.ndarray) -> np.ndarray:
        """One half-edge per vertex: the first of its fan on the boundary, any inside."""
        begins = np.ones(len(following), bool)
        begins[following[following >= 0]] = False
        first = np.full(self.mesh.complex.n_vertices, -1)
        first[self.tail[::-1]] = np.arange(len(following))[::-1]
        chosen = np.flatnonzero(begins)
        first[self.tail[chosen]] = chosen
        return first[first >= 0]

    @cached_property
    def fit(self) -> sp.csr_matrix:
        """1-forms → complex vectors at vertices, (n_vertices, N_1): least squares over the edges around each."""
        out, back = self.leaving
        border = np.flatnonzero(np.bincount(self.edge, minlength=self.mesh.complex.n(1))[self.edge] == 1)
        vertex = np.r_[self.tail, self.head[border]]
        angle = np.r_[out, back[border]]
        edge = np.r_[self.edge, self.edge[border]]
        sign = np.r_[self.sign, -self.sign[border]].astype(float)
        length = np.sqrt(self.mesh.squared_lengths)[edge]
        c, s, n = np.cos(angle), np.sin(angle), self.mesh.complex.n_vertices
        cc, cs, ss = (np.bincount(vertex, weights=w, minlength=n) for w in (c * c, c * s, s * s))
        det = np.maximum(cc * ss - cs * cs, 1e-12)[vertex]
        x = (ss[vertex] * c - cs[vertex] * s) / det
        y = (cc[vertex] * s - cs[vertex] * c) / det
        return sp.csr_matrix(((x + 1j * y) * sign / length, (vertex, edge)), shape=(n, self.mesh.complex.n(1)))

    def turns(self, omega: np.ndarray) -> np.ndarray:
        """(3F,) turn of the field along each half-edge, in (−π, π], opposite on twins; a zero vector counts as 1."""
        u = self.fit @ omega
        u = np.where(u == 0, 1.0, u)
        out, back = self.leaving
        at_tail = u[self.tail] * np.exp(-1j * out)
        at_head = -u[self.head] * np.exp(-1j * back)  # the reverse direction points backwards
        turn = np.angle(at_head * np.conj(at_tail))
        first = np.full(self.mesh.complex.n(1), -1)
        first[self.edge[::-1]] = np.arange(len(turn))[::-1]
        mine = first[self.edge]
        return np.where(mine == np.arange(len(turn)), turn, -turn[mine])

    def find(self, omega: np.ndarray) -> Singularities:
        """Zeros of a 1-form (N_1,).  Raises InputError (shape, degree)."""
        omega = check_cochain(self.mesh, 1, omega)
        turn = self.turns(omega)
        curvature = self.corner_angles.sum(axis=1) - np.pi
        index = np.rint((turn.reshape(-1, 3).sum(axis=1) + curvature) / (2 * np.pi)).astype(int)
        border = np.bincount(self.edge, minlength=self.mesh.complex.n(1))[self.edge] == 1
        boundary = -int(np.rint(turn[border].sum() / (2 * np.pi)))
        face = np.flatnonzero(index)
        return Singularities(
            face, index[face], self._words(omega, face, index[face]), int(index.sum()), boundary,
            self.mesh.complex.euler_characteristic,
        )  # fmt: skip

    def _words(self, omega: np.ndarray, face: np.ndarray, index: np.ndarray) -> tuple[str, ...]:
        """What each zero looks like: of index 1 by the larger of divergence and curl around it."""
        u = self.fit @ omega
        out, back = self.leaving
        length = np.sqrt(self.mesh.squared_lengths)[self.edge]
        straight = (np.conj(u[self.tail] * np.exp(-1j * out)) - np.conj(u[self.head] * np.exp(-1j * back))) / 2
        flux = (straight.imag * length).reshape(-1, 3).sum(axis=1)[face]  # ∮ u·n outwards, n to the right of the edge
        swirl = (straight.real * length).reshape(-1, 3).sum(axis=1)[face]
        size = np.abs(u)
        void = (size[self.faces[face]] <= VANISHING * size.max(initial=0.0)).any(axis=1)
        words = []
        for i, f, s, gone in zip(index.tolist(), flux.tolist(), swirl.tolist(), void.tolist()):
            if gone:
                word = "field vanishes"
            elif i == 1:
                word = ("source" if f > 0 else "sink") if abs(f) >= abs(s) else ("vortex ↺" if s > 0 else "vortex ↻")
            else:
                word = "saddle" if i == -1 else f"zero of index {i}"
            words.append(word)
        return tuple(words)


def singularities(mesh: Mesh, omega: np.ndarray) -> Singularities:
    """Zeros of one 1-form; use :class:`TangentFrames` for many fields on one mesh."""
    return TangentFrames(mesh).find(omega)
