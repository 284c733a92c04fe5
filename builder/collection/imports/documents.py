"""Documents of a released snapshot -> our table, in bounded memory.

In: files of documents in each language, and addresses. Out: `documents/part-*.parquet` sorted by
the release's id: a page and its English translation in one row. Rows are staged on disk and joined
and sorted by DuckDB, so that memory does not grow with the release.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import duckdb
import polars as pl

from builder.collection.imports.files import ReleasedSnapshot, name_of
from builder.collection.imports.ids import Keys, document_keys, read_mapping
from builder.collection.imports.lines import read_addresses
from builder.collection.imports.notes import Notes
from builder.collection.imports.origin import Release
from builder.collection.imports.pages import read_pages
from builder.documents.fingerprints import analyse_texts
from builder.ingest.texts import normalise_texts, to_single_lines
from builder.io import parquet
from builder.io.tables import TableWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from schemas import RELEASED

PAGES = 4096
"""Documents that are looked at together."""
STAGED = {
    "doc_id": pl.String,
    "title": pl.String,
    "text": pl.String,
    "file": pl.String,
    "number": pl.UInt64,
    "is_source": pl.Boolean,
}
OCCURRENCES = """
CREATE TEMP TABLE occurrences AS
SELECT doc_id, is_source, file, number, md5(text) AS digest,
       row_number() OVER (PARTITION BY doc_id, is_source ORDER BY file, number) AS occurrence
FROM pages
"""
REPEATED = """
SELECT o.digest <> f.digest, o.file, o.number, o.doc_id
FROM occurrences AS o JOIN occurrences AS f USING (doc_id, is_source)
WHERE o.occurrence > 1 AND f.occurrence = 1 ORDER BY o.file, o.number
"""
UNTRANSLATED = """
SELECT file, number FROM occurrences AS t
WHERE occurrence = 1 AND NOT is_source
    AND doc_id NOT IN (SELECT doc_id FROM occurrences WHERE is_source)
