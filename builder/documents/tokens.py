"""Tokenizes documents into lowercase words.

A token is a lowercased word (see `words`). The tokens of a document are the tokens of its title,
followed by the tokens of its text.
"""

import polars as pl

from builder.documents.lowercase import to_lowercase
from builder.documents.words import JOINERS, WORD
from builder.text.text_bytes import md5_hex_digests, to_text_bytes


def tokens_expr(text: pl.Expr) -> pl.Expr:
    """Return an expression for the list of tokens of each text in a column."""
    return text.str.to_lowercase().str.replace_all(JOINERS, "").str.extract_all(WORD)


def document_tokens_expr() -> pl.Expr:
    """Return an expression for the list of tokens of each document, from its title and text."""
    return tokens_expr(document_text_expr())


def document_text_expr() -> pl.Expr:
    """Return an expression that joins the columns `title` and `text` with a newline."""
    return pl.col("title") + "\n" + pl.col("text")


def document_texts(documents: pl.DataFrame) -> pl.Series:
    """Join the title and text of each document with a newline."""
    return documents.select(document_text_expr()).to_series()


def md5_hex(texts: pl.Series) -> list[str]:
    """Return the hexadecimal MD5 hash of the UTF-8 bytes of each text."""
    data, ends = to_text_bytes(texts)
    return md5_hex_digests(data, ends[:-1], ends[1:])


def document_chunks(documents: pl.DataFrame) -> pl.Series:
    """Lowercase the title and text of each document, and split them at spaces into chunks.

    No token contains a space, so the tokens of all documents can be counted by tokenizing every
    distinct chunk only once.
    """
    return to_lowercase(document_texts(documents)).str.split(" ")


def chunk_tokens_expr() -> pl.Expr:
    """Return an expression for the list of tokens in each lowercased chunk (column `chunk`)."""
    return pl.col("chunk").str.replace_all(JOINERS, "").str.extract_all(WORD)
