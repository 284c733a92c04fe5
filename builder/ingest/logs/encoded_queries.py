"""Detects query texts that are still encoded (HTML, percent-encoding, misread UTF-8).

Web analytics tools store queries as HTML, and access logs contain queries as parts of URLs. Such
texts match few topics, and would otherwise be published unchanged.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from builder.io import parquet

ENCODINGS = {
    "HTML entities such as &#39;": r"&(?:[A-Za-z]{2,8}|#[0-9]{2,5}|#[xX][0-9A-Fa-f]{2,4});",
    "percent-encoding such as %20": r"%[0-9A-Fa-f]{2}",
    "characters such as Ã©, which are UTF-8 misread as windows-1252": (
        r"[ÂÃÐÑ][\x{80}-\x{bf}]|\x{e2}\x{20ac}"
    ),
}
"""Description of each kind of encoding, and the regular expression that finds it in a text."""
MIN_TEXTS, MIN_SHARE = 3, 0.01
"""A note is given if at least this many distinct texts, and this share of them, are encoded; a few
such texts may have been typed by users."""


def note_encoded_queries(log_queries: Path) -> Iterator[str]:
    """Yield a note for each kind of encoding that is frequent among the distinct query texts.

    The notes quote no query, because queries may be personal data.

    Args:
        log_queries: Parquet file with the schema `LogQueries`.
    """
    text = pl.col("text")
    counts = parquet.check_and_scan(log_queries).select(
        pl.len().alias("texts"),
        *(text.str.contains(pattern).sum().alias(name) for name, pattern in ENCODINGS.items()),
    )
    found = counts.collect().row(0, named=True)
    total = found.pop("texts")
    for name, texts in found.items():
        if texts >= max(MIN_TEXTS, MIN_SHARE * total):
            yield f"{texts:,} of {total:,} distinct queries contain {name}; decode the queries"
