"""Builds impressions from rows in long format that are sorted by impression and rank."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from builder.ingest.lists import build_list_array
from builder.ingest.logs.records import NumberedRecord

MAX_RESULTS = 2**16
"""Maximum number of results per impression, to bound memory use; further results start a new
impression."""


def build_impressions(
    reader: pa.RecordBatchReader,
    impressions_by_first_rank: Counter[float],
    impressions_by_size: Counter[int],
    *,
    row_is_click: bool,
) -> Iterator[pa.Table]:
    """Yield impressions as tables, sorted by the numbers of their first rows.

    Args:
        reader: Rows with the columns of `long_format.GROUPED`.
        impressions_by_first_rank: Receives the number of impressions by the rank of their first
            result.
        impressions_by_size: Receives the number of impressions by their number of results.
        row_is_click: Whether every row that has a result is a click.
    """
    rest = reader.schema.empty_table()
    for batch in reader:
        rest = pa.concat_tables([rest, pa.Table.from_batches([batch])])
        whole = _count_rows_of_complete_impressions(rest["first"].to_numpy())
        if whole:
            head = rest.slice(0, whole)
            yield _build_impressions(
                head, impressions_by_first_rank, impressions_by_size, row_is_click=row_is_click
            )
        rest = rest.slice(whole)
    if len(rest):
        yield _build_impressions(
            rest, impressions_by_first_rank, impressions_by_size, row_is_click=row_is_click
        )


def _count_rows_of_complete_impressions(
    first_rows: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> int:
    """Return the number of leading rows that belong to complete impressions.

    The last impression may continue in the next batch, so its rows are counted only if there are at
    least `MAX_RESULTS` of them.

    Args:
        first_rows: For each row, the number of the first row of its impression; sorted.
    """
    start = int(np.searchsorted(first_rows, first_rows[-1]))
    return start if len(first_rows) - start < MAX_RESULTS else len(first_rows)


def _build_impressions(
    rows: pa.Table,
    impressions_by_first_rank: Counter[float],
    impressions_by_size: Counter[int],
    *,
    row_is_click: bool,
) -> pa.Table:
    """Build a table of impressions (raw records) from rows that are sorted by impression and rank.

    A `clicked` value that cannot be interpreted becomes a null click; an impression with a null
    click is rejected later.
    """
    first = rows["first"].to_numpy()
    starts = np.flatnonzero(np.diff(first, prepend=first[0] + np.uint64(1)))
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(first))))
    heads = rows.take(pa.array(starts))
    _add_counts(impressions_by_first_rank, heads["rank"].to_numpy())
    if row_is_click:
        is_clicked = rows["click_order"].to_numpy() > 0
        rows, group = rows.filter(pa.array(is_clicked)), group[is_clicked]
    is_result = ~rows["is_later_click"].to_numpy()
    lengths = np.bincount(group[is_result], minlength=len(starts))
    _add_counts(impressions_by_size, lengths)
    position = np.cumsum(is_result) - (np.cumsum(lengths) - lengths)[group]
    order = rows["click_order"].fill_null(np.nan).to_numpy()
    clicked = np.flatnonzero((order > 0) | np.isnan(order))
    sequence = clicked[np.lexsort((position[clicked], order[clicked], group[clicked]))]
    counts = np.bincount(group[clicked], minlength=len(starts))
    return pa.table(
        {
            "record": heads["first"],
            "time": heads["time"],
            "user": heads["user"],
            "query": heads["query"],
            "results": build_list_array(
                lengths, rows["url"].filter(pa.array(is_result)).combine_chunks()
            ),
            "clicks": build_list_array(
                counts, pa.array(position[sequence], mask=np.isnan(order[sequence]))
            ),
        }
    )


def _add_counts(counter: Counter[Any], values: "np.ndarray[Any, Any]") -> None:
    """Add the number of occurrences of each value to a counter."""
    distinct, counts = np.unique(values, return_counts=True)
    counter.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


def read_records(table: pa.Table, record_numbers: Sequence[int]) -> Iterator[NumberedRecord]:
    """Yield the rows that have the given record numbers, as dictionaries without nulls."""
    indices = np.searchsorted(
        table["record"].to_numpy(), np.asarray(record_numbers, dtype=np.uint64)
    )
    for row in table.take(pa.array(indices)).to_pylist():
        yield row.pop("record"), {name: v for name, v in row.items() if v is not None}
