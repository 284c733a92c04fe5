"""Counting against a naive implementation that reads one impression at a time."""

from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builder.clicks.statistics import (
    BYTES_PER_RESULT,
    ImpressionCounts,
    _number_of_query_ranges,
    create_pair_counts,
)
from builder.parameters import ClickParameters
from tests.thorough import examples

Log = list[tuple[int | None, int, list[int], list[int]]]
COLUMNS = ("impressions", "examinations", "clicks", "last_clicks")


def reference(log: Log, *, skip: bool = False, by_time: bool = False) -> dict[Any, list[int]]:
    """Algorithm 1 of Chapelle & Zhang (2009), one impression at a time."""
    counts: dict[tuple[int, int], list[int]] = {}
    for _, query, results, clicks in log:
        if clicks or not skip:
            deepest = max(clicks) if clicks else len(results)
            last = (clicks[-1] if by_time else deepest) if clicks else 0
            for rank, doc in enumerate(results, start=1):
                pair = counts.setdefault((query, doc), [0, 0, 0, 0])
                seen = (True, rank <= deepest, rank in clicks, rank == last)
                counts[query, doc] = [a + b for a, b in zip(pair, seen, strict=True)]
    return counts


def pair_rows(
    log: Log, params: ClickParameters, memory: int = 2**30
) -> tuple[list[Any], ImpressionCounts]:
    """Query, document and counts of every pair with an impression, and what was used."""
    rows = [(n, user, q, results, clicks) for n, (user, q, results, clicks) in enumerate(log)]
    u64, ranks = pl.UInt64, pl.List(pl.UInt16)
    schema = {
        "impression": u64,
        "user": u64,
        "query": u64,
        "results": pl.List(u64),
        "clicks": ranks,
    }
    with duckdb.connect() as connection:
        connection.register("used_impressions", pl.DataFrame(rows, schema, orient="row").to_arrow())
        used = create_pair_counts(connection, params, memory)
        names = ", ".join((*COLUMNS, "other_examinations"))
        found = connection.execute(
            f"SELECT query, doc, {names} FROM pair_counts WHERE impressions > 0"
        ).fetchall()
    return found, used


def counted(log: Log, params: ClickParameters) -> tuple[dict[Any, list[int]], ImpressionCounts]:
    """The counts of every pair with an impression, and what was used."""
    found, used = pair_rows(log, params)
    return {(query, doc): list(counts) for query, doc, *counts, _ in found}, used


def other_examinations(log: Log, params: ClickParameters) -> dict[Any, int]:
    """Examinations of every pair under the other rule for pages without a click."""
    return {(query, doc): other for query, doc, *_, other in pair_rows(log, params)[0]}


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """Few queries and documents, so that pages repeat, documents repeat, and clicks reorder."""
    log: Log = []
    for _ in range(draw(st.integers(0, 25))):
        length = draw(st.one_of(st.integers(1, 6), st.sampled_from([10, 37, 100])))
        results = draw(st.lists(st.integers(0, 12), min_size=length, max_size=length))
        clicks = draw(st.lists(st.integers(1, length), max_size=4))
        user = draw(st.one_of(st.none(), st.integers(0, 3)))
        log.append((user, draw(st.integers(0, 2)), results, clicks))
    copies = draw(st.lists(st.sampled_from(log), max_size=30)) if log else []
    return log + copies


def reference_by_user(log: Log, *, skip: bool = False, by_time: bool = False) -> dict[Any, Any]:
    """One vote per user, query and document: each count of a vote is 0 or 1."""
    votes: dict[Any, list[int]] = {}
    for number, impression in enumerate(log):
        user, query = impression[0], impression[1]
        voter = ("anonymous", number) if user is None else user
        for (_, doc), counts in reference([impression], skip=skip, by_time=by_time).items():
            vote = votes.setdefault((voter, query, doc), [0, 0, 0, 0])
            votes[voter, query, doc] = [
                max(a, min(b, 1)) for a, b in zip(vote, counts, strict=True)
            ]
    total: dict[Any, list[int]] = {}
    for (_, query, doc), vote in votes.items():
        pair = total.setdefault((query, doc), [0, 0, 0, 0])
        total[query, doc] = [a + b for a, b in zip(pair, vote, strict=True)]
    return total


def joined(log: Log) -> Log:
    """Consecutive pages of one user and query whose results differ, as one long page."""
    pages: Log = []
    by_user: dict[Any, list[tuple[int, list[int], list[int]]]] = {}
    for number, (user, query, results, clicks) in enumerate(log):
        key = ("anonymous", number) if user is None else user
        by_user.setdefault(key, []).append((query, results, clicks))
    for key, views in by_user.items():
        user = None if isinstance(key, tuple) else key
        visit: tuple[int, list[int], list[int]] | None = None
        before: list[int] = []
        for query, results, clicks in views:
            if visit and visit[0] == query and not set(before) & set(results):
                shifted = [len(visit[1]) + rank for rank in clicks]
                visit = (query, visit[1] + results, visit[2] + shifted)
            else:
                pages += [(user, *visit)] if visit else []
                visit = (query, results, clicks)
            before = results
        assert visit is not None, key
        pages.append((user, *visit))
    return pages


