"""The stage `drift`: measures the drift over all snapshots of a collection.

Reads documents, queries and qrels of every snapshot, the change tables of consecutive snapshots,
`documents_map` and `queries_map`. Writes `drift.json` (sorted keys, exact integers, ratios from one
division, logarithms and roots rounded to 12 decimals) and `report.html`, which is rendered from
`drift.json` alone.
"""

import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb

from builder.drift import clicks as click_drift
from builder.drift import documents as document_drift
from builder.drift import judgements
from builder.drift import queries as query_drift
from builder.drift.checks import check_intermediate_crawls, check_snapshot
from builder.drift.pair_drift import CHECKS, read_pair_drift
from builder.drift.report import render_report
from builder.drift.series import SnapshotSeries, Tables
from builder.drift.vocabulary import IN_ALL, IN_CORE, compare_words, join_word_counts
from builder.io.tables import create_union_view
from builder.parameters import ChangeParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import All, Collection, Pairs
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from schemas import (
    ClickDiagnostics,
    Documents,
    DocumentsMap,
    LostWords,
    PairDrift,
    Qrels,
    Queries,
    QueriesMap,
    WordCounts,
)

FORMAT = "longeval-drift/2"

SIZES = """
SELECT count(*), coalesce(sum(tokens), 0)::BIGINT, count(*) FILTER (truncated) FROM documents
"""


@stage("drift", version="10", scope=Scope.COLLECTION)
def measure_drift(
    out: Path,
    *,
    documents: All[Documents],
    queries: All[Queries],
    qrels: All[Qrels],
    word_counts: All[WordCounts],
    lost_words: Pairs[LostWords],
    pair_drift: Pairs[PairDrift],
    documents_map: Collection[DocumentsMap],
    queries_map: Collection[QueriesMap],
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
    click_diagnostics: All[ClickDiagnostics] | None = None,
) -> RowLedger:
    """Write `drift.json` and `report.html` of a collection.

    Args:
        out: Existing empty folder.
        documents: Documents by snapshot name, in chronological order.
        queries: Queries by snapshot name.
        qrels: Qrels by snapshot name.
        word_counts: Word counts by snapshot name.
        lost_words: Word counts of the documents that leave the core (documents in all snapshots so
            far), by pair of snapshots.
        pair_drift: Statistics and checks, by pair of consecutive snapshots.
        documents_map: Table of the snapshots that contain each document.
        queries_map: Table of the snapshots that contain each query.
        params: Parameters of the change tables; copied to `drift.json`.
        limits: Memory limit, number of threads and scratch folder.
        progress: Advances by one per comparison of the vocabularies of two snapshots.
        click_diagnostics: Click diagnostics by snapshot name; None for an imported release.

    Returns:
        Ledger (numbers of tables read, kept and rejected); no table is rejected.
    """
    series = SnapshotSeries(
        documents,
        queries,
        qrels,
        word_counts,
        lost_words,
        pair_drift,
        documents_map,
        queries_map,
    )
    drift = measure_all_snapshots(series, params, limits, progress, click_diagnostics or {})
    (out / "drift.json").write_text(to_json(drift), encoding="utf-8")
    (out / "report.html").write_text(render_report(drift), encoding="utf-8")
    tables = series.table_count + len(click_diagnostics or ())
    ledger = RowLedger("tables", rows_in=tables, rows_out=tables)
    with RejectWriter(out, "drift", ledger):
        return ledger


def measure_all_snapshots(
    series: SnapshotSeries,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
    click_diagnostics: Tables,
) -> dict[str, Any]:
    """Return the content of `drift.json`, computed from the tables of all snapshots."""
    drift = measure_without_clicks(series, params, limits, progress)
    return drift | {"clicks": click_drift.click_prediction_statistics(click_diagnostics)}


