"""Coefficients of agreement: worked examples of their papers, scikit-learn and statsmodels."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from builder.statistics.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha

_ = np.nan
WORKED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)
"""Ratings of four observers and twelve units; section C of Krippendorff (2011)."""


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_worked_example(metric: str, alpha: float) -> None:
    values = np.arange(1.0, 6.0)
    counts = np.stack([(value == WORKED).sum(axis=0) for value in values])
    found = krippendorff_alpha(counts, values, metric)  # type: ignore[arg-type]
    assert found == pytest.approx(alpha, abs=5e-4)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    counts = Counter(pairs)
    table = [[counts[i, j] for j in range(3)] for i in range(3)]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    for weights, theirs in (("none", None), ("linear", "linear"), ("quadratic", "quadratic")):
        found = cohen_kappa(table, weights)  # type: ignore[arg-type]
        if len({*first, *second}) == 1:
            assert found is None
        else:
            expected = cohen_kappa_score(first, second, labels=[0, 1, 2], weights=theirs)
            assert found == pytest.approx(expected, abs=1e-9)


def test_kappa_by_hand() -> None:
    assert cohen_kappa([[20, 5], [10, 15]]) == pytest.approx(0.4)


@given(
    st.integers(2, 5).flatmap(
        lambda raters: st.lists(
            st.lists(st.integers(0, 2), min_size=raters, max_size=raters), min_size=1, max_size=12
        )
    )
)
def test_fleiss_kappa_is_that_of_statsmodels(ratings: list[list[int]]) -> None:
    counts = [[unit.count(rating) for rating in range(3)] for unit in ratings]
    found = fleiss_kappa(counts)
    if len({rating for unit in ratings for rating in unit}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(fleiss_of_statsmodels(np.array(counts)), abs=1e-9)


def test_coefficients_are_undefined_without_variation() -> None:
    assert cohen_kappa([[0, 0], [0, 2]]) is None
    assert cohen_kappa([]) is None
    assert fleiss_kappa([]) is None
    assert krippendorff_alpha(np.array([[2.0, 2.0]])) is None
    assert krippendorff_alpha(np.zeros((0, 0))) is None
