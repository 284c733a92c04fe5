"""Sketches of texts beside signatures that are worked out one number at a time."""

import hashlib
import random
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from builder.documents import token_buffer
from builder.documents.sketch import BINS, EMPTY, Sketches, estimate_jaccard, sketch_texts
from builder.documents.token_buffer import tokenize_chunks
from tests.documents.test_duplicates import edited, text


def jaccard(left: str, right: str, shingle: int = 5) -> float:
    sets = []
    for words in (left.split(), right.split()):
        sets.append({tuple(words[i : i + shingle]) for i in range(len(words) - shingle + 1)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_sketches_estimate_jaccard() -> None:
    base = text(1000)
    texts = [" ".join(edited(base, list(range(0, 1000, step)))) for step in (1000, 100, 50, 20, 9)]
    signatures = sketch_texts(tokenize_chunks(pl.Series(texts)), 5).signatures
    for other, row in zip(texts, signatures, strict=True):
        estimate = estimate_jaccard(signatures[:1], row[np.newaxis])[0]
        assert estimate == pytest.approx(jaccard(texts[0], other), abs=0.16)


def test_bins_that_both_texts_lack_do_not_count() -> None:
    """Three bins are filled in either text and one of them is equal; two empty texts share none."""
    left, right = np.full((2, 2, BINS), EMPTY, dtype=np.uint32)
    left[0, :3] = [7, 8, EMPTY]
    right[0, :3] = [7, EMPTY, 9]
    assert estimate_jaccard(left, right).tolist() == [1 / 3, 0.0]


def mixed(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def hashed(token: bytes) -> int:
    """The hash of a token, eight bytes after the other."""
    if len(token) > 256:
        return int.from_bytes(hashlib.md5(token).digest()[:8], "little")
    first, *more = (token[n : n + 8] for n in range(0, len(token), 8))
    value = int.from_bytes(first, "little")
    for piece in more:
        value = mixed(value) * 0x9E3779B97F4A7C15 + int.from_bytes(piece, "little")
        value %= 2**64
    return value


def by_hand(words: str, shingle: int = 5) -> list[int]:
    """The signature of a text, one number at a time."""
    tokens = [hashed(word.encode()) for word in words.split()]
    bins = [2**32 - 1] * BINS
    for start in range(len(tokens) - shingle + 1):
        value = 0
        for token in tokens[start : start + shingle]:
            value = (value * 0xD1B54A32D192ED03 + token) % 2**64
        bins[mixed(value) >> 58] = min(bins[mixed(value) >> 58], mixed(value) % 2**32)
    return bins


def bands_by_hand(bins: list[int]) -> list[int]:
    """The hash of four consecutive bins each."""
    bands = []
    for start in range(0, BINS, 4):
        value = 0
        for smallest in bins[start : start + 4]:
            value = mixed((value * 0xD1B54A32D192ED03 + smallest) % 2**64)
        bands.append(value)
    return bands


def sketched(texts: pl.Series, chunk: int = 2**18, shingle: int = 5) -> Sketches:
    with patch.object(token_buffer, "CHUNK", chunk):
        return sketch_texts(tokenize_chunks(texts), shingle)


@pytest.mark.parametrize("chunk", [1, 20, 2**18])
def test_sketches_depend_on_the_text_alone(chunk: int) -> None:
    texts = pl.Series(["a b c d e f", "", "x", "a b c d e f", " ".join(text(90_000)), "é ü"])
    whole = sketched(texts, chunk)
    for place in range(len(texts)):
        single = sketched(texts[place : place + 1])
        assert np.array_equal(single.signatures[0], whole.signatures[place])
    assert whole.filled.any(axis=1).tolist() == [True, False, False, True, True, False]
    assert sketched(texts.clear()).signatures.shape == (0, BINS)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17, 255, 256, 257, 300])
def test_tokens_of_every_length_are_hashed_by_all_their_bytes(size: int) -> None:
    word = "".join(random.Random(size).choices("abcdé", k=size))
    words = f"a b {word} d e f {word}x g"
    assert sketched(pl.Series([words])).signatures[0].tolist() == by_hand(words)


@pytest.mark.parametrize("shingle", [1, 2, 3, 4, 6, 7, 8])
def test_shingles_of_every_size(shingle: int) -> None:
    texts = [" ".join(text(40)), "a b", " ".join(text(9)[:shingle]), ""]
    found = sketched(pl.Series(texts), shingle=shingle)
    assert found.signatures.tolist() == [by_hand(words, shingle) for words in texts]
    assert found.bands.tolist() == [bands_by_hand(by_hand(words, shingle)) for words in texts]
