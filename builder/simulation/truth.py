"""Ground truth of the simulation: tables of facts that a build from the raw data should recover."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from builder.simulation.calendar import Month
from builder.simulation.evolution import PageStates, count_pages_ever_added, page_states
from builder.simulation.faults import Fault
from builder.simulation.files import write_ground_truth_table
from builder.simulation.needs import SimulatedQuery
from builder.simulation.pages import page_url
from builder.simulation.parameters import SimulationParameters
from builder.simulation.rng import FloatArray

PAGES_PER_BATCH = 100_000
FAULT_SCHEMA = {"file": pl.String(), "line": pl.UInt64(), "kind": pl.String()}
RELEVANCE_SCHEMA = {
    "snapshot": pl.String(),
    "query": pl.String(),
    "url": pl.String(),
    "grade": pl.UInt8(),
    "attractiveness": pl.Float64(),
    "satisfaction": pl.Float64(),
}
QUERY_SCHEMA = {
    "snapshot": pl.String(),
    "number": pl.UInt64(),
    "kind": pl.String(),
    "text": pl.String(),
    "probability": pl.Float64(),
}
PAGE_CHANGE_SCHEMA = {
    "snapshot": pl.String(),
    "url": pl.String(),
    "status": pl.String(),
    "moved_from": pl.String(),
}


def create_relevance_rows(
    month: Month, queries: Sequence[SimulatedQuery]
) -> list[tuple[object, ...]]:
    """Return one row per query and result, with the true relevance of the result."""
    return [
        (month.name, query.forms[0], url, grade, float(a), float(s))
        for query in queries
        for url, grade, a, s in zip(
            query.urls, query.grades, query.attractiveness, query.satisfaction, strict=True
        )
    ]


def create_query_rows(
    month: Month, queries: Sequence[SimulatedQuery], probabilities: FloatArray
) -> list[tuple[object, ...]]:
    """Return one row per text of each query, with the probability that the query is drawn.

    Args:
        month: Month of the snapshot.
        queries: Queries; the attribute `forms` of a query contains its texts.
        probabilities: float64[queries]; probability that an impression shows results of the query.
    """
    return [
        (month.name, query.number, query.kind, form, float(probability))
        for query, probability in zip(queries, probabilities, strict=True)
        for form in query.forms
    ]


def write_page_changes(
    out: Path, params: SimulationParameters, snapshot: int, month: Month
) -> None:
    """Write a table that states how each page changed since the previous snapshot.

    In the first snapshot, all pages are `unchanged`.
    """
    rows: list[tuple[object, ...]] = []
    count = count_pages_ever_added(params, snapshot)
    for start in range(0, count, PAGES_PER_BATCH):
        pages = np.arange(start, min(start + PAGES_PER_BATCH, count), dtype=np.uint64)
        before = page_states(params, pages, max(snapshot - 1, 0))
        after = page_states(params, pages, snapshot)
        for index in range(len(pages)):
            change = _describe_change(params, before, after, index)
            if change is not None:
                rows.append((month.name, *change))
    write_ground_truth_table(out / "truth" / "pages", month.name, rows, PAGE_CHANGE_SCHEMA)


def _describe_change(
    params: SimulationParameters, before: PageStates, after: PageStates, index: int
) -> tuple[str, str, str | None] | None:
    """Return how a page changed between two snapshots.

    Args:
        params: Parameters of the simulation.
        before: States of the pages at the earlier snapshot.
        after: States of the same pages at the later snapshot.
        index: Index of the page in the arrays of `before` and `after`.

    Returns:
        URL, status, and previous URL (None unless the page moved); None instead of a tuple if the
        page is in neither snapshot.
    """
    page, moves = int(after.pages[index]), int(after.moves[index])
    existed = bool(before.alive[index])
    url = page_url(params, page, moves)
    if not after.alive[index]:
        previous_url = page_url(params, page, int(before.moves[index]))
        return (previous_url, "removed", None) if existed else None
    if not existed:
        return url, "added", None
    if moves != before.moves[index]:
        return url, "moved", page_url(params, page, int(before.moves[index]))
    if after.versions[index] != before.versions[index]:
        return url, "rewritten", None
    edited = after.edits[index] != before.edits[index]
    return url, "edited" if edited else "unchanged", None


def write_faults(out: Path, faults: list[Fault]) -> None:
    """Write the file, line number and kind of each malformed line to `truth/malformed.parquet`."""
    write_ground_truth_table(out / "truth", "malformed", list(faults), FAULT_SCHEMA)
