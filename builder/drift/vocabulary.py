"""Compares the vocabularies of two snapshots.

Reads the word counts of snapshots (see `builder.drift.words`). Returns the overlap of distinct
words (types), the Jensen-Shannon divergence between the unigram distributions in bits, the shares
of out-of-vocabulary tokens, and the words that contribute most to the divergence.

The counts of all snapshots are joined once, with one row per token, so that any two snapshots can
be compared without reading the tokens again. All results depend only on how many words have each
pair of counts (n_from, n_to). Polars counts the words of each such group; the few divisions and
logarithms are then computed per group, in a fixed order.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.drift.statistics import jaccard, jensen_shannon_divergence, jensen_shannon_terms, share
from builder.io import parquet
from builder.io.tables import Table, create_union_view

WORDS_LISTED = 20

IN_ALL, IN_CORE = "all", "core"
"""Scopes of a comparison: all documents, or the core (documents that are in every snapshot)."""

JOINED_COUNTS = """
SELECT token, regexp_full_match(token, '(\\p{{L}}\\p{{M}}*){{2,}}') AS is_word, {columns}
FROM counted GROUP BY token
"""

COLUMNS = """
coalesce(sum(n) FILTER (index = {index:d}), 0)::BIGINT AS all_{index:d},
coalesce(sum(core) FILTER (index = {index:d}), 0)::BIGINT AS core_{index:d}
"""


def join_word_counts(
    connection: duckdb.DuckDBPyConnection,
    word_counts: Mapping[str, Table],
    lost_words: Sequence[Table],
    target: Path,
) -> None:
    """Write the word counts of all snapshots to one Parquet file, with one row per token.

    Args:
        connection: DuckDB connection that joins the counts, spilling to disk if memory is short.
        word_counts: Tables `word_counts` by snapshot name, in chronological order.
        lost_words: Tables `lost_words` of every pair of consecutive snapshots.
        target: The file to write.
    """
    connection.execute("SET VARIABLE names = $names", {"names": list(word_counts)})
    relations = [
        table.relation(connection).select(f"token, {index:d} AS index, n, core")
        for index, table in enumerate(word_counts.values())
    ]
    relations += [
        table.relation(connection).select(
            "token, list_position(getvariable('names'), snapshot) - 1 AS index, 0 AS n, -n AS core"
        )
        for table in lost_words
    ]
    create_union_view(relations, "counted")
    columns = ",".join(COLUMNS.format(index=index) for index in range(len(word_counts)))
    connection.sql(JOINED_COUNTS.format(columns=columns)).write_parquet(str(target))


def compare_words(
    joined_counts: Path, before: int, after: int, scope: str, *, list_words: bool
) -> dict[str, Any]:
    """Compare the words of two snapshots: overlap, divergence and out-of-vocabulary shares.

    Args:
        joined_counts: File written by `join_word_counts`.
        before: Index of the earlier snapshot.
        after: Index of the later snapshot.
        scope: `IN_ALL` or `IN_CORE`.
        list_words: Whether to list the words whose frequency rose or fell most.
    """
    counts = (
        parquet.scan(joined_counts)
        .rename({f"{scope}_{before}": "n_from", f"{scope}_{after}": "n_to"})
        .filter((pl.col("n_from") > 0) | (pl.col("n_to") > 0))
    )
    pair = ("n_from", "n_to")
    number = (pl.len().alias("types"), pl.col("is_word").sum().alias("words"))
    groups = counts.group_by(pair).agg(number).sort(pair).collect()
    result = vocabulary_statistics({(a, b): types for a, b, types, _ in groups.iter_rows()})
    if list_words and result["js_bits"] is not None:
        rising, falling = _rising_and_falling_groups(groups)
        result["rising"] = _list_words(counts, rising)
        result["falling"] = _list_words(counts, falling)
    return result


def vocabulary_statistics(types_by_count_pair: dict[tuple[int, int], int]) -> dict[str, Any]:
    """Return vocabulary statistics of two snapshots from their word counts.

    Args:
        types_by_count_pair: Number of distinct words for each pair of counts (n_from, n_to).

    Returns:
        Statistics by name. `oov_share` is the share of later tokens that are absent from the
        earlier snapshot, `oov_share_back` the share of earlier tokens that are absent from the
        later snapshot.
    """
    types_from = sum(types for (a, _), types in types_by_count_pair.items() if a)
    types_to = sum(types for (_, b), types in types_by_count_pair.items() if b)
    types_common = sum(types for (a, b), types in types_by_count_pair.items() if a and b)
    tokens_from = sum(a * types for (a, _), types in types_by_count_pair.items())
    tokens_to = sum(b * types for (_, b), types in types_by_count_pair.items())
    unknown_before = sum(b * types for (a, b), types in types_by_count_pair.items() if not a)
    unknown_after = sum(a * types for (a, b), types in types_by_count_pair.items() if not b)
    return {
        "types_from": types_from,
        "types_to": types_to,
        "types_common": types_common,
        "tokens_from": tokens_from,
        "tokens_to": tokens_to,
        "jaccard": jaccard(types_common, types_from, types_to),
        "js_bits": jensen_shannon_divergence(types_by_count_pair),
        "oov_share": share(unknown_before, tokens_to),
        "oov_share_back": share(unknown_after, tokens_from),
    }


def _rising_and_falling_groups(count_groups: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the count pairs (n_from, n_to) of the words whose frequency rose or fell most."""
    pairs = list(count_groups.select("n_from", "n_to").iter_rows())
    types = count_groups["types"].to_list()
    totals = tuple(
        sum(pair[side] * n for pair, n in zip(pairs, types, strict=True)) for side in (0, 1)
    )
    terms = pl.Series("term", jensen_shannon_terms(pairs, (totals[0], totals[1])))
    rows = count_groups.with_columns(terms).filter(pl.col("words") > 0)
    rises = pl.col("n_to") * totals[0] > pl.col("n_from") * totals[1]
    falls = pl.col("n_to") * totals[0] < pl.col("n_from") * totals[1]
    return _most_frequent_groups(rows.filter(rises)), _most_frequent_groups(rows.filter(falls))


def _most_frequent_groups(count_groups: pl.DataFrame) -> pl.DataFrame:
    ordered = count_groups.sort(["term", "n_from", "n_to"], descending=[True, False, False])
    enough = ordered.filter(pl.col("words").cum_sum() - pl.col("words") < WORDS_LISTED)
    return enough.select("n_from", "n_to").with_row_index("index")


def _list_words(word_counts: pl.LazyFrame, count_groups: pl.DataFrame) -> list[dict[str, Any]]:
    return (
        word_counts.filter("is_word")
        .join(count_groups.lazy(), on=["n_from", "n_to"])
        .sort("index", "token")
        .head(WORDS_LISTED)
        .select(pl.col("token").alias("word"), "n_from", "n_to")
        .collect()
        .to_dicts()
    )
