"""Lines through scores over time, and tests of their slopes, computed by hand."""

import math

import numpy as np
import pytest

from builder.statistics.regression import (
    FittedLine,
    SlopeTest,
    compare_slopes,
    fit_line,
    slope_test,
)


def _fit(times: list[float], scores: list[float], weights: list[float]) -> FittedLine:
    return fit_line(np.array(times), np.array(scores), np.array(weights, dtype=float))


def test_a_line_through_three_points() -> None:
    """Residuals -1/6, 1/3, -1/6; leverages 5/6, 1/3, 5/6; HC3 variance of the slope 2/4."""
    line = _fit([0, 1, 2], [1, 2, 2], [1, 1, 1])
    assert (line.level, line.slope, line.center) == pytest.approx((5 / 3, 0.5, 1))
    assert line.residuals == pytest.approx([-1 / 6, 1 / 3, -1 / 6])
    assert line.slope_se == pytest.approx(0.7071067812)
    assert not line.is_exact
    assert line.predict(4) == pytest.approx(5 / 3 + 1.5)


def test_only_the_ratios_of_the_weights_and_the_unit_of_time_matter() -> None:
    """Weights 1, 2, 1: residuals -1/4, 1/4, -1/4; leverages 3/4, 1/2, 3/4."""
    for weights in ([1, 2, 1], [10, 20, 10]):
        line = _fit([10, 12, 14], [1, 2, 2], weights)
        assert (line.level, line.slope, line.center) == pytest.approx((1.75, 0.25, 12))
        assert line.residuals == pytest.approx([-0.25, 0.25, -0.25])
        assert line.slope_se == pytest.approx(0.3535533906)
        assert line.predict(14) == pytest.approx(2.25)


def test_a_slope_is_tested_with_two_degrees_of_freedom_fewer_than_points() -> None:
    test = slope_test(_fit([0, 1, 2], [1, 2, 2], [1, 1, 1]))
    assert (test.statistic, test.p) == pytest.approx((0.7071067812, 0.6081734480))
    assert test.reason is None
    residuals = np.array([0.1, -0.1, 0.1, -0.1])
    four = slope_test(FittedLine(0.5, -0.4, 1.5, residuals, 0.2, is_exact=False))
    assert (four.statistic, four.p) == pytest.approx((-2, 0.1835034191))


@pytest.mark.parametrize(
    ("scores", "is_exact"),
    [
        ([0.1, 0.2, 0.3], True),
        ([0.0, 0.0, 0.0], True),
        ([0.5, 0.5, 0.5], True),
        ([-0.3, -0.2, -0.1], True),
        ([0.1, 0.2, 0.3 + 1e-10], False),
        ([1e9, 2e9, 3e9 + 1e-5], True),
    ],
)
def test_points_on_a_line_have_no_test(scores: list[float], is_exact: bool) -> None:
    line = _fit([0, 1, 2], scores, [1, 1, 1])
    assert line.is_exact is is_exact
    expected = "all scores lie on the line, so there is no residual variance" if is_exact else None
    assert slope_test(line).reason == expected


def test_a_batch_with_nearly_all_the_weight_leaves_no_standard_error() -> None:
    line = _fit([0, 1, 2], [1, 2, 2], [1, 1e-10, 1e-10])
    assert math.isnan(line.slope_se)
    assert slope_test(line) == SlopeTest(
        None, None, "one batch has nearly all the weight, so the standard error is undefined"
    )
    assert math.isfinite(_fit([0, 1, 2], [1, 2, 2], [1, 1e-6, 1e-6]).slope_se)


@pytest.mark.parametrize("slope_se", [0.0, math.inf])
def test_a_standard_error_that_is_zero_or_infinite_leaves_no_test(slope_se: float) -> None:
    line = FittedLine(0.5, 0.1, 1.0, np.array([0.1, -0.2, 0.1]), slope_se, is_exact=False)
    reason = "the standard error of the slope is zero"
    assert slope_test(line) == SlopeTest(None, None, reason)


def test_two_slopes_are_compared_by_the_normal_distribution() -> None:
    test = compare_slopes(0.1, 0.3, 0.5, 0.4)
    assert (test.statistic, test.p) == pytest.approx((-0.8, 0.4237107972))
    assert test.reason is None
    assert compare_slopes(0.1, 0.0, 0.1, 0.2).p == pytest.approx(1)
    undefined = SlopeTest(None, None, "both standard errors are zero")
    assert compare_slopes(0.1, 0.0, 0.2, 0.0) == undefined
