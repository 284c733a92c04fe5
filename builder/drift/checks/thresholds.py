"""Did a threshold move?

Counts that a rule cuts off begin exactly at the threshold. Suppose the least value rises from 5 to
10, although a third of the earlier rows, grown as the rows in both snapshots grew, lie below 10 and
are gone. Were the rule the same, no value below 10 among n later rows has probability
(1 - 1/3)^n: for many rows, chance is not the reason. Growth alone lifts the least value too, but
then the rows that were below it are still there. Rows with 0, which was never counted (judgements
by people, imported releases), say nothing about thresholds.
"""

import math
from collections.abc import Sequence

import duckdb

from builder.drift.checks.outcome import Check, Outcome, unknown

LOG10_CHANCE = -6.0
"""Chance, as a power of ten, below which a moved limit is no accident."""

Counts = Sequence[tuple[int, int, int]]
"""Values in ascending order, how many rows have it, and how many of these the other side lacks."""

MEASURED = {
    "impressions of a query": ("queries", "impressions"),
    "users of a query": ("queries", "users"),
    "judged documents of a query": ("queries", "judged"),
    "examinations of a judgement": ("qrels", "examinations"),
}

KEYS = {"queries": "query_id", "qrels": "query_id, doc_id"}

COUNTS = """
WITH missing AS (SELECT * FROM {table}_{here} ANTI JOIN {table}_{there} USING ({key})),
rows AS (
    SELECT {value} AS value, false AS missing FROM {table}_{here}
    SEMI JOIN {table}_{there} USING ({key})
    UNION ALL SELECT {value}, true FROM missing
)
SELECT value::BIGINT, count(*), count(*) FILTER (missing)
FROM rows WHERE value <> 0 GROUP BY value ORDER BY value
"""

GROWTH = """
SELECT coalesce(sum(f.{value}), 0)::BIGINT, coalesce(sum(t.{value}), 0)::BIGINT
FROM {table}_from AS f JOIN {table}_to AS t USING ({key})
"""

WORDS = r"len(regexp_extract_all(text, '\S+'))"


def log10_chance(before: Counts, after: Counts, growth: tuple[int, int]) -> float:
    """Chance that the least later value is as high as it is, were the rule the same.

    Args:
        before: Earlier values.
        after: Later values.
        growth: Sums of the same quantity over what is in both, earlier and later: an earlier
            value v stands for v * growth[1] / growth[0] later.

    Returns:
        log10 of the chance; 0 where the least value did not rise.
    """
    least = after[0][0]
    if least <= before[0][0]:
        return 0.0
    total = sum(rows for _, rows, _ in before)
    below = sum(gone for value, _, gone in before if value * growth[1] < least * growth[0])
    if below == total:
        return -math.inf
    return sum(rows for _, rows, _ in after) * math.log10(1 - below / total)


def floors_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the least values of everything that a rule cuts off."""
    moved, numbers = [], {}
    for label, (table, value) in MEASURED.items():
        before, after = _counts(connection, table, value)
        if before and after:
            numbers[label] = {"least_from": before[0][0], "least_to": after[0][0]}
            if _limit_moved(before, after, _growth(connection, table, value)):
                moved.append(f"the least {label} went from {before[0][0]} to {after[0][0]}")
    if not numbers:
        return unknown("a snapshot has neither queries nor judgements with counts")
    if not moved:
        return Outcome(False, "no least count moved more than chance allows", numbers)
    return Outcome(True, "; ".join(moved) + ": a threshold was moved", numbers)


def longest_query_stands(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the greatest number of words of a query."""
    before, after = _counts(connection, "queries", f"-{WORDS}")
    if not before or not after:
        return unknown("a snapshot lists no query")
    numbers = {"longest_from": -before[0][0], "longest_to": -after[0][0]}
    says = f"the longest query has {-before[0][0]} words before and {-after[0][0]} after"
    if not _limit_moved(before, after, (1, 1)):
        return Outcome(False, says, numbers)
    return Outcome(True, f"{says}, too sharp an end for chance: a threshold was moved", numbers)


def _limit_moved(before: Counts, after: Counts, growth: tuple[int, int]) -> bool:
    raised = log10_chance(before, after, growth)
    lowered = log10_chance(after, before, (growth[1], growth[0]))
    return min(raised, lowered) < LOG10_CHANCE


def _counts(connection: duckdb.DuckDBPyConnection, table: str, value: str) -> tuple[Counts, Counts]:
    before, after = (
        connection.execute(
            COUNTS.format(table=table, here=here, there=there, key=KEYS[table], value=value)
        ).fetchall()
        for here, there in (("from", "to"), ("to", "from"))
    )
    return before, after


def _growth(connection: duckdb.DuckDBPyConnection, table: str, value: str) -> tuple[int, int]:
    sql = GROWTH.format(table=table, key=KEYS[table], value=value)
    before, after = connection.execute(sql).fetchall()[0]
    return (before, after) if before and after else (1, 1)


CHECKS = (
    Check("floors_stand", "Do counts begin at the same thresholds?", floors_stand),
    Check("longest_query_stands", "Is the longest query as long?", longest_query_stands),
)
