"""Sketches of texts: how alike two texts are, told by a few numbers of each.

In: texts as tokens joined by spaces. Out: a signature of 64 bins and 16 bands for each. Shingles
(runs of tokens) are hashed once and spread over the bins by their hash; each bin keeps its least
hash: one-permutation minwise hashing (Li, Owen & Zhang 2012). Two texts agree in a bin with
probability J, the Jaccard coefficient of their shingle sets, so that the share of agreeing bins
among those that either fills estimates J (standard error 0.04 at J = 0.9). A band is four bins;
texts that share none of the 16 bands are hardly compared: 99.99 % are at J = 0.9, 64 % at J = 0.5,
0.2 % at J = 0.1. Integer arithmetic modulo 2^64 alone: the same on every machine.
"""

from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.tokens import SPACE, count_tokens
from builder.sorting import Keys, mixed
from builder.text_bytes import bytes_of

BINS = 64
BANDS = 16
BIN_SHIFT = np.uint64(58)
EMPTY = np.uint32(2**32 - 1)
CHUNK_BYTES = 15 * 2**14
"""Of texts that are hashed together: with one more, hardly ever more than 2^18 bytes, whose hashes
stay in the processor's cache."""
TOKEN_BASE = np.uint64(0x9E3779B97F4A7C15)
BAND_ROWS = {"number": pl.UInt64, "band": pl.UInt8, "value": pl.UInt64}
INVERSE_BASE = pow(int(TOKEN_BASE), -1, 2**64)
SHINGLE_BASE = np.uint64(0xD1B54A32D192ED03)

Signatures = npt.NDArray[np.uint32]


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


def sketch(words: pl.Series, shingle: int) -> Sketches:
    """Sketch texts.

    Args:
        words: Tokens joined by single spaces.
        shingle: Tokens in a shingle; a text with fewer has an empty sketch.
    """
    sizes = (words.str.len_bytes().cast(pl.Int64) + 1).cum_sum() // CHUNK_BYTES
    cuts = [0, *(np.flatnonzero(np.diff(sizes.to_numpy())) + 1).tolist(), len(words)]
    chunks = pairwise(cuts)
    signatures = [_signatures(words[start:stop], shingle) for start, stop in chunks]
    return _banded(np.concatenate(signatures))


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


def _signatures(words: pl.Series, shingle: int) -> Signatures:
    tokens = count_tokens(words)
    least = np.full(len(words) * BINS, EMPTY, dtype=np.uint32)
    hashes = _shingles(_tokens(words.filter(words != "")), shingle)
    owner = _owners(tokens)
    inside = owner[: len(hashes)] == owner[shingle - 1 :][: len(hashes)]
    hashes, owner = hashes[inside], owner[: len(hashes)][inside]
    bins = owner * BINS + (hashes >> BIN_SHIFT).astype(np.int64)
    np.minimum.at(least, bins, np.minimum(hashes.astype(np.uint32), EMPTY - np.uint32(1)))
    return least.reshape(len(words), BINS)


def _owners(tokens: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The text of each token, from the tokens of each text; lets other threads work meanwhile."""
    filled = np.flatnonzero(tokens)
    steps = np.zeros(int(tokens.sum()), dtype=np.int64)
    steps[(np.cumsum(tokens) - tokens)[filled]] = np.diff(filled, prepend=0)
    return np.cumsum(steps, out=steps)


def _tokens(texts: pl.Series) -> Keys:
    """Hash of each token: a polynomial of its bytes, mixed.

    With b the base, the sum of byte times b^(place in the text + 1) is brought to the token's first
    byte by a power of the inverse of b: odd numbers have one modulo 2^64.
    """
    if texts.is_empty():
        return np.zeros(0, dtype=np.uint64)
    data, _ = bytes_of(texts + " ")
    ends = np.flatnonzero(data == SPACE)
    room = 1 << (len(data) - 1).bit_length()
    powers, inverses = _powers(int(TOKEN_BASE), room), _powers(INVERSE_BASE, room)
    sums = data * powers[: len(data)]
    sums = np.diff(np.cumsum(sums, out=sums)[ends], prepend=np.uint64(0))
    sums[1:] *= inverses[ends[:-1]]
    return mixed(sums)


@lru_cache(maxsize=4)
def _powers(base: int, count: int) -> Keys:
    """The powers of a base from the first, modulo 2^64."""
    return np.asarray(np.cumprod(np.full(count, base, dtype=np.uint64)), dtype=np.uint64)


def _shingles(tokens: Keys, shingle: int) -> Keys:
    """Hash of each run of `shingle` tokens, whatever the borders of texts."""
    runs = max(len(tokens) - shingle + 1, 0)
    hashes = np.zeros(runs, dtype=np.uint64)
    for offset in range(shingle):
        hashes = hashes * SHINGLE_BASE + tokens[offset : offset + runs]
    return mixed(hashes)


def _banded(signatures: Signatures) -> Sketches:
    bins = signatures.reshape(len(signatures), BANDS, BINS // BANDS)
    values = np.zeros((len(signatures), BANDS), dtype=np.uint64)
    for place in range(BINS // BANDS):
        values = mixed(values * SHINGLE_BASE + bins[:, :, place])
    return Sketches(signatures, values, (bins != EMPTY).any(axis=2))
