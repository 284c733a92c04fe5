"""Checks that the counts required to keep a query or a judgement did not change.

An example of such a count is the number of users of a query. If rows below a minimum count are
dropped, the smallest count is about this minimum. Suppose that the minimum number of users per
query rises from 5 to 20. A query with v users in the earlier snapshot is expected to have v * g
users in the later one, where g is the growth in users of the queries in both snapshots. The Poisson
distribution gives the probability of a count between 5 and 19. The sum E of these probabilities is
the expected number of queries with 5 to 19 users in the later snapshot under the old minimum; the
probability that there are none is e^-E. E is multiplied by the share of frequent queries (expected
to have at least twice the new minimum) that remain, because other changes remove queries at all
counts. It is also multiplied by the ratio of rows below the new minimum to rows in the next range
of equal width (at most 1), because other rules may drop rows with low counts. If the probability
that a rise is due to chance is below 5 %, but above 10^-6, the check is undecided. Rows with a
count of 0 are ignored: nothing was counted (manual assessments, imported releases). The number of
judged documents per query is not compared: it changes with the traffic, but does not follow a
Poisson distribution.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from scipy.stats import poisson

from builder.drift.checks.outcome import Check, Outcome, undecided_outcome

MAX_LOG10_P_VALUE = -6.0
"""Maximum log10 of the p-value at which a changed minimum or limit is significant."""

MIN_EXPECTED_ROWS = -MAX_LOG10_P_VALUE * math.log(10)
"""Minimum number of rows expected below a raised minimum for their absence to be significant: if so
many rows are expected, the probability of finding none is 10^-6."""

MIN_DOUBTFUL_ROWS = -math.log(0.05)
"""Minimum number of rows expected below a raised minimum for their absence to leave the check
undecided: if so many rows are expected, the probability of finding none is 5 %."""

DETECTABLE_FACTOR = 4
"""If a rise of a minimum by this factor would not be detected, the check is undecided."""

MAX_CANDIDATES = 30
"""Maximum number of candidate minimums when searching for the smallest detectable increase."""

ValueCounts = Sequence[tuple[int, int, int]]
"""Each value, number of rows with it, and number of these rows that the other snapshot lacks; in
ascending order of values."""

COLUMNS_WITH_MINIMUM = {
    "impressions of a query": ("queries", "impressions"),
    "users of a query": ("queries", "users"),
    "examinations of a judgement": ("qrels", "examinations"),
}

TABLE_KEYS = {"queries": "query_id", "qrels": "query_id, doc_id"}

ROWS_BY_VALUE = """
WITH missing AS (SELECT * FROM {table}_{here} ANTI JOIN {table}_{there} USING ({key})),
rows AS (
    SELECT {value} AS value, false AS missing FROM {table}_{here}
    SEMI JOIN {table}_{there} USING ({key})
    UNION ALL SELECT {value}, true FROM missing
)
SELECT value::BIGINT, count(*), count(*) FILTER (missing)
FROM rows WHERE value <> 0 GROUP BY value ORDER BY value
"""

COMMON_SUMS = """
SELECT coalesce(sum(f.{value}), 0)::BIGINT, coalesce(sum(t.{value}), 0)::BIGINT
FROM {table}_from AS f JOIN {table}_to AS t USING ({key})
"""

TOTAL_IMPRESSIONS = "SELECT coalesce(sum(impressions), 0)::BIGINT FROM queries_from"

WORD_COUNT = r"len(regexp_extract_all(text, '\S+'))"


@dataclass(frozen=True)
class PoissonCountModel:
    """Poisson model that predicts one snapshot's counts from another with the same minimum count.

    Args:
        counts: Number of rows of this snapshot by value; see `ValueCounts`.
        growth: Sums of the values in this snapshot and in the other snapshot, over the rows that
            both snapshots contain.
    """

    counts: ValueCounts
    growth: tuple[int, int]

    @property
    def minimum(self) -> int:
        """Smallest value in this snapshot, an estimate of its minimum count."""
        return self.counts[0][0]

    def expected_rows_below(self, raised_minimum: int) -> float:
        """Return how many rows are expected to be below a raised minimum in the other snapshot."""
        values, rows, missing = (np.array(column) for column in zip(*self.counts, strict=True))
        means = values * (self.growth[1] / self.growth[0])
        inside = poisson.cdf(raised_minimum - 1, means) - poisson.cdf(self.minimum - 1, means)
        comparable = means >= 2 * raised_minimum
        stayed = 1.0
        if rows[comparable].sum():
            stayed = 1 - missing[comparable].sum() / rows[comparable].sum()
        return float((rows * inside).sum() * stayed * self._ratio_to_next_range(raised_minimum))

    def expected_missing_rows(self, other_minimum: int) -> float:
        """Return how many rows the other snapshot is expected to lack because of its minimum count.

        Args:
            other_minimum: Minimum count of the other snapshot; if it is not above the minimum of
                this snapshot, the result is 0.
        """
        return self.expected_rows_below(other_minimum) if other_minimum > self.minimum else 0.0

    def _ratio_to_next_range(self, raised_minimum: int) -> float:
        """Return the ratio of rows below a raised minimum to rows in the next range, at most 1.

        Both ranges of values have the same width. The ratio is 1 if the next range has no rows.
        """
        width = raised_minimum - self.minimum
        near = sum(rows for value, rows, _ in self.counts if value < raised_minimum)
        next_to = sum(
            rows
            for value, rows, _ in self.counts
            if raised_minimum <= value < raised_minimum + width
        )
        return min(1.0, near / next_to) if next_to else 1.0

    def find_smallest_detectable_minimum(self) -> int | None:
        """Return the smallest raised minimum that would be detected; None if there is none."""
        rise = (DETECTABLE_FACTOR - 1) * self.minimum
        tried = {self.minimum - (-rise * n // MAX_CANDIDATES) for n in range(1, MAX_CANDIDATES + 1)}
        for raised_minimum in sorted(tried):
            if self.expected_rows_below(raised_minimum) >= MIN_EXPECTED_ROWS:
                return raised_minimum
        return None


def check_minimum_counts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the minimum counts per query and per judgement between the two snapshots."""
    moved, blind, sees, numbers = [], [], [], {}
    for label, (table, value) in COLUMNS_WITH_MINIMUM.items():
        before, after = _count_rows_by_value(connection, table, value)
        if not (before and after):
            continue
        growth = _sum_common_values(connection, table, value)
        forward, backward = (
            PoissonCountModel(before, growth),
            PoissonCountModel(after, (growth[1], growth[0])),
        )
        least = (forward.minimum, backward.minimum)
        numbers[label] = {"least_from": least[0], "least_to": least[1]}
        missing = max(
            forward.expected_missing_rows(least[1]), backward.expected_missing_rows(least[0])
        )
        if missing >= MIN_EXPECTED_ROWS:
            moved.append(f"the minimum number of {label} changed from {least[0]} to {least[1]}")
        elif missing >= MIN_DOUBTFUL_ROWS:
            change = f"the change from {least[0]} to {least[1]} may be due to chance"
            blind.append(f"{label} ({change}; {_describe_needed_impressions(connection, forward)})")
        elif (raised := forward.find_smallest_detectable_minimum()) is None:
            blind.append(f"{label} ({_describe_needed_impressions(connection, forward)})")
        else:
            sees.append(f"a minimum of {raised} {label} instead of {least[0]}")
    if not numbers:
        return undecided_outcome("a snapshot has neither queries nor judgements with counts")
    if moved:
        return Outcome(True, "; ".join(moved) + ": a threshold was changed", numbers)
    if blind:
        return Outcome(None, "too few rows are close to a threshold", numbers, "; ".join(blind))
    says = "no minimum count changed by more than chance allows"
    return Outcome(False, says, numbers, "; ".join(sees))


