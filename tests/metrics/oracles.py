"""Small, slow, independent versions of the metrics: one sample at a time, loops over simplices, dense matrices."""

from __future__ import annotations

from math import exp, log

import numpy as np
import scipy.linalg


def union_find_count(inside: np.ndarray, edges: np.ndarray) -> int:
    """Number of components of the subgraph on the vertices inside."""
    parent = {int(v): int(v) for v in np.flatnonzero(inside)}

    def root(v: int) -> int:
        while parent[v] != v:
            v = parent[v]
        return v

    for a, b in edges.tolist():
        if inside[a] and inside[b]:
            parent[root(a)] = root(b)
    return sum(v == p for v, p in parent.items())


class Oracle:
    """Dense operators of one mesh from its points and stored simplices."""

    def __init__(self, mesh):
        self.mesh, self.points = mesh, mesh.points
        self.n = mesh.dim
        self.simplices = [mesh.complex.simplices(k) for k in range(self.n + 1)]
        self.number = [{tuple(s): i for i, s in enumerate(level.tolist())} for level in self.simplices]
        tops = self.simplices[-1]
        self.volume = np.array([self._volume(t) for t in tops])
        self.mass = np.zeros(len(self.points))
        for t, v in zip(tops, self.volume):
            self.mass[t] += v / (self.n + 1)

    def _volume(self, top) -> float:
        frame = (self.points[top[1:]] - self.points[top[0]]).T
        return float(np.sqrt(np.linalg.det(frame.T @ frame))) / (2 if self.n == 2 else 6)

    def gradients(self, top) -> np.ndarray:
        """∇λ_i, rows."""
        frame = (self.points[top[1:]] - self.points[top[0]]).T
        inner = np.linalg.pinv(frame)
        return np.vstack([-inner.sum(axis=0), inner])

    def d(self, k: int) -> np.ndarray:
        out = np.zeros((len(self.simplices[k + 1]), len(self.simplices[k])))
        for i, s in enumerate(self.simplices[k + 1].tolist()):
            for j in range(k + 2):
                out[i, self.number[k][tuple(s[:j] + s[j + 1 :])]] = (-1) ** j
        return out

    def star1(self) -> np.ndarray:
        """Whitney mass of 1-forms on triangles: λ_i∇λ_j − λ_j∇λ_i, by the midpoint rule."""
        size = len(self.simplices[1])
        out = np.zeros((size, size))
        for t, area in zip(self.simplices[2].tolist(), self.volume):
            g = self.gradients(t)
            pairs = [(0, 1), (0, 2), (1, 2)]
            index = [self.number[1][(t[i], t[j])] for i, j in pairs]
            for bary in ((0.5, 0.5, 0), (0.5, 0, 0.5), (0, 0.5, 0.5)):
                w = np.array([bary[i] * g[j] - bary[j] * g[i] for i, j in pairs])
                out[np.ix_(index, index)] += area / 3 * w @ w.T
        return out

    def normals(self) -> np.ndarray:
        """Unit normals of triangles, turned into the orientation of the mesh."""
        out = []
        for t, sign in zip(self.simplices[2], self.mesh.orientation):
            n = np.cross(self.points[t[1]] - self.points[t[0]], self.points[t[2]] - self.points[t[0]])
            out.append(sign * n / np.linalg.norm(n))
        return np.array(out)

    def flat_flux(self, u: np.ndarray) -> np.ndarray:
        """Vectors at vertices → flux forms: through edges of a surface, through faces of tetrahedra."""
        if self.n == 3:
            p = self.points
            return np.array(
                [u[[a, b, c]].mean(axis=0) @ np.cross(p[b] - p[a], p[c] - p[a]) / 2 for a, b, c in self.simplices[2]]
            )
        normals, sums, weights = self.normals(), np.zeros((len(self.simplices[1]), 3)), np.zeros(len(self.simplices[1]))
        for t, area, normal in zip(self.simplices[2].tolist(), self.volume, normals):
            for i, j in ((0, 1), (0, 2), (1, 2)):
                e = self.number[1][(t[i], t[j])]
                sums[e] += area * np.cross(self.points[t[j]] - self.points[t[i]], normal)
                weights[e] += area
        ends = self.simplices[1]
        return (((u[ends[:, 0]] + u[ends[:, 1]]) / 2) * sums / weights[:, None]).sum(axis=1)

    def flat_circulation(self, u: np.ndarray) -> np.ndarray:
        a, b = self.simplices[1].T
        return ((u[a] + u[b]) / 2 * (self.points[b] - self.points[a])).sum(axis=1)

    # ---- metrics, u, v: (N, C) node values of prediction and truth -------------------------------------------------

    def energy(self, u: np.ndarray, v: np.ndarray) -> float:
        """Σ_T |T| Σ_c ∇u_c·∇v_c of the linear interpolants."""
        total = 0.0
        for t, size in zip(self.simplices[-1], self.volume):
            g = self.gradients(t)
            total += size * float(((u[t].T @ g) * (v[t].T @ g)).sum())
        return total

    def relative_l2(self, u, v) -> float:
        return float(np.sqrt((self.mass[:, None] * (u - v) ** 2).sum() / (self.mass[:, None] * v**2).sum()))

    def mse(self, u, v, unit) -> float:
        return float(sum(np.dot((a - b) / unit, (a - b) / unit) for a, b in zip(u, v)) / len(u))

    def gradient_fidelity(self, u, v) -> float:
        return (1 + self.energy(u, v) / np.sqrt(self.energy(u, u) * self.energy(v, v))) / 2

    def energy_fidelity(self, u, v) -> float:
        return fidelity(self.energy(u, u), self.energy(v, v))

    def s_beta0(self, p: np.ndarray, g: np.ndarray, fractions) -> float:
        edges, scores = self.simplices[1], []
        for q in fractions:
            t = g.min() + q * (g.max() - g.min())
            b_p, b_g = union_find_count(p >= t, edges), union_find_count(g >= t, edges)
            scores.append(exp(-abs(b_p - b_g) / max(b_g, 1)))
        return float(np.mean(scores))

    def iou(self, p: np.ndarray, g: np.ndarray, fractions) -> float:
        scores = []
        for q in fractions:
            t = g.min() + q * (g.max() - g.min())
            common = sum(m for m, a, b in zip(self.mass, p, g) if a >= t and b >= t)
            either = sum(m for m, a, b in zip(self.mass, p, g) if a >= t or b >= t)
            scores.append(common / either)
        return float(np.mean(scores))


