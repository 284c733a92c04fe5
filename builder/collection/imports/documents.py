"""Imports the documents of a released snapshot in bounded memory.

Input: document files of each language, and the URLs of the documents, which are in separate files
or in the document files. Output: `documents/part-*.parquet` sorted by document id; each
row contains a document and its English text, if any. Documents are staged on disk, then joined and
sorted by DuckDB, so memory use does not depend on the size of the release.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import polars as pl

from builder.collection.imports.files import SnapshotFiles, relative_path
from builder.collection.imports.ids import KeyAssigner, document_key_candidates, read_url_database
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.lines import read_url_list
from builder.collection.imports.origin import Release
from builder.collection.imports.own_exports import has_escaped_markup
from builder.collection.imports.pages import read_documents
from builder.documents.fingerprints import fingerprint_pages_with_language
from builder.ingest.texts import normalize_texts, to_single_lines
from builder.io import parquet
from builder.io.tables import TableWriter
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from schemas import RELEASED

BATCH_ROWS = 4096
"""Number of documents per batch."""
STAGED_SCHEMA = {
    "doc_id": pl.String,
    "title": pl.String,
    "text": pl.String,
    "file": pl.String,
    "number": pl.UInt64,
    "is_source": pl.Boolean,
}
OCCURRENCES_SQL = """
CREATE TEMP TABLE occurrences AS
SELECT doc_id, is_source, file, number, md5(text) AS digest,
       row_number() OVER (PARTITION BY doc_id, is_source ORDER BY file, number) AS occurrence
FROM pages
"""
DUPLICATES_SQL = """
SELECT o.digest <> f.digest, o.file, o.number, o.doc_id
FROM occurrences AS o JOIN occurrences AS f USING (doc_id, is_source)
WHERE o.occurrence > 1 AND f.occurrence = 1 ORDER BY o.file, o.number
"""
ORPHANED_TRANSLATIONS_SQL = """
SELECT file, number FROM occurrences AS t
WHERE occurrence = 1 AND NOT is_source
    AND doc_id NOT IN (SELECT doc_id FROM occurrences WHERE is_source)
