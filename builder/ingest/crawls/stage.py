"""The stage `crawl`: crawls to pages, one per URL key.

In: crawl files of a snapshot. Out: `fetches`, the texts in the order in which they were read;
`pages`, what else there is to say of those that count; and a reject with file and line for every
record that is no page or was superseded.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.ingest.crawls.checks import PageBlock
from builder.ingest.crawls.fetches import parsing
from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.superseded import LastFetches
from builder.ingest.delimited import TRUNCATED
from builder.io.sources import Interval, Source
from builder.io.tables import TableWriter
from builder.parameters import CrawlParameters
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, SnapshotInterval
from builder.runtime.stage import stage
from builder.text.keys import keys64
from schemas import Fetches, Pages


@stage("crawl", version="12", writes=(Fetches, Pages))
def ingest_crawl(
    out: Path,
    *,
    files: Annotated[Sequence[Source], Files(lambda w, key: w.snapshot(key).crawl)],
    interval: SnapshotInterval,
    params: CrawlParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Read the crawls of a snapshot.

    Args:
        out: Folder that receives `fetches`, `pages` and `rejects`.
        files: Crawl files in the order in which they are read.
        interval: Pages fetched outside it are rejected, unless the parameters say otherwise.
        params: `[crawl]`.
        limits: Threads, memory and scratch space.
        progress: Counts the records read.

    Returns:
        The ledger, with counts in records.

    Raises:
        FormatError: a file cannot be opened.
        DataError: two URL keys have one document id.
    """
    ledger, cut, path = Ledger("records"), 0, out / "fetches.parquet"
    with RejectWriter(out, "crawl", ledger) as rejects, LastFetches(limits) as last:
        with TableWriter(path, Fetches, compression="lz4", has_dictionaries=False) as texts:
            fetch = 0
            for index, block in _blocks(files, interval, params, limits):
                ledger.rows_in += block.records
                for line, reason in block.rejects:
                    rejects.add(reason, file=files[index].name, line=line)
                    if reason == TRUNCATED:
                        ledger.notes.append(f"{files[index].name} ends early; fetch it again")
                cut += int(block.pages["is_cut"].sum())
                pages = _keyed(block.pages, index, fetch)
                texts.append(pages)
                last.add(pages)
                fetch += pages.height
                progress.advance(block.records)
        for index, line in last.superseded(path):
            rejects.add("superseded", file=files[index].name, line=line)
        ledger.rows_out = last.write(out / "pages.parquet")
    if cut:
        limit = f"{params.max_text_chars:,} characters (crawl.max_text_chars)"
        ledger.notes.append(f"{cut:,} of the texts read were cut at {limit}")
    return ledger


def _blocks(
    files: Sequence[Source], interval: Interval, params: CrawlParameters, limits: Limits
) -> Iterator[tuple[int, PageBlock]]:
    """The blocks of all files, each with the index of its file."""
    with parsing(files, limits) as readers:
        for index, file in enumerate(files):
            for block in read_pages(file, interval, params, readers):
                yield index, block


def _keyed(pages: pl.DataFrame, file: int, first: int) -> pl.DataFrame:
    """Pages with document keys, the index of their file, and numbers from `first` on."""
    return pages.with_columns(
        pl.Series("doc", keys64(pages["url_key"])),
        pl.lit(file, pl.UInt32).alias("file"),
        pl.int_range(first, first + pages.height, dtype=pl.UInt64).alias("number"),
    )
