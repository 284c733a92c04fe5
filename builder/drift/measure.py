"""Everything that changed over a collection's snapshots: the stage that writes `drift.json`.

In: documents, queries and qrels of every snapshot, the change tables of consecutive snapshots and
the maps. Out: `drift.json` (keys sorted, exact integers, ratios divided once, logarithms and roots
rounded to 12 decimals) and `report.html`, made from `drift.json` alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.drift import documents as document_drift
from builder.drift import judgements
from builder.drift import queries as query_drift
from builder.drift.checks import check_pair, check_snapshot
from builder.drift.checks.parameters import Recorded
from builder.drift.report import render_report
from builder.drift.vocabulary import compare_words
from builder.drift.words import count_words
from builder.parameters import ChangeParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Ledger, RejectWriter, Table

FORMAT = "longeval-drift/1"

SIZES = "SELECT count(*), coalesce(sum(tokens), 0)::BIGINT FROM documents"

Pair = tuple[str, str]
Tables = Mapping[str, Table]
PairTables = Mapping[Pair, Table]


@dataclass(frozen=True)
class Series:
    """The tables of a collection, by snapshot in order of time or by pair of neighbours."""

    documents: Tables
    queries: Tables
    qrels: Tables
    document_changes: PairTables
    query_changes: PairTables
    qrel_changes: PairTables
    documents_map: Table
    queries_map: Table

    @property
    def names(self) -> tuple[str, ...]:
        """Snapshot names in order of time."""
        return tuple(self.documents)

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return 3 * len(self.documents) + 3 * len(self.document_changes) + 2

    def view_snapshot(self, connection: duckdb.DuckDBPyConnection, name: str, suffix: str) -> None:
        """Make `documents`, `queries` and `qrels` of a snapshot views, with a suffix."""
        self.documents[name].view(connection, f"documents{suffix}")
        self.queries[name].view(connection, f"queries{suffix}")
        self.qrels[name].view(connection, f"qrels{suffix}")

    def view_pair(self, connection: duckdb.DuckDBPyConnection, pair: Pair) -> None:
        """Make all tables of two neighbours views."""
        for name, suffix in zip(pair, ("_from", "_to"), strict=True):
            self.view_snapshot(connection, name, suffix)
        self.document_changes[pair].view(connection, "document_changes")
        self.query_changes[pair].view(connection, "query_changes")
        self.qrel_changes[pair].view(connection, "qrel_changes")


def measure(
    out: Path,
    *,
    documents: Tables,
    queries: Tables,
    qrels: Tables,
    document_changes: PairTables,
    query_changes: PairTables,
    qrel_changes: PairTables,
    documents_map: Table,
    queries_map: Table,
    params: ChangeParameters,
    limits: Limits,
    progress: Progress,
    recorded: Mapping[str, Recorded] | None = None,
) -> Ledger:
    """Write `drift.json` and `report.html`.

    Args:
        out: Existing empty folder.
        documents: Documents of each snapshot, by name, in order of time.
        queries: Queries of each snapshot.
        qrels: Judgements of each snapshot.
        document_changes: Document changes of each pair of consecutive snapshots.
        query_changes: Query changes of each such pair.
        qrel_changes: Judgement changes of each such pair.
        documents_map: Snapshots that hold each document.
        queries_map: Snapshots that hold each query.
        params: What the change tables were made with; recorded.
        limits: Memory, threads, scratch space.
        progress: Told of every document whose words are counted.
        recorded: Parameters that snapshots were built with, by dotted key, where they may differ.

    Returns:
        Tables read; none is rejected.
    """
    series = Series(
        documents,
        queries,
        qrels,
        document_changes,
        query_changes,
        qrel_changes,
        documents_map,
        queries_map,
    )
    drift = measure_series(series, params, limits, progress, recorded or {})
    (out / "drift.json").write_text(to_json(drift), encoding="utf-8")
    (out / "report.html").write_text(render_report(drift), encoding="utf-8")
    ledger = Ledger("tables", rows_in=series.tables, rows_out=series.tables)
    with RejectWriter(out, "drift", ledger):
        return ledger


def measure_series(
    series: Series,
    params: ChangeParameters,
    limits: Limits,
    progress: Progress,
    recorded: Mapping[str, Recorded],
) -> dict[str, Any]:
    """The content of `drift.json`, described in the manual."""
    names = series.names
    with limits.connect(share=0.5) as connection:
        series.documents_map.view(connection, "documents_map")
        series.queries_map.view(connection, "queries_map")
        stack(connection, "all_queries", series.queries, "query_id, text, topics, impressions")
        stack(connection, "all_qrels", series.qrels, "query_id, doc_id, grade, examinations")
        patterns = document_drift.presence_patterns(connection)
        snapshots, checks = _snapshots(connection, series)
        pairs = []
        for pair in series.document_changes:
            series.view_pair(connection, pair)
            pairs.append(_pair(connection, pair))
            checks += check_pair(connection, pair, *(recorded.get(name) for name in pair))
        return {
            "format": FORMAT,
            "parameters": params.model_dump(mode="json"),
            "snapshots": snapshots,
            "documents": document_drift.over_all(patterns, names),
            "queries": query_drift.over_all(connection, names),
            "judgements": judgements.over_all(connection, names),
            "pairs": pairs,
            "checks": checks,
            "vocabulary": _vocabulary(connection, series, limits.scratch, progress),
        }


def to_json(drift: Mapping[str, Any]) -> str:
    """Canonical JSON: keys sorted, one space of indentation, LF, no NaN."""
    return json.dumps(drift, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def stack(connection: duckdb.DuckDBPyConnection, name: str, tables: Tables, columns: str) -> None:
    """Make one view of the tables of all snapshots, with the snapshot's `place` in time."""
    whole: duckdb.DuckDBPyRelation | None = None
    for place, table in enumerate(tables.values()):
        rows = connection.read_parquet([str(path) for path in table.paths])
        rows = rows.select(f"{place} AS place, {columns}")
        whole = rows if whole is None else whole.union(rows)
    if whole is not None:
        whole.create_view(name)


