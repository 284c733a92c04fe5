"""Construction change or world change: checks that tell them apart.

In: the tables of a snapshot, or of two consecutive ones, as views of a DuckDB connection
(`queries`, `qrels`; `documents_from`, `documents_to`, `queries_from`, ..., and the change tables).
Further views may be empty: `coverage_from`, `host_coverage_from`, `click_estimates_from`,
`recorded_from`, and the same `_to`. Out: one finding per check: construction, clear or cannot tell,
with the evidence in one sentence and the smallest change that the check would have found.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from builder.drift.checks import (
    attachment,
    crawling,
    grading,
    lists,
    pages,
    parameters,
    scoring,
    selection,
    texts,
    thresholds,
)
from builder.drift.checks.neighbours import pages_stay
from builder.drift.checks.outcome import Check, Outcome
from builder.drift.checks.parameters import Recorded, record

OF_SNAPSHOT: tuple[Check, ...] = lists.OF_SNAPSHOT
OF_PAIR: tuple[Check, ...] = (
    *parameters.CHECKS,
    *crawling.CHECKS,
    *lists.OF_PAIR,
    *selection.CHECKS,
    *thresholds.CHECKS,
    *scoring.CHECKS,
    *grading.CHECKS,
    *attachment.CHECKS,
    *pages.CHECKS,
    *texts.CHECKS,
)

VERDICTS = {True: "construction", False: "clear", None: "cannot tell"}


def check_snapshot(connection: duckdb.DuckDBPyConnection, snapshot: str) -> list[dict[str, Any]]:
    """Findings about one snapshot; needs the views `queries` and `qrels`."""
    return [
        finding(check.name, check.asks, check.answer(connection), (snapshot,))
        for check in OF_SNAPSHOT
    ]


def check_pair(connection: duckdb.DuckDBPyConnection, pair: Sequence[str]) -> list[dict[str, Any]]:
    """Findings about two consecutive snapshots; needs all views named above."""
    return [finding(check.name, check.asks, check.answer(connection), pair) for check in OF_PAIR]


def check_neighbours(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Findings about each snapshot between two others; needs the view `documents_map`."""
    asks = "Does the crawl hold the pages that its neighbours hold?"
    return [
        finding("pages_stay", asks, outcome, (name,))
        for name, outcome in pages_stay(connection, names)
    ]


def finding(name: str, asks: str, outcome: Outcome, snapshots: Sequence[str]) -> dict[str, Any]:
    """The record of one check in `drift.json`."""
    return {
        "check": name,
        "asks": asks,
        "snapshots": list(snapshots),
        "verdict": VERDICTS[outcome.found],
        "evidence": outcome.evidence,
        "numbers": outcome.numbers,
        "sees": outcome.sees,
    }


__all__ = [
    "OF_PAIR",
    "OF_SNAPSHOT",
    "Check",
    "Outcome",
    "Recorded",
    "check_neighbours",
    "check_pair",
    "check_snapshot",
    "record",
]
