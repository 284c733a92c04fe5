"""Sketches of texts: near-identical texts share a part of their sketch, others rarely do.

In: tokens of documents. Out: for each document a few 64-bit bands. Shingles are hashed once,
spread over bins by their hash, and each bin keeps its least hash (one-permutation minwise hashing:
Li, Owen & Zhang 2012). A bin agrees with probability J, the Jaccard coefficient of the shingle
sets; four bins make a band, and two texts are candidates when a band agrees: with 8 bands 99.98 %
at J = 0.9, 76 % at J = 0.6, 0.2 % at J = 0.1. Token hashes are md5, the rest is integer
arithmetic modulo 2^64: the same on every machine.
"""

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

BANDS = 8
BINS_PER_BAND = 4
EMPTY = np.uint64(2**64 - 1)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Hashes = npt.NDArray[np.uint64]


def sketch(documents: pl.DataFrame, shingle: int) -> pl.DataFrame:
    """Bands of each document.

    Args:
        documents: `doc_id` and `tokens` (list of strings), every document with `shingle` tokens.
        shingle: Words in a shingle.

    Returns:
        `doc_id`, `band` (its number) and `value`; bands without any shingle are left out.
    """
    words = documents["tokens"].explode()
    vocabulary = words.unique(maintain_order=True)
    codes = words.replace_strict(vocabulary, np.arange(len(vocabulary)), return_dtype=pl.Int64)
    lengths = documents["tokens"].list.len().cast(pl.Int64).to_numpy()
    hashes = _shingle_hashes(_token_hashes(vocabulary)[codes.to_numpy()], shingle)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    whole = owner[: len(hashes)] == owner[shingle - 1 :]
    bands = _bands(hashes[whole], owner[: len(hashes)][whole], len(lengths))
    return (
        pl.DataFrame({f"{band}": bands[:, band] for band in range(BANDS)})
        .insert_column(0, documents["doc_id"])
        .unpivot(index="doc_id", variable_name="band", value_name="value")
        .filter(pl.col("value") != int(EMPTY))
    )


def _token_hashes(vocabulary: pl.Series) -> Hashes:
    digests = b"".join(
        hashlib.md5(word.encode(), usedforsecurity=False).digest()[:8] for word in vocabulary
    )
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def _shingle_hashes(tokens: Hashes, shingle: int) -> Hashes:
    """Hash of each run of `shingle` tokens, whatever the document borders."""
    runs = len(tokens) - shingle + 1
    hashes = np.zeros(runs, dtype=np.uint64)
    for offset in range(shingle):
        hashes = _mix(hashes * MULTIPLIER + tokens[offset : offset + runs])
    return hashes


def _mix(values: Hashes) -> Hashes:
    """Spread every input bit over all output bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _bands(hashes: Hashes, owner: npt.NDArray[np.int64], documents: int) -> Hashes:
    bins = BANDS * BINS_PER_BAND
    least = np.full(documents * bins, EMPTY, dtype=np.uint64)
    np.minimum.at(least, owner * bins + (hashes % np.uint64(bins)).astype(np.int64), hashes)
    grouped = least.reshape(documents, BANDS, BINS_PER_BAND)
    values = np.zeros((documents, BANDS), dtype=np.uint64)
    for place in range(BINS_PER_BAND):
        values = _mix(values * MULTIPLIER + grouped[:, :, place])
    return np.where((grouped == EMPTY).all(axis=2), EMPTY, values)
