"""Samples on which models with similar errors differ in topology, found from counts of components and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

SIMILAR = 0.1
"""Errors within this share of the smaller one count as similar."""


@dataclass(frozen=True)
class Case:
    """One sample at one level.

    row : of the arrays given;  level: column of the counts;  truth: β0 of the truth
    counts, errors : β0 and relative L2 error by model;  right: models with the truth's β0;  wrong: the others
    """

    row: int
    level: int
    truth: int
    counts: Mapping[str, int]
    errors: Mapping[str, float]
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def case_at(
    truth: np.ndarray, counts: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray], row: int, level: int
) -> Case:
    """Sample ``row`` at a level: truth (B, T), counts (B, T) and errors (B,) by model.

    A model whose error is not finite is wrong whatever its count.
    """
    true = int(truth[row, level])
    mine = {name: int(c[row, level]) for name, c in counts.items()}
    wrong = {name: float(errors[name][row]) for name in counts}
    right = tuple(name for name, c in mine.items() if c == true and np.isfinite(wrong[name]))
    return Case(row, level, true, mine, wrong, right, tuple(name for name in mine if name not in right))


def agreement_cases(
    truth: np.ndarray,
    counts: Mapping[str, np.ndarray],
    errors: Mapping[str, np.ndarray],
    level: int,
    favourite: str,
) -> list[Case]:
    """Samples on which the favourite has the truth's β0 at a level and at least one other model has not.

    First those on which most models are wrong, then those with more components, then the favourite's smaller error.
    """
    if favourite not in counts:
        return []
    found = [case_at(truth, counts, errors, row, level) for row in range(len(truth))]
    found = [case for case in found if favourite in case.right and case.wrong]
    return sorted(found, key=lambda c: (-len(c.wrong), -c.truth, c.errors[favourite], c.row))


def disagreement_cases(
    truth: np.ndarray,
    counts: Mapping[str, np.ndarray],
    errors: Mapping[str, np.ndarray],
    levels: Sequence[int],
    similar: float = SIMILAR,
) -> list[Case]:
    """Samples on which two models with similar errors differ in β0, each at the level where they differ most.

    Errors a ≤ b are similar where b ≤ (1 + similar) a.  Of one sample the level with the largest
    |β0_p − β0_q| / max(β0_truth, 1) is taken, one at which a model of the pair is right before others; samples with a
    right model come first, then larger differences.
    """
    names = list(counts)
    found = []
    for row in range(len(truth)):
        best = None
        for i, p in enumerate(names):
            for q in names[i + 1 :]:
                a, b = sorted((float(errors[p][row]), float(errors[q][row])))
                if not (np.isfinite(b) and b <= (1 + similar) * a):
                    continue
                for level in levels:
                    g, x, y = (int(c[row, level]) for c in (truth, counts[p], counts[q]))
                    rank = (g in (x, y), abs(x - y) / max(g, 1))
                    if x != y and (best is None or rank > best[0]):
                        best = (rank, level, p, q)
        if best is not None:
            rank, level, p, q = best
            pair = {name: counts[name] for name in (p, q)}
            found.append((rank, case_at(truth, pair, errors, row, level)))
    return [case for _, case in sorted(found, key=lambda f: (not f[0][0], -f[0][1], f[1].row))]
