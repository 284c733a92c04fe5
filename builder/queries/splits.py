"""Split: which side of the train / held-out line a query is on.

In: judged queries of a snapshot. Out: the same queries with a side (see `schemas.Queries`). At t
the side is a keyed hash of the query's variant set (of the query itself where it has none) and of
nothing else, so no data added later can move it, and no variant set straddles the line. Later, a
query is `seen` when it or its variant set was trained on, and `test` otherwise.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.io.tables import Table, write_frame
from builder.parameters import SplitParameters
from builder.queries.leakage import SnapshotSides, require_no_leak
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Same, Setting, Training
from builder.runtime.stage import stage
from builder.text.keys import in_sample
from schemas import JudgedQueries, Queries, SplitQueries


@stage("split", version="1", writes=(SplitQueries,))
def split(
    out: Path,
    *,
    judged_queries: Same[JudgedQueries],
    train_queries: Training[SplitQueries],
    is_train: Annotated[bool, Setting(lambda w, key: key in w.training)],
    params: SplitParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: give every judged query its side.

    Args:
        out: Folder that receives `split_queries.parquet` and an empty `rejects.parquet`.
        judged_queries: See `schemas.JudgedQueries`.
        train_queries: `split_queries` of the training snapshots; unused in one of them.
        is_train: Whether the snapshot is a training snapshot.
        params: `[split]`.
        limits: Unused; queries are few.
        progress: Told the queries.

    Returns:
        An account of the judged queries; none is dropped.

    Raises:
        DataError: one text, id or variant set is on both sides, against what ids promise.
    """
    del limits
    queries = judged_queries.scan()
    if is_train:
        sided = queries.with_columns(side(params))
    else:
        sided = queries.with_columns(side_of_later(trained(train_queries)))
    rows = sided.with_columns(pl.lit(None, pl.String).alias("text_en")).collect()
    before = [SnapshotSides("a training snapshot", None, t.scan().collect()) for t in train_queries]
    require_no_leak([*before, SnapshotSides("this snapshot", None, rows)])
    progress.start("split", rows.height, "queries")
    ledger = Ledger("queries", rows.height, rows.height)
    write_frame(rows, out / "split_queries.parquet", Queries)
    with RejectWriter(out, "split", ledger):
        progress.advance(rows.height)
    progress.finish()
    return ledger


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
