"""Which impressions of a log in keys count: those of candidate queries, but for some users'.

In: the tables of a snapshot. Out: the view `used_impressions` of a connection, or the same rows in
Arrow tables, portion by portion, with the query that stands for each query.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.clicks.pieces import bytes_to_count
from builder.packing import packed
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


class Portion(NamedTuple):
    """Row groups of a part of the impressions.

    Args:
        number: What tells it from other portions.
        path: The part.
        groups: Its row groups.
        rows: How many impressions they have.
        size: About how much memory it takes to count them.
    """

    number: int
    path: Path
    groups: tuple[int, ...]
    rows: int
    size: int


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

    def portions(self, most: int) -> Iterator[Portion]:
        """All impressions, in portions that take at most so many bytes where possible."""
        parts = (_row_groups(path, most) for path in self.impressions.paths)
        for number, portion in enumerate(chain.from_iterable(parts)):
            yield portion._replace(number=number)

    def read(self, portion: Portion, most: int) -> Iterator[pa.Table]:
        """The impressions of a portion that count: `COLUMNS`.

        Args:
            portion: The portion.
            most: About how many bytes a table may take where a row group takes more.
        """
        with pq.ParquetFile(portion.path) as file:
            if portion.size <= most:
                yield self._used(file.read_row_groups(portion.groups, COLUMNS, use_threads=False))
                return
            step = max(1, portion.rows * most // portion.size)
            for batch in file.iter_batches(step, portion.groups, COLUMNS, use_threads=False):
                yield self._used(pa.Table.from_batches([batch]))

    def _used(self, rows: pa.Table) -> pa.Table:
        """Those rows that count, with the query that stands for theirs."""
        query, user = (pl.Series(rows[name]) for name in ("query", "user"))
        used = query.is_in(_keys(self.candidates, "query").implode())
        if len(self.left_out):
            used &= ~user.is_in(self.left_out.implode()).fill_null(value=False)
        if self.variants is not None:
            known = self.variants.scan().select("query", "representative").collect()
            query = query.replace(*known.get_columns())
        rows = rows.set_column(rows.column_names.index("query"), "query", query.to_arrow())
        return rows if used.all() else rows.filter(used.to_arrow())


def _keys(table: Table, name: str) -> pl.Series:
    return table.scan().select(name).collect().to_series()


def _row_groups(path: Path, most: int) -> Iterator[Portion]:
    """A part of the impressions, in portions of some row groups."""
    with pq.ParquetFile(path) as file:
        found = file.metadata
    names = [found.schema.column(at).path.partition(".")[0] for at in range(found.num_columns)]
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    results = names.index("results")
    sizes = [bytes_to_count(group.num_rows, group.column(results).num_values) for group in groups]
    for some in packed(range(len(groups)), sizes.__getitem__, most):
        rows = sum(groups[number].num_rows for number in some)
        yield Portion(0, path, tuple(some), rows, sum(sizes[number] for number in some))
