"""Reads log files of any format, and checks their records.

Built-in formats are JSON Lines, Parquet, CSV and TSV, with one record per impression or per result,
and the formats in `LOG_READERS`. Plug-ins can add formats. The format is detected from the first
bytes of the file unless `log.format` is set.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from itertools import groupby, islice
from typing import NamedTuple

import duckdb

from builder.ingest.decompression import check_not_json_array
from builder.ingest.delimited import DELIMITERS
from builder.ingest.fields import RECORD_FIELDS, rename_fields
from builder.ingest.lines import read_line_chunks
from builder.ingest.logs import json_lines, parquet
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.delimited import detect_layout, parse_wide_rows, read_log_rows
from builder.ingest.logs.detection import (
    TEXT_FORMATS,
    LogFile,
    detect_format,
    determine_format_and_encoding,
)
from builder.ingest.logs.json_rows import read_result_rows
from builder.ingest.logs.long_format import (
    group_result_rows,
    is_long_format,
    optional_fields,
    rows_to_table,
)
from builder.ingest.logs.records import (
    RECORDS_PER_BATCH,
    CheckedRecords,
    NumberedRecord,
    RawRecords,
    group_into_batches,
)
from builder.ingest.parquet_rows import NumberedBatch, convert_parquet_errors
from builder.ingest.timestamps import LATEST
from builder.io.parquet import open_file
from builder.io.sources import Interval, Source
from builder.parameters import LOG_READERS, LogParameters
from builder.plugins import load_plugin
from builder.runtime.executors import ordered_map
from builder.runtime.limits import ResourceLimits

LogReader = Callable[[Source, Interval, LogParameters], Iterator[NumberedRecord]]
"""Function that reads a log file: yields numbered records with standard field names (see
`impression.make_impression`), or numbered reject reasons."""

DeferredBatch = Callable[[duckdb.DuckDBPyConnection], RawRecords]
"""Function that parses a batch and returns its raw records; may be called from any thread."""


class OpenedLog(NamedTuple):
    """Log file that is open for reading.

    Args:
        batches: Batches of unvalidated records.
        is_long_format: Whether each record is a single result instead of an impression. If so, the
            batches have tables with the schema `long_format.ROWS`.
    """

    batches: Iterator[DeferredBatch]
    is_long_format: bool = False


ALL_TIME = Interval(0, LATEST)
"""Time interval passed to log readers if times are ignored."""

ENGINE_SHARE = 0.3
"""Fraction of the memory limit that DuckDB may use while logs are parsed and checked."""


def read_impressions(
    source: Source,
    interval: Interval | None,
    params: LogParameters,
    limits: ResourceLimits,
    notes: list[str] | None = None,
) -> Iterator[CheckedRecords]:
    """Read and check all records of a log file.

    Args:
        source: The log file.
        interval: Accepted time interval; if None, times are optional, and missing
            times are set to 0.
        params: Section `[log]` of the definition.
        limits: Number of threads, memory limit and scratch folder.
        notes: Output list of notes about the log; None if they are not needed.

    Yields:
        Batches of checked records in file order.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:

        def check_batch(batch: DeferredBatch) -> CheckedRecords:
            return check_records(batch(connection), interval, params, connection)

        batches = read_raw_batches(
            [determine_format_and_encoding(source, params)], interval, params, limits, notes
        )
        yield from ordered_map(check_batch, (batch for _, batch in batches), limits.threads)


def read_raw_batches(
    files: Iterable[LogFile],
    interval: Interval | None,
    params: LogParameters,
    limits: ResourceLimits,
    notes: list[str] | None = None,
) -> Iterator[tuple[int, DeferredBatch]]:
    """Yield batches of unvalidated records from log files, each with the index of its file.

    Consecutive files in long format are processed together, since the rows of an impression may be
    spread over several files. See `read_impressions` for the arguments.
    """
    found: list[str] = [] if notes is None else notes
    opened = (
        (index, _open_log(file, interval, params, limits)) for index, file in enumerate(files)
    )
    for is_long, logs in groupby(opened, lambda pair: pair[1].is_long_format):
        batches = ((index, batch) for index, log in logs for batch in log.batches)
        yield from _group_into_impressions(batches, params, limits, found) if is_long else batches


def _open_log(
    file: LogFile, interval: Interval | None, params: LogParameters, limits: ResourceLimits
) -> OpenedLog:
    """Open a log file of any format, and determine whether it is in long format."""
    source, kind, needs_time = file.source, file.file_format, interval is not None
    if kind == "parquet":
        return _open_parquet(source, params, needs_time=needs_time)
    if kind == "jsonl":
        return _open_json(source, params, file.encoding, limits)
    if kind in TEXT_FORMATS:
        return _open_delimited(file, params, needs_time=needs_time)
    records = get_log_reader(kind)(source, interval or ALL_TIME, params)
    batches = group_into_batches(records, clicks_are_ranks=kind in LOG_READERS)
    return OpenedLog(map(_as_deferred_batch, batches))


def get_log_reader(name: str) -> LogReader:
    """Return the log reader with this name, from `LOG_READERS` or plug-in group `log_readers`.

    Raises:
        UsageError: no reader has this name.
    """
    if name not in LOG_READERS:
        found: LogReader = load_plugin("log_readers", name)
        return found
    module, _, function = LOG_READERS[name].partition(":")
    reader: LogReader = getattr(import_module(module), function)
    return reader


