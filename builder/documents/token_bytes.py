r"""Tokens of texts as bytes: found and counted without an object for each.

In: texts. Out: their tokens (see `tokens`), one after the other with a space after each, just as
Polars makes them. Texts are dealt with some at a time, so that what is
known of their bytes stays in the processor's cache. Characters beyond ASCII go by the tables of
`letters`; the few texts with one that is not in them are left to Polars.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.letters import BETWEEN, BEYOND_ASCII, MARK, UNKNOWN, lower_in_place
from builder.documents.tokens import tokens
from builder.text.replacement import replaced
from builder.text.text_bytes import Bytes, Places, TextBytes, bytes_of, digests

Keys = npt.NDArray[np.uint64]

SPACE = ord(" ")
CHUNK = 2**18
"""Bytes of texts that are dealt with together, hardly ever more."""
WORD = 8
"""Bytes of a token that are a number."""
MASKS = np.array([2 ** (8 * count) - 1 for count in range(WORD + 1)], dtype=np.uint64)
"""What is taken of such a number, by the bytes that the token has."""
ASCII = bytes(
    byte if byte > 0x7F or chr(byte).isalnum() or chr(byte) == "_" else SPACE
    for byte in bytes(range(256)).lower()
)
"""What becomes of each byte: letters of ASCII in lower case, a space for what is not of a word."""


class TokenBytes(NamedTuple):
    """The tokens of n texts as they lie in memory, a space after each.

    Args:
        data: Their bytes in UTF-8.
        bounds: n + 1: where those of the first text begin, and where those of each end.
        ends: m: where the space after each token stands.
        firsts: n + 1: how many tokens there are before each text, and in all.
    """

    data: Bytes
    bounds: Places
    ends: Places
    firsts: Places

    @property
    def counts(self) -> Places:
        """How many tokens each text has; n."""
        return np.diff(self.firsts)

    @property
    def borders(self) -> Places:
        """Where each token begins, and where one after the last would; m + 1."""
        return np.concatenate([self.bounds[:1], self.ends + 1])

    @property
    def starts(self) -> Places:
        """Where each token begins; m."""
        return self.borders[:-1]

    @property
    def texts(self) -> pl.Series:
        """The tokens, a space after each; m."""
        return TextBytes(self.data, self.borders).texts()

    def words(self) -> Keys:
        """The eight bytes from each place of the data on as a number, the first the least.

        As many as there are bytes, and one more; what is beyond the data is 0.
        """
        padded = np.concatenate([self.data, np.zeros(WORD, dtype=np.uint8)])
        return np.ndarray(len(self.data) + 1, "<u8", padded, strides=1)

    def digests(self) -> list[str]:
        """md5 of the tokens of each text, joined by single spaces, in hexadecimal."""
        stops = self.bounds[1:] - (np.diff(self.bounds) > 0)
        return digests(self.data, self.bounds[:-1], stops)


def words_at(words: Keys, starts: Places, sizes: Places) -> Keys:
    """The first bytes of tokens as numbers, at most eight of each; see `TokenBytes.words`."""
    return np.asarray(words[starts] & MASKS[np.minimum(sizes, WORD)])


def token_bytes(texts: pl.Series) -> TokenBytes:
    """The tokens of texts, of all at once.

    Args:
        texts: A column of strings; a null has no tokens.
    """
    return _tokens_of(_lines(texts), slice(0, len(texts)))


def token_chunks(texts: pl.Series) -> Iterator[TokenBytes]:
    """The tokens of texts, of some at a time; see `token_bytes`."""
    lines = _lines(texts)
    chunk = (lines.ends[1:] - lines.ends[0]) // CHUNK
    cuts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(texts)]
    for start, stop in pairwise(cuts):
        yield _tokens_of(lines, slice(start, stop))


def _lines(texts: pl.Series) -> TextBytes:
    return bytes_of(texts.fill_null("") + "\n")


def of_joined(words: pl.Series) -> TokenBytes:
    """Tokens that are there, each with a space after it.

    Args:
        words: Those of each text.
    """
    data, bounds = bytes_of(words)
    ends = bounds[0] + np.flatnonzero(data[bounds[0] : bounds[-1]] == SPACE)
    return TokenBytes(data, bounds, ends, np.searchsorted(ends, bounds))


def _tokens_of(lines: TextBytes, rows: slice) -> TokenBytes:
    """The tokens of some of the texts, each of which ends with a LF."""
    ends = lines.ends[rows.start : rows.stop + 1]
    texts = TextBytes(lines.data[ends[0] : ends[-1]], ends - ends[0])
    small = np.frombuffer(bytearray(texts.data).translate(ASCII), np.uint8)
    unknown = _put_others(small, np.flatnonzero(small >= BEYOND_ASCII))
    found = _without_runs(small, texts.ends)
    if not len(unknown):
        return found
    others = np.zeros(len(found.counts), dtype=np.bool_)
    others[np.searchsorted(texts.ends, unknown, side="right") - 1] = True
    where = pl.Series(others)
    words = TextBytes(found.data, found.bounds).texts()
    return of_joined(replaced(words, where, _by_character(texts.texts().filter(where))))


def _by_character(texts: pl.Series) -> pl.Series:
    """Tokens of texts, each with a space after it, as Polars finds them."""
    words = tokens(pl.col("text")).list.eval(pl.element() + " ").list.join("")
    return texts.to_frame("text").select(words)["text"]


def _without_runs(small: Bytes, stops: Places) -> TokenBytes:
    """Tokens of texts from bytes of tokens and of spaces, of which one ends each text.

    Of several spaces the first is kept, and none before the first token.
    """
    of_word = small != SPACE
    stays = of_word.copy()
    stays[1:] |= of_word[:-1]
    dropped = np.flatnonzero(~stays)
    joined = pl.Series(small).filter(pl.Series(stays)).to_numpy()
    ends = np.flatnonzero(joined == SPACE)
    bounds = stops - np.searchsorted(dropped, stops)
    return TokenBytes(joined, bounds, ends, np.searchsorted(ends, bounds))


def _put_others(small: Bytes, places: Places) -> Places:
    """Put what tokens are made of in the place of characters beyond ASCII.

    Args:
        small: Bytes, which are changed.
        places: Where these characters begin.

    Returns:
        The places of those that are not in the tables, and of marks that stand on no character.
    """
    kinds, sizes = lower_in_place(small, places)
    between = np.flatnonzero(kinds == BETWEEN)
    for offset in range(4):
        small[places[between] + offset] = SPACE
        between = between[sizes[between] > offset + 1]
    marks = places[kinds == MARK]
    alone = marks[small[marks - 1] == SPACE]
    return np.union1d(places[kinds == UNKNOWN], alone)
