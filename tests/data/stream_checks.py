"""Backward errors and a slow second route that the tests of flow tasks share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from hsd.data.ground import Ground
from hsd.mesh.closest import locate
from hsd.mesh.mesh import Mesh

EXACT = 1e-10


def curl_error(ground: Ground, f: np.ndarray) -> float:
    """Largest ‖d f‖₁ / ‖|d| |f|‖₁ of rows (B, N_1)."""
    d = ground.dec.d(1)
    return float((np.abs(d @ f.T).sum(axis=0) / (abs(d) @ np.abs(f.T)).sum(axis=0)).max())


def divergence_error(ground: Ground, f: np.ndarray, w: np.ndarray) -> float:
    """Largest ‖B ⋆ f − ⋆ w‖₁ / ‖|B| |⋆ f|‖₁ of rows: the backward error of δf = w."""
    flux = ground.dec.star(1) @ f.T
    rest = ground.dec.boundary(1) @ flux - ground.vertex_measure[:, None] * w.T
    return float((np.abs(rest).sum(axis=0) / (abs(ground.dec.boundary(1)) @ np.abs(flux)).sum(axis=0)).max())


def slow_gaussians(mesh: Mesh, record) -> np.ndarray:
    """The sum of Gaussians of one record, vertex by vertex."""
    out = np.zeros(mesh.complex.n_vertices)
    for centre, width, strength in zip(record["centres"], record["widths"], record["strengths"]):
        for v, x in enumerate(mesh.points):
            out[v] += strength * np.exp(-sum((x - centre) ** 2) / (2 * width**2))
    return out


def cotan_stiffness(mesh: Mesh) -> sp.csr_matrix:
    """The cotan Laplacian, face by face, from angles: no part of the library's operators."""
    n = mesh.complex.n_vertices
    rows, cols, values = [], [], []
    for face in mesh.complex.simplices(2):
        for k in range(3):
            o, i, j = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
            u, v = mesh.points[i] - mesh.points[o], mesh.points[j] - mesh.points[o]
            weight = 0.5 * (u @ v) / np.linalg.norm(np.cross(u, v))
            rows += [i, j, i, j]
            cols += [j, i, i, j]
            values += [-weight, -weight, weight, weight]
    return sp.csr_matrix((values, (rows, cols)), shape=(n, n))


def areas(mesh: Mesh) -> np.ndarray:
    """A third of the area of the triangles around each vertex."""
    out = np.zeros(mesh.complex.n_vertices)
    for face in mesh.complex.simplices(2):
        a, b, c = mesh.points[face]
        out[face] += np.linalg.norm(np.cross(b - a, c - a)) / 6
    return out


def solved_with_zero_mean(mesh: Mesh, w: np.ndarray) -> np.ndarray:
    """ψ with Δψ = w and zero mean, with the mean as a Lagrange multiplier."""
    m = areas(mesh)
    system = sp.bmat([[cotan_stiffness(mesh), m[:, None]], [m[None, :], None]], format="csc")
    return spsolve(system, np.append(m * w, 0.0))[:-1]


def at_vertices_of(fine: Mesh, coarse: Mesh, values: np.ndarray) -> np.ndarray:
    """Vertex values (N, B) of a coarse mesh at the vertices of a finer one, by closest point."""
    cell, bary, _ = locate(coarse, fine.points)
    return np.einsum("vk,vkb->vb", bary, values[coarse.complex.simplices(2)[cell]])


def pair_distances(record, n_pairs: int) -> np.ndarray:
    """Distances of the last n_pairs centres to their twins, those of equal width and opposite strength."""
    out = []
    for k in range(len(record["widths"]) - n_pairs, len(record["widths"])):
        twin = np.flatnonzero(
            (record["widths"] == record["widths"][k]) & (record["strengths"] == -record["strengths"][k])
        )
        out.append(np.linalg.norm(record["centres"][twin[0]] - record["centres"][k]))
    return np.array(out)