def fidelity(a: float, b: float) -> float:
    return 1 / (1 + abs(log(a / b)))


def spectral_fidelity(error: np.ndarray, truth: np.ndarray, stiffness: np.ndarray, star: np.ndarray, n: int, b: int):
    """Over the modes b … b+n−1 of the dense pencil (the b zeros are left out)."""
    values, vectors = scipy.linalg.eigh(stiffness, star)
    lam, phi = values[b : b + n], vectors[:, b : b + n]
    top, bottom = (np.linalg.norm(phi.T @ star @ x / np.sqrt(lam)) for x in (error, truth))
    return exp(-2 * top / bottom)


def part_norms(x: np.ndarray, down: np.ndarray, up: np.ndarray, star: np.ndarray) -> dict[str, float]:
    """‖dα‖, ‖δβ‖, ‖γ‖ in ⋆ by least squares on dense ranges; ``down`` = d_{k−1}, ``up`` = d_k."""
    root = np.linalg.cholesky(star).T  # ⋆ = rootᵀ root
    y = root @ x

    def project(matrix: np.ndarray) -> np.ndarray:
        q, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
        q = q[:, sizes > 1e-10 * sizes[0]]
        return q @ (q.T @ y)

    exact, coexact = project(root @ down), project(np.linalg.solve(root.T, up.T))
    rest = y - exact - coexact
    return {name: float(np.linalg.norm(v)) for name, v in zip(("exact", "coexact", "harmonic"), (exact, coexact, rest))}
