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

from builder.sorting import Flags, Keys

MD5 = "SELECT md5_number(text) AS digest FROM texts"
KEYED = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16
"""What the engine calls a number comes as a decimal whose bytes are the digest."""
MOST_RECENT = 2**18
"""Keys that are held apart before they go to the others."""

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
        column = pl.Series(pl.from_arrow(texts), dtype=pl.String)
        return Halves(*(column.hash(seed).to_numpy() for seed in self._seeds))


def md5_keys(texts: pa.Array, connection: duckdb.DuckDBPyConnection) -> Keys:
    """The first 64 bits of the md5 of each text, big-endian."""
    return _first_halves(texts, connection, MD5, {})


def pseudonyms(texts: pa.Array, secret: str, connection: duckdb.DuckDBPyConnection) -> Keys:
    """The first 64 bits of the SHA-256 of a secret and each text, big-endian."""
    return _first_halves(texts, connection, KEYED, {"secret": secret})


def _first_halves(
    texts: pa.Array, connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, str]
) -> Keys:
    connection.register("texts", pa.table({"text": texts}))
    found = connection.sql(sql, params=values).to_arrow_table()["digest"]
    connection.unregister("texts")
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
        self._forget()

    def _forget(self) -> None:
        nothing = np.zeros(0, dtype=np.uint64)
        self._known = (_Known(Halves(nothing, nothing), nothing),) * 2

    def find(self, hashed: Halves) -> tuple[Flags, Keys]:
        """Which hashes are new, and the numbers of those that are not.

        May be called from any thread, while another one remembers.
        """
        order = np.argsort(hashed.keys)
        ordered = hashed.take(order)
        old, recent = self._known
        known, numbers = old.find(ordered)
        known_here, recent_numbers = recent.find(ordered)
        new = np.empty(len(order), dtype=np.bool_)
        found = np.empty(len(order), dtype=np.uint64)
        new[order] = ~(known | known_here)
        found[order] = np.where(known_here, recent_numbers, numbers)
        return new, found

    def remember(self, hashed: Halves, numbers: Keys) -> None:
        """Hashes that `find` told to be new, and their numbers."""
        order = np.argsort(hashed.keys)
        fresh = _Known(hashed.take(order), numbers[order])
        old, recent = self._known
        recent = recent.joined(fresh)
        if len(recent.numbers) > MOST_RECENT:
            old, recent = old.joined(recent), recent.none()
        self._known = (old, recent)
        if len(old.numbers) > self._most:
            self._forget()


class _Known(NamedTuple):
    """Hashes in the order of their keys, and their numbers."""

    hashed: Halves
    numbers: Keys

    def find(self, wanted: Halves) -> tuple[Flags, Keys]:
        """Which of some hashes in order are known, and their numbers; any number for others.

        Of hashes with the same `keys` and other `others`, which hardly are, one alone is found.
        """
        if not len(self.numbers):
            return np.zeros(len(wanted.keys), dtype=np.bool_), wanted.keys
        places = np.searchsorted(self.hashed.keys, wanted.keys)
        places = np.minimum(places, len(self.numbers) - 1)
        found: Flags = self.hashed.keys[places] == wanted.keys
        found[found] = self.hashed.others[places[found]] == wanted.others[found]
        return found, self.numbers[places]

    def joined(self, other: "_Known") -> "_Known":
        keys = np.concatenate([self.hashed.keys, other.hashed.keys])
        others = np.concatenate([self.hashed.others, other.hashed.others])
        order = np.argsort(keys, kind="stable")  # which sees that there are two runs
        numbers = np.concatenate([self.numbers, other.numbers])[order]
        return _Known(Halves(keys, others).take(order), numbers)

    def none(self) -> "_Known":
        return _Known(self.hashed.take(np.zeros(0, dtype=np.int64)), self.numbers[:0])
