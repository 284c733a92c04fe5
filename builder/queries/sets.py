"""Builds variant sets, i.e. groups of spellings, inflections and reorderings of the same query.

Queries with the same signature (the sorted stems of their content words) are in the same set. Every
signature and every manual set has an id, whose keyed hash determines the split. Near-duplicate
signatures are merged only if they have the same split. Hence a set may grow when queries are added
later, but it is never divided between splits, and no query changes its split. Near-duplicate
queries in different splits are listed by `leakage`.

Merging is greedy by frequency and not transitive: the most frequent signature leads a set and
absorbs all near-duplicate signatures that have no set yet. A chain of small differences therefore
never merges its ends, and the result does not depend on the order of the input. Leaders of earlier
snapshots remain leaders, and a query keeps its set even if it is published in another spelling.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import duckdb
import polars as pl

from builder.parameters import SplitParameters, VariantParameters
from builder.queries.signatures import signature_expr, variant_set_id_expr
from builder.queries.similarity import find_near_duplicate_signatures
from builder.text.keys import fold, in_sample


def build_variant_sets(
    connection: duckdb.DuckDBPyConnection,
    candidates: pl.DataFrame,
    manual_sets: pl.DataFrame,
    earlier_variants: Sequence[pl.DataFrame],
    params: VariantParameters,
    split: SplitParameters,
    has_french: bool = True,
) -> pl.DataFrame:
    """Assign every candidate to a variant set, and choose the representative of each set.

    Args:
        connection: A DuckDB connection not shared with other callers.
        candidates: Columns `query`, `text`, `impressions`.
        manual_sets: Columns `folded`, `manual_set`; see `manual_sets.read_manual_sets`.
        earlier_variants: Tables `variants` of the earlier snapshots, in chronological order.
        params: Section `[variants]` of the definition; `sets` must not be `off`.
        split: Section `[split]` of the definition; only signatures of the same split are merged.
        has_french: Whether queries may be French; see `signatures.signature_expr`.

    Returns:
        One row per candidate, sorted by `query` (schema `Variants`).
    """
    earlier = _earlier_sets(earlier_variants, manual_sets, has_french)
    groups = (
        _add_signature_and_initial_set(candidates, manual_sets, has_french)
        .join(_first_assigned_sets(earlier, "query"), on="query", how="left")
        .join(
            _first_assigned_sets(earlier, "initial_set"),
            on="initial_set",
            how="left",
            suffix="_of_equal",
        )
        .with_columns(pl.coalesce("earlier_set", "earlier_set_of_equal").alias("earlier_set"))
        .with_columns(pl.coalesce("earlier_set", "initial_set").alias("group"))
    )
    led = groups.with_columns(leader=pl.col("group"), similarity=pl.lit(None, pl.Float64))
    if params.sets == "edit" and groups.height:
        links = _link_groups_within_splits(connection, groups, params, split)
        led = groups.join(_assign_leaders(groups, links), on="group", how="left").with_columns(
            pl.coalesce("leader", "group").alias("leader")
        )
    return _choose_representatives(led, _earlier_representatives(earlier_variants))


def _add_signature_and_initial_set(
    candidates: pl.DataFrame, manual_sets: pl.DataFrame, has_french: bool
) -> pl.DataFrame:
    """Add the columns `signature` and `initial_set` (id of a variant set) to queries.

    The initial set is the manually defined set of the query or, if there is none, the set of all
    queries with the same signature.
    """
    text = pl.col("text")
    signed = candidates.select(
        "query",
        text,
        "impressions",
        fold(text).alias("folded"),
        signature_expr(text, has_french).alias("signature"),
    )
    return signed.join(manual_sets, on="folded", how="left").with_columns(
        pl.coalesce("manual_set", variant_set_id_expr(pl.col("signature"))).alias("initial_set")
    )


def _earlier_sets(
    earlier_variants: Sequence[pl.DataFrame], manual_sets: pl.DataFrame, has_french: bool
) -> pl.DataFrame:
    """Return the variant set of each query in each earlier snapshot.

    Columns: `query`, `initial_set` (see `_add_signature_and_initial_set`), and `earlier_set` (after
    near-duplicate signatures were merged). Snapshots are in chronological order; within a snapshot,
    queries that are still in their initial set come first.
    """
    schema = {"query": pl.UInt64, "initial_set": pl.String, "earlier_set": pl.String}
    tables = [
        _add_signature_and_initial_set(table.with_columns(impressions=0), manual_sets, has_french)
        .join(table.select("query", pl.col("variant_set").alias("earlier_set")), on="query")
        .sort(pl.col("initial_set") != pl.col("earlier_set"), "earlier_set", "query")
        for table in earlier_variants
    ]
    return pl.concat(
        [pl.DataFrame(schema=schema), *(t.select(list(schema)).drop_nulls() for t in tables)]
    )


def _first_assigned_sets(earlier_sets: pl.DataFrame, key_column: str) -> pl.DataFrame:
    """Return the first `earlier_set` of each value of `key_column` (`query` or `initial_set`)."""
    return earlier_sets.select(key_column, "earlier_set").unique(
        key_column, keep="first", maintain_order=True
    )


def _link_groups_within_splits(
    connection: duckdb.DuckDBPyConnection,
    groups: pl.DataFrame,
    params: VariantParameters,
    split: SplitParameters,
) -> pl.DataFrame:
    """Return pairs of query sets in the same split whose signatures are near-duplicates.

    The sets, here called groups, are those before near-duplicates are merged. Each pair is listed
    in both directions. Columns: `group`, `other`, `similarity`.
    """
    nodes = groups.select("signature", "group").unique().sort("signature", "group")
    links = find_near_duplicate_signatures(
        connection, nodes["signature"].unique().sort(), params.threshold
    )
    splits = (
        nodes.select("group")
        .unique()
        .with_columns(in_sample("group", split.heldout_share, split.seed).alias("heldout"))
    )
    nodes = nodes.join(splits, on="group")
    return (
        links.join(nodes, on="signature")
        .join(nodes.rename({"signature": "other", "group": "other_group"}), on=["other", "heldout"])
        .filter(pl.col("group") != pl.col("other_group"))
        .group_by("group", pl.col("other_group").alias("other"))
        .agg(pl.col("similarity").max())
        .sort("group", "other")
    )


def _assign_leaders(groups: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return each absorbed group and its leader, the group that absorbs it.

    Columns: `group`, `leader`, `similarity`.
    """
    is_fixed = pl.col("earlier_set").is_not_null() | pl.col("manual_set").is_not_null()
    ordered = (
        groups.group_by("group")
        .agg(pl.col("impressions").sum(), is_fixed.any().alias("fixed"))
        .sort("fixed", "impressions", "group", descending=[True, True, False])
    )
    fixed = set(ordered.filter("fixed")["group"])
    neighbors: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for group, other, similarity in links.iter_rows():
        neighbors[group].append((other, similarity))
    followers = _absorb_neighbors(ordered["group"], neighbors, fixed)
    return pl.DataFrame(
        list(followers),
        schema={"group": pl.String, "leader": pl.String, "similarity": pl.Float64},
        orient="row",
    )


