"""Checks that the logs of both snapshots differ, and name queries and users alike.

Two logs of different months never give all common judgements the same counts, and hardly ever give
none of them a larger count in one month. The id of a query is
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

MAX_USERS_RATIO = 0.5
"""Maximum ratio of users per impression between two snapshots that suggests that users are
identified differently."""

MIN_ALL_DISTINCT, MAX_OTHERS_DISTINCT = 0.99, 0.9
"""Minimum share of common queries with as many users as impressions that suggests that each
impression has a user of its own, and maximum of that share in the other snapshot."""

EQUAL_COUNTS = """
SELECT
    count(*) AS pairs,
    count(*) FILTER (f.impressions = t.impressions AND f.clicks = t.clicks) AS equal,
    count(*) FILTER (f.impressions > t.impressions OR f.clicks > t.clicks) AS more_before,
    count(*) FILTER (f.impressions < t.impressions OR f.clicks < t.clicks) AS more_after
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


USERS_AND_IMPRESSIONS = """
SELECT
    count(*) AS common,
    sum(f.users)::BIGINT AS users_from, sum(f.impressions)::BIGINT AS impressions_from,
    sum(t.users)::BIGINT AS users_to, sum(t.impressions)::BIGINT AS impressions_to,
    count(*) FILTER (f.users = f.impressions) AS distinct_from,
    count(*) FILTER (t.users = t.impressions) AS distinct_to
FROM queries_from AS f JOIN queries_to AS t USING (query_id)
WHERE least(f.users, t.users) > 0
"""


def check_logs_differ(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Check whether the counts of common judgements are all equal, or larger in one log only."""
    numbers = fetch_single_row(connection, EQUAL_COUNTS)
    if numbers["pairs"] < MIN_PAIRS:
        return undecided_outcome(f"fewer than {MIN_PAIRS} pairs with counts are in both snapshots")
    says = (
        f"{numbers['equal']:,} of {numbers['pairs']:,} common pairs have the same numbers of "
        "impressions and clicks"
    )
    if numbers["equal"] == numbers["pairs"]:
        return Outcome(True, f"{says}: one log was used for both snapshots", numbers)
    for side, label in (("before", "earlier"), ("after", "later")):
        if not numbers[f"more_{side}"]:
            reason = f"either the {label} log is a part of the other or traffic changed greatly"
            return Outcome(None, f"{says}, and no count is larger {side}: {reason}", numbers)
    return Outcome(False, says, numbers, "a log, or a part of it, that was used for both snapshots")


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
    reason = "either the log has queries in another form or users spell them differently"
    return Outcome(None, f"{says}, {example}: {reason}", numbers)


def check_users(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often a user repeats a query, which depends on how users are identified."""
    numbers = fetch_single_row(connection, USERS_AND_IMPRESSIONS)
    if numbers["common"] < MIN_QUERIES:
        return undecided_outcome(
            f"fewer than {MIN_QUERIES} queries with users are in both snapshots"
        )
    users = [numbers[f"users_{side}"] / numbers[f"impressions_{side}"] for side in ("from", "to")]
    distinct = [numbers[f"distinct_{side}"] / numbers["common"] for side in ("from", "to")]
    says = (
        f"common queries have {users[0]:.2f} users per impression before and {users[1]:.2f} after, "
        f"and {format_share(distinct[0])} and {format_share(distinct[1])} of them have as many "
        "users as impressions"
    )
    is_distinct = max(distinct) >= MIN_ALL_DISTINCT and min(distinct) <= MAX_OTHERS_DISTINCT
    if is_distinct or min(users) <= MAX_USERS_RATIO * max(users):
        reason = (
            "either users are identified differently, or they repeat queries more or less often"
        )
        return Outcome(None, f"{says}: {reason}", numbers)
    sees = "users that are single impressions, or groups such as shared addresses, in one log"
    return Outcome(False, says, numbers, sees)


CHECKS = (
    Check("logs_differ", "Were the snapshots built from different logs?", check_logs_differ),
    Check("queries_are_spelled_alike", "Are queries spelled in the same way?", check_spelling),
    Check("users_are_identified_alike", "Are users identified in the same way?", check_users),
)