def _as_deferred_batch(raw_records: RawRecords) -> DeferredBatch:
    """Wrap an already parsed batch in a function that returns it."""
    return lambda _: raw_records


def _open_json(
    source: Source, params: LogParameters, encoding: str, limits: ResourceLimits
) -> OpenedLog:
    """Open a JSON Lines log with one impression or one result per line."""
    check_not_json_array(source)
    objects = partial(read_result_rows, source, params, encoding)
    first = next((row for _, row in objects() if not isinstance(row, str)), {})
    if is_long_format(first, params.fields):
        return OpenedLog(_group_rows_into_batches(objects(), params), is_long_format=True)
    size = json_lines.chunk_size(limits.memory)
    chunks = read_line_chunks(source, params.max_line_bytes, size, encoding)
    return OpenedLog(partial(json_lines.parse_chunk, chunk, params) for chunk in chunks)


def _open_delimited(file: LogFile, params: LogParameters, *, needs_time: bool) -> OpenedLog:
    """Open a CSV or TSV log with one impression or one result per row."""
    source, encoding = file.source, file.encoding
    layout = detect_layout(source, file.file_format, params, encoding, needs_time=needs_time)
    rows = read_log_rows(source, layout, params, encoding)
    if is_long_format(layout.names, params.fields):
        return OpenedLog(_group_rows_into_batches(rows, params), is_long_format=True)
    records = parse_wide_rows(rows, params)
    renamed = (
        (n, row if isinstance(row, str) else rename_fields(row, params.fields))
        for n, row in records
    )
    return OpenedLog(map(_as_deferred_batch, group_into_batches(renamed)))


def _group_rows_into_batches(
    rows: Iterator[NumberedRecord] | Iterator[tuple[int, dict[str, str] | str]],
    params: LogParameters,
) -> Iterator[DeferredBatch]:
    """Group rows with one result each into batches with the schema `long_format.ROWS`."""
    while batch := list(islice(rows, RECORDS_PER_BATCH)):
        kept = [(number, row) for number, row in batch if not isinstance(row, str)]
        faults = [(number, row) for number, row in batch if isinstance(row, str)]
        yield _as_deferred_batch(RawRecords([rows_to_table(kept, params.fields)], rows=faults))


def _group_into_impressions(
    batches: Iterator[tuple[int, DeferredBatch]],
    params: LogParameters,
    limits: ResourceLimits,
    notes: list[str],
) -> Iterator[tuple[int, DeferredBatch]]:
    """Group rows with one result each into impressions, using a separate DuckDB connection."""
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:
        rows = ((index, batch(connection)) for index, batch in batches)
        for index, raw in group_result_rows(rows, connection, params, notes):
            yield index, _as_deferred_batch(raw)


def _open_parquet(source: Source, params: LogParameters, *, needs_time: bool) -> OpenedLog:
    """Open a Parquet log with one impression or one result per row."""
    names = _parquet_columns(source, params, needs_time=needs_time)
    is_long = is_long_format(names, params.fields)
    parse = parquet.parse_result_rows if is_long else parquet.parse_batch
    return OpenedLog(_parquet_batches(source, names, params, parse), is_long_format=is_long)


def optional_column_presence(file: LogFile, params: LogParameters) -> dict[str, bool]:
    """Check which optional columns a CSV, TSV or Parquet log has.

    Returns:
        For each optional column by name, whether it is present; empty for other formats.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    needs_time = params.undated == "reject"
    if file.file_format == "parquet":
        names = _parquet_columns(file.source, params, needs_time=needs_time)
    elif file.file_format in DELIMITERS:
        names = detect_layout(
            file.source, file.file_format, params, file.encoding, needs_time=needs_time
        ).names
    else:
        return {}
    optional = [getattr(params.fields, own) for own in optional_fields(names, params.fields)]
    return {name: name in names for name in optional}


def _parquet_columns(source: Source, params: LogParameters, *, needs_time: bool) -> list[str]:
    """Return the column names in `[log.fields]` that a Parquet file has."""
    with convert_parquet_errors(source), open_file(source.path) as file:
        return parquet.find_configured_columns(
            file.schema_arrow, source, params, needs_time=needs_time
        )


def _parquet_batches(
    source: Source,
    columns: Sequence[str],
    params: LogParameters,
    parse: Callable[[NumberedBatch, LogParameters], RawRecords],
) -> Iterator[DeferredBatch]:
    """Yield the batches of a Parquet log as functions that parse them on demand.

    Args:
        source: The log file.
        columns: Names of the columns to read.
        params: Section `[log]` of the definition.
        parse: Function that converts a numbered batch to raw records.
    """
    faults: list[str] = []
    seen = 0
    for number, batch in parquet.read_batches(source, columns, faults, params.fields.user):
        seen = number + len(batch) - 1

        def parse_numbered_batch(
            _: duckdb.DuckDBPyConnection, numbered: NumberedBatch = (number, batch)
        ) -> RawRecords:
            with convert_parquet_errors(source):
                return parse(numbered, params)

        yield parse_numbered_batch
    yield from map(_as_deferred_batch, group_into_batches((seen + 1, fault) for fault in faults))


__all__ = ["RECORD_FIELDS", "LogReader", "detect_format", "get_log_reader", "read_impressions"]
