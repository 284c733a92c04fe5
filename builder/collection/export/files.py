"""Files of an export: documents in parts of a set size, queries, judgements and addresses.

In: tables of a snapshot, a batch at a time. Out: UTF-8 text with LF line ends; equal tables are
equal bytes.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from builder.collection.export.markup import bodies, escape_all, escaped, one_line
from builder.collection.export.numbers import numbered
from builder.io.tables import Table
from builder.runtime.executors import ordered_map
from builder.runtime.progress import Progress

ROWS = 4096
"""Documents that are written together."""
THREADS = 2
"""Documents are read while others are rendered."""


class Parts:
    """Texts of documents in files of a set size.

    Args:
        folder: Where the files go; made here.
        name: The name of each file, by its number from 1.
        max_bytes: A file ends with the document that makes it this large.
        around: What a file begins with, what is between two documents, what a file ends with.
    """

    def __init__(
        self,
        folder: Path,
        name: Callable[[int], str],
        max_bytes: int,
        around: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self._folder, self._name = folder, name
        self._max_bytes = max_bytes
        self._first, self._between, self._last = (text.encode() for text in around)
        self._number = 0
        self._open()

    def _open(self) -> None:
        self._number, self._size = self._number + 1, 0
        path = self._folder / self._name(self._number)
        self._file = path.open("wb")
        self._file.write(self._first)

    def add(self, texts: pl.Series) -> None:
        """Append documents."""
        ends = np.cumsum(texts.str.len_bytes().to_numpy().astype(np.int64))
        start, before = 0, 0
        while start < len(texts):
            if self._size >= self._max_bytes:
                self.close()
                self._open()
            room = before + self._max_bytes - self._size
            stop = min(int(np.searchsorted(ends, room)) + 1, len(texts))
            self._file.write(self._between if self._size else b"")
            self._file.write(_joined(texts.slice(start, stop - start), self._between))
            self._size += int(ends[stop - 1]) - before
            start, before = stop, int(ends[stop - 1])
        self.count += len(texts)

    def close(self) -> None:
        """End the last file."""
        self._file.write(self._last)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _joined(texts: pl.Series, between: bytes) -> memoryview:
    """The bytes of texts one after the other."""
    if between:
        texts = texts + between.decode()
    array = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    offsets = np.frombuffer(array.buffers()[1], np.int64)
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return memoryview(array.buffers()[2])[first : last - len(between)]


def write_documents(parts: Parts, documents: Iterator[pl.Series]) -> int:
    """Write documents; returns how many there are."""
    with parts:
        for texts in documents:
            parts.add(texts)
    return parts.count


def trec_texts(
    documents: Table, suffix: str, progress: Progress, numbers: pl.DataFrame | None = None
) -> Iterator[pl.Series]:
    """Documents as TREC has them, each tag on its own line; the title is the first line of text.

    Args:
        documents: `schemas.Documents`.
        suffix: Of the columns of a language: `""` or `"_en"`.
        progress: Counts documents.
        numbers: Number of each document, which is written after `doc`; default: `doc_id`.
    """
    number = pl.col("docno")

    def render(frame: pl.DataFrame) -> pl.Series:
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
        body = escape_all(bodies(frame["title"], frame["text"]))
        return frame.with_columns(body=body).select(text)["literal"]

    return ordered_map(render, document_frames(documents, suffix, progress, numbers), THREADS)


def json_texts(
    documents: Table, suffix: str, progress: Progress, numbers: pl.DataFrame | None = None
) -> Iterator[pl.Series]:
    """Documents as JSON objects `{id, contents}`; arguments as of `trec_texts`."""
    number = pl.col("docno")

    def render(frame: pl.DataFrame) -> pl.Series:
        named = frame.with_columns(contents=bodies(frame["title"], frame["text"]))
        objects = named.select(pl.struct("contents", id=number).struct.field("id", "contents"))
        return objects.select(pl.struct("id", "contents").struct.json_encode()).to_series()

    return ordered_map(render, document_frames(documents, suffix, progress, numbers), THREADS)


def document_frames(
    documents: Table, suffix: str, progress: Progress, numbers: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Those that have a text in the language, as `docno`, `title`, `text`; see `trec_texts`.

    Documents of a release may lack English.
    """
    columns = ["doc_id", f"title{suffix}", f"text{suffix}"]
    for batch in documents.batches(columns, rows=ROWS):
        frame = pl.from_arrow(batch)
        if isinstance(frame, pl.DataFrame):
            progress.advance(frame.height)
            named = frame.rename({columns[1]: "title", columns[2]: "text"})
            found = named.filter(pl.col("text").is_not_null())
            if numbers is None:
                yield found.rename({"doc_id": "docno"})
            else:
                plain = numbered(found.lazy(), "doc_id", numbers).collect()
                yield plain.with_columns(docno=pl.format("doc{}", "doc_id"))


def write_queries(path: Path, queries: pl.DataFrame, ids: str = "query_id") -> None:
    """Write `id<TAB>text` lines.

    Args:
        path: The file.
        queries: Ids and `text`.
        ids: Column of ids.
    """
    rows = queries.select(pl.concat_str(pl.col(ids), one_line(pl.col("text")), separator="\t"))
    write_lines(path, rows.to_series())


def write_topics(path: Path, queries: pl.DataFrame, ids: str = "query_id") -> None:
    """Write topics as LongEval 2023 has them: `<top>`, `<num>`, `<title>`, each with its end tag.

    Arguments as of `write_queries`.
    """
    rows = queries.select(
        pl.format(
            "<top>\n<num>{}</num>\n<title>{}</title>\n</top>",
            pl.col(ids),
            escaped(one_line(pl.col("text"))),
        )
    )
    write_lines(path, rows.to_series())


def write_trec_topics(path: Path, queries: pl.DataFrame, ids: str) -> None:
    """Write topics as TREC's ad hoc tracks have them, for the readers of ir_datasets and Anserini.

    They want four fields without end tags and, the latter, ids that are Java integers and a colon
    before the title. Arguments as of `write_queries`.
    """
    fields = "<num> Number: {}\n<title> Topic: {}\n<desc> Description:\n\n<narr> Narrative:\n"
    text = escaped(one_line(pl.col("text")))
    write_lines(path, queries.select(pl.format(f"<top>\n{fields}\n</top>", ids, text)).to_series())


def write_qrels(path: Path, qrels: pl.DataFrame) -> None:
    """Write `query 0 document grade` lines of the columns `query_id`, `doc_id`, `grade`."""
    rows = qrels.select(pl.format("{} 0 {} {}", "query_id", "doc_id", "grade"))
    write_lines(path, rows.to_series())


def write_addresses(path: Path, documents: Table) -> None:
    """Write `document<TAB>address` lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in documents.batches(["doc_id", "url"], rows=65_536):
            frame = pl.from_arrow(batch)
            if isinstance(frame, pl.DataFrame):
                text = pl.concat_str(pl.col("doc_id"), one_line(pl.col("url")), separator="\t")
                file.writelines(frame.select(text + "\n").to_series())


def write_lines(path: Path, rows: pl.Series) -> None:
    """Write texts as lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{row}\n" for row in rows)
