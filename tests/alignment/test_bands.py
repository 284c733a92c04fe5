"""Which texts become candidates for one page that moved."""

import random

import numpy as np
import polars as pl

from builder.documents.sketch import BANDS, bands_to_frame, sketch_texts
from builder.documents.token_buffer import tokenize_chunks

WORDS = [f"mot{number}" for number in range(400)]


def bands(*texts: list[str]) -> list[set[tuple[str, int]]]:
    sketches = sketch_texts(tokenize_chunks(pl.Series([" ".join(text) for text in texts])), 5)
    rows = bands_to_frame(sketches, np.arange(len(texts)))
    return [
        set(rows.filter(pl.col("number") == n).select("band", "value").iter_rows())
        for n in range(len(texts))
    ]


def test_equal_texts_have_equal_bands() -> None:
    text = random.Random(1).choices(WORDS, k=300)
    first, second = bands(text, list(text))
    assert first == second
    assert len(first) == BANDS


def test_near_identical_texts_share_a_band() -> None:
    draw = random.Random(2)
    missed = 0
    for _ in range(100):
        text = draw.choices(WORDS, k=300)
        edited = [*text[:100], "nouveau", *text[100:200], "encore", *text[200:]]
        first, second = bands(text, edited)
        missed += not first & second
    assert missed == 0  # Jaccard .94: expected misses 0.0001


def test_unrelated_texts_share_none() -> None:
    draw = random.Random(3)
    first, *others = bands(*(draw.choices(WORDS, k=200) for _ in range(50)))
    assert not any(first & other for other in others)


def test_a_short_text_has_no_band() -> None:
    assert bands("un deux trois quatre".split(), []) == [set(), set()]


def test_values_are_the_same_on_every_machine() -> None:
    (values,) = bands(["un", "deux", "trois", "quatre", "cinq", "six"])
    assert values == EXPECTED


EXPECTED = {(6, 16575757665908362654), (10, 1237465164341337411)}
