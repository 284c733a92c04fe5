"""Pages -> the documents of a snapshot: the stage `documents`.

In: pages of the index, the documents that kept queries showed, lists and verdicts. Out:
`gathered`, the union of the pages shown and a keyed sample of the index, as LongEval defines it
(Galuscakova et al. 2023, section 3), less what the rules leave out, with the fingerprints by which
changes are found and the groups of duplicates.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import polars as pl

from builder.documents.addresses import read_address_list
from builder.documents.crawled import row_groups
from builder.documents.notes import SHARE, Notebook, take_notes
from builder.documents.rules import PageRules
from builder.ingest.buckets import BUCKETS, TOP_SHIFT, LoadRange, RangePartitions, SpillFile
from builder.io.sources import Source
from builder.io.tables import TableWriter
from builder.parameters import DocumentParameters
from builder.queries.verdicts import left_out
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
"""Text of a part, at most, but for what the last of its buckets of keys has more."""


@stage("documents", version="6", writes=(Gathered,))
def gather(
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
    """Stage: take the pages that were shown or fall into the sample.

    Args:
        out: Folder that receives `gathered` (parts) and `rejects`.
        fetches: See `schemas.Fetches`.
        pages: See `schemas.Pages`.
        shown_documents: See `schemas.ShownDocuments`.
        params: `[documents]`.
        limits: Threads; memory for the groups of duplicates; scratch space for notes.
        progress: Told the pages, once when they are read and once when they are written.
        deny: Lists of hosts and addresses that are left out, see `addresses`.
        allow: Lists of those that no list or verdict leaves out.
        verdicts: See `schemas.Verdicts`.
        filters: Which verdicts leave out a document.

    Returns:
        An account of the pages.

    Raises:
        FormatError: a list has a line that is no host and no address.
    """
    rules = PageRules(
        shown_documents.scan().select("doc").collect()["doc"],
        params,
        read_address_list(deny),
        read_address_list(allow),
        left_out(verdicts, filters, "document"),
    )
    notebook = take_notes(list(row_groups(fetches, pages)), rules, params, limits, progress)
    groups = notebook.duplicates(limits, params.near_threshold)
    ledger = Ledger("pages")
    counts = notebook.left
    parts = _parts(notebook, groups, out / "gathered")
    for rows, left in _written(notebook.pages, parts, params, limits):
        counts.update(left)
        progress.advance(rows + left.total())
        ledger.rows_out += rows
    with RejectWriter(out, "documents", ledger) as rejects:
        for name in (*rules.names, DUPLICATE, NEAR_DUPLICATE):
            rejects.add(name, rows=counts[name])
    ledger.rows_in = ledger.rows_out + sum(counts.values())
    return ledger


class Part(NamedTuple):
    """A part of the documents.

    Args:
        buckets: Of the keys that it has, see `builder.ingest.buckets`.
        groups: Of duplicates, those of its pages, see `duplicates.find_groups`.
        path: The file that it goes to.
    """

    buckets: range
    groups: pl.DataFrame
    path: Path


Written = tuple[int, Counter[str]]
"""How many documents of a part were written, and the pages left out by reason."""


def _parts(notebook: Notebook, groups: pl.DataFrame, folder: Path) -> list[Part]:
    """Parts of about the same size, in order of key; at least one."""
    whole = notebook.text_bytes.total()
    part_bytes = whole / max(-(-whole // PART_BYTES), 1)
    ends, held = [0], 0
    for bucket in range(BUCKETS):
        held += notebook.text_bytes[bucket]
        if held >= part_bytes:
            ends.append(bucket + 1)
            held = 0
    if held or len(ends) == 1:
        ends.append(BUCKETS)
    return [
        Part(
            range(start, stop),
            groups.filter(pl.col("number").is_between(*_keys(start, stop))),
            folder / f"part-{number:05d}.parquet",
        )
        for number, (start, stop) in enumerate(pairwise(ends))
    ]


def _keys(start: int, stop: int) -> tuple[pl.Expr, pl.Expr]:
    """The least and the greatest key of some buckets."""
    least, greatest = start << TOP_SHIFT, (stop << TOP_SHIFT) - 1
    return pl.lit(least, pl.UInt64), pl.lit(greatest, pl.UInt64)


def _written(
    pages: RangePartitions, parts: Sequence[Part], params: DocumentParameters, limits: Limits
) -> Iterator[Written]:
    """Write parts by the executor; here some at a time, with a thread for each.

    No thread waits for the last row group of a part then.
    """
    if not limits.executor.in_process:
        return map_partitions(
            partial(_write, pages=pages.spill_all(), params=params), parts, limits
        )
    pages.freeze()
    task = partial(_write, pages=pages, params=params)
    threads = limits.threads if len(parts) < limits.threads else 1
    alone = replace(limits, threads=threads)
    return ordered_map(lambda part: task(part, alone), parts, limits.threads // threads)


def _write(
    part: Part,
    limits: Limits,
    pages: RangePartitions | tuple[SpillFile, ...],
    params: DocumentParameters,
) -> Written:
    """Write the documents of a part."""
    counts: Counter[str] = Counter()
    if isinstance(pages, tuple):
        pages = RangePartitions(limits.scratch, limits.memory // SHARE, spills=pages)
    work = partial(_documents, groups=part.groups, params=params)
    with TableWriter(part.path, Documents) as writer:
        for documents, left in ordered_map(work, pages.ranges(part.buckets), limits.threads):
            writer.append(documents)
            counts.update(left)
    return writer.rows, counts


def _documents(
    load: LoadRange, groups: pl.DataFrame, params: DocumentParameters
) -> tuple[pl.DataFrame, Counter[str]]:
    """The documents of a range in order of key, and how many pages are left out by reason."""
    pages = load()
    order = pages["key"].arg_sort()
    judged = (
        pages.select("doc_id", pl.col("key").alias("number"))[order]
        .join(groups, on="number", how="left", maintain_order="left")
        .with_columns(duplicate_rule(params).alias("reason"))
    )
    kept = judged["reason"].is_null()
    found = judged.filter(kept).select("duplicate_group", "near_duplicate_group")
    english = [pl.lit(None, pl.String).alias(name) for name in ENGLISH]
    documents = pages[order.filter(kept)].hstack(found).with_columns(english)
    return documents, Counter(judged["reason"].drop_nulls().to_list())


def duplicate_rule(params: DocumentParameters) -> pl.Expr:
    """Why a page of a group is left out, or null.

    Reads `doc_id`, `duplicate_group` and `near_duplicate_group`.
    """
    rules = []
    for name, column, policy in (
        (DUPLICATE, "duplicate_group", params.duplicates),
        (NEAR_DUPLICATE, "near_duplicate_group", params.near_duplicates),
    ):
        applies = pl.lit(policy == "drop") | (pl.lit(policy == "keep_first") & ~_is_first(column))
        rules.append(pl.when(pl.col(column).is_not_null() & applies).then(pl.lit(name)))
    return pl.coalesce(rules)


def _is_first(group: str) -> pl.Expr:
    return pl.col("doc_id") == pl.col(group)
