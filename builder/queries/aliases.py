"""Lists the aliases of each published query: the texts of the variants that it represents."""

from collections.abc import Mapping

import polars as pl

from builder.io.tables import Table
from builder.text.keys import key_to_id


def query_aliases(variants: Mapping[str, Table]) -> pl.LazyFrame:
    """Return the aliases of every published query in every snapshot.

    Args:
        variants: Tables with the schema `Variants`, by snapshot name.

    Returns:
        Columns `query_id` (the published query), `snapshot`, `alias_id`, `alias` (text), `origin`,
        sorted. Every alias satisfies k-anonymity by itself.
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
