"""The stage `pair_drift`: measures the drift between two consecutive snapshots.

Reads documents, queries and qrels of both snapshots, and their change tables. Writes the table
`pair_drift`; each row has one part of the pair's entry in `drift.json`, as JSON. A pair is measured
only once: adding a later snapshot does not change its rows.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import duckdb
import polars as pl

from builder.definition.model import Workflow
from builder.drift import documents as document_drift
from builder.drift import judgements
from builder.drift import queries as query_drift
from builder.drift.checks import SnapshotParameters, check_snapshot_pair, store_recorded_parameters
from builder.io.tables import Table, write_frame
from builder.parameters import StageParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import From, FromName, Same, SettingReference, To, ToName
from builder.runtime.scope import Scope, split_pair_key
from builder.runtime.stage import stage
from schemas import (
    ClickDiagnostics,
    ClickEstimates,
    Coverage,
    DocumentChanges,
    Documents,
    HostCoverage,
    PairDrift,
    QrelChanges,
    Qrels,
    Queries,
    QueryChanges,
)

CHECKS = "checks"

OPTIONAL_TABLES = {
    "coverage": Coverage,
    "host_coverage": HostCoverage,
    "click_estimates": ClickEstimates,
    "click_diagnostics": ClickDiagnostics,
}
"""Schemas of tables that imported releases lack, by table name; empty views replace them."""


def _recorded_parameters(workflow: Workflow, pair_key: str) -> dict[str, Any]:
    """Return the parameters of both snapshots of a pair, by snapshot name and dotted key."""
    return {
        name: {
            f"{section}.{parameter}": value
            for section in StageParameters.model_fields
            for parameter, value in workflow.section(section, name).model_dump(mode="json").items()
        }
        for name in split_pair_key(pair_key)
    }


RecordedParameters = Annotated[
    Mapping[str, SnapshotParameters], SettingReference(_recorded_parameters)
]


@stage("pair_drift", version="18", scope=Scope.PAIR, writes=(PairDrift,))
def measure_pair(
    out: Path,
    *,
    documents_from: From[Documents],
    documents_to: To[Documents],
    queries_from: From[Queries],
    queries_to: To[Queries],
    qrels_from: From[Qrels],
    qrels_to: To[Qrels],
    document_changes: Same[DocumentChanges],
    query_changes: Same[QueryChanges],
    qrel_changes: Same[QrelChanges],
    from_snapshot: FromName,
    to_snapshot: ToName,
    limits: ResourceLimits,
    progress: Progress,  # noqa: ARG001 - every stage is given one
    coverage_from: From[Coverage] | None = None,
    coverage_to: To[Coverage] | None = None,
    host_coverage_from: From[HostCoverage] | None = None,
    host_coverage_to: To[HostCoverage] | None = None,
    click_estimates_from: From[ClickEstimates] | None = None,
    click_estimates_to: To[ClickEstimates] | None = None,
    click_diagnostics_from: From[ClickDiagnostics] | None = None,
    click_diagnostics_to: To[ClickDiagnostics] | None = None,
    recorded: RecordedParameters | None = None,
) -> RowLedger:
    """Write the table `pair_drift` for two consecutive snapshots.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        queries_from: Queries of the earlier snapshot.
        queries_to: Queries of the later snapshot.
        qrels_from: Qrels of the earlier snapshot.
        qrels_to: Qrels of the later snapshot.
        document_changes: Document changes of the pair.
        query_changes: Query changes of the pair.
        qrel_changes: Qrel changes of the pair.
        from_snapshot: Name of the earlier snapshot.
        to_snapshot: Name of the later snapshot.
        limits: Memory limit, number of threads and scratch folder.
        progress: Not used; measuring a pair takes seconds.
        coverage_from: Crawl coverage of shown pages in the earlier snapshot; None if unknown.
        coverage_to: Crawl coverage of shown pages in the later snapshot; None if unknown.
        host_coverage_from: Crawl coverage per host in the earlier snapshot; None if unknown.
        host_coverage_to: Crawl coverage per host in the later snapshot; None if unknown.
        click_estimates_from: Click estimates of the earlier snapshot; None if missing.
        click_estimates_to: Click estimates of the later snapshot; None if missing.
        click_diagnostics_from: Click diagnostics of the earlier snapshot; None if missing.
        click_diagnostics_to: Click diagnostics of the later snapshot; None if missing.
        recorded: Parameters with which each snapshot was built, by snapshot name and dotted key.

    Returns:
        Ledger (numbers of tables read, kept and rejected); no table is rejected.
    """
    views = {
        "documents_from": documents_from,
        "documents_to": documents_to,
        "queries_from": queries_from,
        "queries_to": queries_to,
        "qrels_from": qrels_from,
        "qrels_to": qrels_to,
        "document_changes": document_changes,
        "query_changes": query_changes,
        "qrel_changes": qrel_changes,
    }
    optional = {
        "coverage_from": coverage_from,
        "coverage_to": coverage_to,
        "host_coverage_from": host_coverage_from,
        "host_coverage_to": host_coverage_to,
        "click_estimates_from": click_estimates_from,
        "click_estimates_to": click_estimates_to,
        "click_diagnostics_from": click_diagnostics_from,
        "click_diagnostics_to": click_diagnostics_to,
    }
    pair = (from_snapshot, to_snapshot)
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        for name, table in views.items():
            table.create_view(connection, name)
        create_optional_views(connection, optional)
        for side, name in zip(("from", "to"), pair, strict=True):
            store_recorded_parameters(connection, side, (recorded or {}).get(name))
        measured = _measure_parts(connection, pair)
    rows = [
        {
            "from_snapshot": from_snapshot,
            "to_snapshot": to_snapshot,
            "part": part,
            "content": json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False),
        }
        for part, content in sorted(measured.items())
    ]
    frame = pl.DataFrame(rows, schema=PairDrift.dtypes())
    write_frame(frame, out / "pair_drift.parquet", PairDrift)
    read = len(views) + sum(table is not None for table in optional.values())
    ledger = RowLedger("tables", rows_in=read, rows_out=read)
    with RejectWriter(out, "pair_drift", ledger):
        return ledger


def create_optional_views(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, Table | None]
) -> None:
    """Create views of the optional tables of both snapshots; missing tables become empty views.

    Args:
        connection: A DuckDB connection not shared with other callers.
        tables: Tables by view name.
    """
    for kind, schema in OPTIONAL_TABLES.items():
        for side in ("from", "to"):
            name = f"{kind}_{side}"
            table = tables.get(name)
            if table is not None and table.paths:
                table.create_view(connection, name)
            else:
                nothing = pl.DataFrame(schema=schema.dtypes()).to_arrow()
                connection.from_arrow(nothing).create_view(name)


def _measure_parts(connection: duckdb.DuckDBPyConnection, pair: tuple[str, str]) -> dict[str, Any]:
    connection.execute(document_drift.CREATE_URL_VIEW)
    return {
        "documents": document_drift.document_change_statistics(connection),
        "queries": query_drift.query_change_statistics(connection),
        "qrels": judgements.qrel_change_statistics(connection),
        CHECKS: check_snapshot_pair(connection, pair),
    }


def read_pair_drift(table: Table) -> dict[str, Any]:
    """Read the parts `documents`, `queries`, `qrels` and `checks` of a table `pair_drift`."""
    rows = table.scan().select("part", "content").collect()
    return {part: json.loads(content) for part, content in rows.iter_rows()}
