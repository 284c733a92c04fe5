"""Aliases of queries: other texts and ids under which a published query goes.

In: the variants of every snapshot. Out: one row for each alias, for `queries_map`.
"""

from collections.abc import Mapping

import polars as pl

from builder.io.tables import Table
from builder.text.keys import key_to_id


def query_aliases(variants: Mapping[str, Table]) -> pl.LazyFrame:
    """The queries that another query stands for.

    Args:
        variants: Table `variants` (see `schemas.Variants`) of each snapshot, by name.

    Returns:
        Columns `query_id` (the published query), `snapshot`, `alias_id`, `alias`, `origin`,
        sorted. Each alias passed k-anonymity by itself.
    """
    ids = ("representative", "query_id"), ("query", "alias_id")
    rows = [
        table.scan()
        .filter(pl.col("query") != pl.col("representative"))
        .with_columns(key_to_id(key, "q").alias(name) for key, name in ids)
        .select(
            "query_id",
            pl.lit(name).alias("snapshot"),
            "alias_id",
            pl.col("text").alias("alias"),
            "origin",
        )
        for name, table in variants.items()
    ]
    return pl.concat(rows).sort("query_id", "snapshot", "alias_id")
