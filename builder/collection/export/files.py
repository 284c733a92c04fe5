"""Writes the text files of an export: documents, queries, topics, qrels and URLs.

Tables are read in batches. Files are UTF-8 with LF line endings; equal tables give equal bytes.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
import polars as pl

from builder.collection.export.markup import (
    collapse_whitespace_expr,
    document_body_expr,
    escape_markup_expr,
    escape_markup_series,
    normalize_lines,
)
from builder.collection.export.numeric_ids import replace_ids_with_numbers
from builder.io.tables import Table
from builder.runtime.executors import ordered_map
from builder.runtime.progress import Progress
from builder.text.names import ENGLISH, FRENCH

LANGUAGE_FOLDERS = {FRENCH: "French", ENGLISH: "English"}
"""Folder of each language in the releases of LongEval (Web)."""
BATCH_ROWS = 4096
"""Number of documents per batch."""
THREADS = 2
"""Number of threads that render batches while the next batch is read."""


class DocumentFileWriter:
    """Writer that splits formatted documents into several files of limited size.

    No file is written if there are no documents, because readers may not accept an empty file.

    Args:
        folder: Output folder; created if it does not exist.
        file_name: Function that returns the name of a file, given its number (from 1).
        max_bytes: Size in bytes at which a new file is started.
        delimiters: Text at the start of a file, between two documents, and at the end of a file.
    """

    def __init__(
        self,
        folder: Path,
        file_name: Callable[[int], str],
        max_bytes: int,
        delimiters: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self._folder, self._name = folder, file_name
        self._max_bytes = max_bytes
        self._first, self._between, self._last = (text.encode() for text in delimiters)
        self._number = 0
        self._file: BinaryIO | None = None

    def _open(self) -> BinaryIO:
        self._number, self._size = self._number + 1, 0
        self._file = (self._folder / self._name(self._number)).open("wb")
        self._file.write(self._first)
        return self._file

    def write(self, texts: pl.Series) -> None:
        """Append a series of formatted documents, and start new files as needed."""
        ends = np.cumsum(texts.str.len_bytes().to_numpy().astype(np.int64))
        start, before = 0, 0
        while start < len(texts):
            if self._file is not None and self._size >= self._max_bytes:
                self.close()
            file = self._file or self._open()
            limit = before + self._max_bytes - self._size
            stop = min(int(np.searchsorted(ends, limit)) + 1, len(texts))
            file.write(self._between if self._size else b"")
            file.write(_join_bytes(texts.slice(start, stop - start), self._between))
            self._size += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
        self.count += len(texts)

    def close(self) -> None:
        """Write the end delimiter to the current file and close it; do nothing if none is open."""
        if self._file is not None:
            self._file.write(self._last)
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _join_bytes(texts: pl.Series, separator: bytes) -> memoryview:
    """Return the UTF-8 bytes of all texts in a series, joined with a separator."""
    if separator:
        texts = texts + separator.decode()
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets = np.frombuffer(array.buffers()[1], np.int64)
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return memoryview(array.buffers()[2])[first : last - len(separator)]


def write_document_files(writer: DocumentFileWriter, batches: Iterator[pl.Series]) -> int:
    """Write all batches of formatted documents, close the writer and return the document count."""
    with writer:
        for texts in batches:
            writer.write(texts)
    return writer.count


def render_trec_documents(
    documents: Table,
    suffix: str,
    progress: Progress,
    doc_numbers: pl.DataFrame | None = None,
    *,
    keep_blank_lines: bool = False,
) -> Iterator[pl.Series]:
    """Yield batches of documents formatted as TREC `<DOC>` elements, with `<TEXT>` on its own line.

    The title becomes the first line of the text.

    Args:
        documents: Table with schema `schemas.Documents`.
        suffix: Column suffix of the language, such as `""` or `"_en"`.
        progress: Progress display; advanced by the number of documents.
        doc_numbers: Numeric id (column `number`) of each document id (column `id`); if given,
            `doc<number>` is written instead of the `doc_id`.
        keep_blank_lines: Whether to keep blank lines and trailing spaces, as in the original
            releases.
    """
    number = pl.col("docno")

    def render_batch(frame: pl.DataFrame) -> pl.Series:
        text = pl.concat_str(
            pl.lit("<DOC>\n<DOCNO>"),
            number,
            pl.lit("</DOCNO>\n<DOCID>"),
            number,
            pl.lit("</DOCID>\n<TEXT>\n"),
            "body",
            pl.when(pl.col("body") != "").then(pl.lit("\n")).otherwise(pl.lit("")),
            pl.lit("</TEXT>\n</DOC>\n"),
        )
        body = escape_markup_series(_document_bodies(frame, keep_blank_lines=keep_blank_lines))
        return frame.with_columns(body=body).select(text)["literal"]

    return ordered_map(
        render_batch, iter_documents(documents, suffix, progress, doc_numbers), THREADS
    )


def render_json_documents(
    documents: Table,
    suffix: str,
    progress: Progress,
    doc_numbers: pl.DataFrame | None = None,
    *,
    keep_blank_lines: bool = False,
) -> Iterator[pl.Series]:
    """Yield batches of documents formatted as JSON objects with the keys `id` and `contents`.

    See `render_trec_documents` for the arguments.
    """
    number = pl.col("docno")

    def render_batch(frame: pl.DataFrame) -> pl.Series:
        named = frame.with_columns(
            contents=_document_bodies(frame, keep_blank_lines=keep_blank_lines)
        )
        objects = named.select(pl.struct("contents", id=number).struct.field("id", "contents"))
        return objects.select(pl.struct("id", "contents").struct.json_encode()).to_series()

    return ordered_map(
        render_batch, iter_documents(documents, suffix, progress, doc_numbers), THREADS
    )


def _document_bodies(documents: pl.DataFrame, *, keep_blank_lines: bool) -> pl.Series:
    bodies = documents.select(document_body_expr("title", "text")).to_series()
    return bodies if keep_blank_lines else normalize_lines(bodies)


def iter_documents(
    documents: Table, suffix: str, progress: Progress, doc_numbers: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the documents that have text in the given language, in batches.

    The columns are `docno`, `title` and `text`. Documents without text in this language, which
    occur in imported releases, are skipped. See `render_trec_documents` for the arguments.
    """
    columns = ["doc_id", f"title{suffix}", f"text{suffix}"]
    for batch in documents.iter_batches(columns, batch_size=BATCH_ROWS):
        frame = pl.from_arrow(batch)
        if isinstance(frame, pl.DataFrame):
            progress.advance(frame.height)
            renamed = frame.rename({columns[1]: "title", columns[2]: "text"})
            with_text = renamed.filter(pl.col("text").is_not_null())
            if doc_numbers is None:
                yield with_text.rename({"doc_id": "docno"})
            else:
                numbered = replace_ids_with_numbers(
                    with_text.lazy(), "doc_id", doc_numbers
                ).collect()
                yield numbered.with_columns(docno=pl.format("doc{}", "doc_id"))


