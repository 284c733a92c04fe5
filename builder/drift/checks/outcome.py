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


DEVIATIONS = 4.5
"""Standard errors that a difference of two shares must exceed: chance brings 7 in 10^6 there."""


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
        first, second = (part / whole if whole else 0.0 for part, whole in self._sides)
        return first, second

    @property
    def visible(self) -> float:
        """The smallest difference that is not chance: `least`, or `DEVIATIONS` standard errors."""
        if not all(whole for _, whole in self._sides):
            return math.inf
        rows = sum(whole for _, whole in self._sides)
        pooled = (sum(part for part, _ in self._sides) + 1) / (rows + 2)
        error = math.sqrt(pooled * (1 - pooled) * sum(1 / whole for _, whole in self._sides))
        return max(self.least, DEVIATIONS * error)

    @property
    def changed(self) -> bool:
        """Whether the difference is visible."""
        before, after = self.values
        return abs(after - before) >= self.visible

    @property
    def _sides(self) -> tuple[tuple[int, int], tuple[int, int]]:
        return self.before, self.after


def compare_shares(
    shares: Shares, says: str, verdict: str, numbers: dict[str, Any], most: float = 0.2
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
        coarse = f"only a difference above {points(min(shares.visible, 1.0))} would show"
        return Outcome(None, says, numbers, coarse)
    return Outcome(False, says, numbers, f"a difference of {points(shares.visible)}")