ORDER BY file, number
"""
JOIN_SQL = """
WITH first AS (
    SELECT p.* FROM pages AS p SEMI JOIN (FROM occurrences WHERE occurrence = 1) AS o
    ON p.file = o.file AND p.number = o.number
)
SELECT s.doc_id, s.title, s.text, t.title AS title_en, t.text AS text_en
FROM first AS s
LEFT JOIN (SELECT doc_id, title, text FROM first WHERE NOT is_source) AS t USING (doc_id)
WHERE s.is_source ORDER BY s.doc_id
"""


class DocumentImporter:
    """Importer for the documents of one snapshot.

    Args:
        snapshot: Files of the snapshot.
        release: Release that contains the snapshot.
        import_log: Log to which rejected records are added.
    """

    def __init__(self, snapshot: SnapshotFiles, release: Release, import_log: ImportLog) -> None:
        self._snapshot, self._release, self._log = snapshot, release, import_log
        self._id_scope = release.id_scope(snapshot.name)
        self._urls: dict[str, str] = {}
        self._fetch_times: dict[str, int] = {}
        for doc_id, url, time in self._read_urls():
            own = release.to_qrels_doc_id(doc_id)
            self._urls[own] = url
            if time:
                self._fetch_times[own] = time
        self.keys = KeyAssigner()
        """Assigner with the keys of all documents that are judged or imported."""

    def _read_urls(self) -> Iterator[tuple[str, str, int]]:
        for database in reversed(self._snapshot.url_databases):
            yield from read_url_database(database, self._snapshot.name)
        if self._snapshot.url_list is not None:
            name = relative_path(self._snapshot.url_list, self._release.root)
            for doc_id, url in read_url_list(self._snapshot.url_list, name, self._log):
                yield doc_id, url, 0

    def write(
        self, out: Path, judged_ids: pl.Series, limits: ResourceLimits, progress: Progress
    ) -> int:
        """Write the `documents` table of the snapshot, and return the number of rows.

        Args:
            out: Existing output folder, in which `documents/` is created.
            judged_ids: Ids of all judged documents; may contain duplicates.
            limits: Memory and scratch space.
            progress: Progress display; advanced by the number of documents.
        """
        staged = limits.scratch / "pages"
        staged.mkdir()
        for number, rows in enumerate(self._read_batches(progress)):
            rows.write_parquet(staged / f"part-{number:06d}.parquet", compression="lz4")
        shown = judged_ids.unique().sort()
        for doc_id in shown:
            self._assign_key(doc_id)
        table = RELEASED["documents"]
        with (
            TableWriter(out / "documents" / "part-00000.parquet", table) as writer,
            limits.connect_to_duckdb(memory_share=0.5) as connection,
        ):
            self._create_staged_view(connection, parquet.list_files(staged))
            connection.execute(OCCURRENCES_SQL)
            self._reject_duplicates_and_orphans(connection)
            for batch in connection.sql(JOIN_SQL).to_arrow_reader(BATCH_ROWS):
                documents = pl.DataFrame(batch)
                if documents.height:
                    writer.write(self._add_missing_columns(documents, shown).to_arrow())
        return writer.rows

    def _create_staged_view(self, connection: duckdb.DuckDBPyConnection, paths: list[Path]) -> None:
        if paths:
            parquet.read_parquet_relation(connection, *paths).create_view("pages")
        else:
            connection.register("pages", pl.DataFrame(schema=STAGED_SCHEMA).to_arrow())

    def _read_batches(self, progress: Progress) -> Iterator[pl.DataFrame]:
        """Yield the documents of all files as frames of at most `BATCH_ROWS` rows."""
        for language, paths in sorted(self._snapshot.documents.items(), reverse=True):
            for path in paths:
                for rows in self._read_file(
                    path, is_source=language == self._release.source_language
                ):
                    progress.advance(rows.height)
                    yield rows

    def _read_file(self, path: Path, *, is_source: bool) -> Iterator[pl.DataFrame]:
        name = relative_path(path, self._release.root)
        documents = read_documents(
            path, name, self._log, is_markup_escaped=has_escaped_markup(path)
        )
        while batch := list(islice(documents, BATCH_ROWS)):
            texts = normalize_texts(
                pl.Series([document.text for document in batch], dtype=pl.String)
            )
            titles = to_single_lines(
                pl.Series([document.title for document in batch], dtype=pl.String)
            )
            doc_ids = [self._release.to_qrels_doc_id(document.doc_id) for document in batch]
            for doc_id, document in zip(doc_ids, batch, strict=True):
                if document.url:
                    self._urls.setdefault(doc_id, document.url)
            columns = {
                "doc_id": doc_ids,
                "title": titles,
                "text": texts,
                "file": [name] * len(batch),
                "number": [document.number for document in batch],
                "is_source": [is_source] * len(batch),
            }
            frame = pl.DataFrame(columns, schema=STAGED_SCHEMA)
            if is_source and (empty := frame.filter(text="")).height:
                for file, number in empty.select("file", "number").iter_rows():
                    self._log.add_reject("empty_text", file, number)
                frame = frame.filter(pl.col("text") != "")
            yield frame

    def _reject_duplicates_and_orphans(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Log repeated documents, and translations without an original, as rejected records."""
        reasons = ("repeated_document", "contradicting_document")
        for differs, file, number, doc in connection.execute(DUPLICATES_SQL).fetchall():
            self._log.add_reject(reasons[differs], file, number, doc)
        for file, number in connection.execute(ORPHANED_TRANSLATIONS_SQL).fetchall():
            self._log.add_reject("english_without_french", file, number)

    def _assign_key(self, doc_id: str) -> str:
        """Assign a key to a document; return its canonical URL or, without one, its scoped id."""
        canonical, candidates = document_key_candidates(
            doc_id, self._urls.get(doc_id), self._id_scope
        )
        self.keys.assign(doc_id, *candidates)
        return canonical

    def _add_missing_columns(self, documents: pl.DataFrame, judged_ids: pl.Series) -> pl.DataFrame:
        doc_ids = documents["doc_id"].to_list()
        canonical = [self._assign_key(doc_id) for doc_id in doc_ids]
        urls = [
            self._urls.get(doc_id) or key for doc_id, key in zip(doc_ids, canonical, strict=True)
        ]
        completed = fingerprint_pages_with_language(documents).pages.with_columns(
            pl.Series("url_key", canonical, dtype=pl.String),
            pl.Series("url", urls, dtype=pl.String),
            pl.Series(
                "fetched_at",
                [self._fetch_times.get(doc_id, 0) for doc_id in doc_ids],
                dtype=pl.Int64,
            ),
            shown=pl.col("doc_id").is_in(judged_ids.implode()),
            sampled=pl.lit(value=True),
            truncated=pl.lit(value=False),
        )
        columns = RELEASED["documents"].dtypes()
        missing = [pl.lit(None).alias(name) for name in columns if name not in completed.columns]
        return completed.with_columns(missing).select(list(columns)).cast(columns)  # type: ignore[arg-type]
