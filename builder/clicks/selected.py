"""Which impressions of a log in keys count: those of candidate queries, but for some users'.

In: the tables of a snapshot. Out: the view `used_impressions` of a connection, or all impressions
in Arrow tables, portion by portion, and what tells which of them count, for which query.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.clicks.pieces import bytes_to_count
from builder.hash_table import HashTable
from builder.packing import packed
from builder.sorting import Flags, Keys
from builder.tables import Table

SELECTED = """
CREATE VIEW used_impressions AS
SELECT impression, "user", {query} AS query, results, clicks
FROM impressions
SEMI JOIN candidates USING (query)
{users}
{variants}
"""
WITHOUT_USERS = 'ANTI JOIN left_out_users USING ("user")'
STANDS_FOR = "coalesce(representative, query)"
VARIANTS = "LEFT JOIN (SELECT query, representative FROM variants) USING (query)"
COLUMNS = ("user", "query", "results", "clicks")


class RowGroup(NamedTuple):
    """A row group of a part of the impressions.

    Args:
        path: The part.
        number: The row group within it.
        rows: How many impressions it has.
        size: About how much memory it takes to count them.
    """

    path: Path
    number: int
    rows: int
    size: int


Portion = tuple[RowGroup, ...]
"""Row groups that follow each other, in the order of impressions."""


@dataclass(frozen=True)
class Selection:
    """The impressions that count.

    Args:
        impressions: Result pages shown (contract `Impressions`).
        candidates: Queries whose impressions count (contract `Candidates`).
        variants: Which query stands for which (contract `Variants`), or None.
        left_out: Users whose impressions do not count.
    """

    impressions: Table
    candidates: Table
    variants: Table | None
    left_out: pl.Series

    def open(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create the view `used_impressions`."""
        self.impressions.view(connection, "impressions")
        self.candidates.view(connection, "candidates")
        if self.variants is not None:
            self.variants.view(connection, "variants")
        connection.register("left_out_users", self.left_out.to_frame("user").to_arrow())
        has_variants = self.variants is not None
        sql = SELECTED.format(
            query=STANDS_FOR if has_variants else "query",
            users=WITHOUT_USERS if len(self.left_out) else "",
            variants=VARIANTS if has_variants else "",
        )
        connection.execute(sql)

    def row_groups(self) -> list[RowGroup]:
        """Where all impressions are."""
        return [group for path in self.impressions.paths for group in _row_groups(path)]

    def read(self, portions: Iterable[Portion], most: int) -> Iterator[pa.Table]:
        """All impressions of portions: `COLUMNS`.

        Args:
            portions: The portions.
            most: About how many bytes it may take to count the rows of a table.
        """
        for path, some in groupby(chain.from_iterable(portions), attrgetter("path")):
            with pq.ParquetFile(path) as file:
                for group in some:
                    rows = max(1, group.rows * most // max(group.size, 1))
                    batches = file.iter_batches(rows, [group.number], COLUMNS, use_threads=False)
                    yield from (pa.Table.from_batches([batch]) for batch in batches)


def portions_of(groups: Iterable[RowGroup], most: int) -> Iterator[Portion]:
    """Row groups in portions of at most so many impressions, each at least a row group."""
    return map(tuple, packed(groups, attrgetter("rows"), most))


class Chosen:
    """Tells which queries and users count, and which query stands for a query.

    Args:
        selection: What says so; without it, everything counts, and queries stand for themselves.
    """

    def __init__(self, selection: Selection | None = None) -> None:
        self._queries = self._users = self._stands_for = None
        if selection is None:
            return
        queries = selection.candidates.scan().select("query").collect()["query"]
        self._queries = _table(queries)
        if len(selection.left_out):
            self._users = _table(selection.left_out)
        if selection.variants is not None:
            known = selection.variants.scan().select("query", "representative").collect()
            self._stands_for = queries.replace(*known.get_columns()).to_numpy()

    def are_queries(self, query: Keys) -> Flags | None:
        """Whether each query counts; None: all do."""
        return None if self._queries is None else self._queries.find([query]) >= 0

    def are_users(self, user: pa.ChunkedArray) -> Flags | None:
        """Whether impressions of each user, or of nobody, count; None: all do."""
        if self._users is None:
            return None
        left_out = self._users.find([user.fill_null(0).to_numpy()]) >= 0
        counts: Flags = ~left_out | user.is_null().to_numpy()
        return counts

    def standing_for(self, query: Keys) -> Keys:
        """The query that stands for each query that counts."""
        if self._queries is None or self._stands_for is None:
            return query
        return self._stands_for.take(self._queries.find([query]))


def _table(keys: pl.Series) -> HashTable:
    """The places of keys."""
    table = HashTable(room=len(keys))
    table.add([keys.to_numpy()])
    return table


def _row_groups(path: Path) -> list[RowGroup]:
    """The row groups of a part of the impressions."""
    with pq.ParquetFile(path) as file:
        found = file.metadata
    names = [found.schema.column(at).path.partition(".")[0] for at in range(found.num_columns)]
    results = names.index("results")
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    return [
        RowGroup(
            path,
            number,
            group.num_rows,
            bytes_to_count(group.num_rows, group.column(results).num_values),
        )
        for number, group in enumerate(groups)
    ]
