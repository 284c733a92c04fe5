"""The layout of LongEval 2025, which `ir-datasets-longeval` loads.

```
<Language>/LongEval Train Collection/Trec/<snapshot>_<language>/collector_kodicare_<n>.txt.trec
                                     ... /metadata.json       base, timestamp, prior snapshots
<Language>/LongEval Train Collection/Json/<snapshot>_<language>/collector_kodicare_<n>.txt.json
<Language>/LongEval Train Collection/queries/<snapshot>_queries.txt          number<TAB>text
<Language>/LongEval Train Collection/qrels/<snapshot>_<language>/qrels_processed.txt
French/collection_db.db     mapping(id, url, last_updated_at, date), the last two lists in JSON
```
Ids are numbers, as in the original (see `numbers`); `<DOCNO>` says `doc` before them. Numbers of
queries fit 32 bits.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.collection.export.files import (
    Parts,
    json_texts,
    trec_texts,
    write_documents,
    write_qrels,
    write_queries,
)
from builder.collection.export.numbers import document_numbers, numbered, query_numbers
from builder.collection.export.source import SnapshotTables
from builder.collection.read import Collection
from builder.errors import DataError
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH, FRENCH

FOLDERS = {FRENCH: "French", ENGLISH: "English"}
TRAIN = "LongEval Train Collection"
ARRAY = ("[\n", ",\n", "\n]\n")
LOST = (
    "titles as such (first line of the text), blank lines and spaces at line ends",
    "addresses other than the last one of a page",
    "the split, topics, click evidence, variants and flags",
)
_MAPPING = """
CREATE TABLE mapping (
    id INTEGER PRIMARY KEY, url TEXT UNIQUE, last_updated_at TEXT, date TEXT
)"""


@dataclass(frozen=True)
class Numbers:
    """The numbers of documents and queries, in all snapshots: `id` and `number`."""

    documents: pl.DataFrame
    queries: pl.DataFrame

    @classmethod
    def of(cls, snapshots: Sequence[SnapshotTables]) -> "Numbers":
        """The numbers of what is listed or judged.

        Raises:
            DataError: two documents have one number.
        """
        return cls(
            document_numbers(_ids(snapshots, "documents", "doc_id")),
            query_numbers(_ids(snapshots, "queries", "query_id")),
        )


def _ids(snapshots: Sequence[SnapshotTables], listed: str, column: str) -> pl.Series:
    tables = [table for s in snapshots for table in (getattr(s, listed), s.qrels) if table.paths]
    empty = pl.LazyFrame(schema={column: pl.String})
    found = pl.concat([empty, *(table.scan().select(column) for table in tables)])
    return found.unique().collect()[column]


def export_longeval_web(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Write a collection into a folder.

    Raises:
        DataError: it is not French, or two ids have one number.
    """
    check_languages(collection)
    snapshots = [SnapshotTables(collection, name) for name in collection.snapshots]
    numbers = Numbers.of(snapshots)
    for place, snapshot in enumerate(snapshots):
        for language, suffix in languages.items():
            prior = list(collection.snapshots[:place][::-1])
            _write(snapshot, out, language, suffix, prior, numbers, max_bytes, progress)
    _write_mapping(snapshots, numbers, out / FOLDERS[FRENCH] / "collection_db.db")


def check_languages(collection: Collection) -> None:
    """Make sure that the folders of the layout are there for the collection's languages.

    Raises:
        DataError: they are not.
    """
    own = next(iter(collection.languages))
    if own != FRENCH:
        raise DataError(
            f"{collection.path}: the layout has places for French and its English translation, "
            f"the collection is in {own!r}; export it as trec or huggingface"
        )


def _write(
    snapshot: SnapshotTables,
    out: Path,
    language: str,
    suffix: str,
    prior: list[str],
    numbers: Numbers,
    max_bytes: int,
    progress: Progress,
) -> None:
    home = out / FOLDERS[language] / TRAIN
    name = f"{snapshot.name}_{language}"
    texts = trec_texts(snapshot.documents, suffix, progress, numbers.documents)
    write_documents(Parts(home / "Trec" / name, _trec_name, max_bytes), texts)
    objects = json_texts(snapshot.documents, suffix, progress, numbers.documents)
    write_documents(Parts(home / "Json" / name, _json_name, max_bytes, ARRAY), objects)
    described = {"base": "longeval-web", "snapshot": snapshot.name, "prior-datasets": prior}
    described["timestamp"] = snapshot.name[:7]
    (home / "Trec" / name / "metadata.json").write_text(json.dumps(described) + "\n", "utf-8")
    queries = numbered(snapshot.query_texts(suffix).lazy(), "query_id", numbers.queries).collect()
    write_queries(home / "queries" / f"{snapshot.name}_queries.txt", queries)
    qrels = numbered(snapshot.judgements().lazy(), "query_id", numbers.queries)
    qrels = numbered(qrels, "doc_id", numbers.documents)
    write_qrels(home / "qrels" / name / "qrels_processed.txt", qrels.collect())


def _trec_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.trec"


def _json_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.json"


def _write_mapping(snapshots: list[SnapshotTables], numbers: Numbers, path: Path) -> None:
    """One row a document: its address, and when each snapshot that has it was made and fetched."""
    empty = pl.LazyFrame(
        schema={
            "doc_id": pl.String,
            "url": pl.String,
            "snapshot": pl.String,
            "fetched_at": pl.Int64,
        }
    )
    frames = [
        snapshot.documents.scan().select(
            "doc_id",
            "url",
            pl.lit(snapshot.name).alias("snapshot"),
            "fetched_at",
        )
        for snapshot in snapshots
        if snapshot.documents.paths
    ]
    pages = (
        pl.concat([empty, *frames])
        .sort("doc_id", "snapshot")
        .group_by("doc_id", maintain_order=True)
        .agg(pl.col("url").last(), "fetched_at", "snapshot")
    )
    rows = numbered(pages, "doc_id", numbers.documents).collect()
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(_MAPPING)
        connection.executemany(
            "INSERT INTO mapping VALUES (?, ?, ?, ?)",
            (
                (number, url, json.dumps(times), json.dumps(names))
                for number, url, times, names in rows.iter_rows()
            ),
        )
