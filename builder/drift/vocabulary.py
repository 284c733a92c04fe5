"""How the vocabulary changed between two snapshots.

In: word counts of both (see `builder.drift.words`). Out: type overlap, Jensen-Shannon divergence of
the unigram distributions in bits, the share of tokens that the other snapshot does not know, and
the words that contributed most.

All numbers follow from how many words have n_from and n_to occurrences, which is counted in the
engine; the few divisions and logarithms are done on those classes, in a fixed order.
"""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.drift.statistics import divergence_terms, jaccard, jensen_shannon, share

WORDS_LISTED = 20

JOINED = """
CREATE OR REPLACE TEMP VIEW joined_words AS
SELECT token, coalesce(f.n, 0) AS n_from, coalesce(t.n, 0) AS n_to
FROM words_from AS f FULL JOIN words_to AS t USING (token)
"""

CLASSES = """
SELECT n_from, n_to, count(*) AS types,
       count(*) FILTER (regexp_full_match(token, '\\p{L}{2,}')) AS words
FROM joined_words GROUP BY n_from, n_to ORDER BY n_from, n_to
"""

MEMBERS = """
SELECT token AS word, n_from, n_to
FROM joined_words JOIN wanted USING (n_from, n_to)
WHERE regexp_full_match(token, '\\p{L}{2,}')
ORDER BY place, token
"""


def compare_words(
    connection: duckdb.DuckDBPyConnection, before: Path, after: Path, column: str, *, words: bool
) -> dict[str, Any]:
    """Compare two word count files.

    Args:
        connection: Joins them, spilling where they do not fit.
        before: Counts of the earlier snapshot.
        after: Counts of the later snapshot.
        column: `n` (all documents) or `core` (documents of every snapshot).
        words: Whether to list the words that rose and fell.
    """
    for name, path in (("words_from", before), ("words_to", after)):
        counts = connection.read_parquet(str(path)).filter(f"{column} > 0")
        counts.select(f"token, {column} AS n").create_view(name)
    connection.execute(JOINED)
    classes = connection.sql(CLASSES).pl()
    result = measures({(a, b): types for a, b, types, _ in classes.iter_rows()})
    if words and result["js_bits"] is not None:
        rising, falling = _ranked(classes)
        result["rising"] = _members(connection, rising)
        result["falling"] = _members(connection, falling)
    return result


def measures(classes: dict[tuple[int, int], int]) -> dict[str, Any]:
    """All measures from the number of types with each pair of counts.

    `oov_share` is the share of later tokens unknown before, `oov_share_back` that of earlier
    tokens unknown later.
    """
    types_from = sum(types for (a, _), types in classes.items() if a)
    types_to = sum(types for (_, b), types in classes.items() if b)
    types_common = sum(types for (a, b), types in classes.items() if a and b)
    tokens_from = sum(a * types for (a, _), types in classes.items())
    tokens_to = sum(b * types for (_, b), types in classes.items())
    unknown_before = sum(b * types for (a, b), types in classes.items() if not a)
    unknown_after = sum(a * types for (a, b), types in classes.items() if not b)
    return {
        "types_from": types_from,
        "types_to": types_to,
        "types_common": types_common,
        "tokens_from": tokens_from,
        "tokens_to": tokens_to,
        "jaccard": jaccard(types_common, types_from, types_to),
        "js_bits": jensen_shannon(classes),
        "oov_share": share(unknown_before, tokens_to),
        "oov_share_back": share(unknown_after, tokens_from),
    }


def _ranked(classes: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Classes that hold the words which rose, and fell, most: by what they add to divergence."""
    pairs = list(classes.select("n_from", "n_to").iter_rows())
    types = classes["types"].to_list()
    totals = tuple(
        sum(pair[side] * n for pair, n in zip(pairs, types, strict=True)) for side in (0, 1)
    )
    terms = pl.Series("term", divergence_terms(pairs, (totals[0], totals[1])))
    rows = classes.with_columns(terms).filter(pl.col("words") > 0)
    rises = pl.col("n_to") * totals[0] > pl.col("n_from") * totals[1]
    falls = pl.col("n_to") * totals[0] < pl.col("n_from") * totals[1]
    return _first(rows.filter(rises)), _first(rows.filter(falls))


def _first(rows: pl.DataFrame) -> pl.DataFrame:
    ordered = rows.sort(["term", "n_from", "n_to"], descending=[True, False, False])
    enough = ordered.filter(pl.col("words").cum_sum() - pl.col("words") < WORDS_LISTED)
    return enough.select("n_from", "n_to").with_row_index("place")


def _members(connection: duckdb.DuckDBPyConnection, wanted: pl.DataFrame) -> list[dict[str, Any]]:
    connection.register("wanted", wanted.to_arrow())
    members: pl.DataFrame = connection.sql(MEMBERS).limit(WORDS_LISTED).pl()
    connection.unregister("wanted")
    return members.to_dicts()
