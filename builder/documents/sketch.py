"""Sketches of texts: how alike two texts are, told by a few numbers of each.

In: tokens of texts. Out: a signature of 64 bins and 16 bands for each. Shingles
(runs of tokens) are hashed once and spread over the bins by their hash; each bin keeps its least
hash: one-permutation minwise hashing (Li, Owen & Zhang 2012). Two texts agree in a bin with
probability J, the Jaccard coefficient of their shingle sets, so that the share of agreeing bins
among those that either fills estimates J (standard error 0.04 at J = 0.9). A band is four bins;
texts that share none of the 16 bands are hardly compared: 99.99 % are at J = 0.9, 64 % at J = 0.5,
0.2 % at J = 0.1. Integer arithmetic modulo 2^64 alone: the same on every machine.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.token_bytes import WORD, Keys, TokenBytes, words_at

BINS = 64
BANDS = 16
BIN_SHIFT = np.uint64(58)
EMPTY = np.uint32(2**32 - 1)
TOKEN_BASE = np.uint64(0x9E3779B97F4A7C15)
LONGEST = 32 * WORD
"""Bytes of the longest token that is hashed beside others."""
BAND_ROWS = {"number": pl.UInt64, "band": pl.UInt8, "value": pl.UInt64}
SHINGLE_BASE = 0xD1B54A32D192ED03

Signatures = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


class Sketches(NamedTuple):
    """Sketches of `n` texts.

    Args:
        signatures: n x 64: the least hash of each bin; `EMPTY` where no shingle fell.
        bands: n x 16: one value for each four bins.
        filled: n x 16: whether any of the four bins has a shingle.
    """

    signatures: Signatures
    bands: Keys
    filled: npt.NDArray[np.bool_]


def sketch(chunks: Iterable[TokenBytes], shingle: int) -> Sketches:
    """Sketch texts.

    Args:
        chunks: Their tokens.
        shingle: Tokens in a shingle; a text with fewer has an empty sketch.
    """
    return banded([signatures_of(tokens, shingle) for tokens in chunks])


def banded(signatures: Sequence[Signatures]) -> Sketches:
    """The sketches of texts from their signatures, some after the others."""
    every = np.concatenate([np.zeros((0, BINS), dtype=np.uint32), *signatures])
    bins = every.reshape(len(every), BANDS, BINS // BANDS)
    values = np.zeros((len(every), BANDS), dtype=np.uint64)
    for place in range(BINS // BANDS):
        values = mix64(values * np.uint64(SHINGLE_BASE) + bins[:, :, place])
    return Sketches(every, values, (bins != EMPTY).any(axis=2))


def signatures_of(tokens: TokenBytes, shingle: int) -> Signatures:
    """The signature of each text; see `sketch`."""
    count = len(tokens.counts)
    least = np.full(count * BINS, EMPTY, dtype=np.uint32)
    hashes = _shingles(_token_hashes(tokens), shingle)
    bins = (hashes >> BIN_SHIFT).astype(np.int64)
    bins += _owners(tokens)[: len(hashes)] * BINS
    values = np.minimum(hashes.astype(np.uint32), EMPTY - np.uint32(1))
    values[_over_borders(tokens, shingle, len(hashes))] = EMPTY
    np.minimum.at(least, bins, values)
    return least.reshape(count, BINS)


def band_rows(sketches: Sketches, numbers: npt.NDArray[np.integer[Any]]) -> pl.DataFrame:
    """Bands as rows `number`, `band` and `value`; those without any shingle are left out.

    Args:
        sketches: Of n texts.
        numbers: n; what each text is called.
    """
    row, band = np.nonzero(sketches.filled)
    values = sketches.bands[row, band]
    return pl.DataFrame({"number": numbers[row], "band": band, "value": values}, BAND_ROWS)


def stored_signatures(path: Path) -> Signatures:
    """Signatures as a file has them, n x 64, read where they are looked at."""
    if not path.stat().st_size:
        return np.zeros((0, BINS), dtype=np.uint32)
    return np.memmap(path, dtype=np.uint32, mode="r").reshape(-1, BINS)


def similarity(left: Signatures, right: Signatures) -> npt.NDArray[np.float64]:
    """Estimated Jaccard coefficients of pairs of texts, row by row; 0 where both are empty."""
    used = (left != EMPTY) | (right != EMPTY)
    agree = (left == right) & used
    share: npt.NDArray[np.float64] = agree.sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    return share


def _owners(tokens: TokenBytes) -> Integers:
    """The text of each token; lets other threads work meanwhile."""
    steps = np.zeros(len(tokens.ends), dtype=np.int64)
    filled = np.flatnonzero(tokens.counts)
    steps[tokens.firsts[filled]] = np.diff(filled, prepend=0)
    return np.cumsum(steps, out=steps)


def _over_borders(tokens: TokenBytes, shingle: int, runs: int) -> Integers:
    """Which of some runs of tokens go over the end of a text."""
    places = (tokens.firsts[1:, np.newaxis] - np.arange(1, shingle)).ravel()
    return places[(places >= 0) & (places < runs)]


def _token_hashes(tokens: TokenBytes) -> Keys:
    """The hash of each token: of its bytes alone, and the same on every machine.

    Of up to eight bytes it is these, the first the least of the number. Eight after the other are
    mixed into the hash of those before; of more than `LONGEST` bytes it is the md5 that counts.
    """
    starts = tokens.starts
    sizes = tokens.ends - starts
    words = tokens.words()
    found = words_at(words, starts, sizes)
    longer, at = np.flatnonzero(sizes > WORD), WORD
    huge = longer[sizes[longer] > LONGEST]
    while len(longer):
        more = words_at(words, starts[longer] + at, sizes[longer] - at)
        found[longer] = mix64(found[longer]) * TOKEN_BASE + more
        at += WORD
        longer = longer[(sizes[longer] > at) & (at < LONGEST)]
    for place in huge.tolist():
        whole = tokens.data[starts[place] : tokens.ends[place]]
        digest = hashlib.md5(whole.data, usedforsecurity=False).digest()
        found[place] = int.from_bytes(digest[:WORD], "little")
    return found


def _shingles(tokens: Keys, shingle: int) -> Keys:
    """Hash of each run of `shingle` tokens, whatever the borders of texts."""
    return mix64(_polynomials(tokens, shingle) if len(tokens) >= shingle else tokens[:0])


def _polynomials(tokens: Keys, size: int) -> Keys:
    """The polynomial of each run of tokens, made of those of its halves."""
    if size == 1:
        return tokens
    half = size // 2
    parts = _polynomials(tokens, half)
    whole = parts[:-half] * np.uint64(pow(SHINGLE_BASE, half, 2**64)) + parts[half:]
    return whole if size % 2 == 0 else whole[:-1] * np.uint64(SHINGLE_BASE) + tokens[size - 1 :]


def mix64(values: Keys) -> Keys:
    """SplitMix64's finaliser (Steele, Lea & Flood 2014): every input bit affects all output bits.

    Arithmetic modulo 2^64: the same on every machine.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
