"""Checks that the logs of both snapshots differ, and spell queries alike.

Two logs of different months never give all common judgements the same counts. The id of a query is
a hash of its folded text, so that it stays the same if the log loses accents or capitals; the
published text, which systems search with, does not.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)

MIN_PAIRS = 50
"""Minimum number of judgements in both snapshots for comparing their counts."""

MIN_QUERIES = 20
"""Minimum number of queries in both snapshots for comparing their texts."""

MIN_RESPELLED_SHARE = 0.1
"""Minimum share of the common queries with another text that indicates another spelling."""

EQUAL_COUNTS = """
SELECT
    count(*) AS pairs,
    count(*) FILTER (f.impressions = t.impressions AND f.clicks = t.clicks) AS equal
FROM qrels_from AS f JOIN qrels_to AS t USING (query_id, doc_id)
WHERE f.source = 'click' AND t.source = 'click' AND f.impressions > 0
"""

RESPELLED_QUERIES = """
SELECT
    count(*) AS common,
    count(*) FILTER (f.text <> t.text) AS respelled,
    min_by(f.text, query_id) FILTER (f.text <> t.text) AS text_from,
    min_by(t.text, query_id) FILTER (f.text <> t.text) AS text_to
FROM queries_from AS f JOIN queries_to AS t USING (query_id)
"""


def check_logs_differ(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether all common judgements have the same counts of impressions and clicks."""
    numbers = fetch_single_row(connection, EQUAL_COUNTS)
    if numbers["pairs"] < MIN_PAIRS:
        return undecided_outcome(f"fewer than {MIN_PAIRS} pairs with counts are in both snapshots")
    says = (
        f"{numbers['equal']:,} of {numbers['pairs']:,} common pairs have the same numbers of "
        "impressions and clicks"
    )
    if numbers["equal"] == numbers["pairs"]:
        return Outcome(True, f"{says}: one log was used for both snapshots", numbers)
    return Outcome(False, says, numbers, "a log that was used for both snapshots")


def check_spelling(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the queries whose published text changed although their id is the same."""
    numbers = fetch_single_row(connection, RESPELLED_QUERIES)
    if numbers["common"] < MIN_QUERIES:
        return undecided_outcome(f"fewer than {MIN_QUERIES} queries are in both snapshots")
    says = f"{numbers['respelled']:,} of {numbers['common']:,} common queries have another text"
    if numbers["respelled"] < MIN_RESPELLED_SHARE * numbers["common"]:
        sees = f"another spelling of {format_share(MIN_RESPELLED_SHARE)} of common queries"
        return Outcome(False, says, numbers, sees)
    example = f"such as {numbers['text_to']!r} instead of {numbers['text_from']!r}"
    reason = "either the log or its users spell queries differently"
    return Outcome(None, f"{says}, {example}: {reason}", numbers)


CHECKS = (
    Check("logs_differ", "Were the snapshots built from different logs?", check_logs_differ),
    Check("queries_are_spelled_alike", "Are queries spelled in the same way?", check_spelling),
)
