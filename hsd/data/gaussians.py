"""Sums of Gaussians in space, sampled at points: sources and initial states of the tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hsd.data.blocks import WIDTH
from hsd.data.tasks.base import Record, stacked


def gaussian_fields(points: np.ndarray, records: Sequence[Record]) -> np.ndarray:
    """Σ_k strength_k exp(−|x − centre_k|² / 2 width_k²) at points (N, 3), one row a record: (B, N).

    Records hold "centres" (S, 3), "widths" (S,) > 0 and "strengths" (S,).  Every value is a sum in the order of the
    sources by elementwise operations: a row is the same, bit for bit, whatever other records are computed with it.
    """
    out = np.zeros((len(records), len(points)))
    for low in range(0, len(records), WIDTH):
        part, total = records[low : low + WIDTH], out[low : low + WIDTH]
        centres, strengths, widths = (stacked(part, key) for key in ("centres", "strengths", "widths"))
        for k in range(strengths.shape[1]):
            used = strengths[:, k] != 0  # records with fewer sources are filled up with zeros
            distance2 = np.zeros((int(used.sum()), len(points)))
            for axis in range(points.shape[1]):
                distance2 += (points[:, axis] - centres[used, k, axis, None]) ** 2
            distance2 *= -0.5 / widths[used, k, None] ** 2
            total[used] += strengths[used, k, None] * np.exp(distance2, out=distance2)
    return out
