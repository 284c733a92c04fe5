"""Impressions of which some count, in the tables of a snapshot."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.clicks.selected import Selection
from builder.tables import Table, write_frame
from schemas import Candidates, Impressions
from tests.clicks.conftest import Impression

HIGH = 2**63
QUERIES = (3, HIGH + 1, HIGH + 2**57)


def selection(log: Sequence[Impression], folder: Path) -> Selection:
    """A log, of which the queries `QUERIES[:2]` count, and all users but one, 4."""
    rows = [(n, user, q, 0, shown, clicks) for n, (user, q, shown, clicks) in enumerate(log)]
    frame = pl.DataFrame(rows, schema=Impressions.dtypes(), orient="row")
    write_frame(frame, folder / "impressions.parquet", Impressions)
    queries = pl.DataFrame({"query": QUERIES[:2]}, schema={"query": pl.UInt64})
    queries.write_parquet(folder / "candidates.parquet")
    return Selection(
        Table((folder / "impressions.parquet",), Impressions),
        Table((folder / "candidates.parquet",), Candidates),
        None,
        pl.Series([4], dtype=pl.UInt64),
    )