def measure_without_clicks(
    series: SnapshotSeries,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> dict[str, Any]:
    """Return the content of `drift.json` without the statistics of click models."""
    names = series.names
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        series.documents_map.create_view(connection, "documents_map")
        series.queries_map.create_view(connection, "queries_map")
        create_all_snapshots_view(
            connection, "all_queries", series.queries, "query_id, text, topics, impressions"
        )
        create_all_snapshots_view(
            connection, "all_qrels", series.qrels, "query_id, doc_id, grade, examinations"
        )
        patterns = document_drift.count_presence_patterns(connection)
        snapshots, checks = _measure_snapshots(connection, series)
        checks += check_intermediate_crawls(connection, names)
        pairs = []
        for pair, table in series.pair_drift.items():
            parts = read_pair_drift(table)
            checks += parts.pop(CHECKS)
            pairs.append({"from": pair[0], "to": pair[1]} | parts)
        return {
            "format": FORMAT,
            "parameters": params.model_dump(mode="json"),
            "snapshots": snapshots,
            "documents": document_drift.document_presence_statistics(patterns, names),
            "queries": query_drift.query_statistics(connection, names),
            "judgements": judgements.grade_agreement_between_snapshots(connection, names),
            "pairs": pairs,
            "checks": checks,
            "vocabulary": _compare_vocabulary(connection, series, limits.scratch, progress),
        }


def to_json(drift: Mapping[str, Any]) -> str:
    """Return the text of `drift.json`: sorted keys, indented by one space, LF line ends, no NaN."""
    return json.dumps(drift, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def create_all_snapshots_view(
    connection: duckdb.DuckDBPyConnection, name: str, tables: Tables, columns: str
) -> None:
    """Create a view that concatenates the tables of all snapshots.

    Args:
        connection: DuckDB connection.
        name: Name of the view.
        tables: Table of each snapshot, in chronological order.
        columns: Columns to select; the 0-based snapshot index is added as `index`.
    """
    relations = [
        table.relation(connection).select(f"{index} AS index, {columns}")
        for index, table in enumerate(tables.values())
    ]
    create_union_view(relations, name)


def _measure_snapshots(
    connection: duckdb.DuckDBPyConnection, series: SnapshotSeries
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows, checks = judgements.qrel_statistics_by_snapshot(connection, series.names), []
    listed = query_drift.count_listed_and_judged_queries(connection)
    nothing = {"listed": 0, "judged": 0, "listed_only": 0, "judged_only": 0}
    for index, name in enumerate(series.names):
        series.create_snapshot_views(connection, name)
        sizes = dict(
            zip(
                ("documents", "tokens", "truncated"), _fetch_document_sizes(connection), strict=True
            )
        )
        rows[index] |= sizes | {"queries": listed.get(index, nothing)}
        checks += check_snapshot(connection, name)
    return rows, checks


def _fetch_document_sizes(connection: duckdb.DuckDBPyConnection) -> tuple[int, ...]:
    """Return the numbers of documents, words and truncated documents of a snapshot."""
    return tuple(connection.execute(SIZES).fetchall()[0])


def _compare_vocabulary(
    connection: duckdb.DuckDBPyConnection, series: SnapshotSeries, scratch: Path, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """Compare the words of every pair of snapshots, in all documents and in the core.

    The core consists of the documents that are in every snapshot.
    """
    names = series.names
    lost = list(series.lost_words.values())
    joined_counts = scratch / "words.parquet"
    join_word_counts(connection, series.word_counts, lost, joined_counts)
    result: dict[str, list[dict[str, Any]]] = {IN_ALL: [], IN_CORE: []}
    progress.start("words", len(names) * (len(names) - 1), "comparisons")
    for scope, found in result.items():
        for before, after in combinations(range(len(names)), 2):
            listed = after == before + 1
            words = compare_words(joined_counts, before, after, scope, list_words=listed)
            found.append({"from": names[before], "to": names[after]} | words)
            progress.advance(1)
    progress.finish()
    return result
