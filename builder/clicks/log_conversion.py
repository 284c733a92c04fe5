"""Converts a standalone query log to Parquet if DuckDB cannot read it in place.

Input: a log file in any format. Output: a Parquet file with the schema `PAGES` and one row per
valid record, and the numbers of records and rejects in a `LogSummary`.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from builder.clicks.log_summary import LogSummary
from builder.errors import FormatError
from builder.ingest.lists import is_string_type
from builder.ingest.logs import detect_format, determine_format_and_encoding, read_impressions
from builder.ingest.logs.unused_fields import note_unused_fields
from builder.ingest.parquet_bounds import is_list_type
from builder.io.parquet import open_file
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress

PAGES = pa.schema(
    {
        "user": pa.string(),
        "query": pa.string(),
        "results": pa.list_(pa.string()),
        "clicks": pa.list_(pa.uint16()),
    }
)
REQUIRED = {name: PAGES.field(name).type for name in ("query", "results", "clicks")}


def row_count_if_readable_in_place(log: Path) -> int | None:
    """Return the number of rows of a log, or None if DuckDB cannot read the log in place.

    A log can be read in place if it is a Parquet file with columns of compatible types.

    Raises:
        FormatError: the file looks like Parquet but cannot be opened.
    """
    if detect_format(Source(log, str(log))) != "parquet":
        return None
    try:
        with open_file(log) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise FormatError(
            f"expected a Parquet file, but it cannot be opened: {error}; export the log again", log
        ) from None
    users = [schema.field("user").type] if "user" in schema.names else []
    kinds = [schema.field(name).type for name in REQUIRED if name in schema.names]
    fits = len(kinds) == len(REQUIRED) and all(map(_is_compatible_type, kinds, REQUIRED.values()))
    fits = fits and all(map(is_string_type, users))
    return int(rows) if fits else None


def _is_compatible_type(column_type: pa.DataType, required_type: pa.DataType) -> bool:
    """Return whether a column of the type `column_type` can be read as `required_type`."""
    if pa.types.is_list(required_type):
        return is_list_type(column_type) and _is_compatible_type(
            column_type.value_type, required_type.value_type
        )
    if pa.types.is_dictionary(column_type):
        column_type = column_type.value_type
    if pa.types.is_integer(required_type):
        return bool(pa.types.is_integer(column_type))
    return is_string_type(column_type)


def convert_to_parquet(
    log: Path,
    out: Path,
    summary: LogSummary,
    limits: ResourceLimits,
    progress: Progress,
    log_params: LogParameters,
) -> None:
    """Convert a log to Parquet (schema `PAGES`), and count records and rejects in `summary`.

    Args:
        log: Log in any format.
        out: Parquet file to write.
        summary: Receives the number of records, the rejects and the notes.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of records read.
        log_params: Section `[log]` of the definition.

    Raises:
        FormatError: the file cannot be read, or required columns are missing.
    """
    progress.start(f"read {log.name}", None, "records")
    source = Source(log, str(log))
    file = determine_format_and_encoding(source, log_params)
    summary.notes.extend([file.note] if file.note else [])
    summary.notes.extend(note_unused_fields([file], log_params))
    batches = read_impressions(source, None, log_params, limits, summary.notes)
    with pq.ParquetWriter(out, PAGES, compression="zstd", compression_level=1) as writer:
        for records in batches:
            summary.records += len(records)
            for number, reason in sorted(records.rejects):
                summary.add_reject(reason, number)
            writer.write_table(records.impressions.select(PAGES.names).cast(PAGES))
            progress.advance(len(records))
    progress.finish()
