"""Converts ids of runs and imported releases to keys shared by all snapshots, and back.

An imported snapshot has the file `release_ids.parquet`, which maps each id of the release to the
key that identifies the same query or document in every snapshot. In snapshots built from raw data,
ids and keys are the same.
"""

import re
from pathlib import Path

import polars as pl

from builder.io import parquet
from builder.trec.runs import Run, read_run

RELEASE_IDS_FILE = "release_ids.parquet"
_NUMERIC_DOC_ID = r"^\d+$"
_PREFIXED_DOC_ID = re.compile(r"doc(\d+)")


def strip_doc_prefix(doc_id: str) -> str:
    """Remove the `doc` prefix of a `longeval-web` document id: `doc12` becomes `12`."""
    match = _PREFIXED_DOC_ID.fullmatch(doc_id)
    return match[1] if match else doc_id


def read_snapshot_run(path: Path, depth: int | None, snapshot: Path | None) -> Run:
    """Read a run, and convert its document ids to the form used in the qrels of a snapshot.

    Args:
        path: Path of the run file.
        depth: Maximum number of documents per query; None keeps all documents.
        snapshot: Folder of the snapshot; if None, ids are not converted.
    """
    if snapshot is None or not (snapshot / RELEASE_IDS_FILE).is_file():
        return read_run(path, depth)
    return to_release_ids(read_run(path, None), snapshot).truncate(depth)


def to_release_ids(run: Run, snapshot: Path) -> Run:
    """Convert the document ids of a run to the form used in the qrels, such as `doc12` to `12`.

    Ids of documents that are neither judged nor imported are converted as well, because ids break
    ties between equal scores.

    Args:
        run: Run to convert.
        snapshot: Folder of the snapshot; if it was not imported, the run is returned unchanged.
    """
    ids = read_release_ids(snapshot)
    if ids is None:
        return run
    known_ids = ids.filter(kind="document")["id"]
    if not known_ids.str.contains(_NUMERIC_DOC_ID).any():
        return run
    stripped = pl.col("doc_id").str.extract(f"^{_PREFIXED_DOC_ID.pattern}$")
    needs_stripping = stripped.is_not_null() & ~pl.col("doc_id").is_in(known_ids.implode())
    renamed = run.ranking.with_columns(
        doc_id=pl.when(needs_stripping).then(stripped).otherwise("doc_id")
    )
    if renamed.equals(run.ranking):
        return run
    best = renamed.sort("query_id", "rank").unique(["query_id", "doc_id"], keep="first")
    return Run.from_scores(best.select("query_id", "doc_id", "score"), run.tag, run.depth)


def read_release_ids(snapshot: Path) -> pl.DataFrame | None:
    """Read the `schemas.ReleaseIds` table of a snapshot; return None if it was not imported."""
    path = snapshot / RELEASE_IDS_FILE
    return parquet.read(path) if path.is_file() else None


def read_query_keys(snapshot: Path) -> dict[str, str]:
    """Return a mapping from the query ids of a snapshot to keys that are the same in all snapshots.

    The mapping is empty if the snapshot was not imported.
    """
    ids = read_release_ids(snapshot)
    return {} if ids is None else dict(ids.filter(kind="query").select("id", "key").rows())


def replace_ids_with_keys(rows: pl.DataFrame, snapshot: Path) -> pl.DataFrame:
    """Replace the query and document ids in a table with keys that are the same in all snapshots.

    Ids without a key are kept.
    """
    return _replace_ids(rows, snapshot, "id", "key")


def replace_keys_with_ids(rows: pl.DataFrame, snapshot: Path) -> pl.DataFrame:
    """Replace the query and document keys in a table with the ids used in a snapshot.

    Keys without an id are kept. If a key has several ids, its row is repeated for each id.
    """
    return _replace_ids(rows, snapshot, "key", "id")


def _replace_ids(
    rows: pl.DataFrame, snapshot: Path, old_column: str, new_column: str
) -> pl.DataFrame:
    """Replace values of `query_id` and `doc_id` according to the release ids of a snapshot.

    A value in `old_column` of the `schemas.ReleaseIds` table is replaced with the value in
    `new_column` of the same row.
    """
    ids = read_release_ids(snapshot)
    if ids is None:
        return rows
    for column, kind in (("query_id", "query"), ("doc_id", "document")):
        renamed = ids.filter(kind=kind).select(pl.col(old_column).alias(column), new_column)
        joined = rows.join(renamed, on=column, how="left", maintain_order="left_right")
        rows = joined.with_columns(pl.coalesce(new_column, column).alias(column)).drop(new_column)
    return rows
