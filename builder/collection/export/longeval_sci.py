"""The layout of LongEval-Sci, which `ir-datasets-longeval` loads.

```
<snapshot>/documents/documents_<n>.jsonl    one object a line: id, title, abstract, ...
<snapshot>/queries.txt                      qid<TAB>text
<snapshot>/qrels.txt                        qid 0 docid grade
<snapshot>/metadata.json                    base, snapshot, timestamp, folders of prior snapshots
```
The layout has one language: English where the collection has it, unless another is asked for.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from builder.collection.export.files import (
    Parts,
    document_frames,
    write_documents,
    write_qrels,
    write_queries,
)
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH

LOST = (
    "texts in another language",
    "addresses and fetch times",
    "whether a text is an abstract or a full text",
    "topics, click evidence, variants and flags",
)
ABSENT = ("doi", "arxivId", "pubmedId", "magId", "createdDate", "publishedDate", "updatedDate")
"""What the loader expects of a paper and a collection does not know; null."""
EMPTY = ("authors", "oaiIds", "links")


def export_longeval_sci(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Write a collection into a folder."""
    suffix = languages.get(ENGLISH, next(iter(languages.values())))
    for place, name in enumerate(collection.snapshots):
        snapshot, home = SnapshotTables(collection, name), out / name
        papers = _papers(snapshot, suffix, progress)
        write_documents(Parts(home / "documents", _name, max_bytes), papers)
        write_queries(home / "queries.txt", snapshot.query_texts(suffix))
        write_qrels(home / "qrels.txt", snapshot.judgements())
        prior = [f"../{earlier}" for earlier in collection.snapshots[:place][::-1]]
        described = {"base": "longeval-sci", "snapshot": name, "timestamp": name[:7]}
        text = json.dumps({**described, "prior-datasets": prior})
        (home / "metadata.json").write_text(text + "\n", "utf-8")


def _name(number: int) -> str:
    return f"documents_{number:06d}.jsonl"


def _papers(snapshot: SnapshotTables, suffix: str, progress: Progress) -> Iterator[pl.Series]:
    for frame in document_frames(snapshot.documents, suffix, progress):
        paper = pl.struct(
            pl.col("docno").alias("id"),
            "title",
            pl.col("text").alias("abstract"),
            *(pl.lit(None, dtype=pl.String).alias(name) for name in ABSENT),
            *(pl.lit([], dtype=pl.List(pl.String)).alias(name) for name in EMPTY),
        )
        yield frame.select(paper.struct.json_encode() + "\n").to_series()
