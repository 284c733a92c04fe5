"""A log in keys -> the counts of every pair, of every user, and of everything: in little memory.

In: impressions of a snapshot and which of them count. Out: Parquet parts with one row a pair, in
order, the activity of users, and the tally of the diagnostics. The log is read once, in shares; the
distinct pages of a share are a run on disk, or several where memory is full; runs are merged into
pairs range by range. Shares of the log and ranges are what an executor gives to its workers.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from builder import parquet
from builder.clicks.counted import Counted, count_tables
from builder.clicks.counting import pairs_of
from builder.clicks.runs import Run, Summed, merge, ranges
from builder.clicks.selected import Selection
from builder.clicks.shares import count_shares
from builder.clicks.sums import add_up_rows
from builder.clicks.tally import Tally
from builder.executors import map_pieces
from builder.parameters import ClickParameters
from builder.progress import Progress
from builder.resources import Limits

PIECE_SHARE = 0.5
"""Part of the memory for what is counted."""
READ_SHARE = KNOWN_SHARE = 0.25
"""Parts of that for what is read at a time, and for pages that are known; to write them takes as
much again."""
BYTES_PER_RANK = 200
BYTES_PER_USER = 120
"""Peak of arrays while runs are merged, for each rank of a page and for each user."""
MOST_BYTES = 96 * 2**20
"""Arrays of a larger piece do not fit into the processor's cache."""
ROWS_PER_BATCH = 122_880


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
    known = int(room * KNOWN_SHARE)
    count = partial(count_tables, home, known, last_by_time=by_time, with_pages=with_pairs)
    most = min(int(room * READ_SHARE), MOST_BYTES)
    total = sum(count_shares(selection, params, count, most, limits, progress), Counted())
    pa.default_memory_pool().release_unused()
    pairs = tuple(_merged(total.pages, PAIRS, home, room, limits))
    return Evidence(pairs, _activity(total.users, home, room, limits), total.tally)


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
