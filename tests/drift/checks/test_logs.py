"""Logs that are used twice, and logs whose queries are spelled differently."""

from typing import Any

import pytest

from builder.drift.checks.logs import (
    check_logs_differ,
    check_query_spelling,
    check_user_identification,
)
from builder.drift.checks.outcome import Outcome
from schemas import Qrels, Queries
from tests.drift.worlds import Rows, compare, frame, qrel, query


def asking(before: Rows, after: Rows) -> Any:
    return compare(
        (frame(before, Queries), frame([], Qrels)), (frame(after, Queries), frame([], Qrels))
    )


def judging(before: Rows, after: Rows) -> Any:
    return compare(
        (frame([], Queries), frame(before, Qrels)), (frame([], Queries), frame(after, Qrels))
    )


def judged(count: int = 60, **values: Any) -> Rows:
    return [qrel(f"q {n % 7}", f"p{n}", n % 3, **{"clicks": n % 5} | values) for n in range(count)]


def test_a_log_that_is_used_twice() -> None:
    """The later crawl lacks ten pages, which the log of both months shows."""
    assert check_logs_differ(judging(judged(70), judged())) == Outcome(
        True,
        "60 of 60 common pairs have the same numbers of impressions and clicks: the same log was "
        "used for both snapshots",
        {"pairs": 60, "equal": 60},
    )


def test_logs_of_two_months() -> None:
    other = [*judged(58), qrel("q 3", "p59", 1, clicks=9), qrel("q 2", "p58", 1, impressions=9)]
    assert check_logs_differ(judging(judged(), other)) == Outcome(
        False,
        "58 of 60 common pairs have the same numbers of impressions and clicks",
        {"pairs": 60, "equal": 58, "queries": 0, "chi_square": 0.0},
        "the use of the same log, or a part of it, for both snapshots",
    )


def test_pairs_without_counts_and_manual_ones_are_not_compared() -> None:
    manual = [row | {"source": "manual"} for row in judged(55)[50:]]
    zeros = [row | {"impressions": 0} for row in judged(60)[55:]]
    for before, after in (
        ([*judged(50), *manual, *zeros], judged()),
        ([*judged(50), *zeros], [*judged(50), *manual, *zeros]),
    ):
        outcome = check_logs_differ(judging(before, after))
        assert outcome.numbers == {"pairs": 50, "equal": 50}
    few = Outcome(None, "fewer than 50 pairs have counts in both snapshots")
    assert check_logs_differ(judging(judged(49), judged())) == few
    manual = [row | {"source": "manual"} for row in judged()]
    assert check_logs_differ(judging(judged(), manual)) == few


@pytest.mark.parametrize(("count", "found"), [(19, False), (20, None)])
def test_twenty_queries_that_grow_alike_are_a_part_of_a_log(count: int, found: bool | None) -> None:
    """All are shown twice as often; queries that one log was never asked do not count."""
    before = [query(f"q {n}", "t", impressions=50 + n) for n in range(count)]
    after = [row | {"impressions": 2 * row["impressions"]} for row in before]
    never = [query(f"never {n}", "t", impressions=0) for n in range(9)]
    often = [row | {"impressions": 40} for row in never]
    fewer = [row | {"impressions": 9 - n % 2} for n, row in enumerate(judged())]
    connection = compare(
        (frame([*before, *never], Queries), frame(judged(), Qrels)),
        (frame([*after, *often], Queries), frame(fewer, Qrels)),
    )
    outcome = check_logs_differ(connection)
    assert outcome.is_construction is found
    assert outcome.numbers == {"pairs": 60, "equal": 0, "queries": count, "chi_square": 0.0}


@pytest.mark.parametrize(("difference", "found"), [(4, None), (14, False)])
def test_a_log_that_contains_a_part_of_the_other(difference: int, found: bool | None) -> None:
    """Poisson counts of 100 differ by about 14; in a part of the log, they differ less."""
    before = [query(f"q {n}", "t", impressions=100) for n in range(40)]
    after = [row | {"impressions": 100 + difference * (-1) ** n} for n, row in enumerate(before)]
    fewer = [row | {"impressions": row["impressions"] - 1} for row in judged()]
    connection = compare(
        (frame(before, Queries), frame(judged(), Qrels)),
        (frame(after, Queries), frame(fewer, Qrels)),
    )
    outcome = check_logs_differ(connection)
    assert outcome.is_construction is found
    assert outcome.numbers["chi_square"] == pytest.approx(40 * difference**2 / 200)
    assert outcome.evidence == (
        "0 of 60 common pairs have the same numbers of impressions and clicks"
        + (
            ", but the impressions of 40 common queries differ less than in independent "
            "logs: either one log contains a part of the other or users vary unusually little"
            if found is None
            else ""
        )
    )


