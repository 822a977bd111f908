"""Zeros of a 1-form read as a tangent field on a surface, each with its index, so that Poincaré–Hopf holds exactly.

At each vertex v the fan of triangles is laid flat, its corner angles scaled to the sum 2π (π on the boundary), and
the vector u_v ∈ ℂ that fits the edge values best is taken.  Along an edge a frame is carried over by the two angles at
which the edge leaves; ω_e ∈ (−π, π] is the turn of the field against it.  With the curvature of a triangle
Ω_f = Σ scaled angles − π the index (Σ_{e ∈ ∂f} ω_e + Ω_f) / 2π is a whole number for any field, and

    Σ_f index = χ − (turns of the field against the tangent along the boundary),

because inner edges cancel and Σ_f Ω_f = 2πχ.  Only squared edge lengths enter.

An index does not know the orientation: turned over, both turns and the direction round the triangle change sign.  On
non-orientable surfaces frames stand at the vertices of the orientation double cover (two sheets a triangle), of which
each index is read on one sheet; the sum is χ there too, and only the sense of a vortex has no meaning.
Source: Knöppel, Crane, Pinkall, Schröder 2013, section 5 (frames, indices); Morse 1929 (boundary term).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

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
    word     : (s,) "source", "sink", "vortex ↺", "vortex ↻" ("vortex" on non-orientable surfaces), "saddle", "zero of
               index i", or "field vanishes" where it is below 1e-9 of its largest value, so that single indices mean
               nothing (their sum still counts)
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
    """Frames at the vertices of a manifold surface (of its orientation cover), made once for many fields.

    Raises TopologyError (dimension, non_manifold).
    """

    def __init__(self, mesh: Mesh):
        if mesh.dim != 2 or not mesh.complex.is_pure:
            raise TopologyError(f"Indices of zeros need a surface made of triangles; {mesh.name} is none.", "dimension")
        bad = nonmanifold_vertices(mesh.complex)
        if len(mesh.complex.nonmanifold_facets) or len(bad):
            raise TopologyError(
                f"Indices of zeros need a manifold surface; {mesh.name} has vertices whose neighbourhood is no disk.",
                "non_manifold",
            )
        self.mesh = mesh
        self.oriented = mesh.orientation is not None
        base = mesh.oriented_cells() if self.oriented else mesh.complex.simplices(2)
        self.n_faces = len(base)
        if self.oriented:
            self.faces, self.base_vertex = base, np.arange(mesh.complex.n_vertices)
        else:
            self.faces, self.base_vertex = orientation_cover(mesh, base)
        # half-edge 3f+i of face f: corner i → corner i+1; the first 3 n_faces are one sheet
        self.tail, self.head = self.faces.ravel(), self.faces[:, [1, 2, 0]].ravel()
        down = np.column_stack([self.base_vertex[self.tail], self.base_vertex[self.head]])
        self.base_edge, self.sign = mesh.complex.find(down)
        self.edge = self.base_edge
        if not self.oriented:
            ends = np.sort(np.column_stack([self.tail, self.head]), axis=1)
            self.edge = np.unique(ends[:, 0] * len(self.base_vertex) + ends[:, 1], return_inverse=True)[1].ravel()

    @property
    def n_vertices(self) -> int:
        """Vertices with a frame: those of the mesh, or twice as many on the orientation cover."""
        return len(self.base_vertex)

    @cached_property
    def corner_angles(self) -> np.ndarray:
        """(n faces, 3) scaled angles, radians: they sum to 2π at inner vertices and π at boundary vertices."""
        l2 = self.mesh.squared_lengths[self.base_edge].reshape(-1, 3)  # of corner i → i+1
        after, before, opposite = l2, l2[:, [2, 0, 1]], l2[:, [1, 2, 0]]
        area = np.tile(np.maximum(measures(self.mesh, 2), np.finfo(float).tiny), len(self.faces) // self.n_faces)[
            :, None
        ]
        angle = np.arctan2(4 * area, after + before - opposite)
        total = np.bincount(self.tail, weights=angle.ravel(), minlength=self.n_vertices)
        target = np.where(self.mesh.complex.on_boundary(0), np.pi, 2 * np.pi)[self.base_vertex]
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
        first = np.full(self.n_vertices, -1)
        first[self.tail[::-1]] = np.arange(len(following))[::-1]
        chosen = np.flatnonzero(begins)
        first[self.tail[chosen]] = chosen
        return first[first >= 0]

    @cached_property
    def fit(self) -> sp.csr_matrix:
        """1-forms → complex vectors at vertices, (n_vertices, N_1): least squares over the edges around each."""
        out, back = self.leaving
        border = np.flatnonzero(np.bincount(self.edge)[self.edge] == 1)
        vertex = np.r_[self.tail, self.head[border]]
        angle = np.r_[out, back[border]]
        edge = np.r_[self.base_edge, self.base_edge[border]]
        sign = np.r_[self.sign, -self.sign[border]].astype(float)
        length = np.sqrt(self.mesh.squared_lengths)[edge]
        c, s, n = np.cos(angle), np.sin(angle), self.n_vertices
        cc, cs, ss = (np.bincount(vertex, weights=w, minlength=n) for w in (c * c, c * s, s * s))
        det = np.maximum(cc * ss - cs * cs, 1e-12)[vertex]
        x = (ss[vertex] * c - cs[vertex] * s) / det
        y = (cc[vertex] * s - cs[vertex] * c) / det
        return sp.csr_matrix(((x + 1j * y) * sign / length, (vertex, edge)), shape=(n, self.mesh.complex.n(1)))

    @cached_property
    def mirror(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cover vertices, those above the same points on the other sheet, and c: angles a there are c − a here."""
        half = np.arange(3 * self.n_faces)
        other = 3 * (half // 3 + self.n_faces) + 2 - half % 3  # the same edge of the same triangle, turned over
        half, other = np.r_[half, other], np.r_[other, half]
        out, back = self.leaving
        here, first = np.unique(self.tail[half], return_index=True)
        there = self.head[other[first]]
        c = out[half[first]] + back[other[first]]
        one = here < there
        return here[one], there[one], c[one]

    def vectors(self, omega: np.ndarray) -> np.ndarray:
        """Best fits at the vertices, (n_vertices,) complex; a zero vector counts as 1; the same on both sheets."""
        u = self.fit @ omega
        u = np.where(u == 0, 1.0, u)
        if not self.oriented:
            here, there, c = self.mirror
            u[there] = np.conj(u[here]) * np.exp(1j * c)
        return u

    def turns(self, omega: np.ndarray) -> np.ndarray:
        """(3F,) turn of the field along each half-edge of one sheet, in (−π, π].

        Opposite on the two half-edges of an edge, also where they run the same way because the sheet changes there.
        """
        u = self.vectors(omega)
        sheet = slice(0, 3 * self.n_faces)
        out, back = self.leaving
        at_tail = u[self.tail[sheet]] * np.exp(-1j * out[sheet])
        at_head = -u[self.head[sheet]] * np.exp(-1j * back[sheet])  # the reverse direction points backwards
        turn = np.angle(at_head * np.conj(at_tail))
        first = np.full(self.mesh.complex.n(1), -1)
        edge = self.base_edge[sheet]
        first[edge[::-1]] = np.arange(len(turn))[::-1]
        mine = first[edge]
        return np.where(mine == np.arange(len(turn)), turn, -turn[mine])

    def find(self, omega: np.ndarray) -> Singularities:
        """Zeros of a 1-form (N_1,).  Raises InputError (shape, degree)."""
        omega = check_cochain(self.mesh, 1, omega)
        turn = self.turns(omega)
        curvature = self.corner_angles[: self.n_faces].sum(axis=1) - np.pi
        index = np.rint((turn.reshape(-1, 3).sum(axis=1) + curvature) / (2 * np.pi)).astype(int)
        edge = self.base_edge[: 3 * self.n_faces]
        border = np.bincount(edge, minlength=self.mesh.complex.n(1))[edge] == 1
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
        length = np.sqrt(self.mesh.squared_lengths)[self.base_edge]
        straight = (np.conj(u[self.tail] * np.exp(-1j * out)) - np.conj(u[self.head] * np.exp(-1j * back))) / 2
        flux = (straight.imag * length).reshape(-1, 3).sum(axis=1)[face]  # ∮ u·n outwards, n to the right of the edge
        swirl = (straight.real * length).reshape(-1, 3).sum(axis=1)[face]
        size = np.abs(u)
        void = (size[self.faces[face]] <= VANISHING * size.max(initial=0.0)).any(axis=1)
        left, right = ("vortex ↺", "vortex ↻") if self.oriented else ("vortex", "vortex")
        words = []
        for i, f, s, gone in zip(index.tolist(), flux.tolist(), swirl.tolist(), void.tolist()):
            if gone:
                word = "field vanishes"
            elif i == 1:
                word = ("source" if f > 0 else "sink") if abs(f) >= abs(s) else (left if s > 0 else right)
            else:
                word = "saddle" if i == -1 else f"zero of index {i}"
            words.append(word)
        return tuple(words)


def orientation_cover(mesh: Mesh, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The orientation double cover of a manifold surface: every triangle (F, 3) once as given and once turned over.

    Returns triangles (2F, 3) of cover vertices, the given ones first, consistently oriented; and the vertex of the mesh
    below each cover vertex.  Two triangles that meet in an edge are joined on the sheets where they run it oppositely.
    """
    n = len(faces)
    edge, sign = mesh.complex.find(np.stack([faces, faces[:, [1, 2, 0]]], axis=-1).reshape(-1, 2))
    order = np.argsort(edge, kind="stable")
    same = np.flatnonzero(edge[order][1:] == edge[order][:-1])
    g, h = order[same], order[same + 1]  # half-edges over one edge
    along = sign[g] == sign[h]
    ends = [(half, half - half % 3 + (half + 1) % 3) for half in (g, h)]  # corners at tail and head, as 3f + i
    (g_tail, g_head), (h_tail, h_head) = ends
    pairs = [(g_tail, np.where(along, h_tail, h_head)), (g_head, np.where(along, h_head, h_tail))]
    flip = 3 * n * along  # those that run the same way are joined to the other sheet
    a = np.concatenate([x + shift for x, _ in pairs for shift in (0, 3 * n)])
    b = np.concatenate([(y + flip + shift) % (6 * n) for _, y in pairs for shift in (0, 3 * n)])
    graph = sp.coo_matrix((np.ones(len(a)), (a, b)), shape=(6 * n, 6 * n))
    count, label = connected_components(graph, directed=False)
    below = np.empty(count, np.int64)
    below[label] = np.tile(faces.ravel(), 2)
    up, down = label.reshape(2, n, 3)
    return np.concatenate([up, down[:, [0, 2, 1]]]), below


def singularities(mesh: Mesh, omega: np.ndarray) -> Singularities:
    """Zeros of one 1-form; use :class:`TangentFrames` for many fields on one mesh."""
    return TangentFrames(mesh).find(omega)
