"""A log file of any format to checked records.

JSON lines, Parquet, CSV or TSV with one record per impression or one per result, and the readers of
`LOG_READERS` and of plug-ins. Without `log.format` the format is detected from the first bytes.
"""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice

import duckdb
import pyarrow.parquet as pq

from builder.ingest.fields import OWN, rename
from builder.ingest.lines import Chunk, read_chunks
from builder.ingest.logs import json_lines, parquet
from builder.ingest.logs.checks import check_records
from builder.ingest.logs.delimited import read_header, read_log_rows, wide_records
from builder.ingest.logs.detection import TEXT_FORMATS, LogFile, detect_format, inspect_log
from builder.ingest.logs.json_rows import read_objects
from builder.ingest.logs.long_form import as_rows, group_rows, is_long
from builder.ingest.logs.records import (
    RECORDS_PER_BATCH,
    Numbered,
    RawRecords,
    Records,
    batched,
)
from builder.ingest.moments import LATEST
from builder.ingest.parquet_rows import NumberedBatch, readable
from builder.ingest.unpacking import check_lines
from builder.io.sources import Interval, Source
from builder.parameters import LOG_READERS, LogParameters
from builder.plugins import load
from builder.runtime.executors import in_order
from builder.runtime.limits import Limits

Reader = Callable[[Source, Interval, LogParameters], Iterator[Numbered]]
"""A reader of a log format: records under the project's field names (see
`impression.make_impression`) with their numbers, or the reasons for rejecting them."""

Batch = Callable[[duckdb.DuckDBPyConnection], RawRecords]
"""A batch of raw records that any thread may parse."""

ALL_TIME = Interval(0, LATEST)
"""Interval given to readers where times are not read."""

ENGINE_SHARE = 0.3
"""Fraction of the memory limit for parsing and checking."""


def read_impressions(
    source: Source, interval: Interval | None, params: LogParameters, limits: Limits
) -> Iterator[Records]:
    """Every record of a log file, checked, batch by batch in file order.

    Args:
        source: The file.
        interval: Where times must lie; None: times are not read, may be missing, and are 0.
        params: `[log]`.
        limits: Threads, memory and scratch space.

    Raises:
        FormatError: the file cannot be opened, or lacks needed columns.
    """
    with limits.connect(ENGINE_SHARE) as connection:

        def checked(batch: Batch) -> Records:
            return check_records(batch(connection), interval, params, connection)

        batches = raw_batches(inspect_log(source, params), interval, params, limits)
        yield from in_order(checked, batches, limits.threads)


def raw_batches(
    file: LogFile, interval: Interval | None, params: LogParameters, limits: Limits
) -> Iterator[Batch]:
    """The batches of a log file in file order; see `read_impressions`."""
    source, kind, timed = file.source, file.kind, interval is not None
    if kind == "parquet":
        yield from _parquet(source, params, limits, timed=timed)
        return
    if kind not in TEXT_FORMATS:
        records = reader_of(kind)(source, interval or ALL_TIME, params)
        yield from _parsed(batched(records, are_ranks=kind in LOG_READERS))
        return
    if kind == "jsonl":
        yield from _json(source, params, file.encoding, limits)
    else:
        yield from _delimited(file, params, limits, timed=timed)


def reader_of(name: str) -> Reader:
    """The reader of a log format: one of `LOG_READERS`, or a plug-in of the group `log_readers`.

    Raises:
        UsageError: no such reader exists.
    """
    if name not in LOG_READERS:
        found: Reader = load("log_readers", name)
        return found
    module, _, function = LOG_READERS[name].partition(":")
    reader: Reader = getattr(import_module(module), function)
    return reader


def _parsed(batches: Iterator[RawRecords]) -> Iterator[Batch]:
    """Batches that are parsed already."""
    for batch in batches:

        def parsed(_: duckdb.DuckDBPyConnection, batch: RawRecords = batch) -> RawRecords:
            return batch

        yield parsed


def _json(source: Source, params: LogParameters, encoding: str, limits: Limits) -> Iterator[Batch]:
    check_lines(source)
    objects = partial(read_objects, source, params, encoding)
    first = next((row for _, row in objects() if not isinstance(row, str)), {})
    if is_long(first, params.fields):
        yield from _long(objects(), params, limits)
        return
    size = json_lines.chunk_bytes(limits.memory)
    for chunk in read_chunks(source, params.max_line_bytes, size, encoding):

        def parse(connection: duckdb.DuckDBPyConnection, chunk: Chunk = chunk) -> RawRecords:
            return json_lines.parse_chunk(chunk, params, connection)

        yield parse


def _delimited(
    file: LogFile, params: LogParameters, limits: Limits, *, timed: bool
) -> Iterator[Batch]:
    source, encoding = file.source, file.encoding
    header = read_header(source, file.kind, params, encoding, timed=timed)
    rows = read_log_rows(source, header, params, encoding)
    if is_long(header.names, params.fields):
        yield from _long(rows, params, limits)
    else:
        records = wide_records(rows, params)
        renamed = (
            (n, row if isinstance(row, str) else rename(row, params.fields)) for n, row in records
        )
        yield from _parsed(batched(renamed))


def _long(
    rows: Iterator[Numbered] | Iterator[tuple[int, dict[str, str] | str]],
    params: LogParameters,
    limits: Limits,
) -> Iterator[Batch]:
    """Long-form rows, and the rejected ones."""

    def batches() -> Iterator[RawRecords]:
        while batch := list(islice(rows, RECORDS_PER_BATCH)):
            kept = [(number, row) for number, row in batch if not isinstance(row, str)]
            faults = [(number, row) for number, row in batch if isinstance(row, str)]
            yield RawRecords([as_rows(kept, params.fields)], others=faults)

    yield from _grouped(batches(), params, limits)


def _grouped(
    batches: Iterator[RawRecords], params: LogParameters, limits: Limits
) -> Iterator[Batch]:
    with limits.connect(ENGINE_SHARE) as connection:
        is_click = params.click_form == "rows"
        yield from _parsed(group_rows(batches, connection, row_is_click=is_click))


def _parquet(
    source: Source, params: LogParameters, limits: Limits, *, timed: bool
) -> Iterator[Batch]:
    with readable(source), pq.ParquetFile(source.path) as file:
        names = parquet.known_columns(file.schema_arrow, source, params, timed=timed)
    faults: list[str] = []
    batches = parquet.batches(source, names, faults)
    if is_long(names, params.fields):
        tables = parquet.result_rows(batches, params.fields)
        yield from _grouped((RawRecords([table]) for table in tables), params, limits)
    seen = 0
    for number, batch in batches:
        seen = number + len(batch) - 1

        def parse(
            _: duckdb.DuckDBPyConnection, numbered: NumberedBatch = (number, batch)
        ) -> RawRecords:
            with readable(source):
                return parquet.parse_batch(numbered, params)

        yield parse
    yield from _parsed(batched((seen + 1, fault) for fault in faults))


__all__ = ["OWN", "Reader", "detect_format", "read_impressions", "reader_of"]
