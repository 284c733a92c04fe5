from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from builder.statistics.rankings import kendall_tau_b, rank_biased_overlap, spearman_correlation


def test_tau_is_that_of_scipy() -> None:
    rng = np.random.default_rng(1)
    for systems in (2, 3, 5, 12):
        first, second = rng.integers(0, systems, (2, 250, systems)) / 10
        found = kendall_tau_b(first, second)
        expected = [kendalltau(a, b).statistic for a, b in zip(first, second, strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_tau_of_what_cannot_be_ranked() -> None:
    flat, rising = np.full(3, 0.5), np.array([0.1, 0.2, 0.3])
    assert np.isnan(kendall_tau_b(flat, rising))
    assert np.isnan(kendall_tau_b(np.array([0.5]), np.array([0.5])))
    assert np.isnan(kendall_tau_b(np.array([]), np.array([])))
    assert np.isnan(kendall_tau_b(np.array([np.nan, 0.2, 0.3]), rising))
    assert kendall_tau_b(rising, np.array([0.1, 0.3, 0.1 + 0.2])) == pytest.approx(2 / np.sqrt(6))


def webber(first: list[int], second: list[int], p: float) -> float:
    """Equation 32 for two lists of the same length, term by term."""
    k = len(first)
    overlap = [len(set(first[:d]) & set(second[:d])) for d in range(1, k + 1)]
    total = sum(overlap[d - 1] / d * p**d for d in range(1, k + 1))
    return overlap[-1] / k * p**k + (1 - p) / p * total


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_rbo_of_all_orders_of_five_systems(p: float) -> None:
    order = range(5)
    for other in permutations(order):
        scores = np.empty(5)
        scores[list(other)] = np.arange(5, 0, -1)
        found = rank_biased_overlap(np.arange(5.0, 0, -1), scores, p)
        assert found == pytest.approx(webber(list(order), list(other), p), abs=1e-12)


def test_rbo_by_hand() -> None:
    # a b c against b a c: agreements 0, 1, 1
    assert rank_biased_overlap(np.array([3.0, 2, 1]), np.array([2.0, 3, 1]), 0.9) == pytest.approx(
        (1 - 0.9) / 0.9 * (0 + 0.81 + 0.729) + 0.729
    )
    # a and b tied against a b c: agreements 2*1/(2+1), 1, 1
    assert rank_biased_overlap(np.array([2.0, 2, 1]), np.array([3.0, 2, 1]), 0.5) == pytest.approx(
        1 * (2 / 3 * 0.5 + 0.25 + 0.125) + 0.125
    )


def test_rbo_of_identical_and_of_undefined_rankings() -> None:
    scores = np.random.default_rng(0).random((4, 6))
    np.testing.assert_allclose(rank_biased_overlap(scores, scores), 1)
    np.testing.assert_allclose(rank_biased_overlap(scores, scores + 1e-14), 1)
    assert np.isnan(rank_biased_overlap(np.empty((3, 0)), np.empty((3, 0)))).all()
    assert np.isnan(rank_biased_overlap(np.array([np.nan, 1.0]), np.array([1.0, 2.0])))
    both = rank_biased_overlap(scores, scores[:, ::-1])
    np.testing.assert_allclose(both, rank_biased_overlap(scores[:, ::-1], scores))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_spearman_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = spearman_correlation(pairs)
    if len(set(first)) < 2 or len(set(second)) < 2:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(first, second).statistic, abs=1e-9)
