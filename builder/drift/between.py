"""What is measured of two consecutive snapshots: the stage that writes `pair_drift`.

In: documents, queries and qrels of both, and their change tables. Out: one row for each part of
what `drift.json` says of the pair, as JSON. A pair is measured once; a later snapshot does not
change what is found here.
"""

import json
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.drift import documents as document_drift
from builder.drift import judgements
from builder.drift import queries as query_drift
from builder.drift.checks import check_pair
from builder.io.tables import Table, write_frame
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import From, FromName, Same, To, ToName
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from schemas import DocumentChanges, Documents, PairDrift, QrelChanges, Qrels, Queries, QueryChanges

CHECKS = "checks"


@stage("pair_drift", version="4", scope=Scope.PAIR, writes=(PairDrift,))
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
    limits: Limits,
    progress: Progress,  # noqa: ARG001 - every stage is given one
) -> Ledger:
    """Write `pair_drift` of two consecutive snapshots.

    Args:
        out: Existing empty folder; receives the table and `rejects` (always empty).
        documents_from: Documents of the earlier snapshot.
        documents_to: Documents of the later snapshot.
        queries_from: Queries of the earlier snapshot.
        queries_to: Queries of the later snapshot.
        qrels_from: Judgements of the earlier snapshot.
        qrels_to: Judgements of the later snapshot.
        document_changes: Document changes of the pair.
        query_changes: Query changes of the pair.
        qrel_changes: Judgement changes of the pair.
        from_snapshot: Name of the earlier snapshot.
        to_snapshot: Name of the later snapshot.
        limits: Memory, threads, scratch space.
        progress: Not told of anything; a pair is quick.

    Returns:
        Tables read; none is rejected.
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
    with limits.connect(share=0.5) as connection:
        for name, table in views.items():
            table.view(connection, name)
        measured = _measure(connection, (from_snapshot, to_snapshot))
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
    ledger = Ledger("tables", rows_in=len(views), rows_out=len(views))
    with RejectWriter(out, "pair_drift", ledger):
        return ledger


def _measure(connection: duckdb.DuckDBPyConnection, pair: tuple[str, str]) -> dict[str, Any]:
    connection.execute(document_drift.ADDRESSES)
    return {
        "documents": document_drift.between(connection),
        "queries": query_drift.between(connection),
        "qrels": judgements.between(connection),
        CHECKS: check_pair(connection, pair),
    }


def read_pair(table: Table) -> dict[str, Any]:
    """The parts of a `pair_drift` table: `documents`, `queries`, `qrels`, `checks`."""
    rows = table.scan().select("part", "content").collect()
    return {part: json.loads(content) for part, content in rows.iter_rows()}
