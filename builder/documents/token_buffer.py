r"""Tokenizes texts into a single byte buffer, without creating a Python object per token.

Input: texts. Output: the tokens that `tokens_expr` extracts with Polars, separated by spaces.
Texts are processed in chunks, so that intermediate results stay in the CPU cache. Non-ASCII
characters are looked up in `case_tables`; the few texts with characters that are not in these
tables are tokenized with Polars.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.case_tables import (
    NON_ASCII,
    NOT_IN_TABLE,
    SEPARATOR,
    WORD_MARK,
    lowercase_non_ascii_in_place,
)
from builder.documents.tokens import tokens_expr
from builder.text.replacement import replace_where
from builder.text.text_bytes import Bytes, Positions, TextBytes, md5_hex_digests, to_text_bytes

Keys = npt.NDArray[np.uint64]

SPACE = ord(" ")
CHUNK = 2**18
"""Approximate number of bytes of text tokenized at a time."""
WORD_BYTES = 8
"""Number of bytes that are read as one integer when tokens are hashed."""
WORD_MASKS = np.array([2 ** (8 * count) - 1 for count in range(WORD_BYTES + 1)], dtype=np.uint64)
"""Bit masks that keep the first 0 to 8 bytes of a little-endian integer, by number of bytes."""
ASCII_TABLE = bytes(
    byte if byte > 0x7F or chr(byte).isalnum() or chr(byte) == "_" else SPACE
    for byte in bytes(range(256)).lower()
)
"""Translation table for bytes: lowercases ASCII letters, and replaces ASCII characters that are not
part of a word with spaces."""


class TokenBuffer(NamedTuple):
    """Byte buffer with the m tokens of n texts, each token followed by a space.

    Args:
        data: UTF-8 bytes of the tokens and spaces.
        bounds: Byte offsets of the texts, int64[n + 1]: text i is `data[bounds[i]:bounds[i + 1]]`.
        ends: Byte offset of the space after each token, int64[m].
        text_offsets: Token offsets of the texts, int64[n + 1]: text i consists of the tokens from
            `text_offsets[i]` to `text_offsets[i + 1] - 1`.
    """

    data: Bytes
    bounds: Positions
    ends: Positions
    text_offsets: Positions

    @property
    def token_counts(self) -> Positions:
        """Number of tokens of each text, int64[n]."""
        return np.diff(self.text_offsets)

    @property
    def token_offsets(self) -> Positions:
        """Byte offset of each token, then the end offset of the last token, int64[m + 1]."""
        return np.concatenate([self.bounds[:1], self.ends + 1])

    @property
    def token_starts(self) -> Positions:
        """Byte offset of each token, int64[m]."""
        return self.token_offsets[:-1]

    @property
    def token_series(self) -> pl.Series:
        """All tokens of the buffer as a string series; each token has a trailing space."""
        return TextBytes(self.data, self.token_offsets).to_series()

    def as_uint64(self) -> Keys:
        """Return, for each byte offset, the eight bytes that start there as a 64-bit integer.

        Integers are little-endian; the buffer is padded with zeros. The array has one more entry
        than the buffer has bytes.
        """
        padded = np.concatenate([self.data, np.zeros(WORD_BYTES, dtype=np.uint8)])
        return np.ndarray(len(self.data) + 1, "<u8", padded, strides=1)

    def md5_hex(self) -> list[str]:
        """Return the hexadecimal MD5 hash of each text's tokens, joined by single spaces."""
        stops = self.bounds[1:] - (np.diff(self.bounds) > 0)
        return md5_hex_digests(self.data, self.bounds[:-1], stops)


def read_leading_bytes(packed_bytes: Keys, token_starts: Positions, token_sizes: Positions) -> Keys:
    """Return the first eight bytes of each token, or all bytes of shorter tokens, as an integer.

    Args:
        packed_bytes: Eight-byte integer at every byte offset; see `TokenBuffer.as_uint64`.
        token_starts: Byte offset of each token.
        token_sizes: Length of each token in bytes.
    """
    return np.asarray(packed_bytes[token_starts] & WORD_MASKS[np.minimum(token_sizes, WORD_BYTES)])


def tokenize(texts: pl.Series) -> TokenBuffer:
    """Tokenize all texts into one buffer; null texts have no tokens."""
    return _tokenize_range(_to_newline_terminated_bytes(texts), slice(0, len(texts)))


