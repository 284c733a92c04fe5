"""Keys of the strings of a log: each distinct string is keyed once, and written down once.

In: queries, URLs and users in batches. Out: their 64-bit keys, and at the end the tables
`log_queries` and `log_urls`. Memory is bounded: what was seen is forgotten when it grows too
large, and repeats in the spilled dictionaries are merged on disk.
"""

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import DataError
from builder.ingest.seen import Flags, Keys, Seen, md5_halves
from builder.ingest.texts import are_canonical, canonical_url
from builder.keys import fold_texts, key64
from builder.resources import Limits
from builder.tables import write_query
from schemas import LogQueries, LogUrls

MOST_REMEMBERED = 2_000_000
"""Distinct strings of a kind held in memory: about 500 MB of typical URLs."""

ENGINE_SHARE = 0.1
"""Part of the memory for the engine that makes keys."""

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
            self.add_columns(
                [pa.array(v, f.type) for v, f in zip(values, self._columns, strict=True)]
            )

    def add_columns(self, columns: list[pa.Array]) -> None:
        self._writer.write_batch(pa.record_batch(columns, schema=self._columns))

    def close(self) -> None:
        self._writer.close()


class HashedUrls(NamedTuple):
    """Some URLs.

    Args:
        plain: Which of them are plainly their own URL keys.
        keys: Document keys of these.
        others: The other halves of their hashes.
    """

    plain: Flags
    keys: Keys
    others: Keys


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
        self._seen = Seen(MOST_REMEMBERED)
        self._opened = ExitStack()
        self._query_spill = _Spill(limits.scratch / "queries.parquet", _QUERY_COLUMNS)
        self._url_spill = _Spill(limits.scratch / "urls.parquet", _URL_COLUMNS)

    def queries(self, distinct: pa.Array) -> pa.StructArray:
        """Surface key and query key of texts; both null where folding leaves nothing."""
        texts, known = distinct.to_pylist(), _bounded(self._queries)
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

    def hashed(self, distinct: pa.Array) -> HashedUrls:
        """What `urls` needs of some URLs; may be called from any thread."""
        plain = are_canonical(pl.Series(pl.from_arrow(distinct), dtype=pl.String)).to_numpy()
        with self._engine.cursor() as cursor:
            return HashedUrls(plain, *md5_halves(distinct.filter(pa.array(plain)), cursor))

    def urls(self, distinct: pa.Array, hashed: HashedUrls) -> pa.Array:
        """Document key of URLs; null where one is no web address.

        Raises:
            DataError: two addresses have one key.
        """
        plain = hashed.plain
        keys = np.zeros(len(distinct), dtype=np.uint64)
        keys[plain] = hashed.keys
        valid = plain.copy()
        self._note(distinct.filter(pa.array(plain)), hashed)
        if not plain.all():
            found = self._other_urls(distinct.filter(pa.array(~plain)).to_pylist())
            keys[~plain] = [key or 0 for key in found]
            valid[~plain] = [key is not None for key in found]
        return pa.array(keys, mask=~valid)

    def _note(self, addresses: pa.Array, hashed: HashedUrls) -> None:
        """Write down the addresses that are their own URL keys and were not seen before."""
        new = pa.array(self._seen.add(hashed.keys, hashed.others))
        fresh = addresses.filter(new)
        self._url_spill.add_columns([pa.array(hashed.keys).filter(new), fresh, fresh])

    def _other_urls(self, urls: list[str]) -> list[int | None]:
        """The keys of other URLs; None where one is no web address."""
        known = _bounded(self._urls)
        rows = []
        for url in sorted(set(urls).difference(known)):
            canonical = canonical_url(url)
            known[url] = key64(canonical) if canonical else None
            if canonical:
                rows.append((known[url], canonical, url.strip()))
        self._url_spill.add(rows)
        return [known[url] for url in urls]

    def users(self, distinct: pa.Array) -> pa.Array:
        """Pseudonym of users: blake2b under the secret."""
        users, known = distinct.to_pylist(), _bounded(self._users)
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
        self._engine = self._opened.enter_context(self._limits.connect(ENGINE_SHARE))
        return self

    def __exit__(self, *error: object) -> None:
        self._query_spill.close()
        self._url_spill.close()
        self._opened.close()


def _bounded(known: dict[str, Value]) -> dict[str, Value]:
    if len(known) > MOST_REMEMBERED:
        known.clear()
    return known
