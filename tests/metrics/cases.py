"""Yardsticks, predictions and truths that the tests of metrics share."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from hsd.data.ground import Ground
from hsd.metrics import COCHAIN_METRICS, METRICS, Scores, Yardstick
from tests.meshes import mesh_of

CASES = (
    ("torus", 0, "scalar"),
    ("torus", 1, "flux"),
    ("torus", 1, "circulation"),
    ("torus", 2, "density"),
    ("annulus", 1, "circulation"),
    ("ball_with_cavity", 0, "scalar"),
    ("ball_with_cavity", 1, "circulation"),
    ("ball_with_cavity", 2, "flux"),
    ("ball_with_cavity", 3, "density"),
)
N = 200
EVERY = METRICS | COCHAIN_METRICS


@cache
def ground_of(name: str, n: int = N) -> Ground:
    return Ground(mesh_of(name, n))


@cache
def yardstick_of(name: str, degree: int, reading: str, n: int = N, **more) -> Yardstick:
    return Yardstick.of(ground_of(name, n), degree, reading, n_modes=24, **more)


def samples(yardstick: Yardstick, b: int = 4, seed: int = 0, noise: float = 0.4) -> tuple[torch.Tensor, torch.Tensor]:
    """Predictions and truths at nodes, (b, N_0, C)."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((b, yardstick.n_vertices, yardstick.n_components))
    return torch.from_numpy(truth + noise * rng.standard_normal(truth.shape)), torch.from_numpy(truth)


def forms(yardstick: Yardstick, b: int = 4, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((b, yardstick.n_simplices))
    return torch.from_numpy(truth + 0.3 * rng.standard_normal(truth.shape)), torch.from_numpy(truth)


def each(values: Scores, name: str) -> list[float]:
    return values.samples[name].tolist()


def name_of(case) -> str:
    return "-".join(map(str, case))


cases = pytest.mark.parametrize("case", CASES, ids=name_of)


def equal_scores(a, b, tolerance: float, skip=()) -> None:
    assert list(a.samples) == list(b.samples)
    for name in a.samples:
        if name not in skip:
            x, y = a.samples[name].double(), b.samples[name].double()
            assert torch.allclose(x, y, rtol=tolerance, atol=tolerance), (name, x, y)
