"""Which pairs of removed and added pages are compared in full."""

import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builder.alignment import moved_pages
from builder.parameters import ChangeParameters

Align = Callable[..., tuple[Any, dict[str, pl.DataFrame]]]
Page = tuple[str, str, str]

WORDS = [f"mot{number}" for number in range(5000)]
NEAR, HALF = 20, 200


def pages() -> tuple[list[Page], list[Page]]:
    """Pages at new addresses: 20 that keep all but a word, 200 that keep half of their words."""
    draw = random.Random(1)
    before, after = [], []
    for number in range(NEAR + HALF):
        text = draw.choices(WORDS, k=300)
        kept = 290 if number < NEAR else 150
        later = text[:kept] + draw.choices(WORDS, k=300 - kept)
        before.append((f"https://site.fr/avant/{number:03d}", "", " ".join(text)))
        after.append((f"https://site.fr/apres/{number:03d}", "", " ".join(later)))
    return before, after


def compared(align: Align, monkeypatch: pytest.MonkeyPatch, least: float) -> tuple[int, int]:
    """Pairs that were compared in full, and pages that moved."""
    seen = []
    full = moved_pages.keep_similar_pairs

    def keep_similar_pairs(candidates: pl.DataFrame, params: ChangeParameters) -> pl.DataFrame:
        seen.append(candidates.height)
        return full(candidates, params)

    monkeypatch.setattr(moved_pages, "keep_similar_pairs", keep_similar_pairs)
    _, tables = align(*pages(), moved=least)
    return sum(seen), tables["document_changes"]["matched_by"].count() // 2


def test_only_pairs_that_may_be_near_are_compared(
    align: Align, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of pairs at J = 1/3, 18 % share a band; their sketches tell 0.37 +- 0.06, less than 0.9 / 2.
    pairs, found = compared(align, monkeypatch, 0.9)
    assert NEAR <= pairs <= NEAR + 0.02 * HALF
    assert found == NEAR


def test_a_lower_threshold_compares_more(align: Align, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, found = compared(align, monkeypatch, 0.3)
    assert pairs > NEAR + 0.1 * HALF
    assert NEAR < found <= pairs
