"""The stage `documents`: selects the documents of a snapshot from its crawl.

Input: pages of the crawl, documents shown for selected queries, URL lists and verdicts. Output: the
table `gathered_documents`, with the pages that were shown and a hash-based sample of the crawl, as
LongEval defines them (Galuscakova et al. 2023, section 3), but without the pages that the rules
exclude. The table has fingerprints, from which changes are detected, and groups of duplicates.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import duckdb
import numpy as np
import polars as pl

from builder.documents.fingerprint_store import build_fingerprint_store
from builder.documents.key_order import read_pages_in_key_order
from builder.documents.row_groups import iter_row_groups
from builder.documents.rules import PageRules
from builder.documents.url_lists import read_url_list
from builder.io.sources import Source
from builder.io.tables import TableWriter
from builder.parameters import DocumentParameters
from builder.queries.verdicts import excluded_keys, note_unmatched_filters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import DocumentFilters, FileReference, Same
from builder.runtime.stage import stage
from builder.text.keys import key_to_id
from schemas import Documents, Fetches, GatheredDocuments, Pages, PageVerdicts, ShownDocuments

DUPLICATE = "duplicate"
NEAR_DUPLICATE = "near_duplicate"
PART_BYTES = 64 * 2**20
"""Approximate maximum size of the texts of a part file in bytes. A part file may exceed it,
because all pages with the same key prefix are in the same file."""
PREFIX_SHIFT = 56
"""Number of bits after the prefix of a document key. The prefix is the first byte; all pages with
the same prefix are in the same part."""

SELECTED_PAGES = """
CREATE VIEW pages AS
SELECT
    f.*,
    d.duplicate_group,
    d.near_duplicate_group,
    NULL::VARCHAR AS title_en,
    NULL::VARCHAR AS text_en
