"""Keep spellings of one query on one side of the split: the rule `split.near = "together"`.

In: queries of a snapshot, and those of earlier training snapshots with their sides. Out: the side
of each query. Queries belong together where they are in one variant set or their signatures are
equal or near (see `similarity`); a group of them is on the side that a member has already, `train`
where members have both, else on that of its smallest unit (set or query id), by keyed hash.
"""

import duckdb
import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from builder.queries.signatures import signature
from builder.queries.similarity import near_signatures
from builder.text.keys import fold, in_sample

COLUMNS = ("query_id", "text", "variant_set")


def train_together(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    earlier: pl.DataFrame,
    threshold: float,
    heldout_share: float,
    seed: str,
) -> pl.DataFrame:
    """`query_id` and `split` of the queries of a training snapshot.

    Args:
        connection: A private connection.
        queries: `COLUMNS`.
        earlier: The same of earlier training snapshots, and `split`.
        threshold: Edit similarity from which two words are spellings of each other.
        heldout_share: Part of the groups that is held out.
        seed: Key of the hash.
    """
    known = earlier.group_by("query_id").agg(pl.col("split").max().alias("known"))
    both = pl.concat([queries.select(COLUMNS), earlier.select(COLUMNS)])
    named = both.unique(["query_id", "variant_set"], keep="first", maintain_order=True)
    groups = _grouped(connection, named, threshold).join(known, on="query_id", how="left")
    unit = pl.coalesce("variant_set", "query_id")
    sided = groups.with_columns(
        of_group=pl.col("known").max().over("group"), unit=unit.min().over("group")
    )
    heldout = in_sample("unit", heldout_share, seed)
    drawn = pl.when(heldout).then(pl.lit("heldout")).otherwise(pl.lit("train"))
    side = pl.coalesce("known", "of_group", drawn).alias("split")
    found = sided.select("query_id", side).unique("query_id", keep="first", maintain_order=True)
    return queries.select("query_id").join(found, on="query_id", maintain_order="left")


def near_trained(
    connection: duckdb.DuckDBPyConnection,
    queries: pl.DataFrame,
    trained: pl.DataFrame,
    threshold: float,
) -> pl.Series:
    """Ids of the queries whose signature equals, or nearly equals, that of a trained one.

    Args:
        connection: A private connection.
        queries: `COLUMNS` of a later snapshot.
        trained: `COLUMNS` of the trained queries.
        threshold: As of `train_together`.
    """
    signed, others = _signed(queries), _signed(trained)["signature"].unique()
    signatures = pl.concat([signed["signature"], others]).unique().sort()
    links = near_signatures(connection, signatures, threshold)
    near = links.filter(pl.col("other").is_in(others.implode()))["signature"]
    return signed.filter(pl.col("signature").is_in(pl.concat([near, others]).implode()))["query_id"]


def _signed(queries: pl.DataFrame) -> pl.DataFrame:
    folded = queries.with_columns(folded=fold(pl.col("text")))
    return folded.with_columns(signature=signature(pl.col("folded"))).drop("folded")


def _grouped(
    connection: duckdb.DuckDBPyConnection, queries: pl.DataFrame, threshold: float
) -> pl.DataFrame:
    """Queries with the number of their `group`: connected by a set or near signatures."""
    signed = _signed(queries)
    names = {"signature", "query_id", "variant_set"}
    nodes = pl.concat([signed[name].drop_nulls() for name in sorted(names)]).unique().sort()
    number = {name: place for place, name in enumerate(nodes)}
    links = near_signatures(connection, signed["signature"].unique().sort(), threshold)
    pairs = [
        signed.select("query_id", "signature"),
        signed.select("query_id", "variant_set").drop_nulls(),
        links.select("signature", "other"),
    ]
    edges = np.array(
        [(number[a], number[b]) for frame in pairs for a, b in frame.iter_rows()], dtype=np.int64
    ).reshape(-1, 2)
    shape = (len(number), len(number))
    graph = coo_array((np.ones(len(edges), dtype=np.int8), (edges[:, 0], edges[:, 1])), shape)
    labels = connected_components(graph, directed=False)[1]
    group = [int(labels[number[query]]) for query in signed["query_id"]]
    return signed.with_columns(pl.Series("group", group, dtype=pl.Int64))