@pytest.mark.parametrize(("respelled", "found"), [(1, False), (2, None)])
def test_a_log_that_lost_its_accents(respelled: int, found: bool | None) -> None:
    before = [query(f"été {n}", "t") for n in range(20)]
    after = [row | {"text": f"ete {n}"} if n < respelled else row for n, row in enumerate(before)]
    outcome = check_query_spelling(asking(before, after))
    assert outcome.is_construction is found
    says = f"{respelled} of 20 queries in both snapshots have different texts"
    if found is None:
        example = min(range(respelled), key=lambda n: before[n]["query_id"])
        says += (
            f", such as 'ete {example}' instead of 'été {example}': either the logs normalize "
            "queries differently or users spell them differently"
        )
    assert outcome.evidence == says
    sees = "another spelling of 10.0 % of the common queries"
    assert outcome.detectable == (sees if found is False else "")
    counts = {"common": 20, "respelled": respelled}
    assert outcome.numbers.items() >= counts.items()
    assert check_query_spelling(asking(before[:19], after)) == Outcome(
        None, "fewer than 20 queries are in both snapshots"
    )


@pytest.mark.parametrize(
    ("users", "found"),
    [
        ([8] * 20, False),  # as before
        ([10] * 20, None),  # as many as impressions
        ([10] * 19 + [9], False),
        ([5] * 20, False),
        ([4] * 20, None),  # half as many per impression
    ],
)
def test_users_that_are_sessions_or_addresses(users: list[int], found: bool | None) -> None:
    before = [query(f"q {n}", "t", users=8 if n else 9) for n in range(20)]
    after = [query(f"q {n}", "t", users=count) for n, count in enumerate(users)]
    for pair in ((before, after), (after, before)):
        outcome = check_user_identification(asking(*pair))
        assert outcome.is_construction is found
        assert ("either users are identified differently" in outcome.evidence) == (found is None)


def test_how_users_are_identified_is_unknown() -> None:
    few = Outcome(None, "fewer than 20 queries have user counts in both snapshots")
    queries = [query(f"q {n}", "t") for n in range(20)]
    assert check_user_identification(asking(queries, queries[1:])) == few
    assert (
        check_user_identification(asking(queries, [row | {"users": 0} for row in queries])) == few
    )
    assert check_user_identification(asking(queries, queries)).evidence == (
        "common queries have 0.80 users per impression before and 0.80 after, and 0.0 % of "
        "them before and 0.0 % after have as many users as impressions"
    )


@pytest.mark.parametrize(
    ("distinct", "found"), [((99, 90), None), ((98, 90), False), ((99, 91), False)]
)
def test_a_user_for_every_impression(distinct: tuple[int, int], found: bool | None) -> None:
    """99 of 100 queries have as many users as impressions, in the other snapshot 90."""
    sides = [
        [query(f"q {n}", "t", users=10 if n < count else 9) for n in range(100)]
        for count in distinct
    ]
    for pair in (sides, sides[::-1]):
        assert check_user_identification(asking(pair[0], pair[1])).is_construction is found


def test_users_per_impression_are_those_of_all_common_queries() -> None:
    """One query is asked 1000 times by 10 users, and 20 are asked 10 times by 10 or 8."""
    before = [query("often", "t", impressions=1000, users=10)]
    before += [query(f"q {n}", "t", users=10) for n in range(20)]
    after = [query("often", "t", impressions=1000, users=10)]
    after += [query(f"q {n}", "t", users=8) for n in range(20)]
    never = query("never", "t", users=0)
    outcome = check_user_identification(asking([*before, never], [*after, never | {"users": 9}]))
    assert outcome == Outcome(
        False,
        "common queries have 0.17 users per impression before and 0.14 after, and 95.2 % of them "
        "before and 0.0 % after have as many users as impressions",
        {"common": 21, "distinct_from": 20, "distinct_to": 0}
        | {"users_from": 210, "impressions_from": 1200, "users_to": 170, "impressions_to": 1200},
        "a log with a new user id for every impression, or with one user id for several users, "
        "such as those who share an IP address",
    )
