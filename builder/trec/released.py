"""Runs and judgements of a snapshot of an imported release: ids of the release, and their keys.

In: a run, and the folder of a snapshot, which holds `release_ids.parquet` where it was imported.
Out: the run under the ids that the judgements have; or frames under the keys by which snapshots are
aligned. Snapshots that were built have one id for both.
"""

import re
from pathlib import Path

import polars as pl

from builder.io import parquet
from builder.trec.runs import Run, read_run

IDS = "release_ids.parquet"
_PREFIXED = re.compile(r"doc(\d{1,19})")


def plain_number(alias: str) -> str:
    """A document number of `longeval-web` without `doc`, which judgements leave out."""
    match = _PREFIXED.fullmatch(alias)
    return match[1] if match else alias


def read_run_of(path: Path, depth: int | None, snapshot: Path | None) -> Run:
    """Read a run of a snapshot, in the ids of its judgements; see `in_release_ids`."""
    if snapshot is None or not (snapshot / IDS).is_file():
        return read_run(path, depth)
    return in_release_ids(read_run(path, None), snapshot).cut(depth)


def in_release_ids(run: Run, snapshot: Path) -> Run:
    """A run with document numbers as the judgements write them: `12` for `doc12` where it is so.

    Args:
        run: Any run.
        snapshot: The folder of its snapshot; of one that was not imported, the run is as it is.
    """
    ids = release_ids(snapshot)
    if ids is None:
        return run
    known = ids.filter(kind="document")["id"].implode()
    plain = pl.col("doc_id").str.extract(f"^{_PREFIXED.pattern}$")
    is_other = plain.is_in(known) & ~pl.col("doc_id").is_in(known)
    named = run.ranking.with_columns(doc_id=pl.when(is_other).then(plain).otherwise("doc_id"))
    if named.equals(run.ranking):
        return run
    best = named.sort("query_id", "rank").unique(["query_id", "doc_id"], keep="first")
    return Run.from_scores(best.select("query_id", "doc_id", "score"), run.tag, run.depth)


def release_ids(snapshot: Path) -> pl.DataFrame | None:
    """`schemas.ReleaseIds` of a snapshot; None of one that was not imported."""
    path = snapshot / IDS
    return parquet.read(path) if path.is_file() else None


def query_keys(snapshot: Path) -> dict[str, str]:
    """The key of each query id of an imported snapshot; none of others, whose ids are the keys."""
    ids = release_ids(snapshot)
    return {} if ids is None else dict(ids.filter(kind="query").select("id", "key").rows())


def by_keys(rows: pl.DataFrame, snapshot: Path) -> pl.DataFrame:
    """Rows with `query_id` and `doc_id` under their keys; ids without one stay as they are."""
    ids = release_ids(snapshot)
    if ids is None:
        return rows
    for column, kind in (("query_id", "query"), ("doc_id", "document")):
        keys = ids.filter(kind=kind).select(pl.col("id").alias(column), "key")
        joined = rows.join(keys, on=column, how="left", maintain_order="left")
        rows = joined.with_columns(pl.coalesce("key", column).alias(column)).drop("key")
    return rows
