"""Exports a collection in the layout of LongEval-Sci, which `ir-datasets-longeval` can load.

```
<snapshot>/documents/documents_<n>.jsonl    JSON lines: id, title, abstract, ...
<snapshot>/queries.txt                      query_id<TAB>text
<snapshot>/qrels.txt                        query_id 0 doc_id grade
<snapshot>/metadata.json                    base, snapshot, timestamp, folders of prior snapshots
```
The layout supports one language: English if it is among the exported languages, otherwise the
first exported language.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from builder.collection.export.files import (
    DocumentFileWriter,
    iter_documents,
    write_document_files,
    write_qrels,
    write_queries,
)
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH

OMITTED = (
    "texts in all languages except one",
    "URLs and fetch times",
    "whether a text is an abstract or the full text",
    "topics, click evidence, query variants and flags",
)
NULL_FIELDS = ("doi", "arxivId", "pubmedId", "magId", "createdDate", "publishedDate", "updatedDate")
"""Fields that the loader requires but that a collection does not have; written as null."""
EMPTY_LIST_FIELDS = ("authors", "oaiIds", "links")


def export_longeval_sci(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Export a collection in the layout of LongEval-Sci."""
    (suffix,) = select_language(languages).values()
    for index, name in enumerate(collection.snapshots):
        snapshot, folder = SnapshotTables(collection, name), out / name
        papers = _render_papers(snapshot, suffix, progress)
        write_document_files(
            DocumentFileWriter(folder / "documents", _document_file_name, max_bytes), papers
        )
        write_queries(folder / "queries.txt", snapshot.query_texts(suffix))
        if (qrels := snapshot.qrel_rows()).height:
            write_qrels(folder / "qrels.txt", qrels)
        prior = [f"../{earlier}" for earlier in collection.snapshots[:index][::-1]]
        metadata = {"base": "longeval-sci", "snapshot": name, "timestamp": name[:7]}
        text = json.dumps({**metadata, "prior-datasets": prior})
        (folder / "metadata.json").write_text(text + "\n", "utf-8")


def select_language(languages: Mapping[str, str]) -> dict[str, str]:
    """Return the language to export and its column suffix: English if available, else the first."""
    language = ENGLISH if ENGLISH in languages else next(iter(languages))
    return {language: languages[language]}


def _document_file_name(number: int) -> str:
    return f"documents_{number:06d}.jsonl"


def _render_papers(
    snapshot: SnapshotTables, suffix: str, progress: Progress
) -> Iterator[pl.Series]:
    for frame in iter_documents(snapshot.documents, suffix, progress):
        paper = pl.struct(
            pl.col("docno").alias("id"),
            "title",
            pl.col("text").alias("abstract"),
            *(pl.lit(None, dtype=pl.String).alias(name) for name in NULL_FIELDS),
            *(pl.lit([], dtype=pl.List(pl.String)).alias(name) for name in EMPTY_LIST_FIELDS),
        )
        yield frame.select(paper.struct.json_encode() + "\n").to_series()
