"""Checks that judgements are attached to the queries for which they were made.

A published release joined old ids by a prefix: about two thirds of its lines pair a document with a
query for which it was never judged, and one query has 726 judgements instead of at most 49. Such a
file contains queries with far too many judgements, and judged pages that do not mention the query.
Its pairs do not recur either, but neither do they after a change of ranking, so that missing
recurrence alone is no proof.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    ShareComparison,
    cannot_tell,
    compare_shares,
    fetch_row,
    format_share,
)
from builder.drift.statistics import share

MOST_RATIO = 5
MOST_JUDGED = 50
FEWEST = 200
FEWEST_READ = 50
PAGES_READ = 1000
"""Maximum number of judged pages to read; the smallest ids are a random sample."""

MENTION_DROP, HALVED = 0.1, 0.5
"""Minimum absolute and relative drop of the share of judged pages that mention the query."""

RECURRING = 0.35
"""Minimum share of recurring pairs if query and document are judged in both snapshots."""

MOST = """
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
pages AS (
    SELECT query_id, lower(title || ' ' || text) AS text
    FROM documents_{side} JOIN judged USING (doc_id)
)
SELECT
    count(*) AS pairs,
    count(*) FILTER (contains(text, word)) AS mentions
FROM pages JOIN rarest USING (query_id)
"""


def check_judgements_per_query(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the maximum number of judgements per query between the snapshots."""
    numbers = fetch_row(connection, MOST)
    before, after = numbers["most_from"], numbers["most_to"]
    if before is None or after is None:
        return cannot_tell("a snapshot has no judgements")
    says = f"the maximum number of judgements per query is {before} before and {after} after"
    sees = f"a query with {MOST_RATIO} times as many judgements, and at least {MOST_JUDGED}"
    if max(before, after) < max(MOST_JUDGED, MOST_RATIO * min(before, after)):
        return Outcome(False, says, numbers, sees)
    if numbers["shown"]:
        return Outcome(None, f"{says}, all for pages that were shown for their query", numbers)
    verdict = "judgements of several queries are probably attached to one"
    return Outcome(True, f"{says}: {verdict}", numbers)


def check_recurring_pairs(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Measure how many judged pairs recur, where both snapshots have the query and the document."""
    numbers = fetch_row(connection, RECURRENCE)
    either = numbers["pairs_from"] + numbers["pairs_to"] - numbers["pairs_common"]
    recurring = share(numbers["pairs_common"], either)
    if recurring is None or either < FEWEST:
        return cannot_tell(
            f"fewer than {FEWEST} pairs have a query and a document in both snapshots"
        )
    says = (
        f"of {either} pairs whose query and document occur in both snapshots, "
        f"{format_share(recurring)} are judged in both"
    )
    if recurring >= RECURRING:
        return Outcome(False, says, numbers)
    return Outcome(None, f"{says}: either the ranking changed or the pairs are wrong", numbers)


def check_query_mentions(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of judged pages that mention the rarest word of the query.

    Pages of all grades are read, because the relevant ones change with the clicks of users, but
    only those with the same words in both snapshots, because other texts mention other words.
    """
    before, after = (
        fetch_row(connection, MENTIONS.format(side=side, pages=PAGES_READ))
        for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["pairs"], after["pairs"]) < FEWEST_READ:
        return cannot_tell(
            f"fewer than {FEWEST_READ} judged pages have the same text in both snapshots"
        )
    comparison = ShareComparison(
        (before["mentions"], before["pairs"]), (after["mentions"], after["pairs"]), MENTION_DROP
    )
    says = (
        f"{format_share(comparison.shares[0])} of judged pages before and "
        f"{format_share(comparison.shares[1])} after mention the rarest word of their query"
    )
    verdict = "judgements are probably attached to the wrong queries"
    if comparison.is_changed and min(comparison.shares) > HALVED * max(comparison.shares):
        return Outcome(None, says, numbers, "only a share that drops by half is conclusive")
    return compare_shares(comparison, says, verdict, numbers, max_detectable=0.4)


CHECKS = (
    Check(
        "none_gathers_judgements",
        "Does every query have only its own judgements?",
        check_judgements_per_query,
    ),
    Check("pairs_recur", "Do judged pairs recur?", check_recurring_pairs),
    Check("pages_mention_queries", "Do judged pages mention their query?", check_query_mentions),
)
