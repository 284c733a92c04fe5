"""Checks of the thresholds that select queries."""

import pytest

from builder.drift.checks import (
    thresholds,
)
from builder.drift.checks.outcome import Outcome
from builder.drift.checks.thresholds import PoissonCountModel
from tests.drift.checks.rows import asking
from tests.drift.worlds import qrel, query


def test_rows_that_should_lie_below_a_raised_threshold() -> None:
    """Under Poisson(5), P(5 <= X < 20) is .5595, P(X in {5, 6}) .3217 and P(X = 5) .1755."""
    floor = PoissonCountModel([(5, 100, 0), (40, 100, 0)], (1, 1))
    assert floor.expected_rows_below(20) == pytest.approx(55.97, abs=0.01)
    half_gone = PoissonCountModel([(5, 100, 0), (40, 100, 50)], (1, 1))
    assert half_gone.expected_rows_below(20) == pytest.approx(55.97 / 2, abs=0.01)
    assert floor.find_smallest_detectable_minimum() == 6
    assert (
        PoissonCountModel([(5, 60, 0), (40, 100, 0)], (1, 1)).find_smallest_detectable_minimum()
        == 7
    )
    assert (
        PoissonCountModel([(5, 10, 0), (40, 9, 0)], (1, 1)).find_smallest_detectable_minimum()
        is None
    )


def test_rows_of_one_query_count_as_one() -> None:
    """100 judgements with 5 examinations belong to 10 queries: a tenth of 55.97 is expected."""
    model = PoissonCountModel([(5, 100, 0), (40, 100, 0)], (1, 1), [(5, 10), (40, 50)])
    assert model.expected_rows_below(20) == pytest.approx(5.597, abs=0.001)
    assert model.find_smallest_detectable_minimum() is None


@pytest.mark.parametrize(("missing", "dropped"), [(18, False), (19, True)])
def test_three_in_ten_of_the_rows_below_a_raised_minimum_are_missing(
    missing: int, dropped: bool
) -> None:
    """Under Poisson(5), 61.6 of 100 rows lie below 6; rows at 6 are not below it."""
    model = PoissonCountModel([(5, 100, missing), (6, 100, 90)], (1, 1))
    assert model.are_rows_dropped(6) is dropped


@pytest.mark.parametrize(("rows", "dropped"), [(1, True), (2, False)])
def test_a_raised_minimum_that_drops_less_than_one_row(rows: int, dropped: bool) -> None:
    assert PoissonCountModel([(5, rows, 0)], (1, 1)).are_rows_dropped(6) is dropped


def test_rows_that_the_growth_of_users_keeps_above_a_minimum() -> None:
    """Five users become ten: P(X < 6) is .0671 under Poisson(10), P(5 <= X < 6) is .0378."""
    model = PoissonCountModel([(5, 100, 2)], (10, 20))
    assert model.expected_rows_below(6) == pytest.approx(3.78, abs=0.01)
    assert model.are_rows_dropped(6) is False
    assert PoissonCountModel([(5, 100, 3)], (10, 20)).are_rows_dropped(6) is True


@pytest.mark.parametrize(
    ("next_to", "expected"),
    [
        ([(20, 200, 0)], 75.00),
        ([(34, 200, 0)], 28.35),
        ([(35, 200, 0)], 56.42),
        ([(20, 50, 0)], 79.46),
    ],
)
def test_rare_low_counts_are_expected_to_be_rare_in_the_other_snapshot_too(
    next_to: list[tuple[int, int, int]], expected: float
) -> None:
    """The range from 5 to 19 is compared with the next of equal width, from 20 to 34.

    Of 200 rows, 94.1 are expected in 5 to 19 under Poisson(20), .73 under Poisson(34) and .44
    under Poisson(35); of 100 rows under Poisson(5), 55.95.
    """
    model = PoissonCountModel([(5, 100, 0), *next_to], (1, 1))
    assert model.expected_rows_below(20) == pytest.approx(expected, abs=0.02)


def test_only_rows_below_a_higher_minimum_are_expected_to_be_missing() -> None:
    model = PoissonCountModel([(5, 100, 0)], (1, 1))
    assert model.expected_missing_rows(5) == 0
    assert model.expected_missing_rows(4) == 0
    assert model.expected_missing_rows(6) == pytest.approx(17.55, abs=0.01)


@pytest.mark.parametrize(("queries", "expected"), [(5, None), (60, True)])
def test_judgements_of_a_few_queries_may_disappear_together(
    queries: int, expected: bool | None
) -> None:
    """60 judgements with 5 to 9 examinations, of few or of many queries, are gone; 12 is left."""
    few = [qrel(f"q {n % queries}", f"a {n}", 1, examinations=5 + n % 5) for n in range(60)]
    kept = [qrel(f"x {n}", "b", 1, examinations=(12, 40, 80)[n % 3]) for n in range(300)]
    both = asking([], [], ([*few, *kept], kept))
    assert thresholds.check_minimum_counts(both).is_construction is expected


