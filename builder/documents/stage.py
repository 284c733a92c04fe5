"""The stage `documents`: selects the documents of a snapshot from its crawl.

Input: pages of the crawl, documents shown for selected queries, URL lists and verdicts. Output:
`gathered`, the union of the shown pages and a hash-based sample of the crawl, as LongEval defines
it (Galuscakova et al. 2023, section 3), without the pages that the rules exclude, with fingerprints
to detect changes and the groups of duplicates.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import polars as pl

from builder.documents.fingerprint_store import (
    MEMORY_SHARE,
    FingerprintStore,
    build_fingerprint_store,
)
from builder.documents.row_groups import row_groups
from builder.documents.rules import PageRules
from builder.documents.url_lists import read_url_list
from builder.ingest.buckets import BUCKETS, TOP_SHIFT, LoadRange, RangePartitions, SpillFile
from builder.io.sources import Source
from builder.io.tables import TableWriter
from builder.parameters import DocumentParameters
from builder.queries.verdicts import excluded_keys
from builder.runtime.executors import map_partitions, ordered_map
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import DocumentFilters, Files, Same
from builder.runtime.stage import stage
from schemas import Documents, Fetches, Gathered, Pages, PageVerdicts, ShownDocuments

DUPLICATE = "duplicate"
NEAR_DUPLICATE = "near_duplicate"
ENGLISH = ("title_en", "text_en")
PART_BYTES = 64 * 2**20
"""Approximate maximum bytes of text per part; the last bucket of a part may exceed it."""


@stage("documents", version="6", writes=(Gathered,))
def build_documents(
    out: Path,
    *,
    fetches: Same[Fetches],
    pages: Same[Pages],
    shown_documents: Same[ShownDocuments],
    params: DocumentParameters,
    limits: Limits,
    progress: Progress,
    deny: Annotated[Sequence[Source], Files(lambda w, _: w.documents.deny)] = (),
    allow: Annotated[Sequence[Source], Files(lambda w, _: w.documents.allow)] = (),
    verdicts: Same[PageVerdicts] | None = None,
    filters: DocumentFilters = (),
) -> Ledger:
    """Stage: select the pages that were shown or are in the sample.

    Args:
        out: Folder that receives `gathered` (parts) and `rejects`.
        fetches: See `schemas.Fetches`.
        pages: See `schemas.Pages`.
        shown_documents: See `schemas.ShownDocuments`.
        params: Section `[documents]` of the definition.
        limits: Threads; memory to find duplicates; scratch space for fingerprints.
        progress: Advances twice per page: when it is read and when it is written.
        deny: Lists of hosts and URLs to exclude; see `url_lists`.
        allow: Lists of hosts and URLs that no list or verdict excludes.
        verdicts: See `schemas.Verdicts`.
        filters: Verdict filters that exclude documents.

    Returns:
        The ledger, with counts in pages.

    Raises:
        FormatError: a line of a list is neither a host nor a URL.
    """
    rules = PageRules(
        shown_documents.scan().select("doc").collect()["doc"],
        params,
        read_url_list(deny),
        read_url_list(allow),
        excluded_keys(verdicts, filters, "document"),
    )
    store = build_fingerprint_store(
        list(row_groups(fetches, pages)), rules, params, limits, progress
    )
    groups = store.find_duplicates(limits, params.near_threshold)
    ledger = Ledger("pages")
    excluded = store.excluded
    parts = _plan_parts(store, groups, out / "gathered")
    for rows, duplicates in _write_parts(store.pages, parts, params, limits):
        excluded.update(duplicates)
        progress.advance(rows + duplicates.total())
        ledger.rows_out += rows
    with RejectWriter(out, "documents", ledger) as rejects:
        for name in (*rules.reasons, DUPLICATE, NEAR_DUPLICATE):
            rejects.add(name, rows=excluded[name])
    ledger.rows_in = ledger.rows_out + sum(excluded.values())
    return ledger


class Part(NamedTuple):
    """Part file of the table `gathered`, to be written by one task.

    Args:
        buckets: Buckets of the keys in the part; see `builder.ingest.buckets`.
        groups: Duplicate groups of its pages; see `duplicates.find_duplicate_groups`.
        path: File to write.
    """

    buckets: range
    groups: pl.DataFrame
    path: Path


PartCounts = tuple[int, Counter[str]]
"""Number of documents in a part, and of excluded duplicates by reason."""


def _plan_parts(store: FingerprintStore, groups: pl.DataFrame, folder: Path) -> list[Part]:
    """Divide the documents into part files of similar size, in key order."""
    total = store.text_bytes.total()
    part_bytes = total / max(-(-total // PART_BYTES), 1)
    ends, size = [0], 0
    for bucket in range(BUCKETS):
        size += store.text_bytes[bucket]
        if size >= part_bytes:
            ends.append(bucket + 1)
            size = 0
    if size or len(ends) == 1:
        ends.append(BUCKETS)
    return [
        Part(
            range(start, stop),
            groups.filter(pl.col("number").is_between(*_key_range(start, stop))),
            folder / f"part-{number:05d}.parquet",
        )
        for number, (start, stop) in enumerate(pairwise(ends))
    ]


def _key_range(start: int, stop: int) -> tuple[pl.Expr, pl.Expr]:
    """Return the smallest and largest key of consecutive buckets."""
    first, last = start << TOP_SHIFT, (stop << TOP_SHIFT) - 1
    return pl.lit(first, pl.UInt64), pl.lit(last, pl.UInt64)


def _write_parts(
    pages: RangePartitions, parts: Sequence[Part], params: DocumentParameters, limits: Limits
) -> Iterator[PartCounts]:
    """Write all part files in parallel.

    Each thread writes a part of its own unless there are fewer parts than threads.
    """
    if not limits.executor.in_process:
        return map_partitions(
            partial(_write_part, pages=pages.spill_all(), params=params), parts, limits
        )
    pages.freeze()
    write = partial(_write_part, pages=pages, params=params)
    threads = limits.threads if len(parts) < limits.threads else 1
    part_limits = replace(limits, threads=threads)
    return ordered_map(lambda part: write(part, part_limits), parts, limits.threads // threads)


def _write_part(
    part: Part,
    limits: Limits,
    pages: RangePartitions | tuple[SpillFile, ...],
    params: DocumentParameters,
) -> PartCounts:
    """Write one part file."""
    counts: Counter[str] = Counter()
    if isinstance(pages, tuple):
        pages = RangePartitions(limits.scratch, limits.memory // MEMORY_SHARE, spills=pages)
    select = partial(_select_documents, groups=part.groups, params=params)
    with TableWriter(part.path, Documents) as writer:
        for documents, duplicates in ordered_map(
            select, pages.ranges(part.buckets), limits.threads
        ):
            writer.append(documents)
            counts.update(duplicates)
    return writer.rows, counts


def _select_documents(
    load: LoadRange, groups: pl.DataFrame, params: DocumentParameters
) -> tuple[pl.DataFrame, Counter[str]]:
    """Return the documents of a key range in key order, and counts of excluded duplicates."""
    pages = load()
    order = pages["key"].arg_sort()
    candidates = (
        pages.select("doc_id", pl.col("key").alias("number"))[order]
        .join(groups, on="number", how="left", maintain_order="left")
        .with_columns(duplicate_reason(params).alias("reason"))
    )
    is_kept = candidates["reason"].is_null()
    kept_groups = candidates.filter(is_kept).select("duplicate_group", "near_duplicate_group")
    english = [pl.lit(None, pl.String).alias(name) for name in ENGLISH]
    documents = pages[order.filter(is_kept)].hstack(kept_groups).with_columns(english)
    return documents, Counter(candidates["reason"].drop_nulls().to_list())


def duplicate_reason(params: DocumentParameters) -> pl.Expr:
    """Return an expression for the reason to exclude a duplicate, or null.

    Reads `doc_id`, `duplicate_group` and `near_duplicate_group`.
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