def _snapshots(
    connection: duckdb.DuckDBPyConnection, series: Series
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows, checks = judgements.of_each(connection, series.names), []
    listed = query_drift.listed_and_judged(connection)
    nothing = {"listed": 0, "judged": 0, "listed_only": 0, "judged_only": 0}
    for place, name in enumerate(series.names):
        series.view_snapshot(connection, name, "")
        documents, tokens = connection.execute(SIZES).fetchall()[0]
        queries = listed.get(place, nothing)
        rows[place] |= {"documents": documents, "tokens": tokens, "queries": queries}
        checks += check_snapshot(connection, name)
    return rows, checks


def _pair(connection: duckdb.DuckDBPyConnection, pair: Pair) -> dict[str, Any]:
    return {
        "from": pair[0],
        "to": pair[1],
        "documents": document_drift.between(connection),
        "queries": query_drift.between(connection),
        "qrels": judgements.between(connection),
    }


def _vocabulary(
    connection: duckdb.DuckDBPyConnection, series: Series, scratch: Path, progress: Progress
) -> dict[str, list[dict[str, Any]]]:
    """Compare the words of every two snapshots, on all documents and on the aligned core."""
    names, files = series.names, {}
    in_all = pl.col("snapshots").list.len() == len(names)
    core = series.documents_map.scan().filter(in_all).select("doc_id")
    for name, table in series.documents.items():
        files[name] = scratch / f"words-{name}.parquet"
        progress.start(f"words of {name}", None, "documents")
        count_words(connection, table, core, files[name], progress)
        progress.finish()
    neighbours = set(series.document_changes)
    return {
        label: [
            {"from": pair[0], "to": pair[1]}
            | compare_words(
                connection, files[pair[0]], files[pair[1]], column, words=pair in neighbours
            )
            for pair in combinations(names, 2)
        ]
        for label, column in (("all", "n"), ("core", "core"))
    }