def test_rows_that_could_not_have_stayed_do_not_count() -> None:
    """Traffic falls to a third: nearly all missing rows are expected below the threshold."""
    before = [query(f"requête {n}", "t", impressions=6, users=6) for n in range(60)]
    before += [query(f"autre {n}", "t", impressions=90, users=90) for n in range(50)]
    after = [
        row | {"impressions": 20 + n % 20, "users": 20 + n % 20}
        for n, row in enumerate(before[60:])
    ]
    outcome = thresholds.check_minimum_counts(asking(before, after))
    assert outcome.is_construction is None
    assert outcome.evidence == "the counts do not show whether a threshold changed"
    assert outcome.numbers == {
        "impressions of a query": {"least_from": 6, "least_to": 20},
        "users of a query": {"least_from": 6, "least_to": 20},
    }
    assert (
        "impressions of a query (a minimum of 24 instead of 6 is detectable" in outcome.detectable
    )


@pytest.mark.parametrize(("low", "expected"), [(20, True), (18, None), (6, None), (5, False)])
def test_a_least_value_that_may_have_risen_by_chance(low: int, expected: bool | None) -> None:
    """Queries with 5 to 9 impressions are gone, and of the others none has fewer than 12.

    By the model 13.83, 11.98, 3.14 and 2.57 were expected below 12; chance leaves none of 13.82
    once in 10^6 and none of 3.00 once in 20.
    """
    few = [query(f"q {n}", "t", impressions=5 + n % 5, users=0) for n in range(low)]
    many = [query(f"x {n}", "t", impressions=40 + 40 * (n % 2), users=0) for n in range(400)]
    most = [query(f"y {n}", "t", impressions=12, users=0) for n in range(60)]
    outcome = thresholds.check_minimum_counts(asking([*few, *most, *many], [*most, *many]))
    assert outcome.is_construction is expected
    doubt = (
        "impressions of a query (the change from 5 to 12 may be due to chance; a minimum of 20 "
        "instead of 5 is detectable with about "
    )
    assert (doubt in outcome.detectable) is (expected is None)


def test_low_counts_that_rise_are_no_raised_threshold() -> None:
    """Bots send each query 12 times: none has fewer than 17 impressions, but all are still there.

    Where the same number of queries is gone, the minimum was raised.
    """
    rare = [query(f"q {n}", "t", impressions=5 + n % 5, users=0) for n in range(60)]
    frequent = [query(f"x {n}", "t", impressions=400, users=0) for n in range(100)]
    bots = [row | {"impressions": row["impressions"] + 12} for row in (*rare, *frequent)]
    outcome = thresholds.check_minimum_counts(asking([*rare, *frequent], bots))
    assert outcome.is_construction is None
    assert outcome.detectable.startswith(
        "impressions of a query (the change from 5 to 17 may only mean that rare queries "
        "became more frequent)"
    )
    assert thresholds.check_minimum_counts(asking(bots, [*rare, *frequent])).is_construction is None
    dropped = [row for row in bots if row["impressions"] > 300]
    new = [query(f"n {n}", "t", impressions=17 + n % 5, users=0) for n in range(60)]
    outcome = thresholds.check_minimum_counts(asking([*rare, *frequent], [*dropped, *new]))
    assert outcome.is_construction is True


def test_a_least_value_that_growth_lifts() -> None:
    before = [query(f"requête {n}", "t", impressions=5 + n % 100) for n in range(300)]
    doubled = [row | {"impressions": 2 * row["impressions"]} for row in before]
    assert thresholds.check_minimum_counts(asking(before, doubled)).is_construction is not True
    cut = [row for row in before if row["impressions"] >= 30]
    outcome = thresholds.check_minimum_counts(asking(before, cut))
    assert outcome == Outcome(
        True,
        "the minimum number of impressions of a query changed from 5 to 30: a threshold changed",
        {
            "impressions of a query": {"least_from": 5, "least_to": 30},
            "users of a query": {"least_from": 8, "least_to": 8},
        },
    )
    outcome = thresholds.check_minimum_counts(asking(cut, before))
    assert outcome.evidence == (
        "the minimum number of impressions of a query changed from 30 to 5: a threshold changed"
    )
    for pair in (([], []), (before, []), ([], before)):
        assert thresholds.check_minimum_counts(asking(*pair)) == Outcome(
            None, "a snapshot has neither queries nor judgements with counts"
        )


