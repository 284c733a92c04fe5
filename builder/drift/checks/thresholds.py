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
of equal width (at most 1), because other rules may drop rows with low counts. The judgements of a
query appear and disappear together, so E counts queries rather than judgements: it is multiplied by
the ratio of queries to rows among the rows below the new minimum. If the probability that a rise is
due to chance is below 5 %, but above 10^-6, the check is undecided. It is also undecided if one
minimum rises although most of the rows below it are in both snapshots: then the counts of rare
queries rose, for example because bots send them. Rows with a count of 0 are ignored: nothing was
counted (manual assessments, imported releases). The number of judged documents per query is not
compared: it changes with the traffic, but does not follow a Poisson distribution.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import scipy

from builder.drift.checks.outcome import Check, Outcome, undecided_outcome

MAX_LOG10_P_VALUE = -6.0
"""A changed threshold is significant if log10 of its p-value is at most this value."""

MIN_EXPECTED_ROWS = -MAX_LOG10_P_VALUE * math.log(10)
"""If a minimum count was raised, and at least this many rows are expected below the new minimum,
their absence is significant: the probability of finding none is at most 10^-6."""

MIN_DOUBTFUL_ROWS = -math.log(0.05)
"""If a minimum count was raised, and at least this many rows are expected below the new minimum,
their absence leaves the check undecided: the probability of finding none is at most 5 %."""

MIN_MISSING_RATIO = 0.3
"""Minimum ratio of the rows missing below a new, higher minimum count to the rows that it would be
expected to drop. If fewer are missing, the counts of rare rows rose instead."""

DETECTABLE_FACTOR = 4
"""The check is undecided if it would not detect a minimum that rose by this factor."""

MAX_CANDIDATES = 30
"""Maximum number of candidate minimums when searching for the smallest detectable increase."""

MINIMUM = attrgetter("minimum")

ValueCounts = Sequence[tuple[int, int, int]]
"""Tuples of a value, the number of rows with this value, and the number of these rows that are
missing from the other snapshot; in ascending order of values."""

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

QUERIES_BY_SMALLEST_VALUE = """
SELECT smallest::BIGINT, count(*) FROM (
    SELECT min({value}) AS smallest FROM {table}_{here} WHERE {value} <> 0 GROUP BY query_id
) GROUP BY smallest
"""

COMMON_SUMS = """
SELECT coalesce(sum(f.{value}), 0)::BIGINT, coalesce(sum(t.{value}), 0)::BIGINT
FROM {table}_from AS f JOIN {table}_to AS t USING ({key})
"""

TOTAL_IMPRESSIONS = "SELECT coalesce(sum(impressions), 0)::BIGINT FROM queries_from"


