"""Reads Parquet crawls as raw pages, row by row."""

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from builder.errors import FormatError
from builder.ingest.columns import check_configured_columns, check_unique_columns
from builder.ingest.crawls.charsets import decode
from builder.ingest.crawls.fetches import NumberedPage
from builder.ingest.crawls.page import OPTIONAL_FIELDS, page_from_record, resolve_field_names
from builder.ingest.nested import existing_column_names
from builder.ingest.parquet_rows import convert_parquet_errors, read_numbered_rows
from builder.ingest.rejects import FILE_TRUNCATED, value_or_reject_reason
from builder.io.parquet import MAGIC, ends_with_magic, open_file
from builder.io.sources import Source
from builder.parameters import CrawlParameters

MIN_FILE_BYTES = 2 * len(MAGIC) + 4
"""Minimum size of a Parquet file in bytes: both magic numbers and the footer length."""
BATCH_ROWS = 256
DECODED_ROWS = 16
"""Number of rows decoded at a time."""


def read_parquet_pages(source: Source, params: CrawlParameters) -> Iterator[NumberedPage]:
    """For each row of a Parquet crawl, yield its number and its raw page or reject reason.

    A truncated file has no readable rows and yields a single reject.

    Raises:
        FormatError: the file is not Parquet, or required columns are missing.
    """
    if _is_truncated(source):
        yield 1, FILE_TRUNCATED
        return
    names, size = resolve_field_names(params.fields), source.path.stat().st_size
    decoders = {names.title: partial(decode, label="windows-1252")}
    with convert_parquet_errors(source), open_file(source.path) as file:
        columns = _find_configured_columns(file.schema_arrow, source, params)
        for number, record in read_numbered_rows(
            file, size, columns, BATCH_ROWS, DECODED_ROWS, decoders
        ):
            yield (
                number,
                record
                if isinstance(record, str)
                else value_or_reject_reason(partial(page_from_record, record, names, params)),
            )


def existing_parquet_columns(source: Source, params: CrawlParameters) -> list[str]:
    """Return the configured field names that a Parquet crawl has; empty if the file is truncated.

    Raises:
        FormatError: the file is not Parquet, or required columns are missing.
    """
    if _is_truncated(source):
        return []
    with convert_parquet_errors(source), open_file(source.path) as file:
        return _find_configured_columns(file.schema_arrow, source, params)


def _is_truncated(source: Source) -> bool:
    """Whether a Parquet file is truncated: too small, or without the final magic number."""
    if source.path.stat().st_size < MIN_FILE_BYTES:
        return True
    with source.path.open("rb") as file:
        has_magic = file.read(len(MAGIC)) == MAGIC
    return has_magic and not ends_with_magic(source.path)


def _find_configured_columns(
    schema: pa.Schema, source: Source, params: CrawlParameters
) -> list[str]:
    """Return the configured field names that are columns or struct fields of a Parquet file.

    Raises:
        FormatError: required columns are missing, or two columns have the same name.
    """
    names = resolve_field_names(params.fields)
    present = set(existing_column_names(schema, names.all_names))
    is_dated = present & set(names.times) or params.undated == "start"
    if not (names.url in present and is_dated and present & set(names.texts)):
        raise FormatError(
            f"expected the columns {names.url}, {' or '.join(names.times)} (time), "
            f"{' or '.join(names.texts)} (text) and, optionally, {names.title}, found "
            f"{', '.join(schema.names)}; name the columns in [crawl.fields]",
            source.name,
        )
    check_configured_columns(
        "crawl.fields", params.fields, OPTIONAL_FIELDS, schema.names, source, present
    )
    check_unique_columns(schema.names, present, source)
    return [name for name in names.all_names if name in present]