def test_minimums_that_are_the_same() -> None:
    """Of each number of impressions, users and examinations from 5 to 24 there are 20 rows.

    Rows with a count of 0 and rows of one snapshot do not count.
    """
    asked = [query(f"q {n}", "t", impressions=5 + n % 20, users=5 + n % 20) for n in range(400)]
    asked.append(query("never", "t", impressions=0, users=0))
    judged = [qrel(f"q {n}", "a", 1, examinations=5 + n % 20) for n in range(400)]
    judged.append(qrel("q 0", "b", 1, examinations=0))
    outcome = thresholds.check_minimum_counts(asking(asked, asked, (judged, judged)))
    least = {"least_from": 5, "least_to": 5}
    assert outcome == Outcome(
        False,
        "no minimum count changed by more than chance allows",
        {
            "impressions of a query": least,
            "users of a query": least,
            "examinations of a judgement": least,
        },
        "a minimum of 6 impressions of a query instead of 5; a minimum of 6 users of a query "
        "instead of 5; a minimum of 6 examinations of a judgement instead of 5",
    )


def test_several_minimums_that_rise() -> None:
    low = [query(f"q {n}", "t", impressions=5 + n % 5, users=5 + n % 5) for n in range(90)]
    high = [query(f"x {n}", "t", impressions=20 + n % 20, users=20 + n % 20) for n in range(100)]
    outcome = thresholds.check_minimum_counts(asking([*low, *high], high))
    assert outcome.evidence == (
        "the minimum number of impressions of a query changed from 5 to 20; the minimum number of "
        "users of a query changed from 5 to 20: a threshold changed"
    )


def test_counts_without_impressions_tell_no_minimum() -> None:
    """A release without impressions: their number cannot say how many more are needed."""
    judged = [qrel("q", f"a {n}", 1, examinations=10) for n in range(5)]
    outcome = thresholds.check_minimum_counts(asking([], [], (judged, judged)))
    assert outcome == Outcome(
        None,
        "the counts do not show whether a threshold changed",
        {"examinations of a judgement": {"least_from": 10, "least_to": 10}},
        "examinations of a judgement (a minimum of 40 instead of 10 is not detectable)",
    )


def test_impressions_that_are_needed_to_see_a_raised_minimum() -> None:
    """Of 10 queries with 5 impressions, 5.6 are expected from 5 to 19, and 13.8 are needed.

    So many are expected among 1,050 * 13.8155 / 5.5949 = 2,592.7 impressions.
    """
    asked = [query(f"q {n}", "t", impressions=5, users=0) for n in range(10)]
    asked += [query(f"x {n}", "t", impressions=100, users=0) for n in range(10)]
    outcome = thresholds.check_minimum_counts(asking(asked, asked))
    assert (outcome.is_construction, outcome.detectable) == (
        None,
        (
            "impressions of a query (a minimum of 20 instead of 5 is detectable with about 2,600 "
            "impressions)"
        ),
    )


def test_rows_are_counted_by_value_and_by_whether_the_other_snapshot_has_them() -> None:
    before = [query(f"q {n}", "t", impressions=times) for n, times in enumerate((7, 5, 5, 0, 7))]
    after = [query(f"q {n}", "t", impressions=times) for n, times in ((1, 9), (2, 3), (7, 3))]
    connection = asking(before, after)
    counts = thresholds.count_rows_by_value(connection, "queries", "impressions")
    assert counts == ([(5, 2, 0), (7, 2, 2)], [(3, 2, 1), (9, 1, 0)])
    assert thresholds._sum_over_shared_rows(connection, "queries", "impressions") == (10, 12)
    nothing = asking(before, [row | {"impressions": 0} for row in before])
    assert thresholds._sum_over_shared_rows(nothing, "queries", "impressions") == (1, 1)
    judged = [qrel("q 1", "a", 1, examinations=4), qrel("q 1", "b", 1, examinations=6)]
    judged += [qrel("q 2", "a", 1, examinations=6), qrel("q 2", "c", 1, examinations=0)]
    other = [qrel("q 1", "b", 1, examinations=8), qrel("q 2", "a", 0, examinations=1)]
    connection = asking([], [], (judged, other))
    counts = thresholds.count_rows_by_value(connection, "qrels", "examinations")
    assert counts == ([(4, 1, 1), (6, 2, 0)], [(1, 1, 0), (8, 1, 0)])
    assert thresholds._sum_over_shared_rows(connection, "qrels", "examinations") == (12, 9)
    smallest = thresholds._count_queries_by_smallest_value(connection, "qrels", "examinations")
    assert tuple(map(sorted, smallest)) == ([(4, 1), (6, 1)], [(1, 1), (8, 1)])
