"""Comparison of two shares, from which checks decide."""

import pytest

from builder.drift.checks.outcome import Outcome, ShareComparison, create_share_outcome


@pytest.mark.parametrize(
    ("foreign", "found"), [(0, False), (9, False), (10, None), (13, None), (14, True), (40, True)]
)
def test_a_difference_that_may_be_chance_is_not_clear(foreign: int, found: bool | None) -> None:
    """0 of 200 against k of 200 has p = 2 C(200, k) / C(400, k): 2.0e-4 at 13, 9.6e-5 at 14."""
    shares = ShareComparison((0, 200), (foreign, 200), min_difference=0.05)
    outcome = create_share_outcome(shares, "says", "conclusion", {})
    assert outcome.is_construction is found
    assert shares.min_detectable_difference == 0.07
    if found is None:
        assert outcome.detectable == "a difference below 7.0 points may be due to chance"


def test_the_smallest_visible_difference_is_the_first_that_is_found() -> None:
    for rows, part in ((150, 0), (150, 40), (2_000, 1_990), (100_000, 0)):
        shares = ShareComparison((part, rows), (part, rows), min_difference=0.05)
        step = round(shares.min_detectable_difference * rows) * (1 if part <= rows / 2 else -1)
        assert ShareComparison((part, rows), (part + step, rows), min_difference=0.05).is_changed
        assert shares.min_detectable_difference >= shares.min_difference
    assert ShareComparison((0, 9), (9, 9), min_difference=0.05).min_detectable_difference > 0.5
    assert ShareComparison((0, 0), (0, 9), min_difference=0.05).min_detectable_difference == 1.0


def test_shares_and_the_side_with_the_larger_one() -> None:
    comparison = ShareComparison((0, 0), (1, 4), min_difference=0.05)
    assert (comparison.shares, comparison.side_with_larger_share) == ((0.0, 0.25), "to")
    comparison = ShareComparison((3, 4), (0, 0), min_difference=0.05)
    assert (comparison.shares, comparison.side_with_larger_share) == ((0.75, 0.0), "from")
    assert ShareComparison((1, 4), (1, 4), min_difference=0.05).side_with_larger_share == "from"


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ((0, 92), (0, 92), Outcome(False, "s", {"n": 1}, "a difference of 15.0 points")),
        (
            (0, 89),
            (0, 89),
            Outcome(None, "s", {"n": 1}, "only a difference of at least 15.5 points is detectable"),
        ),
        ((0, 92), (40, 92), Outcome(True, "s: c", {"n": 1})),
    ],
)
def test_fifteen_points_must_be_detectable(
    before: tuple[int, int], after: tuple[int, int], outcome: Outcome
) -> None:
    shares = ShareComparison(before, after, min_difference=0.05)
    assert create_share_outcome(shares, "s", "c", {"n": 1}) == outcome
