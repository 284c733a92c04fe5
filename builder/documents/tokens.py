r"""Tokens: the words by which two texts are the same or not.

A token is a run of `\w` (letters, marks, digits, underscore), lower-cased. A document's tokens are
those of its title, then of its text.
"""

import hashlib
from collections.abc import Sequence

import polars as pl

WORD = r"\w+"


def tokens(text: pl.Expr) -> pl.Expr:
    """Tokens of a text column, as lists."""
    return text.str.to_lowercase().str.extract_all(WORD)


def token_text(text: pl.Expr) -> pl.Expr:
    """Tokens of a text column, joined by single spaces."""
    return text.str.to_lowercase().str.replace_all(r"\W+", " ").str.strip_chars(" ")


def document_tokens() -> pl.Expr:
    """Tokens of the columns `title` and `text`."""
    return tokens(pl.col("title") + "\n" + pl.col("text"))


def document_chunks() -> pl.Expr:
    """What stands between spaces in the columns `title` and `text`, in lower case.

    No token goes over a space, so tokens can be counted by those of each different chunk.
    """
    return (pl.col("title") + "\n" + pl.col("text")).str.to_lowercase().str.split(" ")


def tokens_of_chunk() -> pl.Expr:
    """Tokens of the column `chunk`, see `document_chunks`."""
    return pl.col("chunk").str.extract_all(WORD)


def digest(texts: Sequence[str]) -> list[str]:
    """md5 of each text, in hexadecimal."""
    return [hashlib.md5(t.encode(), usedforsecurity=False).hexdigest() for t in texts]
