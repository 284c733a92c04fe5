"""What is known of a page's text: language, tokens, fingerprints.

In: pages. Out: the same pages with `language`, `language_score`, `tokens`, `text_hash` (exact
duplicates have the same) and `token_hash` (pages that changed in nothing but case, punctuation and
spaces have the same).
"""

import polars as pl

from builder.documents.language import detect_languages
from builder.documents.tokens import digest, token_text


def describe(pages: pl.DataFrame) -> pl.DataFrame:
    """Add language, number of tokens and fingerprints to pages.

    Args:
        pages: Columns `title` and `text`.

    Returns:
        The pages with five more columns, and `words`: the tokens joined by spaces.
    """
    languages = detect_languages(pages["text"])
    words = pages.select(token_text(pl.col("title") + "\n" + pl.col("text")).alias("words"))
    return pages.with_columns(
        pl.Series("language", [code for code, _ in languages], dtype=pl.String),
        pl.Series("language_score", [score for _, score in languages], dtype=pl.Float64),
        words["words"],
        words.select(count_tokens("words").alias("tokens"))["tokens"],
        pl.Series("text_hash", digest(pages["text"].to_list()), dtype=pl.String),
        pl.Series("token_hash", digest(words["words"].to_list()), dtype=pl.String),
    )


def count_tokens(words: str) -> pl.Expr:
    """Number of tokens in a column of tokens joined by spaces."""
    spaces = pl.col(words).str.count_matches(" ", literal=True)
    return pl.when(pl.col(words) == "").then(0).otherwise(spaces + 1).cast(pl.UInt32)
