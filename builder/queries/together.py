"""Assigns similar queries to the same split, if `split.near` is `together`.

Two queries are connected if they share a folded text or a variant set, or have equal or
near-duplicate signatures (see `similarity`); a group is a connected component. A query keeps its
split in earlier training snapshots. A new query gets the split of the earlier queries in its group,
or `train` if their splits differ. If its group has no earlier queries, a keyed hash of the smallest
id (variant set or query) in the group decides.
"""

import duckdb
import numpy as np
import polars as pl
import scipy

from builder.queries.signatures import signature_expr
from builder.queries.similarity import find_near_duplicate_signatures
from builder.text.keys import fold, in_sample

COLUMNS = ("query_id", "text", "variant_set")


def assign_splits(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    earlier_queries: pl.DataFrame,
    threshold: float,
    heldout_share: float,
    seed: str,
    has_french: bool = True,
) -> pl.DataFrame:
    """Assign the queries of a training snapshot to splits.

    Args:
        connection: A DuckDB connection not shared with other callers.
        queries: Queries of the snapshot, with the columns `COLUMNS`.
        earlier_queries: Queries of earlier training snapshots, with the columns `COLUMNS` and
            `split`.
        threshold: Minimum edit similarity of two spellings of a word.
        heldout_share: Fraction of the groups to hold out.
        seed: Key of the hash that assigns groups to splits.
        has_french: Whether queries may be French; see `signatures.signature_expr`.

    Returns:
        One row per query, in the order of `queries`: `query_id`, `split`.
    """
    previous = earlier_queries.group_by("query_id").agg(pl.col("split").max().alias("previous"))
    both = pl.concat([queries.select(COLUMNS), earlier_queries.select(COLUMNS)])
    distinct = both.unique(["query_id", "variant_set"], keep="first", maintain_order=True)
    groups = _add_group_column(connection, distinct, threshold, has_french).join(
        previous, on="query_id", how="left"
    )
    unit = pl.coalesce("variant_set", "query_id")
    groups = groups.with_columns(
        group_split=pl.col("previous").max().over("group"), unit=unit.min().over("group")
    )
    heldout = in_sample("unit", heldout_share, seed)
    sampled = pl.when(heldout).then(pl.lit("heldout")).otherwise(pl.lit("train"))
    split = pl.coalesce("previous", "group_split", sampled).alias("split")
    splits = groups.select("query_id", split).unique("query_id", keep="first", maintain_order=True)
    return queries.select("query_id").join(splits, on="query_id", maintain_order="left")


def find_near_duplicates_of_training_queries(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    train: pl.DataFrame,
    threshold: float,
    has_french: bool = True,
) -> pl.Series:
    """Return the ids of queries that are duplicates or near-duplicates of a training query.

    Such queries have the same folded text as a training query, or an equal or near-duplicate
    signature.

    Args:
        connection: A DuckDB connection not shared with other callers.
        queries: Queries of a later snapshot, with the columns `COLUMNS`.
        train: Training queries, with the columns `COLUMNS`.
        threshold: Minimum edit similarity of two spellings of a word.
        has_french: Whether queries may be French; see `signatures.signature_expr`.
    """
    signed = _add_folded_text_and_signature(queries, has_french)
    trained = _add_folded_text_and_signature(train, has_french)
    others = trained["signature"].unique()
    signatures = pl.concat([signed["signature"], others]).unique().sort()
    links = find_near_duplicate_signatures(connection, signatures, threshold)
    near = links.filter(pl.col("other").is_in(others.implode()))["signature"]
    is_near = pl.col("signature").is_in(pl.concat([near, others]).implode())
    is_equal = pl.col("folded").is_in(trained["folded"].unique().implode())
    return signed.filter(is_near | is_equal)["query_id"]


def _add_folded_text_and_signature(queries: pl.DataFrame, has_french: bool) -> pl.DataFrame:
    """Add the columns `folded` and `signature` (sorted stems of the content words) to queries."""
    text = pl.col("text")
    return queries.with_columns(folded=fold(text), signature=signature_expr(text, has_french))


def _add_group_column(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    threshold: float,
    has_french: bool,
) -> pl.DataFrame:
    """Add the column `group`, the index of the connected component that contains the query."""
    signed = _add_folded_text_and_signature(queries, has_french)
    names = {"folded", "signature", "query_id", "variant_set"}
    nodes = pl.concat([signed[name].drop_nulls() for name in sorted(names)]).unique().sort()
    number = {name: index for index, name in enumerate(nodes)}
    links = find_near_duplicate_signatures(
        connection, signed["signature"].unique().sort(), threshold
    )
    pairs = [
        signed.select("query_id", "folded"),
        signed.select("query_id", "signature"),
        signed.select("query_id", "variant_set").drop_nulls(),
        links.select("signature", "other"),
    ]
    edges = np.array(
        [(number[a], number[b]) for frame in pairs for a, b in frame.iter_rows()], dtype=np.int64
    ).reshape(-1, 2)
    shape = (len(number), len(number))
    entries = (np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1]))
    graph = scipy.sparse.coo_array(entries, shape)
    labels = scipy.sparse.csgraph.connected_components(graph, directed=False)[1]
    group = [int(labels[number[query]]) for query in signed["query_id"]]
    return signed.with_columns(pl.Series("group", group, dtype=pl.Int64))
