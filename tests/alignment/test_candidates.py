"""Which pairs of removed and added pages are compared in full."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from builder.alignment import moved_candidates, moved_pages
from builder.alignment.document_changes import align_documents
from builder.io.tables import Table
from builder.parameters import ChangeParameters
from builder.runtime.limits import ResourceLimits
from schemas import Documents, TableSchema
from tests.alignment.conftest import describe, identifier
from tests.progress import Steps

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


@pytest.mark.parametrize("crowded", ["removed", "added"])
@pytest.mark.parametrize(("pages", "pairs"), [(20, 20), (21, 0)])
def test_a_band_of_more_than_twenty_pages_is_boilerplate(
    crowded: str, pages: int, pairs: int
) -> None:
    """Two pages that share two bands are one pair; equal values of other bands are no match."""
    connection = duckdb.connect()
    for side in ("removed", "added"):
        connection.execute(moved_candidates.BANDS.format(side=side))
        rows = [(n, 3, 77) for n in range(pages if side == crowded else 1)]
        rows += [(50, 1, 5), (50, 2, 6), (51, 4 if side == "added" else 5, 8)]
        connection.executemany(f"INSERT INTO {side}_bands VALUES (?, ?, ?)", rows)
    sql = moved_candidates.SHARED_BANDS.format(max_pages=moved_candidates.MAX_PAGES_PER_BAND)
    found = connection.execute(sql).fetchall()
    assert sorted(found) == [
        *((n, 0) if crowded == "removed" else (0, n) for n in range(pairs)),
        (50, 50),
    ]


def test_sketched_and_compared_pages_are_counted(
    limits: ResourceLimits,
    stored: Callable[[pl.DataFrame, type[TableSchema]], Table],
    tmp_path: Path,
) -> None:
    """One page on either side may have moved, and two pages were updated."""
    words = " ".join(f"mot{n}" for n in range(60))
    before = [
        ("https://a.fr/1", "", words),
        ("https://a.fr/2", "", "un"),
        ("https://a.fr/3", "", "x"),
    ]
    after = [
        ("https://b.fr/1", "", f"{words} fin"),
        ("https://a.fr/2", "", "deux"),
        ("https://a.fr/3", "", "y"),
    ]
    steps = Steps()
    tables = [
        stored(describe(sorted(pages, key=lambda page: identifier(page[0]))), Documents)
        for pages in (before, after)
    ]
    target = tmp_path / "changes.parquet"
    with limits.connect_to_duckdb() as connection:
        counts = align_documents(
            connection, target, *tables, (), ("06", "07"), ChangeParameters(), limits, steps
        )
    assert counts == (4, 4)
    assert steps.done == [
        ("moved pages", 1, "documents", [1]),
        ("moved pages", 1, "documents", [1]),
        ("degree of change", 2, "documents", [2]),
    ]
    assert steps.open is None
    assert pl.read_parquet(target)["matched_by"].to_list().count("moved") == 2
