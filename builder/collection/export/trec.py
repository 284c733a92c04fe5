"""Exports a snapshot in TREC formats.

```
<language>/documents/part-*.trec   <DOC> <DOCNO> <DOCID> <TEXT>, each tag on its own line
<language>/topics.tsv              query_id<TAB>text
<language>/topics.trec             <top><num><title><desc><narr>, with numeric query ids
qrels.txt                          query_id 0 doc_id grade
qrels.numbers.txt                  number 0 doc_id grade, for topics.trec
query_numbers.tsv                  number<TAB>query_id
urls.tsv                           doc_id<TAB>url
```
Text that looks like a TREC tag is escaped in a reversible way; see `markup`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.collection.export.files import (
    DocumentFileWriter,
    render_trec_documents,
    write_document_files,
    write_qrels,
    write_queries,
    write_trec_topics,
    write_urls,
)
from builder.collection.export.numeric_ids import assign_query_numbers, replace_ids_with_numbers
from builder.io.tables import Table
from builder.parameters import ExportParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import Same, SettingReference
from builder.runtime.stage import stage
from builder.text.names import column_suffixes
from schemas import Documents, Qrels, Queries


@stage("trec", version="3")
def export_trec(
    out: Path,
    *,
    documents: Same[Documents],
    queries: Same[Queries],
    qrels: Same[Qrels],
    params: ExportParameters,
    limits: ResourceLimits,  # noqa: ARG001 - passed to every stage
    progress: Progress,
    languages: Annotated[Sequence[str], SettingReference(lambda w, _: w.collection.languages)],
) -> RowLedger:
    """Stage: write the documents, topics and qrels of a snapshot in TREC formats, by language."""
    ledger = RowLedger("documents")
    with RejectWriter(out, "trec", ledger):
        if params.trec:
            suffixes = column_suffixes(languages)
            rows = write_trec(
                out, documents, queries, qrels, suffixes, params.max_file_bytes, progress
            )
            ledger.rows_in = ledger.rows_out = rows
    return ledger


def write_trec(
    out: Path,
    documents: Table,
    queries: Table,
    qrels: Table,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> int:
    """Write a snapshot in TREC formats, and return the number of documents written.

    Args:
        out: Output folder.
        documents: Documents of the snapshot.
        queries: Queries of the snapshot.
        qrels: Relevance judgements of the snapshot.
        languages: Column suffix of each language to write, by language code.
        max_bytes: Size in bytes at which a new document file is started.
        progress: Progress display; advanced by the number of documents.
    """
    rows = 0
    numbers = assign_query_numbers(_unique_query_ids(queries, qrels))
    for language, suffix in languages.items():
        folder = out / language
        texts = render_trec_documents(documents, suffix, progress)
        count = write_document_files(
            DocumentFileWriter(folder / "documents", _part_file_name, max_bytes), texts
        )
        rows = max(rows, count)
        frame = query_texts(queries, suffix).collect()
        write_queries(folder / "topics.tsv", frame)
        plain = replace_ids_with_numbers(frame.lazy(), "query_id", numbers).collect()
        write_trec_topics(folder / "topics.trec", plain, "query_id")
    judged = qrel_rows(qrels)
    write_qrels(out / "qrels.txt", judged)
    plain = replace_ids_with_numbers(judged.lazy(), "query_id", numbers).collect()
    write_qrels(out / "qrels.numbers.txt", plain.sort("query_id", "doc_id"))
    write_queries(
        out / "query_numbers.tsv", numbers.sort("number").rename({"id": "text"}), "number"
    )
    write_urls(out / "urls.tsv", documents)
    return rows


def _unique_query_ids(queries: Table, qrels: Table) -> pl.Series:
    """Return the distinct query ids in the union of the queries and qrels tables."""
    ids = [table.scan().select("query_id") for table in (queries, qrels)]
    return pl.concat(ids).unique().collect()["query_id"]


def query_texts(queries: Table, suffix: str) -> pl.LazyFrame:
    """Return `query_id`, `text` and `split` of all queries that have text in a language.

    Args:
        queries: Queries of a snapshot.
        suffix: Column suffix of the language, such as `""` or `"_en"`.
    """
    texts = queries.scan().select("query_id", pl.col(f"text{suffix}").alias("text"), "split")
    return texts.filter(pl.col("text").is_not_null())


def qrel_rows(qrels: Table) -> pl.DataFrame:
    """Return one row per judgement, with columns `query_id`, `doc_id` and `grade`."""
    return qrels.scan().select("query_id", "doc_id", "grade").collect()


def _part_file_name(number: int) -> str:
    return f"part-{number - 1:05d}.trec"
