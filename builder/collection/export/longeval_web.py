"""Exports a collection in the layout of LongEval 2025 (Web) for `ir-datasets-longeval`.

```
<Language>/LongEval Train Collection/Trec/<snapshot>_<language>/collector_kodicare_<n>.txt.trec
                                     ... /metadata.json       base, timestamp, prior snapshots
<Language>/LongEval Train Collection/Json/<snapshot>_<language>/collector_kodicare_<n>.txt.json
<Language>/LongEval Train Collection/queries/<snapshot>_queries.txt          number<TAB>text
<Language>/LongEval Train Collection/qrels/<snapshot>_<language>/qrels_processed.txt
French/collection_db.db     mapping(id, url, last_updated_at, date); the last two are JSON lists
```
Ids are numeric, as in the original release (see `numeric_ids`). Document ids in `<DOCNO>` have the
prefix `doc`; query ids fit in 32 bits.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.collection.export.files import (
    LANGUAGE_FOLDERS,
    DocumentFileWriter,
    render_json_documents,
    render_trec_documents,
    write_document_files,
    write_qrels,
    write_queries,
)
from builder.collection.export.numeric_ids import (
    assign_document_numbers,
    assign_query_numbers,
    replace_ids_with_numbers,
)
from builder.collection.export.source import SnapshotTables
from builder.collection.export.url_database import URL_DATABASE, write_url_database
from builder.collection.read import Collection
from builder.errors import DataError
from builder.runtime.progress import Progress
from builder.text.names import FRENCH

TRAIN_FOLDER = "LongEval Train Collection"
JSON_ARRAY = ("[\n", ",\n", "\n]\n")
OMITTED = (
    "titles (exported as the first line of the text)",
    "all URLs of a document except the most recent one",
    "the query split, topics, click evidence, query variants and flags",
)


@dataclass(frozen=True)
class NumericIds:
    """Numeric ids of documents and queries, which are the same in all snapshots of an export.

    Args:
        documents: Numeric id (column `number`) of each document id (column `id`).
        queries: Numeric id (column `number`) of each query id (column `id`).
    """

    documents: pl.DataFrame
    queries: pl.DataFrame

    @classmethod
    def from_snapshots(cls, snapshots: Sequence[SnapshotTables]) -> "NumericIds":
        """Assign a numeric id to each document and query in the tables of the snapshots.

        Raises:
            DataError: Two documents would have the same number.
        """
        return cls(
            assign_document_numbers(_unique_ids(snapshots, "documents", "doc_id")),
            assign_query_numbers(_unique_ids(snapshots, "queries", "query_id")),
        )


def _unique_ids(snapshots: Sequence[SnapshotTables], table_name: str, column: str) -> pl.Series:
    tables = [
        table for s in snapshots for table in (getattr(s, table_name), s.qrels) if table.paths
    ]
    empty = pl.LazyFrame(schema={column: pl.String})
    ids = pl.concat([empty, *(table.scan().select(column) for table in tables)])
    return ids.unique().collect()[column]


def export_longeval_web(
    collection: Collection,
    out: Path,
    languages: Mapping[str, str],
    max_bytes: int,
    progress: Progress,
) -> None:
    """Export a collection in the layout of LongEval 2025 (Web).

    Raises:
        DataError: The source language of the collection is not French, or two documents would have
            the same number.
    """
    require_french(collection)
    snapshots = [SnapshotTables(collection, name) for name in collection.snapshots]
    numbers = NumericIds.from_snapshots(snapshots)
    for index, snapshot in enumerate(snapshots):
        for language, suffix in languages.items():
            prior = list(collection.snapshots[:index][::-1])
            _write_snapshot(snapshot, out, language, suffix, prior, numbers, max_bytes, progress)
    write_url_database(snapshots, numbers.documents, out / URL_DATABASE)


def require_french(collection: Collection) -> None:
    """Raise an error unless the source language of a collection is French.

    Raises:
        DataError: The source language is not French.
    """
    language = next(iter(collection.languages))
    if language != FRENCH:
        raise DataError(
            f"{collection.path}: this layout supports only French with an English translation, "
            f"but the collection is in {language!r}; export it as trec or huggingface"
        )


def _write_snapshot(
    snapshot: SnapshotTables,
    out: Path,
    language: str,
    suffix: str,
    prior_snapshots: list[str],
    numeric_ids: NumericIds,
    max_bytes: int,
    progress: Progress,
) -> None:
    folder = out / LANGUAGE_FOLDERS[language] / TRAIN_FOLDER
    name = f"{snapshot.name}_{language}"
    texts = render_trec_documents(
        snapshot.documents, suffix, progress, numeric_ids.documents, keep_blank_lines=True
    )
    write_document_files(
        DocumentFileWriter(folder / "Trec" / name, _trec_file_name, max_bytes), texts
    )
    objects = render_json_documents(
        snapshot.documents, suffix, progress, numeric_ids.documents, keep_blank_lines=True
    )
    write_document_files(
        DocumentFileWriter(folder / "Json" / name, _json_file_name, max_bytes, JSON_ARRAY), objects
    )
    metadata = {
        "base": "longeval-web",
        "snapshot": snapshot.name,
        "prior-datasets": prior_snapshots,
    }
    metadata["timestamp"] = snapshot.name[:7]
    (folder / "Trec" / name / "metadata.json").write_text(json.dumps(metadata) + "\n", "utf-8")
    queries = replace_ids_with_numbers(
        snapshot.query_texts(suffix).lazy(), "query_id", numeric_ids.queries
    ).collect()
    write_queries(folder / "queries" / f"{snapshot.name}_queries.txt", queries)
    if (rows := snapshot.qrel_rows()).height:
        qrels = replace_ids_with_numbers(rows.lazy(), "query_id", numeric_ids.queries)
        qrels = replace_ids_with_numbers(qrels, "doc_id", numeric_ids.documents)
        write_qrels(folder / "qrels" / name / "qrels_processed.txt", qrels.collect())


def _trec_file_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.trec"


def _json_file_name(number: int) -> str:
    return f"collector_kodicare_{number}.txt.json"