def _absorb_neighbors(
    groups: Iterable[str], neighbors: dict[str, list[tuple[str, float]]], fixed_groups: set[str]
) -> Iterable[tuple[str, str, float]]:
    """Yield each absorbed group, the group that absorbs it, and their similarity.

    Groups are visited in the given order. Each absorbs all its neighbors, except those that are
    already absorbed or in `fixed_groups` (groups of manual or earlier sets).
    """
    assigned: set[str] = set()
    for leader in groups:
        if leader in assigned:
            continue
        assigned.add(leader)
        for other, similarity in neighbors.get(leader, ()):
            if other not in assigned and other not in fixed_groups:
                assigned.add(other)
                yield other, leader, similarity


def _earlier_representatives(earlier_variants: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return all earlier representatives (`query`), each with its first snapshot (`since`)."""
    frames = [
        table.filter(pl.col("query") == pl.col("representative")).select(
            "query", pl.lit(index, pl.Int64).alias("since")
        )
        for index, table in enumerate(earlier_variants)
    ]
    empty = pl.DataFrame(schema={"query": pl.UInt64, "since": pl.Int64})
    return pl.concat([empty, *frames]).group_by("query").agg(pl.col("since").min())


def _choose_representatives(
    members: pl.DataFrame, earlier_representatives: pl.DataFrame
) -> pl.DataFrame:
    """Choose the representative of each set, and return all members with the schema `Variants`.

    In order of preference, the representative is the member that was a representative in the
    earliest snapshot, a member whose initial set (see `_add_signature_and_initial_set`) has the id
    of the variant set, or the most frequent member.
    """
    ordered = members.join(earlier_representatives, on="query", how="left").sort(
        pl.col("leader"),
        pl.col("since"),
        pl.col("initial_set") != pl.col("leader"),
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
        .when(pl.col("manual_set").is_not_null() & (pl.col("group") == pl.col("leader")))
        .then(pl.lit("file"))
        .when(pl.col("similarity").is_not_null())
        .then(pl.lit("edit"))
        .when(pl.col("initial_set") == pl.col("leader"))
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
