"""Grades from scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.clicks.policies import (
    RELEASE_SHARES,
    GradeThresholds,
    assign_grades,
    fit_thresholds,
    grade_stability,
    target_grade_shares,
)
from builder.clicks.posterior import ClickEvidence, ScorePosterior
from builder.clicks.priors import Priors
from builder.parameters import QrelParameters


def posterior(*counts: tuple[int, int]) -> ScorePosterior:
    """Uniform priors over (examinations, clicks)."""
    examinations, clicks = (np.array(column) for column in zip(*counts, strict=True))
    return ScorePosterior(ClickEvidence(examinations, clicks, clicks), Priors(), by_relevance=False)


def test_fixed_cuts_are_minimum_scores() -> None:
    rows = posterior((8, 0), (8, 1), (8, 4), (2, 2), (0, 0))  # a = .1, .2, .5, .75, none
    params = QrelParameters(cuts=(0.2, 0.5), min_examinations=3)
    assert assign_grades(rows, GradeThresholds(0.2, 0.5), params).tolist() == [0, 1, 2, -1, -1]


def test_credible_grade_2_needs_a_sure_posterior() -> None:
    rows = posterior((3, 2), (98, 59))  # a = .6 both; P(a >= .5) = .688 and .979
    fixed, credible = (
        assign_grades(
            rows, GradeThresholds(0.2, 0.5), QrelParameters(policy=policy, cuts=(0.2, 0.5))
        )
        for policy in ("fixed", "credible")
    )
    assert fixed.tolist() == [2, 2]
    assert credible.tolist() == [1, 2]
    # Beta(2, 2) is at least .25 with probability 27/32
    cuts = GradeThresholds(0.25, 0.25)
    params = QrelParameters(policy="credible", credibility=27 / 32, min_examinations=2)
    assert assign_grades(posterior((2, 1)), cuts, params).tolist() == [2]


def test_stability_is_the_mass_between_the_cuts() -> None:
    rows = posterior((1, 0), (1, 1))  # Beta(1, 2) and Beta(2, 1)
    found = grade_stability(rows, np.array([0, 2], dtype=np.int8), GradeThresholds(0.2, 0.5))
    assert found.tolist() == pytest.approx([1 - 0.8**2, 1 - 0.5**2])
    middle = grade_stability(rows, np.array([1, 1], dtype=np.int8), GradeThresholds(0.2, 0.5))
    assert middle.tolist() == pytest.approx([0.8**2 - 0.5**2, 0.5**2 - 0.2**2])


def test_fitted_cuts_lie_between_scores() -> None:
    scores, pairs = np.array([0.1, 0.2, 0.4, 0.8]), np.array([70, 3, 21, 6])
    assert fit_thresholds(scores, pairs, (0.73, 0.21, 0.06)) == GradeThresholds(
        0.30000000000000004, 0.6000000000000001
    )


def test_fitted_cuts_without_scores_exceed_all_scores() -> None:
    assert fit_thresholds(
        np.zeros(0), np.zeros(0, dtype=np.int64), (0.5, 0.3, 0.2)
    ) == GradeThresholds(2.0, 2.0)


def test_fitted_cuts_may_lie_below_or_above_all_scores() -> None:
    scores, pairs = np.array([0.25, 0.5]), np.array([1, 3])
    assert fit_thresholds(scores, pairs, (0.0, 0.0, 1.0)) == GradeThresholds(0.25, 0.25)
    above = 0.5000000000000001
    assert fit_thresholds(scores, pairs, (1.0, 0.0, 0.0)) == GradeThresholds(above, above)
    # all pairs or three of four are as close to the target: the lower cut
    assert fit_thresholds(scores, pairs, (0.125, 0.0, 0.875)) == GradeThresholds(0.25, 0.25)


def test_shares_are_given_or_those_of_a_release() -> None:
    release = QrelParameters(shares="longeval-2024-train")
    assert target_grade_shares(release) == (0.55, 0.3, 0.15)
    assert target_grade_shares(QrelParameters(shares=(0.5, 0.25, 0.25))) == (0.5, 0.25, 0.25)


@pytest.mark.parametrize("release", RELEASE_SHARES)
def test_presets_reproduce_the_published_shares(release: str) -> None:
    rng = np.random.default_rng(11)
    rows = posterior(
        *(
            (int(n), int(rng.binomial(n, p)))
            for n, p in zip(rng.integers(5, 400, 4000), rng.beta(0.5, 4, 4000), strict=True)
        )
    )
    params = QrelParameters(policy="target_shares", shares=release)  # type: ignore[arg-type]
    cuts = fit_thresholds(rows.mean(), np.ones(4000, dtype=np.int64), target_grade_shares(params))
    shares = np.bincount(assign_grades(rows, cuts, params), minlength=3) / 4000
    assert shares == pytest.approx(RELEASE_SHARES[release], abs=0.005)


@given(
    st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.9]), st.integers(1, 50)), min_size=1),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_fitted_cuts_are_optimal(rows: list[tuple[float, int]], one: float, two: float) -> None:
    scores, pairs = (np.array(column) for column in zip(*rows, strict=True))
    low, high = sorted((one, two))
    cuts = fit_thresholds(scores, pairs, (low, high - low, 1 - high))
    assert cuts.relevant <= cuts.highly_relevant

    def miss(cut: float) -> float:
        return abs(float(pairs[scores >= cut].sum() / pairs.sum()) - (1 - low))

    assert miss(cuts.relevant) <= min(map(miss, (0.0, 0.15, 0.25, 0.4, 0.7, 1.0))) + 1e-12


@pytest.mark.parametrize("shares", [(73, 21, 6), (0.5, 0.5, 0.5), (-0.1, 0.6, 0.5)])
def test_shares_must_be_shares(shares: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="with a sum of 1"):
        QrelParameters(shares=shares)