def tokenize_chunks(texts: pl.Series) -> Iterator[TokenBuffer]:
    """Tokenize texts in chunks of about `CHUNK` bytes; yield one buffer per chunk."""
    lines = _to_newline_terminated_bytes(texts)
    chunk_numbers = (lines.ends[1:] - lines.ends[0]) // CHUNK
    chunk_bounds = [0, *(np.flatnonzero(np.diff(chunk_numbers)) + 1).tolist(), len(texts)]
    for start, stop in pairwise(chunk_bounds):
        yield _tokenize_range(lines, slice(start, stop))


def _to_newline_terminated_bytes(texts: pl.Series) -> TextBytes:
    """Return the UTF-8 bytes of texts, each followed by LF; null is treated as an empty text."""
    return to_text_bytes(texts.fill_null("") + "\n")


def from_joined_tokens(joined_tokens: pl.Series) -> TokenBuffer:
    """Create a buffer from texts whose tokens are already separated by spaces.

    Args:
        joined_tokens: Tokens of each text in one string, each token followed by a space.
    """
    data, bounds = to_text_bytes(joined_tokens)
    ends = bounds[0] + np.flatnonzero(data[bounds[0] : bounds[-1]] == SPACE)
    return TokenBuffer(data, bounds, ends, np.searchsorted(ends, bounds))


def _tokenize_range(lines: TextBytes, text_range: slice) -> TokenBuffer:
    """Tokenize a range of texts.

    Args:
        lines: Bytes of texts, each of which ends with LF.
        text_range: Range of the texts to tokenize.
    """
    ends = lines.ends[text_range.start : text_range.stop + 1]
    texts = TextBytes(lines.data[ends[0] : ends[-1]], ends - ends[0])
    lower = np.frombuffer(bytearray(texts.data).translate(ASCII_TABLE), np.uint8)
    unknown = _normalize_non_ascii(lower, np.flatnonzero(lower >= NON_ASCII))
    buffer = _build_token_buffer(lower, texts.ends)
    if not len(unknown):
        return buffer
    is_unknown = np.zeros(len(buffer.token_counts), dtype=np.bool_)
    is_unknown[np.searchsorted(texts.ends, unknown, side="right") - 1] = True
    where = pl.Series(is_unknown)
    words = TextBytes(buffer.data, buffer.bounds).to_series()
    return from_joined_tokens(
        replace_where(words, where, _tokenize_with_polars(texts.to_series().filter(where)))
    )


def _tokenize_with_polars(texts: pl.Series) -> pl.Series:
    """Tokenize texts with Polars; return the tokens of each text, each followed by a space."""
    words = tokens_expr(pl.col("text")).list.eval(pl.element() + " ").list.join("")
    return texts.to_frame("text").select(words)["text"]


def _build_token_buffer(lowercase_bytes: Bytes, text_bounds: Positions) -> TokenBuffer:
    """Create a token buffer from bytes in which any number of spaces separates the tokens.

    Only the first of consecutive spaces is kept; spaces before the first token are dropped.

    Args:
        lowercase_bytes: Lowercased bytes of the texts.
        text_bounds: Byte offset of the first text, then the end offset of each text.
    """
    is_word = lowercase_bytes != SPACE
    is_kept = is_word.copy()
    is_kept[1:] |= is_word[:-1]
    dropped = np.flatnonzero(~is_kept)
    joined = pl.Series(lowercase_bytes).filter(pl.Series(is_kept)).to_numpy()
    ends = np.flatnonzero(joined == SPACE)
    bounds = text_bounds - np.searchsorted(dropped, text_bounds)
    return TokenBuffer(joined, bounds, ends, np.searchsorted(ends, bounds))


def _normalize_non_ascii(lowercase_bytes: Bytes, offsets: Positions) -> Positions:
    """Lowercase non-ASCII characters in place, and replace non-word characters with spaces.

    Args:
        lowercase_bytes: Bytes of texts, in which ASCII letters are already lowercase; modified.
        offsets: Byte offsets of the non-ASCII characters.

    Returns:
        Sorted byte offsets of two kinds of characters: those that are not in the tables, and marks
        that do not follow a character of a word.
    """
    kinds, sizes = lowercase_non_ascii_in_place(lowercase_bytes, offsets)
    separators = np.flatnonzero(kinds == SEPARATOR)
    for offset in range(4):
        lowercase_bytes[offsets[separators] + offset] = SPACE
        separators = separators[sizes[separators] > offset + 1]
    marks = offsets[kinds == WORD_MARK]
    isolated_marks = marks[lowercase_bytes[marks - 1] == SPACE]
    return np.union1d(offsets[kinds == NOT_IN_TABLE], isolated_marks)
