"""Checks that the minimum counts of queries and judgements did not change.

Counts that are filtered by a minimum start exactly at it. Suppose that the minimum number of users
per query rises from 5 to 20. An earlier query with v users is expected to have v g users in the
later snapshot, if g is the growth of the queries in both snapshots; the Poisson distribution gives
the probability that it has between 5 and 19 users. The sum E of these probabilities is the number
of later queries expected below 20 under the old rule; the probability that there is none is e^-E.
Queries whose expected count is below the old minimum contribute little. E is multiplied by the
share of comparable queries that remained, because topics and interest remove queries at every
count, and by the share of rows that survive next to the minimum, because another rule may apply
there too. A rise whose probability by chance is below 5 %, but not below 10^-6, is undecided.
Rows with 0 are ignored: they were never counted (manual assessments, imported releases).
The number of judged documents per query is not compared: it changes with the traffic, but does not
follow a Poisson distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from scipy.stats import poisson

from builder.drift.checks.outcome import Check, Outcome, cannot_tell

LOG10_CHANCE = -6.0
"""log10 of the probability below which a moved minimum is not due to chance."""

EXPECTED = -LOG10_CHANCE * math.log(10)
"""Expected number of rows for which finding no row has the probability 10^LOG10_CHANCE."""

DOUBTFUL = -math.log(0.05)
"""Expected number of rows for which finding no row has the probability 5 %. A minimum that rose
past so many is not significantly higher, but not clear either."""

FACTOR = 4
"""A rise of a minimum by this factor must be detectable; else the check is undecided."""

STEPS = 30
"""Number of raised minimums tried in the search for the smallest detectable one."""

Counts = Sequence[tuple[int, int, int]]
"""Value, number of rows, and number of these rows missing from the other snapshot; ascending."""

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
class MinimumCountModel:
    """Model of the counts to expect in another snapshot if the minimum count is the same.

    Args:
        counts: Counts of the snapshot.
        growth: Sums over the rows in both snapshots, in this snapshot and in the other.
    """

    counts: Counts
    growth: tuple[int, int]

    @property
    def minimum(self) -> int:
        """Smallest count in the snapshot, taken as an estimate of its minimum-count threshold."""
        return self.counts[0][0]

    def expected_below(self, raised_minimum: int) -> float:
        """Return the expected number of rows below a raised minimum in the other snapshot."""
        values, rows, missing = (np.array(column) for column in zip(*self.counts, strict=True))
        means = values * (self.growth[1] / self.growth[0])
        inside = poisson.cdf(raised_minimum - 1, means) - poisson.cdf(self.minimum - 1, means)
        comparable = means >= 2 * raised_minimum
        stayed = 1.0
        if rows[comparable].sum():
            stayed = 1 - missing[comparable].sum() / rows[comparable].sum()
        return float((rows * inside).sum() * stayed * self._survival_ratio(raised_minimum))

    def expected_missing_rows(self, other_minimum: int) -> float:
        """Return the expected number of rows below the minimum of the other snapshot.

        It is 0 if that minimum is not higher.
        """
        return self.expected_below(other_minimum) if other_minimum > self.minimum else 0.0

    def _survival_ratio(self, raised_minimum: int) -> float:
        """Return the ratio of rows just above the minimum to rows in the next range, at most 1."""
        width = raised_minimum - self.minimum
        near = sum(rows for value, rows, _ in self.counts if value < raised_minimum)
        next_to = sum(
            rows
            for value, rows, _ in self.counts
            if raised_minimum <= value < raised_minimum + width
        )
        return min(1.0, near / next_to) if next_to else 1.0

    def smallest_detectable_minimum(self) -> int | None:
        """Return the smallest raised minimum that would be noticed, or None."""
        rise = (FACTOR - 1) * self.minimum
        tried = {self.minimum - (-rise * n // STEPS) for n in range(1, STEPS + 1)}
        for raised_minimum in sorted(tried):
            if self.expected_below(raised_minimum) >= EXPECTED:
                return raised_minimum
        return None


def check_minimum_counts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the smallest counts of queries and judgements between the snapshots."""
    moved, blind, sees, numbers = [], [], [], {}
    for label, (table, value) in MEASURED.items():
        before, after = _count_values(connection, table, value)
        if not (before and after):
            continue
        growth = _sum_common_values(connection, table, value)
        forward, backward = (
            MinimumCountModel(before, growth),
            MinimumCountModel(after, (growth[1], growth[0])),
        )
        least = (forward.minimum, backward.minimum)
        numbers[label] = {"least_from": least[0], "least_to": least[1]}
        missing = max(
            forward.expected_missing_rows(least[1]), backward.expected_missing_rows(least[0])
        )
        if missing >= EXPECTED:
            moved.append(f"the minimum number of {label} changed from {least[0]} to {least[1]}")
        elif missing >= DOUBTFUL:
            change = f"the change from {least[0]} to {least[1]} may be due to chance"
            blind.append(f"{label} ({change}; {_describe_needed_impressions(connection, forward)})")
        elif (raised := forward.smallest_detectable_minimum()) is None:
            blind.append(f"{label} ({_describe_needed_impressions(connection, forward)})")
        else:
            sees.append(f"a minimum of {raised} {label} instead of {least[0]}")
    if not numbers:
        return cannot_tell("a snapshot has neither queries nor judgements with counts")
    if moved:
        return Outcome(True, "; ".join(moved) + ": a threshold was changed", numbers)
    if blind:
        return Outcome(None, "too few rows are close to a threshold", numbers, "; ".join(blind))
    says = "no minimum count changed by more than chance allows"
    return Outcome(False, says, numbers, "; ".join(sees))


