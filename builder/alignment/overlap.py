"""How much of a text is left: overlaps of word sets and of shingle sets of two versions.

In: texts of both versions of each document. Out, per document, the sizes of both n-gram sets and
of their intersection, as exact integers; from these the Dice coefficient of word sets (n = 1) and
the Jaccard coefficient of shingle sets (Broder, "On the resemblance and containment of documents",
1997). N-grams are numbered, never hashed, so no two different ones are ever taken for one.

A document with fewer tokens than a shingle has one shingle: all its tokens. A document without
tokens has none; two empty sets have overlap 1.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder.documents.token_bytes import WORD, TokenBytes, token_bytes, words_at

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SetSizes:
    """Sizes of two sets and of their intersection, one entry for each document."""

    first: Integers
    second: Integers
    common: Integers

    def dice(self) -> Floats:
        """2 |A and B| / (|A| + |B|)."""
        return _ratio(2 * self.common, self.first + self.second)

    def jaccard(self) -> Floats:
        """|A and B| / |A or B|."""
        return _ratio(self.common, self.first + self.second - self.common)


def _ratio(part: Integers, whole: Integers) -> Floats:
    return np.where(whole == 0, 1.0, part / np.maximum(whole, 1))


@dataclass(frozen=True)
class Versions:
    """Two versions of each of n documents, as numbered words.

    Args:
        words: Numbers of the words: all earlier versions, then all later ones. Two words have one
            number when they are equal and belong to versions of one document.
        lengths: Words of each version, 2n entries in the same order.
    """

    words: Integers
    lengths: Integers

    @classmethod
    def of(cls, first: pl.Series, second: pl.Series) -> "Versions":
        """Number the words of two equally long columns of texts."""
        tokens = token_bytes(pl.concat([first.alias("text"), second.alias("text")]))
        words = pa.array(_names(tokens)).dictionary_encode()
        document = np.repeat(np.tile(np.arange(len(first)), 2), tokens.counts)
        number = document * len(words.dictionary) + _indices(words)
        return cls(_number(number), tokens.counts)

    def overlap(self, size: int) -> SetSizes:
        """Compare the sets of n-grams of `size` words of both versions of each document."""
        words, lengths = _pad(self.words, self.lengths, size)
        counts = np.maximum(lengths - size + 1, 0)
        begin = np.arange(int(counts.sum())) + np.repeat(_starts(lengths) - _starts(counts), counts)
        grams = _grams(words, size)[begin]
        documents, border = len(lengths) // 2, int(counts[: len(counts) // 2].sum())
        owner = np.zeros(int(grams.max(initial=-1)) + 1, dtype=np.int64)
        owner[grams] = np.repeat(np.tile(np.arange(documents), 2), counts)
        in_first, in_second = np.zeros(len(owner), dtype=bool), np.zeros(len(owner), dtype=bool)
        in_first[grams[:border]] = True
        in_second[grams[border:]] = True
        first, second, common = (
            np.bincount(owner[chosen], minlength=documents).astype(np.int64)
            for chosen in (in_first, in_second, in_first & in_second)
        )
        return SetSizes(first, second, common)


def _names(tokens: TokenBytes) -> npt.NDArray[np.uint64]:
    """A number for each token that equal ones have, and no others.

    That of up to eight bytes is these, of which none is 0; longer ones are counted, times 256.
    """
    starts = tokens.starts
    sizes = tokens.ends - starts
    names = words_at(tokens.words(), starts, sizes)
    longer = np.flatnonzero(sizes > WORD)
    encoded = pa.array(tokens.texts.gather(longer).to_arrow()).dictionary_encode()
    names[longer] = (_indices(encoded).astype(np.uint64) + np.uint64(1)) << np.uint64(8)
    return names


def _number(values: Integers) -> Integers:
    """Number distinct values in order of their first occurrence."""
    return _indices(pa.array(values).dictionary_encode())


def _indices(encoded: pa.DictionaryArray) -> Integers:
    codes: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _starts(lengths: Integers) -> Integers:
    return np.cumsum(lengths) - lengths


def _pad(words: Integers, lengths: Integers, size: int) -> tuple[Integers, Integers]:
    """Fill every version that has some words, but fewer than `size`, up to `size`."""
    padded = np.where(lengths > 0, np.maximum(lengths, size), 0)
    if padded.sum() == lengths.sum():
        return words, lengths
    target = np.arange(len(words)) + np.repeat(_starts(padded) - _starts(lengths), lengths)
    filled = np.full(int(padded.sum()), int(words.max(initial=-1)) + 1, dtype=np.int64)
    filled[target] = words
    return filled, padded


def _grams(words: Integers, size: int) -> Integers:
    """Number the n-gram at each place, whatever the borders of documents.

    An n-gram is known by the longest shorter grams at its two ends: 1, 2, 4, 5 words for size 5.
    """
    grams, known = words, 1
    while known < size and len(grams):
        step = min(known, size - known)
        ends = grams[step:]
        grams = _number(grams[: len(ends)] * (int(grams.max()) + 1) + ends)
        known += step
    return grams
