"""Which topics a query belongs to, under three policies, all topics at once (Aho-Corasick).

In: folded query texts and topics. Out: for each query the sorted ids of all topics it matches.

- `substring`: the folded topic occurs anywhere in the folded query, what LongEval did (Galuscakova
  et al. 2023): `eau` takes `bordeaux`.
- `word`: it occurs as whole words. Folding turns elisions into words of their own (`l'eau` is
  `l eau`), so they need no rule.
- `stem`: as `word`, after plurals of both sides were brought to the singular (`stemming.py`).
"""

from typing import Literal

import polars as pl

from builder.queries.stemming import stem
from builder.text.keys import fold

Matching = Literal["word", "substring", "stem"]
POLICIES: tuple[Matching, ...] = ("substring", "word", "stem")


def normalised(folded: pl.Expr, matching: Matching) -> pl.Expr:
    """Folded text as a policy compares it: padded for words, stemmed for stems."""
    if matching == "substring":
        return folded
    words = stem(folded) if matching == "stem" else folded
    return pl.lit(" ") + words + pl.lit(" ")


def patterns(topics: pl.DataFrame, matching: Matching) -> pl.DataFrame:
    """The strings that mean a topic, one row each.

    Args:
        topics: Columns `topic_id`, `label`, `aliases` (see `schemas.Topics`).
        matching: The policy.

    Returns:
        Distinct columns `topic_id`, `pattern`, sorted.
    """
    names = pl.concat_list("label", "aliases").alias("name")
    folded = topics.select("topic_id", names).explode("name").select("topic_id", fold(pl.col.name))
    return (
        folded.filter(pl.col("name") != "")
        .select("topic_id", normalised(pl.col("name"), matching).alias("pattern"))
        .unique()
        .sort("topic_id", "pattern")
    )


def match_topics(folded: pl.Series, topics: pl.DataFrame, matching: Matching) -> pl.Series:
    """The topics that each query matches.

    Args:
        folded: Folded query texts.
        topics: See `patterns`.
        matching: The policy.

    Returns:
        `topics`: sorted lists of topic ids, empty where none matches; as long as `folded`.
    """
    wanted = patterns(topics, matching)
    needles = wanted["pattern"].unique(maintain_order=True).to_list()
    rows = folded.alias("text").to_frame().with_row_index("row")
    if not needles:
        return pl.Series("topics", [[]] * len(rows), dtype=pl.List(pl.String))
    text = normalised(pl.col("text"), matching)
    found = (
        rows.select("row", text.alias("text"))
        .filter(pl.col("text").str.contains_any(needles))
        .select("row", pl.col("text").str.extract_many(needles, overlapping=True).alias("pattern"))
        .explode("pattern")
        .join(wanted, on="pattern")
        .group_by("row")
        .agg(pl.col("topic_id").unique().sort().alias("topics"))
    )
    return rows.join(found, on="row", how="left", maintain_order="left").select(
        pl.col("topics").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    )["topics"]
