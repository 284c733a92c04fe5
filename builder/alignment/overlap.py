"""Computes how many distinct words and shingles two versions of each document share.

Input: the texts of both versions. Output: per document, the sizes of the n-gram sets of both
versions and of their intersection. From these sizes, the Dice coefficient of the word sets (n = 1)
and the Jaccard coefficient of the shingle sets are computed (Broder, "On the resemblance and
containment of documents", 1997). N-grams are dictionary-encoded, not hashed, so distinct n-grams
never collide.

A text with fewer tokens than a shingle has a single shingle, which consists of all its tokens. A
text without tokens has no shingle. The coefficients of two empty sets are 1.
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
class NgramSetSizes:
    """Sizes of the n-gram sets of two versions of n documents, and of their intersection.

    Args:
        earlier: Size of the set A of the earlier version, int64[n].
        later: Size of the set B of the later version, int64[n].
        common: Size of the intersection of A and B, int64[n].
    """

    earlier: Integers
    later: Integers
    common: Integers

    def dice(self) -> Floats:
        """Return the Dice coefficient of the two versions per document: 2 |A ∩ B| / (|A| + |B|)."""
        return _ratio_or_one(2 * self.common, self.earlier + self.later)

    def jaccard(self) -> Floats:
        """Return the Jaccard coefficient of the two versions per document: |A ∩ B| / |A ∪ B|."""
        return _ratio_or_one(self.common, self.earlier + self.later - self.common)


def _ratio_or_one(numerator: Integers, denominator: Integers) -> Floats:
    """Return the element-wise quotient of two arrays; 1 where the denominator is 0."""
    return np.where(denominator == 0, 1.0, numerator / np.maximum(denominator, 1))


@dataclass(frozen=True)
class EncodedDocumentVersions:
    """Words of two versions of n documents, encoded as integers.

    Args:
        words: Integer codes of the words of all earlier versions, then of all later versions. Two
            words have the same code if they are equal and belong to the same document.
        lengths: Number of words of each version, int64[2n]: all earlier, then all later versions.
    """

    words: Integers
    lengths: Integers

    @classmethod
    def from_texts(cls, earlier: pl.Series, later: pl.Series) -> "EncodedDocumentVersions":
        """Tokenize and encode the texts of the earlier and the later version of each document."""
        tokens = tokenize(pl.concat([earlier.alias("text"), later.alias("text")]))
        words = pa.array(_token_codes(tokens)).dictionary_encode()
        document = np.repeat(np.tile(np.arange(len(earlier)), 2), tokens.token_counts)
        number = document * len(words.dictionary) + _dictionary_indices(words)
        return cls(_dictionary_encode(number), tokens.token_counts)

    def ngram_overlap(self, ngram_size: int) -> NgramSetSizes:
        """Return the sizes of the n-gram sets of the two versions, and of their intersection."""
        words, lengths = _pad_short_texts(self.words, self.lengths, ngram_size)
        counts = np.maximum(lengths - ngram_size + 1, 0)
        begin = np.arange(int(counts.sum())) + np.repeat(
            _start_offsets(lengths) - _start_offsets(counts), counts
        )
        ngrams = _encode_ngrams(words, ngram_size)[begin]
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
        return NgramSetSizes(first, second, common)


def _token_codes(tokens: TokenBuffer) -> npt.NDArray[np.uint64]:
    """Return an integer code per token; equal tokens, and only those, have equal codes.

    The code of a token of up to eight bytes consists of its bytes, none of which is 0. Longer
    tokens are numbered from 1. Their code is the number shifted left by eight bits, so that its
    lowest byte is 0.
    """
    starts = tokens.token_starts
    sizes = tokens.ends - starts
    names = read_leading_bytes(tokens.as_uint64(), starts, sizes)
    longer = np.flatnonzero(sizes > WORD_BYTES)
    encoded = pa.array(tokens.token_series.gather(longer).to_arrow()).dictionary_encode()
    names[longer] = (_dictionary_indices(encoded).astype(np.uint64) + np.uint64(1)) << np.uint64(8)
    return names


def _dictionary_encode(values: Integers) -> Integers:
    """Replace each value with its index among the distinct values, in order of first occurrence."""
    return _dictionary_indices(pa.array(values).dictionary_encode())


def _dictionary_indices(encoded: pa.DictionaryArray) -> Integers:
    """Return the indices of an Arrow dictionary array as int64."""
    codes: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _start_offsets(lengths: Integers) -> Integers:
    """Return the start offset of each group, given the lengths of consecutive groups."""
    return np.cumsum(lengths) - lengths


def _pad_short_texts(words: Integers, lengths: Integers, size: int) -> tuple[Integers, Integers]:
    """Pad every non-empty version with fewer than `size` words to `size` words.

    Args:
        words: Integer codes of the words of all versions.
        lengths: Number of words of each version.
        size: Minimum number of words of a non-empty version.

    Returns:
        The padded words and lengths. The padding word is the same for all versions.
    """
    padded = np.where(lengths > 0, np.maximum(lengths, size), 0)
    if padded.sum() == lengths.sum():
        return words, lengths
    target = np.arange(len(words)) + np.repeat(
        _start_offsets(padded) - _start_offsets(lengths), lengths
    )
    filled = np.full(int(padded.sum()), int(words.max(initial=-1)) + 1, dtype=np.int64)
    filled[target] = words
    return filled, padded


def _encode_ngrams(words: Integers, size: int) -> Integers:
    """Return an integer code for the n-gram that starts at each word.

    Document boundaries are ignored. An n-gram is encoded as a pair of shorter n-grams, which may
    overlap. For size 5, n-grams of 2, 4 and then 5 words are encoded.
    """
    ngrams, length = words, 1
    while length < size and len(ngrams):
        step = min(length, size - length)
        ends = ngrams[step:]
        ngrams = _dictionary_encode(ngrams[: len(ends)] * (int(ngrams.max()) + 1) + ends)
        length += step
    return ngrams
