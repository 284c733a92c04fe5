"""Audit topics: what each matching policy takes, and where the policies differ.

In: topics and queries. Out: for each topic and policy the queries taken and their share; the most
frequent queries that only the looser of two policies takes; and the words inside which a topic is
found without being one of them (`eau` in bordeaux).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.io.sources import Source
from builder.queries.matching import POLICIES, match_topics, patterns
from builder.queries.texts import read_texts
from builder.queries.topics import parse_topics
from builder.text.keys import fold


@dataclass(frozen=True)
class TopicAudit:
    """What an audit found.

    Args:
        queries: Distinct folded queries looked at.
        texts: Texts looked at.
        counts: `topic_id`, `policy`, `texts`, `share_of_texts`, `queries`, `asked` (sum of
            frequencies); a row for each topic and policy.
        differences: `topic_id`, `only_in`, `not_in`, `text`, `asked`: the most frequent queries
            that one policy takes and a stricter or other one does not.
        false_words: `topic_id`, `word`, `queries`: the words that hold the topic as a substring,
            in queries that do not hold it as a word.
    """

    queries: int
    texts: int
    counts: pl.DataFrame
    differences: pl.DataFrame
    false_words: pl.DataFrame


PAIRS = (("substring", "word"), ("stem", "word"), ("substring", "stem"), ("stem", "substring"))


def audit_topics(topics: pl.DataFrame, queries: pl.DataFrame, examples: int = 20) -> TopicAudit:
    """Compare the matching policies on some queries.

    Args:
        topics: See `schemas.Topics`.
        queries: Columns `text`, `count` (see `texts.read_texts`).
        examples: Most rows for each topic in `differences` and `false_words`.
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
    taken = pl.concat(
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
        counts=_counts(topics, taken, queries.height),
        differences=_differences(taken, examples),
        false_words=_false_words(topics, taken, examples),
    )


def audit_topic_file(
    topics: Path | str, queries: Sequence[Path | str], examples: int = 20
) -> TopicAudit:
    """Audit a topic table (TSV) on the queries of files.

    Args:
        topics: See `topics.read_topics`.
        queries: See `texts.read_texts`.
        examples: See `audit_topics`.

    Raises:
        FormatError: a file is not what it should be.
    """
    table, _ = parse_topics(Source(Path(topics), str(topics)))
    texts = pl.concat(read_texts(Path(path)) for path in queries)
    return audit_topics(table, texts, examples)


def _counts(topics: pl.DataFrame, taken: pl.DataFrame, texts: int) -> pl.DataFrame:
    policies = pl.DataFrame({"policy": POLICIES, "order": range(len(POLICIES))})
    counted = taken.group_by("topic_id", "policy").agg(
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
            (pl.col("texts") / max(texts, 1)).alias("share_of_texts"),
            "queries",
            "asked",
        )
    )


def _differences(taken: pl.DataFrame, examples: int) -> pl.DataFrame:
    key = ["topic_id", "folded"]
    rows = []
    for looser, stricter in PAIRS:
        of_stricter = taken.filter(pl.col("policy") == stricter)
        only = taken.filter(pl.col("policy") == looser).join(of_stricter, on=key, how="anti")
        rows.append(
            only.select(
                "topic_id",
                pl.lit(looser).alias("only_in"),
                pl.lit(stricter).alias("not_in"),
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


def _false_words(topics: pl.DataFrame, taken: pl.DataFrame, examples: int) -> pl.DataFrame:
    by_word = taken.filter(pl.col("policy") == "word")
    only = taken.filter(pl.col("policy") == "substring").join(
        by_word, on=["topic_id", "folded"], how="anti"
    )
    words = only.select("topic_id", "folded", pl.col("folded").str.split(" ").alias("word"))
    return (
        words.explode("word")
        .join(patterns(topics, "substring"), on="topic_id")
        .filter(pl.col("word").str.contains(pl.col("pattern"), literal=True))
        .unique(["topic_id", "folded", "word"])
        .group_by("topic_id", "word")
        .agg(pl.len().alias("queries"))
        .sort("topic_id", "queries", "word", descending=[False, True, False])
        .group_by("topic_id", maintain_order=True)
        .head(examples)
    )
