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
from pathlib import Path
from typing import NamedTuple

import polars as pl

from builder.documents.addresses import read_address_list
from builder.documents.notes import Group, take_notes
from builder.documents.rules import PageRules
from builder.executors import Task, in_order, map_buckets
from builder.ledger import Ledger, RejectWriter
from builder.parameters import DocumentParameters, VerdictFilter
from builder.progress import Progress
from builder.queries.verdicts import left_out
from builder.resources import Limits
from builder.sources import Source
from builder.tables import Table, TableWriter
from schemas import Documents

DUPLICATE = "duplicate"
NEAR_DUPLICATE = "near_duplicate"
ENGLISH = ("title_en", "text_en")


def gather(
    out: Path,
    *,
    pages: Table,
    shown_documents: Table,
    params: DocumentParameters,
    limits: Limits,
    progress: Progress,
    deny: Sequence[Source] = (),
    allow: Sequence[Source] = (),
    verdicts: Table | None = None,
    filters: Sequence[VerdictFilter] = (),
) -> Ledger:
    """Stage: take the pages that were shown or fall into the sample.

    Args:
        out: Folder that receives `gathered` (parts, as those of `pages`) and `rejects`.
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
    notebook = take_notes(pages, rules, params, limits, progress)
    groups = notebook.duplicates(limits, params.near_threshold)
    ledger = Ledger("pages")
    counts: Counter[str] = Counter()
    parts = [
        Part(tuple(notebook.of(path)), out / "gathered" / f"part-{number:05d}.parquet")
        for number, path in enumerate(pages.paths)
    ]
    for rows, left in _written(partial(_write, groups=groups, params=params), parts, limits):
        counts.update(left)
        progress.advance(rows + left.total())
        ledger.rows_out += rows
    with RejectWriter(out, "documents", ledger) as rejects:
        for name in (*rules.names, DUPLICATE, NEAR_DUPLICATE):
            rejects.add(name, rows=counts[name])
    ledger.rows_in = ledger.rows_out + sum(counts.values())
    return ledger


class Part(NamedTuple):
    """A part of `pages`, and the file that its documents go to."""

    row_groups: tuple[Group, ...]
    path: Path


Written = tuple[int, Counter[str]]
"""How many documents of a part were written, and the pages left out by reason."""


def _written(task: Task[Part, Written], parts: Sequence[Part], limits: Limits) -> Iterator[Written]:
    """Write parts by the executor; here some at a time, with a thread for each.

    No thread waits for the last row group of a part then.
    """
    if not limits.executor.is_here or len(parts) < limits.threads:
        return map_buckets(task, parts, limits)
    alone = replace(limits, threads=1)
    return in_order(lambda part: task(part, alone), parts, limits.threads)


def _write(part: Part, limits: Limits, groups: pl.DataFrame, params: DocumentParameters) -> Written:
    """Write the documents of a part."""
    counts: Counter[str] = Counter()
    with TableWriter(part.path, Documents) as writer:
        for kept, left in _documents(part.row_groups, groups, params, limits.threads):
            writer.write(kept.to_arrow(compat_level=pl.CompatLevel.oldest()))
            counts.update(left)
    return writer.rows, counts


def _documents(
    row_groups: Sequence[Group], groups: pl.DataFrame, params: DocumentParameters, threads: int
) -> Iterator[tuple[pl.DataFrame, Counter[str]]]:
    """The documents of each row group, and how many of its pages are left out for each reason."""

    def work(row_group: Group) -> tuple[pl.DataFrame, Counter[str]]:
        noted = pl.read_parquet(row_group.notes).join(
            groups, on="number", how="left", maintain_order="left"
        )
        judged = noted.with_columns(pl.coalesce("reason", duplicate_rule(params)))
        kept = judged["reason"].is_null()
        texts = row_group.read().filter(kept)
        documents = texts.hstack(judged.filter(kept).drop("doc_id", "reason", "number"))
        english = [pl.lit(None, pl.String).alias(name) for name in ENGLISH]
        return documents.with_columns(english), Counter(judged["reason"].drop_nulls().to_list())

    return in_order(work, row_groups, threads)


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
