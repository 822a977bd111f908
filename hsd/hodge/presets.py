"""Ready-made and random compositions: the same mesh and seed give the same field everywhere."""

from __future__ import annotations

import hashlib

import numpy as np

from hsd.errors import check_choice
from hsd.hodge.compose import Composition, Point, kinds_of, place_cells, place_degree
from hsd.mesh.mesh import Mesh
from hsd.mesh.metric import measures

PRESETS = {
    "mixture": "points and circulation",
    "dipole": "a source and a sink",
    "vortices": "a pair of vortices",
    "vortex": "one vortex",
    "loops": "circulation alone",
    "random": "random points, circulations",
    "empty": "nothing",
}


def preset(name: str, mesh: Mesh, k: int, n_harmonic: int, seed: int = 0) -> Composition:
    """A composition of k-forms by name, see PRESETS; ``n_harmonic`` is b_k, the number of circulations.

    Raises UnknownNameError.
    """
    check_choice("preset", name, PRESETS)
    rng = _rng(mesh, name, seed)
    if name == "random":
        return _random(mesh, k, n_harmonic, rng)
    kinds = kinds_of(mesh.dim, k)
    second = "vortex" if "vortex" in kinds else "source"
    asked = {
        "mixture": [("source", 1.0), ("sink", 1.0), (second, 1.0), (second, -1.0)],
        "dipole": [("source", 1.0), ("sink", 1.0)],
        "vortices": [(second, 1.0), (second, -1.0)],
        "vortex": [(second, 1.0)],
        "loops": [],
        "empty": [],
    }[name]
    periods = {"mixture": [1.0, 0.5], "loops": [1.0]}.get(name, [])
    return Composition(
        k=k,
        mesh=mesh.content_hash,
        points=tuple(
            _point(mesh, i, kind, cell, np.full(place_degree(mesh) + 1, 1 / (place_degree(mesh) + 1)), strength, 0.2)
            for i, ((kind, strength), cell) in enumerate(zip(asked, _spread(mesh, len(asked), rng)))
        ),
        circulations=tuple((periods * n_harmonic)[:n_harmonic]),
    )


def _random(mesh: Mesh, k: int, n_harmonic: int, rng: np.random.Generator) -> Composition:
    kinds = kinds_of(mesh.dim, k)
    n = int(rng.integers(4, 9))
    points = []
    for i, cell in enumerate(_spread(mesh, n, rng)):
        bary = rng.dirichlet(np.ones(place_degree(mesh) + 1))
        kind = kinds[int(rng.integers(len(kinds)))]
        sign = rng.choice([-1.0, 1.0]) if kind == "vortex" else 1.0
        strength = round(float(sign * rng.uniform(0.5, 1.5)), 2)
        points.append(_point(mesh, i, kind, cell, bary, strength, round(float(rng.uniform(0.12, 0.3)), 2)))
    circulations = tuple(round(float(c), 2) for c in rng.standard_normal(n_harmonic))
    return Composition(k, mesh.content_hash, tuple(points), circulations)


def _point(mesh: Mesh, i: int, kind: str, cell: int, bary: np.ndarray, strength: float, width: float) -> Point:
    position = ()
    if mesh.points is not None:
        position = tuple(bary @ mesh.points[mesh.complex.simplices(place_degree(mesh))[cell]])
    return Point(f"p{i + 1}", kind, int(cell), tuple(bary), strength, width, 0.0, position)


def _spread(mesh: Mesh, n: int, rng: np.random.Generator) -> list[int]:
    """n simplices far from each other (greedy among random ones, by measure), the first at random."""
    cells, d = place_cells(mesh), place_degree(mesh)
    if n == 0 or len(cells) == 0:
        return []
    weight = measures(mesh, d)[cells] if mesh.has_metric else np.ones(len(cells))
    candidates = cells[rng.choice(len(cells), size=max(12 * n, 60), p=weight / weight.sum())]
    if mesh.points is None:
        return [int(c) for c in candidates[:n]]
    middle = mesh.points[mesh.complex.simplices(d)[candidates]].mean(axis=1)
    chosen, distance = [0], ((middle - middle[0]) ** 2).sum(axis=1)
    while len(chosen) < n:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((middle - middle[chosen[-1]]) ** 2).sum(axis=1))
    return [int(candidates[i]) for i in chosen]


def _rng(mesh: Mesh, name: str, seed: int) -> np.random.Generator:
    text = f"{mesh.content_hash}/{name}/{seed}".encode()
    return np.random.default_rng(int.from_bytes(hashlib.sha256(text).digest()[:8], "little"))
