"""Trends: worked cases of Kenter et al. (2015), statsmodels as oracle, degenerate inputs."""

import math
import sys
import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.diagnostic import normal_ad
from statsmodels.stats.stattools import durbin_watson as dw_statistic

from builder.errors import MissingExtraError, UsageError
from builder.evaluation.trends import Trend, fit_trend
from builder.statistics.regression import compare_slopes
from builder.statistics.significance import normal_p_value, student_t_p_value
from tests.thorough import examples

TIMES = [0, 1, 2, 3, 4, 5]
SCORES = [0.5, 0.46, 0.47, 0.38, 0.41, 0.3]
DOCUMENTS = [10, 20, 15, 30, 5, 20]


def exactly(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def test_small_case():
    """The p-values of Durbin-Watson are those of Imhof (1961) by adaptive quadrature."""
    trend = fit_trend(TIMES, SCORES, DOCUMENTS)
    assert trend.batches == 6
    assert trend.intercept == exactly(0.5105905511811022)
    assert trend.slope == exactly(-0.03984251968503931)
    assert trend.slope_se == exactly(0.007287192157293405)
    assert trend.t == exactly(-5.467472083216966)
    assert trend.df == 4
    assert trend.p == exactly(0.005443343242350776)
    assert trend.end_point == exactly(0.31137795275590563)
    assert trend.anderson_darling == exactly(0.9143118035956235)
    assert trend.anderson_darling_p == exactly(0.007575065716334936)
    assert trend.durbin_watson == exactly(2.70918691320965)
    assert trend.durbin_watson_p_positive == exactly(0.8674875755521798)
    assert trend.durbin_watson_p == exactly(0.2650248488956404)
    assert trend.reason is None
    assert trend.end_point_observed == trend.end_point


def test_small_case_with_weighted_residuals():
    trend = fit_trend(TIMES, SCORES, DOCUMENTS, residual_kind="weighted")
    assert trend.slope == exactly(-0.03984251968503931)
    assert trend.anderson_darling == exactly(0.8079663451353492)
    assert trend.durbin_watson == exactly(3.1079411120467866)
    assert trend.durbin_watson_p_positive == exactly(0.9082496025313256)
    assert trend.durbin_watson_p == exactly(0.1835007949373488)


def test_points_on_a_line():
    trend = fit_trend([0, 1, 2, 3], [0.2, 0.3, 0.4, 0.5], [1, 2, 3, 4])
    assert trend.slope == exactly(0.1)
    assert trend.intercept == exactly(0.2)
    assert trend.end_point == exactly(0.5)
    assert trend.t is None
    assert trend.p is None
    assert trend.anderson_darling is None
    assert "no residual variance" in trend.reason


def test_a_batch_without_weight_does_not_count():
    trend = fit_trend([*TIMES, 6], [*SCORES, 1.0], [*DOCUMENTS, 0])
    assert trend.slope == exactly(-0.03984251968503931)
    assert trend.slope_se == exactly(0.007287192157293405)
    assert trend.df == 4
    assert trend.end_point == exactly(0.27153543307086304)
    assert trend.end_point_observed == exactly(0.31137795275590563)


def test_an_undefined_score_does_not_count():
    with_null = fit_trend([*TIMES, 6], [*SCORES, None], [*DOCUMENTS, 9])
    assert with_null == fit_trend([*TIMES, 6], [*SCORES, 1.0], [*DOCUMENTS, 0])


def test_table_4():
    slopes, errors = (-1.11e-4, -3.14e-4), (4.87e-5, 7.03e-5)
    assert abs(slopes[0] / errors[0]) == exactly(2.2792607802874745)
    assert abs(slopes[1] / errors[1]) == exactly(4.466571834992887)
    for statistic, two_df, normal in (
        (2.2792607802874745, 0.15027631871701758, 0.02265156815750089),
        (4.466571834992887, 0.04664543711536528, 7.9482990001387e-06),
    ):
        assert student_t_p_value(statistic, 2) == exactly(two_df)
        assert normal_p_value(statistic) == exactly(normal)
    test = compare_slopes(slopes[0], errors[0], slopes[1], errors[1])
    assert test.statistic == exactly(2.373695965564487)
    assert test.p == exactly(0.01761104503522188)
    assert (round(test.statistic, 2), round(test.p, 2)) == (2.37, 0.02)


def test_swapping_the_systems_flips_z_and_keeps_p():
    there, back = compare_slopes(1.0, 0.5, 2.0, 0.1), compare_slopes(2.0, 0.1, 1.0, 0.5)
    assert there.statistic == -back.statistic
    assert there.p == back.p


def test_slopes_without_error_are_not_compared():
    test = compare_slopes(0.1, 0.0, 0.2, 0.0)
    assert (test.statistic, test.p) == (None, None)
    assert "zero" in test.reason


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_three_batches(count):
    trend = fit_trend(range(count), [0.1, 0.7][:count], [1, 1][:count])
    assert trend == Trend(
        count,
        reason="a trend needs at least 3 batches with a score and a positive weight, "
        f"found {count}",
    )


def test_two_weighted_batches_among_many_are_too_few():
    trend = fit_trend(range(5), [0.1, 0.2, 0.3, 0.4, None], [0, 1, 0, 2, 3])
    assert (trend.batches, trend.slope, trend.end_point) == (2, None, None)


def test_constant_scores_have_a_level_and_no_test():
    trend = fit_trend(range(4), [0.3] * 4, [1, 2, 3, 4])
    assert (trend.slope, trend.end_point) == (0.0, 0.3)
    assert (trend.slope_se, trend.t, trend.p, trend.durbin_watson_p) == (None,) * 4
    assert "constant" in trend.reason


def test_three_batches_leave_durbin_watson_no_freedom():
    trend = fit_trend(range(3), [0.1, 0.5, 0.2], [1, 1, 1])
    assert trend.durbin_watson == exactly(3.0)
    assert trend.durbin_watson_p is None
    assert trend.p is not None
    assert "Durbin-Watson" in trend.reason


@pytest.mark.parametrize(("weight", "error"), [(10**4, 0.0579150), (10**6, 0.0579145)])
def test_a_batch_with_much_of_the_weight_keeps_its_standard_error(weight, error):
    """0.0579144 is the limit: the distance of point 1 from the line through the others counts."""
    trend = fit_trend(range(4), [0.1, 0.2, 0.15, 0.4], [1, weight, 1, 1])
    assert trend.slope_se == pytest.approx(error, abs=1e-6)


def test_a_batch_with_all_but_all_of_the_weight_has_no_standard_error():
    trend = fit_trend(range(4), [0.1, 0.2, 0.15, 0.4], [1, 10**12, 1, 1])
    assert trend.slope == exactly(0.075)
    assert (trend.slope_se, trend.t, trend.p) == (None, None, None)
    assert "nearly all the weight" in trend.reason


@pytest.mark.parametrize(
    ("times", "scores", "weights"),
    [
        ([0, 1], [1, 1], [1]),
        ([0, 0, 1], [1, 2, 3], [1, 1, 1]),
        ([0, 2, 1], [1, 2, 3], [1, 1, 1]),
        ([0, 1, 2], [1, 2, 3], [1, -1, 1]),
        ([0, 1, 2], [1, 2, 3], [1, math.nan, 1]),
        ([0, 1, 2], [1, math.inf, 3], [1, 1, 1]),
    ],
)
def test_impossible_batches_are_refused(times, scores, weights):
    with pytest.raises(UsageError, match="expected"):
        fit_trend(times, scores, weights)


def test_statsmodels_is_named_when_it_is_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.regression.linear_model", None)
    with pytest.raises(MissingExtraError, match=r"\[evaluation\]"):
        fit_trend(TIMES, SCORES, DOCUMENTS)


batches = st.integers(3, 14).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1).map(lambda y: round(y, 6)), min_size=n, max_size=n),
        st.lists(st.integers(0, 200), min_size=n, max_size=n),
    )
)


