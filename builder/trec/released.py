"""Runs in the ids of a published release -> runs in the stable ids of the collection it became.

In: a run, and the folder of a snapshot that was imported, which holds `release_ids.parquet`. Out:
the same ranking under our ids. Of two ids of the release that are one query the first (as text)
keeps its ranking; ids that the release does not know stay as they are.
"""

import re
from pathlib import Path

import polars as pl

from builder.io import parquet
from builder.trec.runs import Run, read_run

IDS = "release_ids.parquet"
_PREFIXED = re.compile(r"doc(?=\d{1,19}$)")


def plain_number(alias: str) -> str:
    """A document number of `longeval-web` without `doc`, which judgements leave out."""
    return _PREFIXED.sub("", alias)


def read_run_of(path: Path, depth: int | None, snapshot: Path | None) -> Run:
    """Read a run of a snapshot, in stable ids; see `read_run` and `in_stable_ids`."""
    run = read_run(path, depth)
    return run if snapshot is None else in_stable_ids(run, snapshot)


def in_stable_ids(run: Run, snapshot: Path) -> Run:
    """A run under the ids of its collection.

    Args:
        run: Any run.
        snapshot: The folder of its snapshot; of one that was not imported, the run is as it is.
    """
    path = snapshot / IDS
    if not path.is_file():
        return run
    ids = parquet.read(path)
    queries, documents = (
        ids.filter(kind=kind).select("alias", "id") for kind in ("query", "document")
    )
    ranked = run.ranking.with_columns(alias=pl.col("query_id"))
    if ranked.join(queries, on="alias", how="semi").is_empty():
        return run
    named = _renamed(ranked, "query_id", ranked["query_id"], queries)
    first = named.group_by("query_id").agg(pl.col("alias").min())
    kept = named.join(first, on=["query_id", "alias"], how="semi")
    plain = pl.Series([plain_number(doc) for doc in kept["doc_id"]], dtype=pl.String)
    whole = _renamed(kept, "doc_id", plain, documents)
    best = whole.sort("query_id", "rank").unique(["query_id", "doc_id"], keep="first")
    return Run.from_scores(best.select("query_id", "doc_id", "score"), run.tag, run.depth)


def _renamed(
    rows: pl.DataFrame, column: str, aliases: pl.Series, ids: pl.DataFrame
) -> pl.DataFrame:
    """Rows with the stable id of each alias; without one, with what they had."""
    found = (
        aliases.alias("own")
        .to_frame()
        .join(ids, left_on="own", right_on="alias", how="left", maintain_order="left")
    )
    return rows.with_columns(pl.coalesce(found["id"], rows[column]).alias(column))
