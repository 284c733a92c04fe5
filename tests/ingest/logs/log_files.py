"""Log files of tests, and what becomes of them."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from builder.ingest import ingest_log
from builder.ingest.logs import formats
from builder.ingest.logs.records import CheckedRecords
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import key64

INTERVAL = Interval(0, 10_000_000)
ALLOWED = {"empty": "allow", "clickless": "allow"}
"""So that a test may have a log of rejects alone, or one without a click."""
Rows = list[tuple[str, list[int]]]


def ingest(folder: Path, files: dict[str, bytes], **params: Any) -> tuple[RowLedger, pl.DataFrame]:
    """Ingest files; the ledger and the impressions with their rejects as attribute."""
    sources = []
    for name, data in files.items():
        (folder / name).write_bytes(data)
        sources.append(Source(folder / name, name))
    out, scratch = folder / "out", folder / "scratch"
    out.mkdir()
    scratch.mkdir()
    ledger = ingest_log(
        out,
        files=sources,
        interval=INTERVAL,
        params=LogParameters.model_validate({**ALLOWED, **params}),
        limits=ResourceLimits(scratch, threads=1),
        progress=NoProgress(),
    )
    ledger.check("log")
    assert pl.read_parquet(out / "rejects.parquet")["rows"].sum() == sum(ledger.rejected.values())
    return ledger, pl.read_parquet(out / "impressions")


def read_impressions(
    source: Source, interval: Interval | None, params: LogParameters, threads: int = 1
) -> Iterator[CheckedRecords]:
    """`formats.read_impressions` with scratch space of its own."""
    with tempfile.TemporaryDirectory() as name:
        yield from formats.read_impressions(
            source, interval, params, ResourceLimits(Path(name), threads)
        )


def seen(impressions: pl.DataFrame) -> Rows:
    """Query and clicks of each impression, by the texts of the test."""
    texts = {key64(text): text for text in ("eau", "loi", "mer", "17", "18")}
    return [(texts[q], c) for q, c in impressions.select("query", "clicks").iter_rows()]


def shown(user: str | None, query: str, time: float, clicks: list[int], results: int = 3) -> bytes:
    """A line of a log: a page of some results."""
    urls = [f"https://a.example/{n}" for n in range(results)]
    row = {"time": time, "user": user, "query": query, "results": urls, "clicks": clicks}
    return json.dumps(row).encode() + b"\n"
