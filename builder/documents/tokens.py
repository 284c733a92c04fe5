"""Tokens: the words by which two texts are the same or not.

A token is a word (see `words`), lower-cased. A document's tokens are those of its title, then of
its text.
"""

import polars as pl

from builder.documents.lowering import lowered
from builder.documents.words import JOINERS, WORD
from builder.text.text_bytes import bytes_of, digests


def tokens(text: pl.Expr) -> pl.Expr:
    """Tokens of a text column, as lists."""
    return text.str.to_lowercase().str.replace_all(JOINERS, "").str.extract_all(WORD)


def document_tokens() -> pl.Expr:
    """Tokens of the columns `title` and `text`."""
    return tokens(whole_text())


def whole_text() -> pl.Expr:
    """Title and text of each document, from the columns `title` and `text`."""
    return pl.col("title") + "\n" + pl.col("text")


def whole_texts(documents: pl.DataFrame) -> pl.Series:
    """`whole_text` of some documents."""
    return documents.select(whole_text()).to_series()


def digest(texts: pl.Series) -> list[str]:
    """md5 of each text in UTF-8, in hexadecimal."""
    data, ends = bytes_of(texts)
    return digests(data, ends[:-1], ends[1:])


def document_chunks(documents: pl.DataFrame) -> pl.Series:
    """What stands between spaces in the columns `title` and `text`, in lower case, as lists.

    No token goes over a space, so tokens can be counted by those of each different chunk.
    """
    return lowered(whole_texts(documents)).str.split(" ")


def tokens_of_chunk() -> pl.Expr:
    """Tokens of the column `chunk`, see `document_chunks`."""
    return pl.col("chunk").str.replace_all(JOINERS, "").str.extract_all(WORD)