def _describe_needed_impressions(
    connection: duckdb.DuckDBPyConnection, model: PoissonCountModel
) -> str:
    """Describe how many impressions are needed to detect a rise of the minimum."""
    raised = DETECTABLE_FACTOR * model.minimum
    change = f"a minimum of {raised} instead of {model.minimum}"
    impressions = connection.execute(TOTAL_IMPRESSIONS).fetchall()[0][0]
    expected = model.expected_rows_below(raised)
    if not (impressions and expected):
        return f"{change} is not detectable"
    needed = impressions * MIN_EXPECTED_ROWS / expected
    rounded = int(float(f"{needed:.1e}"))
    return f"{change} is detectable with about {rounded:,} impressions"


def log10_p_value_of_higher_minimum(before: ValueCounts, after: ValueCounts) -> float:
    """Return log10 of the probability that the smallest value rose by chance.

    Args:
        before: Number of rows by value in the earlier snapshot.
        after: Number of rows by value in the later snapshot.

    Returns:
        log10 of the probability; 0 if the smallest value did not rise.
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
    """Compare the lengths, in words, of the longest queries of the two snapshots."""
    before, after = _count_rows_by_value(connection, "queries", f"-{WORD_COUNT}")
    if not before or not after:
        return undecided_outcome("a snapshot lists no queries")
    numbers = {"longest_from": -before[0][0], "longest_to": -after[0][0]}
    says = f"the longest query has {-before[0][0]} words before and {-after[0][0]} after"
    if log10_p_value_of_higher_minimum(before, after) < MAX_LOG10_P_VALUE:
        return Outcome(True, f"{says}, which chance does not explain: a limit was changed", numbers)
    if log10_p_value_of_higher_minimum(after, before) < MAX_LOG10_P_VALUE:
        return Outcome(None, f"{says}: either a limit changed or users write more words", numbers)
    limit = _find_detectable_length_limit(before, sum(rows for _, rows, _ in after))
    if limit is None:
        return Outcome(None, says, numbers, "no limit from half the longest query up is detectable")
    return Outcome(False, says, numbers, f"a limit of {limit} words")


def _find_detectable_length_limit(before: ValueCounts, rows_after: int) -> int | None:
    """Return the largest limit on query length, in words, that would be detected.

    Args:
        before: Number of queries of the earlier snapshot by negated length in words.
        rows_after: Number of queries of the later snapshot.

    Returns:
        The limit; None if no limit of at least half the longest query would be detected.
    """
    longest = -before[0][0]
    total = sum(rows for _, rows, _ in before)
    for limit in range(longest - 1, max(0, longest // 2 - 1), -1):
        longer = sum(rows for value, rows, _ in before if -value > limit)
        kept = rows_after * (1 - longer / total)
        if longer == total or kept * math.log10(1 - longer / total) < MAX_LOG10_P_VALUE:
            return limit
    return None


def _count_rows_by_value(
    connection: duckdb.DuckDBPyConnection, table: str, value_sql: str
) -> tuple[ValueCounts, ValueCounts]:
    names = {"table": table, "key": TABLE_KEYS[table], "value": value_sql}
    before, after = (
        connection.execute(ROWS_BY_VALUE.format(here=here, there=there, **names)).fetchall()
        for here, there in (("from", "to"), ("to", "from"))
    )
    return before, after


def _sum_common_values(
    connection: duckdb.DuckDBPyConnection, table: str, value_sql: str
) -> tuple[int, int]:
    sql = COMMON_SUMS.format(table=table, key=TABLE_KEYS[table], value=value_sql)
    before, after = connection.execute(sql).fetchall()[0]
    return (before, after) if before and after else (1, 1)


CHECKS = (
    Check("floors_stand", "Are the minimum counts the same?", check_minimum_counts),
    Check("longest_query_stands", "Is the limit of words per query the same?", check_longest_query),
)
