"""Texts of a log by their hashes, many at once: which were seen before, and what belongs to them.

In: texts in columns. Out: their keys (see `keys.key64`), keyed pseudonyms, and which texts were not
seen before. Nothing becomes an object of Python. A text is known by 128 bits of hashes that are
seeded anew in each run: nobody can choose two texts that have the same, no output depends on them,
and they take a tenth of the time of md5, which is made of what is new alone.
"""

import secrets
from typing import NamedTuple, Self

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builder import sorting
from builder.hash_table import HashTable
from builder.sorting import Flags, Keys

MD5 = "SELECT md5_number(text) AS digest FROM texts"
KEYED = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16
"""What the engine calls a number comes as a decimal whose bytes are the digest."""
LEAST_ROOM = 2**12
"""Entries for which a table has room from the beginning."""

Places = npt.NDArray[np.int64]


class Halves(NamedTuple):
    """Hashes of n texts.

    Args:
        keys: 64 bits of each.
        others: 64 more.
    """

    keys: Keys
    others: Keys

    def take(self, places: Places | Flags) -> Self:
        """Those at some places."""
        return type(self)(self.keys[places], self.others[places])


class Fingerprints:
    """Hashes of texts, by seeds of their own."""

    def __init__(self) -> None:
        self._seeds = [secrets.randbits(64) for _ in range(2)]

    def of(self, texts: pa.Array) -> Halves:
        """The hashes of texts."""
        return self.of_column(pl.Series(pl.from_arrow(texts), dtype=pl.String))

    def of_column(self, texts: pl.Series) -> Halves:
        """The hashes of texts, or of bytes."""
        return Halves(*(texts.hash(seed).to_numpy() for seed in self._seeds))


def distinct_of(hashed: Halves, among: Flags) -> tuple[Places, Places]:
    """A place of each different hash among some, and which of these hashes each of the some is."""
    chosen = np.flatnonzero(among)
    places, which = sorting.distinct_of(*hashed.take(chosen))
    return chosen[places], which


def md5_keys(texts: pa.Array, connection: duckdb.DuckDBPyConnection) -> Keys:
    """The first 64 bits of the md5 of each text, big-endian."""
    return _first_halves(texts, connection, MD5, {})


def pseudonyms(texts: pa.Array, secret: str, connection: duckdb.DuckDBPyConnection) -> Keys:
    """The first 64 bits of the SHA-256 of a secret and each text, big-endian."""
    return _first_halves(texts, connection, KEYED, {"secret": secret})


def _first_halves(
    texts: pa.Array, connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, str]
) -> Keys:
    if not len(texts):
        return np.zeros(0, dtype=np.uint64)
    with connection.cursor() as cursor:
        cursor.register("texts", pa.table({"text": texts}))
        found = cursor.sql(sql, params=values).to_arrow_table()["digest"]
    digests = found if pa.types.is_decimal(found.type) else found.cast(pa.binary(DIGEST_BYTES))
    parts = [
        np.frombuffer(part.buffers()[1], ">u8", 2 * len(part), part.offset * DIGEST_BYTES)
        for part in digests.chunks
    ]
    numbers = np.concatenate([*parts, np.zeros(0, ">u8")]).reshape(-1, 2)
    return numbers[:, 0].astype(np.uint64)


class Seen:
    """Hashes that were seen, each with a number that belongs to it.

    Args:
        most: Hashes that are remembered; with more, all are forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known = _empty()

    def find(self, hashed: Halves) -> tuple[Flags, Keys]:
        """Which hashes are new, and the numbers of those that are not.

        May be called from any thread, while another one remembers.
        """
        table, numbers = self._known
        places = table.find(hashed)
        return places < 0, numbers.take(places)

    def remember(self, hashed: Halves, numbers: Keys) -> None:
        """Hashes that `find` told to be new, each once, and their numbers."""
        table, known = self._known
        if len(table) + len(numbers) > self._most:
            table, known = _empty()
        first, table = len(table), table.with_room(len(numbers))
        if table.room > len(known):
            known, before = np.zeros(table.room, dtype=np.uint64), known
            known[:first] = before[:first]
        known[first : first + len(numbers)] = numbers
        self._known = (table, known)
        table.add(hashed)


def _empty() -> tuple[HashTable, Keys]:
    """A table, and the numbers of its entries."""
    table = HashTable(2, LEAST_ROOM)
    return table, np.zeros(table.room, dtype=np.uint64)
