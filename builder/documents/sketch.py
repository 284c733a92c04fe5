"""Sketches of texts: small signatures from which the similarity of texts is estimated.

Input: tokens of texts. Output: per text, a signature of 64 bins, and 16 bands. Each shingle (token
n-gram) is hashed once and assigned to a bin by its hash; each bin keeps its smallest hash. This is
one-permutation minwise hashing (Li, Owen & Zhang 2012). Two texts agree in a bin with probability
J, the Jaccard coefficient of their shingle sets. Therefore, the fraction of agreeing bins, among
the bins that are filled in at least one of the texts, estimates J (standard error 0.04 at J = 0.9).
A band consists of four bins. Only texts that agree in at least one of the 16 bands are compared:
99.99 % of the pairs with J = 0.9, 64 % with J = 0.5, and 0.2 % with J = 0.1. All arithmetic is
modulo 2^64 and independent of the platform.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.token_buffer import WORD_BYTES, Keys, TokenBuffer, read_leading_bytes

BINS = 64
BANDS = 16
BIN_SHIFT = np.uint64(58)
EMPTY = np.uint32(2**32 - 1)
TOKEN_BASE = np.uint64(0x9E3779B97F4A7C15)
MAX_CHAINED_BYTES = 32 * WORD_BYTES
"""Length in bytes above which a token is hashed with MD5."""
BAND_SCHEMA = {"number": pl.UInt64, "band": pl.UInt8, "value": pl.UInt64}
SHINGLE_BASE = 0xD1B54A32D192ED03

Signatures = npt.NDArray[np.uint32]
Integers = npt.NDArray[np.int64]


class Sketches(NamedTuple):
    """Sketches of n texts.

    Args:
        signatures: Smallest hash of each bin, uint32[n, 64]; `EMPTY` for bins without a shingle.
        bands: Hash of the four bins of each band, uint64[n, 16].
        filled: Whether at least one of the four bins of a band has a shingle, bool[n, 16].
    """

    signatures: Signatures
    bands: Keys
    filled: npt.NDArray[np.bool_]


def sketch_texts(chunks: Iterable[TokenBuffer], shingle_size: int) -> Sketches:
    """Compute the sketch of each text: a signature, and the bands derived from the signature.

    Args:
        chunks: Token buffers of the texts.
        shingle_size: Number of tokens per shingle; a text with fewer tokens has an empty sketch.
    """
    return build_sketches([compute_signatures(tokens, shingle_size) for tokens in chunks])


def build_sketches(signatures: Sequence[Signatures]) -> Sketches:
    """Concatenate arrays of signatures, compute the bands, and return both as sketches."""
    rows = np.concatenate([np.zeros((0, BINS), dtype=np.uint32), *signatures])
    bins = rows.reshape(len(rows), BANDS, BINS // BANDS)
    values = np.zeros((len(rows), BANDS), dtype=np.uint64)
    for column in range(BINS // BANDS):
        values = mix64(values * np.uint64(SHINGLE_BASE) + bins[:, :, column])
    return Sketches(rows, values, (bins != EMPTY).any(axis=2))


def compute_signatures(tokens: TokenBuffer, shingle_size: int) -> Signatures:
    """Compute the signature of each text, uint32[n, 64].

    Args:
        tokens: Tokens of n texts.
        shingle_size: Number of tokens per shingle.
    """
    count = len(tokens.token_counts)
    minima = np.full(count * BINS, EMPTY, dtype=np.uint32)
    hashes = _shingle_hashes(_token_hashes(tokens), shingle_size)
    bins = (hashes >> BIN_SHIFT).astype(np.int64)
    bins += _text_index_per_token(tokens)[: len(hashes)] * BINS
    values = np.minimum(hashes.astype(np.uint32), EMPTY - np.uint32(1))
    values[_shingles_crossing_texts(tokens, shingle_size, len(hashes))] = EMPTY
    np.minimum.at(minima, bins, values)
    return minima.reshape(count, BINS)


def bands_to_frame(sketches: Sketches, text_numbers: npt.NDArray[np.integer[Any]]) -> pl.DataFrame:
    """Convert the non-empty bands of sketches to rows with `number`, `band` and `value`.

    Args:
        sketches: Sketches of n texts.
        text_numbers: Number that identifies each text, integer[n].
    """
    row, band = np.nonzero(sketches.filled)
    values = sketches.bands[row, band]
    return pl.DataFrame({"number": text_numbers[row], "band": band, "value": values}, BAND_SCHEMA)


def memory_map_signatures(path: Path) -> Signatures:
    """Memory-map a file of n signatures as an array, uint32[n, 64]."""
    if not path.stat().st_size:
        return np.zeros((0, BINS), dtype=np.uint32)
    return np.memmap(path, dtype=np.uint32, mode="r").reshape(-1, BINS)


def estimate_jaccard(left: Signatures, right: Signatures) -> npt.NDArray[np.float64]:
    """Estimate the Jaccard coefficient of each pair of texts, float64[n]; 0 for two empty texts.

    Args:
        left: Signature of the first text of each pair, uint32[n, 64].
        right: Signature of the second text of each pair, uint32[n, 64].
    """
    is_filled = (left != EMPTY) | (right != EMPTY)
    is_equal = (left == right) & is_filled
    share: npt.NDArray[np.float64] = is_equal.sum(axis=1) / np.maximum(is_filled.sum(axis=1), 1)
    return share


def _text_index_per_token(tokens: TokenBuffer) -> Integers:
    """Return the index of the text that contains each token, int64[tokens]."""
    steps = np.zeros(len(tokens.ends), dtype=np.int64)
    filled = np.flatnonzero(tokens.token_counts)
    steps[tokens.text_offsets[filled]] = np.diff(filled, prepend=0)
    return np.cumsum(steps, out=steps)


def _shingles_crossing_texts(
    tokens: TokenBuffer, shingle_size: int, shingle_count: int
) -> Integers:
    """Return the indices of shingles that extend beyond the end of their text.

    Args:
        tokens: Tokens of the texts.
        shingle_size: Number of tokens per shingle.
        shingle_count: Number of shingles, one per start token, regardless of text boundaries.
    """
    indices = (tokens.text_offsets[1:, np.newaxis] - np.arange(1, shingle_size)).ravel()
    return indices[(indices >= 0) & (indices < shingle_count)]


def _token_hashes(tokens: TokenBuffer) -> Keys:
    """Return a hash of each token, uint64[tokens].

    A token of up to eight bytes is its own hash, read as a little-endian integer. Every further
    eight bytes are mixed into the hash. Tokens of more than `MAX_CHAINED_BYTES` bytes are hashed
    with MD5.
    """
    starts = tokens.token_starts
    sizes = tokens.ends - starts
    words = tokens.as_uint64()
    hashes = read_leading_bytes(words, starts, sizes)
    longer, offset = np.flatnonzero(sizes > WORD_BYTES), WORD_BYTES
    huge = longer[sizes[longer] > MAX_CHAINED_BYTES]
    while len(longer):
        next_bytes = read_leading_bytes(words, starts[longer] + offset, sizes[longer] - offset)
        hashes[longer] = mix64(hashes[longer]) * TOKEN_BASE + next_bytes
        offset += WORD_BYTES
        longer = longer[(sizes[longer] > offset) & (offset < MAX_CHAINED_BYTES)]
    for index in huge.tolist():
        whole = tokens.data[starts[index] : tokens.ends[index]]
        digest = hashlib.md5(whole.data, usedforsecurity=False).digest()
        hashes[index] = int.from_bytes(digest[:WORD_BYTES], "little")
    return hashes


def _shingle_hashes(token_hashes: Keys, shingle_size: int) -> Keys:
    """Return a hash of each sequence of `shingle_size` tokens, regardless of text boundaries.

    Args:
        token_hashes: Hash of each token.
        shingle_size: Number of tokens per shingle.
    """
    if len(token_hashes) < shingle_size:
        return token_hashes[:0]
    return mix64(_rolling_hashes(token_hashes, shingle_size))


def _rolling_hashes(token_hashes: Keys, window_size: int) -> Keys:
    """Return the polynomial hash of each sequence of `window_size` consecutive token hashes."""
    if window_size == 1:
        return token_hashes
    half = window_size // 2
    parts = _rolling_hashes(token_hashes, half)
    whole = parts[:-half] * np.uint64(pow(SHINGLE_BASE, half, 2**64)) + parts[half:]
    if window_size % 2 == 0:
        return whole
    return whole[:-1] * np.uint64(SHINGLE_BASE) + token_hashes[window_size - 1 :]


def mix64(values: Keys) -> Keys:
    """Mix the bits of 64-bit integers with the finalizer of SplitMix64 (Steele, Lea & Flood 2014).

    Arithmetic is modulo 2^64.
    """
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
