"""Did a threshold move?

Counts that a rule cuts off begin exactly at the threshold. Suppose the least number of users of a
query rises from 5 to 20. Each earlier query that had v users, grown as the queries of both
snapshots grew to v g, would have between 5 and 19 users now with a probability that the Poisson
distribution gives. Their sum, E, is how many later queries should lie below 20 under the old rule;
that there is none has the chance e^-E. Queries whose expected count lies below the old threshold
count for little: they could not have stayed. E is taken times the share of comparable queries
that did stay, since topics and interest take queries away at every count, and times the share of
rows that survive next to the threshold, since another rule may act there too.
Rows with 0, which was never counted (judgements by people, imported releases), say nothing.
The number of judged documents of a query is not compared: it moves with the traffic, and not as
a count does that Poisson's distribution describes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from scipy.stats import poisson

from builder.drift.checks.outcome import Check, Outcome, unknown

LOG10_CHANCE = -6.0
"""Chance, as a power of ten, below which a moved limit is no accident."""

EXPECTED = -LOG10_CHANCE * math.log(10)
"""Rows that should lie below a raised threshold, from which their absence has that chance."""

FACTOR = 4
"""A rise of a threshold by this factor must be visible, or the check cannot tell."""

STEPS = 30
"""Raised thresholds that are tried to find the smallest that would show."""

Counts = Sequence[tuple[int, int, int]]
"""Values in ascending order, how many rows have it, and how many of these the other side lacks."""

MEASURED = {
    "impressions of a query": ("queries", "impressions"),
    "users of a query": ("queries", "users"),
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

IMPRESSIONS = "SELECT coalesce(sum(impressions), 0)::BIGINT FROM queries_from"

WORDS = r"len(regexp_extract_all(text, '\S+'))"


@dataclass(frozen=True)
class Floor:
    """Rows of one snapshot, as they would recur in the other under the same rule.

    Args:
        counts: Their values.
        growth: Sums of the same quantity over what is in both, here and there.
    """

    counts: Counts
    growth: tuple[int, int]

    @property
    def least(self) -> int:
        """The least value."""
        return self.counts[0][0]

    def expected_below(self, raised: int) -> float:
        """Rows that should lie between the least value and a raised one in the other snapshot."""
        values, rows, missing = (np.array(column) for column in zip(*self.counts, strict=True))
        means = values * (self.growth[1] / self.growth[0])
        inside = poisson.cdf(raised - 1, means) - poisson.cdf(self.least - 1, means)
        safe = means >= 2 * raised
        stayed = 1.0
        if rows[safe].sum():
            stayed = 1 - missing[safe].sum() / rows[safe].sum()
        return float((rows * inside).sum() * stayed * self._accepted(raised))

    def _accepted(self, raised: int) -> float:
        """Rows just above the least value over those of the next interval as wide, at most 1."""
        width = raised - self.least
        near = sum(rows for value, rows, _ in self.counts if value < raised)
        next_to = sum(rows for value, rows, _ in self.counts if raised <= value < raised + width)
        return min(1.0, near / next_to) if next_to else 1.0

    def visible(self) -> int | None:
        """The smallest raised least value that would show, up to `FACTOR` times; None if none."""
        rise = (FACTOR - 1) * self.least
        for raised in sorted({self.least - (-rise * n // STEPS) for n in range(1, STEPS + 1)}):
            if self.expected_below(raised) >= EXPECTED:
                return raised
        return None


def floors_stand(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the least values of everything that a rule cuts off."""
    moved, blind, sees, numbers = [], [], [], {}
    for label, (table, value) in MEASURED.items():
        before, after = _counts(connection, table, value)
        if not (before and after):
            continue
        growth = _growth(connection, table, value)
        forward, backward = Floor(before, growth), Floor(after, (growth[1], growth[0]))
        least = (forward.least, backward.least)
        numbers[label] = {"least_from": least[0], "least_to": least[1]}
        if _raised(forward, least[1]) or _raised(backward, least[0]):
            moved.append(f"the least {label} went from {least[0]} to {least[1]}")
        elif (raised := forward.visible()) is None:
            blind.append(f"{label} ({_needed(connection, forward)})")
        else:
            sees.append(f"a minimum of {raised} {label} instead of {least[0]}")
    if not numbers:
        return unknown("a snapshot has neither queries nor judgements with counts")
    if moved:
        return Outcome(True, "; ".join(moved) + ": a threshold was moved", numbers)
    if blind:
        return Outcome(None, "too few rows lie near a threshold", numbers, "; ".join(blind))
    says = "no least count moved more than chance allows"
    return Outcome(False, says, numbers, "; ".join(sees))


def _raised(floor: Floor, other: int) -> bool:
    """Whether the other snapshot begins at a greater value than the same rule would bring about."""
    return other > floor.least and floor.expected_below(other) >= EXPECTED


def _needed(connection: duckdb.DuckDBPyConnection, floor: Floor) -> str:
    """From how many impressions on a threshold raised by `FACTOR` would show."""
    raised = FACTOR * floor.least
    change = f"a minimum of {raised} instead of {floor.least}"
    impressions = connection.execute(IMPRESSIONS).fetchall()[0][0]
    expected = floor.expected_below(raised)
    if not (impressions and expected):
        return f"{change} would not show"
    needed = impressions * EXPECTED / expected
    rounded = int(float(f"{needed:.1e}"))
    return f"{change} would show from about {rounded:,} impressions on"


def log10_chance(before: Counts, after: Counts) -> float:
    """Chance that the least later value is as high as it is, were the rule the same.

    Args:
        before: Earlier values.
        after: Later values.

    Returns:
        log10 of the chance; 0 where the least value did not rise.
    """
    least = after[0][0]
    if least <= before[0][0]:
        return 0.0
    total = sum(rows for _, rows, _ in before)
    below = sum(gone for value, _, gone in before if value < least)
    if below == total:
        return -math.inf
    return sum(rows for _, rows, _ in after) * math.log10(1 - below / total)


def longest_query_stands(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the greatest number of words of a query."""
    before, after = _counts(connection, "queries", f"-{WORDS}")
    if not before or not after:
        return unknown("a snapshot lists no query")
    numbers = {"longest_from": -before[0][0], "longest_to": -after[0][0]}
    says = f"the longest query has {-before[0][0]} words before and {-after[0][0]} after"
    if min(log10_chance(before, after), log10_chance(after, before)) < LOG10_CHANCE:
        return Outcome(True, f"{says}, too sharp an end for chance: a threshold was moved", numbers)
    limit = _visible_limit(before, sum(rows for _, rows, _ in after))
    if limit is None:
        return Outcome(None, says, numbers, "half the longest query as a limit would not show")
    return Outcome(False, says, numbers, f"a limit of {limit} words")


def _visible_limit(before: Counts, rows_after: int) -> int | None:
    """The greatest limit of words, at least half the longest query, that would show."""
    longest = -before[0][0]
    total = sum(rows for _, rows, _ in before)
    for limit in range(longest - 1, max(0, longest // 2 - 1), -1):
        longer = sum(rows for value, rows, _ in before if -value > limit)
        kept = rows_after * (1 - longer / total)
        if longer == total or kept * math.log10(1 - longer / total) < LOG10_CHANCE:
            return limit
    return None


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
