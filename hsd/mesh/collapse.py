"""Removing faces without area while the topology of the surface stays.

A face whose shortest edge is (nearly) a point loses that edge by a collapse, allowed only under the link condition
lk(a) ∩ lk(b) = lk(ab), which keeps the homeomorphism type (T. K. Dey et al. 1999, Topology preserving edge
contraction).
A cap, whose third vertex lies on its longest edge, loses that edge by a flip, allowed where the edge has two faces and
the new edge is not there yet; a cap at the boundary is taken off where its third vertex is an inner one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import FLAT

SHORT = 1e-9
"""An edge is collapsed when shorter than SHORT times the longest edge of its face."""


@dataclass
class Collapsed:
    """faces : (m, 3) old vertex numbers; row : (m,) row of the input that each came from; vertex_of_old : (n,)."""

    faces: np.ndarray
    row: np.ndarray
    vertex_of_old: np.ndarray
    n_collapsed: int
    n_flipped: int
    n_left: int


class _Surface:
    """Faces with their vertices' stars, editable; works on the few faces that need it."""

    def __init__(self, points: np.ndarray, faces: np.ndarray, extra_edges: np.ndarray):
        self.points = points
        self.faces: list[tuple[int, int, int] | None] = [tuple(f) for f in faces.tolist()]
        self.star: dict[int, set[int]] = {}
        self.protected = set(extra_edges.ravel().tolist())
        for i, face in enumerate(self.faces):
            for v in face:
                self.star.setdefault(v, set()).add(i)

    def flat(self, i: int) -> bool:
        a, b, c = (self.points[v] for v in self.faces[i])
        u, w = b - a, c - a
        l2 = max(u @ u, w @ w, (c - b) @ (c - b))
        r = np.linalg.qr(np.stack([u, w], axis=1), mode="r")
        return abs(np.prod(np.diag(r))) / 2.0 <= FLAT * l2

    def link(self, v: int) -> tuple[set[int], set[frozenset]]:
        """Vertices and edges of the link of a vertex; a boundary vertex gets the cone point −1 over its open ends."""
        edges = [frozenset(set(self.faces[i]) - {v}) for i in self.star[v]]
        degree: dict[int, int] = {}
        for e in edges:
            for w in e:
                degree[w] = degree.get(w, 0) + 1
        ends = [w for w, d in degree.items() if d == 1]
        vertices = set(degree) | ({-1} if ends else set())
        return vertices, set(edges) | {frozenset((w, -1)) for w in ends}

    def edge_faces(self, a: int, b: int) -> set[int]:
        return self.star[a] & self.star[b]

    def can_collapse(self, a: int, b: int) -> bool:
        if a in self.protected or b in self.protected:
            return False
        (va, ea), (vb, eb) = self.link(a), self.link(b)
        around = self.edge_faces(a, b)
        opposite = {v for i in around for v in self.faces[i]} - {a, b}
        if len(around) == 1:
            opposite |= {-1}
        return va & vb == opposite and not ea & eb

    def collapse(self, a: int, b: int) -> None:
        """b becomes a."""
        for i in list(self.edge_faces(a, b)):
            for v in self.faces[i]:
                self.star[v].discard(i)
            self.faces[i] = None
        for i in self.star.pop(b):
            self.faces[i] = tuple(a if v == b else v for v in self.faces[i])
            self.star[a].add(i)

    def flip(self, i: int) -> bool:
        """Replace the longest edge of face i by the other diagonal of the two faces at it, or take the face off."""
        face = self.faces[i]
        sides = [(face[(j + 1) % 3], face[(j + 2) % 3], face[j]) for j in range(3)]
        a, b, c = max(sides, key=lambda s: float(((self.points[s[0]] - self.points[s[1]]) ** 2).sum()))
        around = self.edge_faces(a, b)
        if len(around) == 1 and c not in self.protected and -1 not in self.link(c)[0]:
            for v in face:  # a cap at the boundary under an inner vertex: without it the boundary runs through c
                self.star[v].discard(i)
            self.faces[i] = None
            return True
        if len(around) != 2:
            return False
        other = next(j for j in around if j != i)
        d = next(v for v in self.faces[other] if v not in (a, b))
        if d == c or self.edge_faces(c, d):
            return False
        old = self.faces[i], self.faces[other]
        same = self.faces[other].index(b) != (self.faces[other].index(a) + 1) % 3  # wound in agreement with face i
        new_i, new_other = (c, a, d), (d, b, c) if same else (c, b, d)
        self._replace(i, new_i)
        self._replace(other, new_other)
        if self.flat(i) or self.flat(other):
            self._replace(i, old[0])
            self._replace(other, old[1])
            return False
        return True

    def _replace(self, i: int, face: tuple[int, int, int]) -> None:
        for v in self.faces[i]:
            self.star[v].discard(i)
        self.faces[i] = face
        for v in face:
            self.star.setdefault(v, set()).add(i)


def collapse_flat_faces(mesh: Mesh, faces: np.ndarray) -> Collapsed:
    """Faces (m, 3) of a surface mesh with positions, wound → the faces after all allowed collapses and flips."""
    surface = _Surface(mesh.points, faces, mesh.complex.simplices(1)[mesh.complex.is_maximal(1)])
    parent = np.arange(mesh.complex.n_vertices)
    n_collapsed = n_flipped = 0
    p = mesh.points[faces]
    l2 = np.stack([((p[:, (i + 1) % 3] - p[:, (i + 2) % 3]) ** 2).sum(axis=1) for i in range(3)], axis=1)
    r = np.linalg.qr(np.stack([p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], axis=2), mode="r")
    size = np.abs(np.prod(np.diagonal(r, axis1=1, axis2=2), axis=1)) / 2.0
    todo = np.flatnonzero(size <= FLAT * l2.max(axis=1)).tolist()
    changed = True
    while todo and changed:
        changed, left = False, []
        for i in todo:
            face = surface.faces[i]
            if face is None or not surface.flat(i):
                continue
            a, b = _shortest(mesh.points, face)
            length2 = float(((mesh.points[a] - mesh.points[b]) ** 2).sum())
            longest2 = max(float(((mesh.points[u] - mesh.points[v]) ** 2).sum()) for u in face for v in face)
            if length2 <= SHORT**2 * longest2 and surface.can_collapse(a, b):
                surface.collapse(a, b)
                parent[b] = a
                n_collapsed, changed = n_collapsed + 1, True
            elif length2 > SHORT**2 * longest2 and surface.flip(i):
                n_flipped, changed = n_flipped + 1, True
            else:
                left.append(i)
        todo = left
    while (parent[parent] != parent).any():
        parent = parent[parent]
    alive = [i for i, f in enumerate(surface.faces) if f is not None]
    return Collapsed(
        np.array([surface.faces[i] for i in alive], np.int64).reshape(-1, 3),
        np.array(alive, np.int64),
        parent,
        n_collapsed,
        n_flipped,
        len([i for i in todo if surface.faces[i] is not None]),
    )


def _shortest(points: np.ndarray, face: tuple[int, int, int]) -> tuple[int, int]:
    sides = [(face[0], face[1]), (face[1], face[2]), (face[0], face[2])]
    a, b = min(sides, key=lambda s: float(((points[s[0]] - points[s[1]]) ** 2).sum()))
    return min(a, b), max(a, b)
