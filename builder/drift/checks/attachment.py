"""Checks that judgements are attached to the queries for which they were made.

In one published release, ids were joined by prefix: about two thirds of the qrels pair a document
with a query for which it was never judged, and one query has 726 judgements instead of at most 49.
Three symptoms of such errors are checked: queries with far too many judgements, judged pages that
do not mention the query, and query-document pairs that are not judged again in the next snapshot.
The last symptom proves nothing on its own, because a change in the ranking causes it too.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    create_share_outcome,
    fetch_single_row,
    format_share,
    undecided_outcome,
)
from builder.drift.statistics import share

MIN_EXCESS_RATIO = 5
"""A maximum number of judgements per query is suspicious if it is at least this many times the
maximum of the other snapshot."""

MIN_EXCESS_JUDGEMENTS = 50
"""Minimum number of judgements for a query to be flagged."""

MIN_PAIRS = 200
"""Minimum number of query-document pairs for measuring how many are judged in both snapshots."""

MIN_PAIRS_READ = 50
"""Minimum number of judged pages per snapshot for comparing how many mention their query."""

MAX_PAGES_READ = 1000
"""Maximum number of judgements whose pages are read: those with the smallest document ids, which
are a random sample because ids are hashes."""

MIN_MENTION_DROP, MAX_CONCLUSIVE_RATIO = 0.1, 1 / 3
"""Minimum difference between the snapshots' shares of judged pages that mention the query, and
maximum ratio of the lower share to the higher one that is conclusive. The ratio is computed after
subtracting the share of pages that mention another query, to which a share falls if judgements are
attached to random queries; a better or worse ranking hardly lowers the ratio that much."""

MIN_RECURRING_SHARE = 0.35
"""If at least this share of pairs is judged in both snapshots, nothing is suspicious. Only pairs
whose query and document have judgements in both snapshots are counted."""

MAX_JUDGEMENTS = """
WITH
counts_from AS (SELECT query_id, count(*) AS judged FROM qrels_from GROUP BY query_id),
counts_to AS (SELECT query_id, count(*) AS judged FROM qrels_to GROUP BY query_id)
SELECT
    (SELECT max(judged) FROM counts_from) AS most_from,
    (SELECT max(judged) FROM counts_to) AS most_to,
    (SELECT coalesce(bool_and(impressions > 0), false)
     FROM (FROM qrels_from UNION ALL FROM qrels_to)) AS shown
"""

RECURRENCE = """
WITH
pairs_from AS (
    SELECT query_id, doc_id FROM qrels_from
    SEMI JOIN qrels_to USING (query_id)
    SEMI JOIN (SELECT doc_id FROM qrels_to) USING (doc_id)
),
pairs_to AS (
    SELECT query_id, doc_id FROM qrels_to
    SEMI JOIN qrels_from USING (query_id)
    SEMI JOIN (SELECT doc_id FROM qrels_from) USING (doc_id)
)
SELECT
    (SELECT count(*) FROM pairs_from) AS pairs_from,
    (SELECT count(*) FROM pairs_to) AS pairs_to,
    (SELECT count(*) FROM pairs_from SEMI JOIN pairs_to USING (query_id, doc_id)) AS pairs_common
"""


MENTIONS = r"""
WITH
judged AS (
    SELECT doc_id, query_id FROM qrels_{side}
    SEMI JOIN (
        SELECT doc_id FROM documents_from JOIN documents_to USING (doc_id, token_hash)
    ) USING (doc_id)
    ORDER BY doc_id, query_id LIMIT {pages:d}
),
asked AS (
    SELECT query_id, unnest(list_distinct(
        regexp_extract_all(lower(text), '[\p{{L}}\p{{N}}\p{{M}}]{{3,}}')
    )) AS word
    FROM queries_{side}
),
frequent AS (SELECT word, count(*) AS queries FROM asked GROUP BY word),
rarest AS (
    SELECT query_id, arg_min(word, (queries, word)) AS word
    FROM asked JOIN frequent USING (word) GROUP BY query_id
),
words AS (
    SELECT query_id, word, coalesce(
        lead(word) OVER (ORDER BY query_id), first_value(word) OVER (ORDER BY query_id)
    ) AS other_word
    FROM rarest
),
pages AS (
    SELECT query_id, lower(title || ' ' || text) AS text
    FROM documents_{side} JOIN judged USING (doc_id)
)
SELECT
    count(*) AS pairs,
    count(*) FILTER (contains(text, word)) AS mentions,
    count(*) FILTER (contains(text, other_word)) AS mentions_of_other
