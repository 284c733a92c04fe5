"""Checks of listed and judged queries."""

import pytest

from builder.drift.checks import (
    lists,
)
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
    assert found.is_construction is True
    assert found.numbers["listed_jaccard"] == 20 / 180
    assert found.numbers["judged_jaccard"] == 1.0
    assert "query file was built differently" in found.evidence
    same = asking(queries(*every), queries(*every), (judged(*every), judged(*every)))
    assert lists.check_query_overlaps(same).is_construction is False
    few = asking(queries(1), queries(1), (judged(1), judged(1)))
    assert lists.check_query_overlaps(few).is_construction is None


@pytest.mark.parametrize(("listed", "missing"), [(range(100), False), (range(97), True)])
def test_judged_queries_are_listed(listed: range, missing: bool) -> None:
    connection = asking(queries(*listed), [], (judged(*range(100)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_judged_queries_are_listed(connection)
    assert outcome.is_construction is missing
    assert (
        f"{100 - len(listed)} of 100 judged queries are missing from the query file"
        in outcome.evidence
    )


def test_listed_queries_are_judged() -> None:
    connection = asking(queries(*range(100)), [], (judged(*range(70)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_listed_queries_are_judged(connection)
    assert (outcome.is_construction, outcome.evidence) == (
        True,
        "30 of 100 listed queries have no judgement (30.0 %)",
    )


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
    assert lists.check_listed_queries_are_judged(connection).is_construction is found
