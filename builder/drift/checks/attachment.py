"""Are judgements attached to the queries they were made for?

A published release joined old ids by a prefix: about two thirds of its lines pair a document with a
query it was never judged for, and one query gathered 726 judgements where 49 is the most. Such a
file shows queries with far too many judgements, and judged pages that do not mention the query.
It also shows pairs that do not come back, but so does a new ranking: that alone decides nothing.
"""

import duckdb

from builder.drift.checks.outcome import (
    Check,
    Outcome,
    Shares,
    compare_shares,
    percent,
    row,
    unknown,
)
from builder.drift.statistics import share

MOST_RATIO = 5
MOST_JUDGED = 50
FEWEST = 200
FEWEST_READ = 50
PAGES_READ = 1000
"""Judged pages that are read: those with the smallest ids, which are a random sample."""

MENTION_DROP, HALVED = 0.1, 0.5
"""Fall of the share of judged pages that mention the query, in points and to this part of it."""

RECURRING = 0.35
"""Share of pairs, of queries and documents judged in both snapshots, that are in both."""

MOST = """
WITH
counts_from AS (SELECT query_id, count(*) AS judged FROM qrels_from GROUP BY query_id),
counts_to AS (SELECT query_id, count(*) AS judged FROM qrels_to GROUP BY query_id)
SELECT
    (SELECT max(judged) FROM counts_from) AS most_from,
    (SELECT max(judged) FROM counts_to) AS most_to
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


def none_gathers_judgements(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the most judgements that one query has."""
    numbers = row(connection, MOST)
    before, after = numbers["most_from"], numbers["most_to"]
    if before is None or after is None:
        return unknown("a snapshot has no judgement")
    says = f"the most judgements of one query are {before} before and {after} after"
    found = max(before, after) >= max(MOST_JUDGED, MOST_RATIO * min(before, after))
    verdict = ": judgements of several queries are attached to one" if found else ""
    sees = f"a query with {MOST_RATIO} times as many judgements, and {MOST_JUDGED} or more"
    return Outcome(found, says + verdict, numbers, sees)


def pairs_recur(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Look for the pairs again whose query and document are judged in both snapshots."""
    numbers = row(connection, RECURRENCE)
    either = numbers["pairs_from"] + numbers["pairs_to"] - numbers["pairs_common"]
    recurring = share(numbers["pairs_common"], either)
    if recurring is None or either < FEWEST:
        return unknown(f"fewer than {FEWEST} pairs have their query and document in both")
    says = (
        f"of {either} pairs whose query and document are judged in both snapshots, "
        f"{percent(recurring)} are judged in both"
    )
    if recurring >= RECURRING:
        return Outcome(False, says, numbers)
    return Outcome(None, f"{says}: either the ranking is new or the pairs are wrong", numbers)


def pages_mention_queries(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the share of judged pages that mention the rarest word of their query.

    Pages of all grades: which of them are relevant changes with the clicks of users.
    """
    before, after = (
        row(connection, MENTIONS.format(side=side, pages=PAGES_READ)) for side in ("from", "to")
    )
    numbers = {"from": before, "to": after}
    if min(before["pairs"], after["pairs"]) < FEWEST_READ:
        return unknown(f"fewer than {FEWEST_READ} judged pages can be read")
    shares = Shares(
        (before["mentions"], before["pairs"]), (after["mentions"], after["pairs"]), MENTION_DROP
    )
    says = (
        f"{percent(shares.values[0])} of judged pages mention the rarest word of their query "
        f"before and {percent(shares.values[1])} after"
    )
    verdict = "judgements are attached to queries they were not made for"
    if shares.changed and min(shares.values) > HALVED * max(shares.values):
        return Outcome(False, says, numbers, "a share that is halved")
    return compare_shares(shares, says, verdict, numbers, most=0.4)


CHECKS = (
    Check(
        "none_gathers_judgements",
        "Has no query gathered judgements of others?",
        none_gathers_judgements,
    ),
    Check("pairs_recur", "Do judged pairs come back?", pairs_recur),
    Check("pages_mention_queries", "Do judged pages mention the query?", pages_mention_queries),
)
