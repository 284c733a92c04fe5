"""Which queries should be in both snapshots, and which topics lost too many of them."""

from typing import Any

import duckdb
import pytest

from builder.drift.checks.expected_queries import (
    ExpectedQueryCounts,
    _is_outlier,
    count_frequent_half_outside_topics,
    count_queries_outside_topics,
    create_expected_queries_table,
    detectable_topic_deletions,
    find_changed_topics,
)
from builder.drift.checks.outcome import Outcome
from builder.drift.checks.selection import check_query_filter, check_topics
from tests.drift.checks.rows import asking
from tests.drift.worlds import Rows, query

Asked = dict[str, tuple[list[str], int]]
"""Topics and impressions of queries by text."""


def rows(asked: Asked) -> Rows:
    return [
        query(text, "", topics=topics, impressions=times) for text, (topics, times) in asked.items()
    ]


def expected(before: Asked, after: Asked, side: str = "from") -> dict[str, Any]:
    """Topics, and whether they are missing or faded, of the expected queries by text."""
    connection = asking(rows(before), rows(after))
    create_expected_queries_table(connection, side, "to" if side == "from" else "from")
    found = connection.execute(
        f"SELECT text, e.topics, e.impressions, missing, faded FROM expected_queries AS e "
        f"JOIN queries_{side} USING (query_id)"
    ).fetchall()
    return {text: tuple(values) for text, *values in found}


KEPT: Asked = {
    "a": (["a"], 100),
    "c1": (["c"], 1000),
    "c2": (["c"], 100),
    "d1": (["d"], 1000),
    "d2": (["d"], 100),
}
LATER = KEPT | {"c2": (["c"], 23), "d2": (["d"], 24), "rare": (["a"], 5)}


@pytest.mark.parametrize("side", ["from", "to"])
def test_queries_are_expected_by_the_trend_of_all_their_topics(side: str) -> None:
    """The other snapshot has queries with 5 impressions: 4 times as many must be predicted.

    `c2` is expected to have 93.0 impressions and has 23, `d2` to have 93.1 and has 24. Of `z`, no
    query is left: at the trend of all queries, 2147 / 2300, 100 impressions must be predicted.
    """
    gone: Asked = {
        "a 20": (["a"], 20),
        "a 19": (["a"], 19),
        "a and c": (["c", "a"], 90),
        "z 108": (["z"], 108),
        "z 107": (["z"], 107),
        "a and z": (["a", "z"], 107),
    }
    before, after = KEPT | gone, LATER
    found = expected(before, after) if side == "from" else expected(after, before, "to")
    assert found == {
        "a": (["a"], 100, False, False),
        "c1": (["c"], 1000, False, False),
        "c2": (["c"], 100, False, True),
        "d1": (["d"], 1000, False, False),
        "d2": (["d"], 100, False, False),
        "a 20": (["a"], 20, True, False),
        "a and c": (["a", "c"], 90, True, False),
        "z 108": (["z"], 108, True, False),
    }


def test_a_topic_without_trend_may_fall_as_steeply_as_any_other() -> None:
    """The steepest fall is to a twentieth: of 400 impressions, 20 would be left, 4 times 5."""
    kept: Asked = {"big": (["big"], 10000), "fall": (["fall"], 200), "up": (["up"], 10)}
    later: Asked = {"big": (["big"], 10000), "fall": (["fall"], 10), "up": (["up"], 50)}
    gone: Asked = {"z 400": (["z"], 400), "z 399": (["z"], 399)}
    found = expected(kept | gone, later | {"rare": (["big"], 5)})
    assert {text for text, values in found.items() if values[2]} == {"z 400"}


def test_a_topic_without_trend_where_no_topic_has_one() -> None:
    kept: Asked = {"bare": ([], 100)}
    gone: Asked = {"z 100": (["z"], 100), "z 99": (["z"], 99)}
    found = expected(kept | gone, kept | {"rare": ([], 5)})
    assert found == {"z 100": (["z"], 100, True, False)}
    assert expected(gone, {"other": (["z"], 5)}) == {}


