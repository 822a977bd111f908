"""Arrays of samples read in blocks, and which of their rows are not finite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hsd.errors import Notice

BLOCK_BYTES = 2**24
NAMED = 5
"""Numbers of samples that a sentence names, the first ones."""


def blocks_of(array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(first row, rows) of an array, about BLOCK_BYTES at a time."""
    row = max(array[0].nbytes if len(array) else 1, 1)
    step = max(BLOCK_BYTES // row, 1)
    for start in range(0, len(array), step):
        yield start, np.asarray(array[start : start + step])


def all_finite(block: np.ndarray) -> np.ndarray:
    """Which rows hold finite numbers only, (m, …) → (m,) bool."""
    return np.isfinite(block).reshape(len(block), -1).all(axis=1)


def non_finite(name: str, key: str, array: np.ndarray) -> Iterator[Notice]:
    """One notice (non_finite) where rows of the array ``key`` of the file ``name`` hold NaN or infinite numbers."""
    bad: list[int] = []
    for start, block in blocks_of(array):
        bad += (start + np.flatnonzero(~all_finite(block))).tolist()
    if bad:
        what = "row" if key.startswith("field") else "sample"
        yield Notice(
            "non_finite",
            f"{name}: {key} is not finite (NaN or infinite) in {len(bad)} of {len(array)} {what}s, "
            f"{numbered(what, bad)}; mend or drop {'it' if len(bad) == 1 else 'them'}.",
            tuple(bad[:100]),
        )


def numbered(what: str, numbers: Sequence[int]) -> str:
    """ "sample 7", "samples 7 and 9", or "samples 1, 2, 3, 4, 5 and 12 more"."""
    said = [str(i) for i in numbers[:NAMED]]
    if len(numbers) > NAMED:
        said.append(f"{len(numbers) - NAMED} more")
    return f"{what} {said[0]}" if len(said) == 1 else f"{what}s {', '.join(said[:-1])} and {said[-1]}"
