"""What a check says: found or clear, in one sentence with its numbers."""

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
    """

    found: bool | None
    evidence: str
    numbers: dict[str, Any] = field(default_factory=dict)


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


def unknown(reason: str) -> Outcome:
    """An answer that the data cannot give."""
    return Outcome(None, reason)