def test_topics_whose_deletion_would_be_seen() -> None:
    """At the trend of all queries 100 impressions are needed, and three such queries."""
    asked: Asked = {f"big {n}": (["big"], 100) for n in range(58)}
    asked |= {f"three {n}": (["three"], 100) for n in range(3)}
    asked |= {f"two {n}": (["two"], 100) for n in range(2)}
    asked |= {f"weak {n}": (["weak"], 99) for n in range(3)}
    asked |= {"rare": (["big"], 5)}
    connection = asking(rows(asked), rows(asked))
    assert detectable_topic_deletions(connection, "from", "to") == {
        "big": True,
        "three": True,
        "two": False,
        "weak": False,
    }


def test_a_deletion_that_would_be_seen_in_one_direction_is_enough() -> None:
    """`k` is asked 120 times before and 30 times after, or the other way round."""
    often: Asked = {f"ski {n}": (["ski"], 100) for n in range(60)}
    often |= {"rare": (["ski"], 5)}
    before = often | {f"k{n}": (["k"], 120) for n in range(3)}
    after = often | {f"k{n}": (["k"], 30) for n in range(3)}
    for pair in ((before, after), (after, before)):
        assert check_topics(asking(*map(rows, pair))) == Outcome(
            False,
            "no topic lost or gained its frequent queries all at once",
            {},
            "the deletion of any topic from the list",
        )
    few: Asked = {"ski": (["ski"], 100), "judo": (["judo"], 100), "rare": (["ski"], 5)}
    assert check_topics(asking(rows(few), rows(few))) == Outcome(
        None,
        "no topic lost or gained its frequent queries all at once",
        {},
        "no topic has enough frequent queries to tell whether it was deleted",
    )


def test_a_topic_whose_expected_queries_are_gone_is_found() -> None:
    often: Asked = {f"ski {n}": (["ski"], 100) for n in range(60)}
    gone: Asked = {f"judo {n}": (["judo"], 120) for n in range(4)}
    later = often | {"rare": (["ski"], 5)}
    connection = asking(rows(often | gone), rows(later))
    found = find_changed_topics(connection, "from", "to")
    assert found == {"judo": ExpectedQueryCounts(4, 4, 0)}
    assert find_changed_topics(connection, "to", "from") == {}


