"""Compares the pages and words of two crawl files, without building a collection.

Reads two crawl files (JSON lines, Parquet or WARC, plain or compressed). Returns the counts and
statistics that `longeval changes OLD NEW` reports.
"""

from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from builder.alignment.absence import CrawlTables
from builder.alignment.document_changes import align_documents
from builder.documents.fingerprints import fingerprint_pages
from builder.documents.key_order import drop_texts, read_pages_in_key_order
from builder.documents.row_groups import NO_PAGES, RowGroup, iter_row_groups
from builder.drift import documents as document_drift
from builder.drift.statistics import jaccard
from builder.drift.vocabulary import IN_ALL, compare_words, join_word_counts
from builder.drift.words import read_row_groups as document_groups
from builder.drift.words import write_word_counts
from builder.errors import FormatError, UsageError
from builder.ingest import ingest_crawl
from builder.io import parquet
from builder.io.sources import Interval, Source
from builder.io.tables import Table, TableWriter, table_at
from builder.parameters import ChangeParameters, CrawlParameters
from builder.runtime.executors import ordered_map
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress, Progress
from schemas import Documents, Fetches, Pages, WordCounts

ALWAYS = Interval(-(2**62), 2**62)
OLD, NEW = "old", "new"


def compare_crawls(
    old: Path,
    new: Path,
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress | None = None,
    crawl_params: CrawlParameters | None = None,
) -> dict[str, Any]:
    """Compare the pages and the vocabulary of two crawls.

    Args:
        old: The earlier crawl file.
        new: The later crawl file.
        params: Shingle size, thresholds for the degree of change, and thresholds for moved pages.
        limits: Memory limit, number of threads and an existing scratch folder.
        progress: Receives the number of pages read; None to report no progress.
        crawl_params: Parameters for reading the crawls, except that `interval` has no effect: pages
            of any date are read. None for default parameters.

    Returns:
        A dictionary with the keys `crawls` (numbers of pages and rejected records of each crawl),
        `documents`, `vocabulary` (see `builder.drift.documents` and `builder.drift.vocabulary`)
        and `parameters`.

    Raises:
        UsageError: a crawl does not exist, or is a folder.
        FormatError: a crawl cannot be read, or has no page.
    """
    progress = progress or NoProgress()
    tables, ledgers = {}, {}
    anytime = (crawl_params or CrawlParameters()).model_copy(update={"interval": "ignore"})
    for label, path in ((OLD, old), (NEW, new)):
        tables[label], ledgers[label] = _read_crawl(path, label, limits, progress, anytime)
    with limits.connect_to_duckdb(memory_share=0.5) as connection:
        result = _compare_tables(connection, tables, params, limits, progress)
    return result | {
        "crawls": {label: _summarize_ledger(ledger) for label, ledger in ledgers.items()},
        "parameters": params.model_dump(mode="json"),
    }


def _compare_tables(
    connection: duckdb.DuckDBPyConnection,
    tables: dict[str, Table],
    params: ChangeParameters,
    limits: ResourceLimits,
    progress: Progress,
) -> dict[str, Any]:
    scratch, pair = limits.scratch, (OLD, NEW)
    changes, of_both = scratch / "document_changes.parquet", (tables[OLD], tables[NEW])
    pages_from, pages_to = (table_at(scratch / label, "pages", Pages) for label in pair)
    crawls = CrawlTables(pages_from, pages_to)
    align_documents(connection, changes, *of_both, (), pair, params, limits, progress, crawls)
    parquet.read_parquet_relation(connection, changes).create_view("document_changes")
    connection.execute(document_drift.CREATE_URL_VIEW)
    counts = document_drift.document_change_statistics(connection)
    common = counts["updated"] + counts["unchanged"]
    before, after = common + counts["removed"], common + counts["added"]
    nothing = pl.LazyFrame(schema={"doc_id": pl.String})
    words = {}
    for label, table in tables.items():
        path = scratch / f"words-{label}.parquet"
        write_word_counts(connection, document_groups(table), nothing, path, limits.threads)
        words[label] = Table((path,), WordCounts)
    joined_counts = scratch / "words.parquet"
    join_word_counts(connection, words, (), joined_counts)
    return {
        "documents": counts
        | {"from": before, "to": after}
        | {"common": common, "jaccard": jaccard(common, before, after)},
        "vocabulary": compare_words(joined_counts, 0, 1, IN_ALL, list_words=True),
    }


def _read_crawl(
    path: Path, label: str, limits: ResourceLimits, progress: Progress, params: CrawlParameters
) -> tuple[Table, RowLedger]:
    if not path.is_file():
        raise UsageError(f"expected a crawl file, found no file at {path}")
    folder = limits.scratch / label
    private = ResourceLimits(folder / "scratch", limits.threads, limits.memory)
    private.scratch.mkdir(parents=True)
    progress.start(f"pages of {path.name}", None, "records")
    ledger = ingest_crawl(
        folder,
        files=[Source(path, path.name)],
        interval=ALWAYS,
        params=params,
        limits=private,
        progress=progress,
    )
    progress.finish()
    if not ledger.rows_out:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(ledger.rejected.items()))
        found = f"only rejected records: {reasons}" if reasons else "no records"
        raise FormatError(f"expected a crawl with at least one page, found {found}", path)
    fetches, pages = table_at(folder, "fetches", Fetches), table_at(folder, "pages", Pages)
    return _write_documents(fetches, pages, folder, private), ledger


def _write_documents(
    fetches: Table[Fetches], pages: Table[Pages], folder: Path, limits: ResourceLimits
) -> Table:
    """Write the pages of a crawl as a document table, sorted by id, with text fingerprints.

    Columns of the table that are not needed for the comparison are null.
    """
    fingerprints, target = folder / "fingerprints", folder / "documents.parquet"
    fingerprints.mkdir()
    no_documents = pl.DataFrame(schema=Documents.dtypes())
    fingerprinted = ordered_map(
        _fingerprint_row_group, iter_row_groups(fetches, pages), limits.threads
    )
    for number, rows in enumerate(
        chain([_replace_texts_with_fingerprints(NO_PAGES)], fingerprinted)
    ):
        rows.write_parquet(fingerprints / f"{number:06d}.parquet", compression="lz4")
    with limits.connect_to_duckdb() as connection, TableWriter(target, Documents) as writer:
        fetches.create_view(connection, "fetches")
        parquet.read_parquet_relation(connection, *parquet.list_files(fingerprints)).create_view(
            "pages"
        )
        for rows in read_pages_in_key_order(connection, limits.memory):
            writer.append(pl.concat([no_documents, rows], how="diagonal_relaxed"))
    return Table((target,), Documents)


def _fingerprint_row_group(row_group: RowGroup) -> pl.DataFrame:
    return _replace_texts_with_fingerprints(row_group.add_texts(row_group.read_pages()))


def _replace_texts_with_fingerprints(pages: pl.DataFrame) -> pl.DataFrame:
    """Add fingerprints of the page texts, and drop the texts."""
    return drop_texts(fingerprint_pages(pages).pages)


def _summarize_ledger(ledger: RowLedger) -> dict[str, Any]:
    return {
        "records": ledger.rows_in,
        "pages": ledger.rows_out,
        "rejected": dict(sorted(ledger.rejected.items())),
    }
