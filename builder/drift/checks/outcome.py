"""Defines checks and their outcomes, and compares a share of rows between two snapshots."""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb

from builder.statistics.significance import fisher_exact_p_value


@dataclass(frozen=True)
class Outcome:
    """Outcome of a check for artifacts of how a collection was built.

    Args:
        is_construction: Whether the check found an artifact of the construction; None if the data
            do not allow a decision.
        evidence: One sentence with the numbers that support the outcome.
        numbers: The numbers in the evidence, by name.
        detectable: Smallest change that the check would have detected, or the data needed to
            decide; empty if unknown.
    """

    is_construction: bool | None
    evidence: str
    numbers: dict[str, Any] = field(default_factory=dict)
    detectable: str = ""


@dataclass(frozen=True)
class Check:
    """Check that answers one question about how a collection was built.

    Args:
        name: Identifier in snake case.
        question: Question that the check answers.
        run: Function that runs the check on the views of a DuckDB connection.
    """

    name: str
    question: str
    run: Callable[[duckdb.DuckDBPyConnection], Outcome]


def fetch_single_row(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Run a SQL query that returns one row; return the row as a dictionary by column name.

    Args:
        connection: Connection with the tables of the query.
        sql: The query.
        parameters: Values of the query's named parameters.
    """
    relation = connection.sql(sql, params=parameters)
    return dict(zip(relation.columns, relation.fetchall()[0], strict=True))


SITE_SQL = (
    "coalesce(nullif(regexp_extract(split_part(url_key, '/', 3), "
    r"'[^.]+\.([^.]{1,3}\.)?[^.]+$'), ''), split_part(url_key, '/', 3))"
)
"""SQL expression for the site of a document; empty if the URL is unknown. A site consists of all
hosts with the same last two labels, such as `a.blogs.example` and `b.blogs.example`, because one
owner may change them all. If the second-to-last label has at most three characters, as in
`bbc.co.uk`, the last three labels must be the same."""


def format_share(share: float) -> str:
    """Format a share in [0, 1] as a percentage, such as `34.2 %`."""
    return f"{100 * share:.1f} %"


def format_percentage_points(difference: float) -> str:
    """Format a difference between two shares in percentage points, such as `5.0 points`."""
    return f"{100 * difference:.1f} points"


def undecided_outcome(reason: str, detectable: str = "") -> Outcome:
    """Return the outcome of a check for which the data are insufficient.

    Args:
        reason: Why the check cannot be decided.
        detectable: Data that would be needed to decide, or the reason why no change can be
            detected; empty if unknown.
    """
    return Outcome(None, reason, {}, detectable)


SIGNIFICANCE_LEVEL = 1e-4
"""Maximum p-value of Fisher's exact test at which two shares differ significantly."""

STEPS_PER_UNIT = 200
"""Number of steps from 0 to 1; detectable differences in shares are rounded up to whole steps."""


@dataclass(frozen=True)
class ShareComparison:
    """Comparison of the share of rows with a property between two snapshots.

    Args:
        before: Number of rows with the property and total number of rows in the earlier snapshot.
        after: Number of rows with the property and total number of rows in the later snapshot.
        min_difference: Minimum difference in shares to report; smaller differences are ignored even
            if statistically significant.
    """

    before: tuple[int, int]
    after: tuple[int, int]
    min_difference: float

    @property
    def shares(self) -> tuple[float, float]:
        """Shares in the earlier and the later snapshot; 0 for a snapshot without rows."""
        before, after = (
            part / whole if whole else 0.0 for part, whole in (self.before, self.after)
        )
        return before, after

    @property
    def side_with_larger_share(self) -> str:
        """`to` if the share is larger in the later snapshot, else `from`."""
        return "to" if self.shares[1] > self.shares[0] else "from"

    @property
    def min_detectable_difference(self) -> float:
        """Smallest detectable difference from the earlier share; 1.0 if none is detectable."""
        earlier = self.shares[0]
        direction = 1 if earlier <= 0.5 else -1
        steps = range(math.ceil(self.min_difference * STEPS_PER_UNIT - 1e-9), STEPS_PER_UNIT)

        def is_difference_detectable(n_steps: int) -> bool:
            later = earlier + direction * n_steps / STEPS_PER_UNIT
            return self._differ_significantly(earlier, later)

        index = bisect.bisect_left(steps, True, key=is_difference_detectable)
        return steps[index] / STEPS_PER_UNIT if index < len(steps) else 1.0

    @property
    def reaches_min_difference(self) -> bool:
        """Whether the shares differ by at least `min_difference`, significantly or not."""
        before, after = self.shares
        return abs(after - before) >= self.min_difference

    @property
    def is_changed(self) -> bool:
        """Whether the shares differ significantly and by at least `min_difference`."""
        return self.reaches_min_difference and self._differ_significantly(*self.shares)

    def _differ_significantly(self, share_before: float, share_after: float) -> bool:
        """Whether two shares differ significantly, given the numbers of rows of the snapshots."""
        counts = [
            (min(max(round(share * rows), 0), rows), rows)
            for share, (_, rows) in zip(
                (share_before, share_after), (self.before, self.after), strict=True
            )
        ]
        return fisher_exact_p_value(*counts) <= SIGNIFICANCE_LEVEL


def create_share_outcome(
    comparison: ShareComparison,
    sentence: str,
    conclusion: str,
    counts: dict[str, Any],
    max_detectable: float = 0.15,
) -> Outcome:
    """Return the outcome of a check that compares a share between two snapshots.

    Args:
        comparison: Shares of the earlier and the later snapshot.
        sentence: Sentence that states the two shares.
        conclusion: Conclusion to append to the sentence if the shares differ.
        counts: Counts from which the shares are computed, to be stored in `Outcome.numbers`.
        max_detectable: Threshold for the smallest detectable difference: above it, the check is
            undecided unless the shares differ.
    """
    if comparison.is_changed:
        return Outcome(True, f"{sentence}: {conclusion}", counts)
    detectable = format_percentage_points(comparison.min_detectable_difference)
    if comparison.min_detectable_difference > max_detectable:
        coarse = f"only a difference of at least {detectable} is detectable"
        return Outcome(None, sentence, counts, coarse)
    if comparison.reaches_min_difference:
        chance = f"a difference below {detectable} may be due to chance"
        return Outcome(None, sentence, counts, chance)
    return Outcome(False, sentence, counts, f"a difference of {detectable}")
