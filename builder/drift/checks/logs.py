"""Checks that the logs of both snapshots differ, but identify queries and users in the same way.

In logs of two different months, the query-document pairs judged in both snapshots never all have
the same counts. If the impressions of the logs are independent, the two counts of a query differ at
least as much as two Poisson counts; if one log contains a part of the other log, they differ less.
The id of a query is a hash of its folded text (lowercased, without accents and punctuation), so the
id stays the same if the log loses accents or capitals; the published text, with which systems
search, changes.
"""

import math
from collections.abc import Sequence

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)
from builder.statistics.significance import chi_square_lower_p_value

MIN_PAIRS = 50
"""Minimum number of query-document pairs judged in both snapshots for comparing their counts."""

MIN_QUERIES = 20
"""Minimum number of queries in both snapshots for comparing their texts."""

MAX_P_VALUE = 1e-6
"""Maximum p-value at which the impressions of the queries in both snapshots differ too little for
two independent logs."""

MIN_RESPELLED_SHARE = 0.1
"""Minimum share of the queries in both snapshots whose text must differ to suspect that the logs
spell queries differently."""

MAX_USERS_RATIO = 0.5
"""Maximum ratio of the lower to the higher number of users per impression of the two snapshots to
suspect that users are identified differently."""

MIN_ALL_DISTINCT, MAX_OTHERS_DISTINCT = 0.99, 0.9
"""If at least the first share of the queries in both snapshots has as many users as impressions in
one snapshot, but at most the second share does in the other snapshot, one log may assign each
impression its own user."""

EQUAL_COUNTS = """
SELECT
    count(*) AS pairs,
    count(*) FILTER (f.impressions = t.impressions AND f.clicks = t.clicks) AS equal
FROM qrels_from AS f JOIN qrels_to AS t USING (query_id, doc_id)
WHERE f.source = 'click' AND t.source = 'click' AND f.impressions > 0
"""

COMMON_IMPRESSIONS = """
SELECT f.impressions, t.impressions
FROM queries_from AS f JOIN queries_to AS t USING (query_id)
WHERE least(f.impressions, t.impressions) > 0
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
    """Check whether the pairs or queries in both snapshots have equal or nearly equal counts."""
    numbers = fetch_single_row(connection, EQUAL_COUNTS)
    if numbers["pairs"] < MIN_PAIRS:
        return undecided_outcome(f"fewer than {MIN_PAIRS} pairs have counts in both snapshots")
    says = (
        f"{numbers['equal']:,} of {numbers['pairs']:,} common pairs have the same numbers of "
        "impressions and clicks"
    )
    if numbers["equal"] == numbers["pairs"]:
        return Outcome(True, f"{says}: the same log was used for both snapshots", numbers)
    counts = connection.execute(COMMON_IMPRESSIONS).fetchall()
    numbers |= {"queries": len(counts), "chi_square": _chi_square(counts)}
    if (
        len(counts) >= MIN_QUERIES
        and chi_square_lower_p_value(numbers["chi_square"], len(counts) - 1) <= MAX_P_VALUE
    ):
        reason = "either one log contains a part of the other or users vary unusually little"
        return Outcome(
            None,
            f"{says}, but the impressions of {numbers['queries']:,} common queries differ less "
            f"than in independent logs: {reason}",
            numbers,
        )
    return Outcome(
        False, says, numbers, "the use of the same log, or a part of it, for both snapshots"
    )


def _chi_square(counts: Sequence[tuple[int, int]]) -> float:
    """Return the chi-square statistic of pairs of Poisson counts (`before`, `after`).

    Growth is the sum of the later counts divided by the sum of the earlier counts. A later count is
    expected to be growth * before; its difference from this expectation has the variance growth *
    before * (1 + growth). The statistic is summed exactly, so that it does not depend on the order
    of the pairs.
    """
    if not counts:
        return 0.0
    growth = sum(after for _, after in counts) / sum(before for before, _ in counts)
    return math.fsum(
        (after - growth * before) ** 2 / (growth * before * (1 + growth))
        for before, after in counts
    )


def check_query_spelling(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Count the queries whose published text changed although their id is the same."""
    numbers = fetch_single_row(connection, RESPELLED_QUERIES)
    if numbers["common"] < MIN_QUERIES:
        return undecided_outcome(f"fewer than {MIN_QUERIES} queries are in both snapshots")
    count = f"{numbers['respelled']:,} of {numbers['common']:,}"
    says = f"{count} queries in both snapshots have different texts"
    if numbers["respelled"] < MIN_RESPELLED_SHARE * numbers["common"]:
        sees = f"another spelling of {format_share(MIN_RESPELLED_SHARE)} of the common queries"
        return Outcome(False, says, numbers, sees)
    example = f"such as {numbers['text_to']!r} instead of {numbers['text_from']!r}"
    reason = "either the logs normalize queries differently or users spell them differently"
    return Outcome(None, f"{says}, {example}: {reason}", numbers)


def check_user_identification(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often a user repeats a query, which depends on how users are identified."""
    numbers = fetch_single_row(connection, USERS_AND_IMPRESSIONS)
    if numbers["common"] < MIN_QUERIES:
        return undecided_outcome(
            f"fewer than {MIN_QUERIES} queries have user counts in both snapshots"
        )
    users = [numbers[f"users_{side}"] / numbers[f"impressions_{side}"] for side in ("from", "to")]
    distinct = [numbers[f"distinct_{side}"] / numbers["common"] for side in ("from", "to")]
    says = (
        f"common queries have {users[0]:.2f} users per impression before and {users[1]:.2f} after, "
        f"and {format_share(distinct[0])} of them before and {format_share(distinct[1])} after "
        "have as many users as impressions"
    )
    is_distinct = max(distinct) >= MIN_ALL_DISTINCT and min(distinct) <= MAX_OTHERS_DISTINCT
    if is_distinct or min(users) <= MAX_USERS_RATIO * max(users):
        reason = (
            "either users are identified differently, or they repeat queries more or less often"
        )
        return Outcome(None, f"{says}: {reason}", numbers)
    sees = (
        "a log with a new user id for every impression, or with one user id for several users, "
        "such as those who share an IP address"
    )
    return Outcome(False, says, numbers, sees)


CHECKS = (
    Check("logs_differ", "Were the snapshots built from different logs?", check_logs_differ),
    Check(
        "queries_are_spelled_alike", "Are queries spelled in the same way?", check_query_spelling
    ),
    Check(
        "users_are_identified_alike",
        "Are users identified in the same way?",
        check_user_identification,
    ),
)