def write_queries(path: Path, queries: pl.DataFrame, id_column: str = "query_id") -> None:
    """Write queries as `id<TAB>text` lines.

    Args:
        path: Output file.
        queries: Frame with an id column and the column `text`.
        id_column: Name of the id column.
    """
    write_lines(path, queries.select(query_line_expr(id_column)).to_series())


def query_line_expr(id_column: str = "query_id") -> pl.Expr:
    """Return an expression for the line `id<TAB>text` of a query, with whitespace collapsed."""
    return pl.concat_str(
        pl.col(id_column), collapse_whitespace_expr(pl.col("text")), separator="\t"
    )


def write_longeval_topics(path: Path, queries: pl.DataFrame, id_column: str = "query_id") -> None:
    """Write queries as topics in LongEval 2023 format: `<top>`, `<num>`, `<title>`, with end tags.

    See `write_queries` for the arguments.
    """
    rows = queries.select(
        pl.format(
            "<top>\n<num>{}</num>\n<title>{}</title>\n</top>",
            pl.col(id_column),
            escape_markup_expr(collapse_whitespace_expr(pl.col("text"))),
        )
    )
    write_lines(path, rows.to_series())


def write_trec_topics(path: Path, queries: pl.DataFrame, id_column: str) -> None:
    """Write queries as topics in TREC ad hoc format, for ir_datasets and Anserini.

    Both tools expect four fields without end tags; Anserini also requires query ids that fit in a
    Java int, and a colon before the title. See `write_queries` for the arguments.
    """
    write_lines(path, queries.select(trec_topic_expr(id_column)).to_series())


def trec_topic_expr(id_column: str) -> pl.Expr:
    """Return an expression for a topic in TREC ad hoc format; see `write_trec_topics`."""
    fields = "<num> Number: {}\n<title> Topic: {}\n<desc> Description:\n\n<narr> Narrative:\n"
    text = escape_markup_expr(collapse_whitespace_expr(pl.col("text")))
    return pl.format(f"<top>\n{fields}\n</top>", id_column, text)


def write_qrels(path: Path, qrels: pl.DataFrame) -> None:
    """Write qrels as `query_id 0 doc_id grade` lines.

    Args:
        path: Output file.
        qrels: Frame with columns `query_id`, `doc_id`, `grade`.
    """
    write_lines(path, qrels.select(qrel_line_expr()).to_series())


def qrel_line_expr() -> pl.Expr:
    """Return an expression for a qrels line, `query_id 0 doc_id grade`."""
    return pl.format("{} 0 {} {}", "query_id", "doc_id", "grade")


def write_urls(path: Path, documents: Table) -> None:
    """Write the URL of each document as `doc_id<TAB>url` lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in documents.iter_batches(["doc_id", "url"], batch_size=65_536):
            frame = pl.from_arrow(batch)
            if isinstance(frame, pl.DataFrame):
                file.writelines(frame.select(url_line_expr() + "\n").to_series())


def url_line_expr() -> pl.Expr:
    """Return an expression for the line `doc_id<TAB>url`, with whitespace collapsed."""
    url = collapse_whitespace_expr(pl.col("url"))
    return pl.concat_str(pl.col("doc_id"), url, separator="\t")


def write_lines(path: Path, lines: pl.Series) -> None:
    """Write a series of strings to a file, one string per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{row}\n" for row in lines)
