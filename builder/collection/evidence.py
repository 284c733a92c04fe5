"""Summarizes the clicks, crawl coverage and translations of each snapshot as shares (fractions).

The shares appear in the build report and on the dataset card. They are computed from the tables
`click_diagnostics`, `coverage` and `translations` of each snapshot.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from builder.io import parquet

RANKS = (1, 2, 3, 5, 10)
MEASURES = {
    "impressions_without_click": "impressions without a click",
    "pairs_never_examined": "pairs shown but never examined",
    "pairs_examined_once": "pairs examined once",
    "impressions_of_top_percent_of_users": "impressions of the most active 1 % of users",
}

Row = tuple[str, tuple[float | None, ...]]
"""Label of a share, and its value in each snapshot; None if the denominator is 0."""


def click_crawl_and_translation_shares(snapshot_folders: Sequence[Path]) -> list[Row]:
    """Return the shares computed from clicks, crawls and translations.

    Each row holds the label of a share and its value in each snapshot.

    Args:
        snapshot_folders: Snapshot folders of a version, in chronological order.
    """
    columns = [dict(_shares_of_snapshot(folder)) for folder in snapshot_folders]
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, tuple(column.get(name) for column in columns)) for name in names]


def _shares_of_snapshot(folder: Path) -> Iterator[tuple[str, float | None]]:
    clicks = parquet.read(folder / "click_diagnostics.parquet")
    rows = clicks.select("measure", "rank", "count", "total").iter_rows()
    counts = {(m, r): _ratio(c, t) for m, r, c, t in rows}
    for rank in RANKS:
        if ("click_through", rank) in counts:
            yield f"click-through at rank {rank}", counts["click_through", rank]
    for measure, label in MEASURES.items():
        yield label, counts.get((measure, 0))
    coverage = folder / "coverage.parquet"
    if coverage.is_file():
        shown = parquet.read(coverage).filter(scope="kept_queries").row(0, named=True)
        yield "shown pages found in the crawl", _ratio(shown["in_crawl"], shown["shown"])
    translations = parquet.read(folder / "translations.parquet")
    if translations.height:
        total = int(translations["sentences"].sum())
        for name in ("translated", "copied", "source_kept", "dropped"):
            yield (
                f"sentences {name.replace('_', ' ')}",
                _ratio(int(translations[name].sum()), total),
            )


def _ratio(count: int, total: int) -> float | None:
    return count / total if total else None


def format_percent(share: float | None) -> str:
    """Format a fraction as a percentage with one decimal place; None becomes `-`."""
    return "-" if share is None else f"{100 * share:.1f} %"
