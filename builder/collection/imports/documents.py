"""Documents of a released snapshot -> our table, in bounded memory.

In: files of documents in each language, and addresses. Out: `documents/part-*.parquet` sorted by
id: a page and its English translation in one row. Rows go through buckets of their key on disk, so
that memory does not grow with the release.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import polars as pl

from builder.collection.imports.files import ReleasedSnapshot
from builder.collection.imports.ids import document_id, read_mapping
from builder.collection.imports.lines import read_addresses
from builder.collection.imports.notes import Notes
from builder.collection.imports.pages import read_pages
from builder.documents.fingerprints import describe
from builder.ingest.buckets import Buckets
from builder.ingest.texts import normalise_texts, one_line
from builder.io.tables import TableWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.text.keys import key_of_id
from builder.trec.released import plain_number
from schemas import Documents

PAGES = 4096
"""Documents that are looked at together."""
SHARE = 0.15
"""Part of the memory that unsorted rows may take before they are spilled."""


class Released:
    """The documents of a snapshot: ids, and their table.

    Args:
        snapshot: Its files.
        root: The release.
        place: What its document ids are valid in.
        source: The language that pages were found in; others are translations.
        notes: Where rejects go.
        is_escaped: Whether markup in texts is escaped.
    """

    def __init__(
        self,
        snapshot: ReleasedSnapshot,
        root: Path,
        place: str,
        source: str,
        notes: Notes,
        *,
        is_escaped: bool,
    ) -> None:
        self._snapshot, self._root, self._place = snapshot, root, place
        self._source, self._notes, self._is_escaped = source, notes, is_escaped
        self._urls = {plain_number(alias): url for alias, url in self._addresses()}
        self.ids: dict[str, str] = {}
        """Stable id of each document id that was asked for or read."""

    def _addresses(self) -> Iterator[tuple[str, str]]:
        if self._snapshot.mapping is not None:
            yield from read_mapping(self._snapshot.mapping)
        if self._snapshot.addresses is not None:
            name = self._snapshot.addresses.relative_to(self._root).as_posix()
            yield from read_addresses(self._snapshot.addresses, name, self._notes)

    def id_of(self, alias: str) -> str:
        """The stable id of a document id of the release."""
        if alias not in self.ids:
            self.ids[alias] = document_id(alias, self._urls.get(alias), self._place)[0]
        return self.ids[alias]

    def write(self, out: Path, judged: pl.Series, limits: Limits, progress: Progress) -> int:
        """Write the table; returns its rows.

        Args:
            out: Existing folder; receives `documents/`.
            judged: Stable ids of judged documents.
            limits: Memory and scratch space.
            progress: Counts documents.
        """
        buckets = Buckets(limits.scratch, int(limits.memory * SHARE))
        for language, paths in sorted(self._snapshot.documents.items(), reverse=True):
            for path in paths:
                for pages in self._pages(path, language):
                    buckets.add(pages)
                    progress.advance(pages.height)
        shown = judged.unique()
        with TableWriter(out / "documents" / "part-00000.parquet", Documents) as writer:
            for rows in buckets:
                writer.write(self._joined(rows, shown).to_arrow())
        return writer.rows

    def _pages(self, path: Path, language: str) -> Iterator[pl.DataFrame]:
        name = path.relative_to(self._root).as_posix()
        pages = read_pages(path, name, self._notes, is_escaped=self._is_escaped)
        while piece := list(islice(pages, PAGES)):
            aliases = [plain_number(page.alias) for page in piece]
            texts = normalise_texts(pl.Series([page.text for page in piece], dtype=pl.String))
            titles = one_line(pl.Series([page.title for page in piece], dtype=pl.String))
            frame = pl.DataFrame(
                {
                    "doc_id": [self.id_of(alias) for alias in aliases],
                    "alias": aliases,
                    "title": titles,
                    "text": texts,
                    "file": name,
                    "number": [page.number for page in piece],
                },
                schema_overrides={"number": pl.UInt64},
            )
            keyed = frame.with_columns(key=key_of_id("doc_id"), language=pl.lit(language))
            if language == self._source and (empty := keyed.filter(text="")).height:
                for file, number in empty.select("file", "number").iter_rows():
                    self._notes.reject("empty_text", file, number)
                keyed = keyed.filter(pl.col("text") != "")
            yield keyed

    def _joined(self, rows: pl.DataFrame, judged: pl.Series) -> pl.DataFrame:
        """One row a document and its translation; repeated ones are rejects."""
        ordered = rows.sort(
            "doc_id", "language", "file", "number", descending=[False, True, False, False]
        )
        first = ordered.unique(["doc_id", "language"], keep="first", maintain_order=True)
        self._reject_others(ordered, first)
        found = first.filter(language=self._source)
        translated = first.filter(pl.col("language") != self._source)
        english = translated.select("doc_id", text_en="text")
        lost = translated.join(found, on="doc_id", how="anti")
        for file, number in lost.select("file", "number").iter_rows():
            self._notes.reject("english_without_french", file, number)
        pages = found.join(english, on="doc_id", how="left", maintain_order="left")
        return self._described(pages, judged)

    def _reject_others(self, ordered: pl.DataFrame, first: pl.DataFrame) -> None:
        texts = first.select("doc_id", "language", first_text="text")
        others = ordered.join(first, on=["file", "number"], how="anti").join(
            texts, on=["doc_id", "language"], maintain_order="left"
        )
        columns = ("text", "first_text", "file", "number", "doc_id")
        for text, first_text, file, number, doc in others.select(columns).iter_rows():
            reason = "repeated_document" if text == first_text else "contradicting_document"
            self._notes.reject(reason, file, number, doc)

    def _described(self, pages: pl.DataFrame, judged: pl.Series) -> pl.DataFrame:
        urls = [self._urls.get(alias) for alias in pages["alias"]]
        found = zip(pages["alias"], urls, strict=True)
        keys = [document_id(alias, url, self._place)[1] for alias, url in found]
        whole = describe(pages).pages.with_columns(
            pl.Series("url_key", keys, dtype=pl.String),
            pl.Series("url", [u or k for u, k in zip(urls, keys, strict=True)], dtype=pl.String),
            title_en=pl.when(pl.col("text_en").is_not_null()).then(pl.lit("")),
            fetched_at=pl.lit(0),
            shown=pl.col("doc_id").is_in(judged.implode()),
            sampled=pl.lit(value=True),
            truncated=pl.lit(value=False),
        )
        missing = [pl.lit(None).alias(n) for n in Documents.dtypes() if n not in whole.columns]
        return whole.with_columns(missing).select(list(Documents.dtypes())).cast(Documents.dtypes())  # type: ignore[arg-type]
