"""Texts of a log by their hashes, many at once: which were seen before, and what belongs to them.

In: texts in columns. Out: 128 bits of their md5, the first 64 of which are their key (see
`keys.key64`), keyed pseudonyms, and which texts were not seen before. Nothing becomes an object of
Python. All 128 bits are remembered, so that two texts with one key are told apart, and are an
error, as everywhere.
"""

from typing import NamedTuple, Self

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from builder.errors import DataError
from builder.sorting import Flags, Keys, repeats

MD5 = "SELECT md5_number(text) AS digest FROM texts"
KEYED = "SELECT unhex(substr(sha256($secret || text), 1, 32)) AS digest FROM texts"
DIGEST_BYTES = 16
"""What the engine calls a number comes as a decimal whose bytes are the digest."""
MOST_RECENT = 2**18
"""Keys that are held apart before they go to the others."""

Places = npt.NDArray[np.int64]


class Halves(NamedTuple):
    """Hashes of some texts.

    Args:
        keys: The first 64 bits of each.
        others: The last 64 bits of each.
    """

    keys: Keys
    others: Keys

    def take(self, places: Places | Flags) -> Self:
        """Those at some places."""
        return type(self)(self.keys[places], self.others[places])


def md5_halves(texts: pa.Array, connection: duckdb.DuckDBPyConnection) -> Halves:
    """The first and the last 64 bits of the md5 of each text, big-endian."""
    return _halves(texts, connection, MD5, {})


def pseudonyms(texts: pa.Array, secret: str, connection: duckdb.DuckDBPyConnection) -> Keys:
    """The first 64 bits of the SHA-256 of a secret and each text, big-endian."""
    return _halves(texts, connection, KEYED, {"secret": secret}).keys


def _halves(
    texts: pa.Array, connection: duckdb.DuckDBPyConnection, sql: str, values: dict[str, str]
) -> Halves:
    connection.register("texts", pa.table({"text": texts}))
    found = connection.sql(sql, params=values).to_arrow_table()["digest"]
    connection.unregister("texts")
    digests = found if pa.types.is_decimal(found.type) else found.cast(pa.binary(DIGEST_BYTES))
    parts = [
        np.frombuffer(part.buffers()[1], ">u8", 2 * len(part), part.offset * DIGEST_BYTES)
        for part in digests.chunks
    ]
    numbers = np.concatenate([*parts, np.zeros(0, ">u8")]).astype(np.uint64).reshape(-1, 2)
    return Halves(numbers[:, 0].copy(), numbers[:, 1].copy())


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
        """Which hashes are new, of equal ones only one, and the numbers of those that are not.

        May be called from any thread, while another one remembers.

        Raises:
            DataError: a key was seen with another half.
        """
        order = np.argsort(hashed.keys)
        ordered = hashed.take(order)
        old, recent = self._known
        known, numbers = old.find(ordered)
        known_here, recent_numbers = recent.find(ordered)
        again = repeats(ordered.keys)
        _check(ordered.others[1:][again[1:]], ordered.others[:-1][again[1:]])
        new = np.empty(len(order), dtype=np.bool_)
        found = np.empty(len(order), dtype=np.uint64)
        new[order] = ~(known | known_here | again)
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

        Raises:
            DataError: a key is known with another half.
        """
        if not len(self.numbers):
            return np.zeros(len(wanted.keys), dtype=np.bool_), wanted.keys
        places = np.searchsorted(self.hashed.keys, wanted.keys)
        places = np.minimum(places, len(self.numbers) - 1)
        found: Flags = self.hashed.keys[places] == wanted.keys
        _check(self.hashed.others[places[found]], wanted.others[found])
        return found, self.numbers[places]

    def joined(self, other: "_Known") -> "_Known":
        keys = np.concatenate([self.hashed.keys, other.hashed.keys])
        others = np.concatenate([self.hashed.others, other.hashed.others])
        order = np.argsort(keys, kind="stable")  # which sees that there are two runs
        numbers = np.concatenate([self.numbers, other.numbers])[order]
        return _Known(Halves(keys, others).take(order), numbers)

    def none(self) -> "_Known":
        return _Known(self.hashed.take(np.zeros(0, dtype=np.int64)), self.numbers[:0])


def _check(one: Keys, other: Keys) -> None:
    if (one != other).any():
        raise DataError("two different texts of a log have one key; leave one of them out")
