"""Pages -> the documents of a snapshot: the stage `documents`.

In: pages of the index and the documents that kept queries showed. Out: `gathered`, the union of
the pages shown and a keyed sample of the index, as LongEval defines it (Galuscakova et al. 2023,
section 3), with the fingerprints by which changes are found.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builder.documents.language import detect_languages
from builder.documents.tokens import digest, document_tokens
from builder.keys import in_sample, key_of_id
from builder.parameters import DocumentParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Ledger, RejectWriter, Table, TableWriter
from schemas import Documents


def gather(
    out: Path,
    *,
    pages: Table,
    shown_documents: Table,
    params: DocumentParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: take the pages that were shown or fall into the sample.

    Args:
        out: Folder that receives `gathered` (parts, as those of `pages`) and `rejects`.
        pages: See `schemas.Pages`.
        shown_documents: See `schemas.ShownDocuments`.
        params: `[documents]`.
        limits: Unused; one row group is held at a time.
        progress: Told the pages.

    Returns:
        An account of the pages.
    """
    del limits
    ledger = Ledger("pages")
    shown = shown_documents.scan().select("doc").collect()["doc"]
    with RejectWriter(out, "documents", ledger) as rejects:
        for number, path in enumerate(pages.paths):
            with TableWriter(out / "gathered" / f"part-{number:05d}.parquet", Documents) as writer:
                for group in _row_groups(path):
                    marked = mark_origin(group, shown, params)
                    kept = marked.filter(pl.col("shown") | pl.col("sampled"))
                    left = marked.filter(~pl.col("shown") & ~pl.col("sampled"))
                    for doc_id in left["doc_id"]:
                        rejects.add("not_in_sample", key=doc_id)
                    writer.write(describe(kept).to_arrow(compat_level=pl.CompatLevel.oldest()))
                    ledger.rows_in += group.height
                    progress.advance(group.height)
            ledger.rows_out += writer.rows
    return ledger


def _row_groups(path: Path) -> Iterator[pl.DataFrame]:
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield pl.DataFrame(file.read_row_group(number))


def mark_origin(pages: pl.DataFrame, shown: pl.Series, params: DocumentParameters) -> pl.DataFrame:
    """Add whether a page was shown (Boolean `shown`) and is in the sample (Boolean `sampled`).

    Args:
        pages: Column `doc_id`.
        shown: Keys of the documents shown.
        params: Share and seed of the sample.
    """
    return pages.with_columns(
        shown=key_of_id("doc_id").is_in(shown.implode()),
        sampled=in_sample("doc_id", params.sample_share, params.sample_seed),
    )


def describe(pages: pl.DataFrame) -> pl.DataFrame:
    """The documents of some pages: language, number of tokens, fingerprints; no English yet."""
    words = pages.select(document_tokens().alias("tokens"))["tokens"]
    languages = detect_languages(pages["text"])
    return pages.with_columns(
        pl.lit(None, pl.String).alias("title_en"),
        pl.lit(None, pl.String).alias("text_en"),
        pl.Series("language", [code for code, _ in languages], dtype=pl.String),
        pl.Series("language_score", [score for _, score in languages], dtype=pl.Float64),
        words.list.len().cast(pl.UInt32).alias("tokens"),
        pl.Series("text_hash", digest(pages["text"].to_list()), dtype=pl.String),
        pl.Series("token_hash", digest(words.list.join(" ").to_list()), dtype=pl.String),
    )