@settings(max_examples=examples(1000), deadline=None)
@given(batches, st.sampled_from([1.0, 3600.0, 86_400.0]))
def test_agrees_with_statsmodels(batches, seconds):
    scores, weights = (np.array(column, dtype=float) for column in batches)
    trend = fit_trend(list(seconds * np.arange(len(scores))), list(scores), list(weights))
    counted = weights > 0
    assert trend.batches == counted.sum()
    if trend.t is None:
        assert trend.reason
        return
    design = sm.add_constant(np.arange(len(scores), dtype=float)[counted])
    model = sm.WLS(scores[counted], design, weights=weights[counted] / weights.sum())
    fitted = model.fit(cov_type="HC3", use_t=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        normality, normality_p = normal_ad(fitted.resid)
    assert trend.slope * seconds == pytest.approx(fitted.params[1], rel=1e-9, abs=1e-9)
    assert trend.intercept == pytest.approx(fitted.params[0], rel=1e-9, abs=1e-9)
    assert trend.slope_se * seconds == pytest.approx(fitted.bse[1], rel=1e-9, abs=1e-9)
    assert trend.t == pytest.approx(fitted.tvalues[1], rel=1e-9, abs=1e-9)
    assert trend.p == pytest.approx(fitted.pvalues[1], rel=1e-9, abs=1e-9)
    assert trend.anderson_darling == pytest.approx(normality, rel=1e-9, abs=1e-9)
    assert trend.anderson_darling_p == pytest.approx(normality_p, rel=1e-9, abs=1e-9)
    assert trend.durbin_watson == pytest.approx(dw_statistic(fitted.resid), rel=1e-9, abs=1e-9)


awkward = st.sampled_from([None, 0.0, 1.0, 0.5, 1e-300, 1e300, -1e10, 1e-9, math.nan])
heavy = st.sampled_from([0, 1, 5, 1e-300, 1e300, 1e-12, 10**15])


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(st.tuples(awkward | st.floats(0, 1), heavy | st.floats(0, 1)), max_size=9))
def test_degenerate_inputs_give_values_or_a_reason(points):
    trend = fit_trend(range(len(points)), [y for y, _ in points], [w for _, w in points])
    for name in Trend.__dataclass_fields__:
        value = getattr(trend, name)
        if isinstance(value, float):
            assert math.isfinite(value), name
        elif value is None and name != "reason":
            assert trend.reason, name
