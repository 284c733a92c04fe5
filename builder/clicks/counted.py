"""Impressions -> runs of what was counted of pages and of users, and the tally of the diagnostics.

In: tables of impressions, one after the other, and which of them count. What is known of pages
passes from table to table until it takes more memory than there is, or nothing is left.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from builder.clicks.counting import PageCounts
from builder.clicks.pieces import distinct_clicks, lists_of, piece_of
from builder.clicks.runs import Run, write_run
from builder.clicks.selected import Chosen
from builder.clicks.tally import Tally, tally_of
from builder.sorting import Keys, tallied

MOST_USERS = 2**22
"""Impressions after which users are counted."""
EVERYTHING = Chosen()
NOBODY = np.zeros(0, dtype=np.uint64)


@dataclass
class Counted:
    """What was counted of some impressions.

    Args:
        pages: Runs of pages.
        users: Runs of users, with how many impressions each has.
        tally: Counts over impressions.
    """

    pages: list[Run] = field(default_factory=list)
    users: list[Run] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.pages + other.pages, self.users + other.users, self.tally + other.tally)


def count_tables(
    home: Path,
    most: int,
    number: int,
    tables: Iterable[pa.Table],
    chosen: Chosen = EVERYTHING,
    *,
    last_by_time: bool,
    with_pages: bool,
) -> Counted:
    """Count impressions; leaves runs in a folder.

    Args:
        home: The folder.
        most: Bytes of pages that are known at a time; to write them takes as much again.
        number: What their names begin with.
        tables: The impressions; see `Selection.read`.
        chosen: Which of them count.
        last_by_time: Whether the last click is the latest, or the deepest.
        with_pages: Whether runs of pages are written.
    """
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
        self._counted = Counted()

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

    def finish(self) -> Counted:
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
            sizes = lists_of(table, "results").lengths
            runs.append(write_run(table, self._path(len(runs), "pages"), sizes))

    def _write_users(self) -> None:
        """Write how many impressions each user has, and forget it."""
        users, impressions = tallied(np.concatenate([NOBODY, *self._users]))
        self._users, runs = [], self._counted.users
        table = pa.table({"user": users, "impressions": impressions.astype(np.uint32)})
        runs.append(write_run(table, self._path(len(runs), "users")))

    def _path(self, number: int, kind: str) -> Path:
        """Where a run is written."""
        return self._stem.with_name(f"{self._stem.name}-{number:06d}.{kind}")
