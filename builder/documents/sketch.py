"""Sketches of texts: small signatures from which the similarity of texts is estimated.

Input: tokens of texts. Output: a signature of 64 bins and 16 bands per text. Shingles (token
n-grams) are hashed once and assigned to the bins by their hash; each bin keeps its smallest hash:
one-permutation minwise hashing (Li, Owen & Zhang 2012). Two texts agree in a bin with probability
J, the Jaccard coefficient of their shingle sets, so the fraction of agreeing bins, among those
filled by either, estimates J (standard error 0.04 at J = 0.9). A band is four bins; only texts that
share one of the 16 bands are compared: 99.99 % at J = 0.9, 64 % at J = 0.5, 0.2 % at J = 0.1. All
arithmetic is modulo 2^64 and platform-independent.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.token_buffer import WORD_BYTES, Keys, TokenBuffer, read_words

BINS = 64
BANDS = 16
BIN_SHIFT = np.uint64(58)
EMPTY = np.uint32(2**32 - 1)
TOKEN_BASE = np.uint64(0x9E3779B97F4A7C15)
MAX_CHAINED_BYTES = 32 * WORD_BYTES
"""Tokens with more bytes are hashed with MD5."""
BAND_SCHEMA = {"number": pl.UInt64, "band": pl.UInt8, "value": pl.UInt64}
SHINGLE_BASE = 0xD1B54A32D192ED03

Signatures = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


class Sketches(NamedTuple):
    """Sketches of n texts.

    Args:
        signatures: uint32[n, 64]: smallest hash of each bin; `EMPTY` for bins without a shingle.
        bands: uint64[n, 16]: one value per four bins.
        filled: bool[n, 16]: whether any of the four bins has a shingle.
    """

    signatures: Signatures
    bands: Keys
    filled: npt.NDArray[np.bool_]


def sketch(chunks: Iterable[TokenBuffer], shingle_size: int) -> Sketches:
    """Compute the sketch of each text: a signature and the bands derived from it.

    Args:
        chunks: Token buffers of the texts.
        shingle_size: Tokens per shingle; a text with fewer tokens has an empty sketch.
    """
    return build_sketches([compute_signatures(tokens, shingle_size) for tokens in chunks])


def build_sketches(signatures: Sequence[Signatures]) -> Sketches:
    """Concatenate arrays of signatures, and compute their bands."""
    rows = np.concatenate([np.zeros((0, BINS), dtype=np.uint32), *signatures])
    bins = rows.reshape(len(rows), BANDS, BINS // BANDS)
    values = np.zeros((len(rows), BANDS), dtype=np.uint64)
    for column in range(BINS // BANDS):
        values = mix64(values * np.uint64(SHINGLE_BASE) + bins[:, :, column])
    return Sketches(rows, values, (bins != EMPTY).any(axis=2))


def compute_signatures(tokens: TokenBuffer, shingle_size: int) -> Signatures:
    """Compute the signature of each text, uint32[n, 64]."""
    count = len(tokens.counts)
    minima = np.full(count * BINS, EMPTY, dtype=np.uint32)
    hashes = _shingle_hashes(_token_hashes(tokens), shingle_size)
    bins = (hashes >> BIN_SHIFT).astype(np.int64)
    bins += _text_indices(tokens)[: len(hashes)] * BINS
    values = np.minimum(hashes.astype(np.uint32), EMPTY - np.uint32(1))
    values[_cross_text_shingles(tokens, shingle_size, len(hashes))] = EMPTY
    np.minimum.at(minima, bins, values)
    return minima.reshape(count, BINS)


def band_rows(sketches: Sketches, numbers: npt.NDArray[np.integer[Any]]) -> pl.DataFrame:
    """Convert the non-empty bands of sketches to rows with `number`, `band` and `value`.

    Args:
        sketches: Sketches of n texts.
        numbers: Number of each text, integer[n].
    """
    row, band = np.nonzero(sketches.filled)
    values = sketches.bands[row, band]
    return pl.DataFrame({"number": numbers[row], "band": band, "value": values}, BAND_SCHEMA)


def memory_map_signatures(path: Path) -> Signatures:
    """Memory-map a file of signatures as uint32[n, 64]."""
    if not path.stat().st_size:
        return np.zeros((0, BINS), dtype=np.uint32)
    return np.memmap(path, dtype=np.uint32, mode="r").reshape(-1, BINS)


def estimate_jaccard(left: Signatures, right: Signatures) -> npt.NDArray[np.float64]:
    """Estimate the Jaccard coefficients of pairs of texts, row by row; 0 if both are empty."""
    is_filled = (left != EMPTY) | (right != EMPTY)
    is_equal = (left == right) & is_filled
    share: npt.NDArray[np.float64] = is_equal.sum(axis=1) / np.maximum(is_filled.sum(axis=1), 1)
    return share


def _text_indices(tokens: TokenBuffer) -> Integers:
    """Return the index of the text that contains each token, int64[m]."""
    steps = np.zeros(len(tokens.ends), dtype=np.int64)
    filled = np.flatnonzero(tokens.counts)
    steps[tokens.text_offsets[filled]] = np.diff(filled, prepend=0)
    return np.cumsum(steps, out=steps)


def _cross_text_shingles(tokens: TokenBuffer, shingle_size: int, shingles: int) -> Integers:
    """Return the indices of shingles that extend beyond the end of their text."""
    indices = (tokens.text_offsets[1:, np.newaxis] - np.arange(1, shingle_size)).ravel()
    return indices[(indices >= 0) & (indices < shingles)]


def _token_hashes(tokens: TokenBuffer) -> Keys:
    """Return a hash of each token that depends on its bytes alone.

    The hash of up to eight bytes is their little-endian integer. Every further eight bytes are
    mixed into the hash; tokens of more than `MAX_CHAINED_BYTES` bytes are hashed with MD5.
    """
    starts = tokens.starts
    sizes = tokens.ends - starts
    words = tokens.words()
    hashes = read_words(words, starts, sizes)
    longer, offset = np.flatnonzero(sizes > WORD_BYTES), WORD_BYTES
    huge = longer[sizes[longer] > MAX_CHAINED_BYTES]
    while len(longer):
        next_bytes = read_words(words, starts[longer] + offset, sizes[longer] - offset)
        hashes[longer] = mix64(hashes[longer]) * TOKEN_BASE + next_bytes
        offset += WORD_BYTES
        longer = longer[(sizes[longer] > offset) & (offset < MAX_CHAINED_BYTES)]
    for index in huge.tolist():
        whole = tokens.data[starts[index] : tokens.ends[index]]
        digest = hashlib.md5(whole.data, usedforsecurity=False).digest()
        hashes[index] = int.from_bytes(digest[:WORD_BYTES], "little")
    return hashes


def _shingle_hashes(tokens: Keys, shingle_size: int) -> Keys:
    """Return a hash of each sequence of `shingle_size` tokens, ignoring text boundaries."""
    return mix64(
        _rolling_hashes(tokens, shingle_size) if len(tokens) >= shingle_size else tokens[:0]
    )


def _rolling_hashes(tokens: Keys, size: int) -> Keys:
    """Return the polynomial hash of each sequence of `size` tokens."""
    if size == 1:
        return tokens
    half = size // 2
    parts = _rolling_hashes(tokens, half)
    whole = parts[:-half] * np.uint64(pow(SHINGLE_BASE, half, 2**64)) + parts[half:]
    return whole if size % 2 == 0 else whole[:-1] * np.uint64(SHINGLE_BASE) + tokens[size - 1 :]


def mix64(values: Keys) -> Keys:
    """Apply the finalizer of SplitMix64 (Steele, Lea & Flood 2014) to 64-bit integers.

    Arithmetic is modulo 2^64.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
