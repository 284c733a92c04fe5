"""Reads a log file of any format and checks the records.

Built-in formats are JSON lines, Parquet, CSV and TSV, each with one record per impression or per
result, and those of `LOG_READERS`; plug-ins add others. The format is detected from the first bytes
unless `log.format` is set.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice

import duckdb

from builder.ingest.decompression import reject_json_array
from builder.ingest.delimited import DELIMITERS
from builder.ingest.fields import RECORD_FIELDS, rename_fields
from builder.ingest.lines import Chunk, read_chunks
from builder.ingest.logs import json_lines, parquet
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.delimited import detect_layout, parse_wide_rows, read_log_rows
from builder.ingest.logs.detection import TEXT_FORMATS, LogFile, detect_format, inspect_log
from builder.ingest.logs.json_rows import read_result_objects
from builder.ingest.logs.long_form import (
    group_rows,
    is_long_form,
    optional_fields,
    rows_to_table,
)
from builder.ingest.logs.records import (
    RECORDS_PER_BATCH,
    CheckedRecords,
    NumberedRecord,
    RawRecords,
    batch_records,
)
from builder.ingest.parquet_rows import NumberedBatch, explain_parquet_errors
from builder.ingest.timestamps import LATEST
from builder.io.parquet import open_file
from builder.io.sources import Interval, Source
from builder.parameters import LOG_READERS, LogParameters
from builder.plugins import load_plugin
from builder.runtime.executors import ordered_map
from builder.runtime.limits import Limits

LogReader = Callable[[Source, Interval, LogParameters], Iterator[NumberedRecord]]
"""Reader of a log format: yields numbered records under the project's field names (see
`impression.make_impression`), or numbered reject reasons."""

Batch = Callable[[duckdb.DuckDBPyConnection], RawRecords]
"""Deferred parsing of a batch of raw records; may be called from any thread."""

ALL_TIME = Interval(0, LATEST)
"""Interval passed to readers if times are ignored."""

ENGINE_SHARE = 0.3
"""Fraction of the memory limit for DuckDB during parsing and checking."""


def read_impressions(
    source: Source, interval: Interval | None, params: LogParameters, limits: Limits
) -> Iterator[CheckedRecords]:
    """Read and check all records of a log file.

    Args:
        source: The file.
        interval: Accepted time interval; None: times are ignored, may be missing, and are set to 0.
        params: Section `[log]` of the definition.
        limits: Threads, memory and scratch space.

    Yields:
        Batches of checked records in file order.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    with limits.connect(ENGINE_SHARE) as connection:

        def checked(batch: Batch) -> CheckedRecords:
            return check_records(batch(connection), interval, params, connection)

        batches = raw_batches(inspect_log(source, params), interval, params, limits)
        yield from ordered_map(checked, batches, limits.threads)


def raw_batches(
    file: LogFile, interval: Interval | None, params: LogParameters, limits: Limits
) -> Iterator[Batch]:
    """Yield the unchecked records of a log file in batches, in file order."""
    source, kind, needs_time = file.source, file.kind, interval is not None
    if kind == "parquet":
        yield from _parquet_batches(source, params, limits, needs_time=needs_time)
        return
    if kind not in TEXT_FORMATS:
        records = get_reader(kind)(source, interval or ALL_TIME, params)
        yield from _already_parsed(batch_records(records, clicks_are_ranks=kind in LOG_READERS))
        return
    if kind == "jsonl":
        yield from _json_batches(source, params, file.encoding, limits)
    else:
        yield from _delimited_batches(file, params, limits, needs_time=needs_time)


def get_reader(name: str) -> LogReader:
    """Return a reader of log files by name: built-in, or a plug-in of the group `log_readers`.

    Raises:
        UsageError: no reader has this name.
    """
    if name not in LOG_READERS:
        found: LogReader = load_plugin("log_readers", name)
        return found
    module, _, function = LOG_READERS[name].partition(":")
    reader: LogReader = getattr(import_module(module), function)
    return reader


def _already_parsed(batches: Iterator[RawRecords]) -> Iterator[Batch]:
    """Wrap each batch, which is already parsed, in a function that returns it."""
    for batch in batches:

        def parsed(_: duckdb.DuckDBPyConnection, batch: RawRecords = batch) -> RawRecords:
            return batch

        yield parsed


