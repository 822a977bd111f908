"""Splits: the stated numbers, a permutation of the seed, every sample in one part."""

from __future__ import annotations

import numpy as np
import pytest

from hsd.data.splits import PARTS, split_codes, split_sizes
from hsd.errors import InputError

SIZES = [1, 2, 3, 4, 5, 7, 10, 20, 99, 100, 1000, 3000]


def test_3000_samples_give_2040_360_600():
    assert split_sizes(3000) == {"train": 2040, "validation": 360, "test": 600}


@pytest.mark.parametrize("n", SIZES)
def test_parts_have_the_stated_sizes_and_are_never_empty_from_three_samples_on(n):
    codes = split_codes(n, seed=3)
    counts = {part: int((codes == code).sum()) for part, code in PARTS.items()}
    assert counts == split_sizes(n) and sum(counts.values()) == n and codes.dtype == np.int8
    if n >= 3:
        assert min(counts.values()) >= 1


@pytest.mark.parametrize("n", [100, 1000, 3000])
def test_shares_are_20_percent_and_15_percent_of_the_rest(n):
    sizes = split_sizes(n)
    assert abs(sizes["test"] - 0.2 * n) <= 0.5
    assert abs(sizes["validation"] - 0.15 * (n - sizes["test"])) <= 0.5


def test_the_seed_alone_decides_and_another_seed_differs():
    assert np.array_equal(split_codes(500, 7), split_codes(500, 7))
    assert (split_codes(500, 7) != split_codes(500, 8)).sum() > 100


def test_parts_do_not_follow_the_order_of_samples():
    """The mean number of the test samples is that of all, within four standard deviations."""
    n = 3000
    test = np.flatnonzero(split_codes(n, 0) == PARTS["test"])
    deviation = n * np.sqrt((1 / 12) / len(test) * (1 - len(test) / n))
    assert abs(test.mean() - (n - 1) / 2) < 4 * deviation


BAD = [
    ((0,), "n_samples"),
    ((-3,), "n_samples"),
    ((2.5,), "not_whole"),
    ((10, -1), "bad_seed"),
    ((10, 1.0), "not_whole"),
]


@pytest.mark.parametrize(("arguments", "kind"), BAD)
def test_bad_numbers_are_refused(arguments, kind):
    with pytest.raises(InputError) as caught:
        split_codes(*arguments)
    assert caught.value.kind == kind
