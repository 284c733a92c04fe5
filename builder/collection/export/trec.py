"""A snapshot in TREC formats.

```
<language>/documents/part-*.trec   <DOC> <DOCNO> <DOCID> <TEXT>, each tag on its own line
<language>/topics.tsv              qid<TAB>text
<language>/topics.trec             <top><num><title>
qrels.txt                          qid 0 docid grade
urls.tsv                           docid<TAB>url
```
Page text that imitates a tag of the format is escaped, reversibly: see `markup`.
"""

from pathlib import Path

import polars as pl

from builder.collection.export.files import (
    Parts,
    trec_texts,
    write_addresses,
    write_documents,
    write_qrels,
    write_queries,
    write_topics,
)
from builder.parameters import ExportParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Ledger, RejectWriter, Table

SUFFIXES = {"fr": "", "en": "_en"}
"""Suffix of the columns of a language."""


def export_trec(
    out: Path,
    *,
    documents: Table,
    queries: Table,
    qrels: Table,
    params: ExportParameters,
    limits: Limits,  # noqa: ARG001 - every stage has them
    progress: Progress,
) -> Ledger:
    """Write a snapshot as TREC documents, topics and qrels, in every language it has."""
    ledger = Ledger("documents")
    with RejectWriter(out, "trec", ledger):
        if params.trec:
            languages = languages_of(queries)
            rows = write_trec(
                out, documents, queries, qrels, languages, params.max_file_bytes, progress
            )
            ledger.rows_in = ledger.rows_out = rows
    return ledger


def languages_of(queries: Table) -> tuple[str, ...]:
    """Languages of a snapshot: English only where it was translated."""
    translated = queries.scan().select("text_en").collect()["text_en"].null_count() == 0
    return ("fr", "en") if translated else ("fr",)


def write_trec(
    out: Path,
    documents: Table,
    queries: Table,
    qrels: Table,
    languages: tuple[str, ...],
    max_bytes: int,
    progress: Progress,
) -> int:
    """Write a snapshot into a folder; returns its documents."""
    rows = 0
    for language in languages:
        suffix, folder = SUFFIXES[language], out / language
        texts = trec_texts(documents, suffix, progress)
        rows = write_documents(Parts(folder / "documents", _part, max_bytes), texts)
        frame = queries.scan().select("query_id", text=f"text{suffix}").collect()
        write_queries(folder / "topics.tsv", frame)
        write_topics(folder / "topics.trec", frame)
    write_qrels(out / "qrels.txt", judgements(qrels))
    write_addresses(out / "urls.tsv", documents)
    return rows


def judgements(qrels: Table) -> pl.DataFrame:
    """Query, document and grade of all judgements."""
    return qrels.scan().select("query_id", "doc_id", "grade").collect()


def _part(number: int) -> str:
    return f"part-{number - 1:05d}.trec"
