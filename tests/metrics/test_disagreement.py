"""Cases of models with similar errors and different topology."""

from __future__ import annotations

import numpy as np

from hsd.metrics.disagreement import agreement_cases, disagreement_cases

TRUTH = np.array([[1, 4], [1, 3], [2, 2]])
COUNTS = {"hsd": np.array([[1, 4], [1, 9], [2, 2]]), "a": np.array([[1, 7], [1, 3], [2, 2]])}
COUNTS |= {"b": np.array([[5, 4], [1, 3], [2, 2]])}
ERRORS = {"hsd": np.array([0.10, 0.2, 0.3]), "a": np.array([0.105, 0.4, 0.3]), "b": np.array([0.5, 0.2, np.nan])}


def test_agreement_lists_samples_where_the_favourite_alone_is_right():
    found = agreement_cases(TRUTH, COUNTS, ERRORS, 1, "hsd")
    assert [(c.row, c.right, c.wrong) for c in found] == [(0, ("hsd", "b"), ("a",)), (2, ("hsd", "a"), ("b",))]
    assert found[0].truth == 4 and found[0].counts == {"hsd": 4, "a": 7, "b": 4}
    assert agreement_cases(TRUTH, COUNTS, ERRORS, 1, "not there") == []


def test_disagreement_pairs_have_similar_errors_and_other_counts():
    found = disagreement_cases(TRUTH, COUNTS, ERRORS, (0, 1))
    assert [(c.row, c.level, set(c.counts)) for c in found] == [(1, 1, {"hsd", "b"}), (0, 1, {"hsd", "a"})]
    for case in found:
        small, large = sorted(case.errors[name] for name in case.counts)
        assert large <= 1.1 * small and len(set(case.counts.values())) == 2
    assert [c.row for c in disagreement_cases(TRUTH, COUNTS, ERRORS, (0, 1), similar=0.01)] == [1]


def test_a_sample_with_a_right_model_comes_before_a_larger_difference_of_wrong_ones():
    truth = np.array([[1], [1]])
    counts = {"p": np.array([[2], [1]]), "q": np.array([[50], [2]])}
    errors = {"p": np.ones(2), "q": np.ones(2)}
    assert [c.row for c in disagreement_cases(truth, counts, errors, (0,))] == [1, 0]
