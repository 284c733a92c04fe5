"""A log in keys -> the counts of every pair, of every user, and of everything: in little memory.

In: impressions of a snapshot and which of them count. Out: Parquet parts with one row a pair, in
order, the activity of users, and the tally of the diagnostics. The log is read once, in pieces
whose size follows from the memory; the distinct pages of a piece are a run on disk; runs are merged
into pairs range by range. Portions of the log and ranges are what an executor gives to its workers.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from builder import parquet
from builder.clicks.counting import PageCounts, pairs_of
from builder.clicks.pieces import bytes_to_count, distinct_clicks, lists_of, piece_of
from builder.clicks.runs import Run, Summed, merge, ranges, write_run
from builder.clicks.selected import Chosen, Portion, Selection, portions_of
from builder.clicks.statistics import JOINED_PAGES
from builder.clicks.sums import add_up_rows
from builder.clicks.tally import Tally, tally_of
from builder.executors import in_shares, map_buckets, map_pieces
from builder.parameters import ClickParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sorting import Keys, tallied

ENGINE_SHARE = 0.2
PIECE_SHARE = 0.5
"""Parts of the memory for the database engine and for the pieces that are counted."""
READ_SHARE = KNOWN_SHARE = 0.25
"""Parts of that for what is read at a time, and for pages that are known; to write them takes as
much again."""
BYTES_PER_RANK = 200
BYTES_PER_USER = 120
"""Peak of arrays while runs are merged, for each rank of a page and for each user."""
MOST_BYTES = 96 * 2**20
"""Arrays of a larger piece do not fit into the processor's cache."""
MOST_USERS = 2**22
"""Impressions after which users are counted."""
SHARES = 8
"""Portions for each thread at least, so that all are done at a time."""
MOST_ROWS = 2**20
MOST_ROWS_AWAY = 2**23
"""Most impressions in a portion, here and for other workers: what is lost with one of them."""
ROWS_PER_BATCH = 122_880

EVERYTHING = Chosen()
NOBODY = np.zeros(0, dtype=np.uint64)

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


_Count = Callable[..., _Counted]
"""What counts rows of tables, given a number that no other call is given: see `_count`."""
Item = TypeVar("Item")


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
    by_time = params.last == "time"
    count = partial(
        _count, home, int(room * KNOWN_SHARE), last_by_time=by_time, with_pages=with_pairs
    )
    total = sum(
        _counts(
            selection, params, count, min(int(room * READ_SHARE), MOST_BYTES), limits, progress
        ),
        _Counted(),
    )
    pa.default_memory_pool().release_unused()
    pairs = tuple(_merged(total.pages, PAIRS, home, room, limits))
    return Evidence(pairs, _activity(total.users, home, room, limits), total.tally)


def _counts(
    selection: Selection,
    params: ClickParameters,
    count: _Count,
    most: int,
    limits: Limits,
    progress: Progress,
) -> Iterator[_Counted]:
    """What the shares of the log say: each thread takes what is left, other workers get theirs."""
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


def _joined(selection: Selection, most: int, limits: Limits) -> Iterator[pa.Table]:
    """All impressions that count, with the deepest and the latest click of the pages of a visit."""
    with limits.connect(ENGINE_SHARE) as connection:
        selection.open(connection)
        connection.execute(JOINED_PAGES)
        yield from _pieces(connection, READ_PAGES, most)


def _count_portions(
    selection: Selection, count: _Count, most: int, number: int, portions: Iterable[Portion]
) -> _Counted:
    """Count the impressions of portions; leaves runs."""
    return count(number, selection.read(portions, most), Chosen(selection))


def _count_away(
    selection: Selection,
    count: _Count,
    most: int,
    portion: tuple[int, Portion],
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> _Counted:
    """Count the impressions of a portion, whose number tells its runs from those of others."""
    return _count_portions(selection, count, most, portion[0], [portion[1]])


def _count(
    home: Path,
    most: int,
    number: int,
    tables: Iterable[pa.Table],
    chosen: Chosen = EVERYTHING,
    *,
    last_by_time: bool,
    with_pages: bool,
) -> _Counted:
    """Count those rows of tables that are chosen; leaves runs whose names begin with the number."""
    pages = partial(PageCounts, chosen, last_by_time=last_by_time)
    counting = _Counting(home / f"{number:06d}", most, pages, chosen, with_pages=with_pages)
    for rows in tables:
        counting.add(rows)
    return counting.finish()


class _Counting:
    """Counts impressions into runs.

    Args:
        stem: What the paths of runs begin with.
        most: Bytes of pages that are known at a time.
        new_pages: No pages yet.
        chosen: Which impressions count.
        with_pages: Whether runs of pages are written.
    """

    def __init__(
        self,
        stem: Path,
        most: int,
        new_pages: Callable[[], PageCounts],
        chosen: Chosen,
        *,
        with_pages: bool,
    ) -> None:
        self._stem, self._most, self._chosen = stem, most, chosen
        self._new_pages, self._with_pages = new_pages, with_pages
        self._pages = new_pages()
        self._users: list[Keys] = []
        self._counted = _Counted()

    def add(self, rows: pa.Table) -> None:
        """Count some rows."""
        results, users = lists_of(rows, "results"), rows["user"]
        page = self._pages.pages_of(rows["query"].to_numpy(), results)
        used = page >= 0
        if (counted := self._chosen.are_users(users)) is not None:
            used &= counted
        piece = piece_of(rows, results.lengths)
        if not used.all():
            where = np.flatnonzero(used)
            page, piece, users = page[where], piece.take(where), users.filter(pa.array(used))
        clicks = distinct_clicks(piece.clicks)
        self._pages.count(page, piece, clicks)
        tally = tally_of(piece, clicks)
        tally.anonymous = users.null_count
        self._counted.tally += tally
        self._users.append(users.drop_null().to_numpy())
        if self._pages.bytes > self._most:
            self._write_pages()
        if sum(map(len, self._users)) > MOST_USERS:
            self._write_users()

    def finish(self) -> _Counted:
        """What was counted."""
        self._write_pages()
        self._write_users()
        return self._counted

    def _write_pages(self) -> None:
        """Write what is known of pages, and forget it."""
        pages, self._pages = self._pages, self._new_pages()
        self._counted.tally.with_duplicate += pages.impressions_with_duplicate()
        if self._with_pages:
            table, runs = pages.table(), self._counted.pages
            del pages
            path = self._stem.with_name(f"{self._stem.name}-{len(runs):06d}.pages")
            runs.append(write_run(table, path, lists_of(table, "results").lengths))

    def _write_users(self) -> None:
        """Write how many impressions each user has, and forget it."""
        users, impressions = tallied(np.concatenate([NOBODY, *self._users]))
        self._users, runs = [], self._counted.users
        table = pa.table({"user": users, "impressions": impressions.astype(np.uint32)})
        runs.append(
            write_run(table, self._stem.with_name(f"{self._stem.name}-{len(runs):06d}.users"))
        )


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
