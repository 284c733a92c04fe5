"""How much of a text is left: overlaps of word sets and of shingle sets of two versions.

In: tokens of both versions of each document. Out, per document, the sizes of both n-gram sets and
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
    """Two versions of each of n documents, as numbered tokens.

    Args:
        codes: Token numbers: all earlier versions, then all later ones.
        lengths: Tokens of each version, 2n entries in the same order.
        vocabulary: Distinct tokens; every code is below it.
    """

    codes: Integers
    lengths: Integers
    vocabulary: int

    @classmethod
    def of(cls, first: pl.Series, second: pl.Series) -> "Versions":
        """Number the tokens of two equally long columns of token lists."""
        tokens = pl.concat([first.alias("tokens"), second.alias("tokens")])
        lengths = tokens.list.len().cast(pl.Int64).to_numpy()
        words = tokens.explode().drop_nulls().to_arrow()
        encoded = pa.array(words).dictionary_encode()
        return cls(_indices(encoded), lengths, len(encoded.dictionary))

    def overlap(self, size: int) -> SetSizes:
        """Compare the sets of n-grams of `size` tokens of both versions of each document."""
        padded, lengths = _pad(self.codes, self.lengths, size, self.vocabulary)
        grams, counts = _grams(padded, lengths, size, self.vocabulary + 1)
        documents = len(self.lengths) // 2
        document = np.repeat(np.arange(len(counts)) % max(documents, 1), counts)
        members = _number(document * (int(grams.max(initial=0)) + 1) + grams)
        border = int(counts[:documents].sum())
        owner = np.zeros(int(members.max(initial=-1)) + 1, dtype=np.int64)
        owner[members] = document
        in_first, in_second = np.zeros_like(owner, dtype=bool), np.zeros_like(owner, dtype=bool)
        in_first[members[:border]] = True
        in_second[members[border:]] = True
        first, second, common = (
            np.bincount(owner[chosen], minlength=documents).astype(np.int64)
            for chosen in (in_first, in_second, in_first & in_second)
        )
        return SetSizes(first, second, common)


def _number(values: Integers) -> Integers:
    """Number distinct values in order of their first occurrence."""
    return _indices(pa.array(values).dictionary_encode())


def _indices(encoded: pa.DictionaryArray) -> Integers:
    codes: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _starts(lengths: Integers) -> Integers:
    return np.cumsum(lengths) - lengths


def _pad(codes: Integers, lengths: Integers, size: int, filler: int) -> tuple[Integers, Integers]:
    """Fill every document that has some tokens, but fewer than `size`, up to `size`."""
    padded = np.where(lengths > 0, np.maximum(lengths, size), 0)
    if padded.sum() == lengths.sum():
        return codes, lengths
    target = np.arange(len(codes)) + np.repeat(_starts(padded) - _starts(lengths), lengths)
    filled = np.full(int(padded.sum()), filler, dtype=np.int64)
    filled[target] = codes
    return filled, padded


def _grams(codes: Integers, lengths: Integers, size: int, base: int) -> tuple[Integers, Integers]:
    """Number the n-grams of each document: numbers in text order, and how many each has."""
    counts = np.maximum(lengths - size + 1, 0)
    shift = np.repeat(_starts(lengths) - _starts(counts), counts)
    begin = np.arange(int(counts.sum())) + shift
    grams = codes[begin]
    for offset in range(1, size):
        grams = _number(grams * base + codes[begin + offset])
    return grams, counts
