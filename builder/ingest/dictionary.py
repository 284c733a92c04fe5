"""Keys of the strings of a log: each distinct string is written down once.

In: queries, URLs and users in batches, and their hashes. Out: their 64-bit keys, and at the end the
tables `log_queries` and `log_urls`. Memory is bounded: what was seen is forgotten when it grows too
large, and repeats in the spilled dictionaries are merged on disk.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder import parquet
from builder.errors import DataError
from builder.ingest.ids import addresses_of
from builder.ingest.seen import Fingerprints, Halves, Seen, md5_keys, pseudonyms
from builder.ingest.shown_addresses import ShownAddresses
from builder.ingest.texts import url_keys, without_credentials
from builder.keys import fold_texts, key64
from builder.resources import Limits
from builder.sorting import Flags, Keys
from builder.tables import write_query
from schemas import LogQueries

MOST_REMEMBERED = 4_000_000
"""Hashes of distinct strings of a kind that are held in memory: about 100 MB."""

ENGINE_SHARE = 0.1
"""Part of the memory for the engine that makes keys."""

WRITING_SHARE = 0.35
"""Part of the memory for the engine that sorts what was seen, beside another one."""

QUERIES = "SELECT DISTINCT surface, query, text, folded FROM queries ORDER BY surface, text"
QUERY_CLASH = """
SELECT min(text), max(text) FROM queries GROUP BY surface HAVING min(text) <> max(text)
UNION ALL
SELECT min(folded), max(folded) FROM queries GROUP BY query HAVING min(folded) <> max(folded)
LIMIT 1
"""
CLASH = "two different strings of a log have one key: {}"

_QUERY_COLUMNS = pa.schema(
    {"surface": pa.uint64(), "query": pa.uint64(), "text": pa.string(), "folded": pa.string()}
)


class _Spill:
    """A growing Parquet file of rows that may repeat."""

    def __init__(self, path: Path, columns: pa.Schema) -> None:
        self.path = path
        self._columns = columns
        self._writer = pq.ParquetWriter(path, columns, compression="lz4", use_dictionary=False)

    def add(self, columns: list[pa.Array], kept: Flags) -> None:
        """Write some rows of columns down."""
        cast = [c.cast(f.type) for c, f in zip(columns, self._columns, strict=True)]
        batch = pa.record_batch(cast, schema=self._columns)
        self._writer.write_batch(batch if kept.all() else batch.filter(pa.array(kept)))

    def close(self) -> None:
        self._writer.close()


class Looked(NamedTuple):
    """Some texts that were looked up.

    Args:
        halves: Their hashes.
        keys: The keys of those that were seen before.
        new: Which of them were not.
        texts: These.
        made: What keys they would have; of queries the surface keys of all.
    """

    halves: Halves
    keys: Keys
    new: Flags
    texts: pa.Array
    made: Keys


class Dictionary:
    """Keys of queries, URLs and users.

    Args:
        limits: Scratch space for the spilled dictionaries.
        secret: What only a holder of the raw log knows; keys the pseudonyms of users.
        address: That of a document of which an id is given; None: addresses are given.
    """

    def __init__(self, limits: Limits, secret: bytes, address: str | None = None) -> None:
        self._limits = limits
        self._address = address
        self._secret = secret.hex()
        self._fingerprints = Fingerprints()
        self._users, self._queries, self._urls = (Seen(MOST_REMEMBERED) for _ in range(3))
        self._opened = ExitStack()
        self._query_spill = _Spill(limits.scratch / "queries.parquet", _QUERY_COLUMNS)
        self._addresses = ShownAddresses(limits)

    def look_up_users(self, distinct: pa.Array) -> Looked:
        """What `users` needs of some identifiers; may be called from any thread."""
        looked = self._look_up(distinct, self._users)
        with self._engine.cursor() as cursor:
            return looked._replace(made=pseudonyms(looked.texts, self._secret, cursor))

    def look_up_queries(self, distinct: pa.Array) -> Looked:
        """What `queries` needs of some texts; may be called from any thread."""
        looked = self._look_up(distinct, self._queries)
        with self._engine.cursor() as cursor:
            return looked._replace(made=md5_keys(distinct, cursor))

    def look_up_urls(self, distinct: pa.Array) -> Looked:
        """What `urls` needs of some URLs; may be called from any thread."""
        looked = self._look_up(distinct, self._urls)
        with self._engine.cursor() as cursor:
            return looked._replace(made=md5_keys(looked.texts, cursor))

    def _look_up(self, distinct: pa.Array, seen: Seen) -> Looked:
        halves = self._fingerprints.of(distinct)
        new, keys = seen.find(halves)
        return Looked(halves, keys, new, distinct.filter(pa.array(new)), keys[:0])

    def users(self, looked: Looked) -> Keys:
        """Pseudonyms of users: SHA-256 under the secret."""
        return self._resolved(looked, self._users, looked.made, lambda _, made: made)

    def queries(self, looked: Looked) -> tuple[Keys, Keys]:
        """Surface keys and query keys of texts; 0 where folding leaves nothing."""
        made = looked.made[looked.new]
        return looked.made, self._resolved(looked, self._queries, made, self._add_queries)

    def urls(self, looked: Looked) -> Keys:
        """Document keys of URLs; 0 where one is no web address."""
        return self._resolved(looked, self._urls, looked.made, self._add_urls)

    def _resolved(
        self, looked: Looked, seen: Seen, made: Keys, add: Callable[[pa.Array, Keys], Keys]
    ) -> Keys:
        """The keys of texts, of which those that nobody saw meanwhile are added.

        `made` is what is known of those that were not seen before.
        """
        if len(looked.texts):
            halves = looked.halves.take(looked.new)
            new, keys = seen.find(halves)
            keys[new] = add(looked.texts.filter(pa.array(new)), made[new])
            seen.remember(halves.take(new), keys[new])
            looked.keys[looked.new] = keys
        return looked.keys

    def _add_queries(self, texts: pa.Array, surfaces: Keys) -> Keys:
        """Write down texts of queries; their query keys."""
        folded = pl.Series(fold_texts(texts.to_pylist()), dtype=pl.String)
        keys = np.array([key64(text) if text else 0 for text in folded], dtype=np.uint64)
        columns = [pa.array(surfaces), pa.array(keys), texts, folded.to_arrow()]
        self._query_spill.add(columns, keys != 0)
        return keys

    def _add_urls(self, texts: pa.Array, made: Keys) -> Keys:
        """Write down URLs; their document keys: those of the texts, where these are URL keys."""
        given = pl.Series(pl.from_arrow(texts), dtype=pl.String)
        urls = addresses_of(given, self._address)
        keys = made.copy()
        canonical = url_keys(urls)
        others = (canonical != given).fill_null(value=True).to_numpy()
        keys[others] = [key64(key) if key else 0 for key in canonical.filter(others)]
        written = without_credentials(urls.str.strip_chars()) if others.any() else urls
        rows = {"key": pl.Series(keys), "url_key": canonical, "url": written}
        self._addresses.add(pl.DataFrame(rows).filter(pl.col("key") != 0))
        return keys

    def write(self, out: Path) -> None:
        """Write `log_queries` and `log_urls`.

        Raises:
            DataError: two different strings have one key.
        """
        self._query_spill.close()
        with self._limits.connect(WRITING_SHARE) as connection:
            parquet.rows(connection, self._query_spill.path).create_view("queries")
            if found := connection.execute(QUERY_CLASH).fetchall():
                raise DataError(CLASH.format(found[0]))
            write_query(connection, QUERIES, out / "log_queries.parquet", LogQueries)
        self._addresses.write(out / "log_urls.parquet")

    def __enter__(self) -> Self:
        self._engine = self._opened.enter_context(self._limits.connect(ENGINE_SHARE))
        return self

    def __exit__(self, *error: object) -> None:
        self._query_spill.close()
        self._addresses.close()
        self._opened.close()