ORDER BY file, number
"""
JOINED = """
WITH first AS (
    SELECT p.* FROM pages AS p SEMI JOIN (FROM occurrences WHERE occurrence = 1) AS o
    ON p.file = o.file AND p.number = o.number
)
SELECT s.doc_id, s.title, s.text, t.text AS text_en
FROM first AS s
LEFT JOIN (SELECT doc_id, text FROM first WHERE NOT is_source) AS t USING (doc_id)
WHERE s.is_source ORDER BY s.doc_id
"""


class ReleasedPages:
    """The documents of a snapshot: their keys, and their table.

    Args:
        snapshot: Its files.
        release: What it is a part of.
        notes: Where rejects go.
    """

    def __init__(self, snapshot: ReleasedSnapshot, release: Release, notes: Notes) -> None:
        self._snapshot, self._release, self._notes = snapshot, release, notes
        self._place = release.place_of(snapshot.name)
        self._urls: dict[str, str] = {}
        self._updated: dict[str, int] = {}
        for alias, url, time in self._addresses():
            own = release.document_alias(alias)
            self._urls[own] = url
            if time:
                self._updated[own] = time
        self.keys = Keys()
        """Key of each document that was judged or read."""

    def _addresses(self) -> Iterator[tuple[str, str, int]]:
        if self._snapshot.mapping is not None:
            yield from read_mapping(self._snapshot.mapping, self._snapshot.name)
        if self._snapshot.addresses is not None:
            name = name_of(self._snapshot.addresses, self._release.root)
            for alias, url in read_addresses(self._snapshot.addresses, name, self._notes):
                yield alias, url, 0

    def write(self, out: Path, judged: pl.Series, limits: Limits, progress: Progress) -> int:
        """Write the table; returns its rows.

        Args:
            out: Existing folder; receives `documents/`.
            judged: Ids of judged documents.
            limits: Memory and scratch space.
            progress: Counts documents.
        """
        shown = judged.unique().sort()
        for alias in shown:
            self._key_of(alias)
        staged = limits.scratch / "pages"
        staged.mkdir()
        for number, rows in enumerate(self._staged(progress)):
            rows.write_parquet(staged / f"part-{number:06d}.parquet", compression="lz4")
        table = RELEASED["documents"]
        with (
            TableWriter(out / "documents" / "part-00000.parquet", table) as writer,
            limits.connect(share=0.5) as connection,
        ):
            self._view(connection, parquet.list_files(staged))
            connection.execute(OCCURRENCES)
            self._reject_others(connection)
            for batch in connection.sql(JOINED).to_arrow_reader(PAGES):
                pages = pl.DataFrame(batch)
                if pages.height:
                    writer.write(self._described(pages, shown).to_arrow())
        return writer.rows

    def _view(self, connection: duckdb.DuckDBPyConnection, paths: list[Path]) -> None:
        if paths:
            parquet.relation(connection, *paths).create_view("pages")
        else:
            connection.register("pages", pl.DataFrame(schema=STAGED).to_arrow())

    def _staged(self, progress: Progress) -> Iterator[pl.DataFrame]:
        """Documents as they are read, batch by batch, with where each of them was read."""
        for language, paths in sorted(self._snapshot.documents.items(), reverse=True):
            for path in paths:
                for rows in self._pages(path, is_source=language == self._release.source):
                    progress.advance(rows.height)
                    yield rows

    def _pages(self, path: Path, *, is_source: bool) -> Iterator[pl.DataFrame]:
        name = name_of(path, self._release.root)
        pages = read_pages(path, name, self._notes, is_escaped=self._release.is_escaped)
        while batch := list(islice(pages, PAGES)):
            texts = normalise_texts(pl.Series([page.text for page in batch], dtype=pl.String))
            titles = to_single_lines(pl.Series([page.title for page in batch], dtype=pl.String))
            columns = {
                "doc_id": [self._release.document_alias(page.alias) for page in batch],
                "title": titles,
                "text": texts,
                "file": [name] * len(batch),
                "number": [page.number for page in batch],
                "is_source": [is_source] * len(batch),
            }
            frame = pl.DataFrame(columns, schema=STAGED)
            if is_source and (empty := frame.filter(text="")).height:
                for file, number in empty.select("file", "number").iter_rows():
                    self._notes.reject("empty_text", file, number)
                frame = frame.filter(pl.col("text") != "")
            yield frame

    def _reject_others(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Reject repeated documents, and translations of documents that are not there."""
        reasons = ("repeated_document", "contradicting_document")
        for differs, file, number, doc in connection.execute(REPEATED).fetchall():
            self._notes.reject(reasons[differs], file, number, doc)
        for file, number in connection.execute(UNTRANSLATED).fetchall():
            self._notes.reject("english_without_french", file, number)

    def _key_of(self, alias: str) -> str:
        """Give a document its key; returns its canonical URL, or what stands for it."""
        canonical, wanted = document_keys(alias, self._urls.get(alias), self._place)
        self.keys.give(alias, *wanted)
        return canonical

    def _described(self, pages: pl.DataFrame, judged: pl.Series) -> pl.DataFrame:
        aliases = pages["doc_id"].to_list()
        canonical = [self._key_of(alias) for alias in aliases]
        urls = [self._urls.get(alias) or key for alias, key in zip(aliases, canonical, strict=True)]
        whole = analyse_texts(pages).pages.with_columns(
            pl.Series("url_key", canonical, dtype=pl.String),
            pl.Series("url", urls, dtype=pl.String),
            pl.Series("fetched_at", [self._updated.get(a, 0) for a in aliases], dtype=pl.Int64),
            title_en=pl.when(pl.col("text_en").is_not_null()).then(pl.lit("")),
            shown=pl.col("doc_id").is_in(judged.implode()),
            sampled=pl.lit(value=True),
            truncated=pl.lit(value=False),
        )
        columns = RELEASED["documents"].dtypes()
        missing = [pl.lit(None).alias(name) for name in columns if name not in whole.columns]
        return whole.with_columns(missing).select(list(columns)).cast(columns)  # type: ignore[arg-type]
