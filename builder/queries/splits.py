"""Splits the judged queries of a snapshot into `train` and `heldout`, or into `seen` and `test`.

In a training snapshot, a keyed hash of the variant set (or of the query, if it has none) decides
between `train` and `heldout`, so that later snapshots never change the split and a variant set is
never divided. In later snapshots, a query is `seen` if it or its variant set was in `train`, and
`test` otherwise. Under `near = "together"`, near-duplicate queries also have the same split (see
`together`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.io.tables import Table, write_frame
from builder.parameters import SplitParameters
from builder.queries.leakage import SnapshotQueries, require_no_leaks
from builder.queries.together import (
    COLUMNS,
    assign_splits,
    find_near_duplicates_of_training_queries,
)
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import HasFrench, Same, SettingReference, Training
from builder.runtime.stage import stage
from builder.text.keys import in_sample
from schemas import JudgedQueries, Queries, SplitQueries


@stage("split", version="3", writes=(SplitQueries,))
def split_judged_queries(
    out: Path,
    *,
    judged_queries: Same[JudgedQueries],
    train_queries: Training[SplitQueries],
    is_train: Annotated[bool, SettingReference(lambda w, key: key in w.training_snapshots)],
    threshold: Annotated[float, SettingReference(lambda w, _: w.variants.threshold)],
    params: SplitParameters,
    limits: ResourceLimits,
    progress: Progress,
    has_french: HasFrench = True,
) -> RowLedger:
    """Stage: assign every judged query to a split.

    Args:
        out: Folder that receives `split_queries.parquet` and an empty `rejects.parquet`.
        judged_queries: Table with the schema `JudgedQueries`.
        train_queries: Tables `split_queries` of all training snapshots or, if this is a training
            snapshot, of the earlier ones.
        is_train: Whether the snapshot is a training snapshot.
        threshold: Minimum edit similarity of two spellings of a word (`variants.threshold`).
        params: Section `[split]` of the definition.
        limits: Memory and threads.
        progress: Advances by the number of queries.
        has_french: Whether queries may be French; see `signatures.signature_expr`.

    Returns:
        The ledger: numbers of queries read, kept and rejected; no query is rejected.

    Raises:
        DataError: a held-out or test query leaks into training.
    """
    queries = judged_queries.scan().collect()
    with limits.connect_to_duckdb() as connection:
        if not is_train:
            assigned = _split_later_snapshot(
                connection, queries, train_queries, params, threshold, has_french
            )
        elif params.near == "together":
            earlier = pl.concat([_EMPTY, *(_read_splits(table) for table in train_queries)])
            options = (threshold, params.heldout_share, params.seed, has_french)
            splits = assign_splits(connection, queries, earlier, *options)
            assigned = queries.join(splits, on="query_id", maintain_order="left")
        else:
            assigned = queries.with_columns(train_or_heldout_expr(params))
    rows = assigned.with_columns(pl.lit(None, pl.String).alias("text_en"))
    train = [
        SnapshotQueries("a training snapshot", None, t.scan().collect()) for t in train_queries
    ]
    require_no_leaks([*train, SnapshotQueries("this snapshot", None, rows)])
    progress.start("split", rows.height, "queries")
    ledger = RowLedger("queries", rows.height, rows.height)
    write_frame(rows, out / "split_queries.parquet", Queries)
    with RejectWriter(out, "split", ledger):
        progress.advance(rows.height)
    progress.finish()
    return ledger


_EMPTY = pl.DataFrame(schema=dict.fromkeys((*COLUMNS, "split"), pl.String))


def _read_splits(table: Table) -> pl.DataFrame:
    """Read the id, text, variant set and split of each query of a snapshot."""
    return table.scan().select(_EMPTY.columns).collect()


def _split_later_snapshot(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    train_queries: Sequence[Table],
    params: SplitParameters,
    threshold: float,
    has_french: bool,
) -> pl.DataFrame:
    """Assign the queries of a snapshot that is not a training snapshot to `seen` or `test`."""
    ids = training_ids(train_queries)
    if params.near == "together":
        earlier = pl.concat([_EMPTY, *(_read_splits(table) for table in train_queries)])
        near = find_near_duplicates_of_training_queries(
            connection, queries, earlier.filter(split="train"), threshold, has_french
        )
        ids = sorted({*ids, *near})
    return queries.with_columns(later_split_expr(ids))


def split_key_expr() -> pl.Expr:
    """Return an expression for the id whose hash decides the split.

    The id is the variant set id or, if it is null, the query id.
    """
    return pl.coalesce("variant_set", "query_id").alias("unit")


def train_or_heldout_expr(params: SplitParameters) -> pl.Expr:
    """Return an expression that assigns a query of a training snapshot to `train` or `heldout`.

    The split is determined by a hash of the variant set id or, if it is null, of the query id.
    """
    heldout = in_sample(split_key_expr(), params.heldout_share, params.seed)
    return pl.when(heldout).then(pl.lit("heldout")).otherwise(pl.lit("train")).alias("split")


def training_ids(train_queries: Sequence[Table]) -> list[str]:
    """Return the ids of all training queries and of their variant sets."""
    if not train_queries:
        return []
    tables = pl.concat([table.scan() for table in train_queries])
    ids = tables.filter(pl.col("split") == "train").select("query_id", "variant_set").collect()
    return sorted({*ids["query_id"], *ids["variant_set"].drop_nulls()})


def later_split_expr(train_ids: list[str]) -> pl.Expr:
    """Return an expression for the split in a later snapshot: `seen` or `test`.

    A query is `seen` if the query or its variant set is in training.
    """
    seen = pl.col("query_id").is_in(train_ids) | pl.col("variant_set").is_in(train_ids)
    return (
        pl.when(seen.fill_null(False)).then(pl.lit("seen")).otherwise(pl.lit("test")).alias("split")
    )
