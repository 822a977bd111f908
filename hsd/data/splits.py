"""Training, validation and test samples, by one seeded permutation that is recorded in the dataset file."""

from __future__ import annotations

import numpy as np

from hsd.errors import InputError, require_whole

TRAIN, VALIDATION, TEST = 0, 1, 2
PARTS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
"""Name of a part → its code in the array ``split``."""

TEST_SHARE = 0.20
VALIDATION_SHARE = 0.15
"""Of what is left when the test samples are taken away."""

_STREAM = 0x73706C6974  # "split": keeps the permutation apart from other uses of the same seed


def split_sizes(n: int) -> dict[str, int]:
    """Number of samples of each part: test 20 % first, validation 15 % of the rest; each at least 1 from n = 3 on.

    3000 → 2040 / 360 / 600.  With one or two samples all are for training.
    Raises InputError (not_whole, n_samples).
    """
    require_whole("number of samples", n)
    if n < 1:
        raise InputError(f"A dataset needs at least one sample; got {n}.", "n_samples")
    if n < 3:
        return {"train": int(n), "validation": 0, "test": 0}
    test = max(round(TEST_SHARE * n), 1)
    validation = max(round(VALIDATION_SHARE * (n - test)), 1)
    return {"train": n - test - validation, "validation": validation, "test": test}


def split_codes(n: int, seed: int = 0) -> np.ndarray:
    """(n,) int8 codes of PARTS: the first samples of a permutation drawn from ``seed`` are for the test.

    Raises InputError (not_whole, n_samples, bad_seed).
    """
    sizes = split_sizes(n)
    require_whole("seed of the split", seed)
    if seed < 0:
        raise InputError(f"The seed of the split must not be negative; got {seed}.", "bad_seed")
    order = np.random.default_rng(np.random.SeedSequence([_STREAM, seed])).permutation(n)
    codes = np.full(n, TRAIN, np.int8)
    codes[order[: sizes["test"]]] = TEST
    codes[order[sizes["test"] : sizes["test"] + sizes["validation"]]] = VALIDATION
    return codes
