"""Computes the exact overlap of the words and shingles of two versions of a text.

Input: texts of both versions of each document. Output: per document, the sizes of both n-gram sets
and of their intersection, as integers; from these the Dice coefficient of word sets (n = 1) and the
Jaccard coefficient of shingle sets (Broder, "On the resemblance and containment of documents",
1997). N-grams are dictionary-encoded, not hashed, so distinct n-grams never collide.

A document with fewer tokens than a shingle has one shingle: all its tokens. A document without
tokens has none; two empty sets have overlap 1.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder.documents.token_buffer import WORD_BYTES, TokenBuffer, read_leading_bytes, tokenize

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SetSizes:
    """Sizes of two sets and of their intersection, int64[documents] each."""

    first: Integers
    second: Integers
    common: Integers

    def dice(self) -> Floats:
        """Return the Dice coefficient of each document, 2 |A and B| / (|A| + |B|)."""
        return _ratio(2 * self.common, self.first + self.second)

    def jaccard(self) -> Floats:
        """Return the Jaccard coefficient of each document, |A and B| / |A or B|."""
        return _ratio(self.common, self.first + self.second - self.common)


def _ratio(numerator: Integers, denominator: Integers) -> Floats:
    """Return the element-wise quotient; 1 where the denominator is 0."""
    return np.where(denominator == 0, 1.0, numerator / np.maximum(denominator, 1))


@dataclass(frozen=True)
class EncodedVersions:
    """Words of two versions of n documents, encoded as integers.

    Args:
        words: Codes of the words: all earlier versions, then all later ones. Two words have the
            same code if they are equal and in versions of the same document.
        lengths: Number of words of each version, int64[2n], in the same order.
    """

    words: Integers
    lengths: Integers

    @classmethod
    def from_texts(cls, first: pl.Series, second: pl.Series) -> "EncodedVersions":
        """Encode two string columns of equal length."""
        tokens = tokenize(pl.concat([first.alias("text"), second.alias("text")]))
        words = pa.array(_token_codes(tokens)).dictionary_encode()
        document = np.repeat(np.tile(np.arange(len(first)), 2), tokens.counts)
        number = document * len(words.dictionary) + _dictionary_indices(words)
        return cls(_encode(number), tokens.counts)

    def overlap(self, size: int) -> SetSizes:
        """For each document, return the sizes of both n-gram sets and of their intersection."""
        words, lengths = _pad_short_texts(self.words, self.lengths, size)
        counts = np.maximum(lengths - size + 1, 0)
        begin = np.arange(int(counts.sum())) + np.repeat(
            _offsets(lengths) - _offsets(counts), counts
        )
        ngrams = _encode_ngrams(words, size)[begin]
        documents, border = len(lengths) // 2, int(counts[: len(counts) // 2].sum())
        owner = np.zeros(int(ngrams.max(initial=-1)) + 1, dtype=np.int64)
        owner[ngrams] = np.repeat(np.tile(np.arange(documents), 2), counts)
        in_first, in_second = np.zeros(len(owner), dtype=bool), np.zeros(len(owner), dtype=bool)
        in_first[ngrams[:border]] = True
        in_second[ngrams[border:]] = True
        first, second, common = (
            np.bincount(owner[chosen], minlength=documents).astype(np.int64)
            for chosen in (in_first, in_second, in_first & in_second)
        )
        return SetSizes(first, second, common)


def _token_codes(tokens: TokenBuffer) -> npt.NDArray[np.uint64]:
    """Return an integer code of each token; two tokens have the same code only if they are equal.

    Tokens of up to eight bytes, none of which is 0, are their own code; longer ones are numbered,
    and the number is shifted by eight bits.
    """
    starts = tokens.starts
    sizes = tokens.ends - starts
    names = read_leading_bytes(tokens.eight_byte_words(), starts, sizes)
    longer = np.flatnonzero(sizes > WORD_BYTES)
    encoded = pa.array(tokens.texts.gather(longer).to_arrow()).dictionary_encode()
    names[longer] = (_dictionary_indices(encoded).astype(np.uint64) + np.uint64(1)) << np.uint64(8)
    return names


def _encode(values: Integers) -> Integers:
    """Return the index of each value among the distinct values, in order of first occurrence."""
    return _dictionary_indices(pa.array(values).dictionary_encode())


def _dictionary_indices(encoded: pa.DictionaryArray) -> Integers:
    """Return the indices of an Arrow dictionary array as int64."""
    codes: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _offsets(lengths: Integers) -> Integers:
    """Return the start offset of consecutive groups with the given lengths."""
    return np.cumsum(lengths) - lengths


def _pad_short_texts(words: Integers, lengths: Integers, size: int) -> tuple[Integers, Integers]:
    """Pad every non-empty version with fewer than `size` words to `size` words."""
    padded = np.where(lengths > 0, np.maximum(lengths, size), 0)
    if padded.sum() == lengths.sum():
        return words, lengths
    target = np.arange(len(words)) + np.repeat(_offsets(padded) - _offsets(lengths), lengths)
    filled = np.full(int(padded.sum()), int(words.max(initial=-1)) + 1, dtype=np.int64)
    filled[target] = words
    return filled, padded


def _encode_ngrams(words: Integers, size: int) -> Integers:
    """Return an integer code of the n-gram at each position, ignoring document boundaries.

    Each n-gram is encoded from two overlapping shorter ones: of 1, 2, 4 and 5 words for size 5.
    """
    ngrams, length = words, 1
    while length < size and len(ngrams):
        step = min(length, size - length)
        ends = ngrams[step:]
        ngrams = _encode(ngrams[: len(ends)] * (int(ngrams.max()) + 1) + ends)
        length += step
    return ngrams
