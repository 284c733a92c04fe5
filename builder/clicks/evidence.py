"""A log in keys -> the counts of every pair, of every user, and of everything: in little memory.

In: impressions of a snapshot and which of them count. Out: Parquet parts with one row a pair, in
order, the activity of users, and the tally of the diagnostics. The log is read once, in pieces
whose size follows from the memory; the distinct pages of a piece are a run on disk; runs are merged
into pairs range by range. Portions of the log and ranges are what an executor gives to its workers.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from builder import parquet
from builder.clicks.counting import Tally, count_piece, pairs_of
from builder.clicks.pieces import bytes_to_count, lists_of, piece_of
from builder.clicks.runs import Run, Summed, merge, ranges, write_run
from builder.clicks.selected import Portion, Selection
from builder.clicks.statistics import JOINED_PAGES
from builder.clicks.sums import add_up_rows
from builder.executors import in_order, map_pieces
from builder.parameters import ClickParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sorting import tallied

ENGINE_SHARE = 0.2
PIECE_SHARE = 0.5
"""Parts of the memory for the database engine and for the pieces that are counted."""
BYTES_PER_RANK = 200
BYTES_PER_USER = 120
"""Peak of arrays while runs are merged, for each rank of a page and for each user."""
MOST_BYTES = 512 * 2**20
"""A larger piece finds hardly more pages that are equal."""
ROWS_PER_BATCH = 122_880

READ_PAGES = 'SELECT "user", query, results, clicks, deepest, latest FROM read_pages'


@dataclass(frozen=True)
class Evidence:
    """What a log says.

    Args:
        pairs: Parts with query, doc and `COUNTS`, each pair once, in order; none without a pair.
        activity: impressions, users: how many users have so many impressions.
        tally: Counts over impressions.
    """

    pairs: tuple[Path, ...]
    activity: pl.DataFrame
    tally: Tally


class _Kind(NamedTuple):
    """What is summed over runs: its keys, what sums them, peak bytes of that for a size of 1."""

    keys: tuple[str, ...]
    summed: Summed
    bytes_each: int


@dataclass
class _Counted:
    pages: list[Run] = field(default_factory=list)
    users: list[Run] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def __add__(self, other: "_Counted") -> "_Counted":
        return _Counted(
            self.pages + other.pages, self.users + other.users, self.tally + other.tally
        )


def count_log(
    selection: Selection,
    params: ClickParameters,
    limits: Limits,
    progress: Progress,
    *,
    with_pairs: bool = True,
) -> Evidence:
    """Count a log.

    Args:
        selection: The impressions that count.
        params: Which last click, which pages.
        limits: Scratch space for runs and parts, which lie there until it is emptied.
        progress: Told the impressions.
        with_pairs: Whether pairs are counted, or users and the tally alone.
    """
    home = Path(tempfile.mkdtemp(prefix="evidence-", dir=limits.scratch))
    room = int(limits.memory * PIECE_SHARE / limits.threads)
    most = min(room, MOST_BYTES)
    count = partial(_count, home, last_by_time=params.last == "time", with_pages=with_pairs)
    total = _Counted()
    for found in _counts(selection, params, most, count, limits):
        total += found
        progress.advance(found.tally.total)
    pa.default_memory_pool().release_unused()
    pairs = tuple(_merged(total.pages, PAIRS, home, room, limits))
    return Evidence(pairs, _activity(total.users, home, room, limits), total.tally)


def _counts(
    selection: Selection,
    params: ClickParameters,
    most: int,
    count: Callable[[str, pa.Table], _Counted],
    limits: Limits,
) -> Iterator[_Counted]:
    """What every piece of the log says: portions are read by workers, joined pages here."""
    if params.pages == "joined":
        pieces = enumerate(_joined(selection, most, limits))
        yield from in_order(lambda it: count(f"{it[0]:06d}", it[1]), pieces, limits.threads)
    else:
        task = partial(_count_portion, selection, most, count)
        yield from map_pieces(task, selection.portions(most), limits)


def _joined(selection: Selection, most: int, limits: Limits) -> Iterator[pa.Table]:
    """All impressions that count, with the deepest and the latest click of the pages of a visit."""
    with limits.connect(ENGINE_SHARE) as connection:
        selection.open(connection)
        connection.execute(JOINED_PAGES)
        yield from _pieces(connection, READ_PAGES, most)


def _count_portion(
    selection: Selection,
    most: int,
    count: Callable[[str, pa.Table], _Counted],
    portion: Portion,
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> _Counted:
    """Count the impressions of a portion; leaves runs."""
    total = _Counted()
    for number, rows in enumerate(selection.read(portion, most)):
        total += count(f"{portion.number:06d}-{number:06d}", rows)
    return total


def _count(
    home: Path, name: str, rows: pa.Table, *, last_by_time: bool, with_pages: bool
) -> _Counted:
    """Count some impressions; leaves runs in `home`, whose names begin so."""
    pages, tally = count_piece(piece_of(rows), last_by_time=last_by_time)
    tally.anonymous = rows["user"].null_count
    counted = _Counted([], [write_run(_users(rows), home / f"{name}.users")], tally)
    if with_pages:
        sizes = lists_of(pages, "results").lengths
        counted.pages.append(write_run(pages, home / f"{name}.pages", sizes))
    return counted


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


def _users(rows: pa.Table) -> pa.Table:
    """How many impressions each user has; rows without a user are left out."""
    users, impressions = tallied(rows["user"].drop_null().to_numpy())
    return pa.table({"user": users, "impressions": impressions.astype(np.uint32)})


def _users_of(rows: pa.Table) -> pl.DataFrame:
    """The sums of impressions of each user."""
    return add_up_rows(pl.DataFrame(rows), ("user",))


PAIRS = _Kind(("query", "doc"), pairs_of, BYTES_PER_RANK)
USERS = _Kind(("user",), _users_of, BYTES_PER_USER)


def _merged(
    runs: Sequence[Run], kind: _Kind, home: Path, room: int, limits: Limits
) -> Iterator[Path]:
    """Write the sums of each range of keys; the parts in order."""
    most = room // kind.bytes_each
    task = partial(_merge, runs, kind, home, most)
    yield from chain.from_iterable(map_pieces(task, ranges(runs, most), limits))


def _merge(
    runs: Sequence[Run],
    kind: _Kind,
    home: Path,
    most: int,
    extent: tuple[int, int],
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> list[Path]:
    rows = merge(runs, kind.keys, kind.summed, extent, most)
    if rows.is_empty():
        return []
    path = home / f"{kind.keys[0]}-{extent[0]:03d}.parquet"
    rows.write_parquet(path, compression="lz4", row_group_size=ROWS_PER_BATCH)
    return [path]


def _activity(runs: Sequence[Run], home: Path, room: int, limits: Limits) -> pl.DataFrame:
    parts = list(_merged(runs, USERS, home, room, limits))
    if not parts:
        return pl.DataFrame(schema={"impressions": pl.Int64, "users": pl.Int64})
    users = parquet.scan(*parts).group_by(pl.col("impressions").cast(pl.Int64))
    return users.agg(users=pl.len().cast(pl.Int64)).sort("impressions").collect()
