"""What is known of a page's text: language, tokens, fingerprints.

In: pages. Out: the same pages with `tokens`, `text_hash` (exact duplicates have the same) and
`token_hash` (pages that changed in nothing but case, punctuation and spaces have the same), with or
without `language` and `language_score`.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from builder.documents.language import detect_languages
from builder.documents.sketch import Sketches, banded, signatures_of
from builder.documents.token_bytes import token_chunks
from builder.documents.tokens import digest, whole_texts


class Described(NamedTuple):
    """Some pages and what is known of their texts.

    Args:
        pages: The pages with `tokens`, `text_hash` and `token_hash`.
        sketches: Of their tokens; None where none are asked for.
    """

    pages: pl.DataFrame
    sketches: Sketches | None


def describe(pages: pl.DataFrame, shingle: int | None = None) -> Described:
    """Find language, number of tokens, fingerprints and sketches of pages.

    Args:
        pages: Columns `title` and `text`.
        shingle: Tokens in a shingle of a sketch; None: there are no sketches.

    Returns:
        The pages with five more columns, and their sketches.
    """
    languages = detect_languages(pages["text"])
    found = fingerprints(pages, shingle)
    columns = (
        pl.Series("language", [code for code, _ in languages], dtype=pl.String),
        pl.Series("language_score", [score for _, score in languages], dtype=pl.Float64),
    )
    return found._replace(pages=found.pages.with_columns(columns))


def fingerprints(pages: pl.DataFrame, shingle: int | None = None) -> Described:
    """`describe` without the languages."""
    counts, hashes, signatures = [np.zeros(0, dtype=np.int64)], [], []
    for tokens in token_chunks(whole_texts(pages)):
        counts.append(tokens.counts)
        hashes += tokens.digests()
        if shingle is not None:
            signatures.append(signatures_of(tokens, shingle))
    columns = (
        pl.Series("tokens", np.concatenate(counts), dtype=pl.UInt32),
        pl.Series("text_hash", digest(pages["text"]), dtype=pl.String),
        pl.Series("token_hash", hashes, dtype=pl.String),
    )
    sketches = None if shingle is None else banded(signatures)
    return Described(pages.with_columns(columns), sketches)
