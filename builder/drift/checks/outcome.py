"""What a check says: construction, clear or cannot tell, and which change it would have found."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import duckdb


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


DEVIATIONS = 3.9
"""Standard errors that a difference of two shares must exceed: chance brings 1 in 10^4 there."""

STEP = 0.005
"""Steps in which the smallest visible difference is looked for."""


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
        for step in range(1, round(1 / STEP)):
            difference = step * STEP
            if difference >= self.least and self._counts(first, first + direction * difference):
                return difference
        return 1.0

    @property
    def changed(self) -> bool:
        """Whether the difference matters and is not chance."""
        before, after = self.values
        return abs(after - before) >= self.least and self._counts(before, after)

    def _counts(self, before: float, after: float) -> bool:
        """Whether a difference of two shares of so many rows is no chance."""
        rows = (self.before[1], self.after[1])
        if not all(rows):
            return False
        pooled = (before * rows[0] + after * rows[1] + 1) / (sum(rows) + 2)
        error = math.sqrt(pooled * (1 - pooled) * (1 / rows[0] + 1 / rows[1]))
        return abs(after - before) >= DEVIATIONS * error


def compare_shares(
    shares: Shares, says: str, verdict: str, numbers: dict[str, Any], most: float = 0.15
) -> Outcome:
    """The outcome of a check that compares two shares.

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
    return Outcome(False, says, numbers, f"a difference of {points(shares.visible)}")
