"""Checks of listed and judged queries."""

import pytest

from builder.drift.checks import (
    lists,
)
from builder.drift.checks.outcome import Outcome
from tests.drift.checks.rows import asking
from tests.drift.worlds import Rows, qrel, query


def queries(*numbers: int) -> Rows:
    return [query(f"requête {n}", "t") for n in numbers]


def judged(*numbers: int) -> Rows:
    return [qrel(f"requête {n}", "a", 1) for n in numbers]


def test_listed_and_judged_queries_disagree() -> None:
    every = range(100)
    found = lists.check_query_overlaps(
        asking(queries(*every), queries(*range(80, 180)), (judged(*every), judged(*every)))
    )
    assert found == Outcome(
        True,
        "the overlap (Jaccard coefficient) is 0.111 for listed queries and 1.000 for judged "
        "queries: the query file was built differently; a change in users would affect both",
        {"listed_from": 100, "listed_to": 100, "listed_common": 20, "listed_jaccard": 20 / 180}
        | {"judged_from": 100, "judged_to": 100, "judged_common": 100, "judged_jaccard": 1.0},
    )
    other = asking(
        queries(*every), queries(*every), (judged(*every, *every), judged(*range(80, 180)))
    )
    assert lists.check_query_overlaps(other) == Outcome(
        True,
        "the overlap (Jaccard coefficient) is 1.000 for listed queries and 0.111 for judged "
        "queries: the set of judged queries was built differently; a change in users would affect "
        "both",
        {"listed_from": 100, "listed_to": 100, "listed_common": 100, "listed_jaccard": 1.0}
        | {"judged_from": 100, "judged_to": 100, "judged_common": 20, "judged_jaccard": 20 / 180},
    )
    same = asking(queries(*every), queries(*every), (judged(*every), judged(*every)))
    clear = lists.check_query_overlaps(same)
    assert (clear.is_construction, clear.detectable) == (False, "overlaps that differ by 0.1")
    few = asking(queries(1), queries(1), (judged(1), judged(1)))
    assert lists.check_query_overlaps(few) == Outcome(
        None, "a snapshot has fewer than 20 listed or judged queries"
    )


@pytest.mark.parametrize(("before", "found"), [(27, True), (28, False)])
def test_overlaps_must_differ_by_a_tenth(before: int, found: bool) -> None:
    """No listed query is common, and 5 of 50 judged ones, or 5 of 51."""
    judgements = (judged(*range(before)), judged(*range(before - 5, before + 23)))
    connection = asking(queries(*range(20)), queries(*range(20, 40)), judgements)
    assert lists.check_query_overlaps(connection).is_construction is found


@pytest.mark.parametrize(("listed", "missing"), [(range(100), False), (range(97), True)])
def test_judged_queries_are_listed(listed: range, missing: bool) -> None:
    connection = asking(queries(*listed), [], (judged(*range(100)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_judged_queries_are_listed(connection)
    count = 100 - len(listed)
    assert outcome == Outcome(
        missing,
        f"{count} of 100 judged queries are missing from the query file ({count}.0 %)",
        {"listed": len(listed), "judged": 100, "judged_only": count, "listed_only": 0},
        "2.0 % of judged queries missing from the query file",
    )
    connection.execute("CREATE OR REPLACE VIEW qrels AS FROM qrels_to")
    assert lists.check_judged_queries_are_listed(connection) == Outcome(None, "no query is judged")


def test_listed_queries_are_judged() -> None:
    connection = asking(queries(*range(100)), [], (judged(*range(70)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    assert lists.check_listed_queries_are_judged(connection) == Outcome(
        True,
        "30 of 100 listed queries have no judgement (30.0 %)",
        {"listed": 100, "judged": 70, "judged_only": 0, "listed_only": 30},
        "2.0 % of listed queries without a judgement",
    )
    connection.execute("CREATE OR REPLACE VIEW queries AS FROM queries_to")
    assert lists.check_listed_queries_are_judged(connection) == Outcome(None, "no query is listed")


@pytest.mark.parametrize(("count", "found"), [(19, None), (20, False)])
@pytest.mark.parametrize("kind", ["listed", "judged"])
def test_twenty_queries_are_enough_to_compare_overlaps(
    count: int, found: bool | None, kind: str
) -> None:
    few, every = range(count), range(20)
    listed, with_qrels = (few, every) if kind == "listed" else (every, few)
    connection = asking(
        queries(*listed), queries(*listed), (judged(*with_qrels), judged(*with_qrels))
    )
    outcome = lists.check_query_overlaps(connection)
    assert outcome.is_construction is found


@pytest.mark.parametrize(("unlisted", "found"), [(1, False), (2, True)])
def test_two_in_a_hundred_judged_queries_that_are_not_listed(unlisted: int, found: bool) -> None:
    connection = asking(queries(*range(100 - unlisted)), [], (judged(*range(100)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    assert lists.check_judged_queries_are_listed(connection).is_construction is found


@pytest.mark.parametrize(("unjudged", "found"), [(1, False), (2, None), (19, None), (20, True)])
def test_listed_queries_without_judgements(unjudged: int, found: bool | None) -> None:
    connection = asking(queries(*range(100)), [], (judged(*range(100 - unjudged)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_listed_queries_are_judged(connection)
    assert outcome.is_construction is found
    reason = ": either judgements are missing or these queries were never judged"
    assert outcome.evidence == (
        f"{unjudged} of 100 listed queries have no judgement ({unjudged}.0 %)"
        + (reason if found is None else "")
    )
