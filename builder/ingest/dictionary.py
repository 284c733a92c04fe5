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
from builder.ingest.known_pages import KnownPages
from builder.ingest.seen import (
    Fingerprints,
    Halves,
    Places,
    Seen,
    distinct_of,
    md5_keys,
    pseudonyms,
)
from builder.ingest.shown_addresses import ShownAddresses
from builder.ingest.texts import url_keys, without_credentials
from builder.keys import folded
from builder.resources import Limits
from builder.sorting import Flags, Keys
from builder.tables import write_query
from schemas import LogQueries

SHARES = {"users": 0.04, "queries": 0.03, "surfaces": 0.03, "urls": 0.16, "pages": 0.1}
"""Parts of the memory in which what was seen of each kind is remembered."""
BYTES_A_TEXT = 60
"""What a text takes there: its entry, and its slots on the average (see `seen`)."""

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

    def add(self, rows: pl.DataFrame) -> None:
        """Write some rows down."""
        self._writer.write_table(rows.select(self._columns.names).to_arrow().cast(self._columns))

    def close(self) -> None:
        self._writer.close()


class Looked(NamedTuple):
    """Some texts that were looked up.

    Args:
        keys: The keys of those that were seen before.
        new: Which of them were not.
        which: Which of the rows each that is new is.
        places: Where each of the rows was looked up.
        halves: The hashes of these rows.
        rows: The different texts that are new, with the key that each would have; what is written
            down of them.
        surfaces: Of queries the surface keys of all.
    """

    keys: Keys
    new: Flags
    which: Places
    places: Places
    halves: Halves
    rows: pl.DataFrame
    surfaces: Keys


class Dictionary:
    """Keys of queries, URLs and users.

    Args:
        limits: Scratch space for the spilled dictionaries.
        secret: What only a holder of the raw log knows; keys the pseudonyms of users.
        address: That of a document of which an id is given; None: addresses are given.

    Attributes:
        pages: Result pages whose documents have their keys.
    """

    def __init__(self, limits: Limits, secret: bytes, address: str | None = None) -> None:
        self._limits = limits
        self._address = address
        self._secret = secret.hex()
        self._fingerprints = Fingerprints()
        rooms = {kind: int(limits.memory * share) for kind, share in SHARES.items()}
        self._users, self._queries, self._surfaces, self._urls = (
            Seen(rooms[kind] // BYTES_A_TEXT) for kind in ("users", "queries", "surfaces", "urls")
        )
        self.pages = KnownPages(rooms["pages"])
        self._opened = ExitStack()
        self._query_spill = _Spill(limits.scratch / "queries.parquet", _QUERY_COLUMNS)
        self._addresses = ShownAddresses(limits)

    def look_up_users(self, texts: pa.Array) -> Looked:
        """What `users` needs of some identifiers; may be called from any thread."""
        looked, new = self._look_up(texts, self._users)
        made = pseudonyms(new.to_arrow(), self._secret, self._engine)
        return looked._replace(rows=pl.DataFrame({"key": made}))

    def look_up_queries(self, texts: pa.Array) -> Looked:
        """What `queries` needs of some texts; may be called from any thread."""
        halves = self._fingerprints.of(texts)
        new, surfaces = self._surfaces.find(halves)
        surfaces[new] = md5_keys(texts.filter(pa.array(new)), self._engine)
        looked, new_texts = self._look_up(texts, self._queries, halves)
        plain = folded(new_texts)
        keys, surface = self._keys_of(plain), surfaces[looked.places]
        columns = {"surface": surface, "query": keys, "text": new_texts, "folded": plain}
        return looked._replace(rows=pl.DataFrame({"key": keys, **columns}), surfaces=surfaces)

    def look_up_urls(self, texts: pa.Array) -> Looked:
        """What `urls` needs of some URLs; may be called from any thread."""
        looked, new = self._look_up(texts, self._urls)
        return looked._replace(rows=self._url_rows(new))

    def _look_up(
        self, texts: pa.Array, seen: Seen, halves: Halves | None = None
    ) -> tuple[Looked, pl.Series]:
        """What is known of texts, and those of which nothing is, each once."""
        halves = self._fingerprints.of(texts) if halves is None else halves
        new, keys = seen.find(halves)
        places, which = distinct_of(halves, new)
        looked = Looked(keys, new, which, places, halves.take(places), pl.DataFrame(), keys[:0])
        new_texts = texts.take(pa.array(places))
        return looked, pl.Series(pl.from_arrow(new_texts), dtype=pl.String)

    def _url_rows(self, texts: pl.Series) -> pl.DataFrame:
        urls = addresses_of(texts, self._address)
        canonical = url_keys(urls)
        is_odd = (canonical != texts).fill_null(value=True).any()
        written = without_credentials(urls.str.strip_chars()) if is_odd else urls
        return pl.DataFrame({"key": self._keys_of(canonical), "url_key": canonical, "url": written})

    def _keys_of(self, texts: pl.Series) -> Keys:
        """The md5 keys of texts; 0 where one is absent or empty."""
        told = (texts != "").fill_null(value=False)
        keys = np.zeros(len(texts), dtype=np.uint64)
        keys[told.to_numpy()] = md5_keys(texts.filter(told).to_arrow(), self._engine)
        return keys

    def users(self, looked: Looked) -> Keys:
        """Pseudonyms of users: SHA-256 under the secret."""
        return self._resolved(looked, self._users, lambda _: None)

    def queries(self, looked: Looked) -> tuple[Keys, Keys]:
        """Surface keys and query keys of texts; 0 where folding leaves nothing."""
        return looked.surfaces, self._resolved(looked, self._queries, self._add_queries)

    def urls(self, looked: Looked) -> Keys:
        """Document keys of URLs; 0 where one is no web address."""
        return self._resolved(looked, self._urls, self._addresses.add)

    @staticmethod
    def _resolved(looked: Looked, seen: Seen, add: Callable[[pl.DataFrame], None]) -> Keys:
        """The keys of texts; those that nobody saw meanwhile are remembered and written down."""
        if not looked.rows.is_empty():
            new, keys = seen.find(looked.halves)
            made = looked.rows.filter(new)
            keys[new] = made["key"].to_numpy()
            seen.remember(looked.halves.take(new), keys[new])
            add(made.filter(pl.col("key") != 0))
            looked.keys[looked.new] = keys[looked.which]
        return looked.keys

    def _add_queries(self, rows: pl.DataFrame) -> None:
        """Write down queries, and remember their surfaces: those of `rows` are not known."""
        halves = self._fingerprints.of(rows["text"].to_arrow())
        self._surfaces.remember(halves, rows["surface"].to_numpy())
        self._query_spill.add(rows)

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
