"""Finds the topics that occur in queries, by one of three matching policies.

Texts are folded: lowercased, without accents and punctuation. All topics are searched for at once
(Aho-Corasick algorithm). The policies are:

- `substring`: the folded topic occurs anywhere in the folded query, as in LongEval (Galuscakova et
  al. 2023); `eau` matches `bordeaux`.
- `word`: the topic occurs as whole words. Folding separates elided articles (`l'eau` becomes
  `l eau`), so they need no special treatment.
- `stem`: like `word`, after removing plural endings from topic and query (see `stemming`).
"""

from typing import Literal

import polars as pl

from builder.queries.stemming import stem_expr
from builder.text.keys import fold

Matching = Literal["word", "substring", "stem"]
POLICIES: tuple[Matching, ...] = ("substring", "word", "stem")


def normalized_text_expr(folded: pl.Expr, matching: Matching) -> pl.Expr:
    """Return an expression that prepares folded texts for matching.

    Texts are padded with spaces, and stemmed under the policy `stem`; under `substring`, they are
    unchanged.
    """
    if matching == "substring":
        return folded
    words = stem_expr(folded) if matching == "stem" else folded
    return pl.lit(" ") + words + pl.lit(" ")


def topic_patterns(topics: pl.DataFrame, matching: Matching) -> pl.DataFrame:
    """Return the strings to search for: the normalized label and aliases of each topic.

    Args:
        topics: Columns `topic_id`, `label`, `aliases` (see `schemas.Topics`).
        matching: Matching policy.

    Returns:
        Distinct rows, sorted: `topic_id`, `pattern`.
    """
    names = pl.concat_list("label", "aliases").alias("name")
    folded = topics.select("topic_id", names).explode("name").select("topic_id", fold(pl.col.name))
    return (
        folded.filter(pl.col("name") != "")
        .select("topic_id", normalized_text_expr(pl.col("name"), matching).alias("pattern"))
        .unique()
        .sort("topic_id", "pattern")
    )


def match_topics(folded: pl.Series, topics: pl.DataFrame, matching: Matching) -> pl.Series:
    """Return the ids of all topics that match each query.

    Args:
        folded: Folded query texts.
        topics: Columns `topic_id`, `label`, `aliases` (see `schemas.Topics`).
        matching: Matching policy.

    Returns:
        Series `topics` with one sorted list of topic ids per query; the list is empty if no topic
        matches.
    """
    patterns = topic_patterns(topics, matching)
    needles = patterns["pattern"].unique(maintain_order=True).to_list()
    rows = folded.alias("text").to_frame().with_row_index("row")
    if not needles:
        return pl.Series("topics", [[]] * len(rows), dtype=pl.List(pl.String))
    text = normalized_text_expr(pl.col("text"), matching)
    matched = (
        rows.select("row", text.alias("text"))
        .filter(pl.col("text").str.contains_any(needles))
        .select("row", pl.col("text").str.extract_many(needles, overlapping=True).alias("pattern"))
        .explode("pattern")
        .join(patterns, on="pattern")
        .group_by("row")
        .agg(pl.col("topic_id").unique().sort().alias("topics"))
    )
    return rows.join(matched, on="row", how="left", maintain_order="left").select(
        pl.col("topics").fill_null(pl.lit([], dtype=pl.List(pl.String)))
    )["topics"]
