"""Split: which side of the train / held-out line a query is on.

In: judged queries of a snapshot. Out: the same queries with a side (see `schemas.Queries`). At t
the side is a keyed hash of the query's variant set (of the query itself where it has none), so no
snapshot added later can move it, and no variant set straddles the line. Later, a query is `seen`
when it or its variant set was trained on, and `test` otherwise. Under `near = "together"` spellings
of one query are on one side, too (see `together`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.tables import Table, write_frame
from builder.parameters import SplitParameters
from builder.queries.leakage import SnapshotSides, require_no_leak
from builder.queries.together import COLUMNS, near_trained, train_together
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Same, Setting, Training
from builder.runtime.stage import stage
from builder.text.keys import in_sample
from schemas import JudgedQueries, Queries, SplitQueries


@stage("split", version="2", writes=(SplitQueries,))
def split(
    out: Path,
    *,
    judged_queries: Same[JudgedQueries],
    train_queries: Training[SplitQueries],
    is_train: Annotated[bool, Setting(lambda w, key: key in w.training_snapshots)],
    threshold: Annotated[float, Setting(lambda w, _: w.variants.threshold)],
    params: SplitParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: give every judged query its side.

    Args:
        out: Folder that receives `split_queries.parquet` and an empty `rejects.parquet`.
        judged_queries: See `schemas.JudgedQueries`.
        train_queries: `split_queries` of the training snapshots, in one of them of those before it.
        is_train: Whether the snapshot is a training snapshot.
        threshold: Edit similarity from which two words are spellings of each other
            (`variants.threshold`).
        params: `[split]`.
        limits: Memory and threads.
        progress: Told the queries.

    Returns:
        An account of the judged queries; none is dropped.

    Raises:
        DataError: one text, id or variant set is on both sides, against what ids promise.
    """
    queries = judged_queries.scan().collect()
    with limits.connect() as connection:
        if not is_train:
            sided = _later(connection, queries, train_queries, params, threshold)
        elif params.near == "together":
            before = pl.concat([_EMPTY, *(_sides(table) for table in train_queries)])
            share = (threshold, params.heldout_share, params.seed)
            found = train_together(connection, queries, before, *share)
            sided = queries.join(found, on="query_id", maintain_order="left")
        else:
            sided = queries.with_columns(side(params))
    rows = sided.with_columns(pl.lit(None, pl.String).alias("text_en"))
    train = [SnapshotSides("a training snapshot", None, t.scan().collect()) for t in train_queries]
    require_no_leak([*train, SnapshotSides("this snapshot", None, rows)])
    progress.start("split", rows.height, "queries")
    ledger = Ledger("queries", rows.height, rows.height)
    write_frame(rows, out / "split_queries.parquet", Queries)
    with RejectWriter(out, "split", ledger):
        progress.advance(rows.height)
    progress.finish()
    return ledger


_EMPTY = pl.DataFrame(schema=dict.fromkeys((*COLUMNS, "split"), pl.String))


def _sides(table: Table) -> pl.DataFrame:
    return table.scan().select(_EMPTY.columns).collect()


def _later(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    train_queries: Sequence[Table],
    params: SplitParameters,
    threshold: float,
) -> pl.DataFrame:
    """Queries of a later snapshot with their sides."""
    ids = trained(train_queries)
    if params.near == "together":
        before = pl.concat([_EMPTY, *(_sides(table) for table in train_queries)])
        near = near_trained(connection, queries, before.filter(split="train"), threshold)
        ids = sorted({*ids, *near})
    return queries.with_columns(side_of_later(ids))


def unit_of_split() -> pl.Expr:
    """What is never divided: the id of the variant set, or of the query that has none."""
    return pl.coalesce("variant_set", "query_id").alias("unit")


def side(params: SplitParameters) -> pl.Expr:
    """`train` or `heldout` of queries at t, by keyed hash of `unit_of_split` alone."""
    heldout = in_sample(unit_of_split(), params.heldout_share, params.seed)
    return pl.when(heldout).then(pl.lit("heldout")).otherwise(pl.lit("train")).alias("split")


def trained(train_queries: Sequence[Table]) -> list[str]:
    """Ids of the queries and variant sets on the train side of any training snapshot."""
    if not train_queries:
        return []
    tables = pl.concat([table.scan() for table in train_queries])
    ids = tables.filter(pl.col("split") == "train").select("query_id", "variant_set").collect()
    return sorted({*ids["query_id"], *ids["variant_set"].drop_nulls()})


def side_of_later(trained_ids: list[str]) -> pl.Expr:
    """`seen` or `test` of queries in a later snapshot."""
    seen = pl.col("query_id").is_in(trained_ids) | pl.col("variant_set").is_in(trained_ids)
    return (
        pl.when(seen.fill_null(False)).then(pl.lit("seen")).otherwise(pl.lit("test")).alias("split")
    )
