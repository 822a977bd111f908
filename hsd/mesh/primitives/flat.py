"""Flat tori given by edge lengths alone, and what is known of them exactly.

A flat torus R²/(Z a ⊕ Z b) has no smooth isometric embedding in space, but every metric quantity here follows from
squared edge lengths, so none is needed.
"""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError, check_choice
from hsd.mesh.complex import SimplicialComplex
from hsd.mesh.mesh import Mesh, winding_of
from hsd.mesh.primitives.grids import ROW, staggered

KINDS = ("hex", "right", "jittered")
LATTICES = {
    "square": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "hexagonal": np.array([[1.0, 0.0], [0.5, ROW]]),
}
"""Rows are the two periods a, b (area 1 and √3/2)."""


def flat_torus(
    nx: int = 50, ny: int = 60, kind: str = "hex", seed: int = 0, jitter: float = 0.15, lattice: str = "square"
) -> Mesh:
    """Flat torus of nx × ny vertices with edge lengths and no positions.

    kind    : "hex": rows shifted by half a step (equilateral triangles where ny/nx = 2/√3; ny even; on the hexagonal
              lattice with nx = ny exactly equilateral, any ny);
              "right": right-angled triangles (cotan weight 0 on the diagonals); "jittered": "hex" with every vertex
              moved at random by at most ``jitter`` steps in each direction
    lattice : "square" or "hexagonal", the periods in ``LATTICES``
    Raises InputError (bad_option) for nx, ny < 3 or an odd ny with shifted rows.
    """
    check_choice("kind of flat torus", kind, KINDS)
    check_choice("lattice", lattice, LATTICES)
    shifted = kind != "right" and lattice == "square"
    if nx < 3 or ny < (4 if shifted else 3) or (shifted and ny % 2):
        raise InputError(
            f"A flat torus needs nx ≥ 3 and ny ≥ 3, and an even ny ≥ 4 with shifted rows; got {nx} × {ny}.",
            "bad_option",
        )
    if shifted:
        i, j = staggered(nx, ny)
    else:
        i0, j0 = (a.ravel() for a in np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"))
        i = np.concatenate([np.stack([i0, i0 + 1, i0], 1), np.stack([i0 + 1, i0 + 1, i0], 1)])
        j = np.concatenate([np.stack([j0, j0, j0 + 1], 1), np.stack([j0, j0 + 1, j0 + 1], 1)])
    cells = (i % nx) * ny + j % ny
    place = np.stack([(i + 0.5 * (j % 2) * shifted) / nx, j / ny], axis=2)  # (m, 3, 2) in periods, not wrapped
    if kind == "jittered":
        move = np.random.default_rng(seed).uniform(-jitter, jitter, (nx * ny, 2)) / [nx, ny]
        place = place + move[cells]
    place = place @ LATTICES[lattice]
    cx = SimplicialComplex.from_simplices(nx * ny, {2: cells})
    lengths2 = np.empty(cx.n(1))
    for a, b in ((0, 1), (1, 2), (2, 0)):
        index, _ = cx.find(cells[:, [a, b]])
        lengths2[index] = ((place[:, a] - place[:, b]) ** 2).sum(axis=1)
    return Mesh(cx, lengths2=lengths2, winding=winding_of(cx, cells), name=f"flat_torus_{kind}")


def flat_torus_near(n_vertices: int, kind: str = "hex", seed: int = 0, jitter: float = 0.15, lattice: str = "square"):
    """:func:`flat_torus` with nx, ny chosen for a vertex count."""
    steep = ROW if kind != "right" and lattice == "square" else 1.0
    ny = np.sqrt(n_vertices / steep)
    ny = max(4, 2 * round(ny / 2)) if steep != 1.0 else max(3, round(ny))
    nx = ny if lattice == "hexagonal" else max(3, round(n_vertices / ny))
    return flat_torus(nx, ny, kind, seed, jitter, lattice)


def flat_torus_eigenvalues(n: int, lattice: str = "square") -> np.ndarray:
    """The n lowest eigenvalues of Δ_0 with multiplicity: 4π²|k|² over the dual lattice; Δ_1 has each twice."""
    dual = np.linalg.inv(LATTICES[lattice]).T
    reach = int(np.sqrt(n)) + 3
    k = np.stack(np.meshgrid(np.arange(-reach, reach + 1), np.arange(-reach, reach + 1)), axis=2).reshape(-1, 2)
    return np.sort(4.0 * np.pi**2 * ((k @ dual) ** 2).sum(axis=1))[:n]
