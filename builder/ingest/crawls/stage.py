"""The stage `crawl`: reads the crawls of a snapshot, and keeps the latest fetch per canonical URL.

Input: crawl files of a snapshot. Output: `fetches`, the texts of all fetches in reading order;
`pages`, all other columns of the latest fetches; and a reject with file and line for every invalid
or superseded record.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.ingest.advice import (
    CRAWL_ADVICE,
    advise_on_rejects,
    note_empty_files,
    note_files_without_records,
)
from builder.ingest.columns import note_missing_columns
from builder.ingest.crawls.checks import PageBlock
from builder.ingest.crawls.fetches import limits_with_parser_pool
from builder.ingest.crawls.formats import optional_column_presence, read_pages
from builder.ingest.crawls.superseded import LatestFetchSelector
from builder.ingest.rejects import FILE_TRUNCATED
from builder.io.sources import Interval, Source
from builder.io.tables import TableWriter
from builder.parameters import CrawlParameters
from builder.reporting.numbers import pluralize
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference, SnapshotInterval
from builder.runtime.stage import stage
from builder.text.keys import hash_to_keys
from schemas import Fetches, Pages


@stage("crawl", version="19", writes=(Fetches, Pages))
def ingest_crawl(
    out: Path,
    *,
    files: Annotated[Sequence[Source], FileReference(lambda w, key: w.snapshot(key).crawl)],
    interval: SnapshotInterval,
    params: CrawlParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: read the crawls of a snapshot, and keep the latest fetch of each page.

    Args:
        out: Folder that receives `fetches`, `pages` and `rejects`.
        files: Crawl files in reading order.
        interval: Time interval of the snapshot; by default, pages fetched outside it are rejected.
        params: Section `[crawl]` of the definition.
        limits: Number of threads, memory limit and scratch folder.
        progress: Advances by the number of records read.

    Returns:
        Ledger, which counts the records read, kept and rejected.

    Raises:
        FormatError: a file cannot be opened, or required columns are missing.
        DataError: two canonical URLs have the same document key.
    """
    ledger, path = RowLedger("records"), out / "fetches.parquet"
    shortened = undated = titled = 0
    record_counts = Counter[int]()
    if len(files) > 1:
        columns = {file.name: optional_column_presence(file, params) for file in files}
        ledger.notes.extend(note_missing_columns(columns))
    with RejectWriter(out, "crawl", ledger) as rejects, LatestFetchSelector(limits) as latest:
        with TableWriter(path, Fetches, compression="lz4", use_dictionary=False) as texts:
            fetch = 0
            for index, block in _read_page_blocks(files, interval, params, limits):
                ledger.rows_in += block.records
                record_counts[index] += block.records
                for line, reason in block.rejects:
                    rejects.add(reason, file=files[index].name, line=line)
                    if reason == FILE_TRUNCATED:
                        ledger.notes.append(f"{files[index].name} is truncated; download it again")
                shortened += int(block.pages["is_shortened"].sum())
                titled += int((block.pages["title"] != "").sum())
                undated += block.undated
                pages = _add_key_and_origin(block.pages, index, fetch)
                texts.append(pages)
                latest.add(pages)
                fetch += pages.height
                progress.advance(block.records)
        for index, line in latest.find_superseded_fetches(path):
            rejects.add("superseded", file=files[index].name, line=line)
        ledger.rows_out = latest.write_pages(out / "pages.parquet")
    if shortened:
        limit = f"{params.max_text_chars:,} characters (crawl.max_text_chars)"
        verb = "was" if shortened == 1 else "were"
        ledger.notes.append(f"{pluralize(shortened, 'text')} {verb} shortened to {limit}")
    if undated:
        verb = "was" if undated == 1 else "were"
        ledger.notes.append(
            f"{pluralize(undated, 'record')} without a time {verb} dated to the start of the "
            "snapshot (crawl.undated)"
        )
    if ledger.rows_out and not titled and "title" in params.fields.model_fields_set:
        ledger.notes.append(
            f"no page has a title; check crawl.fields.title (now {params.fields.title!r})"
        )
    ledger.notes.extend(note_empty_files(files))
    ledger.notes.extend(note_files_without_records(files, record_counts))
    ledger.notes.extend(advise_on_rejects(ledger.rejected, ledger.rows_in, CRAWL_ADVICE))
    return ledger


def _read_page_blocks(
    files: Sequence[Source], interval: Interval, params: CrawlParameters, limits: ResourceLimits
) -> Iterator[tuple[int, PageBlock]]:
    """Yield blocks of pages and rejects from all crawl files, each with the index of its file."""
    with limits_with_parser_pool(files, limits) as readers:
        for index, file in enumerate(files):
            for block in read_pages(file, interval, params, readers):
                yield index, block


def _add_key_and_origin(
    pages: pl.DataFrame, file_index: int, first_fetch_number: int
) -> pl.DataFrame:
    """Add the columns `doc` (document key), `file` (index) and `number` (of the fetch) to pages.

    Args:
        pages: Pages of a single file.
        file_index: Index of the file.
        first_fetch_number: Number of the first fetch; the others are numbered consecutively.
    """
    return pages.with_columns(
        pl.Series("doc", hash_to_keys(pages["url_key"])),
        pl.lit(file_index, pl.UInt32).alias("file"),
        pl.int_range(first_fetch_number, first_fetch_number + pages.height, dtype=pl.UInt64).alias(
            "number"
        ),
    )