@settings(max_examples=examples(150), deadline=None)
@given(
    logs(),
    st.sampled_from(["all_examined", "skip"]),
    st.sampled_from(["rank", "time"]),
    st.sampled_from(["impression", "user"]),
    st.sampled_from(["separate", "joined"]),
)
def test_every_option_equals_the_reference(
    log: Log, no_click: Any, last: Any, votes: Any, pages: Any
) -> None:
    params = ClickParameters(no_click=no_click, last=last, votes=votes, pages=pages)
    found, used = counted(log, params)
    long = joined(log) if pages == "joined" else log
    count = reference_by_user if votes == "user" else reference
    skip, by_time = no_click == "skip", last == "time"
    assert found == count(long, skip=skip, by_time=by_time)
    other = count(long, skip=not skip, by_time=by_time)
    examinations = {pair: other.get(pair, [0, 0])[1] for pair in found}
    assert other_examinations(log, params) == examinations
    assert used.total == len(log)
    if pages == "separate":
        assert used.without_click == sum(not clicks for *_, clicks in log)


@settings(max_examples=examples(40), deadline=None)
@example([(None, query) for query in (2**64 - 1, 3 * 2**62, 2**63, 2**62, 1, 0)])
@given(st.lists(st.tuples(st.none(), st.integers(0, 2**64 - 1)), min_size=1, max_size=6))
def test_counting_in_ranges_of_queries_changes_nothing(drawn: list[tuple[None, int]]) -> None:
    log: Log = [(user, query, [3, 1, 2], [2]) for user, query in drawn]
    params = ClickParameters()
    found, used = pair_rows(log, params, memory=2 * BYTES_PER_RESULT)
    assert (found, used) == pair_rows(log, params)
    assert [row[:2] for row in found] == sorted(row[:2] for row in found)


@pytest.mark.parametrize(
    ("kind", "results", "ranges"),
    [
        (pl.UInt64, [[1, 2, 3], [4, 5]], 3),
        (pl.UInt64, [[1], [2], [3]], 2),
        (pl.UInt64, [], 1),
        (pl.String, [[1, 2, 3], [4, 5]], 1),
    ],
)
def test_keys_are_split_into_ranges_that_fit_into_memory(
    kind: type[pl.DataType], results: list[list[int]], ranges: int
) -> None:
    frame = pl.DataFrame({"query": range(len(results)), "results": results}, strict=False)
    frame = frame.cast({"query": kind, "results": pl.List(pl.UInt64)})
    with duckdb.connect() as connection:
        connection.register("pages", frame.to_arrow())
        assert _number_of_query_ranges(connection, 2 * BYTES_PER_RESULT) == ranges


def test_a_hand_computed_log() -> None:
    log: Log = [
        (None, 7, [11, 12, 13], [2, 2, 1]),  # examined 1-2, clicked 1 and 2, last 2
        (None, 7, [12, 11, 13], []),  # all examined
        (None, 7, [13, 14], [1]),  # 14 never examined
        (None, 8, [11, 11, 12], [2]),  # one document twice, clicked at its second place
    ]
    found, _ = counted(log, ClickParameters())
    assert found == {
        (7, 11): [2, 2, 1, 0],
        (7, 12): [2, 2, 1, 1],
        (7, 13): [3, 2, 1, 1],
        (7, 14): [1, 0, 0, 0],
        (8, 11): [2, 2, 1, 1],
        (8, 12): [1, 0, 0, 0],
    }


def test_last_click_by_time_is_the_one_clicked_last() -> None:
    log: Log = [(None, 1, [5, 6, 7], [3, 1])]
    by_rank, by_time = (counted(log, ClickParameters(last=last))[0] for last in ("rank", "time"))
    assert [by_rank[1, doc][3] for doc in (5, 6, 7)] == [0, 0, 1]
    assert [by_time[1, doc][3] for doc in (5, 6, 7)] == [1, 0, 0]


def test_the_next_page_of_results_belongs_to_the_page_before() -> None:
    log: Log = [(4, 1, [5, 6], []), (4, 1, [7, 8], [1])]
    alone, _ = counted(log, ClickParameters())
    together, _ = counted(log, ClickParameters(pages="joined", no_click="skip"))
    assert alone[1, 8] == [1, 0, 0, 0]
    assert together == {
        (1, 5): [1, 1, 0, 0],
        (1, 6): [1, 1, 0, 0],
        (1, 7): [1, 1, 1, 1],
        (1, 8): [1, 0, 0, 0],
    }


def test_visits_of_one_user_are_kept_apart() -> None:
    """Two pages, a repeated page that begins a visit anew, another query, and the first one again.

    The click on the second page is the deepest of its visit, and that on the first page the latest.
    """
    log: Log = [
        (4, 1, [5, 6], [1]),
        (4, 1, [7, 8], [1]),
        (4, 1, [8, 9], []),
        (4, 2, [5], []),
        (4, 1, [10], [1]),
        (9, 1, [11], []),
    ]
    found, used = counted(log, ClickParameters(pages="joined"))
    assert found == {
        (1, 5): [1, 1, 1, 0],
        (1, 6): [1, 1, 0, 0],
        (1, 7): [1, 1, 1, 1],
        (1, 8): [2, 1, 0, 0],
        (1, 9): [1, 1, 0, 0],
        (1, 10): [1, 1, 1, 1],
        (1, 11): [1, 1, 0, 0],
        (2, 5): [1, 1, 0, 0],
    }
    assert used == ImpressionCounts(total=6, without_click=3)
    log[0:2] = [(4, 1, [5, 6], []), (4, 1, [7, 8], [2, 1])]
    by_time, _ = counted(log, ClickParameters(pages="joined", last="time"))
    assert [by_time[1, doc] for doc in (5, 6, 7, 8)] == [
        [1, 1, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 1],
        [2, 2, 1, 0],
    ]


@pytest.mark.parametrize("repeated", [1, 50])
def test_collapsing_identical_pages_changes_no_count(repeated: int) -> None:
    log: Log = [(None, 1, [n % 7, 9], [1]) for n in range(40)] * repeated
    assert counted(log, ClickParameters())[0] == reference(log)
