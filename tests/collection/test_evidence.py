"""The evidence of a version: shares by hand, and on the card."""

from pathlib import Path

import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.collection.evidence import click_crawl_and_translation_shares, format_percent


def _folder(path: Path, rows: list[tuple[str, int, int, int]]) -> Path:
    path.mkdir()
    names = ("measure", "rank", "count", "total")
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(path / "click_diagnostics.parquet")
    columns = ("sentences", "translated", "copied", "source_kept", "dropped")
    went = [(8, 5, 2, 1, 0), (2, 2, 0, 0, 0)]
    pl.DataFrame(went, schema=columns, orient="row").write_parquet(path / "translations.parquet")
    return path


def test_shares_by_hand(tmp_path: Path) -> None:
    first = _folder(
        tmp_path / "a",
        [("click_through", 1, 3, 4), ("click_through", 4, 1, 4), ("pairs_examined_once", 0, 0, 0)],
    )
    second = _folder(tmp_path / "b", [("impressions_without_click", 0, 1, 8)])
    found = dict(click_crawl_and_translation_shares([first, second]))
    assert found["click-through at rank 1"] == (0.75, None)
    assert "click-through at rank 4" not in found
    assert found["pairs examined once"] == (None, None)
    assert found["impressions without a click"] == (None, 0.125)
    assert found["sentences translated"] == (pytest.approx(0.7), pytest.approx(0.7))
    assert found["sentences source kept"] == (pytest.approx(0.1), pytest.approx(0.1))
    assert (format_percent(None), format_percent(0.125)) == ("-", "12.5 %")


def test_shares_stand_in_a_fixed_order(tmp_path: Path) -> None:
    measures = [
        ("pairs_examined_once", 0, 3, 6),
        ("click_through", 10, 1, 100),
        ("click_through", 2, 1, 4),
        ("pairs_never_examined", 0, 1, 10),
        ("impressions_of_top_percent_of_users", 0, 1, 5),
        ("impressions_without_click", 0, 1, 8),
        ("pairs_clicked", 0, 1, 2),
    ]
    folder = _folder(tmp_path / "a", measures)
    rows = [("log", 10, 9), ("kept_queries", 4, 1)]
    coverage = pl.DataFrame(rows, schema=("scope", "shown", "in_crawl"), orient="row")
    coverage.write_parquet(folder / "coverage.parquet")
    names = ("sentences", "translated", "copied", "source_kept", "dropped")
    empty = _folder(tmp_path / "b", [])
    pl.DataFrame(schema=names).write_parquet(empty / "translations.parquet")
    assert click_crawl_and_translation_shares([folder, empty]) == [
        ("click-through at rank 2", (0.25, None)),
        ("click-through at rank 10", (0.01, None)),
        ("impressions without a click", (0.125, None)),
        ("pairs shown but never examined", (0.1, None)),
        ("pairs examined once", (0.5, None)),
        ("impressions of the most active 1 % of users", (0.2, None)),
        ("shown pages found in the crawl", (0.25, None)),
        ("sentences translated", (0.7, None)),
        ("sentences copied", (0.2, None)),
        ("sentences source kept", (0.1, None)),
        ("sentences dropped", (0.0, None)),
    ]


def test_the_card_says_it(built: BuildReport) -> None:
    collection = builder.open_collection(built.root)
    card = (collection.path / "README.md").read_text("utf-8")
    folders = [collection.snapshot(name).folder for name in collection.snapshots]
    for name, shares in click_crawl_and_translation_shares(folders):
        assert f"| {name} | {' | '.join(map(format_percent, shares))} |" in card
    assert "shown pages found in the crawl" in card