FROM fingerprinted AS f LEFT JOIN duplicates AS d ON f.doc = d.number
WHERE d.reason IS NULL
"""

PREFIX_SIZES = """
SELECT doc >> {shift:d} AS prefix, sum(text_bytes)::BIGINT
FROM fingerprinted GROUP BY prefix ORDER BY prefix
"""


@stage("documents", version="7", writes=(GatheredDocuments,))
def build_documents(
    out: Path,
    *,
    fetches: Same[Fetches],
    pages: Same[Pages],
    shown_documents: Same[ShownDocuments],
    params: DocumentParameters,
    limits: ResourceLimits,
    progress: Progress,
    deny: Annotated[Sequence[Source], FileReference(lambda w, _: w.documents.deny)] = (),
    allow: Annotated[Sequence[Source], FileReference(lambda w, _: w.documents.allow)] = (),
    verdicts: Same[PageVerdicts] | None = None,
    filters: DocumentFilters = (),
) -> RowLedger:
    """Stage: select the crawled pages that were shown to users or are in the sample.

    Args:
        out: Output folder for `gathered_documents` (part files) and `rejects`.
        fetches: See `schemas.Fetches`.
        pages: See `schemas.Pages`.
        shown_documents: See `schemas.ShownDocuments`.
        params: Section `[documents]` of the definition.
        limits: Number of threads, memory limit, executor and scratch folder.
        progress: Advances by the number of pages read, then of pages written or dropped as
            duplicates.
        deny: Lists of hosts and URLs to exclude; see `url_lists`.
        allow: Lists of hosts and URLs that neither `deny` nor a verdict excludes.
        verdicts: See `schemas.Verdicts`.
        filters: Verdict filters that exclude documents.

    Returns:
        Ledger: numbers of pages read, kept and rejected.

    Raises:
        FormatError: a line in a URL list is not a host, a URL prefix or a URL.
    """
    rules = PageRules(
        shown_documents.scan().select("doc").collect()["doc"],
        params,
        read_url_list(deny),
        read_url_list(allow),
        excluded_keys(verdicts, filters, "document"),
    )
    store = build_fingerprint_store(
        list(iter_row_groups(fetches, pages)), rules, params, limits, progress
    )
    ledger, excluded = RowLedger("pages"), store.excluded
    ledger.notes.extend(rules.deny.note_unmatched_entries("documents.deny"))
    ledger.notes.extend(rules.allow.note_unmatched_entries("documents.allow"))
    ledger.notes.extend(note_unmatched_filters(filters, "document", rules.verdicts))
    with limits.connect_to_duckdb() as connection:
        store.create_fingerprints_view(connection)
        fetches.create_view(connection, "fetches")
        groups = store.find_duplicates(connection, params.near_threshold)
        duplicates = _create_selected_pages_view(connection, groups, params)
        excluded.update(duplicates)
        progress.advance(duplicates.total())
        documents = read_pages_in_key_order(connection, limits.memory)
        for rows in _write_parts(
            documents, _last_prefix_per_part(connection), out / "gathered_documents"
        ):
            progress.advance(rows)
            ledger.rows_out += rows
    with RejectWriter(out, "documents", ledger) as rejects:
        for name in (*rules.reject_reasons, DUPLICATE, NEAR_DUPLICATE):
            rejects.add(name, rows=excluded[name])
    ledger.rows_in = ledger.rows_out + sum(excluded.values())
    return ledger


def _create_selected_pages_view(
    connection: duckdb.DuckDBPyConnection,
    duplicate_groups: pl.DataFrame,
    params: DocumentParameters,
) -> Counter[str]:
    """Create the view `pages` of selected pages, and count the dropped duplicates.

    Args:
        connection: DuckDB connection with the view `fingerprinted`.
        duplicate_groups: Groups of duplicates; see `duplicates.find_duplicate_groups`.
        params: Section `[documents]` of the definition.

    Returns:
        Number of dropped duplicates, by reject reason.
    """
    candidates = duplicate_groups.with_columns(key_to_id("number", "d").alias("doc_id"))
    with_reasons = candidates.with_columns(duplicate_reason_expr(params).alias("reason"))
    connection.register("duplicates", with_reasons.to_arrow())
    connection.execute(SELECTED_PAGES)
    return Counter(with_reasons["reason"].drop_nulls().to_list())


def _last_prefix_per_part(connection: duckdb.DuckDBPyConnection) -> list[int]:
    """Split the pages by key prefix into parts of similar size; return the last prefix per part.

    Pages whose prefix is greater than all returned prefixes form one more part.
    """
    sizes = connection.execute(PREFIX_SIZES.format(shift=PREFIX_SHIFT)).fetchall()
    total = sum(size for _, size in sizes)
    part_bytes = total / max(-(-total // PART_BYTES), 1)
    ends, part_size = [], 0
    for prefix, size in sizes:
        part_size += size
        if part_size >= part_bytes:
            ends.append(prefix)
            part_size = 0
    return ends


def _write_parts(
    batches: Iterable[pl.DataFrame], last_prefixes: Sequence[int], folder: Path
) -> Iterator[int]:
    """Write documents to part files; after each write, yield the number of rows written.

    Args:
        batches: Documents sorted by key.
        last_prefixes: Last key prefix of each part; see `_last_prefix_per_part`.
        folder: Output folder.
    """
    for part, parts_of_batches in groupby(_split_at_parts(batches, last_prefixes), itemgetter(0)):
        with TableWriter(folder / f"part-{part:05d}.parquet", Documents) as writer:
            for _, rows in parts_of_batches:
                writer.append(rows)
                yield rows.height


def _split_at_parts(
    batches: Iterable[pl.DataFrame], last_prefixes: Sequence[int]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Split batches of documents at part boundaries; yield each slice with its part number.

    Part 0 is yielded even if there are no documents.

    Args:
        batches: Documents sorted by key.
        last_prefixes: Last key prefix of each part.
    """
    yield 0, pl.DataFrame(schema=Documents.dtypes())
    for batch in batches:
        parts = np.searchsorted(last_prefixes, batch["doc"].to_numpy() >> PREFIX_SHIFT)
        with_parts = batch.with_columns(pl.Series("part", parts))
        for rows in with_parts.partition_by("part", maintain_order=True):
            yield int(rows["part"][0]), rows


def duplicate_reason_expr(params: DocumentParameters) -> pl.Expr:
    """Return an expression for the reason to drop a page as a duplicate; null if it is kept.

    The expression reads the columns `doc_id`, `duplicate_group` and `near_duplicate_group`.
    """
    reasons = []
    for name, column, policy in (
        (DUPLICATE, "duplicate_group", params.duplicates),
        (NEAR_DUPLICATE, "near_duplicate_group", params.near_duplicates),
    ):
        is_first = pl.col("doc_id") == pl.col(column)
        applies = pl.lit(policy == "drop") | (pl.lit(policy == "keep_first") & ~is_first)
        reasons.append(pl.when(pl.col(column).is_not_null() & applies).then(pl.lit(name)))
    return pl.coalesce(reasons)
