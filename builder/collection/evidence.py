"""What a version says of its evidence: clicks, crawl coverage and translation, as shares.

In: the diagnostic tables of every snapshot. Out: one row a measure, one share a snapshot, for the
build report and the card; the counts behind them are in `click_diagnostics`, `coverage` and
`translations`.
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
"""A measure, and its share in each snapshot; None where there is nothing to share."""


def evidence(snapshots: Sequence[Path]) -> list[Row]:
    """The measures of all snapshots.

    Args:
        snapshots: Folders of the snapshots of a version, in order of time.
    """
    columns = [dict(_of(folder)) for folder in snapshots]
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, tuple(column.get(name) for column in columns)) for name in names]


def _of(folder: Path) -> Iterator[tuple[str, float | None]]:
    clicks = parquet.read(folder / "click_diagnostics.parquet")
    rows = clicks.select("measure", "rank", "count", "total").iter_rows()
    counts = {(m, r): _share(c, t) for m, r, c, t in rows}
    for rank in RANKS:
        if ("click_through", rank) in counts:
            yield f"click-through at rank {rank}", counts["click_through", rank]
    for measure, label in MEASURES.items():
        yield label, counts.get((measure, 0))
    coverage = folder / "coverage.parquet"
    if coverage.is_file():
        shown = parquet.read(coverage).filter(scope="kept_queries").row(0, named=True)
        yield "pages shown that the crawl holds", _share(shown["in_crawl"], shown["shown"])
    went = parquet.read(folder / "translations.parquet")
    if went.height:
        total = int(went["sentences"].sum())
        for name in ("translated", "copied", "source_kept", "dropped"):
            yield f"sentences {name.replace('_', ' ')}", _share(int(went[name].sum()), total)


def _share(count: int, total: int) -> float | None:
    return count / total if total else None


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "-" if share is None else f"{100 * share:.1f} %"
