"""Reads the texts of a published snapshot in one language.

The text columns of a language share a suffix; see `Collection.languages`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from builder.errors import DataError, UsageError
from builder.io import parquet

_BATCH_ROWS = 2048


def read_query_texts(queries: Path, suffix: str) -> pl.DataFrame:
    """Read the queries of a snapshot into a table with columns `query_id` and `text`.

    Raises:
        UsageError: The file is unreadable.
        DataError: A query has no text in the column `text` + `suffix`.
    """
    column = f"text{suffix}"
    texts = parquet.read(queries, columns=["query_id", column]).rename({column: "text"})
    if texts["text"].null_count():
        raise DataError(
            f"{queries}: expected text in every row of column {column}, found nulls; "
            "the snapshot was not translated"
        )
    return texts


def read_documents(files: Sequence[Path], suffix: str) -> Iterator[pl.DataFrame]:
    """Yield batches of documents with columns `doc_id` and `text`.

    The column `text` contains the title and the body of each document, separated by a line break.

    Raises:
        UsageError: A file is unreadable.
        DataError: The column `text` + `suffix` has no texts, because the documents were not
            translated.
    """
    text = f"text{suffix}"
    for path in files:
        try:
            file = parquet.open_file(path)
        except OSError as error:
            raise UsageError(f"{path}: cannot read Parquet file: {error}") from error
        with file:
            for batch in file.iter_batches(_BATCH_ROWS, columns=["doc_id", f"title{suffix}", text]):
                frame = pl.DataFrame(batch)
                if frame.height and frame[text].null_count() == frame.height:
                    raise DataError(
                        f"{path}: expected text in column {text}, found only nulls; "
                        "the documents were not translated"
                    )
                yield frame.select("doc_id", text=_full_text_expression(suffix))


def _full_text_expression(suffix: str) -> pl.Expr:
    return pl.concat_str(f"title{suffix}", f"text{suffix}", separator="\n", ignore_nulls=True)


def read_document_texts(files: Sequence[Path], doc_ids: pl.Series, suffix: str) -> pl.DataFrame:
    """Read the texts of the given documents into a table with columns `doc_id` and `text`.

    Raises:
        UsageError: A file is missing.
        FormatError: A file is not a Parquet table.
    """
    documents = parquet.check_and_scan(*files).filter(pl.col("doc_id").is_in(doc_ids.implode()))
    return documents.select("doc_id", text=_full_text_expression(suffix)).collect()
