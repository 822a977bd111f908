"""Samples in blocks of one width, so that no sample depends on how many others are computed with it.

A solve or product with 16 columns may round differently from one with 15: the library below picks other kernels.  With
blocks that always have WIDTH columns, filled up with zeros, a column's result is the same at every place and beside
every neighbour, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WIDTH = 16
"""Columns in a block: enough to amortise calls, few enough that the arrays of 3000 nodes stay in the cache."""


def in_blocks(work: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Rows of ``work``, computed for WIDTH samples at a time.

    arrays : each (B, n_a), one row a sample
    work   : the arrays' blocks as C-contiguous columns (n_a, WIDTH) → (…, WIDTH)
    Returns (B, …).
    """
    n = len(arrays[0])
    parts = []
    for start in range(0, n, WIDTH):
        stop = min(start + WIDTH, n)
        columns = []
        for a in arrays:
            block = np.zeros((a.shape[1], WIDTH))
            block[:, : stop - start] = a[start:stop].T
            columns.append(block)
        out = work(*columns)
        parts.append(np.moveaxis(out, -1, 0)[: stop - start].copy())  # a view would keep the padded block alive
    if not parts:
        shape = work(*(np.zeros((a.shape[1], WIDTH)) for a in arrays)).shape[:-1]
        return np.zeros((0, *shape))
    return np.concatenate(parts)