FROM pages JOIN words USING (query_id)
"""


def check_judgements_per_query(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the maximum number of judgements per query between the two snapshots."""
    numbers = fetch_single_row(connection, MAX_JUDGEMENTS)
    before, after = numbers["most_from"], numbers["most_to"]
    if before is None or after is None:
        return undecided_outcome("a snapshot has no judgements")
    says = f"the maximum number of judgements per query is {before} before and {after} after"
    sees = (
        f"a query with at least {MIN_EXCESS_JUDGEMENTS} judgements, and at least "
        f"{MIN_EXCESS_RATIO} times as many as any query in the other snapshot"
    )
    if max(before, after) < max(MIN_EXCESS_JUDGEMENTS, MIN_EXCESS_RATIO * min(before, after)):
        return Outcome(False, says, numbers, sees)
    if numbers["shown"]:
        return Outcome(None, f"{says}; every judged page was shown for its query", numbers)
    verdict = "judgements of several queries are probably attached to one"
    return Outcome(True, f"{says}: {verdict}", numbers)


def check_recurring_pairs(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Measure how many judged query-document pairs recur, i.e. are judged in both snapshots.

    Only pairs whose query and whose document have judgements in both snapshots are counted.
    """
    numbers = fetch_single_row(connection, RECURRENCE)
    either = numbers["pairs_from"] + numbers["pairs_to"] - numbers["pairs_common"]
    recurring = share(numbers["pairs_common"], either)
    if recurring is None or either < MIN_PAIRS:
        return undecided_outcome(
            f"fewer than {MIN_PAIRS} judged pairs have a query and a document in both snapshots"
        )
    says = (
        f"of {either} pairs whose query and document occur in both snapshots, "
        f"{format_share(recurring)} are judged in both"
    )
    if recurring >= MIN_RECURRING_SHARE:
        return Outcome(False, says, numbers)
    return Outcome(None, f"{says}: either the ranking changed or the pairs are wrong", numbers)


def check_pages_mention_queries(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare how often judged pages mention the rarest word of their query in each snapshot.

    Pages of all grades are included: grades depend on clicks, so the set of relevant pages changes
    between snapshots. Pages whose words changed are excluded, because an edit can add or remove
    mentions.
    """
    before, after = (
        fetch_single_row(connection, MENTIONS.format(side=side, pages=MAX_PAGES_READ))
        for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["pairs"], after["pairs"]) < MIN_PAIRS_READ:
        return undecided_outcome(
            f"fewer than {MIN_PAIRS_READ} judged pages have the same text in both snapshots"
        )
    comparison = ShareComparison(
        (before["mentions"], before["pairs"]), (after["mentions"], after["pairs"]), MIN_MENTION_DROP
    )
    says = (
        f"the rarest word of the query occurs in {format_share(comparison.shares[0])} of judged "
        f"pages before and in {format_share(comparison.shares[1])} after"
    )
    verdict = "judgements are probably attached to the wrong queries"
    excess = [(c["mentions"] - c["mentions_of_other"]) / c["pairs"] for c in (before, after)]
    if comparison.is_changed and min(excess) > MAX_CONCLUSIVE_RATIO * max(excess):
        sees = (
            "conclusive only if pages mention their own query barely more often than an unrelated "
            "one"
        )
        return Outcome(None, says, numbers, sees)
    return create_share_outcome(comparison, says, verdict, numbers, max_detectable=0.4)


CHECKS = (
    Check(
        "none_gathers_judgements",
        "Does every query have only its own judgements?",
        check_judgements_per_query,
    ),
    Check("pairs_recur", "Do judged pairs recur?", check_recurring_pairs),
    Check(
        "pages_mention_queries", "Do judged pages mention their query?", check_pages_mention_queries
    ),
)
