"""A log in keys -> the counts of every pair, of every user, and of everything: in little memory.

In: impressions of a snapshot and which of them count. Out: Parquet parts with one row a pair, in
order, the activity of users, and the tally of the diagnostics. The log is read once, in pieces
whose size follows from the memory; what a piece adds is a sorted run on disk; runs are merged range
by range. Pieces and ranges are what an executor gives to its workers.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from builder.clicks.counting import Tally, count_piece
from builder.clicks.pieces import piece_of
from builder.clicks.runs import Run, merge, ranges, write_run
from builder.clicks.selected import Selection
from builder.clicks.statistics import JOINED_PAGES
from builder.executors import in_order, map_buckets, map_pieces
from builder.parameters import ClickParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sorting import tallied

ENGINE_SHARE = 0.2
PIECE_SHARE = 0.5
"""Parts of the memory for the database engine and for the pieces that are counted."""
BYTES_PER_RESULT = 90
BYTES_PER_PAIR = 200
"""Peak of arrays while a piece is counted, per result, and while runs are merged, per row."""
MOST_RESULTS = 8_000_000
"""A larger piece finds hardly more pages that are equal."""
ROWS_PER_BATCH = 122_880
RANGES = 16
"""Pieces of the log for each worker of an executor."""
PAIR = ("query", "doc")
USER = ("user",)

PAGES = {
    "separate": 'SELECT "user", query, results, clicks FROM used_impressions',
    "joined": 'SELECT "user", query, results, clicks, deepest, latest FROM read_pages',
}


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


class _Counted(NamedTuple):
    pairs: list[Run]
    users: list[Run]
    tally: Tally


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
    task = partial(_count, selection, home, params, with_pairs=with_pairs)
    total = _Counted([], [], Tally())
    for found in map_buckets(task, _pieces_of_log(selection, params, limits), limits):
        total.pairs.extend(found.pairs)
        total.users.extend(found.users)
        total = total._replace(tally=total.tally + found.tally)
        progress.advance(found.tally.total)
    pairs = tuple(_merged(total.pairs, PAIR, home, limits))
    return Evidence(pairs, _activity(total.users, home, limits), total.tally)


def _pieces_of_log(
    selection: Selection, params: ClickParameters, limits: Limits
) -> list[tuple[int, int]]:
    """Ranges of impressions; only one where they are counted here, or where users' pages join."""
    first, last = selection.extent()
    if limits.executor.is_here or params.pages == "joined":
        return [(first, last)]
    step = max(1, -(-(last - first) // (RANGES * limits.threads)))
    return [(start, min(start + step, last)) for start in range(first, last, step)]


def _count(
    selection: Selection,
    home: Path,
    params: ClickParameters,
    extent: tuple[int, int],
    limits: Limits,
    *,
    with_pairs: bool,
) -> _Counted:
    """Count the impressions of a range; leaves sorted runs in `home`."""
    room = int(limits.memory * PIECE_SHARE / limits.threads / BYTES_PER_RESULT)
    counted = _Counted([], [], Tally())

    def work(numbered: tuple[int, pa.Table]) -> tuple[Run | None, Run, Tally]:
        number, rows = numbered
        name = f"{extent[0]:016x}-{number:06d}"
        frame, tally = count_piece(piece_of(rows), last_by_time=params.last == "time")
        tally.anonymous = rows["user"].null_count
        run = write_run(frame, PAIR, home / f"{name}.pairs") if with_pairs else None
        users = write_run(_users(rows), USER, home / f"{name}.users")
        return run, users, tally

    with limits.connect(ENGINE_SHARE) as connection:
        selection.open(connection, *extent)
        if params.pages == "joined":
            connection.execute(JOINED_PAGES)
        pieces = _pieces(connection, PAGES[params.pages], min(room, MOST_RESULTS))
        for run, users, tally in in_order(work, enumerate(pieces), limits.threads):
            counted.pairs.extend([run] if run is not None else [])
            counted.users.append(users)
            counted = counted._replace(tally=counted.tally + tally)
    return counted


def _pieces(
    connection: duckdb.DuckDBPyConnection, sql: str, most_results: int
) -> Iterator[pa.Table]:
    """The rows of a query in tables of about so many results."""
    held: list[pa.RecordBatch] = []
    results = 0
    for batch in connection.sql(sql).to_arrow_reader(ROWS_PER_BATCH):
        for start in range(0, len(batch), ROWS_PER_BATCH // 4):
            rows = batch.slice(start, ROWS_PER_BATCH // 4)
            offsets = rows["results"].offsets
            results += offsets[-1].as_py() - offsets[0].as_py()
            held.append(rows)
            if results >= most_results:
                yield pa.Table.from_batches(held)
                held, results = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _users(rows: pa.Table) -> pl.DataFrame:
    """How many impressions each user has; rows without a user are left out."""
    users, impressions = tallied(rows["user"].drop_null().to_numpy())
    return pl.DataFrame({"user": users, "impressions": impressions.astype(np.uint32)})


def _merged(
    runs: Sequence[Run], keys: tuple[str, ...], home: Path, limits: Limits
) -> Iterator[Path]:
    """Write the sums of each range of keys; the parts in order."""
    room = int(limits.memory * PIECE_SHARE / limits.threads / BYTES_PER_PAIR)
    task = partial(_merge, runs, keys, home)
    yield from chain.from_iterable(map_pieces(task, ranges(runs, room), limits))


def _merge(
    runs: Sequence[Run],
    keys: tuple[str, ...],
    home: Path,
    extent: tuple[int, int],
    limits: Limits,  # noqa: ARG001 - every task is given them
) -> list[Path]:
    rows = merge(runs, keys, *extent)
    if rows.is_empty():
        return []
    path = home / f"{keys[0]}-{extent[0]:03d}.parquet"
    rows.write_parquet(path, compression="lz4", row_group_size=ROWS_PER_BATCH)
    return [path]


def _activity(runs: Sequence[Run], home: Path, limits: Limits) -> pl.DataFrame:
    parts = list(_merged(runs, USER, home, limits))
    if not parts:
        return pl.DataFrame(schema={"impressions": pl.Int64, "users": pl.Int64})
    users = pl.scan_parquet(parts).group_by(pl.col("impressions").cast(pl.Int64))
    return users.agg(users=pl.len().cast(pl.Int64)).sort("impressions").collect()
