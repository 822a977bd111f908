"""Fixed places to read a field at: a spread subset of the vertices, found again on other meshes."""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial import cKDTree

from hsd.data.domain import Domain


def farthest_points(points: np.ndarray, count: int) -> np.ndarray:
    """(count, D) of the points (n, D): first the one farthest from the origin, then always the farthest from those.

    Repeats from the first one where count > n.
    """
    n = len(points)
    chosen = np.zeros(min(count, n), dtype=np.int64)
    chosen[0] = np.argmax(np.linalg.norm(points, axis=1))
    distance = np.full(n, np.inf)
    for i in range(1, len(chosen)):
        distance = np.minimum(distance, np.sum((points - points[chosen[i - 1]]) ** 2, axis=1))
        chosen[i] = np.argmax(distance)
    return points[chosen[np.arange(count) % n]]


def nearest_vertices(places: torch.Tensor, domain: Domain) -> torch.Tensor:
    """(S,) vertex of the domain nearest to each place (S, D) in ``moment_points``, looked up once a set of places."""
    at = places.detach().cpu().double().numpy()

    def look_up() -> torch.Tensor:
        found = cKDTree(domain.arrays["moment_points"]).query(at)[1]
        return torch.as_tensor(found).to(domain.device)

    return domain.cached(("nearest_vertices", at.tobytes()), look_up)
