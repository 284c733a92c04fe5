"""A snapshot in TREC formats.

```
<language>/documents/part-*.trec   <DOC> <DOCNO> <DOCID> <TEXT>, each tag on its own line
<language>/topics.tsv              qid<TAB>text
<language>/topics.trec             <top><num><title><desc><narr>, with numbers for ids
qrels.txt                          qid 0 docid grade
qrels.numbers.txt                  number 0 docid grade: the judgements of topics.trec
query_numbers.tsv                  number<TAB>qid
urls.tsv                           docid<TAB>url
```
Page text that imitates a tag of the format is escaped, reversibly: see `markup`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import polars as pl

from builder.collection.export.files import (
    Parts,
    trec_texts,
    write_addresses,
    write_documents,
    write_qrels,
    write_queries,
    write_trec_topics,
)
from builder.collection.export.numbers import numbered, query_numbers
from builder.io.tables import Table
from builder.parameters import ExportParameters
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Same, Setting
from builder.runtime.stage import stage
from builder.text.names import column_suffixes
from schemas import Documents, Qrels, Queries


@stage("trec", version="2")
def export_trec(
    out: Path,
    *,
    documents: Same[Documents],
    queries: Same[Queries],
    qrels: Same[Qrels],
    params: ExportParameters,
    limits: Limits,  # noqa: ARG001 - every stage has them
    progress: Progress,
    languages: Annotated[Sequence[str], Setting(lambda w, _: w.collection.languages)],
) -> Ledger:
    """Write a snapshot as TREC documents, topics and qrels, in every language of the collection."""
    ledger = Ledger("documents")
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
    """Write a snapshot into a folder; returns its documents.

    Args:
        out: The folder.
        documents: Its documents.
        queries: Its queries.
        qrels: Its judgements.
        languages: Those to write, with the suffix of their columns.
        max_bytes: A file of documents ends with the one that fills it.
        progress: Counts documents.
    """
    rows = 0
    numbers = query_numbers(_query_ids(queries, qrels))
    for language, suffix in languages.items():
        folder = out / language
        texts = trec_texts(documents, suffix, progress)
        written = write_documents(Parts(folder / "documents", _part, max_bytes), texts)
        rows = max(rows, written)
        frame = query_texts(queries, suffix).collect()
        write_queries(folder / "topics.tsv", frame)
        plain = numbered(frame.lazy(), "query_id", numbers).collect()
        write_trec_topics(folder / "topics.trec", plain, "query_id")
    judged = judgements(qrels)
    write_qrels(out / "qrels.txt", judged)
    plain = numbered(judged.lazy(), "query_id", numbers).collect()
    write_qrels(out / "qrels.numbers.txt", plain.sort("query_id", "doc_id"))
    write_queries(
        out / "query_numbers.tsv", numbers.sort("number").rename({"id": "text"}), "number"
    )
    write_addresses(out / "urls.tsv", documents)
    return rows


def _query_ids(queries: Table, qrels: Table) -> pl.Series:
    """The ids of listed and of judged queries."""
    found = [table.scan().select("query_id") for table in (queries, qrels)]
    return pl.concat(found).unique().collect()["query_id"]


def query_texts(queries: Table, suffix: str) -> pl.LazyFrame:
    """`query_id`, `text` and `split` of the queries that have a text in a language."""
    texts = queries.scan().select("query_id", pl.col(f"text{suffix}").alias("text"), "split")
    return texts.filter(pl.col("text").is_not_null())


def judgements(qrels: Table) -> pl.DataFrame:
    """Query, document and grade of all judgements."""
    return qrels.scan().select("query_id", "doc_id", "grade").collect()


def _part(number: int) -> str:
    return f"part-{number - 1:05d}.trec"
