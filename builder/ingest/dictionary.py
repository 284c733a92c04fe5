"""Keys of the strings of a log: each distinct string is keyed once, and written down once.

In: queries, URLs and users in batches. Out: their 64-bit keys, and at the end the tables
`log_queries` and `log_urls`. Memory is bounded: what was seen is forgotten when it grows too
large, and repeats in the spilled dictionaries are merged on disk.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import DataError
from builder.ingest.texts import url_keys
from builder.keys import fold_texts, key64
from builder.resources import Limits
from builder.tables import write_query
from schemas import LogQueries, LogUrls

MOST_REMEMBERED = 2_000_000
"""Distinct strings of a kind held in memory: about 500 MB of typical URLs."""

QUERIES = "SELECT DISTINCT surface, query, text, folded FROM seen ORDER BY surface, text"
URLS = """
SELECT doc, url_key, min(url) AS url FROM seen GROUP BY doc, url_key ORDER BY doc, url_key
"""
QUERY_CLASH = """
SELECT min(text), max(text) FROM seen GROUP BY surface HAVING min(text) <> max(text)
UNION ALL
SELECT min(folded), max(folded) FROM seen GROUP BY query HAVING min(folded) <> max(folded)
LIMIT 1
"""
URL_CLASH = """
SELECT min(url_key), max(url_key) FROM seen GROUP BY doc HAVING min(url_key) <> max(url_key)
LIMIT 1
"""

_QUERY_COLUMNS = pa.schema(
    {"surface": pa.uint64(), "query": pa.uint64(), "text": pa.string(), "folded": pa.string()}
)
_URL_COLUMNS = pa.schema({"doc": pa.uint64(), "url_key": pa.string(), "url": pa.string()})


Value = TypeVar("Value")


class _Spill:
    """A growing Parquet file of rows that may repeat."""

    def __init__(self, path: Path, columns: pa.Schema) -> None:
        self.path = path
        self._columns = columns
        self._writer = pq.ParquetWriter(path, columns, compression="zstd")

    def add(self, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            values = zip(*rows, strict=True)
            arrays = [pa.array(v, f.type) for v, f in zip(values, self._columns, strict=True)]
            self._writer.write_batch(pa.record_batch(arrays, schema=self._columns))

    def close(self) -> None:
        self._writer.close()


class Dictionary:
    """Keys of queries, URLs and users.

    Args:
        limits: Scratch space for the spilled dictionaries.
        secret: What only a holder of the raw log knows; keys the pseudonyms of users.
    """

    def __init__(self, limits: Limits, secret: bytes) -> None:
        self._limits = limits
        self._keyed = hashlib.blake2b(key=secret, digest_size=8)
        self._queries: dict[str, tuple[int | None, int | None]] = {}
        self._urls: dict[str, int | None] = {}
        self._users: dict[str, int] = {}
        self._query_spill = _Spill(limits.scratch / "queries.parquet", _QUERY_COLUMNS)
        self._url_spill = _Spill(limits.scratch / "urls.parquet", _URL_COLUMNS)

    def queries(self, texts: list[str]) -> pa.StructArray:
        """Surface key and query key of texts; both null where folding leaves nothing."""
        known = _bounded(self._queries)
        new = sorted(set(texts).difference(known))
        rows = []
        for text, folded in zip(new, fold_texts(new) if new else (), strict=True):
            known[text] = (key64(text), key64(folded)) if folded else (None, None)
            if folded:
                rows.append((*known[text], text, folded))
        self._query_spill.add(rows)
        pairs = list(map(known.__getitem__, texts))
        keys = [pa.array([pair[place] for pair in pairs], pa.uint64()) for place in (0, 1)]
        return pa.StructArray.from_arrays(keys, ["surface", "query"])

    def urls(self, urls: list[str]) -> pa.Array:
        """Document key of URLs; null where one is no web address."""
        known = _bounded(self._urls)
        new = sorted(set(urls).difference(known))
        rows = []
        keys = url_keys(pl.Series(new, dtype=pl.String)) if new else ()
        for url, canonical in zip(new, keys, strict=True):
            known[url] = key64(canonical) if canonical else None
            if canonical:
                rows.append((known[url], canonical, url.strip()))
        self._url_spill.add(rows)
        return pa.array(map(known.__getitem__, urls), pa.uint64())

    def users(self, users: list[str]) -> pa.Array:
        """Pseudonym of users: blake2b under the secret."""
        known = _bounded(self._users)
        for user in set(users).difference(known):
            digest = self._keyed.copy()
            digest.update(user.encode())
            known[user] = int.from_bytes(digest.digest(), "big")
        return pa.array(map(known.__getitem__, users), pa.uint64())

    def write(self, out: Path) -> None:
        """Write `log_queries` and `log_urls`.

        Raises:
            DataError: two different strings have one key.
        """
        with self._limits.connect() as connection:
            for spill, clash, sql, name, contract in (
                (self._query_spill, QUERY_CLASH, QUERIES, "log_queries", LogQueries),
                (self._url_spill, URL_CLASH, URLS, "log_urls", LogUrls),
            ):
                spill.close()
                connection.read_parquet(str(spill.path)).create_view("seen")
                if found := connection.execute(clash).fetchall():
                    raise DataError(f"two different strings of a log have one key: {found[0]}")
                write_query(connection, sql, out / f"{name}.parquet", contract)
                connection.execute("DROP VIEW seen")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._query_spill.close()
        self._url_spill.close()


def _bounded(known: dict[str, Value]) -> dict[str, Value]:
    if len(known) > MOST_REMEMBERED:
        known.clear()
    return known
