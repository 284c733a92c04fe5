"""Outcome of a check, and the comparison of two shares on which most checks are based."""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb

from builder.statistics.significance import fisher_exact_p_value


@dataclass(frozen=True)
class Outcome:
    """Outcome of a check of how a collection was constructed.

    Args:
        found: Whether the construction changed; None if the data are insufficient.
        evidence: One sentence with the numbers that support the outcome.
        numbers: The same numbers by name.
        sees: The smallest change that this amount of data would show; if the data are
            insufficient, what would be needed. Empty if unknown.
    """

    found: bool | None
    evidence: str
    numbers: dict[str, Any] = field(default_factory=dict)
    sees: str = ""


@dataclass(frozen=True)
class Check:
    """Check that answers one question about how a collection was constructed.

    Args:
        name: Identifier in snake case.
        asks: The question in plain words.
        answer: Function that answers the question from the views of a DuckDB connection.
    """

    name: str
    asks: str
    answer: Callable[[duckdb.DuckDBPyConnection], Outcome]


def fetch_row(
    connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the only row of a query result as values by column name."""
    relation = connection.sql(sql, params=values)
    return dict(zip(relation.columns, relation.fetchall()[0], strict=True))


HOST = "split_part(url_key, '/', 3)"
"""SQL expression for the host of a document; empty if its URL is unknown."""


def format_share(value: float) -> str:
    """Format a share as a percentage: `34.2 %`."""
    return f"{100 * value:.1f} %"


def format_percentage_points(value: float) -> str:
    """Format a difference of two shares in percentage points: `5.0 points`."""
    return f"{100 * value:.1f} points"


def cannot_tell(reason: str, sees: str = "") -> Outcome:
    """Return the outcome of a check whose data are insufficient."""
    return Outcome(None, reason, {}, sees)


SIGNIFICANCE = 1e-4
"""Maximum p-value of Fisher's exact test for a significant difference of two shares."""

RESOLUTION = 200
"""The smallest detectable difference is rounded up to a multiple of 1 / RESOLUTION."""


@dataclass(frozen=True)
class ShareComparison:
    """Comparison of the share of rows with a property between two snapshots.

    Args:
        before: Rows with the property, and all rows, of the earlier snapshot.
        after: Rows with the property, and all rows, of the later snapshot.
        min_difference: Minimum difference that matters, however many rows there are.
    """

    before: tuple[int, int]
    after: tuple[int, int]
    min_difference: float

    @property
    def shares(self) -> tuple[float, float]:
        """Share of the earlier and of the later snapshot; 0 for a snapshot without rows."""
        first, second = (
            part / whole if whole else 0.0 for part, whole in (self.before, self.after)
        )
        return first, second

    @property
    def larger_side(self) -> str:
        """`to` if the share rose, else `from`."""
        return "to" if self.shares[1] > self.shares[0] else "from"

    @property
    def min_detectable_difference(self) -> float:
        """Smallest significant difference from the earlier share; 1.0 if there is none."""
        first = self.shares[0]
        direction = 1 if first <= 0.5 else -1
        steps = range(math.ceil(self.min_difference * RESOLUTION - 1e-9), RESOLUTION)

        def is_detectable(step: int) -> bool:
            return self._is_significant(first, first + direction * step / RESOLUTION)

        position = bisect.bisect_left(steps, True, key=is_detectable)
        return steps[position] / RESOLUTION if position < len(steps) else 1.0

    @property
    def is_large_enough(self) -> bool:
        """Whether the difference is large enough to matter, even if it may be due to chance."""
        before, after = self.shares
        return abs(after - before) >= self.min_difference

    @property
    def is_changed(self) -> bool:
        """Whether the difference is large enough to matter and statistically significant."""
        return self.is_large_enough and self._is_significant(*self.shares)

    def _is_significant(self, before: float, after: float) -> bool:
        """Whether two shares, given as counts, differ significantly."""
        counts = [
            (min(max(round(share * rows), 0), rows), rows)
            for share, (_, rows) in zip((before, after), (self.before, self.after), strict=True)
        ]
        return fisher_exact_p_value(*counts) <= SIGNIFICANCE


def compare_shares(
    comparison: ShareComparison,
    sentence: str,
    conclusion: str,
    numbers: dict[str, Any],
    max_detectable: float = 0.15,
) -> Outcome:
    """Return the outcome of a check that compares a share between two snapshots.

    Args:
        comparison: The shares before and after.
        sentence: Sentence that states both shares.
        conclusion: Conclusion to append if the shares differ.
        numbers: Counts from which the shares are computed.
        max_detectable: Largest value of `min_detectable_difference` at which equal shares are
            called clear; above it the outcome is undecided.
    """
    if comparison.is_changed:
        return Outcome(True, f"{sentence}: {conclusion}", numbers)
    detectable = format_percentage_points(comparison.min_detectable_difference)
    if comparison.min_detectable_difference > max_detectable:
        coarse = f"only a difference of at least {detectable} is detectable"
        return Outcome(None, sentence, numbers, coarse)
    if comparison.is_large_enough:
        chance = f"a difference below {detectable} may be due to chance"
        return Outcome(None, sentence, numbers, chance)
    return Outcome(False, sentence, numbers, f"a difference of {detectable}")
