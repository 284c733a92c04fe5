"""What is known of a page's text: language, tokens, fingerprints.

In: pages. Out: the same pages with `tokens`, `text_hash` (exact duplicates have the same) and
`token_hash` (pages that changed in nothing but case, punctuation and spaces have the same), with or
without `language` and `language_score`.
"""

import polars as pl

from builder.documents.language import detect_languages
from builder.documents.tokens import count_tokens, digest, token_texts, whole_texts


def describe(pages: pl.DataFrame) -> pl.DataFrame:
    """Add language, number of tokens and fingerprints to pages.

    Args:
        pages: Columns `title` and `text`.

    Returns:
        The pages with five more columns, and `words`: the tokens joined by spaces.
    """
    languages = detect_languages(pages["text"])
    return fingerprints(pages).with_columns(
        pl.Series("language", [code for code, _ in languages], dtype=pl.String),
        pl.Series("language_score", [score for _, score in languages], dtype=pl.Float64),
    )


def fingerprints(pages: pl.DataFrame) -> pl.DataFrame:
    """Add number of tokens and fingerprints to pages.

    Args:
        pages: Columns `title` and `text`.

    Returns:
        The pages with three more columns, and `words`: the tokens joined by spaces.
    """
    words = token_texts(whole_texts(pages)).alias("words")
    return pages.with_columns(
        words,
        pl.Series("tokens", count_tokens(words), dtype=pl.UInt32),
        pl.Series("text_hash", digest(pages["text"]), dtype=pl.String),
        pl.Series("token_hash", digest(words), dtype=pl.String),
    )
