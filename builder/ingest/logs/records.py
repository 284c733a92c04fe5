"""Data types of the log readers: raw records and checked impressions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from builder.ingest.logs.impression import Impression

Record = dict[str, Any]
"""Log record: values by standard field name, without missing and null fields."""

NumberedRecord = tuple[int, Record | str]
"""1-based number of a record in its file, and the record or the reason to reject it."""

RECORDS_PER_BATCH = 8192
"""Number of records per batch, for log readers that yield individual records."""

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
"""Schema of checked impressions. Times are Unix seconds, queries are normalized, and clicks are
1-based ranks in click order."""


class RawRecords(NamedTuple):
    """Batch of unchecked log records.

    Args:
        tables: Records in columnar form: `record` (uint64), `time` (number, timestamp or string),
            `user`, `query` (string), `results` (list of strings; null if ambiguous), `clicks` (list
            of int64: ranks or flags).
        get_rows: Function that takes record numbers, and returns those records of `tables` as
            dictionaries.
        rows: Records that are not in `tables`, as dictionaries; and the rejects of the batch.
        clicks_are_ranks: Whether clicks are ranks even if `log.click_form` says otherwise.
    """

    tables: Sequence[pa.Table] = ()
    get_rows: Callable[[Sequence[int]], Iterable[NumberedRecord]] = lambda _: ()
    rows: Sequence[NumberedRecord] = ()
    clicks_are_ranks: bool = False


@dataclass
class CheckedRecords:
    """Impressions and rejects of a batch of log records.

    Args:
        impressions: Table with the schema `IMPRESSIONS`, in record order.
        rejects: Record number and reject reason of all other records.
    """

    impressions: pa.Table = field(default_factory=IMPRESSIONS.empty_table)
    rejects: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.impressions) + len(self.rejects)


def impressions_to_table(impressions: Sequence[tuple[int, Impression]]) -> pa.Table:
    """Convert numbered impressions to an Arrow table with the schema `IMPRESSIONS`."""
    rows = [(number, *impression) for number, impression in impressions]
    columns = zip(*rows, strict=True) if rows else ((),) * len(IMPRESSIONS)
    arrays = [
        pa.array(values, kind) for values, kind in zip(columns, IMPRESSIONS.types, strict=True)
    ]
    return pa.table(arrays, schema=IMPRESSIONS)


def group_into_batches(
    records: Iterable[NumberedRecord], *, clicks_are_ranks: bool = False
) -> Iterator[RawRecords]:
    """Group individual records into batches of at most `RECORDS_PER_BATCH` records.

    Args:
        records: Numbered records and rejects.
        clicks_are_ranks: Whether clicks are ranks even if `log.click_form` says otherwise.
    """
    iterator = iter(records)
    while batch := list(islice(iterator, RECORDS_PER_BATCH)):
        yield RawRecords(rows=batch, clicks_are_ranks=clicks_are_ranks)
