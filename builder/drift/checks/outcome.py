"""What a check says: construction, clear or cannot tell, and which change it would have found."""

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Outcome:
    """The answer of one check.

    Args:
        found: Whether the construction changed; None where the data cannot tell.
        evidence: One sentence with the numbers it rests on.
        numbers: Those numbers.
        sees: The smallest change that the check finds at this amount of data; where it cannot
            tell, what it would need. Empty where nothing can be said.
    """

    found: bool | None
    evidence: str
    numbers: dict[str, Any] = field(default_factory=dict)
    sees: str = ""


@dataclass(frozen=True)
class Check:
    """One question about the construction of a collection.

    Args:
        name: Identifier, lower-case words joined by underscores.
        asks: The question in plain words.
        answer: Answers it from the views of a DuckDB connection.
    """

    name: str
    asks: str
    answer: Callable[[duckdb.DuckDBPyConnection], Outcome]


def row(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any]:
    """The only row of a query, by column."""
    relation = connection.sql(sql)
    return dict(zip(relation.columns, relation.fetchall()[0], strict=True))


def percent(value: float) -> str:
    """A share in words: `34.2 %`."""
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """A difference of two shares in words: `5.0 points`."""
    return f"{100 * value:.1f} points"


def unknown(reason: str, sees: str = "") -> Outcome:
    """An answer that the data cannot give."""
    return Outcome(None, reason, {}, sees)


SIGNIFICANCE = 1e-4
"""Largest p-value of Fisher's exact test at which a difference of two shares is not chance."""

RESOLUTION = 200
"""The smallest detectable difference is a multiple of 1 / RESOLUTION."""


@dataclass(frozen=True)
class Shares:
    """The share of rows with a property, before and after.

    Args:
        before: Rows with the property, and all rows, of the earlier snapshot.
        after: The same of the later one.
        least: Difference that matters, however many rows there are.
    """

    before: tuple[int, int]
    after: tuple[int, int]
    least: float

    @property
    def values(self) -> tuple[float, float]:
        """Both shares; 0 where there is no row."""
        first, second = (
            part / whole if whole else 0.0 for part, whole in (self.before, self.after)
        )
        return first, second

    @property
    def visible(self) -> float:
        """The smallest difference from the earlier share that would count; 1 where none would."""
        first = self.values[0]
        direction = 1 if first <= 0.5 else -1
        steps = range(math.ceil(self.least * RESOLUTION - 1e-9), RESOLUTION)

        def is_visible(step: int) -> bool:
            return self._is_significant(first, first + direction * step / RESOLUTION)

        position = bisect.bisect_left(steps, True, key=is_visible)
        return steps[position] / RESOLUTION if position < len(steps) else 1.0

    @property
    def differs(self) -> bool:
        """Whether the difference is large enough to matter; it may be chance."""
        before, after = self.values
        return abs(after - before) >= self.least

    @property
    def changed(self) -> bool:
        """Whether the difference matters and is not chance."""
        return self.differs and self._is_significant(*self.values)

    def _is_significant(self, before: float, after: float) -> bool:
        """Whether two shares of these numbers of rows differ by more than chance."""
        table = []
        for share, (_, rows) in zip((before, after), (self.before, self.after), strict=True):
            part = min(max(round(share * rows), 0), rows)
            table.append([part, rows - part])
        return bool(stats.fisher_exact(np.array(table)).pvalue <= SIGNIFICANCE)


def compare_shares(
    shares: Shares, says: str, verdict: str, numbers: dict[str, Any], most: float = 0.15
) -> Outcome:
    """Return the outcome of a check that compares two shares.

    Args:
        shares: The shares.
        says: Both of them in words.
        verdict: What a difference means.
        numbers: Counts behind the shares.
        most: A visible difference above this is too coarse to call the pair clear.
    """
    if shares.changed:
        return Outcome(True, f"{says}: {verdict}", numbers)
    if shares.visible > most:
        coarse = f"only a difference of {points(shares.visible)} or more would show"
        return Outcome(None, says, numbers, coarse)
    if shares.differs:
        chance = f"a difference below {points(shares.visible)} could be chance"
        return Outcome(None, says, numbers, chance)
    return Outcome(False, says, numbers, f"a difference of {points(shares.visible)}")
