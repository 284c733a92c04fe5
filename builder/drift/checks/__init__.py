"""Checks that distinguish changes of construction from changes in the web and in its users.

They read the tables of a snapshot, or of two consecutive ones, as views of a DuckDB connection
(`queries`, `qrels`; `documents_from`, `documents_to`, `queries_from`, ..., and the change tables).
Further views may be empty: `coverage_from`, `host_coverage_from`, `click_estimates_from`,
`click_diagnostics_from`, `recorded_from`, and the same with `_to`. Each check returns a verdict
(construction, clear or cannot tell), its evidence in one sentence, and the smallest change that it
would have detected.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from builder.drift.checks import (
    addresses,
    attachment,
    crawling,
    grading,
    lists,
    pages,
    parameters,
    recording,
    scoring,
    selection,
    texts,
    thresholds,
)
from builder.drift.checks.neighbours import check_missing_pages
from builder.drift.checks.outcome import Check, Outcome
from builder.drift.checks.parameters import Recorded, store_recorded_parameters

SNAPSHOT_CHECKS: tuple[Check, ...] = lists.SNAPSHOT_CHECKS
PAIR_CHECKS: tuple[Check, ...] = (
    *parameters.CHECKS,
    *crawling.CHECKS,
    *recording.CHECKS,
    *lists.PAIR_CHECKS,
    *selection.CHECKS,
    *thresholds.CHECKS,
    *scoring.CHECKS,
    *grading.CHECKS,
    *attachment.CHECKS,
    *pages.CHECKS,
    *addresses.CHECKS,
    *texts.CHECKS,
)

VERDICTS = {True: "construction", False: "clear", None: "cannot tell"}


def check_snapshot(connection: duckdb.DuckDBPyConnection, snapshot: str) -> list[dict[str, Any]]:
    """Return the check records of one snapshot, from the views `queries` and `qrels`."""
    return [
        outcome_record(check.name, check.asks, check.answer(connection), (snapshot,))
        for check in SNAPSHOT_CHECKS
    ]


def check_pair(connection: duckdb.DuckDBPyConnection, pair: Sequence[str]) -> list[dict[str, Any]]:
    """Return the check records of two consecutive snapshots, from the views of both."""
    return [
        outcome_record(check.name, check.asks, check.answer(connection), pair)
        for check in PAIR_CHECKS
    ]


def check_inner_snapshots(
    connection: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the check records of all snapshots that lie between two others."""
    question = "Does the crawl contain the pages that both neighbouring crawls contain?"
    return [
        outcome_record("pages_stay", question, outcome, (name,))
        for name, outcome in check_missing_pages(connection, names)
    ]


def outcome_record(
    name: str, question: str, outcome: Outcome, snapshots: Sequence[str]
) -> dict[str, Any]:
    """Return the outcome of a check as a record of `drift.json`."""
    return {
        "check": name,
        "asks": question,
        "snapshots": list(snapshots),
        "verdict": VERDICTS[outcome.found],
        "evidence": outcome.evidence,
        "numbers": outcome.numbers,
        "sees": outcome.sees,
    }


__all__ = [
    "PAIR_CHECKS",
    "SNAPSHOT_CHECKS",
    "Check",
    "Outcome",
    "Recorded",
    "check_inner_snapshots",
    "check_pair",
    "check_snapshot",
    "store_recorded_parameters",
]
