"""⋆-orthonormal bases of the harmonic 1-forms of closed surfaces whose members mean the same on every mesh.

Any basis of harmonic forms is fixed only up to a rotation: coefficients in it mean nothing on another mesh.  A frame
here starts from classes that the smooth shape names (an angle, the crossings of a given curve), projects them on the
harmonic forms and orthonormalises them in that order, so order, signs and the limit under refinement are fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hsd.data.ground import Ground
from hsd.errors import InputError, TopologyError
from hsd.mesh.mesh import Mesh

ON_PLANE = 1e-9
"""Vertices nearer to the plane than this times the extent of the mesh count as in front of it."""


def orthonormal_frame(ground: Ground, closed: np.ndarray) -> np.ndarray:
    """Closed 1-cochains (N_1, m) → ⋆-orthonormal harmonic forms (N_1, m): projected, then Gram–Schmidt in this order.

    Raises TopologyError (dependent_classes) when the classes are not independent.
    """
    gamma = ground.solver.project_harmonic(1, closed)
    if not gamma.shape[1]:
        return gamma
    lower = np.linalg.cholesky(independent(ground, closed, gamma))
    return np.linalg.solve(lower, gamma.T).T


def _forms(n: int) -> str:
    return "a closed form" if n == 1 else f"{n} closed forms"


def independent(ground: Ground, closed: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """Γᵀ ⋆ Γ of the harmonic parts Γ (N_1, m) of closed 1-cochains (N_1, m), (m, m).

    Raises TopologyError (dependent_classes) when their classes are not independent.
    """
    star = ground.dec.star(1)
    mass = gamma.T @ (star @ gamma)
    given = np.einsum("nm,nm->m", closed, star @ closed)
    size = np.sqrt(np.diag(mass))
    exact = size <= 1e-7 * np.sqrt(given)  # nothing but rounding is left of the class
    if exact.any() or np.linalg.eigvalsh(mass / np.outer(size, size)).min() < 1e-8:
        raise TopologyError(
            f"The harmonic fields of {ground.mesh.name} are named by {_forms(gamma.shape[1])}, but what is named is "
            "nothing or one and the same there (their classes are dependent).",
            "dependent_classes",
        )
    return mass


def wedge(mesh: Mesh, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """∫ a ∧ b of closed 1-cochains a (N_1, p), b (N_1, q) on an oriented surface: (p, q), antisymmetric.

    On a triangle a closed Whitney form is constant, so ∫ = (a₀₁ b₀₂ − a₀₂ b₀₁)/2: a number of the classes alone.
    Raises TopologyError (non_orientable).
    """
    signs = mesh.require_orientation("The wedge of 1-forms")
    faces = mesh.complex.faces(2)  # column i omits vertex i
    first, second = faces[:, 2], faces[:, 1]  # edges 01 and 02
    return 0.5 * ((a[first] * signs[:, None]).T @ b[second] - (a[second] * signs[:, None]).T @ b[first])


# ---- torus -----------------------------------------------------------------------------------------------------


def angle_forms(mesh: Mesh, R: float = 1.0) -> np.ndarray:
    """dθ and dφ on a torus round the z axis with middle circle of radius R, closed cochains (N_1, 2).

    θ turns round the axis, φ round the tube (outwards at φ = 0, up at φ = π/2); an edge holds the shorter difference.
    """
    x, y, z = mesh.points.T
    angles = np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y) - R)], axis=1)
    edges = mesh.complex.simplices(1)
    return (angles[edges[:, 1]] - angles[edges[:, 0]] + np.pi) % (2 * np.pi) - np.pi


def torus_frame(ground: Ground, R: float = 1.0) -> np.ndarray:
    """Frame of a torus of revolution, (N_1, 2): dθ/‖dθ‖, then the class of dφ."""
    require_b1(ground, 2, "the frame of a torus")
    return orthonormal_frame(ground, angle_forms(ground.mesh, R))


# ---- a handle that a plane cuts -----------------------------------------------------------------------------------


def crossing_cocycle(mesh: Mesh, axis: int, level: float, counts: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Signed crossings of edges with those curves of {x_axis = level} that count, (N_1,) of −1, 0, 1; closed.

    counts : places where edges cross the plane (m, 3) → bool (m,), the same for all places of one curve.
    +1 where an edge runs from x_axis < level to x_axis ≥ level.
    Raises TopologyError (open_curve) when a curve counts in part only.
    """
    height = mesh.points[:, axis] - level
    front = height >= -ON_PLANE * np.ptp(mesh.points, axis=0).max()
    start, end = mesh.complex.simplices(1).T
    cross = np.flatnonzero(front[start] != front[end])
    a, b = start[cross], end[cross]
    t = np.clip(height[a] / (height[a] - height[b]), 0.0, 1.0)[:, None]
    places = (1 - t) * mesh.points[a] + t * mesh.points[b]
    out = np.zeros(len(start))
    out[cross] = (front[b].astype(float) - front[a]) * counts(places)
    faces = mesh.complex.faces(2)
    torn = np.flatnonzero(out[faces[:, 2]] + out[faces[:, 0]] != out[faces[:, 1]])
    if len(torn):
        raise TopologyError(
            f"A curve in which {mesh.name} meets the plane counts on one side of triangle {torn[0]} and not on the "
            "other: it is of another shape or in another place, or too coarse to tell its curves apart.",
            "open_curve",
            torn[:100],
        )
    return out


def handle_frame(ground: Ground, cocycle: np.ndarray) -> np.ndarray:
    """Frame (N_1, 2) of a surface with one handle: h₁ in the class of the cocycle, h₂ its turn by 90°.

    h₂ = P(⋆h₁)/‖·‖ with ⟨γ, ⋆h₁⟩ = ∫ h₁ ∧ γ for harmonic γ; since b₁ = 2 it is ⋆-orthogonal to h₁ exactly.
    Raises TopologyError (betti, dependent_classes, non_orientable).
    """
    require_b1(ground, 2, "the frame of one handle")
    first = orthonormal_frame(ground, cocycle[:, None])
    basis = ground.solver.harmonic(1).orthonormal
    return orthonormal_frame(ground, np.column_stack([first, basis @ wedge(ground.mesh, first, basis)[0]]))


# ---- any surface --------------------------------------------------------------------------------------------------


def period_frame(ground: Ground) -> np.ndarray:
    """Frame of any mesh, (N_1, b_1): the forms dual to the generator cycles, orthonormalised in their order.

    The generators come from the triangles, so this frame is bound to the mesh: coefficients do not carry over to a
    finer mesh of the same shape.
    """
    return orthonormal_frame(ground, ground.solver.harmonic(1).dual)


def require_b1(ground: Ground, b1: int, what: str) -> None:
    """Raise TopologyError (betti) unless the mesh is a connected surface with that first Betti number."""
    betti = ground.solver.betti
    if ground.mesh.dim != 2:
        raise InputError(f"{ground.mesh.name} has dimension {ground.mesh.dim}; {what} needs a surface.", "degree")
    if betti[:2] != (1, b1):
        raise TopologyError(
            f"{ground.mesh.name} has Betti numbers {list(betti)}; {what} needs b_0 = 1 and b_1 = {b1}.", "betti"
        )
