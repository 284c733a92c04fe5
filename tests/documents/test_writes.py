"""How often texts are written between a crawl and its documents."""

from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from builder.documents import build_documents
from builder.ingest import ingest_crawl
from builder.io.sources import Interval, Source
from builder.io.tables import TableWriter, table_at, write_frame
from builder.parameters import CrawlParameters, DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Fetches, Pages, ShownDocuments

PAGES, FETCHES = 300, 3
"""Addresses, and fetches of each."""


def test_texts_are_written_once_when_crawled_and_once_as_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A superseded fetch does not make the others be written again."""
    written: Counter[str] = Counter()
    write = TableWriter.write

    def watched(self: TableWriter, rows: pa.RecordBatch | pa.Table) -> None:
        for name in set(rows.schema.names) & set(self._schema.names):
            if pa.types.is_string(self._schema.field(name).type):
                written[name] += len(rows)
        write(self, rows)

    monkeypatch.setattr(TableWriter, "write", watched)
    lines = [
        f'{{"url": "https://a.example/{n}", "timestamp": {time}, "text": "Texte {n} {time}"}}\n'
        for time in range(FETCHES)
        for n in range(PAGES)
    ]
    crawl = tmp_path / "crawl.jsonl"
    crawl.write_text("".join(lines))
    for home in ("crawl", "documents", "scratch"):
        (tmp_path / home).mkdir()
    limits = ResourceLimits(tmp_path / "scratch", threads=2)
    ledger = ingest_crawl(
        tmp_path / "crawl",
        files=[Source(crawl, crawl.name)],
        interval=Interval(0, 9),
        params=CrawlParameters(),
        limits=limits,
        progress=NoProgress(),
    )
    assert dict(ledger.rejected) == {"superseded": PAGES * (FETCHES - 1)}
    assert written["text"] == PAGES * FETCHES
    write_frame(
        pl.DataFrame(schema=ShownDocuments.dtypes()), tmp_path / "s.parquet", ShownDocuments
    )
    build_documents(
        tmp_path / "documents",
        fetches=table_at(tmp_path / "crawl", "fetches", Fetches),
        pages=table_at(tmp_path / "crawl", "pages", Pages),
        shown_documents=table_at(tmp_path, "s", ShownDocuments),
        params=DocumentParameters(sample_share=1.0),
        limits=limits,
        progress=NoProgress(),
    )
    assert written["text"] == PAGES * FETCHES + PAGES
