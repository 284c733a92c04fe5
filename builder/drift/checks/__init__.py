"""Checks whether differences between snapshots are artifacts of how the collection was built.

Each check reads the tables of one snapshot, or of two consecutive snapshots, from a DuckDB
connection. The views of a single snapshot are `queries` and `qrels`. The views of a pair are named
`documents_from`, `documents_to`, `queries_from`, etc.; `_from` is the earlier snapshot. The views
`coverage_*`, `host_coverage_*`, `click_estimates_*`, `click_diagnostics_*` and `recorded_*` may be
empty. Each check returns a verdict, its evidence in one sentence, and the smallest change that it
would have detected. The verdict is `construction` (an artifact was found), `clear` (none was found)
or `cannot tell`.
"""

from collections.abc import Sequence
from typing import Any

import duckdb

from builder.drift.checks import (
    attachment,
    crawling,
    grading,
    languages,
    lists,
    logs,
    pages,
    parameters,
    query_lengths,
    recording,
    scoring,
    selection,
    text_changes,
    texts,
    thresholds,
    url_forms,
)
from builder.drift.checks.neighbors import check_missing_pages
from builder.drift.checks.outcome import Check, Outcome
from builder.drift.checks.parameters import SnapshotParameters, store_recorded_parameters

SNAPSHOT_CHECKS: tuple[Check, ...] = lists.SNAPSHOT_CHECKS
PAIR_CHECKS: tuple[Check, ...] = (
    *parameters.CHECKS,
    *crawling.CHECKS,
    *recording.CHECKS,
    *logs.CHECKS,
    *lists.PAIR_CHECKS,
    *selection.CHECKS,
    *thresholds.CHECKS,
    *query_lengths.CHECKS,
    *scoring.CHECKS,
    *grading.CHECKS,
    *attachment.CHECKS,
    *languages.CHECKS,
    *pages.CHECKS,
    *url_forms.CHECKS,
    *texts.CHECKS,
    *text_changes.CHECKS,
)

NEIGHBORS_CHECK = "pages_stay"
"""Name of the check that compares a crawl with the previous and the next crawl."""
VERDICTS = {True: "construction", False: "clear", None: "cannot tell"}
"""Verdict in `drift.json` for each value of `Outcome.is_construction`."""


def check_snapshot(connection: duckdb.DuckDBPyConnection, snapshot: str) -> list[dict[str, Any]]:
    """Run all checks of a single snapshot; return their records for `drift.json`."""
    return [
        create_outcome_record(check.name, check.question, check.run(connection), (snapshot,))
        for check in SNAPSHOT_CHECKS
    ]


def check_snapshot_pair(
    connection: duckdb.DuckDBPyConnection, pair: Sequence[str]
) -> list[dict[str, Any]]:
    """Run all checks of two consecutive snapshots; return their records for `drift.json`."""
    return [
        create_outcome_record(check.name, check.question, check.run(connection), pair)
        for check in PAIR_CHECKS
    ]


def check_intermediate_crawls(
    connection: duckdb.DuckDBPyConnection, snapshot_names: Sequence[str]
) -> list[dict[str, Any]]:
    """Check all crawls but the first and last for missing pages; return records for `drift.json`.

    A page is missing from a crawl if both the previous and the next crawl contain it.

    Args:
        connection: Connection with the view `documents_map`.
        snapshot_names: Names of all snapshots in chronological order.
    """
    question = "Does the crawl contain the pages that both neighboring crawls contain?"
    return [
        create_outcome_record(NEIGHBORS_CHECK, question, outcome, (name,))
        for name, outcome in check_missing_pages(connection, snapshot_names)
    ]


def create_outcome_record(
    check_name: str, question: str, outcome: Outcome, snapshots: Sequence[str]
) -> dict[str, Any]:
    """Convert the outcome of a check to a record of `drift.json`."""
    return {
        "check": check_name,
        "asks": question,
        "snapshots": list(snapshots),
        "verdict": VERDICTS[outcome.is_construction],
        "evidence": outcome.evidence,
        "numbers": outcome.numbers,
        "sees": outcome.detectable,
    }


__all__ = [
    "NEIGHBORS_CHECK",
    "PAIR_CHECKS",
    "SNAPSHOT_CHECKS",
    "Check",
    "Outcome",
    "SnapshotParameters",
    "check_intermediate_crawls",
    "check_snapshot",
    "check_snapshot_pair",
    "store_recorded_parameters",
]