@dataclass(frozen=True)
class PoissonCountModel:
    """Poisson model that predicts the counts of one snapshot from the counts of the other snapshot.

    It assumes that both snapshots have the same minimum count. Below, "this snapshot" is the one
    from whose counts the model predicts, and "the other snapshot" the one that it predicts.

    Args:
        counts: Number of rows of this snapshot for each value; see `ValueCounts`.
        growth: Sums of the values in this snapshot and in the other snapshot, over the rows that
            both contain; the growth is the second sum divided by the first.
        queries: Number of queries by the smallest value of their rows; None if each row is a query.
    """

    counts: ValueCounts
    growth: tuple[int, int]
    queries: Sequence[tuple[int, int]] | None = None

    @property
    def minimum(self) -> int:
        """Smallest value in this snapshot, an estimate of its minimum count."""
        return self.counts[0][0]

    def expected_rows_below(self, raised_minimum: int) -> float:
        """Return how many rows a raised minimum is expected to drop from the other snapshot.

        These are the rows that the model predicts between the minimum of this snapshot and the
        raised minimum.
        """
        _, rows, missing, means = self._predict()
        cdf = scipy.stats.poisson.cdf
        inside = cdf(raised_minimum - 1, means) - cdf(self.minimum - 1, means)
        comparable = means >= 2 * raised_minimum
        stayed = 1.0
        if rows[comparable].sum():
            stayed = 1 - missing[comparable].sum() / rows[comparable].sum()
        expected = (rows * inside).sum() * stayed * self._ratio_to_next_range(raised_minimum)
        return float(expected * self._query_to_row_ratio_below(raised_minimum))

    def expected_missing_rows(self, other_minimum: int) -> float:
        """Return how many rows the other snapshot is expected to lose to its higher minimum count.

        Args:
            other_minimum: Minimum count of the other snapshot; if it is not above the minimum of
                this snapshot, the result is 0.
        """
        return self.expected_rows_below(other_minimum) if other_minimum > self.minimum else 0.0

    def are_rows_dropped(self, raised_minimum: int) -> bool:
        """Whether the rows that a raised minimum would drop are missing from the other snapshot.

        It suffices that `MIN_MISSING_RATIO` of them are missing. Also true if the raised minimum is
        expected to drop less than one row.
        """
        values, rows, missing, means = self._predict()
        below = values < raised_minimum
        dropped = (rows * scipy.stats.poisson.cdf(raised_minimum - 1, means))[below].sum()
        return bool(dropped < 1 or missing[below].sum() >= MIN_MISSING_RATIO * dropped)

    def _predict(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the columns of `counts`, and the mean predicted for each value."""
        values, rows, missing = (np.array(column) for column in zip(*self.counts, strict=True))
        return values, rows, missing, values * (self.growth[1] / self.growth[0])

    def _ratio_to_next_range(self, raised_minimum: int) -> float:
        """Return the number of rows below a raised minimum, divided by the number just above it.

        The rows just above it are in the next range of values, which has the same width. The ratio
        is at most 1, and it is 1 if the next range has no rows.
        """
        width = raised_minimum - self.minimum
        near = sum(rows for value, rows, _ in self.counts if value < raised_minimum)
        next_to = sum(
            rows
            for value, rows, _ in self.counts
            if raised_minimum <= value < raised_minimum + width
        )
        return min(1.0, near / next_to) if next_to else 1.0

    def _query_to_row_ratio_below(self, raised_minimum: int) -> float:
        """Return the ratio of queries to rows, among the rows below a raised minimum."""
        if self.queries is None:
            return 1.0
        rows = sum(count for value, count, _ in self.counts if value < raised_minimum)
        queries = sum(count for value, count in self.queries if value < raised_minimum)
        return queries / rows

    def find_smallest_detectable_minimum(self) -> int | None:
        """Return the lowest raised minimum that the check would detect; None if it detects none."""
        rise = (DETECTABLE_FACTOR - 1) * self.minimum
        tried = {self.minimum - (-rise * n // MAX_CANDIDATES) for n in range(1, MAX_CANDIDATES + 1)}
        for raised_minimum in sorted(tried):
            if self.expected_rows_below(raised_minimum) >= MIN_EXPECTED_ROWS:
                return raised_minimum
        return None


def check_minimum_counts(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the minimum counts per query and per judgement between the two snapshots."""
    models = dict(_fit_count_models(connection))
    if not models:
        return undecided_outcome("a snapshot has neither queries nor judgements with counts")
    numbers = {
        label: {"least_from": forward.minimum, "least_to": backward.minimum}
        for label, (forward, backward) in models.items()
    }
    rare_rows_rose = not all(
        min(pair, key=MINIMUM).are_rows_dropped(max(map(MINIMUM, pair))) for pair in models.values()
    )
    needed = partial(_describe_needed_impressions, connection)
    moved, blind, sees = [], [], []
    for label, (forward, backward) in models.items():
        least = (forward.minimum, backward.minimum)
        missing = min(forward, backward, key=MINIMUM).expected_missing_rows(max(least))
        change = f"the change from {least[0]} to {least[1]}"
        if missing >= MIN_DOUBTFUL_ROWS and rare_rows_rose:
            blind.append(f"{label} ({change} may only mean that rare queries became more frequent)")
        elif missing >= MIN_EXPECTED_ROWS:
            moved.append(f"the minimum number of {label} changed from {least[0]} to {least[1]}")
        elif missing >= MIN_DOUBTFUL_ROWS:
            blind.append(f"{label} ({change} may be due to chance; {needed(forward)})")
        elif (raised := forward.find_smallest_detectable_minimum()) is None:
            blind.append(f"{label} ({needed(forward)})")
        else:
            sees.append(f"a minimum of {raised} {label} instead of {least[0]}")
    if moved:
        return Outcome(True, "; ".join(moved) + ": a threshold changed", numbers)
    if blind:
        says = "the counts do not show whether a threshold changed"
        return Outcome(None, says, numbers, "; ".join(blind))
    says = "no minimum count changed by more than chance allows"
    return Outcome(False, says, numbers, "; ".join(sees))


def _fit_count_models(
    connection: duckdb.DuckDBPyConnection,
) -> Iterator[tuple[str, tuple[PoissonCountModel, PoissonCountModel]]]:
    """Yield, for each kind of count, the models of the earlier and of the later snapshot.

    Kinds of counts that a snapshot lacks are left out.
    """
    for label, (table, value) in COLUMNS_WITH_MINIMUM.items():
        before, after = count_rows_by_value(connection, table, value)
        if before and after:
            growth = _sum_over_shared_rows(connection, table, value)
            queries = _count_queries_by_smallest_value(connection, table, value)
            forward = PoissonCountModel(before, growth, queries[0])
            yield label, (forward, PoissonCountModel(after, (growth[1], growth[0]), queries[1]))


def _describe_needed_impressions(
    connection: duckdb.DuckDBPyConnection, model: PoissonCountModel
) -> str:
    """Return a phrase that says how many impressions are needed to detect a raised minimum."""
    raised = DETECTABLE_FACTOR * model.minimum
    change = f"a minimum of {raised} instead of {model.minimum}"
    impressions = connection.execute(TOTAL_IMPRESSIONS).fetchall()[0][0]
    expected = model.expected_rows_below(raised)
    if not (impressions and expected):
        return f"{change} is not detectable"
    needed = impressions * MIN_EXPECTED_ROWS / expected
    rounded = int(float(f"{needed:.1e}"))
    return f"{change} is detectable with about {rounded:,} impressions"


def count_rows_by_value(
    connection: duckdb.DuckDBPyConnection, table: str, value_sql: str
) -> tuple[ValueCounts, ValueCounts]:
    """Count the rows of both snapshots by value; see `ValueCounts`.

    Args:
        connection: DuckDB connection with the views of the pair.
        table: `queries` or `qrels`.
        value_sql: SQL expression of the value, such as a column.
    """
    names = {"table": table, "key": TABLE_KEYS[table], "value": value_sql}
    before, after = (
        connection.execute(ROWS_BY_VALUE.format(here=here, there=there, **names)).fetchall()
        for here, there in (("from", "to"), ("to", "from"))
    )
    return before, after


def _count_queries_by_smallest_value(
    connection: duckdb.DuckDBPyConnection, table: str, value_sql: str
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    before, after = (
        connection.execute(
            QUERIES_BY_SMALLEST_VALUE.format(table=table, value=value_sql, here=here)
        ).fetchall()
        for here in ("from", "to")
    )
    return before, after


def _sum_over_shared_rows(
    connection: duckdb.DuckDBPyConnection, table: str, value_sql: str
) -> tuple[int, int]:
    """Return the sums of the values in each snapshot, over the rows that are in both snapshots.

    Both sums are 1 if either is 0, so that the growth is 1.
    """
    sql = COMMON_SUMS.format(table=table, key=TABLE_KEYS[table], value=value_sql)
    before, after = connection.execute(sql).fetchall()[0]
    return (before, after) if before and after else (1, 1)


CHECKS = (Check("floors_stand", "Are the minimum counts the same?", check_minimum_counts),)
