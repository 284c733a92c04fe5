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

from builder.sorting import Flags, Keys, order_of, repeats

MD5 = "SELECT md5_number(text) AS digest FROM texts"
KEYED = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16
"""What the engine calls a number comes as a decimal whose bytes are the digest."""
SLOTS = 3
"""Slots of a table for each entry."""
LEAST_ROOM = 2**12
"""Entries for which a table has room from the beginning."""
GROWTH = 2
"""How many times as many entries as there are find room in a larger table."""

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
    order = order_of(*hashed.take(chosen))
    ordered = hashed.take(chosen[order])
    starts = ~(repeats(ordered.keys) & repeats(ordered.others))
    which = np.empty(len(order), dtype=np.int64)
    which[order] = np.cumsum(starts) - 1
    return chosen[order[starts]], which


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
        self._known = (_Table(0), 0)

    def find(self, hashed: Halves) -> tuple[Flags, Keys]:
        """Which hashes are new, and the numbers of those that are not.

        May be called from any thread, while another one remembers.
        """
        table, count = self._known
        return table.find(hashed, count)

    def remember(self, hashed: Halves, numbers: Keys) -> None:
        """Hashes that `find` told to be new, each once, and their numbers."""
        table, count = self._known
        if count + len(numbers) > self._most:
            table, count = _Table(0), 0
        if count + len(numbers) > table.room:
            table = table.larger(count, count + len(numbers))
        table.add(hashed, numbers, count)
        self._known = (table, count + len(numbers))


class _Table:
    """A hash table with open addresses, whose entries are never changed.

    One thread adds while others look for what was there before: entries are complete before their
    count is told, and slots that lead to later ones are passed over.

    Args:
        room: Entries that find room at least.
    """

    def __init__(self, room: int) -> None:
        size = 1 << (SLOTS * max(room, LEAST_ROOM) - 1).bit_length()
        self.room = size // SLOTS
        self._mask = size - 1
        self._slots = np.zeros(size, dtype=np.int32)  # the place of an entry, from 1 on; 0: none
        self._columns = tuple(np.zeros(self.room + 1, dtype=np.uint64) for _ in range(3))

    def larger(self, count: int, room: int) -> "_Table":
        """A table with the first entries, and room for several times as many as there are to be."""
        table = _Table(GROWTH * room)
        keys, others, numbers = (column[1 : count + 1] for column in self._columns)
        table.add(Halves(keys, others), numbers, 0)
        return table

    def add(self, hashed: Halves, numbers: Keys, count: int) -> None:
        """Add entries, each once, behind the first `count`."""
        places = np.arange(count + 1, count + len(numbers) + 1)
        for column, values in zip(self._columns, (*hashed, numbers), strict=True):
            column[count + 1 : count + len(numbers) + 1] = values
        slots = self._first_slots(hashed.keys)
        while len(places):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = places[free]
            others = self._slots[slots] != places
            places, slots = places[others], self._next(slots[others])

    def find(self, hashed: Halves, count: int) -> tuple[Flags, Keys]:
        """Which hashes are not among the first entries, and the numbers of the others."""
        slots = self._first_slots(hashed.keys)
        same, found, rest = self._compare(hashed, slots, count)
        rows = rest
        while len(rows):
            hashed, slots = hashed.take(rest), self._next(slots[rest])
            hit, numbers, rest = self._compare(hashed, slots, count)
            same[rows], found[rows] = hit, numbers
            rows = rows[rest]
        return ~same, found

    def _compare(self, hashed: Halves, slots: Places, count: int) -> tuple[Flags, Keys, Places]:
        """Which entries slots lead to those wanted, their numbers, and which lead to others."""
        keys, others, numbers = self._columns
        places = self._slots.take(slots).astype(np.int64)
        same = (keys.take(places) == hashed.keys) & (others.take(places) == hashed.others)
        same &= (places > 0) & (places <= count)
        return same, numbers.take(places), np.flatnonzero(~same & (places > 0))

    def _first_slots(self, keys: Keys) -> Places:
        return (keys & np.uint64(self._mask)).astype(np.int64)

    def _next(self, slots: Places) -> Places:
        return (slots + 1) & self._mask
