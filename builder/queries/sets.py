"""Variant sets: which candidates are spellings, inflections or orderings of one query.

In: candidates, hand-made sets, the variants of earlier snapshots. Out: the set of each candidate
and the query that represents it.

Sides come first. Every signature (and every hand-made set) has an id, and a keyed hash of the id
alone gives its side of the split. Near signatures are joined only within one side. So, whatever
queries are added later, a set can grow but never straddles the line, and no query changes side.
(Joining across sides would have to move one of the two queries.) Near pairs that fall on both
sides are left to `leakage.py`, which lists them.

Joining is greedy by frequency, not transitive: the most frequent signature leads a set and takes
the near ones that are still free, so that a chain of small differences never joins the far ends,
and the order of the input does not matter. Leaders of earlier snapshots lead again.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import duckdb
import polars as pl

from builder.parameters import SplitParameters, VariantParameters
from builder.queries.signatures import set_id, signature
from builder.queries.similarity import near_signatures
from builder.text.keys import fold, in_sample


def form_sets(
    connection: duckdb.DuckDBPyConnection,
    candidates: pl.DataFrame,
    given: pl.DataFrame,
    earlier: Sequence[pl.DataFrame],
    params: VariantParameters,
    split: SplitParameters,
) -> pl.DataFrame:
    """The variant set of every candidate.

    Args:
        connection: A private connection for the comparison of signatures.
        candidates: Columns `query`, `text`, `impressions`.
        given: See `given_sets.read_given_sets`.
        earlier: Tables `variants` of the snapshots before, in order of time.
        params: `[variants]`; sets are not `off`.
        split: `[split]`: the sides within which signatures are joined.

    Returns:
        One row a candidate: columns of `schemas.Variants`, sorted by `query`.
    """
    known = _known_sets(earlier, given)
    based = (
        _with_base(candidates, given)
        .join(known, on="base", how="left")
        .with_columns(pl.coalesce("known", "base").alias("group"))
    )
    joined = based.with_columns(leader=pl.col("group"), similarity=pl.lit(None, pl.Float64))
    if params.sets == "edit" and based.height:
        links = _links_within_sides(connection, based, params, split)
        joined = based.join(_join_groups(based, links), on="group", how="left").with_columns(
            pl.coalesce("leader", "group").alias("leader")
        )
    return _with_representatives(joined, _earlier_representatives(earlier))


def _with_base(candidates: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    """Candidates with their `signature` and `base`: id of the hand-made set or the signature."""
    folded = candidates.select("query", "text", "impressions", fold(pl.col("text")).alias("folded"))
    return (
        folded.with_columns(signature(pl.col("folded")).alias("signature"))
        .join(given, on="folded", how="left")
        .with_columns(pl.coalesce("given", set_id(pl.col("signature"))).alias("base"))
    )


def _known_sets(earlier: Sequence[pl.DataFrame], given: pl.DataFrame) -> pl.DataFrame:
    """The set that each base fell into before: columns `base`, `known`; the first one stands."""
    schema = {"base": pl.String, "known": pl.String}
    seen = [
        _with_base(table.with_columns(impressions=0), given).join(
            table.select("query", pl.col("variant_set").alias("known")), on="query"
        )
        for table in earlier
    ]
    frames = [table.select(list(schema)).drop_nulls().unique().sort("base") for table in seen]
    return pl.concat([pl.DataFrame(schema=schema), *frames]).unique(
        "base", keep="first", maintain_order=True
    )


def _links_within_sides(
    connection: duckdb.DuckDBPyConnection,
    based: pl.DataFrame,
    params: VariantParameters,
    split: SplitParameters,
) -> pl.DataFrame:
    """Near groups of one side, in both directions: `group`, `other`, `similarity`."""
    nodes = based.select("signature", "group").unique().sort("signature", "group")
    links = near_signatures(connection, nodes["signature"].unique().sort(), params.threshold)
    sides = (
        nodes.select("group")
        .unique()
        .with_columns(in_sample("group", split.heldout_share, split.seed).alias("side"))
    )
    nodes = nodes.join(sides, on="group")
    return (
        links.join(nodes, on="signature")
        .join(nodes.rename({"signature": "other", "group": "other_group"}), on=["other", "side"])
        .filter(pl.col("group") != pl.col("other_group"))
        .group_by("group", pl.col("other_group").alias("other"))
        .agg(pl.col("similarity").max())
        .sort("group", "other")
    )


def _join_groups(based: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Leaders of groups that follow one: columns `group`, `leader`, `similarity`."""
    groups = (
        based.group_by("group")
        .agg(
            pl.col("impressions").sum(),
            (pl.col("known").is_not_null() | pl.col("given").is_not_null()).any().alias("fixed"),
        )
        .sort("fixed", "impressions", "group", descending=[True, True, False])
    )
    fixed = set(groups.filter("fixed")["group"])
    near: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for group, other, similarity in links.iter_rows():
        near[group].append((other, similarity))
    followers = _lead(groups["group"], near, fixed)
    return pl.DataFrame(
        list(followers),
        schema={"group": pl.String, "leader": pl.String, "similarity": pl.Float64},
        orient="row",
    )


def _lead(
    groups: Iterable[str], near: dict[str, list[tuple[str, float]]], fixed: set[str]
) -> Iterable[tuple[str, str, float]]:
    taken: set[str] = set()
    for leader in groups:
        if leader in taken:
            continue
        taken.add(leader)
        for other, similarity in near.get(leader, ()):
            if other not in taken and other not in fixed:
                taken.add(other)
                yield other, leader, similarity


def _earlier_representatives(earlier: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Queries that represented a set before: `query`, `since` (index of the first snapshot)."""
    frames = [
        table.filter(pl.col("query") == pl.col("representative")).select(
            "query", pl.lit(index, pl.Int64).alias("since")
        )
        for index, table in enumerate(earlier)
    ]
    empty = pl.DataFrame(schema={"query": pl.UInt64, "since": pl.Int64})
    return pl.concat([empty, *frames]).group_by("query").agg(pl.col("since").min())


def _with_representatives(joined: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Choose each set's representative and say what brought every other query into the set.

    It represented the set before; else it is the leader's own most frequent query.
    """
    ordered = joined.join(before, on="query", how="left").sort(
        pl.col("leader"),
        pl.col("since"),
        pl.col("base") != pl.col("leader"),
        -pl.col("impressions").cast(pl.Int64),
        pl.col("text"),
        nulls_last=True,
    )
    represented = ordered.with_columns(
        pl.col("query").first().over("leader").alias("representative")
    )
    origin = (
        pl.when(pl.col("query") == pl.col("representative"))
        .then(pl.lit("itself"))
        .when(pl.col("given").is_not_null() & (pl.col("group") == pl.col("leader")))
        .then(pl.lit("file"))
        .when(pl.col("similarity").is_not_null())
        .then(pl.lit("edit"))
        .when(pl.col("base") == pl.col("leader"))
        .then(pl.lit("signature"))
        .otherwise(pl.lit("earlier"))
    )
    same = pl.when(origin.is_in(["itself", "signature"])).then(1.0).otherwise("similarity")
    return represented.select(
        "query",
        "representative",
        pl.col("leader").alias("variant_set"),
        "text",
        same.alias("similarity"),
        origin.alias("origin"),
    ).sort("query")
