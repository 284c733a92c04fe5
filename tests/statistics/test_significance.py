import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.diagnostic import normal_ad
from statsmodels.stats.multitest import multipletests

from builder.statistics.significance import (
    anderson_darling,
    binomial_p_value,
    chi_square_lower_p_value,
    fisher_exact_p_value,
    holm_adjust,
    normal_p_value,
    paired_t_test,
    student_t_p_value,
    unpaired_t_test,
)

FIXTURES = Path(__file__).parents[1] / "evaluation" / "fixtures"
TOY = json.loads((FIXTURES / "keller2024_toy.json").read_text())["ttest"]


def test_the_published_case_is_student_not_welch() -> None:
    x, y = (np.array(TOY[name]) for name in "xy")
    t, p = unpaired_t_test(x, y)
    assert float(p) == pytest.approx(TOY["p"], abs=1e-9)
    assert abs(float(p) - TOY["p_welch"]) > 1e-3
    assert float(t) < 0


def test_welch_is_the_published_value() -> None:
    x, y = (np.array(TOY[name]) for name in "xy")
    assert float(unpaired_t_test(x, y, pooled=False)[1]) == pytest.approx(TOY["p_welch"], abs=1e-9)
    one = np.ones((1, 2))
    assert np.isnan(unpaired_t_test(one, np.arange(4.0).reshape(2, 2), pooled=False)[1]).all()


def pooled_t(before: np.ndarray, after: np.ndarray) -> float:
    """Student's t, term by term."""
    n, m = len(before), len(after)
    squares = sum((v - before.mean()) ** 2 for v in before)
    squares += sum((v - after.mean()) ** 2 for v in after)
    error = (squares / (n + m - 2) * (1 / n + 1 / m)) ** 0.5
    return float((before.mean() - after.mean()) / error)


def test_unpaired_is_the_formula() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        n, m = rng.integers(2, 40, 2)
        before, after = rng.random((n, 3)) ** 2, rng.random((m, 3)) * rng.random()
        t, p = unpaired_t_test(before, after)
        for i in range(3):
            expected = pooled_t(before[:, i], after[:, i])
            assert t[i] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert p[i] == pytest.approx(2 * stats.t.sf(abs(expected), n + m - 2), abs=1e-9)


def test_welch_by_hand() -> None:
    before, after = (
        np.array([[0.0, 0.5], [1.0, 0.5], [0.5, 0.5]]),
        np.array([[1.0, 0.5], [0.8, 0.5]]),
    )
    # means .5 and .9; variances of the means .25 / 3 and .02 / 2; Welch-Satterthwaite degrees
    one, two = 0.25 / 3, 0.02 / 2
    freedom = (one + two) ** 2 / (one**2 / 2 + two**2 / 1)
    expected = 2 * stats.t.sf(0.4 / np.sqrt(one + two), freedom)
    assert unpaired_t_test(before, after, pooled=False)[1][0] == pytest.approx(expected, rel=1e-12)
    assert np.isnan(unpaired_t_test(before, after, pooled=False)[1][1])
    assert np.isnan(unpaired_t_test(before, after[:1], pooled=False)[1]).all()


def test_paired_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        system, pivot = rng.random((2, rng.integers(2, 40), 10))
        expected = stats.ttest_rel(system, pivot, axis=0)
        t, p = paired_t_test(system - pivot)
        np.testing.assert_allclose(t, expected.statistic, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(p, expected.pvalue, rtol=0, atol=1e-9)


def test_normality_is_that_of_statsmodels_and_finite_far_from_the_mean() -> None:
    values = np.random.default_rng(5).random(30) ** 2
    found = anderson_darling(values)
    assert (found.statistic, found.p) == pytest.approx(normal_ad(values), rel=1e-9)
    outlier = anderson_darling(np.append(np.arange(200.0), 10_000.0))
    assert 60 < outlier.statistic < 80
    assert outlier.p == 0.0


def test_holm_is_that_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda: 0)  # the oracle collects garbage in every call
    rng = np.random.default_rng(3)
    for _ in range(200):
        p = np.round(rng.random((rng.integers(1, 9), 5)) ** 3, 2)
        for column, adjusted in zip(p.T, holm_adjust(p).T, strict=True):
            np.testing.assert_allclose(
                adjusted, multipletests(column, method="holm")[1], atol=1e-12
            )


