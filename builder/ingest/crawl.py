"""Crawls -> pages, one for each URL key: the stage `crawl`.

In: crawl files of a snapshot. Out: `pages` in parts, in order of doc_id, and a reject with file
and line for every record that is no page or was superseded. Of several fetches of one URL key the
last within the interval counts; of equal times the greatest URL, then the greatest text.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError
from builder.ingest.buckets import Buckets
from builder.ingest.pages import read_pages
from builder.keys import doc_id, key64
from builder.parameters import CrawlParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sources import Interval, Source
from builder.tables import Ledger, RejectWriter, TableWriter
from schemas import Pages

PART_BYTES = 128 * 2**20
"""Text after which a part ends, at the next bucket."""

FETCHES = {
    "doc_id": pl.String(),
    "url": pl.String(),
    "url_key": pl.String(),
    "fetched_at": pl.Int64(),
    "title": pl.String(),
    "text": pl.String(),
    "file": pl.UInt32(),
    "line": pl.UInt64(),
}
LAST_WINS = ["doc_id", "fetched_at", "url", "text", "file", "line"]


def ingest_crawl(
    out: Path,
    *,
    files: Sequence[Source],
    interval: Interval,
    params: CrawlParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: read the crawls of a snapshot.

    Args:
        out: Folder that receives `pages` (parts) and `rejects`.
        files: Crawl files in the order in which they are read.
        interval: Pages fetched outside it are rejected, unless the parameters say otherwise.
        params: `[crawl]`.
        limits: Scratch space and memory.
        progress: Told the records read.

    Returns:
        An account of the records.

    Raises:
        FormatError: a file cannot be opened.
        DataError: two URL keys have one document id.
    """
    ledger = Ledger("records")
    buckets = Buckets(limits.scratch, FETCHES, limits.memory // 8)
    with RejectWriter(out, "crawl", ledger) as rejects:
        for number, file in enumerate(files):
            for line, page in read_pages(file, interval, params):
                ledger.rows_in += 1
                progress.advance(1)
                if isinstance(page, str):
                    rejects.add(page, file=file.name, line=line)
                    continue
                key = key64(page.url_key)
                row = (doc_id(key), *page, number, line)
                buckets.add(key, row, len(page.text) + len(page.title) + 200)
        _write_parts(out / "pages", buckets, files, ledger, rejects)
    return ledger


def _write_parts(
    folder: Path,
    buckets: Buckets,
    files: Sequence[Source],
    ledger: Ledger,
    rejects: RejectWriter,
) -> None:
    """Write the last fetch of every document; a part ends at the first bucket past its size."""
    part, written = 0, 0
    writer = TableWriter(folder / f"part-{part:05d}.parquet", Pages)
    for fetches in buckets:
        if written >= PART_BYTES:
            writer.close()
            part, written = part + 1, 0
            writer = TableWriter(folder / f"part-{part:05d}.parquet", Pages)
        pages = last_fetches(fetches)
        superseded = fetches.join(pages, on=["doc_id", "file", "line"], how="anti")
        for name, line in superseded.sort("file", "line").select("file", "line").iter_rows():
            rejects.add("superseded", file=files[name].name, line=line)
        writer.write(pages.to_arrow(compat_level=pl.CompatLevel.oldest()))
        written += int(pages["text"].str.len_bytes().sum())
        ledger.rows_out += pages.height
    writer.close()


def last_fetches(fetches: pl.DataFrame) -> pl.DataFrame:
    """The last fetch of each document, in order of doc_id.

    Raises:
        DataError: two URL keys have one document id.
    """
    clash = (
        fetches.group_by("doc_id")
        .agg(pl.col("url_key").unique())
        .filter(pl.col("url_key").list.len() > 1)
    )
    if clash.height:
        raise DataError(f"two addresses have one document id: {clash['url_key'][0].to_list()}")
    return fetches.sort(LAST_WINS).unique("doc_id", keep="last", maintain_order=True)
