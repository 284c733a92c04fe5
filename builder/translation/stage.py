"""Documents and queries -> the same with English: the stage `translate`.

In: documents and queries of a snapshot in the source language. Out: the same rows in the same
parts, with English title and text. Without a model they pass through as they are.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builder.parameters import TranslateParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Ledger, RejectWriter, Table, TableWriter, write_frame
from builder.translation.engine import Engine
from builder.translation.sentences import join, split
from schemas import Documents, Queries

_LETTER = re.compile(r"[^\W\d_]")


def translate(
    out: Path,
    *,
    gathered: Table,
    split_queries: Table,
    params: TranslateParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: add English to documents and queries.

    Args:
        out: Folder that receives `documents` (the parts of `gathered`), `queries` and `rejects`.
        gathered: Documents, see `schemas.Documents`.
        split_queries: Queries, see `schemas.Queries`.
        params: `[translate]`; without a model English stays null.
        limits: Threads.
        progress: Told the documents.

    Returns:
        An account of the documents; none is dropped.

    Raises:
        FormatError: the model folder is not a model.
    """
    ledger = Ledger("documents")
    if params.model is None:
        ledger.rows_in = _pass_through(out, gathered, split_queries)
    else:
        engine = Engine.load(params.model, params, limits.threads)
        queries = split_queries.scan().collect()
        english = pl.Series("text_en", translate_texts(queries["text"].to_list(), engine))
        write_frame(queries.with_columns(english), out / "queries.parquet", Queries)
        for path in gathered.paths:
            with TableWriter(out / "documents" / path.name, Documents) as writer:
                for documents in _row_groups(path):
                    translated = translate_documents(documents, engine)
                    writer.write(translated.to_arrow(compat_level=pl.CompatLevel.oldest()))
                    progress.advance(documents.height)
            ledger.rows_in += writer.rows
    ledger.rows_out = ledger.rows_in
    with RejectWriter(out, "translate", ledger):
        return ledger


def _pass_through(out: Path, gathered: Table, split_queries: Table) -> int:
    (out / "documents").mkdir()
    for path in gathered.paths:
        _link(path, out / "documents" / path.name)
    for path in split_queries.paths:
        _link(path, out / "queries.parquet")
    return sum(pq.read_metadata(path).num_rows for path in gathered.paths)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _row_groups(path: Path) -> Iterator[pl.DataFrame]:
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            yield pl.DataFrame(file.read_row_group(number))


def translate_documents(documents: pl.DataFrame, engine: Engine) -> pl.DataFrame:
    """Documents with `title_en` and `text_en`."""
    texts = [*documents["title"], *documents["text"]]
    english = translate_texts(texts, engine)
    return documents.with_columns(
        pl.Series("title_en", english[: documents.height], dtype=pl.String),
        pl.Series("text_en", english[documents.height :], dtype=pl.String),
    )


def translate_texts(texts: list[str], engine: Engine) -> list[str]:
    """Translate texts sentence by sentence; lines stay lines, sentences without letters stay."""
    split_texts = [split(text) for text in texts]
    sentences = sorted(
        {
            sentence
            for lines in split_texts
            for line in lines
            for sentence in line
            if _LETTER.search(sentence)
        }
    )
    english = dict(zip(sentences, engine.translate(sentences), strict=True))
    return [
        join([[english.get(sentence, sentence) for sentence in line] for line in lines])
        for lines in split_texts
    ]