def test_holm_by_hand_and_with_tests_that_do_not_exist() -> None:
    p = np.array([0.01, 0.04, 0.03])
    np.testing.assert_allclose(holm_adjust(p), [0.03, 0.06, 0.06])
    adjusted = holm_adjust(np.array([np.nan, 0.04, np.nan, 0.03]))
    np.testing.assert_allclose(adjusted, [np.nan, 0.06, np.nan, 0.06])
    assert np.isnan(holm_adjust(np.array([np.nan, np.nan]))).all()
    assert holm_adjust(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("value", [0.0, 0.3, 0.1 + 0.2])
def test_scores_that_do_not_vary_have_no_test(value: float) -> None:
    constant = np.full((7, 2), value)
    for t, p in (
        unpaired_t_test(constant, constant),
        unpaired_t_test(constant, constant + 0.1),
        paired_t_test(constant),
    ):
        assert np.isnan(t).all()
        assert np.isnan(p).all()


def test_too_few_queries_have_no_test() -> None:
    one, none = np.ones((1, 2)), np.ones((0, 2))
    for t, p in (
        unpaired_t_test(one, one),
        unpaired_t_test(none, np.ones((5, 2))),
        paired_t_test(one),
        paired_t_test(none),
    ):
        assert np.isnan([t, p]).all()
        assert t.shape == p.shape == (2,)
    assert np.isfinite(unpaired_t_test(one, np.arange(4.0).reshape(2, 2))[1]).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_one_query_against_two_by_hand(sign: int) -> None:
    """Means 1 and 1/2, pooled variance 1/2 with one degree of freedom: t = 1/2 / sqrt(3 / 4)."""
    one, two = np.array([1.0]), np.array([0.0, 1.0])
    t, p = unpaired_t_test(*(one, two)[::sign])
    assert (float(t), float(p)) == pytest.approx((sign / np.sqrt(3), 2 / 3))


def test_a_system_without_a_run_is_undefined_and_leaves_others_alone() -> None:
    rng = np.random.default_rng(4)
    scores = rng.random((9, 3))
    holed = scores.copy()
    holed[:, 1] = np.nan
    t, p = unpaired_t_test(holed, scores[:5])
    assert np.isnan([t[1], p[1]]).all()
    np.testing.assert_array_equal(p[[0, 2]], unpaired_t_test(scores, scores[:5])[1][[0, 2]])


def test_fisher_exact_by_hand() -> None:
    # 3 of 3 against 0 of 3: 1 of the C(6, 3) = 20 tables on either side
    assert fisher_exact_p_value((3, 3), (0, 3)) == pytest.approx(2 / 20, abs=1e-12)
    assert fisher_exact_p_value((2, 4), (2, 4)) == 1.0
    assert fisher_exact_p_value((0, 0), (2, 4)) == 1.0


def test_chance_of_a_taken_topic() -> None:
    assert binomial_p_value(3, 3, 0.5) == pytest.approx(0.125)
    assert binomial_p_value(3, 4, 0.5) == pytest.approx(5 / 16)
    assert binomial_p_value(5000, 5000, 0.01) == 0.0
    assert binomial_p_value(0, 5000, 0.01) == pytest.approx(1.0)


@pytest.mark.parametrize(("statistic", "df"), [(0.0, 4), (3.0, 20), (19.3, 20), (400.0, 200)])
def test_the_lower_tail_of_chi_square(statistic: float, df: int) -> None:
    expected = stats.chi2(df).cdf(statistic)
    assert chi_square_lower_p_value(statistic, df) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("successes", "trials", "rate", "p"),
    [(2, 3, 0.25, 10 / 64), (1, 3, 0.25, 37 / 64), (0, 3, 0.25, 1.0), (4, 3, 0.25, 0.0)],
)
def test_at_least_so_many_successes(successes: int, trials: int, rate: float, p: float) -> None:
    """Of 64 outcomes of three trials, 27 have none, 27 one, 9 two and 1 three successes."""
    assert binomial_p_value(successes, trials, rate) == pytest.approx(p)


def test_fisher_exact_takes_the_number_with_the_property_and_the_number_of_rows() -> None:
    # 1 of 4 against 4 of 5: of C(9, 5) = 126 tables, 20 are as likely, 6 are rarer
    assert fisher_exact_p_value((1, 4), (4, 5)) == pytest.approx(26 / 126, abs=1e-12)
    assert fisher_exact_p_value((4, 5), (1, 4)) == pytest.approx(26 / 126, abs=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_p_values_of_t_and_z_have_two_sides(sign: int) -> None:
    assert student_t_p_value(sign * 1.0, 1) == pytest.approx(0.5)
    assert student_t_p_value(sign * 2.776445, 4) == pytest.approx(0.05, abs=1e-6)
    assert student_t_p_value(sign * 0.0, 4) == 1.0
    assert normal_p_value(sign * 1.959964) == pytest.approx(0.05, abs=1e-6)
    assert normal_p_value(sign * 0.674490) == pytest.approx(0.5, abs=1e-6)
    assert normal_p_value(sign * 0.0) == 1.0


@pytest.mark.parametrize(
    "values",
    [
        [-1.5, -0.8, -0.3, 0.0, 0.3, 0.8, 1.5],  # A* below 0.2
        [-1.5, -0.8, -0.6, 0.0, 0.1, 0.9, 2.2],  # from 0.2 to 0.34
        [0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.2],  # from 0.34 to 0.6
        [0.0, 0.0, 0.0, 0.1, 0.1, 0.2, 3.0],  # above 0.6
    ],
)
def test_normality_of_few_values_is_that_of_statsmodels(values: list[float]) -> None:
    found = anderson_darling(np.array(values))
    assert (found.statistic, found.p) == pytest.approx(normal_ad(np.array(values)), rel=1e-9)