def _json_batches(
    source: Source, params: LogParameters, encoding: str, limits: Limits
) -> Iterator[Batch]:
    """Yield the batches of a JSON lines file, with one impression or one result per line."""
    reject_json_array(source)
    objects = partial(read_result_objects, source, params, encoding)
    first = next((row for _, row in objects() if not isinstance(row, str)), {})
    if is_long_form(first, params.fields):
        yield from _long_form_batches(objects(), params, limits)
        return
    size = json_lines.chunk_bytes(limits.memory)
    for chunk in read_chunks(source, params.max_line_bytes, size, encoding):

        def parse(connection: duckdb.DuckDBPyConnection, chunk: Chunk = chunk) -> RawRecords:
            return json_lines.parse_chunk(chunk, params, connection)

        yield parse


def _delimited_batches(
    file: LogFile, params: LogParameters, limits: Limits, *, needs_time: bool
) -> Iterator[Batch]:
    """Yield the batches of a CSV or TSV file, with one impression or one result per row."""
    source, encoding = file.source, file.encoding
    layout = detect_layout(source, file.kind, params, encoding, needs_time=needs_time)
    rows = read_log_rows(source, layout, params, encoding)
    if is_long_form(layout.names, params.fields):
        yield from _long_form_batches(rows, params, limits)
    else:
        records = parse_wide_rows(rows, params)
        renamed = (
            (n, row if isinstance(row, str) else rename_fields(row, params.fields))
            for n, row in records
        )
        yield from _already_parsed(batch_records(renamed))


def _long_form_batches(
    rows: Iterator[NumberedRecord] | Iterator[tuple[int, dict[str, str] | str]],
    params: LogParameters,
    limits: Limits,
) -> Iterator[Batch]:
    """Group rows with one result each into impressions; rejects are passed through."""

    def batches() -> Iterator[RawRecords]:
        while batch := list(islice(rows, RECORDS_PER_BATCH)):
            kept = [(number, row) for number, row in batch if not isinstance(row, str)]
            faults = [(number, row) for number, row in batch if isinstance(row, str)]
            yield RawRecords([rows_to_table(kept, params.fields)], rows=faults)

    yield from _group_batches(batches(), params, limits)


def _group_batches(
    batches: Iterator[RawRecords], params: LogParameters, limits: Limits
) -> Iterator[Batch]:
    """Group batches with one result per row into impressions, on a separate connection."""
    with limits.connect(ENGINE_SHARE) as connection:
        is_click = params.click_form == "rows"
        yield from _already_parsed(group_rows(batches, connection, row_is_click=is_click))


def optional_columns(file: LogFile, params: LogParameters) -> dict[str, bool]:
    """Return whether a CSV, TSV or Parquet log has each of its optional columns.

    Raises:
        FormatError: the file cannot be opened, or required columns are missing.
    """
    needs_time = params.undated == "reject"
    if file.kind == "parquet":
        names = _parquet_columns(file.source, params, needs_time=needs_time)
    elif file.kind in DELIMITERS:
        names = detect_layout(
            file.source, file.kind, params, file.encoding, needs_time=needs_time
        ).names
    else:
        return {}
    optional = [getattr(params.fields, own) for own in optional_fields(names, params.fields)]
    return {name: name in names for name in optional}


def _parquet_columns(source: Source, params: LogParameters, *, needs_time: bool) -> list[str]:
    """Return the field names that are columns of a Parquet file."""
    with explain_parquet_errors(source), open_file(source.path) as file:
        return parquet.resolve_columns(file.schema_arrow, source, params, needs_time=needs_time)


def _parquet_batches(
    source: Source, params: LogParameters, limits: Limits, *, needs_time: bool
) -> Iterator[Batch]:
    """Yield the batches of a Parquet file, with one impression or one result per row."""
    names = _parquet_columns(source, params, needs_time=needs_time)
    faults: list[str] = []
    batches = parquet.read_batches(source, names, faults, params.fields.user)
    if is_long_form(names, params.fields):
        tables = parquet.long_form_tables(batches, params.fields)
        yield from _group_batches((RawRecords([table]) for table in tables), params, limits)
    seen = 0
    for number, batch in batches:
        seen = number + len(batch) - 1

        def parse(
            _: duckdb.DuckDBPyConnection, numbered: NumberedBatch = (number, batch)
        ) -> RawRecords:
            with explain_parquet_errors(source):
                return parquet.parse_batch(numbered, params)

        yield parse
    yield from _already_parsed(batch_records((seen + 1, fault) for fault in faults))


__all__ = ["RECORD_FIELDS", "LogReader", "detect_format", "get_reader", "read_impressions"]
