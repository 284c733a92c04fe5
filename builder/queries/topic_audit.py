"""Compares the policies for matching topics to queries, in order to find false matches.

Output: the number of matching queries per topic and policy, the most frequent queries that one
policy matches and another does not, and the words that merely contain a topic (`eau` in
`bordeaux`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.queries.matching import POLICIES, match_topics, topic_patterns
from builder.queries.texts import read_query_texts
from builder.queries.topics import read_topic_table
from builder.text.keys import fold


@dataclass(frozen=True)
class TopicAudit:
    """Comparison of the matching policies on the same queries.

    Args:
        queries: Number of distinct folded queries.
        texts: Number of query texts.
        counts: Matching queries per topic and policy: `topic_id`, `policy`, `texts`,
            `share_of_texts`, `queries`, `asked` (sum of query frequencies).
        differences: Most frequent queries matched by one policy and not by another: `topic_id`,
            `only_in`, `not_in`, `text`, `asked`.
        false_words: Words that contain a topic as a substring, from queries that do not contain it
            as a word: `topic_id`, `word`, `queries`.
    """

    queries: int
    texts: int
    counts: pl.DataFrame
    differences: pl.DataFrame
    false_words: pl.DataFrame


POLICY_PAIRS = (
    ("substring", "word"),
    ("stem", "word"),
    ("substring", "stem"),
    ("stem", "substring"),
)


def audit_topics(topics: pl.DataFrame, queries: pl.DataFrame, examples: int = 20) -> TopicAudit:
    """Compare which topics each matching policy finds in a table of queries.

    Args:
        topics: Table with the schema `Topics`.
        queries: Columns `text`, `count`; see `texts.read_query_texts`.
        examples: Maximum number of rows per topic in `differences` and `false_words`.
    """
    distinct = (
        queries.select(
            fold(pl.col("text")).alias("folded"), pl.col("text").str.strip_chars(), "count"
        )
        .filter(pl.col("folded") != "")
        .group_by("folded")
        .agg(
            pl.col("text").sort_by(-pl.col("count").cast(pl.Int64), "text").first(),
            pl.len().alias("texts"),
            pl.col("count").cast(pl.UInt64).sum().alias("asked"),
        )
        .sort("folded")
    )
    matches = pl.concat(
        distinct.with_columns(match_topics(distinct["folded"], topics, policy))
        .explode("topics")
        .drop_nulls("topics")
        .select(
            pl.col("topics").alias("topic_id"),
            pl.lit(policy).alias("policy"),
            "folded",
            "text",
            "texts",
            "asked",
        )
        for policy in POLICIES
    )
    return TopicAudit(
        queries=distinct.height,
        texts=queries.height,
        counts=_count_matches(topics, matches, queries.height),
        differences=_find_differences_between_policies(matches, examples),
        false_words=_find_false_match_words(topics, matches, examples),
    )


def audit_topics_in_files(
    topics: Path | str, queries: Sequence[Path | str], examples: int = 20
) -> TopicAudit:
    """Compare which topics each matching policy finds in query files.

    Args:
        topics: TSV file of topics (see `topics.read_topics`), or `topics.parquet` of a collection.
        queries: Query files; see `texts.read_query_texts`.
        examples: Maximum number of rows per topic in `differences` and `false_words`.

    Raises:
        FormatError: a file is malformed.
    """
    table = read_topic_table(Path(topics))
    texts = pl.concat(read_query_texts(Path(path)) for path in queries)
    return audit_topics(table, texts, examples)


def _count_matches(topics: pl.DataFrame, matches: pl.DataFrame, text_count: int) -> pl.DataFrame:
    """Count the matching texts and queries per topic and policy, including zeros."""
    policies = pl.DataFrame({"policy": POLICIES, "order": range(len(POLICIES))})
    counted = matches.group_by("topic_id", "policy").agg(
        pl.col("texts").sum(), pl.len().alias("queries"), pl.col("asked").sum()
    )
    return (
        topics.select("topic_id")
        .join(policies, how="cross")
        .join(counted, on=["topic_id", "policy"], how="left")
        .with_columns(pl.col("texts", "queries", "asked").fill_null(0).cast(pl.UInt64))
        .sort("topic_id", "order")
        .select(
            "topic_id",
            "policy",
            "texts",
            (pl.col("texts") / max(text_count, 1)).alias("share_of_texts"),
            "queries",
            "asked",
        )
    )


def _find_differences_between_policies(matches: pl.DataFrame, examples: int) -> pl.DataFrame:
    """Return the most frequent queries that only the first policy of each pair matches."""
    key = ["topic_id", "folded"]
    rows = []
    for first, second in POLICY_PAIRS:
        by_second = matches.filter(pl.col("policy") == second)
        only = matches.filter(pl.col("policy") == first).join(by_second, on=key, how="anti")
        rows.append(
            only.select(
                "topic_id",
                pl.lit(first).alias("only_in"),
                pl.lit(second).alias("not_in"),
                "text",
                "asked",
            )
        )
    order = ["topic_id", "only_in", "not_in"]
    return (
        pl.concat(rows)
        .sort(*order, "asked", "text", descending=[False, False, False, True, False])
        .group_by(order, maintain_order=True)
        .head(examples)
    )


def _find_false_match_words(
    topics: pl.DataFrame, matches: pl.DataFrame, examples: int
) -> pl.DataFrame:
    """Return query words such as `bordeaux` that merely contain a topic such as `eau`."""
    by_word = matches.filter(pl.col("policy") == "word")
    only = matches.filter(pl.col("policy") == "substring").join(
        by_word, on=["topic_id", "folded"], how="anti"
    )
    words = only.select("topic_id", "folded", pl.col("folded").str.split(" ").alias("word"))
    return (
        words.explode("word")
        .join(topic_patterns(topics, "substring"), on="topic_id")
        .filter(pl.col("word").str.contains(pl.col("pattern"), literal=True))
        .unique(["topic_id", "folded", "word"])
        .group_by("topic_id", "word")
        .agg(pl.len().alias("queries"))
        .sort("topic_id", "queries", "word", descending=[False, True, False])
        .group_by("topic_id", maintain_order=True)
        .head(examples)
    )
