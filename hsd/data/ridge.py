"""Linear ridge regression between spectral coefficients, its penalty and number of modes chosen by validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

PENALTIES = np.logspace(-10, 2, 25)
"""Relative to the largest squared singular value of the training features."""


@dataclass(frozen=True, eq=False)
class Features:
    """Regressors of all samples, (n, p), centred and scaled by the training samples.

    n_modes : number of modes asked for of each input
    """

    n_modes: int
    values: np.ndarray

    @classmethod
    def of(
        cls, n_modes: int, spectra: Mapping[str, np.ndarray], coefficients: Mapping[str, np.ndarray], train: np.ndarray
    ) -> Features:
        """Spectra (n, n_modes) with one scale an input, coefficients in named fields (n, m) with one scale a name."""
        columns = []
        for block in (*spectra.values(), *coefficients.values()):
            centred = block - block[train].mean(axis=0)
            scale = np.sqrt((centred[train] ** 2).sum(axis=1).mean())
            columns.append(centred / scale if scale > 0 else centred)
        return cls(n_modes, np.concatenate(columns, axis=1))


@dataclass(frozen=True, eq=False)
class Ridge:
    """y = mean + X W with W of the least ‖Y − X W‖² + penalty ‖W‖²."""

    features: Features
    weights: np.ndarray
    mean: np.ndarray
    penalty: float
    on_edge: bool
    """True when the best penalty is the smallest or largest one tried."""

    def predict(self, samples: np.ndarray) -> np.ndarray:
        """Coefficients (B, n_modes) of the chosen samples."""
        return self.mean + self.features.values[samples] @ self.weights


def fit_ridge(
    candidates: Sequence[Features], targets: np.ndarray, total: np.ndarray, train: np.ndarray, validation: np.ndarray
) -> Ridge:
    """The ridge regression with the least mean relative error on the validation samples.

    targets : (n, q) coefficients in a ⋆-orthonormal basis;  total: (n,) ‖ω‖²_⋆ of the whole forms, so that the error of
    sample i is ((‖ĉ − c‖² + total − ‖c‖²)/total)^½.
    train, validation : (n,) bool; test samples are never read
    """
    mean = targets[train].mean(axis=0)
    left = np.maximum(total[validation] - (targets[validation] ** 2).sum(axis=1), 0.0)
    known = total[validation] > 0
    best = None
    for features in candidates:
        u, s, vt = np.linalg.svd(features.values[train], full_matrices=False)
        rotated = u.T @ (targets[train] - mean)  # (p, q)
        own = features.values[validation] @ vt.T  # (B, p)
        for i, relative in enumerate(PENALTIES):
            penalty = relative * s[0] ** 2 if s[0] > 0 else 1.0
            shrink = s / (s**2 + penalty)
            predicted = mean + (own * shrink) @ rotated
            square = ((predicted - targets[validation]) ** 2).sum(axis=1) + left
            error = float(np.sqrt(square[known] / total[validation][known]).mean()) if known.any() else 0.0
            if best is None or error < best[0]:
                best = (error, features, penalty, vt.T @ (shrink[:, None] * rotated), i in (0, len(PENALTIES) - 1))
    _, features, penalty, weights, on_edge = best
    return Ridge(features, weights, mean, float(penalty), on_edge)
