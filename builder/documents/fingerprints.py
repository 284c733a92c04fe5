"""Computes the language, token count and fingerprints of pages.

Input: pages. Output: the pages with the additional columns `tokens` (a count), `text_hash` (equal
for exact duplicates) and `token_hash` (equal for pages that differ only in case, punctuation and
white space), and optionally with `language` and `language_score`.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from builder.documents.language import detect_languages
from builder.documents.sketch import Sketches, build_sketches, compute_signatures
from builder.documents.token_buffer import tokenize_chunks
from builder.documents.tokens import document_texts, md5_hex


class FingerprintedPages(NamedTuple):
    """Pages with fingerprints and, optionally, sketches.

    Args:
        pages: Pages with the columns `tokens`, `text_hash` and `token_hash`.
        sketches: Sketch of the tokens of each page; None if not requested.
    """

    pages: pl.DataFrame
    sketches: Sketches | None


def fingerprint_pages_with_language(
    pages: pl.DataFrame, shingle_size: int | None = None
) -> FingerprintedPages:
    """Compute the language, token count, fingerprints and sketch of each page.

    Args:
        pages: Pages with the columns `title` and `text`.
        shingle_size: Number of tokens per shingle; None to compute no sketches.

    Returns:
        The pages with the additional columns `tokens`, `text_hash`, `token_hash`, `language` and
        `language_score`, and their sketches.
    """
    languages = detect_languages(pages["text"])
    fingerprinted = fingerprint_pages(pages, shingle_size)
    columns = (
        pl.Series("language", [code for code, _ in languages], dtype=pl.String),
        pl.Series("language_score", [score for _, score in languages], dtype=pl.Float64),
    )
    return fingerprinted._replace(pages=fingerprinted.pages.with_columns(columns))


def fingerprint_pages(pages: pl.DataFrame, shingle_size: int | None = None) -> FingerprintedPages:
    """Compute the token count, fingerprints and sketch of each page.

    Args:
        pages: Pages with the columns `title` and `text`.
        shingle_size: Number of tokens per shingle; None to compute no sketches.

    Returns:
        The pages with the additional columns `tokens`, `text_hash` and `token_hash`, and their
        sketches.
    """
    counts, hashes, signatures = [np.zeros(0, dtype=np.int64)], [], []
    for tokens in tokenize_chunks(document_texts(pages)):
        counts.append(tokens.token_counts)
        hashes += tokens.md5_hex()
        if shingle_size is not None:
            signatures.append(compute_signatures(tokens, shingle_size))
    columns = (
        pl.Series("tokens", np.concatenate(counts), dtype=pl.UInt32),
        pl.Series("text_hash", md5_hex(pages["text"]), dtype=pl.String),
        pl.Series("token_hash", hashes, dtype=pl.String),
    )
    sketches = None if shingle_size is None else build_sketches(signatures)
    return FingerprintedPages(pages.with_columns(columns), sketches)
