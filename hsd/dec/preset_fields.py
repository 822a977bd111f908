"""Fields to try things on, made from a name and a seed alone, on any mesh: the same everywhere, nothing hidden."""

from __future__ import annotations

import numpy as np

from hsd.dec.boundary import boundary
from hsd.dec.de_rham import de_rham
from hsd.dec.whitney import reads_as_vector
from hsd.errors import InputError, check_choice
from hsd.mesh.mesh import Mesh

PRESETS = {
    "random": "random numbers, one a simplex",
    "waves": "random smooth waves",
    "blob": "one smooth blob",
    "vortex_pair": "two vortices of opposite sense",
    "coordinate": "gradient of a coordinate",
}
AXES = ("x", "y", "z")
WIDTH = 0.25
"""Width σ of blobs and vortices, as a share of the distance from the centre to the farthest vertex."""
N_WAVES = 12


def preset_names(mesh: Mesh, k: int) -> tuple[str, ...]:
    """The presets for k-forms of a mesh: random numbers alone where it has no positions, or densities no sign."""
    if mesh.points is None or mesh.points.shape[1] > 3 or not mesh.complex.is_pure:
        return ("random",)
    signless = k == mesh.dim >= 2 and mesh.orientation is None and mesh.points.shape[1] != mesh.dim
    return ("random",) if signless else tuple(PRESETS)


def preset_field(mesh: Mesh, k: int, name: str, seed: int = 0, axis: str = "x") -> np.ndarray:
    """The k-cochain (N_k,) that a preset's name and seed stand for.

    random      : independent standard normal numbers, one a simplex
    waves       : Σ aᵢ cos(κᵢ·x + θᵢ), random directions and about one wave across the mesh; as vector, density or value
    blob        : exp(−|x − c|²/2σ²) at a random vertex c, for vectors times a random direction
    vortex_pair : n × (x − c) exp(−|x − c|²/2σ²) at two far vertices with opposite signs, n the normal at c (in
                  tetrahedra the direction of c from the centre); for values and densities the blobs alone
    coordinate  : k = 0 the coordinate, k = 1 its gradient dx (exact), else the constant vector or the density x
    Vectors enter 1-forms by circulation, 2-forms in tetrahedra by flux (:func:`hsd.dec.de_rham.de_rham`).
    Raises UnknownNameError; InputError (degree), MetricError (no_positions), TopologyError (non_orientable).
    """
    check_choice("preset", name, PRESETS)
    check_choice("axis", axis, AXES)
    if not 0 <= k <= mesh.dim:
        raise InputError(f"{mesh.name} has forms of degree 0 to {mesh.dim}; got degree {k}.", "degree")
    rng = np.random.default_rng(seed)
    if name == "random":
        return rng.standard_normal(mesh.complex.n(k))
    vector = reads_as_vector(mesh, k)
    p, dim = mesh.points3, mesh.points.shape[1] if mesh.points is not None else 3
    if dim > 3:
        raise InputError(f"Presets other than random need 2 or 3 coordinates; {mesh.name} has {dim}.", "degree")
    centre = (p.min(axis=0) + p.max(axis=0)) / 2
    radius = float(np.sqrt(((p - centre) ** 2).sum(axis=1).max())) or 1.0
    if name == "coordinate":
        i = AXES.index(axis)
        if i >= dim:
            raise InputError(f"{mesh.name} lies in the plane and has no coordinate {axis}.", "axis")
        if k == 1:
            return boundary(mesh.complex, 1).T @ p[:, i]
        return de_rham(mesh, k, lambda x: np.tile(np.eye(dim)[i], (len(x), 1)) if vector else x[:, i])
    shape = _shape(name, rng, mesh, centre, radius, vector)

    def function(x: np.ndarray) -> np.ndarray:
        values = shape(np.pad(x, ((0, 0), (0, 3 - dim))))
        return values[:, :dim] if vector else values

    return de_rham(mesh, k, function)


def _shape(name: str, rng, mesh: Mesh, centre: np.ndarray, radius: float, vector: bool):
    """The preset as a function of points (m, 3) → (m,) or (m, 3)."""
    p = mesh.points3
    inside = (np.ptp(p, axis=0) > 1e-9 * radius).astype(float)  # directions that stay in a plane parallel to the axes
    if name == "waves":
        kappa = rng.standard_normal((N_WAVES, 3)) * inside * (2.0 / radius)
        phase = rng.uniform(0, 2 * np.pi, N_WAVES)
        amplitude = rng.standard_normal((N_WAVES, 3)) * inside / np.sqrt(N_WAVES)
        if not vector:
            amplitude = amplitude[:, 0]
        return lambda x: np.cos((x - centre) @ kappa.T + phase) @ amplitude
    first = int(rng.integers(len(p)))
    sigma = WIDTH * radius

    def bump(x, c):
        return np.exp(-((x - c) ** 2).sum(axis=1) / (2 * sigma**2))

    if name == "blob":
        direction = rng.standard_normal(3) * inside
        direction /= np.linalg.norm(direction)
        if vector:
            return lambda x: bump(x, p[first])[:, None] * direction
        return lambda x: bump(x, p[first])
    distance = np.linalg.norm(p - p[first], axis=1)
    second = int(np.argmin(np.abs(distance - 1.2 * radius)))
    if not vector:
        return lambda x: bump(x, p[first]) - bump(x, p[second])
    axes = [_axis(mesh, v, centre) for v in (first, second)]

    def around(x, c, axis):
        return np.cross(axis, x - c) / sigma * bump(x, c)[:, None]

    return lambda x: around(x, p[first], axes[0]) - around(x, p[second], axes[1])


def _axis(mesh: Mesh, vertex: int, centre: np.ndarray) -> np.ndarray:
    """Unit normal at a vertex of a surface; elsewhere the direction from the centre; z where there is none."""
    axis = mesh.points3[vertex] - centre
    if mesh.dim == 2:
        cells = mesh.oriented_cells()
        a, b, c = mesh.points3[cells[(cells == vertex).any(axis=1)]].transpose(1, 0, 2)
        axis = np.cross(b - a, c - a).sum(axis=0)
    length = float(np.linalg.norm(axis))
    return axis / length if length > 0 else np.array([0.0, 0.0, 1.0])
