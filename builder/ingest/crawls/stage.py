"""Crawls -> pages, one for each URL key: the stage `crawl`.

In: crawl files of a snapshot. Out: `pages` in parts, in the order in which they were read, and a
reject with file and line for every record that is no page or was superseded. Texts are written
once, as they come; where several fetches have one URL key (see `last_fetches`), the parts are
written anew without those that do not count.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.ingest.crawls.fetches import parsing
from builder.ingest.crawls.formats import read_pages
from builder.ingest.crawls.last_fetches import LastFetches
from builder.ingest.crawls.page_parts import PageParts
from builder.ingest.delimited import TRUNCATED
from builder.io.sources import Source
from builder.parameters import CrawlParameters
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, SnapshotInterval
from builder.runtime.stage import stage
from builder.text.keys import id_of_key, keys64
from schemas import Pages


@stage("crawl", version="11", writes=(Pages,))
def ingest_crawl(
    out: Path,
    *,
    files: Annotated[Sequence[Source], Files(lambda w, key: w.snapshot(key).crawl)],
    interval: SnapshotInterval,
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
    ledger, cut = Ledger("records"), 0
    fetches, parts = LastFetches(limits), PageParts(out / "pages")
    with RejectWriter(out, "crawl", ledger) as rejects:
        with closing(parts), parsing(files, limits) as some:
            for number, file in enumerate(files):
                for block in read_pages(file, interval, params, some):
                    ledger.rows_in += block.records
                    for line, reason in block.rejects:
                        rejects.add(reason, file=file.name, line=line)
                        if reason == TRUNCATED:
                            ledger.notes.append(f"{file.name} ends early; fetch it again")
                    cut += int(block.pages["is_cut"].sum())
                    pages = _keyed(block.pages, number, parts.count)
                    fetches.add(pages)
                    parts.write(pages)
                    progress.advance(block.records)
        superseded = fetches.superseded(parts.text_keys)
        for place, line in superseded.select("file", "line").iter_rows():
            rejects.add("superseded", file=files[place].name, line=line)
        if superseded.height:
            parts.take_out(superseded["number"].to_numpy(), limits.threads)
        ledger.rows_out = parts.count
    if cut:
        limit = f"{params.max_text_chars:,} characters (crawl.max_text_chars)"
        ledger.notes.append(f"{cut:,} of the texts read were cut at {limit}")
    return ledger


def _keyed(pages: pl.DataFrame, file: int, first: int) -> pl.DataFrame:
    """Pages with their ids, and what is known of them as fetches; `first` is the first's number."""
    return pages.with_columns(
        pl.Series("key", keys64(pages["url_key"])),
        pl.lit(file, pl.UInt32).alias("file"),
        pl.int_range(first, first + pages.height, dtype=pl.Int64).alias("number"),
    ).with_columns(id_of_key("key", "d").alias("doc_id"))
