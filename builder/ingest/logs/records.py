"""The two relations of a log: raw records as a reader yields them, and checked impressions."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from builder.ingest.logs.impression import Impression

Record = dict[str, Any]
"""One record under the project's field names; missing and null fields are absent."""

Numbered = tuple[int, Record | str]
"""A record with its 1-based number in the file, or the reason for rejecting it."""

RECORDS_PER_BATCH = 8192
"""Records checked together where a reader yields them one by one."""

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
"""Checked impressions: record number, unix seconds, cleaned query, 1-based ranks in click order."""


class RawRecords(NamedTuple):
    """A batch of consecutive raw records of one file.

    Args:
        tables: Records whose fields have the usual types: `record` (uint64), `time` (number,
            timestamp or string), `user`, `query` (string), `results` (list of strings; null where
            the record is unclear), `clicks` (list of int64: ranks, or flags).
        original: The same records, given their numbers, one by one.
        others: All other records of the batch, one by one.
        are_ranks: Whether clicks are ranks whatever `log.click_form` says.
    """

    tables: Sequence[pa.Table] = ()
    original: Callable[[Sequence[int]], Iterable[Numbered]] = lambda _: ()
    others: Sequence[Numbered] = ()
    are_ranks: bool = False


@dataclass
class Records:
    """Checked records of a batch.

    Args:
        impressions: Table with the columns of `IMPRESSIONS`, in record order.
        rejects: Record number and reason of every record that is not an impression.
    """

    impressions: pa.Table = field(default_factory=IMPRESSIONS.empty_table)
    rejects: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.impressions) + len(self.rejects)


def as_table(impressions: Sequence[tuple[int, Impression]]) -> pa.Table:
    """Numbered impressions as a table with the columns of `IMPRESSIONS`."""
    rows = [(number, *impression) for number, impression in impressions]
    columns = zip(*rows, strict=True) if rows else ((),) * len(IMPRESSIONS)
    arrays = [
        pa.array(values, kind) for values, kind in zip(columns, IMPRESSIONS.types, strict=True)
    ]
    return pa.table(arrays, schema=IMPRESSIONS)


def batched(records: Iterable[Numbered], *, are_ranks: bool = False) -> Iterator[RawRecords]:
    """Batches of records that a reader yields one by one; see `RawRecords`."""
    iterator = iter(records)
    while batch := list(islice(iterator, RECORDS_PER_BATCH)):
        yield RawRecords(others=batch, are_ranks=are_ranks)