def test_expected_queries_outside_of_topics_are_counted() -> None:
    """Of the more frequent half of three queries, one is counted, and of two with 30 the first."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE expected_queries AS "
        "FROM (VALUES ('q1', ['a'], 50, true, false), ('q2', ['a', 'b'], 40, false, true), "
        "('q3', ['b'], 30, true, false), ('q4', ['c'], 30, false, false), "
        "('q5', ['c'], 10, true, false)) AS t (query_id, topics, impressions, missing, faded)"
    )
    for excluded, counts, half in (
        ([], (5, 3, 1), (2, 1, 1)),
        (["a"], (3, 2, 0), (1, 1, 0)),
        (["c"], (3, 2, 1), (1, 1, 0)),
        (["a", "b"], (2, 1, 0), (1, 0, 0)),
        (["a", "b", "c"], (0, 0, 0), (0, 0, 0)),
    ):
        found = count_queries_outside_topics(connection, excluded)
        assert found == ExpectedQueryCounts(*counts)
        frequent = count_frequent_half_outside_topics(connection, excluded)
        assert frequent == ExpectedQueryCounts(*half)


def test_counts_of_expected_queries() -> None:
    counts = ExpectedQueryCounts(8, 4, 1)
    assert (counts.missing_share, counts.missing_rate) == (0.5, 0.5)
    assert counts.subtract(ExpectedQueryCounts(3, 2, 1)) == ExpectedQueryCounts(5, 2, 0)
    nothing = ExpectedQueryCounts(0, 0, 0)
    assert (nothing.missing_share, nothing.missing_rate) == (0.0, 0.5)
    assert nothing.has_unexplained_losses
    assert counts.has_unexplained_losses
    assert not ExpectedQueryCounts(8, 3, 1).has_unexplained_losses


@pytest.mark.parametrize(
    ("topic", "others", "is_outlier"),
    [
        ((3, 3, 0), (60, 0, 0), True),  # p = 1 / 62^3 = 4.2e-6
        ((2, 2, 0), (999, 0, 0), False),
        ((3, 3, 1), (60, 0, 0), False),  # one faded, too
        ((8, 4, 1), (60, 0, 0), True),
        ((9, 4, 0), (60, 0, 0), False),  # less than half
        ((100, 60, 0), (100, 30, 0), True),
        ((100, 59, 0), (100, 30, 0), False),  # less than .3 more
        ((3, 3, 0), (60, 10, 0), False),  # p = .0056
        ((3, 3, 0), (20, 0, 0), True),  # p = 9.4e-5
        ((3, 3, 0), (19, 0, 0), False),  # p = 1.1e-4
    ],
)
def test_topics_that_lost_more_expected_queries_than_others(
    topic: tuple[int, int, int], others: tuple[int, int, int], *, is_outlier: bool
) -> None:
    found = _is_outlier(ExpectedQueryCounts(*topic), ExpectedQueryCounts(*others))
    assert found is is_outlier


SEES = "a filter that removes 10.0 % of frequent queries"


def test_frequent_queries_of_one_snapshot_only() -> None:
    """All queries are asked ten times less often, so that the later ones are not frequent."""
    often: Asked = {f"q{n}": (["t"], 100) for n in range(30)}
    seldom: Asked = {f"q{n}": (["t"], 10) for n in range(30)}
    seldom |= {"rare": (["t"], 2)}
    counts = {"safe": 30, "taken": 0, "fallen": 0}
    for pair, direction in (((often, seldom), "removed"), ((seldom, often), "added")):
        assert check_query_filter(asking(*map(rows, pair))) == Outcome(
            False,
            f"0 of 30 frequent queries were {direction}",
            {direction: counts},
            SEES,
        )


@pytest.mark.parametrize(("faded", "found"), [(2, None), (3, False)])
def test_queries_that_fade_explain_those_that_are_missing(faded: int, found: bool | None) -> None:
    """Eight queries are missing; two or three of others are asked 5 times instead of 100."""
    kept: Asked = {f"q{n}": ([f"t{n % 20}"], 100) for n in range(60)}
    kept |= {"rare": (["t19"], 5)}
    before = kept | {f"old {n}": ([f"t{n}"], 110) for n in range(8)}
    before |= {f"fade {n}": ([f"t{n + 8}"], 100) for n in range(faded)}
    after = kept | {f"fade {n}": ([f"t{n + 8}"], 5) for n in range(faded)}
    outcome = check_query_filter(asking(rows(before), rows(after)))
    assert outcome.is_construction is found
    assert outcome.numbers["removed"] == {"safe": 68 + faded, "taken": 8, "fallen": faded}
    assert outcome.detectable == ("" if found is None else SEES)


@pytest.mark.parametrize(("removed", "found"), [(6, False), (7, None)])
def test_a_tenth_of_the_frequent_queries_must_be_missing(removed: int, found: bool | None) -> None:
    """Of 70 queries."""
    kept: Asked = {f"q{n}": ([f"t{n % 20}"], 100) for n in range(70 - removed)}
    kept |= {"rare": (["t19"], 5)}
    before = kept | {f"old {n}": ([f"t{n}"], 110) for n in range(removed)}
    outcome = check_query_filter(asking(rows(before), rows(kept)))
    assert outcome.is_construction is found
    assert outcome.numbers["removed"] == {"safe": 70, "taken": removed, "fallen": 0}


@pytest.mark.parametrize(("frequent", "found"), [(5, True), (4, None)])
def test_a_tenth_of_the_more_frequent_half_must_be_missing(
    frequent: int, found: bool | None
) -> None:
    """Of 100 queries 40 are missing; of the 50 that are asked most often, 5 or 4."""
    kept: Asked = {f"q{n}": ([f"t{n % 20}"], 100) for n in range(60)}
    kept |= {"rare": (["t19"], 5)}
    before = kept | {f"old {n}": ([f"t{n % 20}"], 110 if n < frequent else 90) for n in range(40)}
    outcome = check_query_filter(asking(rows(before), rows(kept)))
    assert outcome.is_construction is found
    assert outcome.numbers["removed"] == {"safe": 100, "taken": 40, "fallen": 0}
