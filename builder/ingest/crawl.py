"""Crawls -> pages, one for each URL key: the stage `crawl`.

In: crawl files of a snapshot. Out: `pages` in parts, in order of doc_id, and a reject with file
and line for every record that is no page or was superseded. Of several fetches of one URL key the
last within the interval counts; of equal times the greatest URL, then the greatest text.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError
from builder.executors import in_order
from builder.ingest.buckets import Buckets, Load, bucket_of
from builder.ingest.pages import read_pages
from builder.keys import id_of_key, key64
from builder.ledger import Ledger, RejectWriter
from builder.parameters import CrawlParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sources import Interval, Source
from builder.tables import TableWriter
from schemas import Pages

PART_BYTES = 128 * 2**20
"""Text after which a part ends, at the next bucket."""
ROWS_PER_SLICE = 4096

LAST_WINS = ["key", "fetched_at", "url", "text", "file", "line"]


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
    buckets = Buckets(limits.scratch, limits.memory // 8)
    with RejectWriter(out, "crawl", ledger) as rejects:
        for number, file in enumerate(files):
            for block in read_pages(file, interval, params, limits):
                ledger.rows_in += block.records
                for line, reason in block.rejects:
                    rejects.add(reason, file=file.name, line=line)
                buckets.add(_keyed(block.pages, number))
                progress.advance(block.records)
        with _Parts(out / "pages") as parts:
            work = in_order(_last_of_range, buckets.ranges(), limits.threads)
            for pages, superseded in work:
                for name, line in superseded.iter_rows():
                    rejects.add("superseded", file=files[name].name, line=line)
                ledger.rows_out += pages.height
                parts.write(pages)
        buckets.clear()
    return ledger


def _keyed(pages: pl.DataFrame, file: int) -> pl.DataFrame:
    keys = [key64(url_key) for url_key in pages["url_key"].to_list()]
    return pages.with_columns(
        pl.Series("key", keys, dtype=pl.UInt64), pl.lit(file, pl.UInt32).alias("file")
    )


def _last_of_range(load: Load) -> tuple[pl.DataFrame, pl.DataFrame]:
    return last_fetches(load())


def last_fetches(fetches: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The last fetch of each document, in order of key, and `file` and `line` of the others.

    Raises:
        DataError: two URL keys have one document id.
    """
    repeated = fetches["key"].is_duplicated()
    if not repeated.any():
        return fetches[fetches["key"].arg_sort()], fetches.select("file", "line").clear()
    several = fetches.filter(repeated).sort(LAST_WINS)
    clash = several.filter(pl.col("url_key").n_unique().over("key") > 1)
    if clash.height:
        raise DataError(
            "expected one address for each document id, found two with the same: "
            f"{clash['url_key'].unique().sort().to_list()[:2]}; leave one of them out of the crawl"
        )
    last = pl.col("key") != pl.col("key").shift(-1)
    is_last = several.select(last.fill_null(value=True))["key"]
    pages = pl.concat([fetches.filter(~repeated), several.filter(is_last)], rechunk=False)
    return pages[pages["key"].arg_sort()], several.filter(~is_last).select("file", "line").sort(
        "file", "line"
    )


class _Parts:
    """Write pages in order of key to parts; a part ends at the first bucket past its size."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._bucket = 0
        self._written = 0
        self._writer = self._open()

    def _open(self) -> TableWriter:
        path = self._folder / f"part-{self._number:05d}.parquet"
        return TableWriter(path, Pages, compression="lz4")

    def write(self, pages: pl.DataFrame) -> None:
        """Append pages whose keys are greater than those before."""
        sizes = pl.col("text").str.len_bytes().sum()
        buckets = pages.group_by(bucket_of(), maintain_order=True).agg(pl.len(), sizes)
        start = stop = 0
        for bucket, rows, size in buckets.iter_rows():
            if bucket != self._bucket and self._written >= PART_BYTES:
                self._append(pages[start:stop])
                self._writer.close()
                self._number, self._written, start = self._number + 1, 0, stop
                self._writer = self._open()
            self._bucket, self._written, stop = bucket, self._written + size, stop + rows
        self._append(pages[start:stop])

    def _append(self, pages: pl.DataFrame) -> None:
        for rows in pages.iter_slices(ROWS_PER_SLICE):
            table = rows.with_columns(id_of_key("key", "d").alias("doc_id"))
            self._writer.write(table.to_arrow(compat_level=pl.CompatLevel.oldest()))

    def __enter__(self) -> "_Parts":
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()
