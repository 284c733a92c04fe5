"""Writes the distinct queries and URLs of a log to the tables `log_queries` and `log_urls`.

Batches are appended to temporary Parquet files; at the end, DuckDB removes duplicates and sorts by
key. Sets of recent keys (`RecentKeys`) keep most duplicates out of the temporary files.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import DataError
from builder.io import parquet
from builder.io.tables import write_query_result
from builder.runtime.limits import ResourceLimits
from schemas import LogQueries, LogUrls

ENGINE_SHARE = 0.6
"""Fraction of the memory limit that DuckDB may use to remove duplicates."""

BYTES_PER_KEY = 64
MERGE_THRESHOLD = 2**15
"""Number of new keys above which `RecentKeys` may merge them into its large array."""
CACHE_SHARE = 0.025
"""Fraction of the memory limit for each set of recent keys."""

DISTINCT = """
CREATE TEMP TABLE distinct_queries AS SELECT DISTINCT surface, query, text, folded FROM queries;
CREATE TEMP TABLE distinct_urls AS
SELECT key, min(url_key) AS url_key, max(url_key) AS other_key, min(url) AS url
FROM urls GROUP BY key;
"""
COLLISIONS = """
SELECT min(text), max(text) FROM distinct_queries GROUP BY surface HAVING count(*) > 1
UNION ALL
SELECT min(folded), max(folded) FROM distinct_queries
GROUP BY query HAVING min(folded) <> max(folded)
UNION ALL
SELECT url_key, other_key FROM distinct_urls WHERE url_key <> other_key
LIMIT 1
"""
QUERIES = "SELECT * FROM distinct_queries ORDER BY surface"
URLS = "SELECT key AS doc, url_key, url FROM distinct_urls ORDER BY key"

QUERY_COLUMNS = pa.schema(
    {"surface": pa.uint64(), "query": pa.uint64(), "text": pa.string(), "folded": pa.string()}
)
URL_COLUMNS = pa.schema({"key": pa.uint64(), "url_key": pa.string(), "url": pa.string()})

Keys = npt.NDArray[np.uint64]


class RecentKeys:
    """Bounded set of recently inserted keys, in a large sorted array and a small one for new keys.

    Args:
        capacity: Number of keys above which the set is cleared.
    """

    def __init__(self, capacity: int) -> None:
        self._size = capacity
        self._old = self._new = np.zeros(0, dtype=np.uint64)

    def insert(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Insert distinct keys; return a Boolean mask of the keys that were not yet in the set."""
        order = np.argsort(keys)  # sorted lookups are faster because they hit the CPU cache
        ordered = keys[order]
        insert = ~(_known_key_mask(self._new, ordered) | _known_key_mask(self._old, ordered))
        self._new = np.sort(np.concatenate([self._new, ordered[insert]]))
        if len(self._new) > max(MERGE_THRESHOLD, len(self._old) // 4):
            merged = np.sort(np.concatenate([self._old, self._new]))
            self._old = merged if len(merged) <= self._size else merged[:0]
            self._new = self._new[:0]
        found = np.empty_like(insert)
        found[order] = insert
        return found


def _known_key_mask(known_keys: Keys, keys: Keys) -> npt.NDArray[np.bool_]:
    """Return a Boolean mask of the keys that occur in `known_keys`; both arrays are sorted."""
    if not len(known_keys):
        return np.zeros(len(keys), dtype=np.bool_)
    index = np.minimum(np.searchsorted(known_keys, keys), len(known_keys) - 1)
    return np.asarray(known_keys[index] == keys)


def _filter_new_strings(
    rows: pl.DataFrame, key: str, string: str, recent: tuple[RecentKeys, RecentKeys]
) -> pl.DataFrame:
    """Keep the rows whose key or string is new.

    A known key with a new string is a hash collision, which is only detected later if both strings
    are written.

    Args:
        rows: Rows with distinct keys and strings.
        key: Column of keys (UInt64).
        string: Column of strings.
        recent: Recent keys, and recent hashes of strings, which are only valid in this process.
    """
    columns = (rows[key], rows[string].hash())
    is_new = [seen.insert(column.to_numpy()) for seen, column in zip(recent, columns, strict=True)]
    return rows.filter(np.logical_or(*is_new))


class StringTableWriter:
    """Writer of the tables `log_queries` and `log_urls`: the distinct queries and URLs of a log.

    Args:
        limits: Memory limit and scratch folder.
    """

    def __init__(self, limits: ResourceLimits) -> None:
        self._limits = limits
        capacity = int(limits.memory * CACHE_SHARE / BYTES_PER_KEY)
        self._surfaces, self._docs = (
            (RecentKeys(capacity), RecentKeys(capacity)) for _ in range(2)
        )
        self._opened = ExitStack()
        self._paths = [limits.scratch / "queries.parquet", limits.scratch / "urls.parquet"]
        self._queries, self._urls = (
            self._opened.enter_context(
                pq.ParquetWriter(path, columns, compression="lz4", use_dictionary=False)
            )
            for path, columns in zip(self._paths, (QUERY_COLUMNS, URL_COLUMNS), strict=True)
        )

    def add(self, queries: pl.DataFrame, urls: pl.DataFrame) -> None:
        """Append the distinct queries and URLs of a batch.

        Args:
            queries: Distinct queries; columns `surface`, `query`, `text`, `folded`.
            urls: Distinct URLs; columns `key`, `url_key`, `url`. Non-canonical URLs are appended
                even if their key was added before, because `log_urls` contains the
                lexicographically smallest URL of each document.
        """
        queries = _filter_new_strings(queries, "surface", "text", self._surfaces)
        is_raw = urls["url"] != urls["url_key"]
        canonical = _filter_new_strings(urls.filter(~is_raw), "key", "url_key", self._docs)
        self._queries.write_table(queries.to_arrow().cast(QUERY_COLUMNS))
        for rows in (canonical, urls.filter(is_raw)):
            if rows.height:
                self._urls.write_table(rows.to_arrow().cast(URL_COLUMNS))

    def write_tables(self, out: Path) -> None:
        """Write the tables `log_queries` and `log_urls` without duplicates, sorted by key.

        Raises:
            DataError: two distinct strings have the same key.
        """
        self._opened.close()
        with self._limits.connect_to_duckdb(ENGINE_SHARE) as connection:
            for path in self._paths:
                parquet.read_parquet_relation(connection, path).create_view(path.stem)
            connection.execute(DISTINCT)
            if found := connection.execute(COLLISIONS).fetchall():
                raise DataError(
                    f"hash collision: two distinct strings of a log have the same key: {found[0]}; "
                    "remove one of them from the log"
                )
            write_query_result(connection, QUERIES, out / "log_queries.parquet", LogQueries)
            write_query_result(connection, URLS, out / "log_urls.parquet", LogUrls, "lz4")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()
