"""The distinct pages of impressions, and what is counted of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from builder.clicks import distinct
from builder.clicks.counting import PageCounts
from builder.clicks.distinct import distinct_pages
from builder.clicks.pieces import Lists, distinct_clicks, lists_of, piece_of
from builder.clicks.selected import Chosen
from builder.errors import DataError
from builder.tables import Table
from schemas import Candidates, Variants
from tests.clicks.selections import HIGH, selection

LISTS = {"results": pl.List(pl.UInt64), "clicks": pl.List(pl.UInt16)}


def shown(query: list[int], results: list[list[int]], clicks: list[list[int]]) -> pa.Table:
    columns = {"query": query, "results": results, "clicks": clicks}
    return pl.DataFrame(columns, schema={"query": pl.UInt64, **LISTS}).to_arrow()


def test_pages_with_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = shown([1, 1, 2], [[5, 6], [6, 5], [5, 6]], [[1], [1], []])
    query, results = rows["query"].to_numpy(), lists_of(rows, "results")
    honest = distinct._hashes

    def colliding(*arguments: Any) -> Any:
        hashes = honest(*arguments)
        return hashes if arguments[-1] == 2 else np.zeros_like(hashes)

    monkeypatch.setattr(distinct, "_hashes", colliding)
    (pages,) = distinct_pages(query, results)
    assert pages.weights.tolist() == [1, 1, 1]
    counts = PageCounts(Chosen(), last_by_time=False)
    assert [counts.pages_of(query[:1], results.take(np.array([0])))] == [0]
    assert sorted(counts.pages_of(query, results).tolist()) == [0, 1, 2]
    monkeypatch.setattr(distinct, "_hashes", lambda q, *_: np.zeros(len(q), dtype=np.uint64))
    with pytest.raises(DataError, match="no hash told"):
        list(distinct_pages(query, results))
    counts = PageCounts(Chosen(), last_by_time=False)
    with pytest.raises(DataError, match="no hash told"):
        counts.pages_of(query, results)


def test_what_is_counted_of_a_page(tmp_path: Path) -> None:
    """Pages of several lengths, of a query that does not count and of one that another stands for,
    in several pieces."""
    frames = {
        "candidates": pl.DataFrame({"query": [HIGH, 3]}, schema={"query": pl.UInt64}),
        "variants": pl.DataFrame(
            {"query": [3], "representative": [HIGH]},
            schema={"query": pl.UInt64, "representative": pl.UInt64},
        ),
    }
    everything = selection([], tmp_path)
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    chosen = replace(
        everything,
        candidates=Table((tmp_path / "candidates.parquet",), Candidates),
        variants=Table((tmp_path / "variants.parquet",), Variants),
    )
    counts = PageCounts(Chosen(chosen), last_by_time=True)
    rows = shown(
        [HIGH, 9, 3, HIGH, 3],
        [[1, 2, 3], [1, 2, 3], [7], [1, 2, 3], [7]],
        [[2, 1], [1], [], [3], [1]],
    )
    found = []
    for piece in (rows[:3], rows[3:]):
        results = lists_of(piece, "results")
        page = counts.pages_of(piece["query"].to_numpy(), results)
        found += page.tolist()
        used = np.flatnonzero(page >= 0)
        clicked = piece_of(piece, results.lengths).take(used)
        counts.count(page[used], clicked, distinct_clicks(clicked.clicks))
    assert (found[1], found[3], found[4]) == (-1, found[0], found[2])
    assert sorted(counts.table().to_pylist(), key=lambda row: len(row["results"])) == [
        {
            "query": HIGH,
            "shown": 2,
            "shown_clicked": 1,
            "beyond": 0,
            "results": [7],
            "depths": [1],
            "clicks": [1],
            "latest": [1],
        },
        {
            "query": HIGH,
            "shown": 2,
            "shown_clicked": 2,
            "beyond": 0,
            "results": [1, 2, 3],
            "depths": [0, 1, 1],
            "clicks": [1, 1, 1],
            "latest": [1, 0, 1],
        },
    ]
    assert counts.impressions_with_duplicate() == 0
    assert counts.bytes > 5 * 8


def test_each_rank_is_clicked_once() -> None:
    clicks = Lists(np.array([2, 5, 5, 1, 5, 3]), np.array([0, 1, 1, 5, 6]))
    found = distinct_clicks(clicks)
    assert sorted(zip(found.impression, found.rank, strict=True)) == [
        (0, 2),
        (2, 1),
        (2, 5),
        (3, 3),
    ]
    assert found.repeated.tolist() == [2, 2]
