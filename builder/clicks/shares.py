"""Who counts which impressions of a log: what its shares say."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

import duckdb
import pyarrow as pa

from builder.clicks.counted import Counted
from builder.clicks.pieces import bytes_to_count
from builder.clicks.selected import Chosen, Portion, Selection, portions_of
from builder.clicks.statistics import JOINED_PAGES
from builder.executors import in_shares, map_buckets
from builder.parameters import ClickParameters
from builder.progress import Progress
from builder.resources import Limits

ENGINE_SHARE = 0.2
"""Part of the memory for the database engine."""
SHARES = 8
"""Portions for each thread at least, so that all are done at a time."""
MOST_ROWS = 2**20
MOST_ROWS_AWAY = 2**23
"""Most impressions in a portion, here and for other workers: what is lost with one of them."""
ROWS_PER_BATCH = 122_880

READ_PAGES = 'SELECT "user", query, results, clicks, deepest, latest FROM read_pages'

Count = Callable[..., Counted]
"""What counts tables, given a number that no other call is given: see `count_tables`."""
Item = TypeVar("Item")


def count_shares(
    selection: Selection,
    params: ClickParameters,
    count: Count,
    most: int,
    limits: Limits,
    progress: Progress,
) -> Iterator[Counted]:
    """What the shares of a log say: each thread takes what is left, other workers get theirs.

    Args:
        selection: The impressions that count.
        params: Which pages belong together.
        count: Counts a share.
        most: About how many bytes it may take to count what is read at a time.
        limits: Threads and memory.
        progress: Told the impressions.
    """
    if params.pages == "joined":
        tables = _told(_joined(selection, most, limits), len, progress)
        yield from in_shares(count, tables, limits.threads)
        return
    groups = selection.row_groups()
    rows = sum(group.rows for group in groups)
    if limits.executor.is_here:
        portions = portions_of(groups, min(rows // (SHARES * limits.threads), MOST_ROWS))
        told = _told(portions, _rows, progress)
        task = partial(_count_portions, selection, count, most)
        yield from in_shares(task, told, limits.threads)
        return
    portions = portions_of(groups, min(-(-rows // limits.threads), MOST_ROWS_AWAY))
    task = partial(_count_away, selection, count, most)
    for counted in map_buckets(task, enumerate(portions), limits):
        progress.advance(counted.tally.total)
        yield counted


def _told(items: Iterable[Item], rows: Callable[[Item], int], progress: Progress) -> Iterator[Item]:
    """Items, whose rows are told when the next one is asked for."""
    for item in items:
        yield item
        progress.advance(rows(item))


def _rows(portion: Portion) -> int:
    return sum(group.rows for group in portion)


def _count_portions(
    selection: Selection, count: Count, most: int, number: int, portions: Iterable[Portion]
) -> Counted:
    """Count the impressions of portions; leaves runs."""
    return count(number, selection.read(portions, most), Chosen(selection))


def _count_away(
    selection: Selection,
    count: Count,
    most: int,
    portion: tuple[int, Portion],
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> Counted:
    """Count the impressions of a portion, whose number tells its runs from those of others."""
    return _count_portions(selection, count, most, portion[0], [portion[1]])


def _joined(selection: Selection, most: int, limits: Limits) -> Iterator[pa.Table]:
    """All impressions that count, with the deepest and the latest click of the pages of a visit."""
    with limits.connect(ENGINE_SHARE) as connection:
        selection.open(connection)
        connection.execute(JOINED_PAGES)
        yield from _pieces(connection, READ_PAGES, most)


def _pieces(connection: duckdb.DuckDBPyConnection, sql: str, most: int) -> Iterator[pa.Table]:
    """The rows of a query in tables that take about so many bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in connection.sql(sql).to_arrow_reader(ROWS_PER_BATCH):
        for start in range(0, len(batch), ROWS_PER_BATCH // 4):
            rows = batch.slice(start, ROWS_PER_BATCH // 4)
            offsets = rows["results"].offsets
            size += bytes_to_count(len(rows), offsets[-1].as_py() - offsets[0].as_py())
            held.append(rows)
            if size >= most:
                yield pa.Table.from_batches(held)
                held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)
