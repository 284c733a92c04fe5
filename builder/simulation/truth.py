"""What is true of a world, written beside its raw data: what a build should find again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from builder.simulation.calendar import Month
from builder.simulation.draw import Floats
from builder.simulation.evolution import States, pages_until, states
from builder.simulation.faults import Fault
from builder.simulation.files import write_truth
from builder.simulation.needs import Query
from builder.simulation.pages import url_of
from builder.simulation.parameters import Simulation

BLOCK = 100_000
FAULTS = {"file": pl.String(), "line": pl.UInt64(), "kind": pl.String()}
ATTRACTION = {
    "snapshot": pl.String(),
    "query": pl.String(),
    "url": pl.String(),
    "grade": pl.UInt8(),
    "attractiveness": pl.Float64(),
    "satisfaction": pl.Float64(),
}
QUERIES = {
    "snapshot": pl.String(),
    "number": pl.UInt64(),
    "kind": pl.String(),
    "text": pl.String(),
    "probability": pl.Float64(),
}
PAGES = {
    "snapshot": pl.String(),
    "url": pl.String(),
    "status": pl.String(),
    "moved_from": pl.String(),
}


def attraction_rows(month: Month, queries: Sequence[Query]) -> list[tuple[object, ...]]:
    """True attractiveness and satisfaction of every pair, under the query's usual form."""
    return [
        (month.name, query.forms[0], url, grade, float(a), float(s))
        for query in queries
        for url, grade, a, s in zip(
            query.urls, query.grades, query.attractiveness, query.satisfaction, strict=True
        )
    ]


def query_rows(
    month: Month, queries: Sequence[Query], popularity: Floats
) -> list[tuple[object, ...]]:
    """Every form of every query with the popularity of the query."""
    return [
        (month.name, query.number, query.kind, form, float(share))
        for query, share in zip(queries, popularity, strict=True)
        for form in query.forms
    ]


def write_pages(out: Path, params: Simulation, snapshot: int, month: Month) -> None:
    """What happened to each page since the snapshot before: one file a snapshot."""
    rows: list[tuple[object, ...]] = []
    last = pages_until(params, snapshot)
    for start in range(0, last, BLOCK):
        pages = np.arange(start, min(start + BLOCK, last), dtype=np.uint64)
        now, before = states(params, pages, snapshot), states(params, pages, max(snapshot - 1, 0))
        found = (
            _page(params, page, (index, now, before), month)
            for index, page in enumerate(pages.tolist())
        )
        rows += [row for row in found if row is not None]
    write_truth(out / "truth" / "pages", month.name, rows, PAGES)


def _page(
    params: Simulation, page: int, place: tuple[int, States, States], month: Month
) -> tuple[object, ...] | None:
    """A page's row: its address, what happened to it, and where it was before it moved."""
    index, now, before = place
    was, moves = bool(before.alive[index]), int(now.moves[index])
    url = url_of(params, page, moves)
    if not now.alive[index]:
        gone = url_of(params, page, int(before.moves[index]))
        return (month.name, gone, "removed", None) if was else None
    if not was:
        return month.name, url, "added", None
    if moves != before.moves[index]:
        return month.name, url, "moved", url_of(params, page, int(before.moves[index]))
    if now.versions[index] != before.versions[index]:
        return month.name, url, "rewritten", None
    edited = now.edits[index] != before.edits[index]
    return month.name, url, "edited" if edited else "unchanged", None


def write_faults(out: Path, noted: list[Fault]) -> None:
    """Where faulty lines stand."""
    write_truth(out / "truth", "malformed", list(noted), FAULTS)
