"""Data classes of the log readers: raw records, and checked impressions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from builder.ingest.logs.impression import Impression

Record = dict[str, Any]
"""A record keyed by the project's field names; missing and null fields are absent."""

NumberedRecord = tuple[int, Record | str]
"""The 1-based number of a record in its file, and the record or its reject reason."""

RECORDS_PER_BATCH = 8192
"""Batch size for readers that yield individual records."""

IMPRESSIONS = pa.schema(
    {
        "record": pa.uint64(),
        "time": pa.int64(),
        "user": pa.string(),
        "query": pa.string(),
        "results": pa.list_(pa.string()),
        "clicks": pa.list_(pa.uint16()),
    }
)
"""Schema of checked impressions: record number, Unix time, clean query, clicked ranks in order."""


class RawRecords(NamedTuple):
    """Batch of raw records of a log, numbered consecutively.

    Args:
        tables: Records in columnar form: `record` (uint64), `time` (number, timestamp or string),
            `user`, `query` (string), `results` (list of strings; null if ambiguous), `clicks` (list
            of int64: ranks or flags).
        get_rows: Returns records of `tables` in row form, given their numbers.
        rows: All remaining records of the batch, in row form.
        clicks_are_ranks: Clicks are ranks, regardless of `log.click_form`.
    """

    tables: Sequence[pa.Table] = ()
    get_rows: Callable[[Sequence[int]], Iterable[NumberedRecord]] = lambda _: ()
    rows: Sequence[NumberedRecord] = ()
    clicks_are_ranks: bool = False


@dataclass
class CheckedRecords:
    """Impressions and rejects of a batch of records.

    Args:
        impressions: Table with the schema `IMPRESSIONS`, in record order.
        rejects: Record number and reject reason of all other records.
    """

    impressions: pa.Table = field(default_factory=IMPRESSIONS.empty_table)
    rejects: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.impressions) + len(self.rejects)


def impressions_to_table(impressions: Sequence[tuple[int, Impression]]) -> pa.Table:
    """Convert numbered impressions to an Arrow table."""
    rows = [(number, *impression) for number, impression in impressions]
    columns = zip(*rows, strict=True) if rows else ((),) * len(IMPRESSIONS)
    arrays = [
        pa.array(values, kind) for values, kind in zip(columns, IMPRESSIONS.types, strict=True)
    ]
    return pa.table(arrays, schema=IMPRESSIONS)


def batch_records(
    records: Iterable[NumberedRecord], *, clicks_are_ranks: bool = False
) -> Iterator[RawRecords]:
    """Group single records into batches of `RECORDS_PER_BATCH`."""
    iterator = iter(records)
    while batch := list(islice(iterator, RECORDS_PER_BATCH)):
        yield RawRecords(rows=batch, clicks_are_ranks=clicks_are_ranks)
