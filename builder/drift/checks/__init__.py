"""Construction change or world change: checks that tell them apart.

In: the tables of a snapshot, or of two consecutive ones, as views of a DuckDB connection
(`queries`, `qrels`; `documents_from`, `documents_to`, `queries_from`, ..., and the change tables).
Out: one finding for each check: found, clear or unknown, with the evidence in one sentence.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from builder.drift.checks import attachment, grading, lists, pages, scoring, selection, thresholds
from builder.drift.checks.outcome import Check, Outcome
from builder.drift.checks.parameters import Recorded, parameters_agree

OF_SNAPSHOT: tuple[Check, ...] = lists.OF_SNAPSHOT
OF_PAIR: tuple[Check, ...] = (
    *lists.OF_PAIR,
    *selection.CHECKS,
    *thresholds.CHECKS,
    *scoring.CHECKS,
    *grading.CHECKS,
    *attachment.CHECKS,
    *pages.CHECKS,
)

VERDICTS = {True: "construction", False: "clear", None: "unknown"}


def check_snapshot(connection: duckdb.DuckDBPyConnection, snapshot: str) -> list[dict[str, Any]]:
    """Findings about one snapshot; needs the views `queries` and `qrels`."""
    return [
        finding(check.name, check.asks, check.answer(connection), (snapshot,))
        for check in OF_SNAPSHOT
    ]


def check_pair(connection: duckdb.DuckDBPyConnection, pair: Sequence[str]) -> list[dict[str, Any]]:
    """Findings about two consecutive snapshots; needs all views named above."""
    return [finding(check.name, check.asks, check.answer(connection), pair) for check in OF_PAIR]


def check_parameters(
    pair: Sequence[str], before: Recorded | None = None, after: Recorded | None = None
) -> dict[str, Any]:
    """Finding about the parameters of two consecutive snapshots.

    Args:
        pair: Names of both snapshots.
        before: Parameters recorded for the earlier one, by dotted key.
        after: Those of the later one.
    """
    recorded = parameters_agree(before, after)
    return finding("parameters_agree", "Do recorded parameters agree?", recorded, pair)


def finding(name: str, asks: str, outcome: Outcome, snapshots: Sequence[str]) -> dict[str, Any]:
    """The record of one check in `drift.json`."""
    return {
        "check": name,
        "asks": asks,
        "snapshots": list(snapshots),
        "verdict": VERDICTS[outcome.found],
        "evidence": outcome.evidence,
        "numbers": outcome.numbers,
    }


__all__ = [
    "OF_PAIR",
    "OF_SNAPSHOT",
    "Check",
    "Outcome",
    "check_pair",
    "check_parameters",
    "check_snapshot",
]