def _describe_needed_impressions(
    connection: duckdb.DuckDBPyConnection, model: MinimumCountModel
) -> str:
    """Describe how many impressions it takes to notice that a minimum was raised."""
    raised = FACTOR * model.minimum
    change = f"a minimum of {raised} instead of {model.minimum}"
    impressions = connection.execute(IMPRESSIONS).fetchall()[0][0]
    expected = model.expected_below(raised)
    if not (impressions and expected):
        return f"{change} is not detectable"
    needed = impressions * EXPECTED / expected
    rounded = int(float(f"{needed:.1e}"))
    return f"{change} is detectable with about {rounded:,} impressions"


def log10_probability(before: Counts, after: Counts) -> float:
    """Return log10 of the probability that the smallest count rose by chance; 0 if it did not.

    Args:
        before: Earlier counts.
        after: Later counts.
    """
    least = after[0][0]
    if least <= before[0][0]:
        return 0.0
    total = sum(rows for _, rows, _ in before)
    below = sum(gone for value, _, gone in before if value < least)
    if below == total:
        return -math.inf
    return sum(rows for _, rows, _ in after) * math.log10(1 - below / total)


def check_longest_query(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the length of the longest query between the snapshots."""
    before, after = _count_values(connection, "queries", f"-{WORDS}")
    if not before or not after:
        return cannot_tell("a snapshot lists no queries")
    numbers = {"longest_from": -before[0][0], "longest_to": -after[0][0]}
    says = f"the longest query has {-before[0][0]} words before and {-after[0][0]} after"
    if log10_probability(before, after) < LOG10_CHANCE:
        return Outcome(True, f"{says}, which chance does not explain: a limit was changed", numbers)
    if log10_probability(after, before) < LOG10_CHANCE:
        return Outcome(None, f"{says}: either a limit changed or users write more words", numbers)
    limit = _detectable_limit(before, sum(rows for _, rows, _ in after))
    if limit is None:
        return Outcome(None, says, numbers, "no limit from half the longest query up is detectable")
    return Outcome(False, says, numbers, f"a limit of {limit} words")


def _detectable_limit(before: Counts, rows_after: int) -> int | None:
    """Return the largest limit on query length that would be noticed; None if there is none."""
    longest = -before[0][0]
    total = sum(rows for _, rows, _ in before)
    for limit in range(longest - 1, max(0, longest // 2 - 1), -1):
        longer = sum(rows for value, rows, _ in before if -value > limit)
        kept = rows_after * (1 - longer / total)
        if longer == total or kept * math.log10(1 - longer / total) < LOG10_CHANCE:
            return limit
    return None


def _count_values(
    connection: duckdb.DuckDBPyConnection, table: str, value: str
) -> tuple[Counts, Counts]:
    names = {"table": table, "key": KEYS[table], "value": value}
    before, after = (
        connection.execute(COUNTS.format(here=here, there=there, **names)).fetchall()
        for here, there in (("from", "to"), ("to", "from"))
    )
    return before, after


def _sum_common_values(
    connection: duckdb.DuckDBPyConnection, table: str, value: str
) -> tuple[int, int]:
    sql = GROWTH.format(table=table, key=KEYS[table], value=value)
    before, after = connection.execute(sql).fetchall()[0]
    return (before, after) if before and after else (1, 1)


CHECKS = (
    Check("floors_stand", "Are the minimum counts the same?", check_minimum_counts),
    Check("longest_query_stands", "Is the limit of words per query the same?", check_longest_query),
)
